/* SPDX-License-Identifier: Apache-2.0 */
/* What derived graphs are made of: forms that cost less than others with the same values, and the order of sums. */
#include "bench/data.h"
#include "bench/oracle.h"
#include "common/graph/graph.h"
#include "libfuse.h"
#include "tests/support/main.h"

static lfuse_graph *g, *derived;
static const int first[] = {0}, last[] = {-1};

static void setup(void)
{
    g = lfuse_graph_create();
    ck_assert_ptr_nonnull(g);
}

static void teardown(void)
{
    lfuse_graph_destroy(derived);
    derived = NULL;
    lfuse_graph_destroy(g);
}

/* The canonical graph of the gradients of y by these values, alone. */
static void derive(lfuse_value y, int count, const lfuse_value *wrt)
{
    static const char *const names[] = {"d0", "d1", "d2"};
    lfuse_value d[3];
    lfuse_gradient(y, lfuse_none(), count, wrt, d);
    for (int i = 0; i < count; i++) lfuse_output(g, names[i], d[i]);
    OK(lfuse_graph_check(g));
    OK(lfuse__graph_canonical(g, &derived));
}

/* How many nodes of a kind it has; of those with an operator, of that one. */
static int count_of(lfuse__node_kind kind, int op)
{
    int count = 0;
    for (int32_t i = 0; i < derived->nnodes; i++)
        count += derived->nodes[i].kind == kind && (op < 0 || derived->nodes[i].op == op);
    return count;
}

TEST_CASE("forms", .setup = setup, .teardown = teardown)

/* Parts of an axis, whatever their order, make one chain of joins: nothing is padded and added. */
TEST(parts_of_an_axis_are_joined)
{
    const lfuse_value a = lfuse_input(g, "a", F32(3, 10));
    lfuse_value parts[4];
    lfuse_split(a, 1, 4, (const lfuse_size[]){3, 1, 4, 2}, parts);
    const int order[] = {2, 0, 3, 1};
    lfuse_value shuffled[4];
    for (int i = 0; i < 4; i++) shuffled[i] = lfuse_exp(parts[order[i]]);
    derive(lfuse_concat(4, shuffled, 1), 1, &a);
    ck_assert_int_eq(count_of(LFUSE__POINTWISE, LFUSE__OP_add), 0);
    ck_assert_int_eq(count_of(LFUSE__CONCAT, -1), 3);
}

/* What is not taken is zeros at its place, in the same chain. */
TEST(absent_parts_are_zeros)
{
    const lfuse_value a = lfuse_input(g, "a", F32(3, 10));
    derive(lfuse_concat(2, (const lfuse_value[]){lfuse_slice(a, 1, 7, 2, 1), lfuse_slice(a, 1, 1, 3, 1)}, 1), 1, &a);
    ck_assert_int_eq(count_of(LFUSE__POINTWISE, LFUSE__OP_add), 0);
}

/* Weights beside a batch: their gradient is one product over all rows, no batch that is summed. */
TEST(weights_of_a_batch_take_one_product)
{
    const lfuse_value x = lfuse_input(g, "x", F32(5, 4, 3)), w = lfuse_input(g, "w", F32(3, 2)), wrt[] = {x, w};
    derive(lfuse_tanh(lfuse_matmul(x, w)), 2, wrt);
    for (int32_t i = 0; i < derived->nnodes; i++)
        if (derived->nodes[i].kind == LFUSE__MATMUL) ck_assert_int_eq(derived->nodes[i].rank, 2);
    ck_assert_int_eq(count_of(LFUSE__MATMUL, -1), 3);
    ck_assert_int_eq(count_of(LFUSE__REDUCE, -1), 0);
}

/* Products of a narrow type stay such, with sums in f32. */
TEST(products_of_narrow_operands_stay_narrow)
{
    const lfuse_value x = lfuse_input(g, "x", BF16(4, 3)), w = lfuse_input(g, "w", BF16(3, 2)), wrt[] = {x, w};
    derive(lfuse_tanh(lfuse_matmul(x, w)), 2, wrt);
    for (int32_t i = 0; i < derived->nnodes; i++) {
        const lfuse__node *n = &derived->nodes[i];
        if (n->kind != LFUSE__MATMUL) continue;
        for (int k = 0; k < 2; k++) ck_assert_int_eq(derived->nodes[n->in[k]].type, LFUSE_BF16);
    }
    ck_assert_int_eq(count_of(LFUSE__MATMUL, -1), 3);
}

