/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which solvers and tiles a product gets; check_estimates.c has what decides where there is an epilogue,
 * check_launches.c what launches are told, check_devices (tiles.c) the results.
 */
#include "common/base/error.h"
#include "common/kernels/families.h"
#include "common/matmul/emulated.h"
#include "common/matmul/problem.h"
#include "common/matmul/provider.h"
#include "common/matmul/tile.h"
#include "tests/matmul/choose.h"
#include "tests/kernels/host.h"
#include "tests/matmul/classes.h"
#include "tests/support/main.h"

static uint64_t groups_of(const lfuse__facts *facts, int64_t m, int64_t n, int64_t k)
{
    lfuse__kernel_class c;
    lfuse__geometry g;
    lfuse__packed packed;
    class_of(&c, LFUSE_F32);
    ck_assert(!choose(facts, (int64_t[]){m, n, k}, true, &c));
    geometry_of(&g, m, n, k);
    ck_assert(!lfuse__product_pack(&c, facts, &g, &packed));
    return packed.groups;
}

TEST_CASE("choice")

/* A plan asks for products that have no elements too; what it gets is never launched. */
TEST(of_nothing)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    for (int i = 1; i < 8; i++) {
        const int64_t least[] = {i & 1 ? 0 : 5, i & 2 ? 0 : 7, i & 4 ? 0 : 9}, most[] = {5, 7, 9};
        lfuse__kernel_class c, all[LFUSE__MATMUL_CLASSES];
        class_of(&c, LFUSE_F32);
        ck_assert(!choose(&facts, least, true, &c));
        ck_assert(c.product.rows > 0 && c.product.columns > 0);
        ck_assert_int_eq(lfuse__matmul_classes(&facts, least, least, &c, all), 1);
        ck_assert_int_ge(lfuse__matmul_classes(&facts, least, most, &c, all), 1);
    }
}

/* Large products have tiles of a whole; few tiles are shared out along k; a side of few rows is taken as a whole. */
TEST(shapes)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    lfuse__product_class p = chosen(&facts, 4096, 4096, 4096);
    ck_assert_int_eq(p.rows, 128);
    ck_assert_int_eq(p.columns, 128);
    ck_assert_int_eq(p.split, 0);
    ck_assert_uint_eq(groups_of(&facts, 4096, 4096, 4096), 32 * 32);
    ck_assert_int_eq(chosen(&facts, 100, 100, 50000).split, 1);
    ck_assert_uint_gt(groups_of(&facts, 100, 100, 50000), UNITS / 2);
    p = chosen(&facts, 3, 4096, 4096);
    ck_assert_int_eq(p.rows, 4);
    ck_assert_int_eq(p.item_rows, 4);
    p = chosen(&facts, 4096, 16, 4096);
    ck_assert_int_eq(p.columns, 16);
    ck_assert_int_eq(p.item_columns, 16);
}

/* Local memory has room for two k-tiles, and for what half of the slices put there at a time. */
TEST(local_memory)
{
    lfuse__product_class p = {.rows = 64, .columns = 64, .depth = 16, .item_rows = 8, .item_columns = 8, .slices = 4};
    ck_assert_int_eq(lfuse__simt.tile->local(&p), 2 * 64 * 64);
    p.slices = 2;
    ck_assert_int_eq(lfuse__simt.tile->local(&p), 64 * 64);
    p.depth = 32;
    ck_assert_int_eq(lfuse__simt.tile->local(&p), 2 * 32 * 128);
}

/* One product of these sizes has small tiles, so that every unit has one; many of them have large ones. */
TEST(batches)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    const int64_t one[] = {256, 256, 256, 1}, many[] = {256, 256, 256, 64}, most[] = {1 << 30, 1 << 30, 64, INT64_MAX};
    lfuse__kernel_class c;
    class_of(&c, LFUSE_F32);
    c.product.batched = true;
    ck_assert(!choose(&facts, one, false, &c));
    ck_assert_int_le(c.product.rows * c.product.columns, 32 * 64);
    ck_assert(!choose(&facts, many, false, &c));
    ck_assert_int_eq(c.product.rows * c.product.columns, 128 * 128);
    ck_assert(!choose(&facts, most, false, &c));
    ck_assert_int_eq(c.product.rows * c.product.columns, 128 * 128);
}

/* Work-items of many rows are for one product alone, also where the clock would have them. */
TEST(batches_of_few_rows)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    const int64_t e[] = {512, 512, 512, 8};
    lfuse__matmul_candidate tiling;
    lfuse__kernel_class c;
    ck_assert(lfuse__matmul_candidate_parse("64x64x32:16x8:4:0", &tiling));
    class_of(&c, LFUSE_F32);
    ck_assert(!choose_named(&facts, e, &tiling, &c));
    class_of(&c, LFUSE_F32);
    c.product.batched = true;
    ck_assert_int_eq(choose_named(&facts, e, &tiling, &c), LFUSE_ERR_UNSUPPORTED);
    ck_assert(!choose(&facts, e, false, &c));
    ck_assert_int_le(c.product.item_rows, 8);
}

/* Where k is split by choice, it is not without memory, which no workspace is needed for then. */
TEST(without_memory)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    const int64_t sizes[] = {64, 2048, 2048};
    lfuse__kernel_class c;
    lfuse__geometry g;
    geometry_of(&g, 64, 2048, 2048);
    class_of(&c, LFUSE_F32);
    ck_assert(!choose(&facts, sizes, false, &c));
    ck_assert(c.product.split && lfuse__product_workspace(&c, &facts, &g) > 0);
    class_of(&c, LFUSE_F32);
    ck_assert(!lfuse__matmul_choose(&facts, &(lfuse__matmul_problem){.extents = sizes, .low_memory = true}, &c));
    ck_assert_int_eq(c.product.split, 0);
    ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), 0);
}

