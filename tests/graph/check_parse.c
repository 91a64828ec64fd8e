/* SPDX-License-Identifier: Apache-2.0 */
/* A printed graph read back is the same graph: its texts, with and without names, are equal byte for byte. */
#include "common/graph/graph.h"
#include "libfuse/ops.h"
#include "tests/support/main.h"

typedef void printer(const lfuse_graph *g, lfuse__strbuf *out);

static char *text_of(const lfuse_graph *g, printer *print)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    print(g, &text);
    OK(lfuse__strbuf_check(&text));
    char *copy = strdup(text.data);
    ck_assert_ptr_nonnull(copy);
    lfuse__strbuf_free(&text);
    return copy;
}

static void ck_round_trip(const lfuse_graph *g)
{
    static printer *const printers[] = {lfuse__graph_format, lfuse__graph_print};
    lfuse_graph *read = NULL;

    for (int i = 0; i < 2; i++) {
        char *before = text_of(g, printers[i]);
        ck_assert_msg(lfuse__graph_parse(before, &read) == LFUSE_OK, "%s of %s", lfuse_last_error(), before);
        char *after = text_of(read, printers[i]);
        ck_assert_str_eq(before, after);
        OK(lfuse_graph_check(read));
        for (int32_t k = 0; k < g->nnodes; k++) ck_assert_int_eq(g->nodes[k].cost, read->nodes[k].cost);
        for (int32_t k = 0; k < g->nsizes; k++) {
            ck_assert(g->sizes[k].low == read->sizes[k].low && g->sizes[k].high == read->sizes[k].high);
            ck_assert(lfuse__poly_equal(&g->sizes[k].poly, &read->sizes[k].poly));
        }
        free(before);
        free(after);
        lfuse_graph_destroy(read);
    }
}

/* As it was built, and its canonical form. */
static void ck_both(lfuse_graph *g)
{
    lfuse_graph *c = NULL;

    OK(lfuse_graph_check(g));
    ck_round_trip(g);
    OK(lfuse__graph_canonical(g, &c));
    ck_round_trip(c);
    lfuse_graph_destroy(c);
}

static lfuse_graph *g;
static lfuse_size n, m;
static lfuse_value x; /* f32 [n, m, 6] */

static void make(void)
{
    g = lfuse_graph_create();
    n = lfuse_size_var(g, "rows", 1, 100);
    m = lfuse_size_var(g, "a \"quoted\\ name\"", 0, INT64_MAX);
    x = lfuse_input(g, "x", F32(n, m, 6));
}

static void destroy(void)
{
    lfuse_graph_destroy(g);
}

TEST_CASE("parse", .setup = make, .teardown = destroy)

TEST(views)
{
    lfuse_value parts[3], both[2];

    lfuse_output(g, "permute", lfuse_permute(x, (const int[]){2, 0, 1}));
    lfuse_output(g, "broadcast", lfuse_broadcast_to(x, SHAPE(5, n, m, 6)));
    lfuse_output(g, "reshape", lfuse_reshape(x, SHAPE(LFUSE_REST, 3, m)));
    lfuse_output(g, "slice", lfuse_slice(x, 2, -2, 3, -2));
    lfuse_output(g, "flip", lfuse_flip(x, LFUSE_ALL_AXES, NULL));
    lfuse_split(x, -1, 3, LFUSE_DIMS(1, 0, 5), parts);
    lfuse_output(g, "split", lfuse_concat(3, parts, 2));
    both[0] = x;
    both[1] = lfuse_neg(x);
    lfuse_output(g, "concat", lfuse_concat(2, both, 1));
    lfuse_output(g, "stack", lfuse_stack(2, both, 1));
    lfuse_output(g, "pad", lfuse_pad(x, LFUSE_DIMS(n, 0, 1), LFUSE_DIMS(0, 2, 0), -INFINITY));
    lfuse_output(g, "squeeze", lfuse_squeeze(lfuse_unsqueeze(x, -1), 3));
    ck_both(g);
}

