/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 that is rounded to tf32 on tensor cores: the kernel is text/gemm_mma.k. */
#include "common/matmul/mma.h"
#include "common/matmul/provider.h"

enum { DEPTH = 16 /* of a k-tile, of as many bytes as those of 16 bits */ };

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (desc->precision != LFUSE_PRECISION_TF32) return "it multiplies f32 that may be rounded to tf32";
    return lfuse__mma_declines_any(facts, desc);
}

/* Fitted to times on an H100. */
static const lfuse__tile_shape shapes[] = {
    {128, 128, DEPTH, 8, 16, 1, 2, 2, 300, 372},
    {64, 64, DEPTH, 4, 8, 1, 3, 4, 970, 278},
    {64, 128, DEPTH, 4, 16, 1, 2, 3, 300, 318},
    {32, 128, DEPTH, 4, 8, 1, 3, 4, 1070, 250},
    {128, 32, DEPTH, 4, 8, 1, 3, 4, 1070, 250},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .chunk = LFUSE__MMA_CHUNK_TF32, .tensor_cores = true,
    .bytes = 4, .local = lfuse__mma_local, .put_corner = lfuse__mma_put_corner,
    .put_place = lfuse__mma_put_place, .put_kernel = lfuse__mma_put_kernel,
};

/* Sizes of which rows are no whole chunks suit it too: where there are no warpgroups, nobody else rounds to tf32. */
const lfuse__solver lfuse__mma_tf32 = {
    .name = "mma_tf32", .tile = &traits, .tf32 = true, .runs_on = lfuse__tiles_fit, .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead,
    .serves = lfuse__mma_serves, .cost = lfuse__tile_cost, .phases = 1, .tickets = lfuse__tiles_tickets,
    .workspace = lfuse__tiles_workspace, .emit = lfuse__tiles_emit, .pack = lfuse__tiles_pack,
};
