/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a Strassen kernel on GPUs: over a vector of each block, four blocks at a time, of which all loads come
 * before all stores, which a compiler cannot exchange.
 */
#include <stdio.h>

#include "common/matmul/strassen.h"

enum { AT_A_TIME = 4 };

static const char *reg_of(const lfuse__strassen *s, int j)
{
    return lfuse__register_word(s->t.k->operands[j].type);
}

static bool in_blocks(const lfuse__strassen *s, int j)
{
    return lfuse__in_blocks(&s->t.k->operands[j]);
}

static void place_of(const lfuse__strassen *s, int j, int b, const char *element, char *text, size_t size)
{
    char row[24], column[40];
    snprintf(row, sizeof row, "row%d", b / s->side);
    snprintf(column, sizeof column, "column%d%s", b % s->side, element);
    lfuse__put_product_place(s->t.k, &s->l, j, row, column, text, size);
}

/* Values of operand j in block b: words q<j>_<b> of vectors, else s<j>_<b>, one where it repeats. */
static void put_arrays(const lfuse__strassen *s, int indent, int j, int b)
{
    lfuse__strbuf *out = s->t.out;
    const int words = lfuse__block_words(&s->t, j);
    if (s->t.stored[j]) lfuse__put(out, indent, "S_%s z%d_%d[%d];", reg_of(s, j), j, b, s->vector);
    if (!s->t.loaded[j]) return;
    if (in_blocks(s, j)) {
        lfuse__put(out, indent, "u32 q%d_%d[%d];", j, b, words);
        for (int w = 0; w < words; w++) lfuse__put(out, indent, "q%d_%d[%d] = 0;", j, b, w);
    } else {
        const int count = s->t.k->operands[j].inner == LFUSE__STRIDE_REPEAT ? 1 : s->vector;
        lfuse__put(out, indent, "S_%s s%d_%d[%d];", reg_of(s, j), j, b, count);
        for (int v = 0; v < count; v++) lfuse__put(out, indent, "s%d_%d[%d] = ZERO_%s;", j, b, v, reg_of(s, j));
    }
}

static void put_inside(const lfuse__strassen *s, int indent, int b)
{
    lfuse__put(s->t.out, indent, "if (row%d < m && column%d < n) {", b / s->side, b % s->side);
}

static void put_vector(const lfuse__strassen *s, int indent, int j, int b, bool load)
{
    char at[128], words[24] = "u_";
    place_of(s, j, b, "", at, sizeof at);
    if (load) snprintf(words, sizeof words, "q%d_%d", j, b);
    lfuse__put_product_vector(s->t.out, indent, s->t.k, j, s->vector, load, at, words);
}

/* Each element by itself, where it is inside. */
static void put_elements(const lfuse__strassen *s, int indent, int j, int b, bool load)
{
    const lfuse__kernel_operand *o = &s->t.k->operands[j];
    const bool repeats = load && o->inner == LFUSE__STRIDE_REPEAT;
    lfuse__strbuf *out = s->t.out;
    char at[128], text[192];
    place_of(s, j, b, " + v", at, sizeof at);
    if (load) lfuse__put_load(&s->t, j, at, text, sizeof text);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int v = 0; v < %d; v++)", repeats ? 1 : s->vector);
    lfuse__put(out, indent + 1, "if (row%d < m && column%d + v < n)", b / s->side, b % s->side);
    if (!load)
        lfuse__put(out, indent + 2, "STORE_%s(p%d, %s, z%d_%d[v]);", lfuse__memory_word(o->type), j, at, j, b);
    else if (in_blocks(s, j))
        lfuse__put(out, indent + 2, "PACK_%s(q%d_%d, v, %s);", lfuse__memory_word(o->type), j, b, text);
    else
        lfuse__put(out, indent + 2, "s%d_%d[v] = %s;", j, b, text);
}

