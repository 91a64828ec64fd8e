/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on Hopper of operands that a launch in front copies into k-tiles: sources of pipelines whose kernels are
 * text/gemm_pack.k, and text/gemm_pipeline.k with the parts of text/gemm_packed.k that copy; and solvers that pair them
 * with what multiplies f16 and bf16, e4m3 and e5m2, tf32. One of the sources packs one operand alone: the other one,
 * which lies along k, comes by its tensor map. Where the solver keeps the k-tiles of a frozen operand, a launch of its
 * own makes them before the first run.
 */
#include <string.h>

#include "common/base/error.h"
#include "common/matmul/fp8.h"
#include "common/matmul/front.h"

#include "common/kernels/text/gemm_pack.k.h"
#include "common/kernels/text/gemm_pack_f16.k.h"
#include "common/kernels/text/gemm_pack_fp8.k.h"
#include "common/kernels/text/gemm_pack_tf32.k.h"
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

/*
 * Returns an expression: where the k-tiles of A or B begin, of a batch those of `matrix`. tiles_down and k_tiles are in
 * scope, of a batch's B tiles_across too.
 */
static lfuse__expr packed_at(const lfuse__tiles *t, int operand)
{
    const lfuse__expr of_a = lfuse__expression("%s * k_tiles * %d", lfuse__front_tiles(t, LFUSE__PRODUCT_A).text,
                                               lfuse__mma_k_tile_bytes(t->p, LFUSE__PRODUCT_A));
    const lfuse__expr first = lfuse__front_at(t, operand, of_a.text);

    if (!t->p->batched) return first;
    return lfuse__expression("(%s + (u64)%s * %s * k_tiles * %d)", first.text, lfuse__tma_matrix(t, operand).text,
                             operand == LFUSE__PRODUCT_A ? "tiles_down" : "tiles_across",
                             lfuse__mma_k_tile_bytes(t->p, operand));
}

/* Returns what packs an operand, by the bytes of its elements. */
static const char *text_of(const lfuse__product_class *p)
{
    const int bytes = lfuse__mma_bytes(p);

    return bytes == 1 ? lfuse__text_gemm_pack_fp8 : bytes == 2 ? lfuse__text_gemm_pack_f16 : lfuse__text_gemm_pack_tf32;
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
        {"WIDTH", .number = lfuse__tile_width(t->p, operand)}, {"PACKED", .word = packed.text},
        {"DEPTH", .number = t->p->depth},
        {"LINES", .number = LINES}, {"CHUNKS", .number = chunks(t->p)}, {"SPAN", .number = TURNS / chunks(t->p)},
        {"QUADS", .number = LINES / QUAD}, {NULL},
    };

    lfuse__put_product_first(&t->l, operand, first.text, sizeof first.text);
    lfuse__put_text(t->t.out, indent, text_of(t->p), parameters, NULL, NULL);
}

static void put_part(const void *context, int part, int indent)
{
    const lfuse__product_class *p = ((const lfuse__tiles *)context)->p;
    const lfuse__expr a = packed_at(context, LFUSE__PRODUCT_A), b = packed_at(context, LFUSE__PRODUCT_B);
    const lfuse__expr of_a = lfuse__tma_matrix(context, LFUSE__PRODUCT_A);
    const lfuse__expr of_b = lfuse__tma_matrix(context, LFUSE__PRODUCT_B);
    const lfuse__expr bytes_of_a = lfuse__tma_bytes(context, LFUSE__PRODUCT_A);
    const lfuse__expr bytes_of_b = lfuse__tma_bytes(context, LFUSE__PRODUCT_B);
    const lfuse__parameter own[] = {
        {"MATRIX_A", .word = of_a.text}, {"MATRIX_B", .word = of_b.text},
        {"MAP_BYTES_A", .word = bytes_of_a.text}, {"MAP_BYTES_B", .word = bytes_of_b.text},
        {"PART_EARLY", .number = part == LFUSE__PART_EARLY},
        {"PART_SOURCES", .number = part == LFUSE__PART_SOURCES}, {"PART_COPY", .number = part == LFUSE__PART_COPY},
        {"MAPPED_A", .number = lfuse__comes_by_map(p, LFUSE__PRODUCT_A)},
        {"MAPPED_B", .number = lfuse__comes_by_map(p, LFUSE__PRODUCT_B)},
        {"ANY_MAPPED", .number = lfuse__has_maps(p)}, {"MULTIPLYING", .number = lfuse__pipeline_multiplying(p)},
        {"PACKED_A", .word = a.text}, {"PACKED_B", .word = b.text}, {NULL},
    };

    lfuse__mma_put_text(context, indent, "", lfuse__text_gemm_packed, own, NULL);
}

