/* SPDX-License-Identifier: Apache-2.0 */
/* Products of e4m3 and e5m2 on Hopper whose operands do not lie as the instructions take them: packed.h. */
#include "common/matmul/fp8.h"
#include "common/matmul/packed.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_pack_fp8.k.h"

/* ---- the texts ---- */

static void put_operand(const void *t, int operand, int indent)
{
    lfuse__packed_put_operand(t, operand, indent, lfuse__text_gemm_pack_fp8);
}

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {
        {"PACK_A", put_operand, LFUSE__PRODUCT_A}, {"PACK_B", put_operand, LFUSE__PRODUCT_B}, {NULL, NULL, 0},
    };
    static const lfuse__text_place parts[] = {
        {"EARLY", lfuse__packed_put_part, LFUSE__PACKED_NOTHING},
        {"SOURCES", lfuse__packed_put_part, LFUSE__PACKED_SOURCES},
        {"COPY_STAGE", lfuse__packed_put_part, LFUSE__PACKED_COPY},
        {"MULTIPLIERS", lfuse__fp8_put_part, LFUSE__FP8_MULTIPLIERS},
        {"MULTIPLY", lfuse__fp8_put_part, LFUSE__FP8_MULTIPLY}, {"PROMOTE", lfuse__fp8_put_part, LFUSE__FP8_PROMOTE},
        {"FINISH", lfuse__packed_put_part, LFUSE__PACKED_NOTHING}, {NULL, NULL, 0},
    };

    if (t->p->phase == LFUSE__PACKED_PRODUCT) lfuse__put_pipeline(t, name, false, parts);
    else lfuse__packed_put_packer(t, name, places);
}

/* ---- the solver ---- */

static bool cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c)
{
    return lfuse__packed_cost(p, facts, extents, lfuse__tile_cost, c);
}

static bool runs_on(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && lfuse__has_warpgroups(facts);
}

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (!runs_on(facts)) return "the device has no such instructions";
    if (!lfuse__fp8_multiplies(desc)) return "it multiplies e4m3 and e5m2";
    if (desc->list) return "it takes no lists";
    if (desc->batched) return "it takes no batches";
    if (desc->column_sums) return "it does not sum columns";
    return desc->prologue ? "its operands have to lie in memory" : NULL;
}

/*
 * What lies as it should is lfuse__tma_fp8's, whose tiles have the same numbers, or lfuse__wgmma_fp8's: of known sizes
 * one of both serves.
 */
static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    const bool may_be_odd = least[2] != most[2] || least[2] % LFUSE__FP8_CHUNK;

    return !p->split && (may_be_odd || !lfuse__mma_lies_along(p)) && lfuse__tile_serves(p, least, most);
}

/* The rates are those of tma_fp8.c: the kernel is the same but for how k-tiles come. The last one is for 48 KiB. */
static const lfuse__tile_shape shapes[] = {
    {128, 256, LFUSE__WGMMA_DEPTH_FP8, 2, 64, 1, 3, 1, 0, 2900},
    {128, 128, LFUSE__WGMMA_DEPTH_FP8, 2, 32, 1, 5, 1, 0, 2850},
    {64, 128, LFUSE__WGMMA_DEPTH_FP8 / 2, 2, 32, 1, 2, 2, 0, 1700},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .chunk = LFUSE__FP8_CHUNK, .tensor_cores = true,
    .bytes = 1, .local = lfuse__pipeline_local, .put_corner = lfuse__pipeline_put_corner,
    .put_place = lfuse__pipeline_put_place, .put_kernel = put_kernel,
};

const lfuse__solver lfuse__fp8_packed = {
    .name = "fp8_packed", .tile = &traits, .runs_on = runs_on, .declines = declines,
    .candidate = lfuse__tile_candidate, .serves = serves, .has = lfuse__pipeline_has, .cost = cost,
    .phases = LFUSE__PACKED_PHASES, .workspace = lfuse__packed_workspace, .kept = lfuse__packed_kept,
    .local_bytes = lfuse__packed_local_bytes, .emit = lfuse__tiles_emit, .pack = lfuse__packed_pack,
};
