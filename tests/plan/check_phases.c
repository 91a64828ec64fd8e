/* SPDX-License-Identifier: Apache-2.0 */
/* Row steps of several sweeps as several steps, for few long rows. No device. */
#include "tests/plan/rig.h"

TEST_CASE("alternatives", .setup = rig_setup, .teardown = rig_teardown)

TEST(one_row_step_a_sweep)
{
    lfuse_output(g, "y", rig_softmax(lfuse_input(g, "x", F32(2, 100000))));
    rig_expect("(rows 2 x 100000 1 (y (div %1=(exp (sub x (max x))) (sum %1))))");
    ck_assert_str_eq(rig_alternative(0, 1), "phases: (rows 2 x 100000 1 (t0 (max x))) "
                                            "(rows 2 x 100000 1 (t1 (sum (exp (sub x t0))))) "
                                            "(pointwise 2 x 100000 (y (div (exp (sub x t0)) t1)))");
    ck_assert_int_eq(plan->stages[0].alternatives[0].guard.least_length, 0);
    ck_assert_int_eq(plan->stages[0].alternatives[1].guard.most_rows, 15);
    ck_assert_int_eq(plan->stages[0].alternatives[1].guard.least_length, 32768);
}

TEST(bounds_tell_whether_it_is_made)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 1 << 20);

    lfuse_output(g, "a", rig_softmax(lfuse_input(g, "x", F32(n, 1024))));
    lfuse_output(g, "b", rig_softmax(lfuse_input(g, "z", F32(64, n))));
    lfuse_output(g, "c", rig_softmax(lfuse_input(g, "w", F32(2, n))));
    lfuse_output(g, "d", rig_row(lfuse_input(g, "v", F32(2, n)), LFUSE__REDUCE_SUM));
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 4);
    ck_assert_int_eq(plan->stages[0].nalternatives, 1); /* short rows */
    ck_assert_int_eq(plan->stages[1].nalternatives, 1); /* many of them */
    ck_assert_int_eq(plan->stages[2].nalternatives, 2);
    ck_assert_int_eq(plan->stages[3].nalternatives, 1); /* one sweep, which a row kernel shares out itself */
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 3); /* the first two are of equal code; what has alternatives stays alone */
}

TEST(a_norm_of_everything)
{
    const lfuse_value x = lfuse_input(g, "x", F32(8192, 8192));
    const lfuse_value n = lfuse_sqrt(rig_reduce(lfuse_mul(x, x), LFUSE__REDUCE_SUM, 2, (const int[]){ 0, 1 }, 0));

    lfuse_output(g, "n", n);
    lfuse_output(g, "y", lfuse_div(x, n));
    rig_make(0);
    ck_assert_str_eq(rig_alternative(0, 1), "phases: (rows 8192 x 8192 2 (t0 %1=(sum (mul x x))) (n (sqrt %1))) "
                                            "(pointwise 8192 x 8192 (y (div x (sqrt t0))))");
}

TEST(columns_keep_the_order_of_memory)
{
    const lfuse_value x = lfuse_input(g, "x", F32(100000, 64));

    lfuse_output(g, "y", lfuse_sub(x, rig_reduce(x, LFUSE__REDUCE_MAX, 1, (const int[]){ 0 }, 1)));
    rig_facts.simd = 32;
    rig_expect("(rows 64 x 100000 1 (y (sub x (max x))))");
    ck_assert_str_eq(rig_alternative(0, 1), "phases: (rows 64 x 100000 1 (t0 (max x))) "
                                            "(pointwise 100000 x 64 (y (sub x t0)))");
    const lfuse__step *last = &plan->stages[0].alternatives[1].steps[1];
    ck_assert_mem_eq(last->operands[0].axis, ((const int8_t[]){ 0, 1, -1, -1, -1, -1, -1, -1 }), LFUSE_MAX_RANK);
    ck_assert_mem_eq(last->operands[1].axis, ((const int8_t[]){ -1, 0, -1, -1, -1, -1, -1, -1 }), LFUSE_MAX_RANK);
}

TEST(elements_go_with_their_sweep)
{
    const lfuse_value x = lfuse_input(g, "x", F32(2, 100000)), e = lfuse_exp(x), s = rig_row(e, LFUSE__REDUCE_SUM);

    lfuse_output(g, "e", e);
    lfuse_output(g, "v", rig_row(lfuse_div(e, s), LFUSE__REDUCE_MAX));
    rig_make(0);
    ck_assert_str_eq(rig_alternative(0, 1), "phases: (rows 2 x 100000 1 (t0 (sum %1=(exp x))) (e %1)) "
                                            "(rows 2 x 100000 1 (v (max (div (exp x) t0))))");
}

TEST(updates_are_stored_last)
{
    const lfuse_value x = lfuse_input(g, "x", F32(2, 100000));

    lfuse_update(x, rig_softmax(x));
    rig_expect("(rows 2 x 100000 1 (x (div %1=(exp (sub x (max x))) (sum %1))))");
    ck_assert_int_eq(plan->nstages, 1);
    ck_assert_str_eq(rig_alternative(0, 1), "phases: (rows 2 x 100000 1 (t0 (max x))) "
                                            "(rows 2 x 100000 1 (t1 (sum (exp (sub x t0))))) "
                                            "(pointwise 2 x 100000 (x (div (exp (sub x t0)) t1)))");
}

TEST_SUITE("phases", CK_FORK_GETENV)