/* Of 8 bits operands stay such, and the gradient that they are multiplied with is f32: a sum may be too large for 8. */
TEST_LOOP(gradients_beside_fp8_stay_f32, 0, 2)
{
    const lfuse_type type = _i ? LFUSE_E5M2 : LFUSE_E4M3;
    const lfuse_value x = lfuse_input(g, "x", TYPED(type, 4, 3)), w = lfuse_input(g, "w", TYPED(type, 3, 2));
    const lfuse_value wrt[] = {x, w};
    int gradients = 0;

    derive(lfuse_tanh(lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_FULL)), 2, wrt);
    ck_assert_int_eq(count_of(LFUSE__MATMUL, -1), 3);
    for (int32_t i = 0; i < derived->nnodes; i++) {
        const lfuse__node *n = &derived->nodes[i];
        if (n->kind != LFUSE__MATMUL) continue;
        const int of_a = derived->nodes[n->in[0]].type, of_b = derived->nodes[n->in[1]].type;
        ck_assert_int_eq(n->type, LFUSE_F32);
        ck_assert(of_a == (int)type || of_b == (int)type);
        gradients += of_a == LFUSE_F32 || of_b == LFUSE_F32;
    }
    ck_assert_int_eq(gradients, 2);
}

/* Both factors' gradients have the precision of the product, of batches and of stacked matrices too. */
TEST_LOOP(products_keep_their_precision, 0, 3)
{
    static const lfuse_precision all[] = {LFUSE_PRECISION_TF32, LFUSE_PRECISION_F32X3, LFUSE_PRECISION_BF16X6};
    const lfuse_precision p = all[_i];
    const lfuse_value x = lfuse_input(g, "x", F32(2, 4, 3)), w = lfuse_input(g, "w", F32(3, 5)), wrt[] = {x, w};
    const lfuse_value y = lfuse_matmul_as(x, w, LFUSE_F32, p), turned = lfuse_permute(y, (const int[]){0, 2, 1});
    derive(lfuse_matmul_as(lfuse_tanh(y), turned, LFUSE_F32, p), 2, wrt);
    ck_assert_int_eq(count_of(LFUSE__MATMUL, p), 5);
    ck_assert_int_eq(count_of(LFUSE__MATMUL, -1), 5);
}