/* Two tiles of the table differ in their slices alone. */
TEST(named_by_slices)
{
    static const char *const names[] = {"64x128x16:8x8:1:0", "64x128x16:8x8:2:0"};
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    for (int i = 0; i < 2; i++) {
        lfuse__matmul_candidate named;
        lfuse__kernel_class c;
        ck_assert(lfuse__matmul_candidate_parse(names[i], &named));
        class_of(&c, LFUSE_F32);
        ck_assert(!choose_named(&facts, (int64_t[]){512, 512, 512}, &named, &c));
        ck_assert_int_eq(c.product.slices, i + 1);
    }
}

/* Two tiles have equal numbers; one is of operands that are split. */
TEST(named_by_words)
{
    static const char *const names[] = {"128x128x16:8x16:1:0", "128x128x16:8x16:1:0:2"};
    const lfuse__solver *const solvers[] = {&lfuse__simt, &lfuse__f32x3_mma};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    facts.tensor_cores = true;
    for (int i = 0; i < 2; i++) {
        lfuse__matmul_candidate named;
        lfuse__kernel_class c;
        ck_assert(lfuse__matmul_candidate_parse(names[i], &named));
        class_of(&c, LFUSE_F32);
        c.product.precision = LFUSE_PRECISION_F32X3;
        OK(choose_named(&facts, (int64_t[]){512, 512, 512}, &named, &c));
        ck_assert_ptr_eq(c.product.solver, solvers[i]);
    }
}

/* A plan of unknown sizes has large tiles and small ones, on tensor cores too. */
TEST(tiles_of_any_size)
{
    static const struct {
        lfuse_type type;
        int64_t side;
        int rows, columns;
    } cases[] = {{LFUSE_F32, 8192, 64, 128}, {LFUSE_F32, 200, 32, 64}, {LFUSE_F16, 8192, 128, 128},
                 {LFUSE_F16, 512, 64, 64}};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    facts.tensor_cores = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t side = cases[i].side;
        lfuse__kernel_class c;
        class_of(&c, cases[i].type);
        ck_assert(!lfuse__matmul_choose(&facts, &(lfuse__matmul_problem){.extents = (int64_t[]){side, side, side},
                                                                         .unsized = true}, &c));
        ck_assert_int_eq(c.product.rows, cases[i].rows);
        ck_assert_int_eq(c.product.columns, cases[i].columns);
        ck_assert_ptr_eq(c.product.solver, cases[i].type == LFUSE_F16 ? &lfuse__mma : &lfuse__simt);
    }
}

static bool same(const lfuse__product_class *a, const lfuse__product_class *b)
{
    return a->rows == b->rows && a->columns == b->columns && a->depth == b->depth && a->item_rows == b->item_rows &&
           a->item_columns == b->item_columns && a->slices == b->slices && a->split == b->split &&
           a->solver == b->solver && a->kept == b->kept;
}

/*
 * What is chosen for sizes within bounds is among the classes for the bounds, which a plan has compiled, and has room
 * for its workspace.
 */
TEST(bounds)
{
    static const lfuse_type types[] = {LFUSE_F64, LFUSE_F32, LFUSE_F16};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    uint64_t state = 1;
    facts.tensor_cores = true;
    for (int i = 0; i < 2000; i++) {
        lfuse__kernel_class c, all[LFUSE__MATMUL_CLASSES];
        int64_t low[4], high[4], sizes[4];
        bool found = false, unsized = false;
        class_of(&c, types[i % 3]);
        c.product.ta = i & 2, c.product.tb = i & 4, c.product.batched = i & 8;
        for (int s = 0; s < 3 + c.product.batched; s++) {
            const uint64_t range = UINT64_C(1) << host_random(&state) % 14;
            low[s] = 1 + (int64_t)(host_random(&state) % range);
            high[s] = low[s] + (int64_t)(host_random(&state) % range);
            sizes[s] = low[s] + (int64_t)(host_random(&state) % (uint64_t)(high[s] - low[s] + 1));
            unsized = unsized || low[s] != high[s];
        }
        const int count = lfuse__matmul_classes(&facts, low, high, &c, all);
        ck_assert(!lfuse__matmul_choose(&facts, &(lfuse__matmul_problem){.extents = sizes, .unsized = unsized}, &c));
        for (int a = 0; a < count; a++) found = found || same(&all[a].product, &c.product);
        ck_assert_int_ge(count, 1);
        ck_assert_msg(found, "%lld x %lld x %lld: tiles of %d x %d, split %d, are none of %d classes",
                      (long long)sizes[0], (long long)sizes[1], (long long)sizes[2], c.product.rows,
                      c.product.columns, c.product.split, count);
        lfuse__geometry g;
        lfuse__cut cut;
        geometry_of(&g, sizes[0], sizes[1], sizes[2]);
        if (c.product.batched) g.extents[LFUSE__PRODUCT_BATCH] = sizes[3];
        const uint64_t bytes = lfuse__product_workspace(&c, &facts, &g);
        ck_assert_int_eq(lfuse__product_phases(&c), bytes && !lfuse__product_tickets(&c) ? 2 : 1);
        lfuse__tiles_cut(&c.product, &facts, &g, &cut);
        if (c.product.solver == &lfuse__skinny) ck_assert_uint_ge(bytes, (uint64_t)(sizes[0] * sizes[1]) * 4);
        else if (c.product.split)
            ck_assert_uint_gt(bytes, (uint64_t)(sizes[0] * sizes[1]) * (cut.workers ? 0 : 4));
        else ck_assert_uint_eq(bytes, 0);
    }
}

