/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost model of tiles (tile_cost.c): which tiles it takes, how they are shared out, and what it counts on
 * in the kernels.
 */
#include "common/base/costs.h"
#include "common/base/error.h"
#include "common/matmul/tile.h"
#include "tests/matmul/choose.h"
#include "tests/kernels/host.h"
#include "tests/matmul/classes.h"
#include "tests/support/main.h"

TEST_CASE("tiles")

/* Tiles that were the fastest, or within some hundredths of them, on an H200: by CUDA, and by OpenCL. */
TEST(measured_choices)
{
    static const struct {
        int64_t m, n, k;
        bool overlaps; /* CUDA: launches do */
        const char *tiling;
    } cases[] = {
        {64, 1024, 1024, true, "32x64x32:8x4:4:8"}, /* weights from memory: 8.4 us, 16x32x64 in whole 9.3 */
        {64, 1024, 1024, false, "32x32x32:4x4:4:4"},
        {64, 512, 512, true, "32x32x32:4x4:4:4"},
        {64, 2048, 2048, true, "32x64x32:8x8:4:6"},
        {512, 512, 512, true, "32x64x32:8x4:4:0"},
        {256, 256, 16384, true, "64x64x32:16x8:4:16"},
        {256, 256, 16384, false, "64x64x32:16x8:4:16"}, /* 63 us, 32x64x32:8x8 72 */
        {1, 8192, 8192, false, "4x128x32:4x4:1:9"},     /* 85 us, tiles 94 */
        {64, 128, 128, true, "16x32x64:4x4:8:0"},
        {64, 32, 32, true, "16x32x32:4x4:4:0"},
        {37, 61, 59, true, "16x32x64:4x4:8:0"}, /* element by element: 2.0 us, two k-tiles of 32 2.1 */
        {4, 4096, 4096, false, "4x128x32:4x4:1:17"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
        lfuse__matmul_candidate all[LFUSE__MATMUL_CANDIDATES];
        lfuse__kernel_class c;
        char name[LFUSE__MATMUL_CANDIDATE_NAME];
        facts.overlaps = cases[i].overlaps;
        class_of(&c, LFUSE_F32);
        ck_assert_int_gt(lfuse__matmul_candidates(&facts, (int64_t[]){cases[i].m, cases[i].n, cases[i].k}, &c, all), 0);
        lfuse__matmul_candidate_print(&all[0], name);
        ck_assert_msg(!strcmp(name, cases[i].tiling), "case %zu: %s", i, name);
    }
}

/* With the epilogue of AdamW, 41 operations that move 24 bytes: the tiles that were the fastest on an H100. */
TEST(choices_behind_steps)
{
    static const struct {
        int64_t side;
        const char *tiling;
        bool hands; /* the next launch begins in the last of several rounds */
    } cases[] = {
        {1024, "32x32x32:4x4:4", true},  /* 12.4 us, 16x32x32 13.3, 32x64x32 14.8, 32x64x16 15.1, 16x32x64 17.0 */
        {512, "32x32x32:4x4:4", false},  /* 4.3 us, 16x32x32 4.4, 16x32x64 6.7 */
        {128, "16x32x64:4x4:8", true}};  /* 2.6 us, 16x32x32 2.4 */
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    facts.overlaps = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__product_class p = {.sum = LFUSE_F32, .ta = true, .epilogue_work = 41, .epilogue_bytes = 24}, best = p;
        const int64_t extents[] = {cases[i].side, cases[i].side, 64, 1};
        double least = 0;
        lfuse__cut cut, found = {.down = 0};
        char name[32];
        for (int shape = 0; lfuse__tiles_shape(&lfuse__simt, shape, &p); shape++) {
            ck_assert(lfuse__tile_cost(&p, &facts, extents, &cut));
            if (least > 0 && cut.time >= least) continue;
            least = cut.time, best = p, found = cut;
        }
        snprintf(name, sizeof name, "%dx%dx%d:%dx%d:%d", best.rows, best.columns, best.depth, best.item_rows,
                 best.item_columns, best.slices);
        ck_assert_str_eq(name, cases[i].tiling);
        ck_assert_int_eq(lfuse__tiles_hand_over(&best, &facts, (uint64_t)(found.down * found.across)), cases[i].hands);
    }
}

