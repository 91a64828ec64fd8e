/* SPDX-License-Identifier: Apache-2.0 */
/* What launches of products by tiles are told: groups, argument words, tensor maps, workspaces. */
#include "common/base/error.h"
#include "common/kernels/families.h"
#include "common/matmul/tile.h"
#include "tests/kernels/host.h"
#include "tests/matmul/classes.h"
#include "tests/support/main.h"

TEST_CASE("launches")

/* Matrices of a batch lie apart by bytes of their own types: half as many as elements of f32 have, for those of f16. */
TEST(batches_of_two_types)
{
    static const int64_t apart[] = {1000, 2000, 0, 3000};
    static const uint64_t bytes[] = {2000, 4000, 0, 12000};
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    lfuse__kernel_class c;
    lfuse__product_layout l;
    lfuse__packed packed;
    lfuse__geometry g;
    class_of(&c, LFUSE_F16);
    c.operands[LFUSE__PRODUCT_OWN].type = LFUSE_F32;
    c.product.batched = true;
    ck_assert(!choose(&facts, (int64_t[]){40, 50, 20, 3}, false, &c));
    geometry_of(&g, 40, 50, 20);
    g.extents[LFUSE__PRODUCT_BATCH] = 3;
    for (int j = 0; j < c.noperands; j++) g.strides[j][LFUSE__PRODUCT_BATCH] = apart[j];
    ck_assert(!lfuse__product_pack(&c, &facts, &g, &packed));
    lfuse__product_layout_make(&c, &l);
    for (int j = 0; j < c.noperands; j++)
        if (j != LFUSE__PRODUCT_SUM) ck_assert_uint_eq(packed.words[l.apart[j]], bytes[j]);
}

/* Checks the bits that say which of A, B and the result are read or stored in vectors. */
static void check_vectors(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                          uint64_t bits, size_t number)
{
    lfuse__product_layout l;
    lfuse__packed packed;
    OK(lfuse__product_pack(c, facts, g, &packed));
    lfuse__product_layout_make(c, &l);
    const uint64_t found = packed.words[l.own + LFUSE__TILES_VECTORS];
    ck_assert_msg(found == bits, "case %zu: bits %llu", number, (unsigned long long)found);
}

/* Vectors only where leading dimension, address and what a tile may cut of a row allow them. */
TEST(vectors)
{
    static const struct {
        int64_t m, n, k, lda, ldb, ldc;
        uint64_t address; /* of A */
        bool ta;
        uint64_t bits;
    } cases[] = {{64, 64, 64, 64, 64, 64, 0, false, 7},   {64, 64, 63, 64, 64, 64, 0, false, 7},
                 {63, 64, 64, 64, 64, 64, 0, false, 7},   {63, 64, 64, 64, 64, 64, 0, true, 6},
                 {64, 63, 64, 64, 64, 64, 0, false, 1},   {64, 64, 64, 65, 64, 64, 0, false, 6},
                 {64, 64, 64, 64, 66, 64, 0, false, 5},   {64, 64, 64, 64, 64, 67, 0, false, 3},
                 {64, 64, 64, 64, 64, 64, 4, false, 6},   {64, 64, 64, 64, 64, 64, 8, true, 6}};
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__kernel_class c;
        lfuse__geometry g;
        class_of(&c, LFUSE_F32);
        c.product.ta = cases[i].ta;
        ck_assert(!choose(&facts, (int64_t[]){cases[i].m, cases[i].n, cases[i].k}, false, &c));
        geometry_of(&g, cases[i].m, cases[i].n, cases[i].k);
        g.strides[LFUSE__PRODUCT_A][0] = cases[i].lda, g.strides[LFUSE__PRODUCT_B][0] = cases[i].ldb;
        g.strides[LFUSE__PRODUCT_OWN][0] = cases[i].ldc;
        g.addresses[LFUSE__PRODUCT_A] = cases[i].address;
        check_vectors(&c, &facts, &g, cases[i].bits, i);
    }
}