static void put_packer(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {
        {"PACK_A", put_operand, LFUSE__PRODUCT_A}, {"PACK_B", put_operand, LFUSE__PRODUCT_B}, {NULL, NULL, 0},
    };
    const lfuse__expr matrices = lfuse__front_matrices(t, LFUSE__PRODUCT_A);
    const lfuse__parameter own[] = {
        {"ITEMS", .number = packers(t->p)}, {"LINES", .number = LINES}, {"BATCHED", .number = t->p->batched},
        {"MATRICES_A", .word = matrices.text},
        {"PACKS_A", .number = lfuse__front_prepares(t->p, LFUSE__PRODUCT_A)},
        {"PACKS_B", .number = lfuse__front_prepares(t->p, LFUSE__PRODUCT_B)}, {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_pack, own, places);
}

/* ---- sizes ---- */

static lfuse_status pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    return lfuse__front_pack(c, facts, g, packers(&c->product), (const int[]){LINES, LINES}, true, packed);
}

static lfuse_status pack_one(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                             lfuse__packed *packed)
{
    LFUSE__TRY(pack(c, facts, g, packed));
    return lfuse__tma_set_maps(c, facts, g, packed);
}

/*
 * Returns the cycles by which tiles take longer whose rows of D are no whole vectors. On an H100 16 x 1023 cubed of f16
 * took 23 us longer than without, 32 x 511 cubed 18, 2047 cubed 3.
 */
static double storing_singly(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                             const lfuse__cut *c)
{
    const double each = extents[1] % lfuse__tiles_vector(p) ? 0.25 : 0;

    return each * p->rows * p->columns *
           (double)lfuse__ceil_div(c->down * c->across * c->matrices, lfuse__units(facts));
}

/* The operands are read and stored. Of what is stored all lines are whole. */
static bool cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c)
{
    const int64_t chunk = CHUNK / lfuse__mma_bytes(p);
    int64_t whole[LFUSE__PRODUCT_EXTENTS];

    for (int i = 0; i < LFUSE__PRODUCT_BATCH; i++) whole[i] = lfuse__ceil_div(extents[i], chunk) * chunk;
    if (p->batched) whole[LFUSE__PRODUCT_BATCH] = extents[LFUSE__PRODUCT_BATCH];
    if (!lfuse__pipeline_cost(p, facts, whole, c)) return false;
    lfuse__front_add_cost(p, facts, extents, 2 * lfuse__mma_bytes(p), c);
    c->time += storing_singly(p, facts, extents, c);
    return true;
}

/* ---- the solvers: what lies as it should is that of solvers by tensor maps, whose tiles have the same numbers ---- */

static const lfuse__tile_source packed = {
    .batches = true, .product = LFUSE__FRONT_PRODUCT, .put_part = put_part, .put_other = put_packer, .pack = pack,
};

/* For tf32, which warpgroups take only along k: the operand that lies so comes by its map, the other one is packed. */
static const lfuse__tile_source one_packed = {
    .by_map = lfuse__is_k_contiguous, .batches = true, .product = LFUSE__FRONT_PRODUCT, .put_part = put_part,
    .put_other = put_packer, .pack = pack_one,
};

