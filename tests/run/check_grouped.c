/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of the members of lists: on every device by each transport, with replaced members and members without
 * elements; the bits of a member whatever stands beside it; updates; what is refused, and by which words.
 */
#include "tests/run/grouped.h"

static const int64_t sides[][3] = { { 5, 3, 4 }, { 0, 3, 2 }, { 20, 33, 17 }, { 3, 0, 2 }, { 3, 2, 0 }, { 1, 1, 1 } };
enum { SIDES = sizeof sides / sizeof *sides };

static void shapes_of(grouped_shape *a, grouped_shape *b, grouped_shape *c)
{
    for (int i = 0; i < SIDES; i++) {
        const int64_t m = sides[i][0], n = sides[i][1], k = sides[i][2];
        a[i] = (grouped_shape){ 2, { m, k } };
        b[i] = (grouped_shape){ 2, { k, n } };
        c[i] = (grouped_shape){ 2, { m, n } };
    }
}

static void run_by(lfuse_transport transport)
{
    lfuse_graph *graph = grouped_graph();
    lfuse_plan *plan = grouped_plan(graph, transport);
    grouped_shape shapes[3][SIDES];
    lfuse_binding b[3];
    grouped_lists s[3];

    shapes_of(shapes[0], shapes[1], shapes[2]);
    for (int i = 0; i < 3; i++) s[i] = grouped_set(SIDES, shapes[i], i, false);
    grouped_lists other = grouped_set(1, &shapes[0][2], 5, false);
    for (int i = 0; i < SIDES; i++) OK(lfuse_tensor_fill(s[2].t[i], stream, NAN));
    for (int i = 0; i < 3; i++) b[i] = lfuse_bind_list((const char *[]){ "a", "b", "c" }[i], s[i].list);
    OK(lfuse_plan_run(plan, stream, b, 3));
    for (int i = 0; i < SIDES; i++)
        grouped_check(s[0].t[i], s[1].t[i], s[2].t[i], sides[i][0], sides[i][1], sides[i][2]);
    OK(lfuse_list_replace(s[0].list, 2, 1, other.t));
    OK(lfuse_plan_run(plan, stream, b, 3));
    grouped_check(other.t[0], s[1].t[2], s[2].t[2], sides[2][0], sides[2][1], sides[2][2]);
}

static void by_each_transport(void)
{
    lfuse_device_info info;

    OK(lfuse_device_get_info(dev, &info));
    run_by(LFUSE_TRANSPORT_DEFAULT);
    run_by(LFUSE_TRANSPORT_ARGS);
    run_by(LFUSE_TRANSPORT_TABLE);
    if (info.svm) run_by(LFUSE_TRANSPORT_UNIFIED);
}

TEST_CASE("grouped", .setup = open_stub, .teardown = close_stub)

TEST(every_device_multiplies)
{
    if (on_each_device(by_each_transport) == 0) TEST_SKIP("no device on this machine");
}

TEST(the_stub_multiplies)
{
    for (int form = 0; form < 2; form++) {
        reopen_stub_as(form);
        if (form) by_each_transport(); /* lanes; tiles need barriers, which the stub has none of */
    }
    g = lfuse_graph_create();
}

/* ---- what a member's bits depend on ---- */

static void run_transposed(const grouped_lists *a, const grouped_lists *b, bool transposed, const grouped_lists *c)
{
    lfuse_graph *graph = grouped_transposed_graph(transposed);
    lfuse_plan *plan = grouped_plan(graph, LFUSE_TRANSPORT_DEFAULT);

    RUN(plan, stream, BIND("a", a->list), BIND("b", b->list), BIND("c", c->list));
    OK(lfuse_stream_synchronize(stream));
    drop(plan);
}

static void run_lists(const grouped_lists *a, const grouped_lists *b, const grouped_lists *c)
{
    run_transposed(a, b, false, c);
}

/* Blocks of other sizes for it alone, of which one then has few rows; the same sums: as a chain of fma. */
TEST_ON_MACHINE(bits_are_the_members)
{
    static const grouped_shape a[] = { { 2, { 90, 40 } }, { 2, { 160, 2 } } },
                               c[] = { { 2, { 90, 33 } }, { 2, { 160, 5 } } },
                       b[2][2] = { { { 2, { 40, 33 } }, { 2, { 2, 5 } } }, { { 2, { 33, 40 } }, { 2, { 5, 2 } } } };

    for (int i = 0; i < 4; i++) {
        const int count = 1 + i % 2, transposed = i / 2;
        grouped_lists x = grouped_set(count, a, 0, true), y = grouped_set(count, b[transposed], 1, true),
                      z = grouped_set(count, c, 2, true);
        run_transposed(&x, &y, transposed, &z);
        grouped_check_transposed(x.t[0], y.t[0], transposed, z.t[0], 90, 33, 40);
    }
}

