/* SPDX-License-Identifier: Apache-2.0 */
/* Which products that update inputs share a launch behind all else. */
#include <string.h>

#include "common/matmul/provider.h"
#include "tests/plan/rig.h"

enum { LAYERS = 3 };

/* The gradient of a layer's weights, of the rows of x and dz, steps the weights. */
static lfuse_value layer(int number, lfuse_value d, lfuse_type type, lfuse_size rows, lfuse_size width)
{
    char names[2][8];
    lfuse_value x, w;

    snprintf(names[0], sizeof *names, "x%d", number);
    snprintf(names[1], sizeof *names, "w%d", number);
    x = lfuse_input(g, names[0], TYPED(type, rows, width));
    w = lfuse_input(g, names[1], TYPED(type, width, width));
    lfuse_update(w, lfuse_sub(w, lfuse_matmul(lfuse_transpose(x), d)));
    return lfuse_mul(lfuse_matmul(d, lfuse_transpose(w)), x);
}

static void layers(int count, lfuse_type type, lfuse_size rows, lfuse_size width)
{
    lfuse_value d = lfuse_input(g, "d", TYPED(type, rows, width));

    rig_tiles(LFUSE__PRODUCTS_TUNED);
    rig_facts.info.compute_units = 132;
    for (int i = 0; i < count; i++) d = layer(i, d, type, rows, width);
    lfuse_output(g, "dx", d);
}

/* Bundles of products. */
static int bundles(const lfuse__plan_body *p, int *children)
{
    int count = 0;

    *children = 0;
    for (int i = 0; i < p->nstages; i++) {
        const lfuse__step *s = p->stages[i].alternatives[0].steps;
        if (s->kind != LFUSE__STEP_BUNDLE || s->children[0].kind != LFUSE__STEP_GEMM) continue;
        count++;
        *children += s->nchildren;
    }
    return count;
}

static void expect_none(void)
{
    int children;

    rig_make(0);
    ck_assert_msg(!bundles(plan, &children), "%s", text.data);
}

TEST_CASE("together", .setup = rig_setup, .teardown = rig_teardown)

TEST(gradients_of_weights)
{
    layers(LAYERS, LFUSE_F32, 64, 128);
    rig_expect_bundled("(gemm 64 x 128 x 128 (mul acc x0)) (gemm 64 x 128 x 128 (mul acc x1)) "
                       "(gemm 64 x 128 x 128 (mul acc x2)) (bundle (gemm 128 x 128 x 64 (sub w0 acc)) "
                       "(gemm 128 x 128 x 64 (sub w1 acc)) (gemm 128 x 128 x 64 (sub w2 acc)))");
    rig_make(LFUSE_NO_BUNDLES);
    ck_assert_int_eq(plan->nstages, 2 * LAYERS);
}

/* They are too small to be split where the others may be. */
TEST(gradients_of_weights_in_f32)
{
    rig_splits = true;
    rig_precision = LFUSE_PRECISION_F32X3;
    layers(2, LFUSE_F32, 64, 128);
    rig_expect_bundled("(gemm 64 x 128 x 128 in f32x3 (mul acc x0)) (gemm 64 x 128 x 128 in f32x3 (mul acc x1)) "
                       "(bundle (gemm 128 x 128 x 64 (sub w0 acc)) (gemm 128 x 128 x 64 (sub w1 acc)))");
}

/* Sums that run late share the launch, in front; one of many elements does not. */
TEST(with_small_steps)
{
    const lfuse_value b = lfuse_input(g, "b", F32(128)), c = lfuse_input(g, "c", F32(4096));

    layers(2, LFUSE_F32, 64, 128);
    lfuse_update(b, lfuse_add(b, lfuse_sum(lfuse_input(g, "u", F32(64, 128)), 1, (const int[]){ 0 }, 0)));
    lfuse_update(c, lfuse_amax(lfuse_input(g, "v", F32(4096, 4096)), 1, (const int[]){ 0 }, 0));
    rig_expect_bundled("(gemm 64 x 128 x 128 (mul acc x0)) (gemm 64 x 128 x 128 (mul acc x1)) "
                       "(bundle (rows 128 x 64 1 (b (add b (sum u)))) (gemm 128 x 128 x 64 (sub w0 acc)) "
                       "(gemm 128 x 128 x 64 (sub w1 acc))) (rows 4096 x 4096 1 (c (max v)))");
}

static void small_step(void)
{
    const lfuse_value b = lfuse_input(g, "b", F32(128));

    lfuse_update(b, lfuse_add(b, lfuse_sum(lfuse_input(g, "u", F32(64, 128)), 1, (const int[]){ 0 }, 0)));
}

/* Products of more than LFUSE__SHARED_WAVES have a launch without them. */
TEST(of_large_products_without_small_steps)
{
    layers(2, LFUSE_F32, 64, 1024);
    small_step();
    rig_make(0);
    ck_assert_msg(strstr(text.data,
                         "(bundle (gemm 1024 x 1024 x 64 (sub w0 acc)) (gemm 1024 x 1024 x 64 (sub w1 acc)))"),
                  "%s", text.data);
    ck_assert_int_eq(plan->nstages, 4);
}

