/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What products are estimated to take where they have an epilogue, and the choices that follow: the columns of large
 * tiles, sums of columns in a launch of their own, and a vendor's product with a kernel behind it. Most are held to
 * measurements. check_tile_cost.c has the model of tiles itself, check_tiles.c the choices that sizes and types decide.
 */
#include <math.h>

#include "common/base/error.h"
#include "common/matmul/problem.h"
#include "common/matmul/tile.h"
#include "tests/kernels/host.h"
#include "tests/matmul/classes.h"
#include "tests/support/main.h"

TEST_CASE("estimates")

/* A product of f16 with gelu. */
static void gelu_of(lfuse__kernel_class *c)
{
    static sample s;
    sample_start(&s, LFUSE__FAMILY_PRODUCT, 2, 0);
    for (int j = 0; j <= LFUSE__PRODUCT_OWN; j++)
        sample_operand(&s, j == LFUSE__PRODUCT_SUM ? LFUSE_F32 : LFUSE_F16, j == LFUSE__PRODUCT_OWN,
                       LFUSE__STRIDE_UNIT);
    const int sum = sample_load(&s, LFUSE__PRODUCT_SUM);
    sample_store(&s, sample_apply(&s, LFUSE__OP_gelu, LFUSE_F32, sum, -1), LFUSE__PRODUCT_OWN);
    *c = s.k;
}

/* Shapes of tma: tiles of 128 x 256, whose rows both warpgroups share, and of 128 x 128, each a warpgroup's own. */
enum { COOPERATIVE, PINGPONG };

/* What an epilogue takes of work 25, as gelu's with a bias. */
static double epilogue_of(int shape, int64_t m, int64_t n, int64_t k)
{
    const lfuse__facts facts = facts_with_maps();
    lfuse__product_class p = {.sum = LFUSE_F32};
    lfuse__cut plain, with;
    ck_assert(lfuse__tiles_shape(&lfuse__tma, shape, &p));
    ck_assert(lfuse__tma.cost(&p, &facts, (int64_t[]){m, n, k}, &plain));
    p.epilogue_work = 25;
    ck_assert(lfuse__tma.cost(&p, &facts, (int64_t[]){m, n, k}, &with));
    return with.time - plain.time;
}

/*
 * In us, an H100 took 1.4 more with bias and gelu than without for the first two products, and 3.1 for the third; an
 * H200 7 and 26 for the last two, of 8 and 32 tiles a unit.
 */
TEST(last_epilogues)
{
    const double one = epilogue_of(PINGPONG, 1152, 1024, 1024);
    ck_assert(one > 0 && fabs(epilogue_of(PINGPONG, 2048, 1024, 1024) - one) < 1);
    ck_assert(fabs(epilogue_of(PINGPONG, 2048, 2048, 1024) - 2 * one) < 1);
    ck_assert(fabs(epilogue_of(PINGPONG, 4096, 4096, 4096) - 5 * one) < 1);
    ck_assert(fabs(epilogue_of(PINGPONG, 8192, 8192, 8192) - 17 * one) < 1);
}

/* An H200 took 2.4, 8.5 and 24 us more for these, of 1, 4 and 16 tiles a unit. */
TEST(epilogues_of_cooperative_tiles)
{
    const double one = epilogue_of(COOPERATIVE, 2048, 2048, 2048);
    ck_assert(fabs(one - 2 * epilogue_of(PINGPONG, 1152, 1024, 1024)) < 1);
    ck_assert(fabs(epilogue_of(COOPERATIVE, 4096, 4096, 4096) - 2.5 * one) < 1);
    ck_assert(fabs(epilogue_of(COOPERATIVE, 8192, 8192, 8192) - 8.5 * one) < 1);
}

/*
 * In short runs, in us, an H100 took for the first five 186, 1484, 98, 195 and 536 in tiles of 256 columns, and 191,
 * 1546, 101, 199 and 526 in tiles of 128; an H200 184, 1445, 97, 192 and 526, and 188, 1514, 100, 196 and 517. For the
 * next three an H200 took 86, 14.6 and 27.7 in tiles of 192 columns, and 91, 18 and 34 in tiles of 128; for the last
 * one 8.4 in tiles of 128 columns, and 10.6 in tiles of 256.
 */
