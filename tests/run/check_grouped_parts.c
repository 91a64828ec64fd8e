/* SPDX-License-Identifier: Apache-2.0 */
/* Products of lists whose members are parts of larger matrices; who else refuses such, and which there are not. */
#include "tests/run/grouped.h"

/* [m, n] from column `first` on of one that has rows of `ld`. */
static lfuse_tensor *part(const lfuse_tensor *whole, int64_t first, int64_t m, int64_t n, int64_t ld)
{
    return new_view(whole, SHAPE(m, n), LFUSE_DIMS(ld, 1), first);
}

static lfuse_tensor *noise(int64_t m, int64_t n, int start)
{
    const grouped_shape s = { 2, { m, n } };
    grouped_lists made = grouped_set(1, &s, start, true);

    drop(made.list);
    return made.t[0];
}

/* What a grouped_lists of parts is of: [0] the results side by side in one matrix, then each factor in a larger one. */
enum { PARTS = 3, PART_ROWS = 20, WIDTHS = 33 + 8 + 5, LD = WIDTHS + 2, WHOLES = 1 + 2 * PARTS };
typedef struct parts {
    lfuse_tensor *wholes[WHOLES];
    grouped_lists a, b, c;
} parts;
static const int64_t widths[PARTS] = { 33, 8, 5 }, depths[PARTS] = { 17, 4, 64 };

static parts make_parts(void)
{
    parts p = { .a.count = PARTS, .b.count = PARTS, .c.count = PARTS };
    int64_t at = 1;

    p.wholes[0] = tensor(SHAPE(PART_ROWS, LD));
    OK(lfuse_tensor_fill(p.wholes[0], NULL, 77));
    for (int i = 0; i < PARTS; i++) {
        const int64_t gap = i == 1 ? 4 : i, n = widths[i], k = depths[i];
        p.wholes[1 + 2 * i] = noise(PART_ROWS, k + gap, i), p.wholes[2 + 2 * i] = noise(k, n + 8, i + 3);
        p.a.t[i] = part(p.wholes[1 + 2 * i], gap / 2, PART_ROWS, k, k + gap);
        p.b.t[i] = part(p.wholes[2 + 2 * i], i == 1 ? 8 : 3, k, n, n + 8);
        p.c.t[i] = part(p.wholes[0], at, PART_ROWS, n, LD);
        at += n;
    }
    p.a.list = new_list(dev, LFUSE_F32, PARTS, p.a.t);
    p.b.list = new_list(dev, LFUSE_F32, PARTS, p.b.t);
    p.c.list = new_list(dev, LFUSE_F32, PARTS, p.c.t);
    return p;
}

/* Two launches' runs: the second with a factor in another place. */
static void of_parts(lfuse_transport transport)
{
    lfuse_graph *graph = grouped_graph();
    lfuse_plan *plan = grouped_plan(graph, transport);
    parts p = make_parts();
    const lfuse_binding all[] = { BIND("a", p.a.list), BIND("b", p.b.list), BIND("c", p.c.list) };
    lfuse_tensor *other = noise(depths[2], widths[2] + 8, 9), *moved = part(other, 1, depths[2], widths[2],
                                                                            widths[2] + 8);

    OK(lfuse_plan_run(plan, stream, all, 3));
    for (int i = 0; i < PARTS; i++) grouped_check(p.a.t[i], p.b.t[i], p.c.t[i], PART_ROWS, widths[i], depths[i]);
    OK(lfuse_list_replace(p.b.list, 2, 1, &moved));
    OK(lfuse_plan_run(plan, stream, all, 3));
    grouped_check(p.a.t[2], moved, p.c.t[2], PART_ROWS, widths[2], depths[2]);
    const float *z = values(p.wholes[0]);
    for (int i = 0; i < PART_ROWS; i++) ck_assert(z[i * LD] == 77 && z[i * LD + LD - 1] == 77);
}

TEST_CASE("parts", .setup = open_stub, .teardown = close_stub)

TEST_ON_MACHINE(members_in_larger_matrices)
{
    of_parts(LFUSE_TRANSPORT_ARGS);
    of_parts(LFUSE_TRANSPORT_TABLE);
}

