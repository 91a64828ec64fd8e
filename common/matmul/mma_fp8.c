/* SPDX-License-Identifier: Apache-2.0 */
/* Products of e4m3 and e5m2 by mma.sync, however their operands lie: the kernel is text/gemm_mma_fp8.k. */
#include "common/matmul/fp8.h"
#include "common/matmul/grouped.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_mma_fp8.k.h"

enum {
    DEPTH = 2 * LFUSE__MMA_STEP_BYTES, /* of a k-tile: sums are promoted as often */
    SHORT_SUMS = 8                     /* fragments of them, 16 x 8, that a warp makes at a time */
};

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    const int across = lfuse__mma_warp_columns(t->p) / 8;
    const lfuse__expr types = lfuse__fp8_types(t);
    const lfuse__parameter own[] = {
        {"BLOCKS", .number = t->p->occupancy}, {"TILE_WORDS", .number = lfuse__mma_local(t->p)},
        {"TYPES", .word = types.text}, {"TOGETHER", .number = across < SHORT_SUMS ? SHORT_SUMS / across : 1}, {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_mma_fp8, own, NULL);
}

/* ---- the solver ---- */

static bool runs_on(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && facts->mma_fp8 && facts->info.local_bytes >= LFUSE__MMA_LOCAL;
}

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    const char *why = lfuse__fp8_multiplies(desc);

    if (!runs_on(facts)) return "the device has no such instructions";
    if (why) return why;
    return desc->prologue ? "its operands have to lie in memory" : NULL;
}

/*
 * Fitted to times on an H100, which has no such instruction: a compiler converts fragments to f16 there, and the large
 * tiles have no registers for that.
 */
static const lfuse__tile_shape shapes[] = {
    {128, 128, DEPTH, 8, 16, 1, 2, 2, 400, 540},
    {64, 64, DEPTH, 4, 8, 1, 3, 4, 1400, 620},
    {64, 128, DEPTH, 4, 16, 1, 2, 3, 700, 560},
    {32, 128, DEPTH, 4, 8, 1, 3, 4, 1500, 575},
    {128, 32, DEPTH, 4, 8, 1, 3, 4, 1500, 610},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .chunk = LFUSE__FP8_CHUNK, .tensor_cores = true,
    .bytes = 1, .local = lfuse__mma_local, .put_corner = lfuse__mma_put_corner,
    .put_place = lfuse__mma_put_place, .put_kernel = put_kernel,
};

const lfuse__solver lfuse__mma_fp8 = {
    .name = "mma_fp8", .tile = &traits, .runs_on = runs_on, .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = lfuse__mma_serves,
    .suits = lfuse__mma_suits, .cost = lfuse__tile_cost, .phases = 1, .tickets = lfuse__tiles_tickets,
    .workspace = lfuse__tiles_workspace, .emit = lfuse__tiles_emit, .pack = lfuse__tiles_pack,
    .grouped_cost = lfuse__tiles_grouped_cost, .grouped_cut = lfuse__tiles_grouped_cut,
    .grouped_emit = lfuse__tiles_grouped_emit,
};