/* The same where warpgroups multiply, and with what is frozen, split or rounded. */
TEST_LOOP(bounds_on_tensor_cores, 0, 3)
{
    static const struct {
        lfuse_type type;
        lfuse_precision precision;
    } all[] = {{LFUSE_F16, LFUSE_PRECISION_FULL}, {LFUSE_E4M3, LFUSE_PRECISION_FULL},
               {LFUSE_F32, LFUSE_PRECISION_F32X3}, {LFUSE_F32, LFUSE_PRECISION_BF16X6},
               {LFUSE_F32, LFUSE_PRECISION_TF32}, {LFUSE_F32, LFUSE_PRECISION_FULL}};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    uint64_t state = 1;

    facts.tensor_cores = facts.mma_fp8 = true, facts.wgmma = _i > 0, facts.tensor_map = some_map;
    facts.dynamic_local_bytes = _i == 1 ? 48 * 1024 : 226 * 1024;
    for (int i = 0; i < 3000; i++) {
        lfuse__kernel_class c, classes[LFUSE__MATMUL_CLASSES];
        int64_t low[4], high[4], sizes[4];
        bool found = false, unsized = false;
        class_of(&c, all[i % 6].type);
        c.product.precision = all[i % 6].precision;
        c.product.ta = i & 2, c.product.tb = i & 4, c.product.batched = i & 8;
        c.product.frozen[0] = i & 16, c.product.frozen[1] = i & 32;
        for (int s = 0; s < 3 + c.product.batched; s++) {
            const uint64_t range = UINT64_C(1) << host_random(&state) % 14;
            const int64_t step = i & 64 ? 16 : 1;
            low[s] = step * (1 + (int64_t)(host_random(&state) % range));
            high[s] = low[s] + step * (int64_t)(host_random(&state) % range);
            sizes[s] = low[s] + (int64_t)(host_random(&state) % (uint64_t)(high[s] - low[s] + 1)) / step * step;
            unsized = unsized || low[s] != high[s];
        }
        const int count = lfuse__matmul_classes(&facts, low, high, &c, classes);
        ck_assert(!lfuse__matmul_choose(&facts, &(lfuse__matmul_problem){.extents = sizes, .unsized = unsized}, &c));
        for (int a = 0; a < count; a++) found = found || same(&classes[a].product, &c.product);
        ck_assert_int_lt(count, LFUSE__MATMUL_CLASSES);
        ck_assert_msg(found, "%lld x %lld x %lld: %s of %d x %d, split %d, are none of %d classes",
                      (long long)sizes[0], (long long)sizes[1], (long long)sizes[2], c.product.solver->name,
                      c.product.rows, c.product.columns, c.product.split, count);
    }
}

static bool on_units(const lfuse__facts *facts, lfuse_type type, bool ta, int64_t m, int64_t n, int64_t k)
{
    lfuse__kernel_class c;
    class_of(&c, type);
    c.product.ta = ta;
    ck_assert(!choose(facts, (int64_t[]){m, n, k}, true, &c));
    return c.product.solver == &lfuse__mma;
}

/* What multiplies f16 and bf16 in matrices takes their products, but where rows are no whole vectors. */
TEST(units)
{
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    ck_assert(!on_units(&facts, LFUSE_F16, false, 1024, 1024, 1024));
    facts.tensor_cores = true;
    for (int64_t side = 512; side <= 8192; side *= 2) {
        ck_assert(on_units(&facts, LFUSE_F16, false, side, side, side));
        ck_assert(on_units(&facts, LFUSE_BF16, true, side, side, side));
        ck_assert(!on_units(&facts, LFUSE_F32, false, side, side, side));
        ck_assert(!on_units(&facts, LFUSE_F16, false, side, side + 4, side));
        ck_assert(!on_units(&facts, LFUSE_F16, false, side, side, side + 4));
        ck_assert(!on_units(&facts, LFUSE_F16, true, side + 4, side, side));
        ck_assert(on_units(&facts, LFUSE_F16, true, side, side, side + 4));
        ck_assert(on_units(&facts, LFUSE_F16, false, side + 4, side, side));
    }
    facts.info.local_bytes = 40 * 1024;
    ck_assert(!on_units(&facts, LFUSE_F16, false, 1024, 1024, 1024));
}

