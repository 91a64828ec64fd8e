/* SPDX-License-Identifier: Apache-2.0 */
/* Which sums over rows a product's kernel forms beside what it stores. */
#include <string.h>

#include "common/matmul/provider.h"
#include "libfuse/gradient.h"
#include "tests/plan/rig.h"

static lfuse_value z; /* what the product is multiplied by */

/* The gradient behind an activation, of m rows. */
static lfuse_value gradient(lfuse_type type, lfuse_size m)
{
    const lfuse_value x = lfuse_input(g, "x", TYPED(type, m, 256));
    const lfuse_value w = lfuse_input(g, "w", TYPED(type, 384, 256));

    z = lfuse_input(g, "z", TYPED(type, m, 384));
    return lfuse_mul(lfuse_matmul(x, lfuse_transpose(w)), z);
}

static lfuse_value over(lfuse_value v, int axis)
{
    return lfuse_sum(v, 1, &axis, 0);
}

static void both(lfuse_value d)
{
    lfuse_output(g, "dz", d);
    lfuse_output(g, "db", over(d, 0));
}

static const char apart[] = "(gemm 512 x 384 x 256 acc) (rows 384 x 512 1 (dz %1=(mul t0 z)) (db (sum %1)))";

TEST_CASE("sums", .setup = rig_setup, .teardown = rig_teardown)

TEST(beside_the_gradient)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    both(gradient(LFUSE_F32, 512));
    rig_expect("(gemm 512 x 384 x 256 (dz %1=(mul acc z)) (db (sum %1)))");
    ck_assert_int_eq(plan->stages[0].nalternatives, 2);
    ck_assert(plan->stages[0].alternatives[0].steps[0].product.ahead);
    ck_assert(!plan->stages[0].alternatives[1].steps[0].product.ahead);
    ck_assert_str_eq(rig_alternative(0, 1), "native+rows: (gemm 512 x 384 x 256 acc) "
                     "(rows 384 x 512 1 (dz %1=(mul t0 z)) (db (sum %1)))");
    rig_make(LFUSE_NO_COLUMN_SUMS);
    ck_assert_str_eq(text.data, apart);
}

/* Walked by rows and columns of the product; the sum by columns alone. */
TEST(walks)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    both(gradient(LFUSE_F32, 512));
    rig_make(0);
    const lfuse__step *s = plan->stages[0].alternatives[0].steps;
    for (int i = 0; i < s->body.nstores; i++) {
        const lfuse__operand *o = &s->operands[s->body.stores[i].operand];
        const bool sum = s->body.instr[s->body.stores[i].reg].kind == LFUSE__I_REDUCE;
        ck_assert_int_eq(o->axis[0], sum ? -1 : 0);
        ck_assert_int_eq(o->axis[1], sum ? 0 : 1);
    }
}

/* A layer, what goes back through its relu, and steps down the gradients of its weights and bias. */
static void train(lfuse_value x, const char *w_name, const char *b_name, lfuse_value (*next)(lfuse_value y))
{
    const lfuse_value w = lfuse_input(g, w_name, F32(256, 256)), b = lfuse_input(g, b_name, F32(256));
    const lfuse_value y = lfuse_relu(lfuse_add(lfuse_matmul(x, w), b));
    const lfuse_value dz = lfuse_where(lfuse_gt(y, lfuse_constant(g, 0)), next(y), lfuse_constant(g, 0));

    lfuse_update(w, lfuse_sub(w, lfuse_matmul(lfuse_transpose(x), dz)));
    lfuse_update(b, lfuse_sub(b, over(dz, 0)));
}

static lfuse_value back(lfuse_value y)
{
    const lfuse_value v = lfuse_input(g, "v", F32(256, 256));

    return lfuse_matmul(lfuse_tanh(lfuse_matmul(y, v)), lfuse_transpose(v));
}

/* The sum that the bias' gradient is belongs to the kernel of dz alone: the layer's relu stays with its product. */
TEST(a_step_of_a_layer)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    train(lfuse_input(g, "x", F32(64, 256)), "w", "b", back);
    rig_expect("(gemm 64 x 256 x 256 (relu (add acc b))) (gemm 64 x 256 x 256 (tanh acc)) "
               "(gemm 64 x 256 x 256 (t2 %1=(where (gt t0 0) acc 0)) (b (sub b (sum %1)))) "
               "(gemm 256 x 256 x 64 (sub w acc))");
}

