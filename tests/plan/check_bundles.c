/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps share a launch, read from the printed plan. No device. */
#include "tests/plan/rig.h"

TEST_CASE("fusion", .setup = rig_setup, .teardown = rig_teardown)

TEST(equal_code_of_any_size)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 1 << 30);

    lfuse_output(g, "y", rig_softmax(lfuse_input(g, "x", F32(n, 256))));
    lfuse_output(g, "z", rig_softmax(lfuse_input(g, "w", F32(1 << 20, 128))));
    lfuse_output(g, "c", lfuse_exp(lfuse_input(g, "b", F32(n, 256))));
    rig_expect_bundled("(bundle (rows n x 256 1 (y (div %1=(exp (sub x (max x))) (sum %1)))) "
           "(rows 1048576 x 128 1 (z (div %1=(exp (sub w (max w))) (sum %1))))) (pointwise n x 256 (c (exp b)))");
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 3);
}

TEST(unlike_ones_when_they_are_small)
{
    lfuse_output(g, "y", lfuse_exp(lfuse_input(g, "x", F32(8))));
    lfuse_output(g, "z", rig_row(lfuse_input(g, "w", F32(4, 8)), LFUSE__REDUCE_SUM));
    lfuse_output(g, "c", lfuse_log(lfuse_input(g, "b", F32(2048))));
    lfuse_output(g, "d", lfuse_sin(lfuse_input(g, "a", F32(2049))));
    rig_expect_bundled("(bundle (pointwise 8 (y (exp x))) (rows 4 x 8 1 (z (sum w))) (pointwise 2048 (c (log b)))) "
           "(pointwise 2049 (d (sin a)))");
    rig_facts.info.compute_units = 2; /* twice as much is small now */
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 1);
}

TEST(unlike_ones_of_similar_length)
{
    lfuse_value v = lfuse_input(g, "x", F32(8));

    for (int i = 0; i < 30; i++) v = lfuse_sin(lfuse_add(v, rig_number(i)));
    lfuse_output(g, "y", v);
    lfuse_output(g, "z", lfuse_exp(lfuse_input(g, "w", F32(8))));
    lfuse_output(g, "c", lfuse_log(lfuse_input(g, "b", F32(8))));
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 2);
    ck_assert_int_eq(plan->stages[1].alternatives[0].steps[0].nchildren, 2);
}

TEST(constants_are_code)
{
    const lfuse_value b = lfuse_input(g, "b", F32(1 << 20));

    lfuse_output(g, "y", lfuse_mul(lfuse_input(g, "x", F32(1 << 20)), rig_number(3)));
    lfuse_output(g, "z", lfuse_mul(lfuse_input(g, "w", F32(1 << 20)), rig_number(4)));
    lfuse_output(g, "c", lfuse_mul(lfuse_exp(b), lfuse_scalar(g, "s")));
    lfuse_output(g, "d", lfuse_mul(lfuse_exp(lfuse_input(g, "a", F32(1 << 20))), lfuse_scalar(g, "t")));
    rig_expect_bundled("(pointwise 1048576 (y (mul x 3))) (pointwise 1048576 (z (mul w 4))) "
           "(bundle (pointwise 1048576 (c (mul (exp b) s))) (pointwise 1048576 (d (mul (exp a) t))))");
}

static int children_with_numbers(const lfuse__step *step)
{
    int count = 0;

    for (int i = 0; i < step->nchildren; i++) count += step->children[i].body.nnumbers > 0;
    return count;
}

/* From five on they are numbers, but for quotients and powers, which depend on what the constant is. */
TEST(constants_of_many_are_numbers)
{
    static const int counts[] = { 4, 5, 20 };
    const lfuse_size n = 1 << 20;
    char names[2][16];

    for (int kind = 0; kind < 3; kind++)
        for (int k = 0; k < 3; k++) {
            const bool numbers = kind == 0 && counts[k] > 4;
            lfuse_graph_destroy(g);
            g = lfuse_graph_create();
            for (int i = 0; i < counts[k]; i++) {
                snprintf(names[0], sizeof *names, "x%d", i);
                snprintf(names[1], sizeof *names, "y%d", i);
                const lfuse_value x = lfuse_input(g, names[0], F32(n)), c = rig_number(i + 2.5);
                lfuse_output(g, names[1], kind == 0 ? lfuse_exp(lfuse_mul(x, c)) : kind == 1 ? lfuse_div(x, c)
                                                                                 : lfuse_pow(x, c));
            }
            rig_make(0);
            ck_assert_int_eq(plan->nstages, numbers ? 1 : counts[k]);
            if (numbers)
                ck_assert_int_eq(children_with_numbers(plan->stages[0].alternatives[0].steps), counts[k]);
        }
}