/* Where the tensor cores read local memory themselves, large products are theirs, and take dynamic local memory. */
TEST(warpgroups)
{
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024;
    for (int64_t side = 1024; side <= 8192; side *= 2) {
        lfuse__kernel_class c;
        class_of(&c, LFUSE_F16);
        OK(choose(&facts, (int64_t[]){side, side, side}, true, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__wgmma);
        ck_assert(!c.product.split);
        ck_assert_uint_le(lfuse__family_local_bytes(&c), facts.dynamic_local_bytes);
        /* The k-tiles, and in their place the sums of a long epilogue. */
        ck_assert_uint_ge(lfuse__family_local_bytes(&c), 1024 + (unsigned)(c.product.rows * c.product.columns) * 4);
        ck_assert(!on_units(&facts, LFUSE_BF16, true, side, side, side));
    }
    facts.dynamic_local_bytes = 100 * 1024;
    ck_assert(!on_units(&facts, LFUSE_F16, false, 4096, 4096, 4096));
    facts.dynamic_local_bytes = 30 * 1024;
    ck_assert(on_units(&facts, LFUSE_F16, false, 4096, 4096, 4096));
    facts.wgmma = false, facts.dynamic_local_bytes = 226 * 1024;
    ck_assert(on_units(&facts, LFUSE_F16, false, 4096, 4096, 4096));
}

/* Products of f32 whose operands may be split are split where they are large, and need a workspace. */
TEST_LOOP(split_operands, 0, 2)
{
    static const struct {
        lfuse_precision precision;
        const lfuse__solver *solver;
        uint64_t bytes; /* of an element */
        int64_t least;
    } all[] = {{LFUSE_PRECISION_F32X3, &lfuse__f32x3_wgmma, 4, 1024},
               {LFUSE_PRECISION_BF16X6, &lfuse__bf16x6_wgmma, 6, 1024}};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    lfuse__geometry g;
    lfuse__kernel_class c;
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024;
    for (int64_t side = 64; side <= 8192; side *= 2) {
        class_of(&c, LFUSE_F32);
        c.product.precision = all[_i].precision;
        OK(choose(&facts, (int64_t[]){side, side, side}, false, &c));
        ck_assert_msg((c.product.solver == all[_i].solver) == (side >= all[_i].least), "%d", (int)side);
        if (side < all[_i].least) continue;
        geometry_of(&g, side, side, side);
        ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g),
                          2 * (uint64_t)side * (4 + all[_i].bytes * (uint64_t)side));
        ck_assert_int_eq(lfuse__product_phases(&c), 2);
        ck_assert_uint_eq(lfuse__product_kept(&c, &facts, &g), 0);
    }
    const lfuse__matmul_problem low = {.extents = (int64_t[]){4096, 4096, 4096}, .low_memory = true};
    class_of(&c, LFUSE_F32);
    c.product.precision = all[_i].precision;
    OK(lfuse__matmul_choose(&facts, &low, &c));
    ck_assert_ptr_ne(c.product.solver, all[_i].solver);
    class_of(&c, LFUSE_F32);
    OK(choose(&facts, (int64_t[]){4096, 4096, 4096}, false, &c));
    ck_assert_ptr_ne(c.product.solver, all[_i].solver);
}

/* Without warpgroups by mma.sync; not where tensor cores are few beside units for f32. */
TEST(split_operands_by_warps)
{
    static const struct {
        unsigned generation;
        bool wgmma, splits;
    } devices[] = {{80, false, true}, {90, false, true}, {90, true, false}, {89, false, false}};
    for (int i = 0; i < 4; i++)
        for (int64_t side = 64; side <= 8192; side *= 2) {
            lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
            lfuse__kernel_class c;
            facts.tensor_cores = true, facts.wgmma = devices[i].wgmma, facts.generation = devices[i].generation;
            facts.dynamic_local_bytes = facts.wgmma ? 226 * 1024 : 0;
            class_of(&c, LFUSE_F32);
            OK(choose(&facts, (int64_t[]){side, side, side}, false, &c));
            ck_assert_ptr_ne(c.product.solver, &lfuse__f32x3_mma);
            class_of(&c, LFUSE_F32);
            c.product.precision = LFUSE_PRECISION_F32X3;
            OK(choose(&facts, (int64_t[]){side, side, side}, false, &c));
            ck_assert_msg((c.product.solver == &lfuse__f32x3_mma) == (devices[i].splits && side >= 1024), "%d, %d", i,
                          (int)side);
        }
}

/*
 * Where they gain nothing the planner does not ask for them, and plans of unknown sizes do not compile them; who names
 * one gets it.
 */
TEST(split_operands_where_they_pay)
{
    static const struct {
        unsigned generation;
        bool wgmma, splits, by_warps;
    } devices[] = {{80, false, true, true}, {90, true, true, false}, {86, false, false, false},
                   {89, false, false, false}, {120, false, false, false}};
    static const int64_t few[] = {1, 1, 256}, many[] = {100000, 100000, 100000}, extents[] = {1024, 1024, 1024};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const lfuse__matmul_desc desc = {.types = {LFUSE_F32, LFUSE_F32}, .result = LFUSE_F32,
                                         .precision = LFUSE_PRECISION_F32X3, .low = {1024, 1024, 1024, 1},
                                         .high = {1024, 1024, 1024, 1}};
        lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
        lfuse__kernel_class c, all[LFUSE__MATMUL_CLASSES];
        lfuse__matmul_candidate named, listed[LFUSE__MATMUL_CANDIDATES];
        int by_warps = 0;
        facts.tensor_cores = true, facts.wgmma = devices[i].wgmma, facts.generation = devices[i].generation;
        facts.dynamic_local_bytes = facts.wgmma ? 226 * 1024 : 0;
        ck_assert_msg(lfuse__matmul_splits(&facts, &desc) == devices[i].splits, "%u", devices[i].generation);
        class_of(&c, LFUSE_F32);
        c.product.precision = LFUSE_PRECISION_F32X3;
        const int count = lfuse__matmul_classes(&facts, few, many, &c, all);
        for (int k = 0; k < count; k++) by_warps += all[k].product.solver == &lfuse__f32x3_mma;
        ck_assert_msg((by_warps > 0) == devices[i].by_warps, "%u: %d", devices[i].generation, by_warps);
        const int n = lfuse__matmul_candidates(&facts, extents, &c, listed);
        ck_assert_int_gt(n, 0);
        for (int k = 0; k < n; k++)
            ck_assert(devices[i].by_warps || !listed[k].words || listed[k].item_rows == 2 /* warpgroups' */);
        ck_assert(lfuse__matmul_candidate_parse("128x128x16:8x16:1:0:2", &named));
        OK(choose_named(&facts, extents, &named, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__f32x3_mma);
    }
}

/* Precisions that split, and those alone, have an emulation, which several solvers are named after. */
TEST(emulations)
{
    for (int i = 0; i < LFUSE__PRECISIONS; i++) {
        const lfuse__emulation *e = lfuse__emulation_of((lfuse_precision)i);
        const char *word = lfuse__precisions[i].word;
        int solvers = 0;
        ck_assert_int_eq(e != NULL, lfuse__may_split((lfuse_precision)i));
        if (!e) continue;
        for (int n = 0; lfuse__solvers[n]; n++)
            solvers += lfuse__solvers[n]->emulation == e && !strncmp(lfuse__solvers[n]->name, word, strlen(word));
        ck_assert_int_ge(solvers, 2);
        for (int n = 0; n < e->products; n++) {
            ck_assert(e->product[n].a < e->words && e->product[n].b < e->words);
            ck_assert_int_eq(n == e->products - 1, !e->product[n].a && !e->product[n].b); /* the largest one is last */
        }
    }
}