TEST(look_ups_and_indices)
{
    const lfuse_value i = lfuse_input(g, "i", I64(7, m));
    const lfuse_value rows = lfuse_gather(x, i);

    lfuse_output(g, "found", rows);
    lfuse_output(g, "back", lfuse_scatter_add(rows, i, lfuse_size_add(g, n, 4)));
    lfuse_output(g, "along", lfuse_take_along(x, 1, lfuse_index(g, SHAPE(n, 4, 6)), LFUSE_INDEX_FROM_END));
    lfuse_output(g, "selected", lfuse_index_select(x, -1, i, LFUSE_INDEX_PLAIN));
    lfuse_output(g, "mirror", lfuse_pad_reflect(x, LFUSE_DIMS(3, 0, 2), LFUSE_DIMS(0, 0, 9)));
    lfuse_output(g, "index", lfuse_index(g, SHAPE(n, m)));
    lfuse_output(g, "none", lfuse_index(g, 0, NULL));
    lfuse_output(g, "scaled", lfuse_mul(x, lfuse_extent(g, lfuse_size_mul(g, n, m))));
    ck_both(g);
}

TEST(reductions)
{
    const int axes[] = {0, 2};
    const lfuse_value h = lfuse_cast(x, LFUSE_BF16), i = lfuse_cast(x, LFUSE_I8);

    lfuse_output(g, "sum", lfuse_sum(h, 2, axes, 0));
    lfuse_output(g, "prod", lfuse_prod(i, 2, axes, 1));
    lfuse_output(g, "amax", lfuse_amax(h, 1, axes, 1));
    lfuse_output(g, "amin", lfuse_amin(i, 1, axes, 0));
    lfuse_output(g, "argmax", lfuse_argmax(x, 1, axes, 1));
    lfuse_output(g, "argmin", lfuse_argmin(lfuse_slice(x, 1, 0, 0, 1), 1, axes, 0));
    lfuse_output(g, "any", lfuse_any(x, LFUSE_ALL_AXES, NULL, 0));
    lfuse_output(g, "all", lfuse_all(h, 1, axes, 1));
    lfuse_output(g, "mean", lfuse_mean(h, 2, axes, 1));
    lfuse_output(g, "var", lfuse_var(x, 1, axes, 1, 0));
    lfuse_output(g, "layernorm", lfuse_layernorm(h, 2, lfuse_none(), lfuse_none(), 1e-5));
    lfuse_output(g, "softmax", lfuse_softmax(h, 1, axes));
    lfuse_output(g, "logsumexp", lfuse_logsumexp(x, 1, axes, 0));
    lfuse_output(g, "cumsum", lfuse_cumsum(h, 1));
    lfuse_output(g, "cummax", lfuse_cummax(i, -1));
    lfuse_output(g, "logcumsumexp", lfuse_logcumsumexp(x, 0));
    ck_both(g);
}