/* ---- lists of nothing, updates, one tensor for all ---- */

TEST(no_members)
{
    grouped_lists s[3];

    for (int i = 0; i < 3; i++) s[i] = grouped_set(0, NULL, 0, false);
    run_lists(&s[0], &s[1], &s[2]);
    ck_assert_uint_eq(launches(), 0);
}

/* The factor that is updated is copied first: other elements are read when it is stored. */
TEST(a_factor_is_updated)
{
    static const grouped_shape square[] = { { 2, { 4, 4 } }, { 2, { 7, 7 } } };
    grouped_lists a = grouped_set(2, square, 0, false), b = grouped_set(2, square, 3, false),
                  before = grouped_set(2, square, 0, false);
    const lfuse_value x = lfuse_list_input(g, "a", LFUSE_F32, LFUSE_RANK_MATRIX);

    lfuse_update(x, lfuse_matmul(x, lfuse_list_input(g, "b", LFUSE_F32, LFUSE_RANK_MATRIX)));
    lfuse_plan *plan = new_plan(dev, g, NULL);
    RUN(plan, stream, BIND("a", a.list), BIND("b", b.list));
    grouped_check(before.t[0], b.t[0], a.t[0], 4, 4, 4);
    grouped_check(before.t[1], b.t[1], a.t[1], 7, 7, 7);
}

TEST(one_matrix_for_all)
{
    static const grouped_shape each[] = { { 2, { 2, 3 } }, { 2, { 5, 3 } } }, shared[] = { { 2, { 3, 4 } } },
                       result[] = { { 2, { 2, 4 } }, { 2, { 5, 4 } } };
    grouped_lists a = grouped_set(2, each, 0, false), b = grouped_set(1, shared, 1, false),
        c = grouped_set(2, result, 0, false);

    grouped_lists twice = (grouped_lists){ .count = 0 };
    twice.list = new_list(dev, LFUSE_F32, 2, (lfuse_tensor *[]){ b.t[0], b.t[0] });
    run_lists(&a, &twice, &c);
    grouped_check(a.t[0], b.t[0], c.t[0], 2, 4, 3);
    grouped_check(a.t[1], b.t[0], c.t[1], 5, 4, 3);
}

/* ---- plans ---- */

static void check_text(lfuse_graph *graph, unsigned disable, const char *wanted)
{
    const lfuse_plan_options options = { .disable = disable, .provider = LFUSE_PROVIDER_VENDOR };

    lfuse_plan *plan = new_plan(dev, graph, &options);
    ck_assert_msg(strstr(lfuse_plan_text(plan), wanted), "%s has no %s", lfuse_plan_text(plan), wanted);
    drop(plan);
}

