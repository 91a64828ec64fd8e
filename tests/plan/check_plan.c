/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes decide, read from the printed plan. No device. */
#include "common/matmul/provider.h"
#include "tests/plan/rig.h"

static lfuse_value vector(const char *name)
{
    return lfuse_input(g, name, F32(8));
}

/* ---- numbers.c, views.c ---- */

TEST_CASE("passes", .setup = rig_setup, .teardown = rig_teardown)

TEST(numbers_become_slots)
{
    const lfuse_value s = lfuse_scalar(g, "s");

    lfuse_output(g, "y", lfuse_mul(vector("x"), lfuse_add(lfuse_pow(s, rig_number(2)), rig_number(1))));
    lfuse_output(g, "z", lfuse_add(lfuse_cast(vector("w"), LFUSE_F64), s));
    rig_expect("(pointwise 8 (y (mul x (add (pow s 2) 1)))) (pointwise 8 (z (add (f64 w) s)))");
    ck_assert_int_eq(plan->nnumbers, 2);
    ck_assert_int_eq(plan->stages[0].alternatives[0].steps[0].body.number_types[0], LFUSE_F32);
    ck_assert_int_eq(plan->stages[1].alternatives[0].steps[0].body.number_types[0], LFUSE_F64);
}

TEST(views_are_axes)
{
    const int turn[] = { 2, 0, 1 };
    const lfuse_value x = lfuse_input(g, "x", F32(2, 3, 4));
    const lfuse_value r = lfuse_input(g, "r", F32(3, 1));

    lfuse_output(g, "y", lfuse_add(lfuse_permute(x, turn), lfuse_transpose(r)));
    rig_expect("(pointwise 4 x 2 x 3 (y (add x r)))");
    const lfuse__operand *o = plan->stages[0].alternatives[0].steps[0].operands;
    ck_assert_mem_eq(o[0].axis, ((const int8_t[]){ 2, 0, 1, -1, -1, -1, -1, -1 }), LFUSE_MAX_RANK);
    ck_assert_mem_eq(o[1].axis, ((const int8_t[]){ -1, -1, 0, -1, -1, -1, -1, -1 }), LFUSE_MAX_RANK);
}

/* ---- pointwise.c, split.c ---- */

TEST(a_region_with_two_results)
{
    const lfuse_value x = vector("x"), e = lfuse_exp(x), t = lfuse_tanh(e);

    lfuse_output(g, "e", e);
    lfuse_output(g, "y", lfuse_mul(t, t));
    rig_expect("(pointwise 8 (e %1=(exp x)) (y (mul %2=(tanh %1) %2)))");
}

TEST(fusion_can_be_switched_off)
{
    lfuse_output(g, "y", lfuse_neg(lfuse_exp(lfuse_add(vector("x"), rig_number(1)))));
    rig_expect_without(LFUSE_NO_POINTWISE_FUSION,
                       "(pointwise 8 (t0 (add x 1))) (pointwise 8 (t1 (exp t0))) (pointwise 8 (y (neg t1)))");
}

TEST(what_is_read_later_is_computed_later)
{
    const int last[] = { -1 };
    const lfuse_value x = lfuse_input(g, "x", F32(4, 8));
    const lfuse_value s = lfuse_sum(x, 1, last, 1);

    /* sigmoid(x) joins the division, though nothing keeps it from running before the sum */
    lfuse_output(g, "y", lfuse_div(lfuse_sigmoid(x), s));
    rig_expect_without(LFUSE_NO_ROW_FUSION, "(rows 4 x 8 1 (t0 (sum x))) (pointwise 4 x 8 (y (div (sigmoid x) t0)))");
}

TEST(no_cycle_through_a_sum)
{
    const int last[] = { -1 };
    const lfuse_value e = lfuse_exp(lfuse_input(g, "x", F32(4, 8)));

    lfuse_output(g, "y", lfuse_div(e, lfuse_sum(e, 1, last, 1)));
    rig_expect_without(LFUSE_NO_ROW_FUSION, "(pointwise 4 x 8 (t0 (exp x))) (rows 4 x 8 1 (t1 (sum t0))) "
                                "(pointwise 4 x 8 (y (div t0 t1)))");
}

