/* SPDX-License-Identifier: Apache-2.0 */
/* What row fusion makes of reductions and what lies around them, read from the printed plan. No device. */
#include "tests/plan/rig.h"

static const int first[] = { 0 }, last[] = { 1 }, both[] = { 0, 1 };

static lfuse_value matrix(const char *name)
{
    return lfuse_input(g, name, F32(4, 8));
}

static lfuse_value sum(lfuse_value a)
{
    return rig_row(a, LFUSE__REDUCE_SUM);
}

static lfuse_value mean(lfuse_value a)
{
    return lfuse_mul(sum(a), rig_number(0.125));
}

static lfuse_value layernorm(lfuse_value x)
{
    const lfuse_value c = lfuse_sub(x, mean(x));

    return lfuse_mul(c, lfuse_rsqrt(lfuse_add(mean(lfuse_mul(c, c)), rig_number(0.25))));
}

TEST_CASE("fusion", .setup = rig_setup, .teardown = rig_teardown)

TEST(a_sum_takes_what_is_before_it)
{
    const lfuse_value c = lfuse_sub(matrix("x"), rig_number(1));

    lfuse_output(g, "v", rig_reduce(lfuse_mul(c, c), LFUSE__REDUCE_SUM, 1, last, 0));
    rig_expect("(rows 4 x 8 1 (v (sum (mul %1=(sub x 1) %1))))");
}

TEST(two_names_of_a_reduction_are_two_stores)
{
    const lfuse_value s = sum(matrix("x"));

    lfuse_output(g, "a", s);
    lfuse_output(g, "b", s);
    rig_expect("(rows 4 x 8 1 (b %1=(sum x)) (a %1))");
}

TEST(what_is_read_again_is_kept)
{
    const lfuse_value e = lfuse_exp(matrix("x"));

    lfuse_output(g, "y", lfuse_div(e, sum(e)));
    rig_expect("(rows 4 x 8 1 (y (div %1=(exp x) (sum %1))))");
    ck_assert_int_eq(plan->nbuffers, 0);
}

TEST(softmax_with_scale_and_mask)
{
    const lfuse_value x = lfuse_mul(matrix("x"), lfuse_scalar(g, "scale"));

    lfuse_output(g, "y", rig_softmax(lfuse_add(x, matrix("mask"))));
    rig_expect("(rows 4 x 8 1 (y (div %1=(exp (sub %2=(add (mul x scale) mask) (max %2))) (sum %1))))");
}

TEST(layernorm_tanh_dot_relu)
{
    const lfuse_value w = lfuse_input(g, "w", F32(8)), t = lfuse_tanh(layernorm(matrix("x")));
    const lfuse_value dot = rig_reduce(lfuse_mul(t, w), LFUSE__REDUCE_SUM, 1, last, 0);

    lfuse_output(g, "y", lfuse_relu(lfuse_add(dot, rig_number(2))));
    rig_expect("(rows 4 x 8 1 (y (relu (add (sum (mul (tanh (mul %1=(sub x (mul (sum x) 0.125)) "
               "(rsqrt (add (mul (sum (mul %1 %1)) 0.125) 0.25)))) w)) 2))))");
}

TEST(two_norms_of_the_same_rows)
{
    const lfuse_value x = matrix("x");

    lfuse_output(g, "a", sum(lfuse_abs(x)));
    lfuse_output(g, "b", lfuse_sqrt(rig_reduce(lfuse_mul(x, x), LFUSE__REDUCE_SUM, 1, last, 0)));
    rig_expect("(rows 4 x 8 1 (a (sum (abs x))) (b (sqrt (sum (mul x x)))))");
}

TEST(axes_in_the_middle)
{
    static const int outer[] = { 0, 2 };
    const lfuse_value x = lfuse_input(g, "x", F32(2, 3, 4, 5));
    const lfuse_value s = rig_reduce(x, LFUSE__REDUCE_MAX, 2, outer, 0);
    const lfuse_value k = rig_reduce(x, LFUSE__REDUCE_MIN, 2, outer, 1);

    lfuse_output(g, "s", s);
    lfuse_output(g, "y", lfuse_div(x, lfuse_sub(k, rig_number(1))));
    rig_expect("(rows 3 x 5 x 2 x 4 2 (s (max x)) (y (div x (sub (min x) 1))))");
}

TEST(elements_join_the_rows_they_share_memory_with)
{
    const lfuse_value x = matrix("x");

    lfuse_output(g, "s", sum(x));
    lfuse_output(g, "y", lfuse_exp(x));
    lfuse_output(g, "c", rig_reduce(x, LFUSE__REDUCE_SUM, 1, first, 0));
    rig_expect("(rows 4 x 8 1 (s (sum x)) (y (exp x))) (rows 8 x 4 1 (c (sum x)))");
    rig_make(LFUSE_NO_ROW_FUSION | LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 3);
}