/* Vectors of 16 bytes: 8 elements, of leading dimensions, of addresses, of a batch's distances. */
TEST(units_vectors)
{
    static const struct {
        int64_t lda, ldb, apart;
        uint64_t address, bits;
    } cases[] = {{512, 512, 4096, 0, 7}, {516, 512, 4096, 0, 6}, {512, 516, 4096, 0, 5}, {512, 512, 4100, 0, 6},
                 {520, 520, 4096, 8, 6}, {520, 520, 4096, 16, 7}};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    facts.tensor_cores = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__kernel_class c;
        lfuse__geometry g;
        class_of(&c, LFUSE_BF16);
        c.product.batched = true;
        ck_assert(!choose(&facts, (int64_t[]){512, 512, 512, 2}, false, &c));
        ck_assert(c.product.solver == &lfuse__mma && !c.product.split);
        geometry_of(&g, 512, 512, 512);
        g.extents[LFUSE__PRODUCT_BATCH] = 2;
        g.strides[LFUSE__PRODUCT_A][0] = cases[i].lda, g.strides[LFUSE__PRODUCT_B][0] = cases[i].ldb;
        g.strides[LFUSE__PRODUCT_A][LFUSE__PRODUCT_BATCH] = cases[i].apart;
        g.addresses[LFUSE__PRODUCT_A] = cases[i].address;
        check_vectors(&c, &facts, &g, cases[i].bits, i);
    }
}

/* A band of a pipeline is two tiles high where the units have eight rows of tiles at a time, but not all; else 8. */
TEST(bands)
{
    static const struct {
        int64_t m, n;
        uint64_t high;
    } cases[] = {{8192, 1024, 2}, {8192, 2048, 2}, {8192, 2176, 8}, {8192, 4096, 8}, {1024, 2048, 8}};
    lfuse__facts facts = facts_with_maps();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__kernel_class c;
        lfuse__product_layout l;
        lfuse__packed packed;
        lfuse__geometry g;
        class_of(&c, LFUSE_F16);
        OK(choose(&facts, (int64_t[]){cases[i].m, cases[i].n, 4096}, false, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__tma);
        ck_assert(lfuse__tiles_shape(&lfuse__tma, 1, &c.product)); /* 128 columns */
        geometry_of(&g, cases[i].m, cases[i].n, 4096);
        OK(lfuse__product_pack(&c, &facts, &g, &packed));
        lfuse__product_layout_make(&c, &l);
        const uint64_t *own = packed.words + l.own, high = cases[i].high;
        ck_assert_uint_eq(own[LFUSE__TILES_HIGH], high);
        ck_assert_uint_eq(own[LFUSE__TILES_BY_BAND], lfuse__division32(own[LFUSE__TILES_ACROSS] * high));
    }
}

