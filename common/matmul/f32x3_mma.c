/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 from three products of f16 by mma.sync: text/gemm_f32x3_mma.k multiplies words. */
#include "common/base/costs.h"
#include "common/matmul/f32x3.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_f32x3_mma.k.h"
#include "common/kernels/text/gemm_f32x3_mma_copy.k.h"

enum {
    DEPTH = LFUSE__MMA_STEP, /* of a k-tile: sums are promoted as often */
    SHORT_SUMS = 8           /* fragments of them, 16 x 8, that a warp makes at a time */
};

static void put_copy(const void *context, int which, int indent)
{
    (void)which;
    lfuse__mma_put_text(context, indent, "", lfuse__text_gemm_f32x3_mma_copy, (lfuse__parameter[]){{NULL}}, NULL);
}

static void put_product(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {
        {"COPY", put_copy, 0}, {"FINISH", lfuse__f32x3_put_unscaled, 0}, {NULL, NULL, 0},
    };
    const int across = lfuse__mma_warp_columns(t->p) / 8;
    const lfuse__expr a = lfuse__f32x3_factors(t, LFUSE__PRODUCT_A), b = lfuse__f32x3_factors(t, LFUSE__PRODUCT_B);
    const lfuse__expr all_a = lfuse__f32x3_tiles(t, LFUSE__PRODUCT_A), all_b = lfuse__f32x3_tiles(t, LFUSE__PRODUCT_B);
    const lfuse__parameter own[] = {
        {"FACTORS_A", .word = a.text}, {"FACTORS_B", .word = b.text}, {"BATCHED", .number = t->p->batched},
        {"ALL_A", .word = all_a.text}, {"ALL_B", .word = all_b.text},
        {"BLOCKS", .number = t->p->occupancy}, {"TILE_WORDS", .number = lfuse__mma_local(t->p)},
        {"BOTH", .number = 2}, {"TOGETHER", .number = across < SHORT_SUMS ? SHORT_SUMS / across : 1}, {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_f32x3_mma, own, places);
}

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    (t->p->phase == LFUSE__F32X3_PRODUCT ? put_product : lfuse__f32x3_put_split)(t, name);
}

/* ---- the solver ---- */

static bool runs_on(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && facts->tensor_cores && facts->info.local_bytes >= LFUSE__MMA_LOCAL;
}

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (!runs_on(facts)) return "the device has no such instructions";
    return desc->column_sums ? "it does not sum columns" : lfuse__f32x3_declines(desc);
}

/*
 * Where warpgroups multiply they are faster (f32x3_wgmma.c). By mma.sync Hopper multiplies ten times as many words as
 * f32 in a cycle.
 */
static bool pays(const lfuse__facts *facts)
{
    return !lfuse__has_warpgroups(facts) && !lfuse__costs_of(facts).tiles.few_tensor_cores;
}

/* Fitted to times on an H100. The small tile is for what has few large ones. */
static const lfuse__tile_shape shapes[] = {
    {128, 128, DEPTH, 8, 16, 1, 2, 2, 600, 365},
    {64, 64, DEPTH, 4, 8, 1, 2, 4, 500, 280},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .tensor_cores = true, .bytes = 2, .blocks = true,
    .local = lfuse__mma_local, .put_corner = lfuse__mma_put_corner, .put_place = lfuse__mma_put_place,
    .put_kernel = put_kernel,
};

const lfuse__solver lfuse__f32x3_mma = {
    .name = "f32x3_mma", .tile = &traits, .splits_operands = true, .runs_on = runs_on, .pays = pays,
    .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead,
    .serves = lfuse__f32x3_serves, .suits = lfuse__f32x3_suits, .cost = lfuse__f32x3_cost,
    .phases = LFUSE__F32X3_PHASES, .workspace = lfuse__f32x3_workspace, .kept = lfuse__f32x3_kept,
    .emit = lfuse__tiles_emit, .pack = lfuse__f32x3_pack,
};
