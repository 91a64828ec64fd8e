/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the members of lists: who multiplies them and by which tiles, and how members are cut. */
#include "common/matmul/grouped.h"
#include "tests/matmul/classes.h"
#include "tests/support/main.h"

/* What multiplies: multiply-adds alone; warps; also fp8; warpgroups with much local memory, and with 48 KiB. */
typedef enum unit { NONE, WARPS, WARPS_FP8, WARPGROUPS, SMALL_WARPGROUPS } unit;

static lfuse__facts with_units(unit units)
{
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);

    facts.tensor_cores = units != NONE, facts.mma_fp8 = units >= WARPS_FP8, facts.wgmma = units >= WARPGROUPS;
    facts.dynamic_local_bytes = units == WARPGROUPS ? 226 * 1024 : 48 * 1024;
    return facts;
}

static void grouped_class(lfuse__kernel_class *c, lfuse_type a, lfuse_type b)
{
    class_of(c, a);
    c->family = LFUSE__FAMILY_GROUPED;
    c->operands[LFUSE__PRODUCT_B].type = b;
}

TEST_CASE("choice")

TEST(solvers)
{
    static const lfuse__matmul_sizes many[] = {{700, 800, 1504, 4}, {2000, 1024, 768, 4}, {0, 8, 8, 1}, {8, 8, 0, 1}},
                                     few[] = {{40, 64, 512, 1}, {33, 64, 512, 1}, {17, 64, 512, 1}, {8, 8, 0, 1}},
                                     experts[] = {{640, 4096, 2048, 32}, {0, 4096, 2048, 1}, {0, 4096, 2048, 1},
                                                  {300, 4096, 2048, 1}};
    static const struct {
        lfuse_type a, b;
        const lfuse__matmul_sizes *sizes;
        unit units;
        const char *solver;
        int rows, columns;
    } cases[] = {
        {LFUSE_F16, LFUSE_F16, many, WARPS, "mma", 128, 128},
        {LFUSE_BF16, LFUSE_BF16, few, WARPS, "mma", 64, 64},
        {LFUSE_F16, LFUSE_F16, many, NONE, "simt", 64, 128},
        {LFUSE_F16, LFUSE_BF16, many, WARPGROUPS, "simt", 64, 128},
        {LFUSE_F16, LFUSE_F16, many, WARPGROUPS, "wgmma", 256, 128},
        {LFUSE_F16, LFUSE_F16, experts, WARPGROUPS, "wgmma", 128, 256}, /* 589 us, 256 x 128 663 */
        {LFUSE_F16, LFUSE_F16, few, WARPGROUPS, "wgmma", 64, 128},
        {LFUSE_BF16, LFUSE_BF16, many, SMALL_WARPGROUPS, "wgmma", 128, 128},
        {LFUSE_F32, LFUSE_F32, many, WARPGROUPS, "simt", 64, 128},
        {LFUSE_F64, LFUSE_F64, many, WARPGROUPS, "simt", 32, 64},
        {LFUSE_E4M3, LFUSE_E5M2, many, WARPS_FP8, "mma_fp8", 64, 64},
        {LFUSE_E4M3, LFUSE_E5M2, many, WARPS, "simt", 64, 128},
        {LFUSE_E4M3, LFUSE_E5M2, many, WARPGROUPS, "mma_fp8", 64, 64}, /* B runs across */
        {LFUSE_E4M3, LFUSE_E5M2, many, WARPGROUPS, "wgmma_fp8", 128, 256},
        {LFUSE_E5M2, LFUSE_E4M3, many, SMALL_WARPGROUPS, "wgmma_fp8", 128, 128},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lfuse__facts facts = with_units(cases[i].units);
        lfuse__kernel_class c;
        lfuse__grouped_cut cut;
        grouped_class(&c, cases[i].a, cases[i].b);
        c.product.tb = !strcmp(cases[i].solver, "wgmma_fp8");
        ck_assert(!lfuse__grouped_choose(&facts, 4, cases[i].sizes, &c));
        ck_assert_msg(!strcmp(c.product.solver->name, cases[i].solver) && c.product.rows == cases[i].rows &&
                      c.product.columns == cases[i].columns, "case %zu: %s, %d x %d", i, c.product.solver->name,
                      c.product.rows, c.product.columns);
        lfuse__grouped_cut_make(&c, &facts, 4, cases[i].sizes, &cut);
        ck_assert(cut.rows == c.product.rows && cut.columns == c.product.columns && !cut.space);
        ck_assert_int_eq(lfuse__grouped_blocks(&cut, &cases[i].sizes[2]), cases[i].sizes == few ? 1 : 0);
    }
}

TEST_SUITE("products of lists", CK_FORK)