TEST(smaller_shapes_are_steps_and_single_numbers_are_not)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 8)), r = vector("r");
    const lfuse_value one = lfuse_input(g, "one", LFUSE_F32, 0, NULL);

    lfuse_output(g, "y", lfuse_mul(lfuse_add(x, lfuse_exp(r)), lfuse_sqrt(one)));
    rig_expect("(pointwise 8 (t0 (exp r))) (pointwise 4 x 8 (y (mul (add x t0) (sqrt one))))");
}

TEST(a_permuted_producer_joins_its_only_reader)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 8)), z = lfuse_input(g, "z", F32(8, 4));

    lfuse_output(g, "y", lfuse_add(lfuse_transpose(lfuse_exp(x)), z));
    lfuse_output(g, "t", lfuse_transpose(lfuse_tanh(x)));
    rig_expect("(pointwise 8 x 4 (y (add (exp x) z))) (pointwise 8 x 4 (t (tanh x)))");
}

TEST(many_operands_are_split)
{
    lfuse_value s = vector("x");
    char name[16];

    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "a%d", i);
        s = lfuse_add(s, vector(name));
    }
    lfuse_output(g, "s", s);
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 4);
    for (int i = 0; i < plan->nstages; i++)
        for (int k = 0; k < plan->stages[i].nalternatives; k++)
            ck_assert_int_le(plan->stages[i].alternatives[k].steps[0].noperands, LFUSE__MAX_BUFFERS);
}

TEST(long_chains_are_split)
{
    lfuse_value x = vector("x");

    for (int i = 0; i < 5000; i++) x = lfuse_sin(x);
    lfuse_output(g, "y", x);
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_gt(plan->nstages, 19);
    ck_assert_int_lt(plan->nstages, 60);
}

TEST(many_results_are_split)
{
    const lfuse_value e = lfuse_exp(vector("x"));
    char name[16];

    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "y%d", i);
        lfuse_output(g, name, lfuse_add(e, rig_number(i + 1)));
    }
    rig_make(LFUSE_NO_BUNDLES);
    for (int i = 0; i < plan->nstages; i++)
        ck_assert_int_le(plan->stages[i].alternatives[0].steps[0].noperands, LFUSE__MAX_BUFFERS);
}

/* ---- product.c ---- */

static void dense(lfuse_type type, lfuse_value (*activation)(lfuse_value))
{
    const lfuse_size batch = lfuse_size_var(g, "batch", 1, 4096);
    const lfuse_value x = lfuse_input(g, "x", TYPED(type, batch, 512));
    const lfuse_value w = lfuse_frozen(g, "w", TYPED(type, 512, 512)), b = lfuse_frozen(g, "b", TYPED(type, 512));

    lfuse_output(g, "y", activation(lfuse_add(lfuse_matmul(x, w), b)));
}

TEST(a_dense_layer)
{
    dense(LFUSE_F32, lfuse_relu);
    rig_expect("(gemm batch x 512 x 512 (relu (add acc b)))");
    ck_assert_str_eq(rig_alternative(0, 1), "vendor+pointwise: (gemm batch x 512 x 512 acc) "
                                        "(pointwise batch x 512 (y (relu (add y b))))");
    ck_assert_int_eq(plan->stages[0].nalternatives, 2);
    rig_expect_without(LFUSE_NO_EPILOGUE, "(gemm batch x 512 x 512 acc) (pointwise batch x 512 (y (relu (add t0 b))))");
    rig_make(LFUSE_NO_EPILOGUE | LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 3);
}

TEST(a_batch_of_products)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 64);
    const lfuse_value x = lfuse_input(g, "x", F32(n, 3, 4, 5));
    const lfuse_value w = lfuse_input(g, "w", F32(3, 5, 6));
    const lfuse_value b = lfuse_input(g, "b", F32(6));

    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_matmul(x, w), b)));
    rig_expect("(gemm n x 3 of 4 x 6 x 5 (relu (add acc b)))");
    ck_assert_str_eq(rig_alternative(0, 1), "vendor+pointwise: (gemm n x 3 of 4 x 6 x 5 acc) "
                                        "(pointwise n x 3 x 4 x 6 (y (relu (add y b))))");
}