/* What an epilogue reads is asked for ahead where it is much beside the cache, and there is little to do before. */
TEST(prefetches)
{
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    lfuse__kernel_class c;
    lfuse__geometry g;
    facts.info.cache_bytes = 8 * 1024 * 1024; /* an eighth of it: 512 x 512 of f32 */
    class_of(&c, LFUSE_F32);
    c.product.epilogue_bytes = 4; /* as of one that stores several values */
    c.operands[c.noperands++] = (lfuse__kernel_operand){.type = LFUSE_F32, .inner = LFUSE__STRIDE_UNIT};
    geometry_of(&g, 512, 513, 512);
    ck_assert(!lfuse__tiles_prefetches(&c, &facts, &g)); /* a bias: the same for all rows */
    g.strides[c.noperands - 1][0] = 513;
    ck_assert(lfuse__tiles_prefetches(&c, &facts, &g));
    c.product.epilogue_bytes = 0;
    ck_assert(!lfuse__tiles_prefetches(&c, &facts, &g));
    c.product.epilogue_bytes = 4, g.extents[1] = 512;
    ck_assert(!lfuse__tiles_prefetches(&c, &facts, &g));
    g.extents[1] = 513, g.extents[2] = 513;
    ck_assert(!lfuse__tiles_prefetches(&c, &facts, &g));
    g.extents[2] = 512, c.operands[c.noperands - 1].inner = LFUSE__STRIDE_REPEAT;
    ck_assert(!lfuse__tiles_prefetches(&c, &facts, &g));
}

/*
 * Of GPUs that nobody has measured: large tiles for large products, whole ones or parts of k that fill the device for
 * others, few rows by the kernel for them.
 */
TEST(choices_of_other_devices)
{
    static const struct {
        unsigned simd, units, local_kib;
        int64_t m, n, k;
        const char *tiling;
    } cases[] = {
        {32, 132, 48, 4096, 4096, 4096, "64x128x16:8x8:1:0"},  {32, 132, 48, 256, 256, 16384, "32x64x32:8x8:4:8"},
        {32, 132, 48, 1, 8192, 8192, "4x128x32:4x4:1:9"},      {32, 132, 48, 64, 128, 128, "16x32x64:4x4:8:0"},
        {64, 60, 64, 4096, 4096, 4096, "128x128x16:8x16:1:0"}, {64, 60, 64, 1, 8192, 8192, "4x128x32:4x4:1:4"},
        {64, 60, 64, 37, 61, 59, "16x32x64:4x4:8:0"},          {8, 512, 64, 64, 2048, 2048, "32x32x32:4x4:4:8"},
        {8, 512, 64, 4096, 4096, 4096, "128x128x16:8x16:1:0"}, {16, 16, 40, 64, 128, 128, "16x32x32:4x4:4:0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
        lfuse__matmul_candidate all[LFUSE__MATMUL_CANDIDATES];
        lfuse__kernel_class c;
        char name[LFUSE__MATMUL_CANDIDATE_NAME];
        facts.vendor = facts.generation = 0;
        facts.simd = cases[i].simd, facts.info.compute_units = cases[i].units;
        facts.info.local_bytes = 1024 * cases[i].local_kib;
        class_of(&c, LFUSE_F32);
        ck_assert_int_gt(lfuse__matmul_candidates(&facts, (int64_t[]){cases[i].m, cases[i].n, cases[i].k}, &c, all), 0);
        lfuse__matmul_candidate_print(&all[0], name);
        ck_assert_msg(!strcmp(name, cases[i].tiling), "case %zu: %s", i, name);
    }
}

/*
 * Sizes that are no whole vectors are loaded element by element. Those of a vector are all on their way before the
 * first is stored: each would wait for memory by itself otherwise, which took a third of a list of small products.
 */
TEST(elements_are_loaded_together)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    for (int i = 0;; i++) {
        lfuse__strbuf text = LFUSE__STRBUF_INIT;
        lfuse__kernel_class c;
        int vectors = 0;
        class_of(&c, LFUSE_F32);
        ck_assert(!choose(&facts, (int64_t[]){64, 64, 64}, false, &c));
        if (!lfuse__tiles_shape(&lfuse__simt, i, &c.product)) break;
        ck_assert(!lfuse__product_emit(&text, "k", &c, &facts));
        for (const char *at = text.data; (at = strstr(at, "= LOAD_f32(from_, e);")); vectors++) {
            const char *put = strstr(at, "PUT_f32("), *end = strstr(at, "}\n");
            ck_assert_msg(end && put && end < put, "shape %d: a store among the loads of a vector", i);
            at = put;
        }
        ck_assert_int_ge(vectors, 2);
        lfuse__strbuf_free(&text);
    }
}