/* Where there are tensor maps, products are copied by them, in parts of k too. */
TEST(maps)
{
    lfuse__facts facts = facts_with_maps();
    lfuse__product_layout l;
    lfuse__geometry g;
    lfuse__packed packed;
    lfuse__kernel_class c;
    for (int64_t side = 2048; side <= 8192; side *= 2) {
        class_of(&c, LFUSE_BF16);
        OK(choose(&facts, (int64_t[]){side, side, side}, false, &c));
        ck_assert_ptr_eq(c.product.solver, &lfuse__tma);
        ck_assert_uint_le(lfuse__family_local_bytes(&c), facts.dynamic_local_bytes - 256);
        geometry_of(&g, side, side, side);
        g.addresses[LFUSE__PRODUCT_A] = 4096, g.addresses[LFUSE__PRODUCT_B] = 1 << 20;
        OK(lfuse__product_pack(&c, &facts, &g, &packed));
        lfuse__product_layout_make(&c, &l);
        ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_VECTORS] & 3, 3);
        ck_assert_int_eq(lfuse__tiles_map(&c.product, &l, LFUSE__PRODUCT_A) % 8, 0);
        ck_assert_uint_eq(packed.words[lfuse__tiles_map(&c.product, &l, LFUSE__PRODUCT_A)], 4096);
        ck_assert_uint_eq(packed.words[lfuse__tiles_map(&c.product, &l, LFUSE__PRODUCT_B)], 1 << 20);
        ck_assert_uint_eq(packed.group, 384);
        ck_assert_uint_le(packed.groups, facts.info.compute_units);
        g.addresses[LFUSE__PRODUCT_B] += 2;
        OK(lfuse__product_pack(&c, &facts, &g, &packed));
        ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_VECTORS] & 3, 0);
        g.addresses[LFUSE__PRODUCT_B] -= 2, facts.maps_of = (struct lfuse__bdevice *)&g;
        ck_assert_int_eq(lfuse__product_pack(&c, &facts, &g, &packed), LFUSE_ERR_DEVICE);
        facts.maps_of = NULL;
    }
    class_of(&c, LFUSE_F16);
    OK(choose(&facts, (int64_t[]){256, 256, 65536}, false, &c));
    ck_assert_ptr_eq(c.product.solver, &lfuse__tma);
    ck_assert_int_eq(c.product.split, LFUSE__SPLIT_K);
    geometry_of(&g, 256, 256, 65536);
    g.addresses[LFUSE__PRODUCT_A] = 4096, g.addresses[LFUSE__PRODUCT_B] = 1 << 20;
    OK(lfuse__product_pack(&c, &facts, &g, &packed));
    lfuse__product_layout_make(&c, &l);
    const uint64_t *own = packed.words + l.own, parts = own[LFUSE__TILES_PARTS];
    const uint64_t all = own[LFUSE__TILES_DOWN] * own[LFUSE__TILES_ACROSS] * parts;
    ck_assert_uint_gt(parts, 1);
    ck_assert_uint_eq(packed.groups, all < facts.info.compute_units ? all : facts.info.compute_units);
    ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), lfuse__product_tickets(&c) + 256 * 256 * parts * 4);
    g.parts = 2;
    OK(lfuse__product_pack(&c, &facts, &g, &packed));
    ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_PARTS], 2);
}

/* Boxes have no more lines along k than a matrix that has fewer than a tile: such that end beyond it are slow. */
TEST(boxes_of_few_lines)
{
    static const struct {
        int64_t m, n;
        bool tb;
        uint64_t lines[2];
    } cases[] = {{16, 4096, true, {16, 64}}, {4096, 40, true, {128, 40}}, {4096, 40, false, {128, 64}},
                 {200, 4096, true, {128, 128}}};
    lfuse__facts facts = facts_with_maps();
    lfuse__product_layout l;
    lfuse__geometry g;
    lfuse__packed packed;
    lfuse__kernel_class c;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        class_of(&c, LFUSE_F16);
        c.product.tb = cases[i].tb;
        c.product.sum = LFUSE_F32;
        ck_assert(lfuse__tiles_shape(&lfuse__tma, i == 3 ? 1 : 2, &c.product));
        geometry_of(&g, cases[i].m, cases[i].n, 4096);
        if (cases[i].tb) g.strides[LFUSE__PRODUCT_B][0] = 4096;
        g.addresses[LFUSE__PRODUCT_A] = 4096, g.addresses[LFUSE__PRODUCT_B] = 1 << 20;
        OK(lfuse__product_pack(&c, &facts, &g, &packed));
        lfuse__product_layout_make(&c, &l);
        for (int j = LFUSE__PRODUCT_A; j <= LFUSE__PRODUCT_B; j++) {
            const uint64_t *map = packed.words + lfuse__tiles_map(&c.product, &l, j);
            ck_assert_msg(map[4] == cases[i].lines[j], "case %zu, operand %d: %llu lines", i, j,
                          (unsigned long long)map[4]);
        }
    }
}

