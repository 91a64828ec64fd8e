/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of e4m3 and e5m2 on Hopper whose operands do not lie as the instructions take them, in two launches:
 * text/gemm_fp8_pack.k copies both into k-tiles in the workspace, and text/gemm_pipeline.k multiplies these. The
 * k-tiles of an operand that is frozen are kept: a launch of its own makes them before the first run.
 */
#include "common/base/costs.h"
#include "common/base/error.h"
#include "common/matmul/fp8.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_fp8_pack.k.h"
#include "common/kernels/text/gemm_fp8_pack_operand.k.h"
#include "common/kernels/text/gemm_fp8_packed.k.h"

enum { PACK, PRODUCT, PHASES, KEEP = PHASES /* the phase that prepares what is kept */ };
enum {
    LINES = 64, /* of a k-tile, that a group packs */
    QUAD = 4,   /* lines, of which a work-item turns a chunk where memory has them across */
    TURNS = 8   /* lines, after which the swizzle is the same again */
};

/* Returns the chunks of a line. */
static int chunks(const lfuse__product_class *p)
{
    return p->depth / LFUSE__FP8_CHUNK;
}

/* Returns the work-items of a group that packs. */
static int packers(const lfuse__product_class *p)
{
    return LINES / QUAD * chunks(p);
}

/* ---- the texts ---- */

static bool is_kept(const lfuse__product_class *p, int operand)
{
    return p->kept == 1 + operand;
}

/* Whether the launch of the class's phase packs the operand. */
static bool packs(const lfuse__product_class *p, int operand)
{
    return p->phase != PRODUCT && is_kept(p, operand) == (p->phase == KEEP);
}

static int width(const lfuse__product_class *p, int operand)
{
    return operand == LFUSE__PRODUCT_A ? p->rows : p->columns;
}

/*
 * Returns an expression: where the k-tiles of A or B begin. What is packed in a run is in the workspace, A in front of
 * B. tiles_down and k_tiles are in scope.
 */
static lfuse__expr packed_at(const lfuse__tiles *t, int operand)
{
    const lfuse__product_class *p = t->p;
    const int last = lfuse__kernel_buffers(t->t.k) - 1;

    if (is_kept(p, operand)) return lfuse__expression("(BUFFER(%d) + W(%d))", LFUSE__PRODUCT_SUM, LFUSE__PRODUCT_SUM);
    if (operand == LFUSE__PRODUCT_A || is_kept(p, LFUSE__PRODUCT_A))
        return lfuse__expression("(BUFFER(%d) + W(%d))", last, t->l.workspace);
    return lfuse__expression("(BUFFER(%d) + W(%d) + (u64)tiles_down * k_tiles * %d)", last, t->l.workspace,
                             p->rows * p->depth);
}

static void put_operand(const void *context, int operand, int indent)
{
    const lfuse__tiles *t = context;
    const bool a = operand == LFUSE__PRODUCT_A;
    const lfuse__expr packed = packed_at(t, operand);
    const lfuse__expr aligned = lfuse__expression("W(%d) >> %d & 1", t->l.own + LFUSE__TILES_VECTORS, operand);
    lfuse__expr first;
    const lfuse__parameter parameters[] = {
        {"K_CONTIGUOUS", .number = lfuse__is_k_contiguous(t->p, operand)}, {"OPERAND", .word = first.text},
        {"LD", .number = a ? t->l.lda : t->l.ldb}, {"ALIGNED", .word = aligned.text},
        {"WIDTH", .number = width(t->p, operand)}, {"PACKED", .word = packed.text}, {"DEPTH", .number = t->p->depth},
        {"LINES", .number = LINES}, {"CHUNKS", .number = chunks(t->p)}, {"SPAN", .number = TURNS / chunks(t->p)},
        {"QUADS", .number = LINES / QUAD}, {NULL},
    };

    lfuse__put_product_first(&t->l, operand, first.text, sizeof first.text);
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_fp8_pack_operand, parameters, NULL, NULL);
}

/* Parts of text/gemm_fp8_packed.k. */
enum { SOURCES, COPY, NOTHING };

static void put_part(const void *context, int part, int indent)
{
    const lfuse__expr a = packed_at(context, LFUSE__PRODUCT_A), b = packed_at(context, LFUSE__PRODUCT_B);
    const lfuse__parameter own[] = {
        {"PART_SOURCES", .number = part == SOURCES}, {"PART_COPY", .number = part == COPY},
        {"PACKED_A", .word = a.text}, {"PACKED_B", .word = b.text}, {NULL},
    };

    lfuse__mma_put_text(context, indent, "", lfuse__text_gemm_fp8_packed, own, NULL);
}

