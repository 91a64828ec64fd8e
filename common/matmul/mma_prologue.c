/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of products on tensor cores that are computed where they are read: text/gemm_mma_prologue.k. */
#include <stdio.h>

#include "common/matmul/mma.h"

#include "common/kernels/text/gemm_mma_prologue.k.h"

/* Parts of the text that are places of others. */
enum { FETCH = LFUSE__MMA_COMPUTED_PARTS, STORE };

/* ---- registers: two sets of what is loaded where there is room for them ---- */

enum {
    SETS_MOST = 2,
    REGISTERS_MOST = 240, /* of a thread, as estimated: with more, some would be spilled */
    REGISTERS_BESIDE = 8  /* for addresses */
};

/* Of fragments, those of one step and a half are held at a time. */
static int registers_of(const lfuse__product_class *p, int sets)
{
    const int fragments = (lfuse__mma_warp_rows(p) + lfuse__mma_warp_columns(p)) * 3 / 8;
    int bytes = 0;

    for (int i = LFUSE__PRODUCT_A; i <= LFUSE__PRODUCT_B; i++)
        bytes += lfuse__tile_width(p, i) * p->depth * p->prologue_bytes[i] / lfuse__tiles_threads(p);
    return p->item_rows * p->item_columns + fragments + sets * bytes / 4 + REGISTERS_BESIDE;
}

int lfuse__mma_sets(const lfuse__product_class *p)
{
    if (!p->prologue[LFUSE__PRODUCT_A] && !p->prologue[LFUSE__PRODUCT_B]) return 1;
    return registers_of(p, SETS_MOST) <= REGISTERS_MOST ? SETS_MOST : 1;
}

int lfuse__mma_computed_blocks(const lfuse__product_class *p)
{
    const int registers = registers_of(p, lfuse__mma_sets(p));
    const int blocks = LFUSE__TILES_REGISTERS / (lfuse__tiles_threads(p) * registers);

    return blocks < 1 ? 1 : blocks < p->occupancy ? blocks : p->occupancy;
}

/* ---- a text being written ---- */

typedef struct computed {
    const lfuse__tiles *t;
    const lfuse__parameter *operand; /* parameters of text/gemm_mma_operand.k */
    int side;                        /* A or B */
    lfuse__text made;                /* limited to its prologue */
    int chunk, vectors;              /* elements of a chunk; of all sets */
} computed;

static bool in_vectors(const computed *c, int j)
{
    return lfuse__in_blocks(&c->made.k->operands[j]);
}

static bool repeats(const computed *c, int j)
{
    return c->made.k->operands[j].inner == LFUSE__STRIDE_REPEAT;
}

static const char *register_word(const computed *c, int j)
{
    return lfuse__register_word(c->made.k->operands[j].type);
}

/* Writes an expression: operand j at `line` and `inner`, an expression. */
static lfuse__expr load_of(const computed *c, int j, const char *inner)
{
    char at[160];

    lfuse__put_product_place(c->made.k, &c->t->l, j, "line", inner, at, sizeof at);
    return lfuse__load(&c->made, j, at);
}

/* ---- chunks: all vectors are loaded, then all elements computed ---- */

/* Of operand j: q<j>, where it lies in vectors; else s<j>, a value for each chunk where it repeats, or each element. */
static void put_arrays(const void *context, int which, int indent)
{
    const computed *c = context;

    (void)which;
    for (int j = LFUSE__PRODUCT_OWN; j < c->made.k->noperands; j++) {
        if (!c->made.loaded[j]) continue;
        if (in_vectors(c, j))
            lfuse__put(c->made.out, indent, "u32 q%d[%d];", j, c->vectors * lfuse__block_words(&c->made, j));
        else
            lfuse__put(c->made.out, indent, "S_%s s%d[%d];", register_word(c, j), j,
                       repeats(c, j) ? c->vectors : c->vectors * c->chunk);
    }
}

static void put_vector(const computed *c, int indent, int j)
{
    char at[160], words[32];

    lfuse__put_product_place(c->made.k, &c->t->l, j, "line", "inner", at, sizeof at);
    snprintf(words, sizeof words, "q%d + v * %d", j, lfuse__block_words(&c->made, j));
    lfuse__put_product_vector(c->made.out, indent, c->made.k, j, c->chunk, true, at, words);
}

static void put_vectors(const void *context, int which, int indent)
{
    const computed *c = context;
    lfuse__strbuf *out = c->made.out;

    (void)which;
    for (int j = LFUSE__PRODUCT_OWN; j < c->made.k->noperands; j++) {
        if (!c->made.loaded[j]) continue;
        if (in_vectors(c, j)) {
            put_vector(c, indent, j);
        } else if (repeats(c, j)) {
            lfuse__put(out, indent, "s%d[v] = %s;", j, load_of(c, j, "inner").text);
        } else {
            lfuse__put(out, 0, "#pragma unroll");
            lfuse__put(out, indent, "for (u32 e = 0; e < %d; e++) s%d[v * %d + e] = %s;", c->chunk, j, c->chunk,
                       load_of(c, j, "(inner + e)").text);
        }
    }
}

