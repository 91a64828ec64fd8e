/* SPDX-License-Identifier: Apache-2.0 */
/* What several kernels read: stored once, or computed by each of them. Read from the printed plan. No device. */
#include "common/plan/draft.h"
#include "tests/plan/rig.h"

static const int first[] = { 0 };

static lfuse_value matrix(const char *name)
{
    return lfuse_input(g, name, F32(4, 8));
}

/* Reads the value in a kernel of rows and in one of columns, which cannot be one. */
static void rows_and_columns(lfuse_value v)
{
    lfuse_output(g, "rows", rig_row(v, LFUSE__REDUCE_SUM));
    lfuse_output(g, "columns", rig_reduce(v, LFUSE__REDUCE_SUM, 1, first, 0));
}

/* ---- the rule ---- */

TEST_CASE("rule")

TEST(the_rule)
{
    lfuse__reuse r = { .bytes = 4, .kernels = 1, .loads = 4, .more = 4, .operations = 1 };

    ck_assert(lfuse__reuse_recomputes(&rig_facts, &r)); /* a load and a simple operation for a store and a load */
    r.operations = 15;
    ck_assert(lfuse__reuse_recomputes(&rig_facts, &r));
    r.operations = 16; /* four bytes' worth: no gain */
    ck_assert(!lfuse__reuse_recomputes(&rig_facts, &r));
    r.operations = 1, r.more = 8; /* two operands for one: no gain */
    ck_assert(!lfuse__reuse_recomputes(&rig_facts, &r));
    r.alone = true, r.loads = 8; /* but when its kernel goes with it */
    ck_assert(lfuse__reuse_recomputes(&rig_facts, &r));
    r.kernels = 4, r.more = 32;
    ck_assert(!lfuse__reuse_recomputes(&rig_facts, &r));
}

TEST(operations_weigh)
{
    ck_assert(lfuse__op_weight(LFUSE__OP_add) == 1);
    ck_assert(lfuse__op_weight(LFUSE__OP_leaky_relu) == 3);
    ck_assert(lfuse__op_weight(LFUSE__OP_div) == 8);
    ck_assert(lfuse__op_weight(LFUSE__OP_rsqrt) == 8);
    ck_assert(lfuse__op_weight(LFUSE__OP_tanh) == 24);
    ck_assert(lfuse__op_weight(LFUSE__OP_sigmoid) == 24 + 1 + 1 + 8 + 1 + 1 + 1);
}

/* ---- the plans ---- */

TEST_CASE("plans", .setup = rig_setup, .teardown = rig_teardown)

TEST(a_cheap_value_of_one_input_is_computed_again)
{
    rows_and_columns(lfuse_mul(matrix("x"), rig_number(2)));
    rig_expect("(rows 4 x 8 1 (rows (sum (mul x 2)))) (rows 8 x 4 1 (columns (sum (mul x 2))))");
    rig_expect_without(LFUSE_NO_RECOMPUTE,
                       "(rows 4 x 8 1 (t0 %1=(mul x 2)) (rows (sum %1))) (rows 8 x 4 1 (columns (sum t0)))");
}

TEST(the_end_of_a_long_chain_is_stored)
{
    rows_and_columns(lfuse_tanh(lfuse_exp(lfuse_sin(matrix("x")))));
    rig_expect("(rows 4 x 8 1 (t0 %1=(tanh (exp (sin x)))) (rows (sum %1))) (rows 8 x 4 1 (columns (sum t0)))");
}

TEST(a_value_of_two_inputs_is_stored)
{
    rows_and_columns(lfuse_add(matrix("x"), matrix("y")));
    rig_expect("(rows 4 x 8 1 (t0 %1=(add x y)) (rows (sum %1))) (rows 8 x 4 1 (columns (sum t0)))");
}

TEST(what_the_reader_loads_anyway_costs_nothing)
{
    const lfuse_value x = matrix("x"), v = lfuse_add(x, matrix("y"));

    lfuse_output(g, "rows", rig_row(v, LFUSE__REDUCE_SUM));
    lfuse_output(g, "columns", rig_reduce(lfuse_mul(v, x), LFUSE__REDUCE_SUM, 1, first, 0));
    rig_expect("(rows 4 x 8 1 (rows (sum (add x y)))) (rows 8 x 4 1 (columns (sum (mul (add x y) x))))");
}

TEST(a_broadcast_is_computed_by_every_consumer)
{
    const lfuse_value a = lfuse_input(g, "a", F32(4, 1)), b = lfuse_input(g, "b", F32(8));
    const lfuse_value v = lfuse_mul(lfuse_add(a, b), rig_number(3));

    rows_and_columns(v);
    lfuse_output(g, "turned", lfuse_neg(lfuse_transpose(v)));
    rig_expect("(rows 4 x 8 1 (rows (sum (mul (add a b) 3)))) (rows 8 x 4 1 (columns (sum (mul (add a b) 3)))) "
               "(pointwise 8 x 4 (turned (neg (mul (add a b) 3))))");
}

/* Nothing else comes from the kernel that would store it: it goes, and even a function is cheaper twice. */
TEST(a_kernel_goes_with_what_it_stores)
{
    const lfuse_value v = lfuse_exp(matrix("x"));

    lfuse_output(g, "a", lfuse_neg(lfuse_transpose(v)));
    lfuse_output(g, "b", rig_reduce(lfuse_reshape(v, SHAPE(8, 4)), LFUSE__REDUCE_SUM, 1, first, 0));
    rig_expect("(pointwise 8 x 4 (a (neg (exp x)))) (rows 4 x 8 1 (b (sum (exp x[i1,i0]))))");
    rig_expect_without(LFUSE_NO_RECOMPUTE,
                       "(pointwise 4 x 8 (t0 (exp x))) (pointwise 8 x 4 (a (neg t0))) "
                       "(rows 4 x 8 1 (b (sum t0[i1,i0])))");
}

