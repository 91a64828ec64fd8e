/* SPDX-License-Identifier: Apache-2.0 */
#include "common/matmul/fp8.h"

#include "common/kernels/text/gemm_fp8.k.h"

/* Columns of an instruction: accumulators of more leave no room for sums in f32, least of all beside other groups. */
enum { WIDEST = 128, WIDEST_OF_SMALL = 64 };

static int width(const lfuse__product_class *p)
{
    const int widest = lfuse__mma_is_small(p) ? WIDEST_OF_SMALL : WIDEST;

    return p->columns / (int)lfuse__ceil_div(p->columns, widest);
}

lfuse__expr lfuse__fp8_types(const lfuse__tiles *t)
{
    return lfuse__expression("%s_%s", lfuse__memory_word(t->t.k->operands[LFUSE__PRODUCT_A].type),
                             lfuse__memory_word(t->t.k->operands[LFUSE__PRODUCT_B].type));
}

void lfuse__fp8_put_part(const void *context, int part, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const lfuse__expr types = lfuse__fp8_types(t);
    const int parts = p->columns / width(p), sums = p->item_rows * p->item_columns, partial = sums / parts;
    const lfuse__parameter own[] = {
        {"PART_MULTIPLIERS", .number = part == LFUSE__PART_MULTIPLIERS},
        {"PART_MULTIPLY", .number = part == LFUSE__PART_MULTIPLY},
        {"PART_PROMOTE", .number = part == LFUSE__PART_PROMOTE}, {"TYPES", .word = types.text},
        {"WIDTH", .number = width(p)},
        {"PARTS", .number = parts}, {"PARTIAL", .number = partial}, {"FIRST", .number = sums - partial},
        {"STEP", .number = LFUSE__MMA_STEP_BYTES / 16}, {"NEXT_PART", .number = width(p) * p->depth / 16}, {NULL},
    };

    lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_fp8, own, NULL);
}

const char *lfuse__fp8_multiplies(const lfuse__matmul_desc *desc)
{
    return lfuse__is_fp8(desc->types[0]) && lfuse__is_fp8(desc->types[1]) ? NULL : "it multiplies e4m3 and e5m2";
}

/* Fitted to times on H100s and H200s. The last one, a guess, is for 48 KiB. */
static const lfuse__tile_shape shapes[] = {
    {128, 256, LFUSE__WGMMA_DEPTH_FP8, 2, 64, 1, 3, 1, 0, 3100},
    {128, 128, LFUSE__WGMMA_DEPTH_FP8, 2, 32, 1, 5, 1, 0, 2750},
    {128, 64, LFUSE__WGMMA_DEPTH_FP8, 2, 16, 1, 7, 1, 0, 2200},
    {128, 192, LFUSE__WGMMA_DEPTH_FP8, 2, 48, 1, 4, 1, 0, 3000},
    {64, 128, LFUSE__WGMMA_DEPTH_FP8 / 2, 2, 32, 1, 2, 2, 0, 1700},
};

const lfuse__tile_traits lfuse__multiply_fp8 = {
    LFUSE__PIPELINE_TILE, LFUSE__SHAPES(shapes), .bytes = 1, .chunk = LFUSE__FP8_CHUNK, .blocks = true,
    .multiplies = lfuse__fp8_multiplies, .put_part = lfuse__fp8_put_part,
};