/*
 * Weights are updated as soon as nobody reads them, so that no gradient of a layer's output waits in memory until all
 * others are there.
 */
TEST(a_step_of_three_layers)
{
    static const char *const w[] = { "w1", "w2", "w3" }, *const b[] = { "b1", "b2", "b3" };
    lfuse_value p[6], d[6], x = lfuse_input(g, "x", F32(64, 256));
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    for (int i = 0; i < 3; i++) {
        p[2 * i] = lfuse_input(g, w[i], F32(256, 256)), p[2 * i + 1] = lfuse_input(g, b[i], F32(256));
        x = lfuse_relu(lfuse_add(lfuse_matmul(x, p[2 * i]), p[2 * i + 1]));
    }
    lfuse_gradient(x, lfuse_none(), 6, p, d);
    for (int i = 0; i < 6; i++) lfuse_update(p[i], lfuse_sub(p[i], d[i]));
    rig_make(0);
    const char *third = strstr(text.data, "(sub w3 acc)"), *first_bias = strstr(text.data, "(b1 (sub b1");
    ck_assert_msg(third && first_bias && third < first_bias, "%s", text.data);
}

TEST(the_sum_alone)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    lfuse_output(g, "db", over(gradient(LFUSE_F32, 512), 0));
    rig_expect("(gemm 512 x 384 x 256 (sum (mul acc z)))");
}

TEST(of_the_product_itself)
{
    const lfuse_value x = lfuse_input(g, "x", F32(512, 256));
    const lfuse_value y = lfuse_matmul(x, lfuse_input(g, "w", F32(256, 384)));

    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    both(y);
    rig_expect("(gemm 512 x 384 x 256 (dz acc) (db (sum acc)))");
}

TEST(behind_the_sum)
{
    const lfuse_value b = lfuse_input(g, "b", F32(384));
    const lfuse_value d = gradient(LFUSE_F32, lfuse_size_var(g, "n", 1, 4096));

    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    lfuse_output(g, "dz", d);
    lfuse_output(g, "new", lfuse_sub(b, lfuse_mul(over(d, 0), rig_number(0.5))));
    rig_expect("(gemm n x 384 x 256 (dz %1=(mul acc z)) (new (sub b (mul (sum %1) 0.5))))");
}

TEST(halves)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    both(gradient(LFUSE_F16, 512));
    rig_expect("(gemm 512 x 384 x 256 (dz %1=(mul acc z)) (db (f16 (sum %1))))");
}

TEST(beside_a_maker)
{
    rig_tiles(LFUSE__PRODUCTS_TUNED);
    both(gradient(LFUSE_F32, 512));
    rig_expect("(gemm 512 x 384 x 256 (dz %1=(mul acc z)) (db (sum %1)))"); /* ours by default */
}

TEST(a_makers)
{
    rig_tiles(LFUSE__PRODUCTS_TUNED);
    both(gradient(LFUSE_F32, 16384));
    rig_expect("(gemm 16384 x 384 x 256 acc) (rows 384 x 16384 1 (dz %1=(mul t0 z)) (db (sum %1)))");
}

TEST(on_cpus)
{
    rig_facts.vector_lanes = true;
    both(gradient(LFUSE_F32, 512));
    rig_expect(apart);
}

/* Measurement times products by themselves. */
TEST(measured)
{
    const lfuse_plan_options options = {.effort = LFUSE_EFFORT_MEASURE};
    lfuse__plan_body *made = NULL;

    rig_tiles(LFUSE__PRODUCTS_TUNED);
    both(gradient(LFUSE_F32, 512));
    OK(lfuse__plan_make(g, &rig_facts, &lfuse__products_advice, &options, &made));
    ck_assert_int_eq(made->nstages, 2);
    lfuse__plan_free(made);
}

/* Rows of a tile lie apart: they are read along k. */
TEST(stored_by_columns)
{
    const lfuse_value x = lfuse_input(g, "x", F32(256, 512));
    const lfuse_value w = lfuse_input(g, "w", F32(256, 384));

    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    both(lfuse_matmul(lfuse_transpose(x), w));
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 2);
}