/* So are batches, whose groups stay for the tiles of all products; an operand that these share is one matrix. */
TEST(maps_of_batches)
{
    lfuse__facts facts = facts_with_maps();
    const uint64_t *a, *b;
    lfuse__product_layout l;
    lfuse__geometry g;
    lfuse__packed packed;
    lfuse__kernel_class c;
    class_of(&c, LFUSE_F16);
    c.product.batched = true;
    OK(choose(&facts, (int64_t[]){1024, 1024, 1024, 48}, false, &c));
    ck_assert_ptr_eq(c.product.solver, &lfuse__tma);
    geometry_of(&g, 1024, 1024, 1024);
    g.extents[LFUSE__PRODUCT_BATCH] = 48;
    g.strides[LFUSE__PRODUCT_A][LFUSE__PRODUCT_BATCH] = 1 << 20;
    g.strides[LFUSE__PRODUCT_B][LFUSE__PRODUCT_BATCH] = 0;
    OK(lfuse__product_pack(&c, &facts, &g, &packed));
    lfuse__product_layout_make(&c, &l);
    a = packed.words + lfuse__tiles_map(&c.product, &l, LFUSE__PRODUCT_A);
    b = packed.words + lfuse__tiles_map(&c.product, &l, LFUSE__PRODUCT_B);
    ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_VECTORS] & 3, 3);
    ck_assert_uint_eq(a[1], 48);
    ck_assert_uint_eq(a[2], 2 << 20);
    ck_assert_uint_eq(b[1], 1);
    ck_assert_uint_eq(b[2] % 16, 0);
    ck_assert_uint_eq(packed.groups, facts.info.compute_units);
    g.strides[LFUSE__PRODUCT_A][LFUSE__PRODUCT_BATCH] += 4; /* no whole chunks */
    OK(lfuse__product_pack(&c, &facts, &g, &packed));
    ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_VECTORS] & 3, 0);
}

/* What is made in front of a product, in 2048 x 4096 and 4096 x 1024 elements: by which solver, how many bytes. */
static const struct {
    lfuse_type type;
    lfuse_precision precision;
    const lfuse__solver *solver;
    uint64_t line, each; /* bytes of a line beside those of its elements; of an element */
} in_front[] = {{LFUSE_F16, LFUSE_PRECISION_FULL, &lfuse__f16_packed, 0, 2},
                {LFUSE_F32, LFUSE_PRECISION_TF32, &lfuse__tf32_packed, 0, 4},
                {LFUSE_E4M3, LFUSE_PRECISION_FULL, &lfuse__fp8_packed, 0, 1},
                {LFUSE_F32, LFUSE_PRECISION_F32X3, &lfuse__f32x3_wgmma, 4, 4}};

/* Of an operand that all products of a batch share one copy is made, in each run or once for all. */
TEST_LOOP(operands_that_a_batch_shares, 0, 4)
{
    enum { A = LFUSE__PRODUCT_A, B = LFUSE__PRODUCT_B, M = 2048, N = 1024, K = 4096, MATRICES = 3 };
    const uint64_t line = in_front[_i].line + in_front[_i].each * K;
    const lfuse__facts facts = facts_with_maps();
    for (int shared = 0; shared < 4; shared++) {
        const uint64_t lines_a = M * (shared & 1 ? 1 : MATRICES), lines_b = N * (shared & 2 ? 1 : MATRICES);
        lfuse__packed packed;
        lfuse__kernel_class c;
        lfuse__geometry g;
        class_of(&c, in_front[_i].type);
        c.product.precision = in_front[_i].precision, c.product.sum = LFUSE_F32, c.product.ta = true;
        ck_assert(in_front[_i].solver->candidate(in_front[_i].solver, 0, &c.product));
        geometry_of(&g, M, N, K);
        g.strides[A][0] = M, g.strides[A][LFUSE__PRODUCT_BATCH] = shared & 1 ? 0 : M * K;
        g.strides[B][LFUSE__PRODUCT_BATCH] = shared & 2 ? 0 : N * K;
        g.extents[LFUSE__PRODUCT_BATCH] = MATRICES;
        OK(lfuse__product_pack(&c, &facts, &g, &packed));
        const uint64_t of_one = packed.groups;
        c.product.batched = true;
        OK(lfuse__product_pack(&c, &facts, &g, &packed));
        ck_assert_uint_eq(packed.groups, of_one * (lines_a + lines_b) / (M + N));
        ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), line * (lines_a + lines_b));
        c.product.kept = 1 + A;
        ck_assert_uint_eq(lfuse__product_kept(&c, &facts, &g), line * lines_a);
        ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), line * lines_b);
    }
}

