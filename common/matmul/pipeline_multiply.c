/* SPDX-License-Identifier: Apache-2.0 */
/* What multiplies in pipelines (mma.h) operands that sums may be made of on tensor cores alone: f16, bf16, tf32. */
#include "common/matmul/mma.h"

#include "common/kernels/text/gemm_pipeline_multiply.k.h"

void lfuse__pipeline_put_multiply(const void *context, int part, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const int half = p->depth * lfuse__mma_bytes(p) / LFUSE__MMA_STEP_BYTES / 2;
    const lfuse__parameter own[] = {
        {"NEXT_BLOCK", .number = LFUSE__WGMMA_ROWS * p->depth * lfuse__mma_bytes(p) / 16},
        {"HALF_STEPS", .number = half}, {"BEHIND", .number = part == LFUSE__PART_MULTIPLY_REST ? half : 0},
        {"BLOCKS", .number = p->item_rows / 2}, {NULL},
    };

    if (part == LFUSE__PART_MULTIPLY || part == LFUSE__PART_MULTIPLY_REST)
        lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_pipeline_multiply, own, NULL);
}

/*
 * Fitted to times of short runs on H100s and H200s. Tiles of 256 columns read a quarter less from the cache behind the
 * units, by which 8192 cubed takes 4 to 5 % less; their epilogue runs beside no products. Those of 64 are for what has
 * few tiles, on an H100: a k-tile takes 0.18 us where a quarter of the units have one, 0.23 to 0.25 where all do. Those
 * of 192 are for sides that are multiples of it, whose last round the others leave half empty: 3072 cubed takes an H200
 * 79.8 us, in tiles of 128 columns 85.5, of 256 102.5.
 */
static const lfuse__tile_shape shapes_f16[] = {
    {128, 256, LFUSE__WGMMA_DEPTH, 2, 64, 1, 3, 1, 0, 1735},
    {128, 128, LFUSE__WGMMA_DEPTH, 4, 32, 1, 5, 1, 0, 1670},
    {128, 64, LFUSE__WGMMA_DEPTH, 2, 16, 1, 7, 1, 0, 1320},
    {128, 192, LFUSE__WGMMA_DEPTH, 2, 48, 1, 4, 1, 0, 1705},
};

const lfuse__tile_traits lfuse__multiply_f16 = {
    LFUSE__PIPELINE_TILE, LFUSE__SHAPES(shapes_f16), .bytes = 2, .chunk = LFUSE__MMA_CHUNK, .blocks = true,
    .running = true, .multiplies = lfuse__mma_multiplies, .put_part = lfuse__pipeline_put_multiply,
    .sums_columns = lfuse__pipeline_sums_columns, .put_addend = lfuse__pipeline_put_addend,
};

static const char *multiplies_tf32(const lfuse__matmul_desc *desc)
{
    return desc->precision == LFUSE_PRECISION_TF32 ? NULL : "it multiplies f32 that may be rounded to tf32";
}

/* Fitted to times on H100s and H200s. Tiles that a warpgroup has to itself gain less than of 16 bits. */
static const lfuse__tile_shape shapes_tf32[] = {
    {128, 256, LFUSE__WGMMA_DEPTH_TF32, 2, 64, 1, 3, 1, 0, 920},
    {128, 128, LFUSE__WGMMA_DEPTH_TF32, 4, 32, 1, 5, 1, 0, 800},
    {128, 64, LFUSE__WGMMA_DEPTH_TF32, 2, 16, 1, 7, 1, 0, 700},
    {128, 192, LFUSE__WGMMA_DEPTH_TF32, 2, 48, 1, 4, 1, 0, 905},
};

const lfuse__tile_traits lfuse__multiply_tf32 = {
    LFUSE__PIPELINE_TILE, LFUSE__SHAPES(shapes_tf32), .bytes = 4, .chunk = LFUSE__MMA_CHUNK_TF32, .blocks = true,
    .running = true, .multiplies = multiplies_tf32, .put_part = lfuse__pipeline_put_multiply,
};