/* f16 and bf16 whose lines in memory are no whole chunks: a copy without a wait moves 4 bytes of them, or none. */
static bool serves_f16(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    const bool known = !memcmp(least, most, LFUSE__PRODUCT_BATCH * sizeof *least);

    return !p->split && !(known && lfuse__mma_suits(p, least)) && lfuse__tile_serves(p, least, most);
}

static bool suits_f16(const lfuse__product_class *p, const int64_t *extents)
{
    return !lfuse__mma_suits(p, extents);
}

/* One way for plans of unknown sizes: few of them are odd. */
static bool is_first(int at)
{
    return at == 0;
}

const lfuse__solver lfuse__f16_packed = {
    LFUSE__PIPELINE(&packed, &lfuse__multiply_f16), .name = "f16_packed", .cost = cost, .phases = LFUSE__FRONT_PHASES,
    .workspace = lfuse__front_workspace, .kept = lfuse__front_kept, .is_compiled_ahead = is_first, .serves = serves_f16,
    .suits = suits_f16,
};

/* Whether lines along k may be no whole chunks, so that they have no map. */
static bool may_be_odd(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return least[2] != most[2] || least[2] % p->solver->tile->chunk;
}

/* e4m3 and e5m2 whose lines do not run along k, or are no whole chunks. */
static bool serves_fp8(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return !p->split && (may_be_odd(p, least, most) || !lfuse__mma_lies_along(p)) &&
           lfuse__tile_serves(p, least, most);
}

static bool is_fp8_ahead(int at)
{
    return lfuse__mma_is_compiled_ahead(&lfuse__fp8_packed, at);
}

const lfuse__solver lfuse__fp8_packed = {
    LFUSE__PIPELINE(&packed, &lfuse__multiply_fp8), .name = "fp8_packed", .cost = cost, .phases = LFUSE__FRONT_PHASES,
    .workspace = lfuse__front_workspace, .kept = lfuse__front_kept, .is_compiled_ahead = is_fp8_ahead,
    .serves = serves_fp8,
};

/* Returns how many operands have lines along k. */
static int along(const lfuse__product_class *p)
{
    return lfuse__is_k_contiguous(p, LFUSE__PRODUCT_A) + lfuse__is_k_contiguous(p, LFUSE__PRODUCT_B);
}

/*
 * f32 that is rounded to tf32, where lines of no operand have a map. On an H100 cuBLASLt took 1.26 of the time for 4096
 * cubed, and 0.91 where one operand has a map.
 */
static bool serves_tf32(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return !p->split && (may_be_odd(p, least, most) || !along(p)) && lfuse__tile_serves(p, least, most);
}

const lfuse__solver lfuse__tf32_packed = {
    LFUSE__PIPELINE(&packed, &lfuse__multiply_tf32), .name = "tf32_packed", .vendors_share = 1, .tf32 = true,
    .cost = cost, .phases = LFUSE__FRONT_PHASES, .workspace = lfuse__front_workspace, .kept = lfuse__front_kept,
    .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = serves_tf32,
};

/* The same where the lines of one operand have a map. */
static bool suits_half_tf32(const lfuse__product_class *p, const int64_t *extents)
{
    return extents[2] % p->solver->tile->chunk == 0;
}

static bool serves_half_tf32(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return !p->split && along(p) == 1 && (least[2] != most[2] || suits_half_tf32(p, least)) &&
           lfuse__tile_serves(p, least, most);
}

const lfuse__solver lfuse__tf32_half_packed = {
    LFUSE__PIPELINE(&one_packed, &lfuse__multiply_tf32), .name = "tf32_half_packed", .vendors_share = 0.9, .tf32 = true,
    .cost = cost, .phases = LFUSE__FRONT_PHASES, .first = lfuse__front_first, .workspace = lfuse__front_workspace,
    .kept = lfuse__front_kept, .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = serves_half_tf32,
    .suits = suits_half_tf32,
};