TEST(everything_else)
{
    const lfuse_value w = lfuse_frozen(g, "w", F32(6, 4));
    const lfuse_value list = lfuse_list_input(g, "list\xc3\xa9", LFUSE_F16, LFUSE_RANK_ANY);
    const lfuse_value s = lfuse_scalar(g, "s");

    lfuse_output(g, "product", lfuse_matmul(x, w));
    lfuse_output(g, "tf32", lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_TF32));
    lfuse_output(g, "f32x3", lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_F32X3));
    lfuse_output(g, "bf16x6", lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_BF16X6));
    lfuse_output(g, "rounded", lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_F16));
    lfuse_output(g, "mixed", lfuse_matmul_as(x, lfuse_cast(w, LFUSE_BF16), LFUSE_F32, LFUSE_PRECISION_FULL));
    lfuse_update(list, lfuse_mul(list, lfuse_member_sum(list)));
    lfuse_output(g, "numbers", lfuse_mul(lfuse_member_sum(list), lfuse_list_input(g, "rates", LFUSE_F16, 0)));
    lfuse_output(g, "least", lfuse_member_amin(list));
    lfuse_output(g, "mean", lfuse_member_mean(list));
    lfuse_output(g, "any", lfuse_list_any(list));
    const lfuse_value matrix = lfuse_list_input(g, "matrix", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value columns = lfuse_list_input(g, "columns", LFUSE_F32, LFUSE_RANK_COLUMNS);
    lfuse_update(matrix, lfuse_sub(lfuse_mul(matrix, columns), lfuse_member_row_mean(matrix)));
    lfuse_update(columns, lfuse_add(columns, lfuse_member_column_mean(matrix)));
    lfuse_output(g, "matrices", lfuse_member_row_sum(lfuse_mul(columns,
                                                               lfuse_cast(lfuse_member_rank(matrix), LFUSE_F32))));
    lfuse_output(g, "products", lfuse_matmul(matrix, lfuse_member_matmul(matrix, 1, matrix, 0)));
    lfuse_output(g, "turned", lfuse_member_matmul(matrix, 1, matrix, 1));
    lfuse_output(g, "typed", lfuse_member_matmul_as(lfuse_cast(matrix, LFUSE_F16), 0, lfuse_cast(matrix, LFUSE_BF16), 1,
                                                    LFUSE_F32, LFUSE_PRECISION_FULL));
    lfuse_output(g, "norm", lfuse_list_norm(list, 3));
    lfuse_output(g, "most", lfuse_list_amax(lfuse_member_norm_inf(list)));
    lfuse_output(g, "nan", lfuse_add(x, lfuse_mul(lfuse_constant(g, -NAN), lfuse_sqrt(s))));
    lfuse_output(g, "where", lfuse_where(lfuse_gt(x, s), x, lfuse_constant(g, -0.0)));
    lfuse_output(g, "checked", lfuse_mul(lfuse_input(g, "i", I8(3)), s));
    lfuse_output(g, "compared", lfuse_lt(lfuse_input(g, "u", U8(3)), s));
    lfuse_update(x, lfuse_fma(x, s, s));
    ck_both(g);
}

/* Every operator, in every type that it takes. */
TEST(every_operator)
{
    int made = 0;

    for (int op = 0; op < LFUSE__OP_COUNT; op++)
        for (int type = 1; lfuse_type_size((lfuse_type)type); type++) {
            lfuse_graph *one = lfuse_graph_create(), *read = NULL;
            const lfuse_value a = lfuse_input(one, "a", (lfuse_type)type, SHAPE(3));
            const lfuse_value b = lfuse_input(one, "b", BOOL(3));
            lfuse__strbuf text = LFUSE__STRBUF_INIT;
            lfuse__strbuf_format(&text, "(graph %%0 (input %s [ 3 ]) %%1 (input bool [ 3 ]) %%2 (%s %s [ 3 ]",
                                 lfuse_type_name((lfuse_type)type), lfuse__ops[op].name,
                                 lfuse_type_name(lfuse__op_result((lfuse__op)op, (lfuse_type)type)));
            for (int i = 0; i < lfuse__ops[op].arity; i++)
                lfuse__strbuf_add(&text, lfuse__ops[op].klass == LFUSE__CLASS_SELECT && !i ? " %1" : " %0");
            lfuse__strbuf_add(&text, ") (input \"a\" %0) (input \"b\" %1) (output \"y\" %2))");
            (void)a, (void)b;
            if (lfuse__graph_parse(text.data, &read) == LFUSE_OK) {
                char *again = text_of(read, lfuse__graph_format);
                ck_assert_int_eq(read->nodes[2].op, op);
                ck_assert(strstr(again, " %2 (") != NULL);
                ck_round_trip(read);
                free(again);
                made++;
            } else {
                ck_assert_msg(strstr(lfuse_last_error(), "does not take type"), "%s of %s", lfuse_last_error(),
                              text.data);
            }
            lfuse_graph_destroy(read);
            lfuse_graph_destroy(one);
            lfuse__strbuf_free(&text);
        }
    ck_assert_int_ge(made, 4 * (int)LFUSE__OP_COUNT);
}