/* Of a frozen operand the words are kept, and the product is expected to take less time. Both: B's. */
TEST(split_operands_that_are_frozen)
{
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    const int64_t extents[] = {2048, 1024, 512};
    double times[4];
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024;
    for (int frozen = 0; frozen < 4; frozen++) {
        const int kept = frozen & 2 ? 1 + LFUSE__PRODUCT_B : frozen ? 1 + LFUSE__PRODUCT_A : 0;
        const uint64_t a = 2048 * (4 + 4 * 512), b = 1024 * (4 + 4 * 512);
        lfuse__geometry g;
        lfuse__kernel_class c;
        lfuse__cut found;
        class_of(&c, LFUSE_F32);
        c.product.precision = LFUSE_PRECISION_F32X3;
        c.product.frozen[0] = frozen & 1, c.product.frozen[1] = frozen & 2;
        OK(choose(&facts, extents, false, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__f32x3_wgmma);
        ck_assert_int_eq(c.product.kept, kept);
        geometry_of(&g, extents[0], extents[1], extents[2]);
        ck_assert_uint_eq(lfuse__product_kept(&c, &facts, &g), kept == 0 ? 0 : kept == 1 ? a : b);
        ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g) + lfuse__product_kept(&c, &facts, &g), a + b);
        ck_assert_int_eq(lfuse__product_phases(&c), kept ? 3 : 2);
        for (c.product.phase = 0; c.product.phase < lfuse__product_phases(&c); c.product.phase++)
            ck_assert_int_eq(lfuse__product_prepares(&c), c.product.phase == 2);
        ck_assert(c.product.solver->cost(&c.product, &facts, extents, &found));
        times[frozen] = found.time;
    }
    ck_assert(times[1] < times[2] && times[2] < times[0] && times[3] == times[2]);
}

/* Others keep nothing, and so are the same whatever is frozen. */
TEST(frozen_operands_of_others)
{
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    lfuse__kernel_class c, all[LFUSE__MATMUL_CLASSES];
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024;
    class_of(&c, LFUSE_F32);
    c.product.precision = LFUSE_PRECISION_F32X3, c.product.frozen[1] = true;
    const int count = lfuse__matmul_classes(&facts, (int64_t[]){1, 1, 1}, (int64_t[]){9999, 9999, 9999}, &c, all);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(all[i].product.kept, all[i].product.solver->emulation ? 1 + LFUSE__PRODUCT_B : 0);
}

/* Where groups have little local memory, tiles are small, and two groups share a unit. */
TEST(little_local)
{
    const int64_t few[] = {1, 1, 1}, many[] = {100000, 100000, 100000};
    static const struct {
        lfuse_type type;
        lfuse_precision precision;
        const lfuse__solver *solver;
        bool maps;
    } rows[] = {{LFUSE_F16, LFUSE_PRECISION_FULL, &lfuse__wgmma, false},
                {LFUSE_F16, LFUSE_PRECISION_FULL, &lfuse__wgmma, true},
                {LFUSE_F32, LFUSE_PRECISION_F32X3, &lfuse__f32x3_wgmma, true}};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    lfuse__kernel_class c, all[LFUSE__MATMUL_CLASSES];
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024, facts.tensor_map = some_map;
    facts = with_little_local(&facts);
    for (int i = 0; i < 3; i++) {
        int found = 0;
        facts.tensor_map = rows[i].maps ? some_map : NULL;
        class_of(&c, rows[i].type);
        c.product.precision = rows[i].precision;
        OK(choose(&facts, (int64_t[]){4096, 4096, 4096}, false, &c));
        ck_assert_ptr_eq(c.product.solver, rows[i].solver);
        ck_assert_int_eq(c.product.occupancy, 2);
        ck_assert_uint_le(lfuse__family_local_bytes(&c), facts.dynamic_local_bytes);
        class_of(&c, rows[i].type);
        c.product.precision = rows[i].precision;
        const int count = lfuse__matmul_classes(&facts, few, many, &c, all);
        for (int j = 0; j < count; j++) {
            found += all[j].product.solver == rows[i].solver;
            ck_assert_uint_le(lfuse__family_local_bytes(&all[j]), facts.dynamic_local_bytes);
        }
        ck_assert_int_gt(found, 0);
    }
}

/* A plan that does not know the sizes has the kernels of both, and room for more. */
TEST(warpgroups_of_any_size)
{
    const int64_t few[] = {1, 1, 1}, many[] = {100000, 100000, 100000};
    lfuse__kernel_class c, all[LFUSE__MATMUL_CLASSES];
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    int of_each[3] = {0, 0, 0};
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024, facts.tensor_map = some_map;
    class_of(&c, LFUSE_F16);
    const int count = lfuse__matmul_classes(&facts, few, many, &c, all);
    ck_assert_int_lt(count, LFUSE__MATMUL_CLASSES);
    for (int i = 0; i < count; i++) {
        of_each[0] += all[i].product.solver == &lfuse__mma;
        of_each[1] += all[i].product.solver == &lfuse__wgmma;
        of_each[2] += all[i].product.solver == &lfuse__tma;
    }
    ck_assert(of_each[0] > 0 && of_each[1] > 0 && of_each[2] > 0);
    class_of(&c, LFUSE_F32);
    c.product.precision = LFUSE_PRECISION_F32X3;
    const int splitting = lfuse__matmul_classes(&facts, few, many, &c, all);
    ck_assert_int_lt(splitting, LFUSE__MATMUL_CLASSES);
    for (int i = 0; i < splitting; i++) of_each[0] = all[i].product.solver == &lfuse__f32x3_wgmma ? -1 : of_each[0];
    ck_assert_int_eq(of_each[0], -1);
}