/* What all of them have in common stays code, and so do integers. */
TEST(common_constants_are_code)
{
    char names[2][16];

    for (int i = 0; i < 6; i++) {
        snprintf(names[0], sizeof *names, "x%d", i);
        snprintf(names[1], sizeof *names, "y%d", i);
        lfuse_output(g, names[1], lfuse_add(lfuse_mul(lfuse_input(g, names[0], F32(1 << 20)), rig_number(7)),
                                            rig_number(i)));
    }
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 1);
    const lfuse__step *step = &plan->stages[0].alternatives[0].steps[0].children[5];
    ck_assert_int_eq(step->body.nnumbers, 1);
    ck_assert(canonical->nodes[plan->numbers[step->numbers[0]]].number == 5);
    lfuse_graph_destroy(g);
    g = lfuse_graph_create();
    for (int i = 0; i < 6; i++) {
        snprintf(names[0], sizeof *names, "x%d", i);
        snprintf(names[1], sizeof *names, "y%d", i);
        lfuse_output(g, names[1], lfuse_add(lfuse_input(g, names[0], I32(1 << 20)), rig_number(i + 1)));
    }
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 6);
}

TEST(levels_are_kept)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 8)), w = lfuse_input(g, "w", F32(4, 8));
    static const int columns[] = { 0 };

    lfuse_output(g, "y", rig_reduce(rig_softmax(x), LFUSE__REDUCE_SUM, 1, columns, 0));
    lfuse_output(g, "z", rig_reduce(rig_softmax(w), LFUSE__REDUCE_SUM, 1, columns, 0));
    rig_make(0);
    rig_check_order();
    ck_assert_int_eq(plan->nstages, 2);
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].nchildren, 2);
    ck_assert_int_eq(plan->stages[1].alternatives[0].steps[0].nchildren, 2);
}

/* Recommendation models: slices, each normalised, stacked, then a dense layer of one column. */
TEST(split_and_stack_is_one_launch)
{
    enum { SLICES = 16 };
    const lfuse_size rows = lfuse_size_var(g, "rows", 1, 4096);
    const lfuse_value x = lfuse_input(g, "x", F32(rows, SLICES * 256)), w = lfuse_input(g, "w", F32(256, 1));
    lfuse_value towers[SLICES];

    for (int i = 0; i < SLICES; i++)
        towers[i] = lfuse_tanh(lfuse_layernorm(lfuse_slice(x, 1, i * 256, 256, 1), 1, lfuse_none(), lfuse_none(),
                                               1e-5));
    lfuse_output(g, "y", lfuse_relu(lfuse_matmul(lfuse_stack(SLICES, towers, 0), w)));
    rig_make(0);
    rig_check_order();
    ck_assert_int_eq(plan->nstages, 1);
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].nchildren, SLICES);
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].children[0].kind, LFUSE__STEP_ROWS);
    ck_assert_int_eq(plan->nbuffers, 0);
}

TEST(updates_do_not_run_beside_their_readers)
{
    const lfuse_value x = lfuse_input(g, "x", F32(8)), w = lfuse_input(g, "w", F32(8, 8));

    /* y reads x along the rows of w, so it is no part of the kernel that updates x */
    lfuse_output(g, "y", lfuse_add(w, x));
    lfuse_update(x, lfuse_exp(x));
    rig_expect_bundled("(pointwise 8 x 8 (y (add w x))) (pointwise 8 (x (exp x)))");
}

TEST(updates_run_beside_others)
{
    char name[16];

    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "x%d", i);
        lfuse_value x = lfuse_input(g, name, F32(8 + i));
        lfuse_update(x, lfuse_exp(x));
    }
    rig_expect_bundled("(bundle (pointwise 8 (x0 (exp x0))) (pointwise 9 (x1 (exp x1))) (pointwise 10 (x2 (exp x2))))");
}

TEST(prepared_ones)
{
    const lfuse_value a = lfuse_frozen(g, "a", F32(8)), b = lfuse_frozen(g, "b", F32(9));

    lfuse_output(g, "y", lfuse_mul(lfuse_input(g, "x", F32(8)), lfuse_exp(a)));
    lfuse_output(g, "z", lfuse_mul(lfuse_input(g, "w", F32(9)), lfuse_exp(b)));
    rig_expect_bundled("(prepare (bundle (pointwise 8 (t0 (exp a))) (pointwise 9 (t1 (exp b))))) "
           "(bundle (pointwise 8 (y (mul x t0))) (pointwise 9 (z (mul w t1))))");
}

TEST(a_few_hundred_at_most)
{
    char name[16];

    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "x%d", i);
        lfuse_output(g, name + 1, lfuse_exp(lfuse_input(g, name, F32(8))));
    }
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 4);
    for (int i = 0; i < plan->nstages; i++)
        ck_assert_int_le(plan->stages[i].alternatives[0].steps[0].nchildren, 256);
}

/* Sizes of members are no memory of the plan's: with more names than buffers they once were taken for some (ASan). */
TEST(sizes_of_members)
{
    const lfuse_value a = lfuse_list_input(g, "a", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value b = lfuse_list_input(g, "b", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value c = lfuse_list_input(g, "c", LFUSE_F32, LFUSE_RANK_ANY);

    lfuse_update(a, lfuse_mul(a, lfuse_cast(lfuse_member_elements(a), LFUSE_F32)));
    lfuse_update(b, lfuse_mul(b, lfuse_cast(lfuse_member_elements(b), LFUSE_F32)));
    lfuse_update(c, lfuse_mul(c, lfuse_cast(lfuse_member_elements(c), LFUSE_F32)));
    rig_make(0);
    rig_check_order();
    ck_assert_int_eq(plan->nbuffers, 0);
    ck_assert_int_eq(plan->nstages, 3);
}

TEST_SUITE("bundles", CK_FORK_GETENV)