/*
 * B is read early where the geometry says so, and the next launch comes up where it finds room evenly: nowhere on a
 * device whose launches do not overlap.
 */
TEST(overlaps)
{
    static const struct {
        const char *tiling;
        bool hands;
    } cases[] = {{"32x64x32:8x4:4:4", true}, /* 256 groups, of which 2 have room on each of 132 units */
                 {"32x64x32:8x8:4:4", false}, {"32x64x32:8x8:4:6", true}, {"32x64x32:8x8:4:2", true},
                 {"64x64x16:8x8:2:2", true}, {"64x64x16:8x8:2:5", false}, {"64x64x32:8x8:4:0", true},
                 {"64x64x32:16x8:4:0", false}, {"64x64x32:16x8:4:8", true}};
    for (int i = 0; i < 4 * (int)(sizeof cases / sizeof *cases); i++) {
        lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
        const bool early = i & 1, hands = cases[i / 4].hands;
        lfuse__matmul_candidate tiling;
        lfuse__kernel_class c;
        lfuse__product_layout l;
        lfuse__packed packed;
        lfuse__geometry g;
        facts.overlaps = i & 2;
        class_of(&c, LFUSE_F32);
        ck_assert(lfuse__matmul_candidate_parse(cases[i / 4].tiling, &tiling));
        OK(choose_named(&facts, (int64_t[]){64, 2048, 2048}, &tiling, &c));
        geometry_of(&g, 64, 2048, 2048);
        g.early = early, g.parts = tiling.parts;
        ck_assert(!lfuse__product_pack(&c, &facts, &g, &packed));
        lfuse__product_layout_make(&c, &l);
        const uint64_t bits = facts.overlaps ? (early ? LFUSE__TILES_EARLY : 0) | (hands ? LFUSE__TILES_HANDS : 0) : 0;
        ck_assert_msg(packed.words[l.own + LFUSE__TILES_VECTORS] == (7 | bits), "%s: bits %llu, expected %llu",
                      cases[i / 4].tiling, (unsigned long long)packed.words[l.own + LFUSE__TILES_VECTORS],
                      (unsigned long long)(7 | bits));
    }
}

TEST_CASE("sums of columns")

/* Tiles of a segment have every S-th row of it. */
TEST(sums_share_segments)
{
    static const int64_t rows[] = {1, 64, 65, 512, 513, 1024, 1025, 4096}, apart[] = {1, 1, 2, 8, 16, 16, 16, 16},
                         down[] = {1, 1, 2, 8, 16, 16, 32, 64};
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    const lfuse__matmul_candidate tiling = {.rows = 64, .columns = 128, .depth = 16, .item_rows = 8, .item_columns = 8,
                                          .slices = 1};
    for (int i = 0; i < 8; i++) {
        lfuse__kernel_class c;
        lfuse__geometry g;
        lfuse__packed packed;
        summed_of(&c);
        OK(choose_named(&facts, (int64_t[]){rows[i], 300, 20}, &tiling, &c));
        ck_assert_int_eq(lfuse__tiles_apart(&c.product, rows[i]), apart[i]);
        geometry_of(&g, rows[i], 300, 20);
        ck_assert(!lfuse__product_pack(&c, &facts, &g, &packed));
        ck_assert_uint_eq(packed.groups, (uint64_t)down[i] * 3);
        ck_assert_uint_eq(packed.words[packed.nwords - 1], (uint64_t)apart[i]);
        ck_assert_uint_eq(lfuse__product_tickets(&c), LFUSE__TILES_TICKETS * 4);
        ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), LFUSE__TILES_TICKETS * 4 + down[i] * 3 * 128 * 4);
    }
}