static void expect_two(lfuse_value d, lfuse_value sum)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    lfuse_output(g, "d", d);
    lfuse_output(g, "s", sum);
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_msg(plan->nstages > 1 && !strstr(text.data, "x 256 (d "), "%s", text.data);
}

TEST(over_columns)
{
    const lfuse_value d = gradient(LFUSE_F32, 512);
    expect_two(d, over(d, 1));
}

TEST(another_reduction)
{
    const lfuse_value d = gradient(LFUSE_F32, 512);
    expect_two(d, rig_reduce(d, LFUSE__REDUCE_MAX, 1, (int[]){0}, 0));
}

TEST(two_sums)
{
    const lfuse_value d = gradient(LFUSE_F32, 512);
    lfuse_output(g, "t", over(lfuse_mul(d, z), 0));
    expect_two(d, over(d, 0));
}

/* Elements that wait for the sum wait for all tiles. */
TEST(elements_of_the_sum)
{
    const lfuse_value d = gradient(LFUSE_F32, 512);
    lfuse_output(g, "c", lfuse_sub(d, over(d, 0)));
    expect_two(d, over(d, 0));
}

TEST(in_double)
{
    const lfuse_value d = gradient(LFUSE_F64, 512);
    expect_two(d, over(d, 0));
}

TEST(without_passes)
{
    static const unsigned passes[] = {LFUSE_NO_ROW_FUSION, LFUSE_NO_EPILOGUE, LFUSE_NO_FUSION};
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    both(gradient(LFUSE_F32, 512));
    for (int i = 0; i < 3; i++) {
        rig_make(passes[i] | LFUSE_NO_BUNDLES);
        ck_assert_msg(plan->nstages > 1, "%x: %s", passes[i], text.data);
    }
}

/* ---- late_sums.c ---- */

/* The gradient of a layer of `width` columns, of m rows; its bias is stepped. */
static lfuse_value layer(int number, lfuse_value d, lfuse_size m, lfuse_size width)
{
    char names[3][8];
    lfuse_value y, b, dz;

    for (int i = 0; i < 3; i++) snprintf(names[i], sizeof *names, "%c%d", "wyb"[i], number);
    y = lfuse_input(g, names[1], F32(m, width));
    b = lfuse_input(g, names[2], F32(width));
    dz = lfuse_mul(lfuse_matmul(d, lfuse_input(g, names[0], F32(width, width))), y);
    lfuse_update(b, lfuse_sub(b, over(dz, 0)));
    return dz;
}

static void three_layers(lfuse_size m, lfuse_size width)
{
    lfuse_value d = lfuse_input(g, "d", F32(m, width));

    for (int i = 0; i < 3; i++) d = layer(i, d, m, width);
    lfuse_output(g, "dx", d);
}

/* The last one, whose values no product reads, is its product's. */
TEST(of_a_network_run_late)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    rig_facts.info.compute_units = 132;
    three_layers(64, 128);
    rig_expect_bundled("(gemm 64 x 128 x 128 (mul acc y0)) (gemm 64 x 128 x 128 (mul acc y1)) "
                       "(bundle (rows 128 x 64 1 (b0 (sub b0 (sum t0)))) (rows 128 x 64 1 (b1 (sub b1 (sum t1))))) "
                       "(gemm 64 x 128 x 128 (dx %1=(mul acc y2)) (b2 (sub b2 (sum %1))))");
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 3);
}

/* So they do where measurement has several ways for each product, whose tiles then sum no columns: three layers. */
TEST(of_measured_products_run_late)
{
    const lfuse_plan_options options = {.effort = LFUSE_EFFORT_MEASURE};
    lfuse__plan_body *made = NULL;

    rig_tiles(LFUSE__PRODUCTS_TUNED);
    rig_facts.info.compute_units = 132;
    three_layers(64, 128);
    OK(lfuse__plan_make(g, &rig_facts, &lfuse__products_advice, &options, &made));
    ck_assert_int_eq(made->nstages, 4);
    int bundles = 0;
    for (int i = 0; i < made->nstages; i++)
        bundles += made->stages[i].alternatives[0].steps[0].kind == LFUSE__STEP_BUNDLE;
    ck_assert_int_eq(bundles, 1);
    lfuse__plan_free(made);
}

/* The products fill the device, or may. */
TEST(of_large_products_do_not)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    rig_facts.info.compute_units = 3;
    three_layers(64, 128);
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 3);
}