static void put_words(const lfuse__strassen *s, int indent, int j, int b)
{
    lfuse__strbuf *out = s->t.out;
    const int words = lfuse__block_words(&s->t, j);
    lfuse__put(out, indent, "u32 u_[%d];", words);
    for (int w = 0; w < words; w++) lfuse__put(out, indent, "u_[%d] = 0;", w);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int v = 0; v < %d; v++) PACK_%s(u_, v, z%d_%d[v]);", s->vector,
               lfuse__memory_word(s->t.k->operands[j].type), j, b);
}

/* Loads or stores of blocks `first` ... of all plain operands. */
static void put_accesses(const lfuse__strassen *s, int indent, int first, bool load)
{
    lfuse__strbuf *out = s->t.out;
    for (int whole = 1; whole >= 0; whole--) {
        lfuse__put(out, indent, whole ? "if (vectors) {" : "} else {");
        for (int b = first; b < first + AT_A_TIME; b++)
            for (int j = LFUSE__PRODUCT_OWN; j < s->t.k->noperands; j++) {
                if (!(load ? s->t.loaded : s->t.stored)[j]) continue;
                if (!whole || !in_blocks(s, j)) {
                    put_elements(s, indent + 1, j, b, load);
                    continue;
                }
                put_inside(s, indent + 1, b);
                if (!load) put_words(s, indent + 2, j, b);
                put_vector(s, indent + 2, j, b, load);
                lfuse__put(out, indent + 1, "}");
            }
    }
    lfuse__put(out, indent, "}");
}

static void put_body(const lfuse__strassen *s, int indent, int b)
{
    lfuse__strbuf *out = s->t.out;
    const lfuse__kernel_class *k = s->t.k;
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int v = 0; v < %d; v++) {", s->vector);
    if (s->t.loaded[LFUSE__PRODUCT_SUM])
        lfuse__put(out, indent + 1, "const L_%s x%d = e%d[v];", s->sum, LFUSE__PRODUCT_SUM, b);
    for (int j = LFUSE__PRODUCT_OWN; j < k->noperands; j++) {
        const bool repeats = k->operands[j].inner == LFUSE__STRIDE_REPEAT;
        if (s->t.loaded[j] && in_blocks(s, j))
            lfuse__put(out, indent + 1, "const L_%s x%d = UNPACK_%s(q%d_%d, v);", reg_of(s, j), j,
                       lfuse__memory_word(k->operands[j].type), j, b);
        else if (s->t.loaded[j])
            lfuse__put(out, indent + 1, "const L_%s x%d = s%d_%d[%s];", reg_of(s, j), j, j, b, repeats ? "0" : "v");
    }
    for (int j = 0; j < k->noperands; j++)
        if (s->t.stored[j]) lfuse__put(out, indent + 1, "L_%s y%d;", reg_of(s, j), j);
    lfuse__put_body(&s->t, indent + 1, "");
    for (int j = LFUSE__PRODUCT_OWN; j < k->noperands; j++)
        if (s->t.stored[j]) lfuse__put(out, indent + 1, "z%d_%d[v] = y%d;", j, b, j);
    if (s->t.stored[LFUSE__STRASSEN_FACTORS])
        lfuse__put(out, indent + 1, "e%d[v] = row%d < m && column%d + v < n ? y%d : ZERO_%s;", b, b / s->side,
                   b % s->side, LFUSE__STRASSEN_FACTORS, s->sum);
    lfuse__put(out, indent, "}");
}

void lfuse__strassen_put_items(const lfuse__strassen *s, int indent)
{
    for (int r = 0; r < s->side; r++)
        lfuse__put(s->t.out, indent, "const u32 row%d = i + %d * high, column%d = j + %d * wide;", r, r, r, r);
    for (int first = 0; first < s->blocks; first += AT_A_TIME) {
        lfuse__put(s->t.out, indent, "{");
        for (int b = first; b < first + AT_A_TIME; b++)
            for (int j = LFUSE__PRODUCT_OWN; j < s->t.k->noperands; j++) put_arrays(s, indent + 1, j, b);
        put_accesses(s, indent + 1, first, true);
        for (int b = first; b < first + AT_A_TIME; b++) put_body(s, indent + 1, b);
        put_accesses(s, indent + 1, first, false);
        lfuse__put(s->t.out, indent, "}");
    }
}