TEST(products_of_lists_are_of_f32)
{
    const lfuse_value a = lfuse_list_input(g, "a", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value b = lfuse_list_input(g, "b", LFUSE_F32, LFUSE_RANK_MATRIX), wrt[] = {a, b};
    derive(lfuse_list_sum(lfuse_member_matmul_as(a, 0, b, 1, LFUSE_F32, LFUSE_PRECISION_F32X3)), 2, wrt);
    ck_assert_int_ge(count_of(LFUSE__MATMUL, -1), 2);
    ck_assert_int_eq(count_of(LFUSE__MATMUL, LFUSE_PRECISION_FULL), count_of(LFUSE__MATMUL, -1));
}

/* The maximum inside of softmax and its like gets no cotangent, which would need a mask and a count. */
TEST(the_maximum_of_a_softmax_is_a_constant)
{
    const lfuse_value a = lfuse_input(g, "a", F32(4, 9));
    derive(lfuse_mul(lfuse_softmax(a, 1, last), lfuse_log_softmax(a, 1, last)), 1, &a);
    ck_assert_int_eq(count_of(LFUSE__POINTWISE, LFUSE__OP_eq), 0);
    ck_assert_int_eq(count_of(LFUSE__REDUCE, LFUSE__REDUCE_MAX), 1);
}

/* What gradients of products with zeros have for gradients of their own is not computed before it is needed. */
TEST(zeros_among_factors_are_counted_once)
{
    const lfuse_value a = lfuse_input(g, "a", F32(4, 9));
    derive(lfuse_prod(a, 1, last, 0), 1, &a);
    ck_assert_int_eq(count_of(LFUSE__REDUCE, LFUSE__REDUCE_SUM), 1);
    ck_assert_int_eq(count_of(LFUSE__REDUCE, LFUSE__REDUCE_PROD), 1);
}

TEST(zeros_in_a_scan_are_counted_once)
{
    const lfuse_value a = lfuse_input(g, "a", F32(4, 9));
    derive(lfuse_cumprod(a, 1), 1, &a);
    ck_assert_int_eq(count_of(LFUSE__SCAN, LFUSE__SCAN_cumsum), 3);
    ck_assert_int_eq(count_of(LFUSE__SCAN, LFUSE__SCAN_cumprod), 2);
}

static lfuse_value deep(lfuse_value a) { return lfuse_sin(lfuse_exp(lfuse_tanh(a))); }

/* All that leads to a checkpoint is computed twice, and of what does not nothing. */
TEST(checkpoints_compute_anew)
{
    const lfuse_value a = lfuse_input(g, "a", F32(9));
    derive(lfuse_sigmoid(lfuse_checkpoint(deep(a))), 1, &a);
    ck_assert_int_eq(count_of(LFUSE__POINTWISE, LFUSE__OP_tanh), 2);
    ck_assert_int_eq(count_of(LFUSE__POINTWISE, LFUSE__OP_exp), 2);
    ck_assert_int_eq(count_of(LFUSE__POINTWISE, LFUSE__OP_sigmoid), 1);
}

TEST(nothing_is_computed_anew_without_a_checkpoint)
{
    const lfuse_value a = lfuse_input(g, "a", F32(9));
    derive(lfuse_sigmoid(deep(a)), 1, &a);
    ck_assert_int_eq(count_of(LFUSE__POINTWISE, LFUSE__OP_tanh), 1);
    ck_assert_int_eq(count_of(LFUSE__POINTWISE, LFUSE__OP_exp), 1);
    ck_assert_int_eq(count_of(LFUSE__RESHAPE, LFUSE__RESHAPE_FENCE), 0);
}

/* A gradient of zeros reads nothing. */
TEST(zeros_read_nothing)
{
    const lfuse_value a = lfuse_input(g, "a", F32(9)), b = lfuse_input(g, "b", F32(9));
    derive(lfuse_exp(lfuse_stop(a)), 1, &b);
    ck_assert_int_eq(count_of(LFUSE__POINTWISE, LFUSE__OP_exp), 0);
}

/* ---- sums of contributions ---- */

/* The gradient of x (c0 + c1 + c2), each product a function of its own, in this order. */
static double gradient_of_three(lfuse_type type, const double *c)
{
    static const char *const names[] = {"c0", "c1", "c2"};
    lfuse__oracle_input in[4];
    lfuse__oracle_run run;
    double data[4];
    lfuse_value terms[3], d;
    const lfuse_value x = lfuse_input(g, "x", TYPED(type, 1));
    for (int i = 0; i < 3; i++) {
        in[i] = (lfuse__oracle_input){.name = names[i], .data = &data[i], .shape = {1}};
        lfuse__data_put(type, &data[i], 0, c[i]);
        terms[i] = lfuse_mul(x, lfuse_input(g, names[i], TYPED(type, 1)));
    }
    in[3] = (lfuse__oracle_input){.name = "x", .data = &data[3], .shape = {1}};
    lfuse__data_put(type, &data[3], 0, 1);
    lfuse_gradient(lfuse_sum(lfuse_concat(3, terms, 0), 1, first, 0), lfuse_none(), 1, &x, &d);
    lfuse_output(g, "d", d);
    OK(lfuse__oracle_run_graph(g, in, 4, NULL, &run));
    ck_assert(run.results[0].bound[0] == 0);
    const double got = (double)run.results[0].value[0];
    lfuse__oracle_free(&run);
    return got;
}

/* The function that was built last gives first: 1 is lost beside the larger numbers. */
TEST(contributions_are_added_last_first)
{
    ck_assert_double_eq(gradient_of_three(LFUSE_F32, (const double[]){0x1p30, -0x1p30, 1}), 0);
}

TEST(contributions_keep_what_comes_last)
{
    ck_assert_double_eq(gradient_of_three(LFUSE_F32, (const double[]){1, 0x1p30, -0x1p30}), 1);
}

/* f16 cannot tell 2049 from 2048. */
TEST(narrow_contributions_are_added_in_f32)
{
    ck_assert_double_eq(gradient_of_three(LFUSE_F16, (const double[]){-2048, 1, 2048}), 1);
}

TEST_SUITE("forms of gradients", CK_FORK_GETENV)
