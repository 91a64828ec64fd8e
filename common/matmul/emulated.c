/* SPDX-License-Identifier: Apache-2.0 */
/* What solvers of emulated products share: the launch that splits operands, and sizes. */
#include "common/base/error.h"
#include "common/matmul/emulated.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_emulated_unscaled.k.h"
#include "common/kernels/text/gemm_split_words.k.h"
#include "common/kernels/text/gemm_split_words_largest.k.h"
#include "common/kernels/text/gemm_split_words_load.k.h"
#include "common/kernels/text/gemm_split_words_operand.k.h"
#include "common/kernels/text/gemm_split_words_store.k.h"

enum {
    FACTOR = LFUSE__EMULATED_FACTOR,
    CHUNK = 8,                     /* elements that a work-item splits together */
    NOT_FINITE = 1 << 20,          /* the factor of a row or a column that is not split */
    SPLITTERS = 512,               /* work-items of a group that splits */
    HELD = 8,                      /* chunks that a work-item keeps in registers, of which it has 128 */
    PASSING = 4,                   /* of the others, those that it loads together to find the largest element, */
    AGAIN = 2                      /* and those that it loads together to split them, when scales take registers, too */
};

const lfuse__emulation *lfuse__emulation_of(lfuse_precision precision)
{
    for (int i = 0; lfuse__solvers[i]; i++) {
        const lfuse__emulation *e = lfuse__solvers[i]->emulation;
        if (e && e->precision == precision) return e;
    }
    return NULL;
}

/* Returns the bytes of all words of an element. */
static int words_bytes(const lfuse__product_class *p)
{
    return lfuse__words_of(p->solver) * LFUSE__EMULATED_WORD;
}

int lfuse__emulated_word_at(const lfuse__product_class *p, int operand, int word)
{
    return lfuse__mma_k_tile_bytes(p, operand) / lfuse__words_of(p->solver) * word;
}

/* ---- the texts ---- */

/* The address of A or B, an expression. */
static lfuse__expr first_of(const lfuse__tiles *t, int operand)
{
    lfuse__expr first;

    lfuse__put_product_first(&t->l, operand, first.text, sizeof first.text);
    return first;
}

lfuse__expr lfuse__emulated_factors(const lfuse__tiles *t, int operand)
{
    const lfuse__expr of_a = lfuse__expression("%s * %d * (%d + (u64)k_tiles * %d)",
                                               lfuse__front_tiles(t, LFUSE__PRODUCT_A).text, t->p->rows, FACTOR,
                                               t->p->depth * words_bytes(t->p));

    return lfuse__front_at(t, operand, of_a.text);
}

static void put_load(const void *context, int operand, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__parameter parameters[] = {{"K_CONTIGUOUS", .number = lfuse__is_k_contiguous(t->p, operand)}, {NULL}};

    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_split_words_load, parameters, NULL, NULL);
}

static void put_largest(const void *context, int operand, int indent)
{
    const lfuse__tiles *t = context;

    (void)operand;
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_split_words_largest, (lfuse__parameter[]){{NULL}}, NULL, NULL);
}

static void put_store(const void *context, int operand, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__emulation *e = t->p->solver->emulation;
    const int chunks = t->p->depth / CHUNK; /* of a line along k */
    const lfuse__parameter parameters[] = {
        {"K_CONTIGUOUS", .number = lfuse__is_k_contiguous(t->p, operand)}, {"DEPTH", .number = t->p->depth},
        {"SPAN", .number = CHUNK / chunks}, {"TURNS", .number = chunks},
        {"WIDTH", .number = lfuse__tile_width(t->p, operand)}, {"ALL_WORDS", .number = words_bytes(t->p)},
        {"EACH", .number = e->words}, {"WORD", .word = e->word}, {NULL},
    };

    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_split_words_store, parameters, NULL, NULL);
}

/*
 * Returns how many rows of A, or columns of B, a group has. Along k a warp has a row: fewer work-items would hold less
 * of it, and more would have too little to do where k is small. Across, wide bands are read in whole lines of the
 * cache; narrow ones are more groups, which small products have too few of, and their words are still whole sectors.
 */
static int band(const lfuse__product_class *p, int operand)
{
    enum { ALONG = SPLITTERS / 32, WIDE = 32, NARROW = 16, LARGE = 128 /* columns of the tiles of large products */ };

    if (lfuse__is_k_contiguous(p, operand)) return ALONG;
    return p->columns >= LARGE ? WIDE : NARROW;
}

