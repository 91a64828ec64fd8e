/* SPDX-License-Identifier: Apache-2.0 */
/* Reshapes behind row kernels, read from the printed plan. No device. */
#include "tests/plan/rig.h"

static lfuse_value groupnorm(lfuse_size n)
{
    const lfuse_value scale = lfuse_input(g, "scale", F32(8)), shift = lfuse_input(g, "shift", F32(8));

    return lfuse_groupnorm(lfuse_input(g, "x", F32(n, 8, 5, 7)), 4, scale, shift, 1e-5);
}

TEST_CASE("plans", .setup = rig_setup, .teardown = rig_teardown)

TEST(groupnorm_is_one_kernel)
{
    lfuse_output(g, "y", groupnorm(3));
    rig_expect("(rows 3 x 4 x 2 x 5 x 7 3 (y[i0,i1,i2,i3,i4] (add (mul (mul %1=(sub x[i0,i1,i2,i3,i4] "
               "(div (sum x[i0,i1,i2,i3,i4]) 70)) (reciprocal (sqrt (add (div (sum (mul %1 %1)) 70) 1e-05)))) "
               "scale[i1,i2,0,0]) shift[i1,i2,0,0])))");
}

/* Both results, and operands that broadcast: along two axes, and along the groups of none. */
TEST(what_follows_joins_it)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 100);
    const lfuse_value y = groupnorm(n), r = lfuse_input(g, "r", F32(n, 8, 5, 7));

    lfuse_output(g, "z", lfuse_relu(lfuse_mul(lfuse_add(y, r), lfuse_input(g, "s", F32(8, 1, 7)))));
    rig_expect("(rows n x 4 x 2 x 5 x 7 3 (z[i0,i1,i2,i3,i4] (relu (mul (add (add (mul (mul %1=(sub x[i0,i1,i2,i3,i4] "
               "(div (sum x[i0,i1,i2,i3,i4]) 70)) (reciprocal (sqrt (add (div (sum (mul %1 %1)) 70) 1e-05)))) "
               "scale[i1,i2,0,0]) shift[i1,i2,0,0]) r[i0,i1,i2,i3,i4]) s[0,i1,i2,0,i4]))))");
}

TEST(both_shapes_are_results)
{
    const lfuse_value y = groupnorm(3);

    lfuse_output(g, "y", y);
    lfuse_output(g, "z", lfuse_tanh(y));
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 1);
    ck_assert_int_eq(plan->nbuffers, 0);
}

TEST(views_that_are_left_out_stay)
{
    lfuse_output(g, "z", lfuse_relu(groupnorm(3)));
    rig_make(LFUSE_NO_BUNDLES | LFUSE_NO_VIEW_FUSION);
    ck_assert_int_gt(plan->nstages, 1);
    rig_check_order();
}

/* One number for two of the rows: in their shape that is no broadcast. */
TEST(what_cannot_be_seen_in_that_shape)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6));
    const lfuse_value y = lfuse_reshape(lfuse_sub(x, rig_row(x, LFUSE__REDUCE_MAX)), SHAPE(2, 2, 6));

    lfuse_output(g, "z", lfuse_mul(y, lfuse_input(g, "s", F32(2, 1, 6))));
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 2);
    rig_check_order();
}

static lfuse_value rows_reshaped(const char *name, lfuse_size rows, lfuse_size columns)
{
    const lfuse_value x = lfuse_input(g, name, F32(rows, columns));

    return lfuse_reshape(lfuse_sub(x, rig_row(x, LFUSE__REDUCE_MAX)), SHAPE(8, 3));
}

/* Each operand could take the function into its own shape, and the other one's reshape with it. */
TEST(rows_of_two_shapes)
{
    lfuse_output(g, "z", lfuse_mul(rows_reshaped("a", 4, 6), rows_reshaped("b", 2, 12)));
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 2);
    rig_check_order();
}

/* Nothing is reduced: one kernel sees it in any shape, and stores it in the one that the caller knows. */
TEST(elements_alone_do_not_sink)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 6));

    lfuse_output(g, "z", lfuse_tanh(lfuse_reshape(lfuse_exp(x), SHAPE(8, 3))));
    rig_expect("(pointwise 8 x 3 (z (tanh (exp x[i0,i1]))))");
}

TEST_SUITE("sink", CK_FORK_GETENV)