TEST(an_activation_outside_the_list)
{
    dense(LFUSE_F32, lfuse_gelu);
    rig_expect("(gemm batch x 512 x 512 acc) (pointwise batch x 512 (y (gelu (add t0 b))))");
}

TEST(narrow_products_can_be_widened)
{
    dense(LFUSE_F16, lfuse_relu);
    rig_expect("(gemm batch x 512 x 512 (relu (add acc b)))");
    ck_assert_str_eq(rig_alternative(0, 2), "widened: (pointwise batch x 512 (t1 (f32 x))) "
                                        "(prepare (pointwise 512 x 512 (t2 (f32 w)))) (gemm batch x 512 x 512 acc) "
                                        "(pointwise batch x 512 (y (relu (add t0 b))))");
}

TEST(a_product_that_is_read_twice_keeps_its_value)
{
    const lfuse_value m = lfuse_matmul(lfuse_input(g, "x", F32(4, 4)), lfuse_input(g, "w", F32(4, 4)));

    lfuse_output(g, "m", m);
    lfuse_output(g, "y", lfuse_relu(m));
    rig_expect("(gemm 4 x 4 x 4 acc) (pointwise 4 x 4 (y (relu m)))");
}

TEST(more_than_a_tail_goes_into_the_kernel)
{
    const lfuse_value x = lfuse_input(g, "x", F32(4, 4)), w = lfuse_input(g, "w", F32(4, 4));

    lfuse_output(g, "y", lfuse_add(lfuse_relu(lfuse_matmul(x, w)), x));
    rig_expect("(gemm 4 x 4 x 4 acc) (pointwise 4 x 4 (y (add (relu t0) x)))");
}

TEST(a_whole_gemm)
{
    const lfuse_size m = lfuse_size_var(g, "m", 0, INT64_MAX), n = lfuse_size_var(g, "n", 0, INT64_MAX);
    const lfuse_value a = lfuse_input(g, "a", F32(m, 3)), b = lfuse_input(g, "b", F32(n, 3));
    const lfuse_value c = lfuse_input(g, "c", F32(m, n));

    lfuse_update(c, lfuse_add(lfuse_mul(lfuse_matmul(a, lfuse_transpose(b)), lfuse_scalar(g, "alpha")),
                              lfuse_mul(c, lfuse_scalar(g, "beta"))));
    rig_expect("(gemm m x n x 3 (add (mul acc alpha) (mul c beta)))");
    const lfuse__operand *o = plan->stages[0].alternatives[0].steps[0].operands;
    ck_assert_int_eq(o[1].axis[0], 1);
    ck_assert_int_eq(o[1].axis[1], 0);
    ck_assert_str_eq(rig_alternative(0, 1), "vendor+pointwise: (gemm m x n x 3 acc) "
                                        "(pointwise m x n (c (add (mul t0 alpha) (mul c beta))))");
}

/* ---- frozen.c ---- */

TEST(what_stays_is_prepared)
{
    const lfuse_value w = lfuse_frozen(g, "w", F32(4, 4)), x = lfuse_input(g, "x", F32(4, 4));
    const lfuse_value p = lfuse_exp(lfuse_mul(w, rig_number(2)));

    lfuse_output(g, "p", p);
    lfuse_output(g, "y", lfuse_matmul(x, lfuse_matmul(p, w)));
    lfuse_output(g, "q", lfuse_mul(w, lfuse_scalar(g, "s")));
    rig_expect("(prepare (pointwise 4 x 4 (t0 (exp (mul w 2))))) (prepare (gemm 4 x 4 x 4 acc)) "
               "(pointwise 4 x 4 (p t0)) "
           "(pointwise 4 x 4 (q (mul w s))) (gemm 4 x 4 x 4 acc)");
    ck_assert_int_eq(plan->buffers[0].place, LFUSE__PLACE_PREPARED);
}

