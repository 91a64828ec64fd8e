/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of f16 and bf16 on Hopper where groups have little local memory, whose operands come there by tensor maps
 * (TMA): text/gemm_rings.k with the parts of text/gemm_tma.k. NVIDIA's OpenCL announces 48 KiB, and has no more where a
 * trial fails (backends/opencl/local_memory.c).
 */
#include "common/matmul/tma.h"

static const lfuse__tile_source rings = {
    .maps = true, .rings = true, .batches = true, .put_part = lfuse__tma_put_part, .pack = lfuse__tma_pack,
};

/* Fitted to times on an H100. */
static const lfuse__tile_shape shapes[] = {
    {128, 128, LFUSE__WGMMA_DEPTH / 2, 4, 32, 1, 2, 2, 400, 1300},
};

static const lfuse__tile_traits traits = {
    LFUSE__PIPELINE_TILE, LFUSE__SHAPES(shapes), .bytes = 2, .chunk = LFUSE__MMA_CHUNK, .blocks = true, .stays = true,
    .running = true, .multiplies = lfuse__mma_multiplies, .put_part = lfuse__pipeline_put_multiply,
};

/* Where all lines run along k, none is copied in 128 bytes, and maps have no advantage: those are of lfuse__wgmma. */
static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return !lfuse__mma_lies_along(p) && lfuse__tma_serves(p, least, most);
}

const lfuse__solver lfuse__tma_rings = {
    LFUSE__PIPELINE(&rings, &traits), .name = "tma_rings", .vendors_share = 0.75, .cost = lfuse__pipeline_cost,
    .phases = 1, .workspace = lfuse__tiles_workspace, .is_compiled_ahead = lfuse__tile_is_compiled_ahead,
    .serves = serves, .suits = lfuse__mma_suits,
};