/* On tensor cores all tiles of a segment have every eighth row, and maps lead to no row behind the last one. */
TEST(sums_on_tensor_cores)
{
    lfuse__facts facts = facts_with_maps();
    lfuse__product_layout l;
    lfuse__geometry g;
    lfuse__packed packed;
    lfuse__kernel_class c;
    summed_of_type(&c, LFUSE_BF16);
    OK(choose(&facts, (int64_t[]){5120 - 128, 4096, 4096}, false, &c));
    ck_assert_ptr_eq(c.product.solver, &lfuse__tma);
    ck_assert_int_eq(c.product.column_sums, 1);
    geometry_of(&g, 5120 - 128, 4096, 4096);
    g.addresses[LFUSE__PRODUCT_A] = 4096, g.addresses[LFUSE__PRODUCT_B] = 1 << 20;
    OK(lfuse__product_pack(&c, &facts, &g, &packed));
    lfuse__product_layout_make(&c, &l);
    ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_DOWN], 40);
    ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_APART], 8);
    ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_VECTORS] & 3, 3);
    ck_assert_uint_eq(packed.words[lfuse__tiles_map(&c.product, &l, LFUSE__PRODUCT_A)], 4096);
    ck_assert_uint_eq(lfuse__product_workspace(&c, &facts, &g), LFUSE__TILES_TICKETS * 4 + 40 * 4096 * 4);
    g.extents[0] = 5120 - 136;
    OK(lfuse__product_pack(&c, &facts, &g, &packed));
    ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_VECTORS] & 3, 0);
    summed_of_type(&c, LFUSE_BF16);
    ck_assert_int_eq(choose(&facts, (int64_t[]){5120 - 136, 4096, 4096}, false, &c), LFUSE_ERR_UNSUPPORTED);
    summed_of(&c);
    c.product.precision = LFUSE_PRECISION_F32X3;
    OK(choose(&facts, (int64_t[]){5000, 4096, 4096}, false, &c));
    ck_assert_ptr_eq(c.product.solver, &lfuse__f32x3_wgmma);
    ck_assert_uint_eq(lfuse__product_tickets(&c), LFUSE__TILES_TICKETS * 4);
    /* With nothing computed of the sums: in us, an H100 took 32.7 and 112.7, and 22.7 and 116.1 by two launches. */
    summed_of(&c);
    c.product.precision = LFUSE_PRECISION_F32X3;
    ck_assert_int_eq(choose(&facts, (int64_t[]){1024, 1024, 1024}, false, &c), LFUSE_ERR_UNSUPPORTED);
    OK(choose(&facts, (int64_t[]){2048, 2048, 2048}, false, &c));
}

static void refused(const lfuse__kernel_class *c, lfuse_status wanted)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    lfuse__strbuf out = LFUSE__STRBUF_INIT;
    ck_assert_int_eq(lfuse__product_emit(&out, "k0", c, &facts), wanted);
    lfuse__strbuf_free(&out);
}

TEST(sums_that_are_refused)
{
    lfuse__kernel_class c;
    ck_assert(!choose_summed(1024, 1024, 1024, &c));
    refused(&c, LFUSE_OK);
    summed_instr[1].op = LFUSE__REDUCE_MAX;
    refused(&c, LFUSE_ERR_UNSUPPORTED);
    summed_instr[1].op = LFUSE__REDUCE_SUM;
    lfuse__body body = *c.body;
    body.ninstr = 3; /* two sums */
    c.body = &body;
    refused(&c, LFUSE_ERR_UNSUPPORTED);
    body.ninstr = 2;
    c.product.column_sums = 0;
    refused(&c, LFUSE_ERR_INVALID);
    c.product.column_sums = 1;
    c.naxes = 2;
    refused(&c, LFUSE_ERR_INVALID);
    c.naxes = 1;
    c.product.ta = true;
    refused(&c, LFUSE_ERR_INVALID);
    ck_assert(!choose_summed(1024, 1024, 1024, &c));
    c.product.batched = true;
    refused(&c, LFUSE_ERR_INVALID);
}

/* Rows that lie apart are not read as vectors of them. */
TEST(sums_of_turned_operands)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    lfuse__kernel_class c;
    summed_of(&c);
    c.product.ta = true;
    ck_assert_int_eq(choose(&facts, (int64_t[]){1024, 1024, 1024}, true, &c), LFUSE_ERR_UNSUPPORTED);
    ck_says("no tiles of a product of 1024 x 1024 x 1024");
}

TEST_SUITE("launches of products", CK_NOFORK)