/* ---- lists.c ---- */

TEST(lists_are_one_step)
{
    const lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY), d = lfuse_list_input(g, "d",
        LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value m = lfuse_list_input(g, "m", LFUSE_F32, LFUSE_RANK_ANY), lr = lfuse_scalar(g, "lr");
    const lfuse_value next = lfuse_add(lfuse_mul(m, rig_number(0.5)), d);

    lfuse_update(m, next);
    lfuse_update(w, lfuse_sub(w, lfuse_mul(next, lr)));
    rig_expect("(multi m (m %1=(add (mul m 0.5) d)) (w (sub w (mul %1 lr))))");
}

/* ---- update.c ---- */

TEST(updates_in_place)
{
    const lfuse_value w = vector("w"), d = vector("d");

    lfuse_update(w, lfuse_sub(w, lfuse_mul(d, lfuse_scalar(g, "lr"))));
    rig_expect("(pointwise 8 (w (sub w (mul d lr))))");
}

TEST(updates_wait_for_readers)
{
    const lfuse_value w = vector("w"), d = vector("d");
    const int all[] = { 0 };

    lfuse_update(w, lfuse_sub(w, d));
    lfuse_output(g, "n", lfuse_sum(w, 1, all, 0));
    rig_expect("(rows 8 1 (n (sum w))) (pointwise 8 (w (sub w d)))");
}

TEST(exchanged_inputs)
{
    const lfuse_value x = vector("x"), y = vector("y");

    lfuse_update(x, y);
    lfuse_update(y, x);
    rig_expect("(pointwise 8 (t1 x)) (pointwise 8 (t0 y)) (pointwise 8 (y t1)) (pointwise 8 (x t0))");
}

TEST(crossed_updates)
{
    const lfuse_value x = vector("x"), y = vector("y");

    lfuse_update(x, lfuse_exp(y));
    lfuse_update(y, lfuse_exp(x));
    rig_expect("(pointwise 8 (t0 (exp y))) (pointwise 8 (y (exp x))) (pointwise 8 (x t0))");
}

TEST(a_transposed_update)
{
    const lfuse_value x = lfuse_input(g, "x", F32(8, 8));

    lfuse_update(x, lfuse_add(lfuse_transpose(x), x));
    rig_expect("(pointwise 8 x 8 (t0 (add x x))) (pointwise 8 x 8 (x t0))");
}

TEST(a_product_into_its_operand)
{
    const lfuse_value x = lfuse_input(g, "x", F32(8, 8));

    lfuse_update(x, lfuse_matmul(x, x));
    rig_expect("(gemm 8 x 8 x 8 acc) (pointwise 8 x 8 (x t0))");
}

TEST(outputs_that_are_inputs)
{
    const lfuse_value x = lfuse_input(g, "x", F32(2, 3));

    lfuse_output(g, "y", x);
    lfuse_output(g, "t", lfuse_transpose(x));
    lfuse_output(g, "c", lfuse_broadcast_to(lfuse_cast(rig_number(3), LFUSE_F32), SHAPE(2)));
    rig_expect("(pointwise 2 x 3 (y x)) (pointwise 3 x 2 (t x)) (pointwise 2 (c 3))");
}

/* ---- plan.c ---- */

TEST(capabilities_are_asked)
{
    const lfuse_plan_options exact = { .exact = 1 };
    lfuse__plan_body *none;

    rig_facts.info.f64 = 0;
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", F64(2))));
    rig_canonical();
    ck_assert_int_eq(lfuse__plan_make(canonical, &rig_facts, &lfuse__products_advice, NULL, &none), LFUSE_ERR_TYPE);
    rig_facts.info.f64 = 1;
    ck_assert_int_eq(lfuse__plan_make(canonical, &rig_facts, &lfuse__products_advice, &exact, &none),
                     LFUSE_ERR_UNSUPPORTED);
}

TEST_SUITE("plan", CK_FORK_GETENV)
