/* SPDX-License-Identifier: Apache-2.0 */
/* Products on tensor cores that read local memory themselves (Hopper's wgmma): the kernel is text/gemm_wgmma.k. */
#include "common/base/error.h"
#include "common/kernels/template.h"
#include "common/matmul/mma.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_wgmma.k.h"

enum {
    DEPTH = 64,          /* of a k-tile: its lines have 128 bytes, the width of the swizzle */
    GROUP_ROWS = 64,     /* rows of D that a warpgroup has */
    BETWEEN = 1,         /* stage whose products may not have ended: beside those that are multiplied and copied */
    ALIGNMENT = 1024,    /* bytes: each stage begins where the swizzle's pattern does */
    LOCAL_OF_ALL = 4 * DEPTH * (128 + 256) * 2 + ALIGNMENT /* bytes: of the largest tiles */
};

static int stages(const lfuse__product_class *p)
{
    return p->prefetch + 1 + BETWEEN;
}

/* The stages of k-tiles, of 16 bits. */
static int local(const lfuse__product_class *p)
{
    return stages(p) * p->depth * (p->rows + p->columns) / 2;
}

static void put_operand(const void *context, int place, int indent)
{
    const lfuse__tiles *t = context;
    lfuse__mma_put_operand(t, indent, place, stages(t->p), true);
}

/*
 * The matrix descriptor of an operand, but for the address: "Matrix-Descriptor Format" of the PTX manual. Along k the
 * eight lines of a pattern follow those before; across, blocks of 64 rows or columns where lines run across.
 */
static unsigned long long descriptor(void)
{
    const unsigned long long across = DEPTH * 128, along = 8 * 128, swizzle_of_128_bytes = 1;
    return (across >> 4) << 16 | (along >> 4) << 32 | swizzle_of_128_bytes << 62;
}

/* Returns what is added to a descriptor for the next step along k: sixteenths of bytes. */
static int next_step(const lfuse__product_class *p, int operand)
{
    const int bytes = lfuse__is_k_contiguous(p, operand) ? LFUSE__MMA_STEP * 2 : LFUSE__MMA_STEP * 128;
    return bytes / 16;
}

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    enum { A = LFUSE__PRODUCT_A * LFUSE__MMA_PARTS, B = LFUSE__PRODUCT_B * LFUSE__MMA_PARTS };
    static const lfuse__text_place places[] = {
        {"SCHEDULE", lfuse__tiles_put_schedule, 0},
        {"ADDRESSES_A", put_operand, A + LFUSE__MMA_ADDRESSES},
        {"ADDRESSES_B", put_operand, B + LFUSE__MMA_ADDRESSES},
        {"COPY_A", put_operand, A + LFUSE__MMA_COPY},
        {"COPY_B", put_operand, B + LFUSE__MMA_COPY},
        {"COPY_SLOWLY_A", put_operand, A + LFUSE__MMA_COPY_SLOWLY},
        {"COPY_SLOWLY_B", put_operand, B + LFUSE__MMA_COPY_SLOWLY},
        {"VECTORS_OF_SUMS", lfuse__mma_put_vectors, 0},
        {"EPILOGUE", lfuse__tiles_put_end, 0},
        {NULL, NULL, 0},
    };
    const lfuse__product_class *p = t->p;
    const lfuse__expr of = lfuse__expression("0x%llxull", descriptor());
    const lfuse__expr shape =
        lfuse__expression("%s_%d", lfuse__memory_word(t->t.k->operands[LFUSE__PRODUCT_A].type), p->columns);
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"WORDS", .number = t->l.own + lfuse__tiles_own(p)},
        {"BUFFERS", .number = lfuse__kernel_buffers(t->t.k)}, {"ITEMS", .number = t->threads},
        {"BLOCKS", .number = p->split ? 1 : p->occupancy}, {"MEETS", .number = p->split || p->column_sums},
        {"SHAPE", .word = shape.text}, {"ROWS", .number = p->rows},
        {"COLUMNS", .number = p->columns},
        {"SUMS", .number = p->item_rows * p->item_columns}, {"AHEAD", .number = p->prefetch},
        {"STAGES", .number = stages(p)}, {"STEPS", .number = p->depth / LFUSE__MMA_STEP},
        {"STAGE_A", .number = p->rows * p->depth * 2}, {"STAGE_B", .number = p->columns * p->depth * 2},
        {"GROUP_A", .number = GROUP_ROWS * p->depth * 2}, {"DESCRIPTOR", .word = of.text},
        {"STEP_A", .number = next_step(p, LFUSE__PRODUCT_A)}, {"STEP_B", .number = next_step(p, LFUSE__PRODUCT_B)},
        {"ACROSS_A", .number = !lfuse__is_k_contiguous(p, LFUSE__PRODUCT_A)},
        {"ACROSS_B", .number = !lfuse__is_k_contiguous(p, LFUSE__PRODUCT_B)},
        {"VECTORS", .number = t->l.own + LFUSE__TILES_VECTORS}, {NULL},
    };

    lfuse__put_text(t->t.out, 0, lfuse__text_gemm_wgmma, parameters, places, t);
}

/* ---- the solver ---- */

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (!facts->wgmma || facts->dynamic_local_bytes < LOCAL_OF_ALL) return "the device has no such instructions";
    return lfuse__mma_declines(facts, desc);
}

/* Stream-K is slower than whole tiles. */
static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return p->split != LFUSE__SPLIT_STREAM_K && lfuse__tile_serves(p, least, most);
}

static lfuse_status pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    LFUSE__TRY(lfuse__tiles_pack(c, facts, g, packed));
    packed->local_bytes = (unsigned)local(&c->product) * 4 + ALIGNMENT;
    return LFUSE_OK;
}

/* Fitted to times on an H200. */
static const lfuse__tile_shape shapes[] = {
    {128, 256, DEPTH, 2, 64, 1, 2, 1, 240, 1700},
    {128, 128, DEPTH, 2, 32, 1, 1, 2, 900, 1210},
    {256, 128, DEPTH, 2, 32, 1, 2, 1, 330, 1700},
    {64, 128, DEPTH, 2, 32, 1, 2, 2, 550, 1080},
};

static const lfuse__tile_traits traits = {
    .shapes = shapes, .nshapes = sizeof shapes / sizeof *shapes, .chunk = LFUSE__MMA_CHUNK, .tensor_cores = true,
    .local = local, .put_corner = lfuse__mma_put_corner, .put_place = lfuse__mma_put_place, .put_kernel = put_kernel,
};

const lfuse__solver lfuse__wgmma = {
    .name = "wgmma", .tile = &traits, .runs_on = lfuse__tiles_fit, .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = serves,
    .suits = lfuse__mma_suits, .cost = lfuse__tile_cost, .phases = 1, .tickets = lfuse__tiles_tickets,
    .workspace = lfuse__tiles_workspace, .emit = lfuse__tiles_emit, .pack = pack,
};