TEST(siblings_stay_small_enough)
{
    const lfuse_value x = matrix("x");
    char name[16];

    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "y%d", i);
        lfuse_output(g, name, lfuse_mul(x, rig_number(i + 2)));
    }
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_ge(plan->nstages, 3);
    ck_assert_int_le(plan->nstages, 5);
}

TEST(elements_and_rows_are_stored_by_one_kernel)
{
    const lfuse_value x = matrix("x"), e = lfuse_exp(x), s = sum(e);

    lfuse_output(g, "s", s);
    lfuse_output(g, "e", e);
    lfuse_output(g, "y", lfuse_div(e, s));
    rig_expect("(rows 4 x 8 1 (e %1=(exp x)) (s %2=(sum %1)) (y (div %1 %2)))");
}

TEST(columns)
{
    const lfuse_value x = matrix("x"), s = rig_reduce(x, LFUSE__REDUCE_SUM, 1, first, 0);

    lfuse_output(g, "y", lfuse_sub(x, s));
    lfuse_output(g, "r", lfuse_sqrt(s));
    rig_expect("(rows 8 x 4 1 (y (sub x %1=(sum x))) (r (sqrt %1)))");
    const lfuse__step *step = plan->stages[0].alternatives[0].steps;
    ck_assert_mem_eq(step->operands[0].axis, ((const int8_t[]){ 1, 0, -1, -1, -1, -1, -1, -1 }), LFUSE_MAX_RANK);
    ck_assert_mem_eq(step->operands[2].axis, ((const int8_t[]){ 0, -1, -1, -1, -1, -1, -1, -1 }), LFUSE_MAX_RANK);
}

TEST(the_whole_tensor)
{
    const lfuse_value x = matrix("x"), n = lfuse_sqrt(rig_reduce(lfuse_mul(x, x), LFUSE__REDUCE_SUM, 2, both, 0));

    lfuse_output(g, "n", n);
    lfuse_output(g, "y", lfuse_div(x, n));
    rig_expect("(rows 4 x 8 2 (n %1=(sqrt (sum (mul x x)))) (y (div x %1)))");
}

TEST(reductions_of_reductions_are_further_steps)
{
    const lfuse_value x = matrix("x"), s = rig_reduce(lfuse_exp(x), LFUSE__REDUCE_SUM, 1, last, 0);

    lfuse_output(g, "y", rig_reduce(lfuse_log(s), LFUSE__REDUCE_MAX, 1, first, 0));
    rig_expect("(rows 4 x 8 1 (t0 (log (sum (exp x))))) (rows 4 1 (y (max t0)))");
}

TEST(rows_over_rows)
{
    const lfuse_value x = lfuse_input(g, "x", F32(2, 4, 8));

    /* what follows the inner sum has its rows' shape and is of the outer softmax all the same */
    lfuse_output(g, "y", rig_softmax(rig_reduce(x, LFUSE__REDUCE_SUM, 1, (const int[]){ 2 }, 0)));
    rig_expect("(rows 2 x 4 x 8 1 (t0 (sum x))) (rows 2 x 4 1 (y (div %1=(exp (sub t0 (max t0))) (sum %1))))");
}

TEST(mixed_axes_go_with_one_of_them)
{
    const lfuse_value e = lfuse_exp(matrix("x"));

    lfuse_output(g, "r", rig_reduce(e, LFUSE__REDUCE_SUM, 1, last, 0));
    lfuse_output(g, "c", rig_reduce(e, LFUSE__REDUCE_SUM, 1, first, 0));
    rig_expect("(rows 4 x 8 1 (t0 %1=(exp x)) (r (sum %1))) (rows 8 x 4 1 (c (sum t0)))");
}

TEST(every_reduction_alone)
{
    lfuse_output(g, "y", rig_softmax(lfuse_neg(matrix("x"))));
    rig_make(LFUSE_NO_ROW_FUSION);
    ck_assert_str_eq(text.data, "(pointwise 4 x 8 (t0 (neg x))) (rows 4 x 8 1 (t1 (max t0))) "
                                "(pointwise 4 x 8 (t2 (exp (sub t0 t1)))) (rows 4 x 8 1 (t3 (sum t2))) "
                                "(pointwise 4 x 8 (y (div t2 t3)))");
}

TEST(vectors_along_the_row_are_not_of_the_row)
{
    const lfuse_value b = lfuse_exp(lfuse_input(g, "b", F32(8)));

    lfuse_output(g, "y", lfuse_add(rig_softmax(matrix("x")), b));
    rig_expect("(pointwise 8 (t0 (exp b))) (rows 4 x 8 1 (y (add (div %1=(exp (sub x (max x))) (sum %1)) t0)))");
}

TEST(values_of_the_row_join)
{
    const lfuse_value b = lfuse_exp(lfuse_input(g, "b", F32(4, 1)));

    lfuse_output(g, "y", lfuse_add(rig_softmax(matrix("x")), b));
    rig_expect("(rows 4 x 8 1 (y (add (div %1=(exp (sub x (max x))) (sum %1)) (exp b))))");
}