static void tf32_class(lfuse__kernel_class *c, int way)
{
    class_of(c, LFUSE_F32);
    c->product.precision = LFUSE_PRECISION_TF32;
    c->product.ta = way & 1, c->product.tb = way >> 1 & 1;
}

/*
 * In tf32 maps copy lines of whole chunks along k. Of large products, batches too, other operands are packed before;
 * small ones, and all products of other devices, are multiplied by warps.
 */
TEST(maps_of_tf32)
{
    static const lfuse__solver *const solvers[] = {&lfuse__tf32_half_packed, &lfuse__tf32_packed, &lfuse__tma_tf32,
                                                   &lfuse__tf32_half_packed};
    const int64_t extents[] = {4096, 2048, 8192, 3}, odd[] = {4096, 2048, 8190, 3}, one[] = {1, 1, 3, 3};
    const int64_t small[] = {511, 511, 511, 32}; /* many products, whose elements warps would copy one by one */
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    lfuse__kernel_class c;
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024, facts.tensor_map = some_map;
    for (int way = 0; way < 16; way++) {
        facts.wgmma = (way & 4) == 0;
        tf32_class(&c, way);
        c.product.batched = way & 8;
        OK(choose(&facts, extents, false, &c));
        ck_assert_ptr_eq(c.product.solver, facts.wgmma ? solvers[way & 3] : &lfuse__mma_tf32);
        if (facts.wgmma) ck_assert_uint_le(lfuse__family_local_bytes(&c), facts.dynamic_local_bytes - 256);
        OK(choose(&facts, odd, false, &c));
        ck_assert_ptr_eq(c.product.solver, facts.wgmma ? &lfuse__tf32_packed : &lfuse__mma_tf32);
        OK(choose(&facts, small, false, &c));
        ck_assert_ptr_eq(c.product.solver, facts.wgmma ? &lfuse__tf32_packed : &lfuse__mma_tf32);
        OK(choose(&facts, one, false, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__mma_tf32);
        const lfuse__matmul_problem low = {.extents = odd, .low_memory = true};
        OK(lfuse__matmul_choose(&facts, &low, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__mma_tf32);
    }
}

/* The workspace has k-tiles of what is packed, which is kept where it is frozen; of what has a map there are none. */
TEST(packed_in_tf32)
{
    enum { A = LFUSE__PRODUCT_A, B = LFUSE__PRODUCT_B };
    static const struct {
        int way, kept; /* of two frozen operands */
        int64_t k;
        bool packs[2];
    } cases[] = {{0, 1 + B, 4096, {false, true}}, {3, 1 + A, 4096, {true, false}}, {1, 1 + B, 4096, {true, true}},
                 {0, 1 + B, 4094, {true, true}}, {2, 1 + B, 4094, {true, true}}};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024, facts.tensor_map = some_map;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t each[] = {4096 * 4096 * 4, 2048 * 4096 * 4};
        const int64_t extents[] = {4096, 2048, cases[i].k};
        const bool *packs = cases[i].packs;
        lfuse__packed packed;
        lfuse__kernel_class c;
        lfuse__geometry g;
        tf32_class(&c, cases[i].way);
        OK(choose(&facts, extents, false, &c));
        geometry_of(&g, 4096, 2048, cases[i].k);
        ck_assert_int_eq(c.product.kept, 0);
        ck_assert_int_eq(lfuse__product_first(&c), 0);
        ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), packs[A] * each[A] + packs[B] * each[B]);
        OK(lfuse__product_pack(&c, &facts, &g, &packed));
        ck_assert_uint_eq(packed.groups, (packs[A] * 4096 / 64 + packs[B] * 2048 / 64) * (4096 / 32));
        tf32_class(&c, cases[i].way);
        c.product.frozen[A] = c.product.frozen[B] = true;
        OK(choose(&facts, extents, false, &c));
        ck_assert_int_eq(c.product.kept, cases[i].kept);
        ck_assert_uint_eq(lfuse__product_kept(&c, &facts, &g), each[cases[i].kept - 1]);
        const uint64_t rest = packs[A] && cases[i].kept == 1 + B ? each[A] : 0;
        ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), rest);
        ck_assert_int_eq(lfuse__product_first(&c), !packs[A] || !packs[B]);
        if (!packs[A] || !packs[B]) { /* runs have no launch in front */
            lfuse__strbuf text = LFUSE__STRBUF_INIT;
            lfuse__cut all, alone;
            SAYS(LFUSE_ERR_INVALID, lfuse__product_emit(&text, "k", &c, &facts), "phase 0");
            lfuse__strbuf_free(&text);
            ck_assert(c.product.solver->cost(&c.product, &facts, extents, &all));
            ck_assert(lfuse__pipeline_cost(&c.product, &facts, extents, &alone));
            ck_assert(all.time == alone.time);
        }
        /* Where the one that comes by a map is frozen alone, nothing is kept. */
        tf32_class(&c, cases[i].way);
        c.product.frozen[2 - cases[i].kept] = true;
        OK(choose(&facts, extents, false, &c));
        ck_assert_int_eq(c.product.kept, packs[2 - cases[i].kept] ? 3 - cases[i].kept : 0);
    }
}

