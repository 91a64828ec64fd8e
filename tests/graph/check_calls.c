/* SPDX-License-Identifier: Apache-2.0 */
/* Which call of a builder made a mistake. */
#include "common/graph/graph.h"
#include "libfuse.h"
#include "tests/support/main.h"

static lfuse_graph *g;

static void setup(void)
{
    g = lfuse_graph_create();
    ck_assert_ptr_nonnull(g);
}

static void teardown(void)
{
    lfuse_graph_destroy(g);
}

static lfuse_value tensor(const char *name, lfuse_type type, int64_t m, int64_t n)
{
    return lfuse_input(g, name, TYPED(type, m, n));
}

static void says(lfuse_status status, const char *message)
{
    ck_assert_int_eq(lfuse_graph_check(g), status);
    ck_assert_str_eq(lfuse_last_error(), message);
}

TEST_CASE("calls", .setup = setup, .teardown = teardown)

TEST(one_of_a_hundred)
{
    lfuse_value x = tensor("x", LFUSE_F32, 4, 5), w = tensor("w", LFUSE_F32, 4, 6), y;
    char name[8];
    for (int i = 1; i <= 100; i++) {
        y = lfuse_add(x, i == 57 ? w : x);
        snprintf(name, sizeof name, "y%d", i);
        lfuse_output(g, name, lfuse_relu(y));
    }
    says(LFUSE_ERR_SHAPE,
         "the 57th lfuse_add (output \"y57\"): shapes do not broadcast: a is f32 [4, 5], b is f32 [4, 6]");
}

TEST(the_only_one)
{
    lfuse_value x = tensor("x", LFUSE_F32, 4, 5), i = tensor("i", LFUSE_I32, 4, 5);
    for (int k = 0; k < 3; k++) x = lfuse_neg(x);
    lfuse_output(g, "y", lfuse_add(x, i));
    says(LFUSE_ERR_TYPE, "lfuse_add: types differ: a is f32 [4, 5], b is i32 [4, 5]");
}

static const struct ordinal { int number; const char *words; } ordinals[] = {
    {1, "the 1st "}, {2, "the 2nd "}, {3, "the 3rd "}, {4, "the 4th "}, {10, "the 10th "}, {11, "the 11th "},
    {12, "the 12th "}, {13, "the 13th "}, {21, "the 21st "}, {22, "the 22nd "}, {23, "the 23rd "}, {101, "the 101st "},
    {111, "the 111th "}, {112, "the 112th "}, {122, "the 122nd "},
};

TEST_LOOP(numbers_as_words, 0, (int)(sizeof ordinals / sizeof *ordinals))
{
    const struct ordinal *o = &ordinals[_i];
    char wanted[96];
    lfuse_value x = tensor("x", LFUSE_I32, 4, 5), f = lfuse_cast(x, LFUSE_F32);
    for (int k = 1; k < 130; k++) lfuse_exp(k == o->number ? x : f);
    snprintf(wanted, sizeof wanted, "%slfuse_exp: does not take type i32", o->words);
    says(LFUSE_ERR_TYPE, wanted);
}

/* What nothing is made of, and what several mistakes may have spoiled, names no output. */
TEST(outputs_that_are_not_named)
{
    lfuse_value x = tensor("x", LFUSE_I32, 4, 5);
    lfuse_exp(x);
    lfuse_output(g, "fine", lfuse_neg(x));
    lfuse_output(g, "other", lfuse_exp(x));
    says(LFUSE_ERR_TYPE, "the 1st lfuse_exp: does not take type i32");
}

TEST(first_of_two_outputs)
{
    lfuse_value x = tensor("x", LFUSE_I32, 4, 5), y = lfuse_exp(x);
    lfuse_output(g, "a", y);
    lfuse_output(g, "b", y);
    lfuse_exp(x);
    says(LFUSE_ERR_TYPE, "the 1st lfuse_exp (output \"a\"): does not take type i32");
}

/* The call is the user's, whichever builder found the mistake. */
TEST(in_a_composition)
{
    lfuse_value x = tensor("x", LFUSE_F32, 4, 5), w = tensor("w", LFUSE_F32, 4, 6);
    lfuse_mul(x, x);
    lfuse_glu(x, x);
    lfuse_glu(x, w);
    says(LFUSE_ERR_SHAPE, "the 2nd lfuse_glu: lfuse_mul: shapes do not broadcast: a is f32 [4, 5], b is f32 [4, 6]");
}