TEST(a_product_stands_between)
{
    const lfuse_value x = lfuse_input(g, "x", F32(16, 16)), w = lfuse_input(g, "w", F32(16, 16));
    const lfuse_value y = lfuse_matmul(rig_softmax(x), w);

    lfuse_output(g, "y", lfuse_mul(rig_softmax(y), x));
    rig_expect("(rows 16 x 16 1 (t0 (div %1=(exp (sub x (max x))) (sum %1)))) (gemm 16 x 16 x 16 acc) "
               "(rows 16 x 16 1 (y (mul (div %1=(exp (sub t1 (max t1))) (sum %1)) x)))");
}

TEST(narrow_sums_are_rounded_behind)
{
    const lfuse_value x = lfuse_input(g, "x", F16(4, 8));

    lfuse_output(g, "y", lfuse_div(x, sum(x)));
    rig_expect("(rows 4 x 8 1 (y (div x (f16 (sum x)))))");
    const lfuse__body *b = &plan->stages[0].alternatives[0].steps->body;
    ck_assert_int_eq(b->instr[1].kind, LFUSE__I_REDUCE);
    ck_assert_int_eq(b->instr[1].type, LFUSE_F32);
}

TEST(rows_are_updated_in_place)
{
    const lfuse_value x = matrix("x");

    lfuse_update(x, rig_softmax(x));
    rig_expect("(rows 4 x 8 1 (x (div %1=(exp (sub x (max x))) (sum %1))))");
}

TEST(values_of_rows_are_updated_in_place)
{
    const lfuse_value r = lfuse_input(g, "r", F32(4, 1));

    lfuse_update(r, lfuse_add(r, sum(matrix("x"))));
    rig_expect("(rows 4 x 8 1 (r (add r (sum x))))");
}

/* What several rows have in common may be read by another row than the one that stores it. */
TEST(values_of_several_rows_are_updated_through_a_copy)
{
    const lfuse_value x = lfuse_input(g, "x", F32(3, 4, 8)), r = lfuse_input(g, "r", F32(4, 1));
    const lfuse_value s = rig_reduce(x, LFUSE__REDUCE_SUM, 1, (const int[]){ 2 }, 1);

    lfuse_output(g, "y", lfuse_add(s, r));
    lfuse_update(r, lfuse_mul(r, lfuse_constant(g, 2)));
    rig_expect("(rows 3 x 4 x 8 1 (y (add (sum x) r))) (pointwise 4 x 1 (r (mul r 2)))");
}

TEST(columns_are_updated_behind_the_rows_that_read_them)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 4));

    lfuse_output(g, "s", sum(x));
    lfuse_update(x, lfuse_sub(x, rig_reduce(x, LFUSE__REDUCE_MAX, 1, first, 1)));
    rig_expect("(rows 4 x 4 1 (s (sum x))) (rows 4 x 4 1 (x (sub x (max x))))");
}

/* ---- order ---- */

TEST(no_cycle_through_another_kernel)
{
    const lfuse_value x = lfuse_input(g, "x", F32(16, 16)), s = sum(x);

    /* the second sum waits for the product of the first: what lies on both sides is no one kernel */
    lfuse_output(g, "y", lfuse_div(lfuse_mul(x, s), sum(lfuse_matmul(lfuse_mul(x, s), x))));
    rig_make(0);
    rig_check_order();
    ck_assert_int_eq(plan->nstages, 3);
}

/* Deterministic, so that a failure can be told by its number. */
static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

TEST_LOOP(adversarial_graphs_have_an_order, 0, 300)
{
    unsigned state = (unsigned)_i * 7919u + 1u;
    lfuse_value v[40];
    char name[16];

    v[0] = lfuse_input(g, "x", F32(4, 4));
    v[1] = lfuse_input(g, "z", F32(4, 4));
    for (int i = 2; i < 40; i++) {
        const lfuse_value a = v[draw(&state, (unsigned)i)], b = v[draw(&state, (unsigned)i)];
        switch (draw(&state, 7)) {
        case 0: v[i] = lfuse_add(a, b); break;
        case 1: v[i] = lfuse_exp(a); break;
        case 2: v[i] = lfuse_sub(b, sum(a)); break;
        case 3: v[i] = lfuse_mul(b, rig_reduce(a, LFUSE__REDUCE_MAX, 1, first, 1)); break;
        case 4: v[i] = lfuse_add(lfuse_transpose(a), b); break;
        case 5: v[i] = lfuse_div(b, lfuse_sqrt(rig_reduce(a, LFUSE__REDUCE_SUM, 2, both, 0))); break;
        default: v[i] = lfuse_matmul(a, b); break;
        }
        if (draw(&state, 6) == 0) {
            snprintf(name, sizeof name, "y%d", i);
            lfuse_output(g, name, v[i]);
        }
    }
    lfuse_output(g, "y", v[39]);
    rig_make(0);
    rig_check_order();
    rig_make(LFUSE_NO_ROW_FUSION);
    rig_check_order();
    rig_make(LFUSE_NO_POINTWISE_FUSION);
    rig_check_order();
}

TEST_SUITE("rows", CK_FORK_GETENV)