TEST(columns_of_large_tiles)
{
    static const struct { int64_t m, n, k; int columns; bool gelu; } all[] = {
        {4096, 4096, 4096, 256, false}, {8192, 8192, 8192, 256, false}, {8192, 1024, 4096, 256, true},
        {4096, 4096, 4096, 256, true}, {4096, 11008, 4096, 128, true}, {3072, 3072, 3072, 192, true},
        {1536, 1536, 1536, 192, false}, {4096, 768, 3072, 192, false}, {2048, 1024, 1024, 128, false},
    };
    lfuse__facts facts = facts_with_maps();
    lfuse__kernel_class c;
    facts.overlaps = true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].gelu) gelu_of(&c);
        else class_of(&c, LFUSE_F16);
        OK(choose(&facts, (int64_t[]){all[i].m, all[i].n, all[i].k}, false, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__tma);
        ck_assert_msg(c.product.columns == all[i].columns, "%d columns for product %d", c.product.columns, (int)i);
    }
}

/*
 * Of one or two tiles a unit. In us, an H100 took for these products of bf16 8.6, 8.8, 14.3 and 13.8 in tma's tiles of
 * 128 x 128, with gelu 10.0, 10.2 and 17.4; 17.3, 18.9 and 17.5 for the last three in wgmma's of 256 x 128; and with
 * gelu 13.8 and 14.2 for the first two in wgmma's of 64 x 128.
 */
TEST_LOOP(few_tiles_a_unit, 0, 2)
{
    static const int64_t all[][3] = {{1152, 1024, 1024}, {2048, 1024, 1024}, {2048, 2048, 1024}, {1024, 4096, 1024}};
    lfuse__facts facts = facts_with_maps();
    lfuse__kernel_class c;
    facts.overlaps = true;
    for (int i = 0; i < 4; i++) {
        gelu_of(&c);
        if (!_i) class_of(&c, LFUSE_F16);
        OK(choose(&facts, all[i], false, &c));
        ck_assert_msg(c.product.solver == &lfuse__tma && c.product.columns == 128, "case %d: %s, %d x %d", i,
                      c.product.solver->name, c.product.rows, c.product.columns);
    }
}

/* wgmma's tiles of 256 x 128 took 18.9 us for this product, on an H100 whose units ran at some 1.7 GHz. */
TEST(stores_of_wgmma)
{
    const lfuse__facts facts = facts_with_maps();
    lfuse__product_class p = {.sum = LFUSE_F32};
    lfuse__cut cut;
    int shape = 0;
    while (lfuse__tiles_shape(&lfuse__wgmma, shape, &p) && (p.rows != 256 || p.columns != 128)) shape++;
    ck_assert(p.rows == 256 && p.columns == 128);
    ck_assert(lfuse__wgmma.cost(&p, &facts, (int64_t[]){2048, 2048, 1024}, &cut));
    ck_assert_double_ge(cut.time / 1700, 0.9 * 18.9);
    ck_assert_double_le(cut.time / 1700, 1.15 * 18.9);
}

/*
 * Beside a tuned library, whose products of f16 are taken for faster: with a kernel behind them for the epilogue they
 * are so only where the library's own loops are much slower, as where k is split and where rows are no whole vectors.
 */
TEST(epilogues_behind_a_library)
{
    static const struct { int64_t m, n, k; bool native; } cases[] = {
        {256, 256, 256, true},    {1024, 1024, 1024, true}, {2048, 2048, 2048, true},     {8192, 8192, 8192, true},
        {8192, 1024, 4096, true}, {4096, 4096, 512, true},  {512, 512, 16384, false},     {16, 4096, 4096, false},
        {1000, 1001, 999, false},
    };
    lfuse__facts facts = facts_with_maps();
    lfuse__kernel_class c;
    facts.overlaps = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t e[] = {cases[i].m, cases[i].n, cases[i].k};
        lfuse__matmul_problem p = {.extents = e, .vendor = true, .behind = true};
        gelu_of(&c);
        ck_assert_msg(!lfuse__matmul_choose(&facts, &p, &c) == cases[i].native, "case %zu", i);
        p.behind = false;
        gelu_of(&c);
        ck_assert_int_eq(lfuse__matmul_choose(&facts, &p, &c), LFUSE_ERR_UNSUPPORTED);
        p.vendor = false;
        gelu_of(&c);
        OK(lfuse__matmul_choose(&facts, &p, &c));
    }
}