/* The cost model counts on so many groups of a compute unit: every kernel's registers are limited to what they have. */
TEST(residents_are_a_limit)
{
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    for (int i = 0;; i++) {
        lfuse__strbuf text = LFUSE__STRBUF_INIT;
        lfuse__kernel_class c;
        char limit[32];
        class_of(&c, LFUSE_F32);
        ck_assert(!choose(&facts, (int64_t[]){64, 64, 64}, false, &c));
        if (!lfuse__tiles_shape(&lfuse__simt, i, &c.product)) break;
        ck_assert_int_gt(c.product.occupancy, 1);
        if (lfuse__tiles_shape(&lfuse__mma, i, &c.product)) ck_assert_int_gt(c.product.occupancy, 1);
        lfuse__tiles_shape(&lfuse__simt, i, &c.product);
        ck_assert(!lfuse__product_emit(&text, "k", &c, &facts));
        snprintf(limit, sizeof limit, "KERNEL_OCCUPANCY(k, %d, %d,", lfuse__tiles_threads(&c.product),
                 c.product.occupancy);
        ck_assert_msg(strstr(text.data, limit), "shape %d: no %s", i, limit);
        lfuse__strbuf_free(&text);
    }
}

/*
 * Stream-K: the tiles that are not shared out fill whole rounds, each worker has a k-tile at least, a quarter of a tile
 * and no more than two, and the kernels' numbers fit. The class is chosen for a product that it is faster at.
 */
TEST(shared_out)
{
    static const char *const names[] = {"128x128x16:8x16:1:-1", "64x64x16:8x8:2:-1", "32x64x32:8x4:4:-1"};
    static const int residents[] = {2, 3, 2};
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    uint64_t state = 1;
    int shared = 0;
    for (int i = 0; i < 3000; i++) {
        const int round = residents[i % 3] * UNITS;
        const int64_t high = (int64_t)1 << (1 + host_random(&state) % 12);
        const int64_t m = 17 + (int64_t)(host_random(&state) % (uint64_t)high);
        const int64_t k = (int64_t)1 << host_random(&state) % 31;
        lfuse__matmul_candidate tiling;
        lfuse__kernel_class c;
        lfuse__geometry g;
        lfuse__packed packed;
        lfuse__cut cut;
        ck_assert(lfuse__matmul_candidate_parse(names[i % 3], &tiling));
        class_of(&c, LFUSE_F32);
        geometry_of(&g, m, 17 + (int64_t)(host_random(&state) % (uint64_t)high), k);
        if (choose_named(&facts, (int64_t[]){m, g.extents[1], k}, &tiling, &c)) continue;
        ck_assert_int_eq(c.product.split, LFUSE__SPLIT_STREAM_K);
        ck_assert(lfuse__tiles_cut(&c.product, &facts, &g, &cut));
        const int64_t tiles = cut.down * cut.across;
        shared++;
        ck_assert_int_eq(cut.workers, round);
        ck_assert_int_eq((tiles - cut.shared) % round, 0);
        ck_assert(cut.shared * 4 >= round && cut.shared <= tiles && cut.shared < 2 * round);
        ck_assert_int_le(cut.workers, cut.shared * cut.k_tiles);
        ck_assert_int_lt(cut.workers * (cut.k_tiles + 1), UINT32_MAX);
        ck_assert_int_lt(cut.shared * (cut.k_tiles + 1), UINT32_MAX);
        ck_assert(!lfuse__product_pack(&c, &facts, &g, &packed));
        ck_assert_uint_eq(packed.groups, (uint64_t)(cut.workers + tiles - cut.shared));
    }
    ck_assert_int_gt(shared, 300);
    ck_assert_int_eq(chosen(&facts, 1920, 1920, 1920).split, LFUSE__SPLIT_STREAM_K);
    ck_assert_int_ne(chosen(&facts, 64, 4096, 4096).split, LFUSE__SPLIT_STREAM_K);
}

