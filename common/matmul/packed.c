/* SPDX-License-Identifier: Apache-2.0 */
#include "common/matmul/packed.h"

#include "common/base/costs.h"
#include "common/base/error.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_pack.k.h"
#include "common/kernels/text/gemm_packed.k.h"

enum {
    CHUNK = 16, /* bytes that are copied together */
    LINES = 64, /* of a k-tile, that a group packs */
    QUAD = 4,   /* lines, of which a work-item turns a chunk where memory has them across */
    TURNS = 8   /* lines, after which the swizzle is the same again */
};

/* Returns the chunks of a line. */
static int chunks(const lfuse__product_class *p)
{
    return p->depth * lfuse__mma_bytes(p) / CHUNK;
}

/* Returns the work-items of a group that packs. */
static int packers(const lfuse__product_class *p)
{
    return LINES / QUAD * chunks(p);
}

/* ---- the texts ---- */

/* Whether the launch of the class's phase packs the operand. */
static bool packs(const lfuse__product_class *p, int operand)
{
    return p->phase != LFUSE__PACKED_PRODUCT && lfuse__is_kept(p, operand) == (p->phase == LFUSE__PACKED_KEEP);
}

/*
 * Returns an expression: where the k-tiles of A or B begin. What is packed in a run is in the workspace, A in front of
 * B. tiles_down and k_tiles are in scope.
 */
static lfuse__expr packed_at(const lfuse__tiles *t, int operand)
{
    const lfuse__product_class *p = t->p;
    const int last = lfuse__kernel_buffers(t->t.k) - 1;

    if (lfuse__is_kept(p, operand))
        return lfuse__expression("(BUFFER(%d) + W(%d))", LFUSE__PRODUCT_SUM, LFUSE__PRODUCT_SUM);
    if (operand == LFUSE__PRODUCT_A || lfuse__is_kept(p, LFUSE__PRODUCT_A))
        return lfuse__expression("(BUFFER(%d) + W(%d))", last, t->l.workspace);
    return lfuse__expression("(BUFFER(%d) + W(%d) + (u64)tiles_down * k_tiles * %d)", last, t->l.workspace,
                             p->rows * p->depth * lfuse__mma_bytes(p));
}

void lfuse__packed_put_operand(const lfuse__tiles *t, int operand, int indent, const char *text)
{
    const bool a = operand == LFUSE__PRODUCT_A;
    const lfuse__expr packed = packed_at(t, operand);
    const lfuse__expr aligned = lfuse__expression("W(%d) >> %d & 1", t->l.own + LFUSE__TILES_VECTORS, operand);
    lfuse__expr first;
    const lfuse__parameter parameters[] = {
        {"K_CONTIGUOUS", .number = lfuse__is_k_contiguous(t->p, operand)}, {"OPERAND", .word = first.text},
        {"LD", .number = a ? t->l.lda : t->l.ldb}, {"ALIGNED", .word = aligned.text},
        {"WIDTH", .number = lfuse__tile_width(t->p, operand)}, {"PACKED", .word = packed.text},
        {"DEPTH", .number = t->p->depth},
        {"LINES", .number = LINES}, {"CHUNKS", .number = chunks(t->p)}, {"SPAN", .number = TURNS / chunks(t->p)},
        {"QUADS", .number = LINES / QUAD}, {NULL},
    };

    lfuse__put_product_first(&t->l, operand, first.text, sizeof first.text);
    lfuse__put_text(t->t.out, indent, text, parameters, NULL, NULL);
}

void lfuse__packed_put_part(const void *context, int part, int indent)
{
    const lfuse__expr a = packed_at(context, LFUSE__PRODUCT_A), b = packed_at(context, LFUSE__PRODUCT_B);
    const lfuse__parameter own[] = {
        {"PART_SOURCES", .number = part == LFUSE__PACKED_SOURCES}, {"PART_COPY", .number = part == LFUSE__PACKED_COPY},
        {"PACKED_A", .word = a.text}, {"PACKED_B", .word = b.text}, {NULL},
    };

    lfuse__mma_put_text(context, indent, "", lfuse__text_gemm_packed, own, NULL);
}