/* A text, and words of the message. */
static const char *const wrong[][2] = {
    {"", "character 0: \"(\" is missing at the end"},
    {"(grape)", "a graph begins with (graph"},
    {"(graph", "\"(\" is missing at the end"},
    {"(graph) x", "character 8: text behind the graph"},
    {"(graph (size 5 4))", "character 16: lfuse_size_var: \"s0\" has the bounds 5 ... 4"},
    {"(graph (size \"n 1 4))", "\" is missing at the end"},
    {"(graph (size+ s0 1))", "s0 is none of the 0 sizes"},
    {"(graph (size 1 4) (size+ s0 0))", "there already"},
    {"(graph (size 1 4) (size+ 1 s0))", "out of order"},
    {"(graph %1 (input f32 [ ]))", "%1 where %0 comes next"},
    {"(graph %0 (inputs f32 [ ]))", "\"inputs\" is no function"},
    {"(graph %0 (input [ ]))", "\")\" is missing before"},
    {"(graph %0 (input f32 [ 1 2 3 4 5 6 7 8 9 ]))", "more than 8 extents"},
    {"(graph %0 (input f32 [ -1 ]))", "extent -1 is negative"},
    {"(graph %0 (input f32 [ 4000000000000000000 4 ]))", "cannot be counted"},
    {"(graph %0 (input f32 members))", "of a type or kind"},
    {"(graph %0 (input f32 [ 99999999999999999999 ]))", "too large"},
    {"(graph %0 (input f32 [ 2 ]))", "%0 has no line that names it"},
    {"(graph %0 (input f32 [ 2 ]) (frozen %0))", "%0 is no frozen without a name"},
    {"(graph %0 (input f32 [ 2 ]) (input \"x\" %0) (input \"y\" %0))", "%0 is no input without a name"},
    {"(graph %0 (input f32 [ 2 ]) (input \"x\" %0) (output \"x\" %0))", "\"x\" is already taken"},
    {"(graph %0 (input f32 [ 2 ]) (input \"x\" %0) %1 (neg f32 [ 2 ] %0))", "a value behind the names"},
    {"(graph %0 (input f32 [ 2 ]) (size 1 2))", "a size behind the values"},
    {"(graph %0 (input f32 [ 2 ]) %1 (neg f32 [ 3 ] %0))", "neg of these operands is not what the text says"},
    {"(graph %0 (input f32 [ 2 ]) %1 (neg f16 [ 2 ] %0))", "is not what the text says"},
    {"(graph %0 (input f32 [ 2 ]) %1 (neg f32 [ 2 ] %1))", "%1 is none of the 1 values before"},
    {"(graph %0 (input f32 [ 2 ]) %1 (add f32 [ 2 ] %0))", "add with 1 operands, not 2"},
    {"(graph %0 (input f32 [ 2 ]) %1 (constant 0x0) %2 (add f32 [ 2 ] %0 %1))", "digit 2 of 16"},
    {"(graph %0 (input f32 [ 2 ]) %1 (constant 0x0000000000000000) %2 (add f32 [ 2 ] %0 %1))", "not what the text"},
    {"(graph %0 (input f32 [ 2 ]) %1 (cast f32 [ 2 ] %0))", "not what the text says"},
    {"(graph %0 (input f32 [ 2 3 ]) %1 (permute f32 [ 3 2 ] %0 axes 1))", "1 axes where 2 are needed"},
    {"(graph %0 (input f32 [ 2 3 ]) %1 (permute f32 [ 3 2 ] %0 axes 1,1))", "axis 1 is named twice"},
    {"(graph %0 (input f32 [ 2 ]) %1 (sum f32 [ ] %0 axes 1))", "axis 1 of rank 1"},
    {"(graph %0 (input f32 [ 2 2 ]) %1 (sum f32 [ ] %0 axes 1,0))", "not what the text says"},
    {"(graph %0 (input f32 [ 2 ]) %1 (sum f32 [ ] %0 axes 8))", "axis 8, number 1"},
    {"(graph %0 (input f32 [ 2 ]) %1 (sum f32 [ ] %0))", "0 axes where 1"},
    {"(graph %0 (list f32 members) %1 (sum f32 [ ] %0 axes 0))", "flat"},
    {"(graph %0 (list f32 matrix) %1 (line_sum f32 rows %0))", "no axis"},
    {"(graph %0 (list f32 matrix) %1 (line_sum f32 rows %0 axes 1))", "not what the text says"},
    {"(graph %0 (list f32 members) %1 (line_sum f32 rows %0 axes 0))", "no list of matrices"},
    {"(graph %0 (list f32 matrix) %1 (member_elements i64 numbers %0 axes 3))", "none"},
    {"(graph %0 (input f32 [ 2 ]) %1 (slice f32 [ 2 ] %0 axes 0 step 1))", "the start of a slice"},
    {"(graph %0 (input f32 [ 2 ]) %1 (slice f32 [ 2 ] %0 axes 0 start 1 step 1))", "leave axis 0 of f32 [2]"},
    {"(graph %0 (input f32 [ 2 ]) %1 (slice f32 [ 2 ] %0 axes 0 start 0 step 0))", "the step is 0"},
    {"(graph %0 (input f32 [ 2 ]) %1 (reshape f32 [ 3 ] %0))", "does not have as many elements"},
    {"(graph %0 (scalar) (scalar \"s\" %0) (output \"y\" %0))", "number without a type"},
    {"(graph %0 (input f32 [ ]) %1 (constant 0x0000000000000000) (input \"x\" %0 update %1))", "no type to be stored"},
};

