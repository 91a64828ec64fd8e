/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of e4m3 and e5m2 on Hopper, whose operands come into local memory by tensor maps: text/gemm_pipeline.k with
 * the parts of text/gemm_tma.k that copy, and those of text/gemm_fp8.k that multiply.
 */
#include "common/matmul/fp8.h"
#include "common/matmul/provider.h"
#include "common/matmul/tma.h"

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place parts[] = {
        {"EARLY", lfuse__tma_put_part, LFUSE__TMA_EARLY}, {"SOURCES", lfuse__tma_put_part, LFUSE__TMA_SOURCES},
        {"COPY_STAGE", lfuse__tma_put_part, LFUSE__TMA_COPY},
        {"MULTIPLIERS", lfuse__fp8_put_part, LFUSE__FP8_MULTIPLIERS},
        {"MULTIPLY", lfuse__fp8_put_part, LFUSE__FP8_MULTIPLY}, {"PROMOTE", lfuse__fp8_put_part, LFUSE__FP8_PROMOTE},
        {"FINISH", lfuse__tma_put_part, LFUSE__TMA_NOTHING}, {NULL, NULL, 0},
    };

    lfuse__put_pipeline(t, name, false, parts);
}

/* ---- the solver ---- */

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (desc->column_sums) return "it does not sum columns";
    return lfuse__fp8_multiplies(desc) ? lfuse__tma_declines(facts, desc) : "it multiplies e4m3 and e5m2";
}

static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    const bool may_be_whole = least[2] != most[2] || least[2] % LFUSE__FP8_CHUNK == 0;

    return may_be_whole && lfuse__mma_lies_along(p) && lfuse__tma_serves(p, least, most);
}

/* Where rows are no whole chunks it would wait for single elements: other tiles are faster. */
static bool suits(const lfuse__product_class *p, const int64_t *extents)
{
    (void)p;
    return extents[2] % LFUSE__FP8_CHUNK == 0;
}

/* Fitted to times on an H100. */
static const lfuse__tile_shape shapes[] = {
    {128, 256, LFUSE__WGMMA_DEPTH_FP8, 2, 64, 1, 3, 1, 0, 2900},
    {128, 128, LFUSE__WGMMA_DEPTH_FP8, 2, 32, 1, 5, 1, 0, 2850},
    {128, 64, LFUSE__WGMMA_DEPTH_FP8, 2, 16, 1, 7, 1, 0, 2200},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .chunk = LFUSE__FP8_CHUNK, .tensor_cores = true,
    .bytes = 1, .copiers = LFUSE__WARPGROUP, .maps = true, .blocks = true, .local = lfuse__pipeline_local,
    .put_corner = lfuse__pipeline_put_corner, .put_place = lfuse__pipeline_put_place, .put_kernel = put_kernel,
};

const lfuse__solver lfuse__tma_fp8 = {
    .name = "tma_fp8", .tile = &traits, .runs_on = lfuse__tiles_fit, .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = serves,
    .suits = suits, .cost = lfuse__tma_cost, .phases = 1, .tickets = lfuse__tiles_tickets,
    .workspace = lfuse__tiles_workspace, .local_bytes = lfuse__tma_local_bytes, .emit = lfuse__tiles_emit,
    .pack = lfuse__tma_pack,
};
