/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the members of lists: who multiplies them and by which tiles, and how members are cut. */
#include "common/matmul/grouped.h"
#include "common/matmul/tile.h"
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

TEST_CASE("copies")

/* Of rows along k, or across; of elements of 2 bytes or 1, of which a chunk has 8 or 16 and a sector 16 or 32. */
TEST(packed_bytes)
{
    static const struct {
        lfuse_type type;
        int operand;
        bool ta, tb;
        lfuse__matmul_sizes sizes;
        lfuse__grouped_layout lie;
        uint64_t bytes;
    } cases[] = {
        {LFUSE_F16, LFUSE__PRODUCT_A, false, false, {5, 7, 64, 1}, {64, 320, 256}, 0},
        {LFUSE_F16, LFUSE__PRODUCT_A, false, false, {5, 7, 64, 1}, {72, 1, 256}, 0}, /* of one matrix */
        {LFUSE_F16, LFUSE__PRODUCT_A, false, false, {5, 7, 64, 2}, {64, 321, 256}, 2 * 5 * 64 * 2},
        {LFUSE_F16, LFUSE__PRODUCT_A, false, false, {5, 7, 64, 1}, {65, 325, 256}, 5 * 64 * 2},
        {LFUSE_F16, LFUSE__PRODUCT_A, false, false, {5, 7, 64, 1}, {64, 320, 264}, 5 * 64 * 2},
        {LFUSE_F16, LFUSE__PRODUCT_A, false, false, {5, 7, 65, 1}, {72, 360, 256}, 5 * 80 * 2},
        {LFUSE_F16, LFUSE__PRODUCT_A, true, false, {5, 8, 64, 1}, {5, 320, 256}, 64 * 16 * 2},
        {LFUSE_F16, LFUSE__PRODUCT_B, false, false, {5, 8, 65, 1}, {8, 520, 256}, 0},
        {LFUSE_F16, LFUSE__PRODUCT_B, false, false, {8, 5, 64, 1}, {5, 320, 256}, 64 * 16 * 2},
        {LFUSE_F16, LFUSE__PRODUCT_B, false, true, {8, 5, 65, 3}, {65, 325, 256}, 3 * 5 * 80 * 2},
        {LFUSE_F16, LFUSE__PRODUCT_B, false, true, {8, 5, 0, 1}, {0, 0, 2}, 0},
        {LFUSE_E4M3, LFUSE__PRODUCT_A, false, true, {5, 7, 40, 1}, {40, 200, 256}, 5 * 64},
        {LFUSE_E4M3, LFUSE__PRODUCT_B, false, true, {5, 7, 48, 1}, {48, 240, 256}, 0},
        {LFUSE_F32, LFUSE__PRODUCT_A, false, false, {5, 7, 33, 1}, {33, 165, 4}, 0}, /* simt packs nothing */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lfuse__facts facts = with_units(WARPGROUPS);
        lfuse__kernel_class c;
        uint64_t bytes;
        grouped_class(&c, cases[i].type, cases[i].type);
        c.product.ta = cases[i].ta, c.product.tb = cases[i].tb;
        ck_assert(!lfuse__grouped_choose(&facts, 1, &cases[i].sizes, &c));
        bytes = lfuse__grouped_packed_bytes(&c, cases[i].operand, &cases[i].sizes, &cases[i].lie);
        ck_assert_msg(bytes == cases[i].bytes, "case %zu: %llu bytes", i, (unsigned long long)bytes);
    }
}

/* Copies have the workspace for themselves: groups of solvers that pack have no space of their own there. */
TEST(packing_solvers_have_no_other_space)
{
    static const lfuse__matmul_sizes one = {512, 512, 512, 1};
    const lfuse__facts facts = with_units(WARPGROUPS);
    int packing = 0;

    for (int n = 0; lfuse__solvers[n]; n++) {
        lfuse__grouped_cut cut;
        lfuse__kernel_class c;
        grouped_class(&c, LFUSE_F16, LFUSE_F16);
        c.product.sum = LFUSE_F32;
        c.product.solver = lfuse__solvers[n];
        if (!c.product.solver->grouped_emit || !lfuse__grouped_packs(&c)) continue;
        ck_assert(lfuse__tiles_shape(c.product.solver, 0, &c.product));
        lfuse__grouped_cut_make(&c, &facts, 1, &one, &cut);
        ck_assert_msg(cut.space == 0, "%s", c.product.solver->name);
        packing++;
    }
    ck_assert_int_gt(packing, 1);
}

/* Copies have whole rows: an odd member has the tiles of an even one. */
TEST(odd_members_have_the_same_tiles)
{
    const lfuse__facts facts = with_units(WARPGROUPS);

    for (int64_t m = 256; m <= 2048; m += 256)
        for (int64_t n = 128; n <= 2048; n *= 2) {
            const lfuse__matmul_sizes sizes[] = {{m, n, 512, 1}, {m - 1, n - 1, 511, 1}};
            lfuse__kernel_class c[2];
            for (int i = 0; i < 2; i++) {
                grouped_class(&c[i], LFUSE_F16, LFUSE_F16);
                ck_assert(!lfuse__grouped_choose(&facts, 1, &sizes[i], &c[i]));
            }
            ck_assert_msg(c[0].product.rows == c[1].product.rows && c[0].product.columns == c[1].product.columns,
                          "%d x %d", (int)m, (int)n);
        }
}

TEST_SUITE("products of lists", CK_FORK)