/* Native, even where the vendor is asked for, and said so. */
TEST(plans_say_what_is_grouped)
{
    const lfuse_value a = lfuse_list_input(g, "a", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value b = lfuse_list_input(g, "b", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value bias = lfuse_list_input(g, "bias", LFUSE_F32, LFUSE_RANK_COLUMNS);
    const lfuse_value y = lfuse_relu(lfuse_add(lfuse_matmul(a, b), bias));

    lfuse_output(g, "y", y);
    check_text(g, 0, "(grouped a x b (y (relu (add acc bias))))");
    check_text(g, LFUSE_NO_EPILOGUE, "(multi (a x b) (y (relu (add t0 bias))))");
    lfuse_output(g, "da", lfuse_member_matmul(y, 0, b, 1));
    check_text(g, 0, "(grouped y x b^T (da acc))");
}

/* ---- what is refused ---- */

static void graph_fails(lfuse_graph *graph, lfuse_value v, lfuse_status status, const char *words)
{
    lfuse_output(graph, "y", v);
    FAILS(status, lfuse_graph_check(graph));
    ck_assert_msg(strstr(lfuse_last_error(), words), "%s has no %s", lfuse_last_error(), words);
}

TEST(graphs_that_cannot_be)
{
    static const struct {
        lfuse_type a, b;
        int rank_a, rank_b; /* 2: a tensor */
        lfuse_status status;
        const char *words;
    } cases[] = { { LFUSE_F32, LFUSE_F64, LFUSE_RANK_MATRIX, LFUSE_RANK_MATRIX, LFUSE_ERR_TYPE, "types differ" },
                  { LFUSE_I32, LFUSE_I32, LFUSE_RANK_MATRIX, LFUSE_RANK_MATRIX, LFUSE_ERR_UNSUPPORTED, "i32" },
                  { LFUSE_F32, LFUSE_F32, LFUSE_RANK_ANY, LFUSE_RANK_MATRIX, LFUSE_ERR_RANK, "LFUSE_RANK_MATRIX" },
                  { LFUSE_F32, LFUSE_F32, LFUSE_RANK_MATRIX, 2, LFUSE_ERR_RANK, "goes with another one" },
                  { LFUSE_F32, LFUSE_F32, 2, LFUSE_RANK_ROWS, LFUSE_ERR_RANK, "goes with another one" } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse_graph *graph = new_graph();
        lfuse_value v[2];
        for (int k = 0; k < 2; k++) {
            const int rank = k ? cases[i].rank_b : cases[i].rank_a;
            const lfuse_type type = k ? cases[i].b : cases[i].a;
            v[k] = rank > 0 ? lfuse_input(graph, k ? "b" : "a", type, rank, LFUSE_DIMS(3, 3))
                            : lfuse_list_input(graph, k ? "b" : "a", type, rank);
        }
        graph_fails(graph, lfuse_matmul(v[0], v[1]), cases[i].status, cases[i].words);
    }
}

TEST(sizes_that_no_list_tells)
{
    lfuse_value (*const of[])(lfuse_value) = { lfuse_member_mean, lfuse_member_rows, lfuse_member_row_mean,
                                               lfuse_member_elements };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        lfuse_graph *graph = new_graph();
        const lfuse_value a = lfuse_list_input(graph, "a", LFUSE_F32, LFUSE_RANK_MATRIX);
        graph_fails(graph, of[i](lfuse_relu(lfuse_matmul(a, a))), LFUSE_ERR_UNSUPPORTED, "no list tells");
    }
}

TEST(lists_that_do_not_go_together)
{
    static const grouped_shape a[] = { { 2, { 2, 3 } }, { 3, { 2, 5, 3 } } },
                               b[] = { { 2, { 3, 4 } }, { 3, { 2, 3, 4 } } },
                       c[] = { { 2, { 2, 4 } }, { 3, { 2, 5, 4 } } }, inner[] = { { 2, { 3, 4 } }, { 3, { 2, 4, 3 } } },
                       matrices[] = { { 2, { 3, 4 } }, { 2, { 3, 4 } } },
                       transposed[] = { { 2, { 2, 4 } }, { 3, { 2, 4, 5 } } };
    grouped_lists left = grouped_set(2, a, 0, false), right = grouped_set(2, b, 0, false),
        result = grouped_set(2, c, 0, false), wrong = grouped_set(2, inner, 0, false),
        few = grouped_set(2, matrices, 0, false), one = grouped_set(1, b, 0, false),
        other = grouped_set(2, transposed, 0, false);
    static const grouped_shape squares[] = { { 2, { 3, 3 } }, { 2, { 4, 4 } } };

    grouped_fails(&left, &wrong, result.list, LFUSE_ERR_SHAPE,
                   "member 1: inner sizes differ: \"a\" is 5 x 3, \"b\" 4 x 3");
    grouped_fails(&left, &few, result.list, LFUSE_ERR_SHAPE, "member 1 of \"a\" is 2 matrices, of \"b\" 1");
    grouped_fails(&left, &one, result.list, LFUSE_ERR_SHAPE, "list \"a\" has 2 members, \"b\" 1");
    grouped_fails(&left, &right, other.list, LFUSE_ERR_SHAPE,
                   "member 1 of list \"(a x b)\" is 2 matrices of 5 x 4, of \"c\" 2 of 4 x 5");
    grouped_fails(&left, &right, one.list, LFUSE_ERR_SHAPE, "list \"(a x b)\" has 2 members, \"c\" 1");
    grouped_lists square = grouped_set(2, squares, 0, false);
    grouped_fails(&square, &square, square.list, LFUSE_ERR_OVERLAP, "\"c\" member 0");
}

/* One member of the result in the memory of another member of a factor. */
TEST(results_in_a_factors_memory)
{
    static const grouped_shape squares[] = { { 2, { 3, 3 } }, { 2, { 3, 3 } } };
    grouped_lists a = grouped_set(2, squares, 0, false), b = grouped_set(2, squares, 0, false),
                  c = grouped_set(2, squares, 0, false);

    lfuse_list *mixed = new_list(dev, LFUSE_F32, 2, (lfuse_tensor *[]){ c.t[0], b.t[0] });
    grouped_fails(&a, &b, mixed, LFUSE_ERR_OVERLAP, "\"c\" member 1");
    drop(mixed);
    FAILS(LFUSE_ERR_INVALID, lfuse_list_create(dev, LFUSE_F32, 2, (lfuse_tensor *[]){ c.t[0], NULL }, &mixed));
    ck_assert_str_eq(lfuse_last_error(), "member 1 is NULL");
}

TEST_SUITE("products of lists", CK_NOFORK)