TEST(without_operands)
{
    lfuse_input(g, "a", LFUSE_F32, 0, NULL);
    lfuse_input(g, "b", LFUSE_F32, 0, NULL);
    lfuse_add(lfuse_constant(g, 1), lfuse_constant(g, 2));
    lfuse_input(g, "a", LFUSE_F32, 0, NULL);
    says(LFUSE_ERR_NAME, "the 3rd lfuse_input: the name \"a\" is already taken");
}

TEST(of_two_graphs)
{
    lfuse_graph *other = lfuse_graph_create();
    lfuse_value x = tensor("x", LFUSE_F32, 4, 5), strange = lfuse_input(other, "x", LFUSE_F32, 0, NULL);
    lfuse_input(other, "y", LFUSE_F32, 0, NULL);
    lfuse_add(x, x);
    lfuse_add(x, strange);
    ck_assert_int_eq(lfuse_graph_check(other), LFUSE_ERR_INVALID);
    ck_assert_str_eq(lfuse_last_error(), "lfuse_add: operand 2 belongs to this graph, others do not");
    says(LFUSE_ERR_INVALID, "the 2nd lfuse_add: operand 2 belongs to another graph");
    lfuse_graph_destroy(other);
}

/* ---- every builder once: its own call is counted, and no other ---- */