/* What was chosen for other sizes is not packed. */
TEST(not_shared_out)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    lfuse__matmul_candidate tiling;
    lfuse__kernel_class c;
    lfuse__geometry g;
    lfuse__packed packed;
    ck_assert(lfuse__matmul_candidate_parse("64x64x32:16x8:4:-1", &tiling));
    class_of(&c, LFUSE_F32);
    ck_assert_int_eq(choose_named(&facts, (int64_t[]){1920, 1920, 1920}, &tiling, &c), LFUSE_ERR_UNSUPPORTED);
    ck_assert(lfuse__matmul_candidate_parse("128x128x16:8x16:1:-1", &tiling));
    class_of(&c, LFUSE_F32);
    ck_assert_int_eq(choose_named(&facts, (int64_t[]){200, 200, 4096}, &tiling, &c), LFUSE_ERR_UNSUPPORTED);
    class_of(&c, LFUSE_F32);
    ck_assert(!choose_named(&facts, (int64_t[]){1920, 1920, 1920}, &tiling, &c));
    geometry_of(&g, 200, 200, 4096);
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse__product_pack(&c, &facts, &g, &packed), "128 x 128 cannot be shared out");
}

/* Estimated cycles of units of three products whose operands are packed in front, but for one that is kept. */
static double packing(const lfuse__facts *facts, bool shared_a, bool shared_b, int kept)
{
    lfuse__kernel_class c;
    lfuse__cut found;
    class_of(&c, LFUSE_F16);
    c.product.batched = true, c.product.sum = LFUSE_F32, c.product.kept = kept;
    c.product.shared[LFUSE__PRODUCT_A] = shared_a, c.product.shared[LFUSE__PRODUCT_B] = shared_b;
    ck_assert(lfuse__f16_packed.candidate(&lfuse__f16_packed, 0, &c.product));
    ck_assert(lfuse__f16_packed.cost(&c.product, facts, (int64_t[]){2048, 1024, 4096, 3}, &found));
    return found.time * (double)lfuse__units(facts);
}

/* The launch in front reads and stores what all products of a batch share once: 2 * 2 bytes of each element. */
TEST(shared_operands_are_packed_once)
{
    enum { A = 1 + LFUSE__PRODUCT_A, B = 1 + LFUSE__PRODUCT_B };
    const lfuse__facts facts = facts_with_maps();
    const double bytes = lfuse__costs_of(&facts).tiles.bytes, a = 2048 * 4096 * 4 / bytes, b = 1024 * 4096 * 4 / bytes;
    const double all = packing(&facts, false, false, 0), near = 1e-9 * all;
    ck_assert_double_eq_tol(all - packing(&facts, true, false, 0), 2 * a, near);
    ck_assert_double_eq_tol(all - packing(&facts, false, true, 0), 2 * b, near);
    ck_assert_double_eq_tol(all - packing(&facts, false, false, B), 3 * b, near);
    ck_assert_double_eq_tol(packing(&facts, true, true, 0) - packing(&facts, true, true, A), a, near);
}

TEST_SUITE("product_cost", CK_NOFORK)
