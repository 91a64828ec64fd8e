/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of f16 and bf16 on Hopper whose lines in memory are no whole number of 16 bytes, which have no tensor map,
 * and of which a copy without a wait moves 4 bytes at a time or none: packed.h.
 */
#include <string.h>

#include "common/matmul/packed.h"
#include "common/matmul/provider.h"
#include "common/matmul/tma.h"

#include "common/kernels/text/gemm_pack_f16.k.h"

/* ---- the texts ---- */

static void put_operand(const void *t, int operand, int indent)
{
    lfuse__packed_put_operand(t, operand, indent, lfuse__text_gemm_pack_f16);
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
        {"MULTIPLIERS", lfuse__packed_put_part, LFUSE__PACKED_NOTHING},
        {"MULTIPLY", lfuse__tma_put_part, LFUSE__TMA_MULTIPLY},
        {"MULTIPLY_REST", lfuse__tma_put_part, LFUSE__TMA_MULTIPLY_REST},
        {"FINISH", lfuse__packed_put_part, LFUSE__PACKED_NOTHING}, {NULL, NULL, 0},
    };

    if (t->p->phase == LFUSE__PACKED_PRODUCT) lfuse__put_pipeline(t, name, true, parts);
    else lfuse__packed_put_packer(t, name, places);
}

/* ---- the solver ---- */

static bool runs_on(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && lfuse__pipeline_has_room(facts);
}

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (!runs_on(facts)) return "the device has no such instructions";
    if (desc->batched) return "it takes no batches";
    return desc->column_sums ? "it does not sum columns" : lfuse__mma_declines(facts, desc);
}

/* What lies in whole chunks is lfuse__tma's, whose tiles have the same numbers: of known sizes one of both serves. */
static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    const bool known = !memcmp(least, most, LFUSE__PRODUCT_BATCH * sizeof *least);

    return !p->split && !(known && lfuse__mma_suits(p, least)) && lfuse__tile_serves(p, least, most);
}

static bool suits(const lfuse__product_class *p, const int64_t *extents)
{
    return !lfuse__mma_suits(p, extents);
}

/* One way for plans of unknown sizes: few of them are odd. */
static bool is_compiled_ahead(int at)
{
    return at == 0;
}

static bool cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c)
{
    return lfuse__packed_cost(p, facts, extents, lfuse__tma_cost, c);
}

/* The rates are those of tma.c: the kernel is the same but for how k-tiles come. */
static const lfuse__tile_shape shapes[] = {
    {128, 256, LFUSE__WGMMA_DEPTH, 2, 64, 1, 3, 1, 0, 1694},
    {128, 128, LFUSE__WGMMA_DEPTH, 4, 32, 1, 5, 1, 0, 1678},
    {128, 64, LFUSE__WGMMA_DEPTH, 2, 16, 1, 7, 1, 0, 1320},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .chunk = LFUSE__MMA_CHUNK, .tensor_cores = true,
    .bytes = 2, .local = lfuse__pipeline_local, .put_corner = lfuse__pipeline_put_corner,
    .put_place = lfuse__pipeline_put_place, .put_kernel = put_kernel,
};

const lfuse__solver lfuse__f16_packed = {
    .name = "f16_packed", .tile = &traits, .runs_on = runs_on, .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = is_compiled_ahead, .serves = serves, .suits = suits,
    .cost = cost, .phases = LFUSE__PACKED_PHASES, .workspace = lfuse__packed_workspace,
    .local_bytes = lfuse__packed_local_bytes, .emit = lfuse__tiles_emit, .pack = lfuse__packed_pack,
};