static void put_product(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place parts[] = {
        {"EARLY", put_part, NOTHING}, {"SOURCES", put_part, SOURCES}, {"COPY_STAGE", put_part, COPY},
        {"MULTIPLIERS", lfuse__fp8_put_part, LFUSE__FP8_MULTIPLIERS},
        {"MULTIPLY", lfuse__fp8_put_part, LFUSE__FP8_MULTIPLY}, {"PROMOTE", lfuse__fp8_put_part, LFUSE__FP8_PROMOTE},
        {"FINISH", put_part, NOTHING}, {NULL, NULL, 0},
    };

    lfuse__put_pipeline(t, name, false, parts);
}

static void put_pack(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {
        {"PACK_A", put_operand, LFUSE__PRODUCT_A}, {"PACK_B", put_operand, LFUSE__PRODUCT_B}, {NULL, NULL, 0},
    };
    const lfuse__parameter own[] = {
        {"ITEMS", .number = packers(t->p)}, {"LINES", .number = LINES},
        {"PACKS_A", .number = packs(t->p, LFUSE__PRODUCT_A)}, {"PACKS_B", .number = packs(t->p, LFUSE__PRODUCT_B)},
        {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_fp8_pack, own, places);
}

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    (t->p->phase == PRODUCT ? put_product : put_pack)(t, name);
}

/* ---- sizes ---- */

/* K-tiles of an operand, of whole tiles. */
static uint64_t packed_bytes(const lfuse__product_class *p, const lfuse__facts *facts, const lfuse__geometry *g,
                             int operand)
{
    lfuse__cut cut;

    lfuse__tiles_cut(p, facts, g, &cut);
    const uint64_t tiles = (uint64_t)(operand == LFUSE__PRODUCT_A ? cut.down : cut.across);
    return tiles * (uint64_t)width(p, operand) * (uint64_t)cut.k_tiles * (uint64_t)p->depth;
}

static uint64_t workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    uint64_t bytes = 0;

    for (int i = 0; i < LFUSE__PRODUCT_SUM; i++)
        if (!is_kept(&c->product, i)) bytes += packed_bytes(&c->product, facts, g, i);
    return bytes;
}

static uint64_t kept(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    return packed_bytes(&c->product, facts, g, c->product.kept - 1);
}

static unsigned local_bytes(const lfuse__kernel_class *c)
{
    return c->product.phase == PRODUCT ? lfuse__pipeline_bytes(&c->product) : 0;
}

/* Groups that pack an operand. */
static uint64_t groups_of(const lfuse__product_class *p, const lfuse__geometry *g, int operand, uint64_t tiles)
{
    const uint64_t k_tiles = (uint64_t)lfuse__ceil_div(g->extents[2], p->depth);

    return packs(p, operand) ? tiles * (uint64_t)(width(p, operand) / LINES) * k_tiles : 0;
}

static lfuse_status pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    const lfuse__product_class *p = &c->product;
    lfuse__product_layout l;

    LFUSE__TRY(lfuse__tiles_pack(c, facts, g, packed));
    if (p->phase == PRODUCT) return lfuse__pipeline_launch(c, facts, g, packed);
    lfuse__product_layout_make(c, &l);
    const uint64_t all = groups_of(p, g, LFUSE__PRODUCT_A, packed->words[l.own + LFUSE__TILES_DOWN]) +
                         groups_of(p, g, LFUSE__PRODUCT_B, packed->words[l.own + LFUSE__TILES_ACROSS]);
    return lfuse__tiles_launch(c, g, all, (unsigned)packers(p), packed);
}

/* The operands are read and stored, at the rate of memory, in a launch of their own. */
static bool cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c)
{
    const lfuse__tiles_costs costs = lfuse__costs_of(facts).tiles;
    double wide = 0;

    if (!lfuse__tile_cost(p, facts, extents, c)) return false;
    for (int i = 0; i < LFUSE__PRODUCT_SUM; i++)
        if (!is_kept(p, i)) wide += (double)extents[i];
    c->time += costs.start + 2 * wide * (double)extents[2] / costs.bytes / (double)lfuse__units(facts);
    return true;
}

/* ---- the solver ---- */

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
    .shapes = shapes, .nshapes = sizeof shapes / sizeof *shapes, .chunk = LFUSE__FP8_CHUNK, .tensor_cores = true,
    .bytes = 1, .local = lfuse__pipeline_local, .put_corner = lfuse__pipeline_put_corner,
    .put_place = lfuse__pipeline_put_place, .put_kernel = put_kernel,
};

const lfuse__solver lfuse__fp8_packed = {
    .name = "fp8_packed", .tile = &traits, .runs_on = runs_on, .declines = declines,
    .candidate = lfuse__tile_candidate, .serves = serves, .has = lfuse__pipeline_has, .cost = cost,
    .phases = PHASES, .workspace = workspace, .kept = kept, .local_bytes = local_bytes, .emit = lfuse__tiles_emit,
    .pack = pack,
};