static void put_split(const void *context, int operand, int indent)
{
    const lfuse__text_place places[] = {
        {"LOAD", put_load, operand}, {"LARGEST", put_largest, operand}, {"STORE", put_store, operand}, {NULL, NULL, 0},
    };
    const lfuse__tiles *t = context;
    const bool a = operand == LFUSE__PRODUCT_A;
    const lfuse__expr first = first_of(t, operand);
    const lfuse__expr aligned = lfuse__expression("W(%d) >> %d & 1", t->l.own + LFUSE__TILES_VECTORS, operand);
    const lfuse__expr factors = lfuse__emulated_factors(t, operand), all = lfuse__front_tiles(t, operand);
    const bool strided = a && t->p->column_sums;
    const lfuse__expr row = strided ? lfuse__pipeline_row(t->p, lfuse__pipeline_first_row(t->p).text, "in_tile")
                                    : lfuse__expression("0");
    const lfuse__emulation *e = t->p->solver->emulation;
    const lfuse__expr up = lfuse__expression(e->rises ? "(top == 127 ? -1 : top < %d ? %d - top : 0)" : "%d - top",
                                             e->largest, e->largest);
    const lfuse__parameter parameters[] = {
        {"K_CONTIGUOUS", .number = lfuse__is_k_contiguous(t->p, operand)}, {"OPERAND", .word = first.text},
        {"DEPTH", .number = t->p->depth}, {"ITEMS", .number = SPLITTERS},
        {"HELD", .number = HELD}, {"PASSING", .number = PASSING}, {"AGAIN", .number = AGAIN},
        {"LD", .number = a ? t->l.lda : t->l.ldb}, {"ALIGNED", .word = aligned.text},
        {"WIDTH", .number = lfuse__tile_width(t->p, operand)}, {"BAND", .number = band(t->p, operand)},
        {"FACTORS", .word = factors.text}, {"TILES", .word = a ? "tiles_down" : "tiles_across"},
        {"ALL", .word = all.text}, {"BATCHED", .number = t->p->batched}, {"NOT_FINITE", .number = NOT_FINITE},
        {"STRIDED", .number = strided}, {"ROW_OF_TILE", .word = row.text},
        {"ALL_WORDS", .number = words_bytes(t->p)}, {"UP", .word = up.text}, {NULL},
    };

    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_split_words_operand, parameters, places, t);
}

void lfuse__emulated_put_split(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {
        {"SPLIT_A", put_split, LFUSE__PRODUCT_A}, {"SPLIT_B", put_split, LFUSE__PRODUCT_B}, {NULL, NULL, 0},
    };
    const lfuse__expr all = lfuse__front_tiles(t, LFUSE__PRODUCT_A);
    const lfuse__parameter own[] = {
        {"ITEMS", .number = SPLITTERS}, {"DEPTH", .number = t->p->depth},
        {"SPLITS_A", .number = lfuse__front_prepares(t->p, LFUSE__PRODUCT_A)},
        {"SPLITS_B", .number = lfuse__front_prepares(t->p, LFUSE__PRODUCT_B)},
        {"ALL_A", .word = all.text}, {"BANDS_A", .number = t->p->rows / band(t->p, LFUSE__PRODUCT_A)}, {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_split_words, own, places);
}

void lfuse__emulated_put_unscaled(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__expr a = first_of(t, LFUSE__PRODUCT_A), b = first_of(t, LFUSE__PRODUCT_B);
    const lfuse__expr at_a = lfuse__expression(
        lfuse__is_k_contiguous(t->p, LFUSE__PRODUCT_A) ? "LOAD_f32(first_a, (i64)row * (i64)W(%d) + l)"
                                                       : "LOAD_f32(first_a, (i64)l * (i64)W(%d) + row)", t->l.lda);
    const lfuse__expr at_b = lfuse__expression(
        lfuse__is_k_contiguous(t->p, LFUSE__PRODUCT_B) ? "LOAD_f32(first_b, (i64)column * (i64)W(%d) + l)"
                                                       : "LOAD_f32(first_b, (i64)l * (i64)W(%d) + column)", t->l.ldb);
    const lfuse__expr row = lfuse__pipeline_row(t->p, "a0", "in_tile");
    const lfuse__parameter parameters[] = {
        {"STRIDED", .number = t->p->column_sums}, {"ROW_OF_TILE", .word = row.text}, {"ROWS", .number = t->p->rows},
        {"SUMS", .number = t->p->item_rows * t->p->item_columns}, {"NOT_FINITE", .number = NOT_FINITE},
        {"WARP_ROWS", .number = lfuse__mma_warp_rows(t->p)},
        {"WARP_COLUMNS", .number = lfuse__mma_warp_columns(t->p)},
        {"WARPS", .number = t->p->columns / lfuse__mma_warp_columns(t->p)},
        {"OPERAND_A", .word = a.text}, {"OPERAND_B", .word = b.text}, {"AT_A", .word = at_a.text},
        {"AT_B", .word = at_b.text}, {NULL},
    };

    (void)which;
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_emulated_unscaled, parameters, NULL, NULL);
}

/* ---- sizes ---- */

lfuse_status lfuse__emulated_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                  lfuse__packed *packed)
{
    const int bands[2] = {band(&c->product, LFUSE__PRODUCT_A), band(&c->product, LFUSE__PRODUCT_B)};

    return lfuse__front_pack(c, facts, g, SPLITTERS, bands, false, packed);
}

/* Operands are read and their words are stored. */
bool lfuse__emulated_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                          lfuse__cut *c)
{
    if (!lfuse__tile_cost(p, facts, extents, c)) return false;
    lfuse__front_add_cost(p, facts, extents, lfuse__emulation_bytes(p->solver->emulation), c);
    return true;
}

/* ---- conditions ---- */

const char *lfuse__emulated_declines(const lfuse__matmul_desc *desc)
{
    const lfuse__emulation *e = lfuse__emulation_of(desc->precision);

    if (desc->types[0] != LFUSE_F32 || desc->types[1] != LFUSE_F32) return "it splits operands of f32";
    if (desc->high.m && desc->high.k < e->least_k) return "its sums are to be longer";
    return desc->prologue ? "its operands have to lie in memory" : NULL;
}

/* Parts of k would lie in the workspace as well: nobody has measured them. */
bool lfuse__emulated_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return !p->split && lfuse__tile_serves(p, least, most);
}

/* Sizes of a run, where the planner has known bounds alone. */
bool lfuse__emulated_suits(const lfuse__product_class *p, const int64_t *extents)
{
    return extents[2] >= p->solver->emulation->least_k;
}
