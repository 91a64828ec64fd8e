/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 from three products of f16 on Hopper's tensor cores: text/gemm_f32x3.k multiplies words. */
#include "common/base/error.h"
#include "common/matmul/f32x3.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_f32x3.k.h"

enum { PROMOTED = 32 /* along k: what tensor cores add up where k-tiles are less deep */ };

/* Parts of text/gemm_f32x3.k. */
enum { SOURCES, COPY, MULTIPLIERS, MULTIPLY, PROMOTE, FACTORS, NOTHING };

static void put_part(const void *context, int part, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const lfuse__expr a = lfuse__f32x3_factors(t, LFUSE__PRODUCT_A), b = lfuse__f32x3_factors(t, LFUSE__PRODUCT_B);
    const lfuse__expr all_a = lfuse__f32x3_tiles(t, LFUSE__PRODUCT_A), all_b = lfuse__f32x3_tiles(t, LFUSE__PRODUCT_B);
    const lfuse__parameter own[] = {
        {"PART_SOURCES", .number = part == SOURCES}, {"PART_COPY", .number = part == COPY},
        {"PART_MULTIPLIERS", .number = part == MULTIPLIERS}, {"PART_MULTIPLY", .number = part == MULTIPLY},
        {"PART_PROMOTE", .number = part == PROMOTE}, {"PART_FACTORS", .number = part == FACTORS},
        {"PROMOTED", .number = p->depth < PROMOTED ? PROMOTED / p->depth : 1},
        {"FACTORS_A", .word = a.text}, {"FACTORS_B", .word = b.text}, {"BATCHED", .number = p->batched},
        {"ALL_A", .word = all_a.text}, {"ALL_B", .word = all_b.text},
        {"ROWS_BYTES", .number = p->rows * LFUSE__F32X3_FACTOR},
        {"COLUMNS_BYTES", .number = p->columns * LFUSE__F32X3_FACTOR}, {NULL},
    };

    lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_f32x3, own, NULL);
}

static void put_finish(const void *context, int which, int indent)
{
    put_part(context, FACTORS, indent);
    lfuse__f32x3_put_unscaled(context, which, indent);
}

static void put_product(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place parts[] = {
        {"EARLY", put_part, NOTHING}, {"SOURCES", put_part, SOURCES}, {"COPY_STAGE", put_part, COPY},
        {"MULTIPLIERS", put_part, MULTIPLIERS}, {"MULTIPLY", put_part, MULTIPLY}, {"PROMOTE", put_part, PROMOTE},
        {"FINISH", put_finish, 0}, {NULL, NULL, 0},
    };

    lfuse__put_pipeline(t, name, false, parts);
}

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    (t->p->phase == LFUSE__F32X3_PRODUCT ? put_product : lfuse__f32x3_put_split)(t, name);
}

/* ---- the solver ---- */

static unsigned local_bytes(const lfuse__kernel_class *c)
{
    return c->product.phase == LFUSE__F32X3_PRODUCT ? lfuse__pipeline_bytes(&c->product) : 0;
}

static lfuse_status pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    LFUSE__TRY(lfuse__f32x3_pack(c, facts, g, packed));
    return c->product.phase == LFUSE__F32X3_PRODUCT ? lfuse__pipeline_launch(c, facts, g, packed) : LFUSE_OK;
}

static bool runs_on(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && lfuse__has_warpgroups(facts);
}

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    return runs_on(facts) ? lfuse__f32x3_declines(desc) : "the device has no such instructions";
}

/* Fitted to times on an H200. The narrow tile waits for the cache behind the units: it is for what has few tiles. */
static const lfuse__tile_shape shapes[] = {
    {128, 128, LFUSE__WGMMA_DEPTH, 2, 32, 1, 2, 1, 300, 600},
    {128, 64, LFUSE__WGMMA_DEPTH, 2, 16, 1, 3, 1, 300, 400},
    {64, 128, 16, 2, 32, 1, 2, 2, 300, 470},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .tensor_cores = true, .bytes = 2, .stays = true,
    .local = lfuse__pipeline_local, .put_corner = lfuse__pipeline_put_corner, .put_place = lfuse__pipeline_put_place,
    .put_kernel = put_kernel,
    .sums_columns = lfuse__pipeline_sums_columns, .put_addend = lfuse__pipeline_put_addend,
};

const lfuse__solver lfuse__f32x3_wgmma = {
    .name = "f32x3_wgmma", .tile = &traits, .splits_operands = true, .runs_on = runs_on, .declines = declines,
    .candidate = lfuse__tile_candidate, .serves = lfuse__f32x3_serves, .has = lfuse__pipeline_has,
    .suits = lfuse__f32x3_suits, .cost = lfuse__f32x3_cost,
    .phases = LFUSE__F32X3_PHASES, .tickets = lfuse__tiles_tickets, .workspace = lfuse__f32x3_workspace,
    .kept = lfuse__f32x3_kept, .local_bytes = local_bytes, .emit = lfuse__tiles_emit, .pack = pack,
};