static void call_operators(lfuse_value x, lfuse_value i, lfuse_value l, lfuse_value b)
{
    const lfuse_value of_class[] = {
        [LFUSE__CLASS_NUMERIC] = x, [LFUSE__CLASS_FLOATING] = x,  [LFUSE__CLASS_COMPARE] = x, [LFUSE__CLASS_SELECT] = x,
        [LFUSE__CLASS_PREDICATE] = x, [LFUSE__CLASS_LOGIC] = b, [LFUSE__CLASS_INTEGER] = i, [LFUSE__CLASS_RANDOM] = l,
    };
    lfuse_value v, first;
#define CALL_1(name) lfuse_##name(v)
#define CALL_2(name) lfuse_##name(v, v)
#define CALL_3(name) lfuse_##name(first, v, v)
#define LFUSE__OP(name, arity, klass, ...)                                                                             \
    v = of_class[LFUSE__CLASS_##klass];                                                                                \
    first = LFUSE__CLASS_##klass == LFUSE__CLASS_SELECT ? b : v;                                                       \
    ck_assert_int_ge(CALL_##arity(name).id, 0);
#include "common/graph/ops.def"
#undef LFUSE__OP
}

static int call_functions(lfuse_value x, lfuse_value i, lfuse_value b)
{
    static const int axis[1] = {1}, swapped[2] = {1, 0};
    const lfuse_size batch = lfuse_size_var(g, "batch", 1, 8), more = lfuse_size_add(g, batch, 2);
    const lfuse_value number = lfuse_constant(g, 0.5), scalar = lfuse_scalar(g, "s"), none = lfuse_none();
    const lfuse_value two[2] = {x, x}, frozen = lfuse_frozen(g, "f", F32(4));
    const lfuse_value made[] = {
        lfuse_permute(x, swapped), lfuse_transpose(x), lfuse_broadcast_to(x, SHAPE(2, 4, 4)),
        lfuse_reshape(x, SHAPE(LFUSE_REST)), lfuse_flatten(x, 0, 1), lfuse_unsqueeze(x, 0),
        lfuse_squeeze(lfuse_extent(g, 3), 0), lfuse_slice(x, 0, 1, 2, 1), lfuse_flip(x, 1, axis),
        lfuse_concat(2, two, 0), lfuse_stack(2, two, 0), lfuse_pad(x, LFUSE_DIMS(1, 1), NULL, 2),
        lfuse_pad_edge(x, LFUSE_DIMS(1, 1), NULL), lfuse_pad_reflect(x, LFUSE_DIMS(1, 9), NULL),
        lfuse_slice_range(x, 0, -3, LFUSE_OPEN, 2), lfuse_index_select(x, 1, i, LFUSE_INDEX_FROM_END),
        lfuse_take_along(x, 0, lfuse_cast(x, LFUSE_I32), LFUSE_INDEX_FROM_END),
        lfuse_gather(x, i), lfuse_scatter_add(x, i, 3), lfuse_index(g, SHAPE(batch)),
        lfuse_addcmul(x, x, x, number), lfuse_addcdiv(x, x, x, number), lfuse_prelu(x, frozen),
        lfuse_hardtanh(x, scalar, number), lfuse_tanhshrink(x), lfuse_glu(x, x), lfuse_reglu(x, x), lfuse_geglu(x, x),
        lfuse_geglu_tanh(x, x), lfuse_geglu_quick(x, x), lfuse_swiglu(x, x), lfuse_matmul(x, x),
        lfuse_matmul_as(x, x, LFUSE_F32, LFUSE_PRECISION_F16), lfuse_sum(x, 1, axis, 0), lfuse_prod(x, 1, axis, 0),
        lfuse_amax(x, 1, axis, 0), lfuse_amin(x, 1, axis, 0), lfuse_argmax(x, 1, axis, 0), lfuse_argmin(x, 1, axis, 0),
        lfuse_any(b, 1, axis, 0), lfuse_all(b, 1, axis, 0), lfuse_mean(x, 1, axis, 0), lfuse_var(x, 1, axis, 1, 0),
        lfuse_norm_l1(x, 1, axis, 0), lfuse_norm_l2(x, 1, axis, 0), lfuse_norm_inf(x, 1, axis, 0),
        lfuse_norm(x, 1, axis, 3, 0), lfuse_nansum(x, 1, axis, 0), lfuse_count_nonzero(x, 1, axis, 0),
        lfuse_logsumexp(x, 1, axis, 0), lfuse_softmax(x, 1, axis), lfuse_log_softmax(x, 1, axis),
        lfuse_layernorm(x, 1, frozen, frozen, 1e-5), lfuse_rmsnorm(x, 1, frozen, 1e-5),
        lfuse_groupnorm(x, 2, frozen, none, 1e-5), lfuse_l2_normalize(x, 1, axis, 1e-12),
        lfuse_random_bits(g, SHAPE(more), scalar, number),
        lfuse_random_uniform(g, F64(more), scalar, number),
        lfuse_random_normal(g, F32(lfuse_size_mul(g, more, 2)), scalar, number),
        lfuse_dropout(x, number, scalar, number),
    };
    lfuse_value parts[2];
    lfuse_split(x, 0, 2, LFUSE_DIMS(1, 3), parts);
    lfuse_chunk(x, 0, 2, parts);
    lfuse_output(g, "y", parts[0]);
    lfuse_update(x, x);
    /* And cast, extent, size_var, size_add, size_mul, constant, scalar, frozen, split, chunk, output, update. */
    return (int)(sizeof made / sizeof *made) + 12;
}

static int call_lists(void)
{
    const lfuse_value l = lfuse_list_input(g, "l", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value sum = lfuse_member_sum(l);
    const lfuse_value made[] = {
        lfuse_member_amax(l), lfuse_member_amin(l), lfuse_member_any(l), lfuse_member_all(l), lfuse_member_elements(l),
        lfuse_member_mean(l), lfuse_member_norm_l1(l), lfuse_member_norm_l2(l), lfuse_member_norm_inf(l),
        lfuse_member_norm(l, 3), lfuse_member_row_sum(l), lfuse_member_column_sum(l), lfuse_member_row_mean(l),
        lfuse_member_column_mean(l), lfuse_member_rows(l), lfuse_member_columns(l), lfuse_member_rank(l),
        lfuse_member_matmul(l, 0, l, 1), lfuse_member_matmul_as(l, 0, l, 1, LFUSE_F32, LFUSE_PRECISION_FULL),
        lfuse_list_sum(sum), lfuse_list_amax(sum), lfuse_list_amin(sum), lfuse_list_any(sum), lfuse_list_all(sum),
        lfuse_list_norm_l1(sum), lfuse_list_norm_l2(sum), lfuse_list_norm_inf(sum), lfuse_list_norm(sum, 3),
    };
    return (int)(sizeof made / sizeof *made) + 2;
}

TEST(every_builder_counts_itself_alone)
{
    const lfuse_value x = tensor("x", LFUSE_F32, 4, 4);
    int32_t inputs = 4, called = 1 + LFUSE__OP_COUNT;
    const lfuse_value i = lfuse_input(g, "i", I32(4)), l = tensor("l64", LFUSE_I64, 4, 4);
    const lfuse_value b = tensor("b", LFUSE_BOOL, 4, 4);
    call_operators(x, i, l, b);
    called += call_functions(x, i, b);
    called += call_lists();
    /* lfuse_squeeze alone was called with what it refuses, so that it needs no other builder. */
    says(LFUSE_ERR_TYPE, "lfuse_squeeze: a number without a type: cast it first");
    for (int32_t k = 0; k < g->ncalls; k++) {
        const bool input = !strcmp(g->calls[k].name, "lfuse_input");
        ck_assert_msg(g->calls[k].count == (input ? inputs : 1), "%s was counted %d times", g->calls[k].name,
                      (int)g->calls[k].count);
    }
    ck_assert_int_eq(g->ncalls, called);
}

TEST_SUITE("calls", CK_FORK_GETENV)