TEST(of_one_with_small_steps)
{
    layers(1, LFUSE_F32, 64, 1024);
    small_step();
    rig_expect_bundled("(gemm 64 x 1024 x 1024 (mul acc x0)) (bundle (rows 128 x 64 1 (b (add b (sum u)))) "
                       "(gemm 1024 x 1024 x 64 (sub w0 acc)))");
}

/* It keeps the ways among which a measurement chooses. */
static void expect_alternatives(void)
{
    const lfuse_plan_options options = {.effort = LFUSE_EFFORT_MEASURE};
    lfuse__plan_body *made = NULL;

    OK(lfuse__plan_make(g, &rig_facts, &lfuse__products_advice, &options, &made));
    for (int i = 0; i < made->nstages; i++) {
        const lfuse__stage *s = &made->stages[i];
        if (s->alternatives[0].steps->kind == LFUSE__STEP_GEMM) ck_assert_int_gt(s->nalternatives, 1);
    }
    lfuse__plan_free(made);
}

TEST(not_of_a_large_one_with_small_steps)
{
    layers(1, LFUSE_F32, 64, 1056);
    small_step();
    expect_none();
    expect_alternatives();
}

TEST(not_of_one_with_a_large_step)
{
    const lfuse_value c = lfuse_input(g, "c", F32(4096));

    layers(1, LFUSE_F32, 64, 128);
    lfuse_update(c, lfuse_amax(lfuse_input(g, "v", F32(4096, 4096)), 1, (const int[]){ 0 }, 0));
    expect_none();
    expect_alternatives();
}

/* Measurement has one way for them: each alone might be faster in another. */
TEST(of_measured_plans)
{
    const lfuse_plan_options options = {.effort = LFUSE_EFFORT_MEASURE};
    lfuse__plan_body *made = NULL;
    int children;

    layers(LAYERS, LFUSE_F32, 64, 128);
    OK(lfuse__plan_make(g, &rig_facts, &lfuse__products_advice, &options, &made));
    ck_assert_int_eq(bundles(made, &children), 1);
    ck_assert_int_eq(children, LAYERS);
    lfuse__plan_free(made);
}

/* Two widths: those of each width have tiles of their own. */
TEST(of_equal_sizes)
{
    lfuse_value d;
    int children;

    layers(2, LFUSE_F32, 64, 128);
    d = lfuse_input(g, "e", F32(64, 256));
    for (int i = 2; i < 5; i++) d = layer(i, d, LFUSE_F32, 64, 256);
    lfuse_output(g, "dy", d);
    rig_make(0);
    ck_assert_msg(bundles(plan, &children) == 2 && children == 5, "%s", text.data);
}

/* The matrices that would wait in scratch memory are more than 2048 elements for each compute unit. */
TEST(not_of_many_rows)
{
    layers(LAYERS, LFUSE_F32, 1024, 133);
    expect_none();
}

TEST(of_as_many_rows_as_fit)
{
    int children;

    layers(LAYERS, LFUSE_F32, 1024, 132);
    rig_make(0);
    ck_assert_msg(bundles(plan, &children) == 1, "%s", text.data);
}

TEST(not_of_open_sizes)
{
    layers(LAYERS, LFUSE_F32, lfuse_size_var(g, "rows", 1, 64), 128);
    expect_none();
}

TEST(not_of_one)
{
    layers(1, LFUSE_F32, 64, 128);
    expect_none();
}

/* Two of unequal sizes keep the ways among which a measurement chooses. */
TEST(not_of_unequal_sizes)
{
    layers(1, LFUSE_F32, 64, 128);
    lfuse_output(g, "dy", layer(1, lfuse_input(g, "e", F32(64, 256)), LFUSE_F32, 64, 256));
    expect_none();
    expect_alternatives();
}

TEST(not_of_f16)
{
    layers(LAYERS, LFUSE_F16, 64, 128);
    expect_none();
}

TEST(not_on_cpus)
{
    layers(LAYERS, LFUSE_F32, 64, 128);
    rig_facts.vector_lanes = true;
    expect_none();
}

/* What the step computes of the whole gradient is a reduction: the product is stored. */
TEST(not_with_reductions)
{
    const int all[2] = {0, 1};
    lfuse_value d;

    layers(1, LFUSE_F32, 64, 128);
    d = lfuse_input(g, "e", F32(64, 128));
    for (int i = 0; i < 2; i++) {
        char names[2][8];
        snprintf(names[0], sizeof *names, "z%d", i);
        snprintf(names[1], sizeof *names, "n%d", i);
        const lfuse_value z = lfuse_input(g, names[0], F32(64, 128));
        const lfuse_value norm = lfuse_input(g, names[1], LFUSE_F32, 0, NULL);
        lfuse_update(norm, lfuse_sum(lfuse_matmul(lfuse_transpose(z), d), 2, all, 0));
    }
    expect_none();
}

TEST_SUITE("products in one launch", CK_NOFORK)
