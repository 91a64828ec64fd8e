/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of f16 and bf16 on Hopper where groups have little local memory, whose operands come there by tensor maps
 * (TMA): text/gemm_rings.k with the parts of text/gemm_tma.k. NVIDIA's OpenCL gives a group 48 KiB.
 */
#include "common/matmul/provider.h"
#include "common/matmul/tma.h"

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place parts[] = {
        {"EARLY", lfuse__tma_put_part, LFUSE__TMA_EARLY}, {"SOURCES", lfuse__tma_put_part, LFUSE__TMA_SOURCES},
        {"COPY_A", lfuse__tma_put_part, LFUSE__TMA_COPY_A}, {"COPY_B", lfuse__tma_put_part, LFUSE__TMA_COPY_B},
        {"MULTIPLY", lfuse__tma_put_part, LFUSE__TMA_MULTIPLY}, {NULL, NULL, 0},
    };

    lfuse__put_pipeline(t, name, true, parts);
}

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (!lfuse__has_warpgroups(facts) || !facts->tensor_map) return "the device has no such instructions";
    return desc->column_sums ? "it does not sum columns" : lfuse__mma_declines(facts, desc);
}

/* Where all lines run along k, none is copied in 128 bytes, and maps have no advantage: those are of lfuse__wgmma. */
static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return !lfuse__mma_lies_along(p) && lfuse__tma_serves(p, least, most);
}

/* Fitted to times on an H100. */
static const lfuse__tile_shape shapes[] = {
    {128, 128, LFUSE__WGMMA_DEPTH / 2, 4, 32, 1, 2, 2, 400, 1300},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .chunk = LFUSE__MMA_CHUNK, .tensor_cores = true,
    .bytes = 2, .copiers = LFUSE__WARPGROUP, .maps = true, .stays = true, .rings = true, .blocks = true,
    .local = lfuse__pipeline_local, .put_corner = lfuse__pipeline_put_corner, .put_place = lfuse__pipeline_put_place,
    .put_kernel = put_kernel,
};

const lfuse__solver lfuse__tma_rings = {
    .name = "tma_rings", .vendors_share = 0.75, .tile = &traits, .runs_on = lfuse__tiles_fit, .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = serves,
    .has = lfuse__pipeline_has, .suits = lfuse__mma_suits, .cost = lfuse__tma_cost, .phases = 1,
    .tickets = lfuse__tiles_tickets, .workspace = lfuse__tiles_workspace, .local_bytes = lfuse__tma_local_bytes,
    .emit = lfuse__tiles_emit, .pack = lfuse__tma_pack,
};