/*
 * Returns the register that is packed as an element: that of the prologue, or the f32 that this one rounds to the
 * operand's type, as packing rounds in the same way.
 */
static int packed_register(const computed *c)
{
    const lfuse__kernel_class *k = c->made.k;
    const int made = k->product.prologue[c->side] - 1;
    const lfuse__instr *in = &k->body->instr[made];
    const bool rounds = in->kind == LFUSE__I_CONVERT && in->type == k->operands[c->side].type &&
                        lfuse__register_type((lfuse_type)in->from) == LFUSE_F32;

    return rounds ? in->a : made;
}

/* Element e of the chunk u_, of the operands' elements x<j>. */
static void put_element(const computed *c, int indent)
{
    const int reg = packed_register(c);

    lfuse__put_slice(&c->made, indent, reg, "");
    lfuse__put(c->made.out, indent, "PACK_%s(u_, e, r%d);", lfuse__memory_word(c->made.k->operands[c->side].type), reg);
}

static void put_elements(const void *context, int which, int indent)
{
    const computed *c = context;
    lfuse__strbuf *out = c->made.out;

    (void)which;
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (u32 e = 0; e < %d; e++) {", c->chunk);
    for (int j = LFUSE__PRODUCT_OWN; j < c->made.k->noperands; j++) {
        if (!c->made.loaded[j]) continue;
        if (in_vectors(c, j))
            lfuse__put(out, indent + 1, "const L_%s x%d = UNPACK_%s(q%d + v * %d, e);", register_word(c, j), j,
                       lfuse__memory_word(c->made.k->operands[j].type), j, lfuse__block_words(&c->made, j));
        else if (repeats(c, j))
            lfuse__put(out, indent + 1, "const L_%s x%d = s%d[v];", register_word(c, j), j, j);
        else
            lfuse__put(out, indent + 1, "const L_%s x%d = s%d[v * %d + e];", register_word(c, j), j, j, c->chunk);
    }
    put_element(c, indent + 1);
    lfuse__put(out, indent, "}");
}

/* ---- single elements ---- */

static void put_loaded_element(const void *context, int which, int indent)
{
    const computed *c = context;

    (void)which;
    for (int j = LFUSE__PRODUCT_OWN; j < c->made.k->noperands; j++)
        if (c->made.loaded[j])
            lfuse__put(c->made.out, indent, "const L_%s x%d = %s;", register_word(c, j), j,
                       load_of(c, j, "inner").text);
    put_element(c, indent);
}

/* ---- the text ---- */

static void put_part(const void *context, int part, int indent)
{
    enum { MOST = 64, OWN = 8 };
    static const lfuse__text_place places[] = {
        {"ARRAYS", put_arrays, 0}, {"VECTORS", put_vectors, 0}, {"ELEMENTS", put_elements, 0},
        {"ELEMENT", put_loaded_element, 0}, {"FETCH", put_part, FETCH}, {"STORE", put_part, STORE}, {NULL, NULL, 0},
    };
    const computed *c = context;
    lfuse__parameter all[MOST] = {
        {"PART_ARRAYS", .number = part == LFUSE__MMA_COMPUTED_ARRAYS},
        {"PART_FIRST", .number = part == LFUSE__MMA_COMPUTED_FIRST},
        {"PART_NEXT", .number = part == LFUSE__MMA_COMPUTED_NEXT},
        {"PART_SLOWLY", .number = part == LFUSE__MMA_COMPUTED_SLOWLY},
        {"PART_FETCH", .number = part == FETCH}, {"PART_STORE", .number = part == STORE},
        {"AHEAD", .number = c->t->p->prefetch}, {"SETS", .number = lfuse__mma_sets(c->t->p)},
    };

    for (int i = 0; c->operand[i].name && i < MOST - OWN - 1; i++) all[OWN + i] = c->operand[i];
    lfuse__put_text(c->made.out, indent, lfuse__text_gemm_mma_prologue, all, places, c);
}

void lfuse__mma_put_computed(const lfuse__tiles *t, int operand, lfuse__mma_computed_part part, int indent,
                             const lfuse__parameter *parameters)
{
    computed c = {.t = t, .operand = parameters, .side = operand,
                  .chunk = LFUSE__MMA_CHUNK_BYTES / lfuse__mma_bytes(t->p)};

    c.vectors = lfuse__mma_sets(t->p) * lfuse__tile_width(t->p, operand) * t->p->depth / c.chunk / t->threads;
    lfuse__product_text_prologue(&t->t, operand, &c.made);
    c.made.vector = c.chunk;
    put_part(&c, (int)part, indent);
}