/* Where k is not known a plan compiles both ways of two that lie differently; else the one that serves. */
TEST(packed_in_tf32_of_any_size)
{
    static const struct { int way; int64_t least, most; int by_maps, half, packed; } cases[] = {
        {0, 1, 8192, 0, 2, 2}, {3, 1, 8192, 0, 2, 2}, {1, 1, 8192, 0, 0, 2}, {2, 1, 8192, 2, 0, 2},
        {0, 8192, 8192, 0, 2, 0}, {2, 8192, 8192, 2, 0, 0}, {2, 8190, 8190, 0, 0, 2},
    };
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024, facts.tensor_map = some_map;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__kernel_class c, all[LFUSE__MATMUL_CLASSES];
        int by_maps = 0, half = 0, packed = 0;
        tf32_class(&c, cases[i].way);
        const int count = lfuse__matmul_classes(&facts, (int64_t[]){1, 1, cases[i].least},
                                                (int64_t[]){8192, 8192, cases[i].most}, &c, all);
        ck_assert_int_lt(count, LFUSE__MATMUL_CLASSES);
        for (int j = 0; j < count; j++) {
            by_maps += all[j].product.solver == &lfuse__tma_tf32;
            half += all[j].product.solver == &lfuse__tf32_half_packed;
            packed += all[j].product.solver == &lfuse__tf32_packed;
        }
        ck_assert_msg(by_maps == cases[i].by_maps && half == cases[i].half && packed == cases[i].packed,
                      "case %zu: %d, %d, %d", i, by_maps, half, packed);
    }
}

/* Where lines have no maps, operands of 16 bits are packed before, of batches too; not where columns are summed. */
TEST(maps_of_odd_rows)
{
    static const int64_t all[][4] = {{4096, 4096, 4097, 4}, {4096, 4097, 4096, 4}, {2047, 2047, 2047, 4}};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    lfuse__kernel_class classes[LFUSE__MATMUL_CLASSES], c;
    lfuse__geometry g;
    lfuse__packed packed;
    int count, by_maps = 0, odd = 0;
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024, facts.tensor_map = some_map;
    for (int i = 0; i < 3; i++) {
        class_of(&c, LFUSE_F16);
        OK(choose(&facts, all[i], false, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__f16_packed);
        ck_assert_uint_le(lfuse__family_local_bytes(&c), facts.dynamic_local_bytes - 256);
        class_of(&c, LFUSE_F16);
        c.product.batched = true;
        OK(choose(&facts, all[i], false, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__f16_packed);
    }
    class_of(&c, LFUSE_BF16);
    OK(choose(&facts, (int64_t[]){4097, 4096, 4096}, false, &c)); /* rows of A run along k */
    ck_assert_ptr_eq(c.product.solver, &lfuse__tma);
    c.product.ta = true;
    OK(choose(&facts, (int64_t[]){4097, 4096, 4096}, false, &c));
    ck_assert_ptr_eq(c.product.solver, &lfuse__f16_packed);
    geometry_of(&g, 4097, 4096, 4096);
    const uint64_t lines = (uint64_t)lfuse__ceil_div(4097, c.product.rows) * (uint64_t)c.product.rows + 4096;
    ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), lines * 4096 * 2);
    OK(lfuse__product_pack(&c, &facts, &g, &packed));
    ck_assert_uint_eq(packed.groups, lines / 64 * 64);
    /* All matrices of a batch are packed. */
    c.product.batched = true;
    g.extents[LFUSE__PRODUCT_BATCH] = 3;
    g.strides[LFUSE__PRODUCT_A][LFUSE__PRODUCT_BATCH] = g.strides[LFUSE__PRODUCT_B][LFUSE__PRODUCT_BATCH] = 4097 * 4096;
    ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), 3 * lines * 4096 * 2);
    OK(lfuse__product_pack(&c, &facts, &g, &packed));
    ck_assert_uint_eq(packed.groups, 3 * lines / 64 * 64);
    c.product.batched = false;
    /* What is packed of a frozen operand is kept. */
    c.product.frozen[LFUSE__PRODUCT_B] = true;
    OK(choose(&facts, (int64_t[]){4097, 4096, 4096}, false, &c));
    ck_assert_ptr_eq(c.product.solver, &lfuse__f16_packed);
    ck_assert_int_eq(c.product.kept, 1 + LFUSE__PRODUCT_B);
    ck_assert_int_eq(lfuse__product_phases(&c), 3);
    ck_assert_uint_eq(lfuse__product_kept(&c, &facts, &g), 4096 * 4096 * 2);
    ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), (lines - 4096) * 4096 * 2);
    class_of(&c, LFUSE_F16);
    count = lfuse__matmul_classes(&facts, (int64_t[]){1, 1, 1}, (int64_t[]){4096, 4096, 4096}, &c, classes);
    ck_assert_int_lt(count, LFUSE__MATMUL_CLASSES);
    for (int i = 0; i < count; i++) {
        by_maps += classes[i].product.solver == &lfuse__tma;
        odd += classes[i].product.solver == &lfuse__f16_packed;
    }
    ck_assert_int_gt(by_maps, 0);
    ck_assert_int_eq(odd, 1);
    facts.dynamic_local_bytes = 100 * 1024;
    class_of(&c, LFUSE_F16);
    OK(choose(&facts, all[0], false, &c));
    ck_assert_ptr_eq(c.product.solver, &lfuse__simt);
}