void lfuse__packed_put_packer(const lfuse__tiles *t, const char *name, const lfuse__text_place *places)
{
    const lfuse__parameter own[] = {
        {"ITEMS", .number = packers(t->p)}, {"LINES", .number = LINES},
        {"PACKS_A", .number = packs(t->p, LFUSE__PRODUCT_A)}, {"PACKS_B", .number = packs(t->p, LFUSE__PRODUCT_B)},
        {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_pack, own, places);
}

/* ---- sizes ---- */

/* K-tiles of an operand, of whole tiles. */
static uint64_t packed_bytes(const lfuse__product_class *p, const lfuse__facts *facts, const lfuse__geometry *g,
                             int operand)
{
    lfuse__cut cut;

    lfuse__tiles_cut(p, facts, g, &cut);
    const uint64_t tiles = (uint64_t)(operand == LFUSE__PRODUCT_A ? cut.down : cut.across);
    return tiles * (uint64_t)lfuse__tile_width(p, operand) * (uint64_t)cut.k_tiles *
           (uint64_t)(p->depth * lfuse__mma_bytes(p));
}

uint64_t lfuse__packed_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    uint64_t bytes = 0;

    for (int i = 0; i < LFUSE__PRODUCT_SUM; i++)
        if (!lfuse__is_kept(&c->product, i)) bytes += packed_bytes(&c->product, facts, g, i);
    return bytes;
}

uint64_t lfuse__packed_kept(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    return packed_bytes(&c->product, facts, g, c->product.kept - 1);
}

unsigned lfuse__packed_local_bytes(const lfuse__kernel_class *c)
{
    return c->product.phase == LFUSE__PACKED_PRODUCT ? lfuse__pipeline_bytes(&c->product) : 0;
}

/* Groups that pack an operand. */
static uint64_t groups_of(const lfuse__product_class *p, const lfuse__geometry *g, int operand, uint64_t tiles)
{
    const uint64_t k_tiles = (uint64_t)lfuse__ceil_div(g->extents[2], p->depth);

    return packs(p, operand) ? tiles * (uint64_t)(lfuse__tile_width(p, operand) / LINES) * k_tiles : 0;
}

lfuse_status lfuse__packed_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                lfuse__packed *packed)
{
    const lfuse__product_class *p = &c->product;
    lfuse__product_layout l;

    LFUSE__TRY(lfuse__tiles_pack(c, facts, g, packed));
    if (p->phase == LFUSE__PACKED_PRODUCT) return lfuse__pipeline_launch(c, facts, g, packed);
    lfuse__product_layout_make(c, &l);
    const uint64_t all = groups_of(p, g, LFUSE__PRODUCT_A, packed->words[l.own + LFUSE__TILES_DOWN]) +
                         groups_of(p, g, LFUSE__PRODUCT_B, packed->words[l.own + LFUSE__TILES_ACROSS]);
    return lfuse__tiles_launch(c, g, all, (unsigned)packers(p), packed);
}

/*
 * The operands are read and stored, at the rate of memory, in a launch of their own. Of what it stores all lines are
 * whole.
 */
bool lfuse__packed_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                        bool (*of_product)(const lfuse__product_class *p, const lfuse__facts *facts,
                                           const int64_t *extents, lfuse__cut *c), lfuse__cut *c)
{
    const lfuse__tiles_costs costs = lfuse__costs_of(facts).tiles;
    const int64_t chunk = CHUNK / lfuse__mma_bytes(p);
    int64_t whole[LFUSE__PRODUCT_BATCH];
    double wide = 0, bytes;

    for (int i = 0; i < LFUSE__PRODUCT_BATCH; i++) whole[i] = lfuse__ceil_div(extents[i], chunk) * chunk;
    if (!of_product(p, facts, whole, c)) return false;
    for (int i = 0; i < LFUSE__PRODUCT_SUM; i++)
        if (!lfuse__is_kept(p, i)) wide += (double)extents[i];
    bytes = 2 * wide * (double)extents[2] * lfuse__mma_bytes(p);
    c->time += costs.start + bytes / costs.bytes / (double)lfuse__units(facts);
    return true;
}