/* A normalised row, read along its columns too: one number a row is stored, the elements are not. */
TEST(rows_store_their_numbers_alone)
{
    const lfuse_value x = matrix("x"), v = lfuse_sub(x, rig_row(x, LFUSE__REDUCE_MAX));

    rows_and_columns(v);
    rig_expect("(rows 4 x 8 1 (t0 %1=(max x)) (rows (sum (sub x %1)))) (rows 8 x 4 1 (columns (sum (sub x t0))))");
    rig_check_order();
}

TEST(elements_between_two_kernels_of_one_shape)
{
    const int both[] = { 0, 1 };
    const lfuse_value x = matrix("x"), v = lfuse_mul(x, rig_number(0.5));

    lfuse_output(g, "y", lfuse_div(v, rig_reduce(v, LFUSE__REDUCE_SUM, 2, both, 1)));
    lfuse_output(g, "rows", rig_row(v, LFUSE__REDUCE_SUM));
    rig_make(LFUSE_NO_BUNDLES);
    rig_check_order();
    ck_assert_msg(!strstr(text.data, "(t0 (mul"), "%s", text.data);
}

TEST(outputs_are_stored_anyway)
{
    const lfuse_value v = lfuse_mul(matrix("x"), rig_number(2));

    lfuse_output(g, "v", v);
    rows_and_columns(v);
    rig_expect("(rows 4 x 8 1 (v %1=(mul x 2)) (rows (sum %1))) (rows 8 x 4 1 (columns (sum v)))");
}

/* The other kernel would have to run before the update, or the old contents be copied. */
TEST(what_is_updated_is_not_read_again)
{
    const lfuse_value x = matrix("x"), v = lfuse_mul(x, rig_number(2));

    lfuse_update(x, lfuse_add(x, rig_row(v, LFUSE__REDUCE_SUM)));
    lfuse_output(g, "columns", rig_reduce(v, LFUSE__REDUCE_SUM, 1, first, 0));
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_msg(!!strstr(text.data, "(columns (sum t"), "%s", text.data);
    rig_check_order();
}

/* Too much for one kernel when every reader computes all of it: some is stored, and the rest goes on. */
TEST(what_gets_too_large_is_stored)
{
    lfuse_value sum = { g, -1 };
    char name[16];

    for (int i = 0; i < 14; i++) {
        snprintf(name, sizeof name, "x%d", i);
        lfuse_value x = lfuse_input(g, name, F32(4, 8));
        lfuse_value v = lfuse_mul(lfuse_mul(x, rig_row(x, LFUSE__REDUCE_MAX)), rig_number(2));
        snprintf(name, sizeof name, "y%d", i);
        lfuse_output(g, name, rig_row(v, LFUSE__REDUCE_SUM));
        v = lfuse_transpose(v);
        sum = i ? lfuse_add(sum, v) : v;
    }
    lfuse_output(g, "sum", lfuse_tanh(sum));
    rig_make(LFUSE_NO_BUNDLES);
    rig_check_order();
}

/* Two kernels read the value once the one that is too large has been cut: before, there is nothing to choose. */
TEST(the_choice_is_made_when_nothing_is_too_large)
{
    const lfuse_value v = lfuse_mul(matrix("x"), rig_number(2));
    lfuse_value y = v;

    for (int i = 0; i < LFUSE__BODY_INSTRUCTIONS; i++) y = lfuse_sin(y);
    lfuse_output(g, "y", lfuse_add(y, v));
    rig_make(LFUSE_NO_BUNDLES);
    rig_check_order();
    ck_assert_msg(strstr(text.data, "(t0 (sin ") && !strstr(text.data, "t1"), "%s", text.data);
}

/* sqrt(1 - beta^t), in f64. */
static lfuse_value correction(lfuse_value t)
{
    return lfuse_sqrt(lfuse_sub(rig_number(1), lfuse_powi(rig_number(0.999), t)));
}

/* A number in device memory that takes a function and more is computed once, and not by each element. */
TEST(costly_numbers_are_stored)
{
    const lfuse_value t = lfuse_input(g, "t", LFUSE_F64, 0, NULL);

    lfuse_output(g, "y", lfuse_mul(lfuse_input(g, "x", F32(8, 1000)), correction(t)));
    rig_expect("(pointwise 1 (t0 (f32 (sqrt (sub 1 (powi 0.999 t)))))) (pointwise 8 x 1000 (y (mul x t0)))");
}

TEST(cheap_numbers_are_not)
{
    const lfuse_value t = lfuse_input(g, "t", LFUSE_F64, 0, NULL);

    lfuse_output(g, "y", lfuse_mul(lfuse_input(g, "x", F32(8, 1000)), lfuse_sqrt(lfuse_add(t, rig_number(1)))));
    rig_expect("(pointwise 8 x 1000 (y (mul x (f32 (sqrt (add t 1))))))");
}

/* Few elements, and lists, whose kernels compute numbers once a chunk. */
TEST(costly_numbers_of_few_elements)
{
    const lfuse_value t = lfuse_input(g, "t", LFUSE_F64, 0, NULL), w = rig_list("w");

    lfuse_output(g, "y", lfuse_mul(lfuse_input(g, "x", F32(8, 8)), correction(t)));
    lfuse_update(w, lfuse_mul(w, correction(t)));
    rig_expect("(pointwise 8 x 8 (y (mul x (f32 (sqrt (sub 1 (powi 0.999 t))))))) "
               "(multi w (w (mul w (f32 (sqrt (sub 1 (powi 0.999 t)))))))");
}

TEST_SUITE("reuse", CK_FORK_GETENV)
