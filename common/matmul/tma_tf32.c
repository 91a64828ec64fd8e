/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of f32 on Hopper, whose operands come into local memory by tensor maps, which round them to tf32:
 * text/gemm_pipeline.k with the parts of text/gemm_tma.k. Such products take lines that run along k alone.
 */
#include "common/matmul/provider.h"
#include "common/matmul/tma.h"

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (desc->precision != LFUSE_PRECISION_TF32) return "it multiplies f32 that may be rounded to tf32";
    return desc->column_sums ? "it does not sum columns" : lfuse__tma_declines(facts, desc);
}

static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return lfuse__mma_lies_along(p) && lfuse__tma_serves(p, least, most);
}

/* Fitted to times on an H100, where tiles that a warpgroup has to itself gain less than of 16 bits. */
static const lfuse__tile_shape shapes[] = {
    {128, 256, LFUSE__WGMMA_DEPTH_TF32, 2, 64, 1, 3, 1, 0, 870},
    {128, 128, LFUSE__WGMMA_DEPTH_TF32, 4, 32, 1, 5, 1, 0, 730},
    {128, 64, LFUSE__WGMMA_DEPTH_TF32, 2, 16, 1, 7, 1, 0, 700},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .chunk = LFUSE__MMA_CHUNK_TF32, .tensor_cores = true,
    .bytes = 4, .copiers = LFUSE__WARPGROUP, .maps = true, .blocks = true, .local = lfuse__pipeline_local,
    .put_corner = lfuse__pipeline_put_corner, .put_place = lfuse__pipeline_put_place,
    .put_kernel = lfuse__tma_put_kernel,
};

const lfuse__solver lfuse__tma_tf32 = {
    .name = "tma_tf32", .vendors_share = 1, .tile = &traits, .tf32 = true, .runs_on = lfuse__tiles_fit,
    .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = serves,
    .suits = lfuse__mma_suits, .cost = lfuse__tma_cost, .phases = 1, .tickets = lfuse__tiles_tickets,
    .workspace = lfuse__tiles_workspace, .local_bytes = lfuse__tma_local_bytes, .emit = lfuse__tiles_emit,
    .pack = lfuse__tma_pack,
};