/* A residual that is updated and the sums, both parts, and a bias that is not; heads side by side in common rows. */
TEST(epilogues_of_parts)
{
    static const grouped_shape right[] = { { 3, { 2, 3, 5 } } }, bias[] = { { 1, { 10 } } };
    grouped_lists b = grouped_set(1, right, 1, false), shift = grouped_set(1, bias, 2, false);
    lfuse_tensor *rows = noise(4, 2 * 3, 0), *sums = noise(4, 2 * 5 + 1, 0), *r = noise(8, 5 + 3, 2), *v[3];
    lfuse_list *l[3];
    const lfuse_value a = lfuse_list_input(g, "a", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value residual = lfuse_list_input(g, "r", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value sum = lfuse_matmul(a, lfuse_list_input(g, "b", LFUSE_F32, LFUSE_RANK_MATRIX));
    float before[40], x[24], y[30], d[10], s[40];

    lfuse_output(g, "s", sum);
    lfuse_update(residual, lfuse_add(lfuse_add(sum, residual),
                                     lfuse_list_input(g, "d", LFUSE_F32, LFUSE_RANK_COLUMNS)));
    v[0] = new_view(rows, SHAPE(2, 4, 3), LFUSE_DIMS(3, 6, 1), 0);
    v[1] = new_view(sums, SHAPE(2, 4, 5), LFUSE_DIMS(5, 11, 1), 1);
    v[2] = new_view(r, SHAPE(2, 4, 5), LFUSE_DIMS(32, 8, 1), 2);
    for (int i = 0; i < 3; i++) l[i] = new_list(dev, LFUSE_F32, 1, &v[i]);
    memcpy(before, values(v[2]), sizeof before), memcpy(x, values(v[0]), sizeof x);
    memcpy(y, values(b.t[0]), sizeof y), memcpy(d, values(shift.t[0]), sizeof d);
    lfuse_plan *plan = new_plan(dev, g, NULL);
    RUN(plan, stream, BIND("a", l[0]), BIND("b", b.list), BIND("s", l[1]), BIND("r", l[2]), BIND("d", shift.list));
    memcpy(s, values(v[1]), sizeof s);
    const float *z = values(v[2]);
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 5; j++) {
                const int at = (h * 4 + i) * 5 + j;
                float wanted = 0;
                for (int k = 0; k < 3; k++) wanted = fmaf(x[(h * 4 + i) * 3 + k], y[(h * 3 + k) * 5 + j], wanted);
                ck_assert(s[at] == wanted);
                ck_assert(z[at] == wanted + before[at] + d[h * 5 + j]);
            }
}

TEST(matrices_that_no_list_takes)
{
    static const struct {
        int rank;
        int64_t shape[4], strides[4];
        lfuse_status status;
        const char *words;
    } cases[] = {
        { 2, { 4, 6 }, { 5, 1 }, LFUSE_ERR_INVALID, "member 0: its rows lie 5 elements apart and have 6: the leading "
          "dimension is too small" },
        { 2, { 4, 6 }, { 0, 1 }, LFUSE_ERR_INVALID, "rows lie 0 elements apart" },
        { 2, { 4, 6 }, { -6, 1 }, LFUSE_ERR_INVALID, "rows lie -6 elements apart" },
        { 2, { 4, 6 }, { 1, 4 }, LFUSE_ERR_UNSUPPORTED, "its columns lie 4 elements apart" },
        { 1, { 6 }, { 2 }, LFUSE_ERR_UNSUPPORTED, "its columns lie 2 elements apart" },
        { 3, { 3, 4, 6 }, { 20, 6, 1 }, LFUSE_ERR_INVALID, "its matrices lie 20 elements apart, one takes 24" },
        { 3, { 3, 4, 6 }, { 6, 17, 1 }, LFUSE_ERR_INVALID, "its matrices lie 6 elements apart, one takes 57" },
        { 3, { 3, 4, 6 }, { 0, 6, 1 }, LFUSE_ERR_UNSUPPORTED, "its matrices lie at different distances" },
        { 4, { 2, 2, 4, 6 }, { 100, 24, 6, 1 }, LFUSE_ERR_UNSUPPORTED, "its matrices lie at different distances" }
    };
    lfuse_tensor *whole = tensor(SHAPE(1000));
    lfuse_list *l;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse_tensor *t = new_view(whole, cases[i].rank, cases[i].shape, cases[i].strides, 100);
        FAILS(cases[i].status, lfuse_list_create(dev, LFUSE_F32, 1, &t, &l));
        ck_assert_msg(strstr(lfuse_last_error(), cases[i].words), "%s has no %s", lfuse_last_error(), cases[i].words);
        drop(t);
    }
}

/* Parts are replaced by such as lie alike; what overlaps within common rows is found, what lies beside passes. */
TEST(parts_in_the_way)
{
    parts p = make_parts();
    lfuse_tensor *other = tensor(SHAPE(64, 20)), *wide = part(other, 0, depths[2], widths[2], 20), *t[PARTS];

    SAYS(LFUSE_ERR_SHAPE, lfuse_list_replace(p.b.list, 2, 1, &wide), "of 64 rows, 20 apart, of 5; it was");
    memcpy(t, p.c.t, sizeof t);
    t[1] = part(p.wholes[0], 1 + 32, PART_ROWS, widths[1], LD); /* the last column of the one before */
    lfuse_list *l = new_list(dev, LFUSE_F32, PARTS, t);
    grouped_fails(&p.a, &p.b, l, LFUSE_ERR_OVERLAP, "\"c\" member 1, which is written, overlaps \"c\" member 0");
    drop(l);
    drop(t[1]);
    t[1] = part(p.wholes[1], depths[0] - 8, PART_ROWS, widths[1], depths[0]); /* A's own last columns */
    l = new_list(dev, LFUSE_F32, PARTS, t);
    grouped_fails(&p.a, &p.b, l, LFUSE_ERR_OVERLAP, "\"c\" member 1, which is written, overlaps \"a\" member 0");
    drop(wide);
}

/* Everything but products walks members flat. */
TEST(parts_for_products_alone)
{
    parts p = make_parts();
    const lfuse_value a = lfuse_list_input(g, "a", LFUSE_F32, LFUSE_RANK_MATRIX);

    lfuse_output(g, "y", lfuse_member_row_sum(lfuse_relu(a)));
    lfuse_plan *plan = new_plan(dev, g, NULL);
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_plan_run(plan, stream, BINDINGS(BIND("a", p.a.list), BIND("y", p.b.list))));
    ck_assert_msg(strstr(lfuse_last_error(), "member 1 of \"a\" is not contiguous: 1 matrices, 160 elements apart, of "
                                             "20 rows, 8 apart, of 4"), "%s", lfuse_last_error());
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_foreach_zero(stream, p.a.list));
}

TEST_SUITE("products of parts", CK_NOFORK)