TEST(of_open_sizes_do_not)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    rig_facts.info.compute_units = 132;
    three_layers(lfuse_size_var(g, "m", 1, 64), 128);
    rig_make(0);
    ck_assert_int_eq(plan->nstages, 3);
}

/* Nothing is there to share a launch with. */
TEST(of_one_product_do_not)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    rig_facts.info.compute_units = 132;
    const lfuse_value d = layer(0, lfuse_input(g, "d", F32(64, 128)), 64, 128);
    lfuse_output(g, "y", lfuse_matmul(d, lfuse_input(g, "u", F32(128, 64))));
    rig_expect_bundled("(gemm 64 x 128 x 128 (t0 %1=(mul acc y0)) (b0 (sub b0 (sum %1)))) (gemm 64 x 64 x 128 acc)");
}

/* The loss of a layer with a bias, which is stepped, as are the weights. */
static lfuse_value loss(lfuse_size m, lfuse_size width)
{
    const lfuse_value x = lfuse_input(g, "x", F32(m, width)), w = lfuse_input(g, "w", F32(width, width));
    const lfuse_value b = lfuse_input(g, "b", F32(width)), p[] = { w, b };
    const lfuse_value y = lfuse_relu(lfuse_add(lfuse_matmul(x, w), b));
    const lfuse_value off = lfuse_sub(y, lfuse_input(g, "z", F32(m, width)));
    const lfuse_value sum = lfuse_sum(lfuse_square(off), 2, (const int[]){ 0, 1 }, 0);
    lfuse_value d[2];

    lfuse_gradient(sum, lfuse_none(), 2, p, d);
    for (int i = 0; i < 2; i++) lfuse_update(p[i], lfuse_sub(p[i], d[i]));
    return sum;
}

/* The product computes what the loss is the sum of, and the gradient; both sums run late. */
TEST(of_a_loss_run_late)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    rig_facts.info.compute_units = 132;
    lfuse_output(g, "loss", loss(64, 128));
    rig_expect_bundled("(gemm 64 x 128 x 128 (t0 (square %1=(sub %2=(relu (add acc b)) z))) "
                       "(t1 (where (le %2 0) 0 (mul 2 %1)))) "
                       "(bundle (rows 64 x 128 2 (loss (sum t0))) (rows 128 x 64 1 (b (sub b (sum t1)))) "
                       "(gemm 128 x 128 x 64 (sub w acc)))");
}

/* Another kernel waits for the loss: the weights' product reads what is computed of it. */
TEST(of_a_loss_that_is_read_do_not)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    rig_facts.info.compute_units = 132;
    const lfuse_value u = lfuse_input(g, "u", F32(128, 128)), l = loss(64, 128);
    lfuse_output(g, "loss", l);
    lfuse_output(g, "y", lfuse_matmul(lfuse_mul(u, l), u));
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(loss (sum (square (sub %1 z))))"), "%s", text.data);
}

/* On CPUs a launch costs little, and what is stored for the loss alone is more. */
TEST(of_a_loss_do_not_on_cpus)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    rig_facts.vector_lanes = true;
    lfuse_output(g, "loss", loss(64, 128));
    rig_make(0);
    ck_assert_msg(!strstr(text.data, "(t0 (square"), "%s", text.data);
}

/* The last gradient is one of what the first product gives and of the third product, which another one reads too. */
TEST(of_what_comes_later_do_not)
{
    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    rig_facts.info.compute_units = 132;
    const lfuse_value first = layer(0, lfuse_input(g, "d", F32(64, 128)), 64, 128);
    const lfuse_value y = layer(1, first, 64, 128), b = lfuse_input(g, "b", F32(128));
    const lfuse_value p = lfuse_matmul(y, lfuse_input(g, "w", F32(128, 128)));
    const lfuse_value dz = lfuse_mul(first, p);
    lfuse_output(g, "z", lfuse_matmul(p, lfuse_input(g, "u", F32(128, 64))));
    lfuse_update(b, lfuse_sub(b, over(dz, 0)));
    lfuse_output(g, "dx", lfuse_matmul(dz, lfuse_input(g, "v", F32(128, 64))));
    rig_make(0);
    ck_assert_msg(strstr(text.data, "(b (sub b (sum %1)))"), "%s", text.data);
}

TEST_SUITE("sums of columns in products", CK_NOFORK)