/* Operands of 8 bits, of both types: lines of whole chunks along k are copied by maps; others are packed before. */
TEST(maps_of_bytes)
{
    const int64_t extents[] = {4096, 2048, 8192}, odd[] = {4096, 2048, 8200};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    lfuse__kernel_class c;
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024, facts.tensor_map = some_map;
    for (int way = 0; way < 8; way++) {
        const bool along = (way & 3) == 2;
        class_of(&c, LFUSE_E4M3);
        if (way & 4) c.operands[LFUSE__PRODUCT_B].type = LFUSE_E5M2;
        c.product.ta = way & 1, c.product.tb = way >> 1 & 1;
        OK(choose(&facts, extents, false, &c));
        ck_assert_ptr_eq(c.product.solver, along ? &lfuse__tma_fp8 : &lfuse__fp8_packed);
        ck_assert_uint_le(lfuse__family_local_bytes(&c), facts.dynamic_local_bytes - 256);
        OK(choose(&facts, odd, false, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__fp8_packed);
    }
    /* Where k is not known a plan compiles both. */
    for (int along = 0; along < 2; along++) {
        lfuse__kernel_class all[LFUSE__MATMUL_CLASSES];
        int by_maps = 0, packed = 0;
        class_of(&c, LFUSE_E4M3);
        c.product.tb = along;
        const int count = lfuse__matmul_classes(&facts, (int64_t[]){1, 1, 1}, extents, &c, all);
        ck_assert_int_lt(count, LFUSE__MATMUL_CLASSES);
        for (int i = 0; i < count; i++) {
            by_maps += all[i].product.solver == &lfuse__tma_fp8;
            packed += all[i].product.solver == &lfuse__fp8_packed;
        }
        ck_assert_msg((by_maps > 0) == (along > 0) && packed > 0, "%d, %d", by_maps, packed);
    }
    /* What is packed of a frozen operand is kept. */
    class_of(&c, LFUSE_E4M3);
    c.product.frozen[LFUSE__PRODUCT_B] = true;
    OK(choose(&facts, extents, false, &c));
    ck_assert_ptr_eq(c.product.solver, &lfuse__fp8_packed);
    ck_assert_int_eq(c.product.kept, 1 + LFUSE__PRODUCT_B);
}

/* Operands of 8 bits where there are no maps: by warpgroups, packed before but for those along k; else by warps. */
TEST(bytes_by_units)
{
    static const struct {
        bool mma_fp8, wgmma, along;
        int64_t k;
        const lfuse__solver *solver;
    } cases[] = {
        {true, true, true, 4096, &lfuse__wgmma_fp8}, {true, true, false, 4096, &lfuse__fp8_packed},
        {true, true, true, 4104, &lfuse__fp8_packed}, {true, false, true, 4096, &lfuse__mma_fp8},
        {true, false, false, 4104, &lfuse__mma_fp8},  {true, false, true, 4104, &lfuse__simt},
        {false, false, true, 4096, &lfuse__simt},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
        lfuse__kernel_class c;
        facts.tensor_cores = true, facts.mma_fp8 = cases[i].mma_fp8, facts.wgmma = cases[i].wgmma;
        facts.dynamic_local_bytes = 48 * 1024;
        class_of(&c, LFUSE_E4M3);
        c.operands[LFUSE__PRODUCT_B].type = LFUSE_E5M2;
        c.product.ta = !cases[i].along, c.product.tb = cases[i].along;
        OK(choose(&facts, (int64_t[]){4096, 2048, cases[i].k}, false, &c));
        ck_assert_msg(c.product.solver == cases[i].solver, "%d: %s", (int)i, c.product.solver->name);
        c.product.batched = true;
        OK(choose(&facts, (int64_t[]){4096, 2048, cases[i].k, 2}, false, &c));
        ck_assert_msg(c.product.solver == cases[i].solver, "%d, batched: %s", (int)i, c.product.solver->name);
    }
}

static void declined_of(const lfuse__facts *facts, const int64_t *extents, bool others, lfuse_type type,
                        const char *word)
{
    lfuse__kernel_class c;
    class_of(&c, type);
    SAYS(LFUSE_ERR_UNSUPPORTED, choose(facts, extents, others, &c), word);
}

static void declined(const lfuse__facts *facts, int64_t side, bool others, lfuse_type type, const char *word)
{
    declined_of(facts, (int64_t[]){side, 64, 64}, others, type, word);
}

TEST(refusals)
{
    lfuse__facts cl = facts_of(LFUSE__PRODUCTS_PORTABLE), cuda = facts_of(LFUSE__PRODUCTS_TUNED);
    lfuse__kernel_class c, all[LFUSE__MATMUL_CLASSES];
    const int64_t few[] = {1, 1, 1}, many[] = {64, 64, 64};
    declined(&cuda, 1 << 20, true, LFUSE_F32, "faster");
    declined_of(&cuda, (int64_t[]){1, 64, 65}, true, LFUSE_F32, "faster");
    class_of(&c, LFUSE_F32);
    ck_assert(!choose(&cuda, (int64_t[]){64, 64, 64}, true, &c));
    declined(&cl, 64, true, LFUSE_F64, "faster");
    declined(&cl, (int64_t)1 << 31, false, LFUSE_F32, "2147483648");
    class_of(&c, LFUSE_F32);
    ck_assert(!choose(&cuda, (int64_t[]){64, 64, 64}, false, &c));
    cl.info.local_bytes = 16 * 1024;
    declined(&cl, 64, false, LFUSE_F32, "16384 bytes of local memory");
    cl = facts_of(LFUSE__PRODUCTS_PORTABLE);
    cl.info.max_group = 128;
    declined(&cl, 64, false, LFUSE_F32, "groups of 128");
    ck_assert_int_eq(lfuse__matmul_classes(&cl, few, many, &c, all), 0);
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    ck_assert(!choose(&cuda, (int64_t[]){64, 64, 64}, false, &c));
    c.product.rows = 65;
    SAYS(LFUSE_ERR_INVALID, lfuse__product_emit(&text, "k", &c, &cuda), "65");
    lfuse__strbuf_free(&text);
}

TEST_SUITE("tiles of products", CK_NOFORK)