TEST(mistakes)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        lfuse_graph *read = NULL;
        ck_assert_msg(lfuse__graph_parse(wrong[i][0], &read) != LFUSE_OK, "accepted: %s", wrong[i][0]);
        ck_assert_ptr_null(read);
        ck_assert_msg(strstr(lfuse_last_error(), wrong[i][1]), "%s: %s", wrong[i][0], lfuse_last_error());
        ck_assert_msg(strstr(lfuse_last_error(), "graph text, character "), "no position: %s", lfuse_last_error());
    }
    ck_assert_int_eq(lfuse__graph_parse(NULL, &(lfuse_graph *){NULL}), LFUSE_ERR_INVALID);
}

/* A name as long as there can be, and longer ones, which have no room while they are read. */
TEST(long_names)
{
    char name[2 * LFUSE__MAX_NAME], text[4 * LFUSE__MAX_NAME];

    for (int length = LFUSE__MAX_NAME - 1; length < LFUSE__MAX_NAME + 20; length++) {
        lfuse_graph *read = NULL;
        memset(name, 'n', sizeof name);
        name[length] = 0;
        snprintf(text, sizeof text, "(graph %%0 (input f32 [ 2 ]) (input \"%s\" %%0))", name);
        if (length <= LFUSE__MAX_NAME) {
            OK(lfuse__graph_parse(text, &read));
            ck_assert_str_eq(read->names[0].text, name);
            lfuse_graph_destroy(read);
        } else {
            SAYS(LFUSE_ERR_INVALID, lfuse__graph_parse(text, &read), "the name has more than 63 characters");
        }
    }
}

/* Cut anywhere, or with a character changed, a text is refused or read; never more. */
TEST(damaged)
{
    lfuse_output(g, "y", lfuse_layernorm(lfuse_slice(x, 2, 1, 5, 1), 1, lfuse_none(), lfuse_none(), 1e-5));
    char *text = text_of(g, lfuse__graph_format);
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        lfuse_graph *read = NULL;
        char *copy = strdup(text);
        copy[i] = 0;
        ck_assert_int_ne(lfuse__graph_parse(copy, &read), LFUSE_OK);
        free(copy);
        for (const char *c = " 0s%(x\"-"; *c; c++) {
            copy = strdup(text);
            copy[i] = *c;
            if (lfuse__graph_parse(copy, &read) == LFUSE_OK) lfuse_graph_destroy(read);
            free(copy);
        }
    }
    free(text);
}

TEST_SUITE("parse", CK_FORK_GETENV)