/*
 * In tf32 warps are much slower than a library, but not than its product and a kernel behind it where k is short. So
 * are, by less, warpgroups with what packs an operand.
 */
TEST(epilogues_behind_tf32)
{
    static const struct { bool wgmma, along; int64_t k; bool native; } cases[] = {
        {true, true, 4096, true},    {true, false, 4096, false}, {true, false, 256, true},
        {false, false, 4096, false}, {false, false, 256, true},
    };
    lfuse__facts facts = facts_with_maps();
    lfuse__kernel_class c;
    facts.overlaps = facts.products_tf32 = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t e[] = {4096, 4096, cases[i].k};
        const lfuse__matmul_problem p = {.extents = e, .vendor = true, .behind = true};
        gelu_of(&c);
        for (int j = LFUSE__PRODUCT_A; j <= LFUSE__PRODUCT_B; j++) c.operands[j].type = LFUSE_F32;
        c.product.precision = LFUSE_PRECISION_TF32, c.product.tb = cases[i].along;
        facts.wgmma = cases[i].wgmma;
        ck_assert_msg(!lfuse__matmul_choose(&facts, &p, &c) == cases[i].native, "case %zu", i);
    }
}

TEST(sums_where_they_pay)
{
    static const int64_t all[][3] = {{1024, 1024, 1024}, {4096, 4096, 4096}, {256, 1024, 1024}, {8192, 1024, 1024}};
    lfuse__kernel_class c;
    for (int i = 0; i < 4; i++) {
        OK(choose_summed(all[i][0], all[i][1], all[i][2], &c));
        ck_assert_int_eq(c.product.column_sums, 1);
        ck_assert(lfuse__tiles_sum_columns(&c.product));
    }
    /* The last segment has few rows, and as many tiles as others. */
    SAYS(LFUSE_ERR_UNSUPPORTED, choose_summed(1025, 4096, 4096, &c), "1025 x 4096 x 4096, a launch of its own");
    ck_assert_int_eq(choose_summed(4, 4096, 4096, &c), LFUSE_ERR_UNSUPPORTED); /* skinny tiles are faster */
}

/* A step of an optimizer: `values` values are loaded and stored with each element of the product. */
static void step_of(lfuse__kernel_class *c, int values)
{
    static sample s;
    sample_start(&s, LFUSE__FAMILY_PRODUCT, 2, 0);
    for (int j = 0; j <= LFUSE__PRODUCT_SUM; j++) sample_operand(&s, LFUSE_F32, false, LFUSE__STRIDE_UNIT);
    const int sum = sample_load(&s, LFUSE__PRODUCT_SUM);
    for (int i = 0; i < values; i++) {
        const int old = sample_operand(&s, LFUSE_F32, false, LFUSE__STRIDE_UNIT);
        const int fresh = sample_operand(&s, LFUSE_F32, true, LFUSE__STRIDE_UNIT);
        sample_store(&s, sample_apply(&s, LFUSE__OP_div, LFUSE_F32, sample_load(&s, old), sum), fresh);
    }
    *c = s.k;
}

/* What moves several matrices has to do that with more work-items than the product alone is fastest with. */
TEST(steps_have_smaller_tiles)
{
    static const int64_t all[][3] = {{1024, 1024, 64}, {512, 512, 64}, {128, 128, 64}};
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    for (int i = 0; i < 3; i++) {
        lfuse__kernel_class c;
        step_of(&c, 3);
        OK(choose(&facts, all[i], false, &c));
        ck_assert_int_le(c.product.rows * c.product.columns, 32 * 64);
        ck_assert_int_eq(c.product.split, 0);
        step_of(&c, 1);
        OK(choose(&facts, all[i], false, &c));
        ck_assert_int_eq(c.product.epilogue_bytes, 0);
    }
}

TEST_SUITE("estimates of products", CK_NOFORK)
