/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands of skinny products that are made where they are read: vectors of everything that an element of the wide one
 * takes, where all of that is aligned, then its work over their elements; of the other one element after element, which
 * all work-items of a team or all teams have in common.
 */
#include <stdio.h>

#include "common/matmul/skinny.h"

static bool in_vectors(const lfuse__text *t, int j)
{
    return lfuse__in_blocks(&t->k->operands[j]);
}

/* x<j>, the operands' elements at `outer` and `inner` of what is stored. */
static void put_elements(const lfuse__skinny_text *s, const lfuse__text *t, int indent, const char *outer,
                         const char *inner)
{
    char at[160], load[224];
    for (int j = LFUSE__PRODUCT_OWN; j < t->k->noperands; j++) {
        if (!t->loaded[j]) continue;
        lfuse__put_product_place(t->k, &s->t->l, j, outer, inner, at, sizeof at);
        lfuse__put_load(t, j, at, load, sizeof load);
        lfuse__put(s->out, indent, "const L_%s x%d = %s;", lfuse__register_word(t->k->operands[j].type), j, load);
    }
}

/* Vector u of each operand that lies in vectors, into q<j>; numbers of others, one a vector where they repeat. */
static void put_vectors(const lfuse__skinny_text *s, const lfuse__text *t, int indent)
{
    char at[160], load[224], words[32];
    for (int j = LFUSE__PRODUCT_OWN; j < t->k->noperands; j++) {
        const bool repeats = t->k->operands[j].inner == LFUSE__STRIDE_REPEAT;
        if (!t->loaded[j]) continue;
        lfuse__put_product_place(t->k, &s->t->l, j, "outer", in_vectors(t, j) || repeats ? "inner" : "(inner + e)", at,
                                 sizeof at);
        if (in_vectors(t, j)) {
            snprintf(words, sizeof words, "q%d + u * %d", j, lfuse__block_words(t, j));
            lfuse__put_product_vector(s->out, indent, t->k, j, s->v, true, at, words);
            continue;
        }
        lfuse__put_load(t, j, at, load, sizeof load);
        if (repeats) {
            lfuse__put(s->out, indent, "s%d[u] = %s;", j, load);
            continue;
        }
        lfuse__put(s->out, 0, "#pragma unroll");
        lfuse__put(s->out, indent, "for (int e = 0; e < %d; e++) s%d[u * %d + e] = %s;", s->v, j, s->v, load);
    }
}

static void put_arrays(const lfuse__skinny_text *s, const lfuse__text *t, int indent)
{
    for (int j = LFUSE__PRODUCT_OWN; j < t->k->noperands; j++) {
        const bool repeats = t->k->operands[j].inner == LFUSE__STRIDE_REPEAT;
        if (!t->loaded[j]) continue;
        if (in_vectors(t, j)) lfuse__put(s->out, indent, "u32 q%d[%d];", j, s->v * lfuse__block_words(t, j));
        else
            lfuse__put(s->out, indent, "S_%s s%d[%d];", lfuse__register_word(t->k->operands[j].type), j,
                       repeats ? s->v : s->v * s->v);
    }
}

/* computed_ of what put_vectors has loaded. */
static void put_work(const lfuse__skinny_text *s, const lfuse__text *t, int indent)
{
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent, "for (int i_ = 0; i_ < %d; i_++) {", s->v * s->v);
    lfuse__put(s->out, indent + 1, "const int u = i_ / %d, e = i_ %% %d;", s->v, s->v);
    for (int j = LFUSE__PRODUCT_OWN; j < t->k->noperands; j++) {
        const lfuse__kernel_operand *o = &t->k->operands[j];
        const char *reg = lfuse__register_word(o->type);
        if (!t->loaded[j]) continue;
        if (in_vectors(t, j))
            lfuse__put(s->out, indent + 1, "const L_%s x%d = UNPACK_%s(q%d + u * %d, e);", reg, j,
                       lfuse__memory_word(o->type), j, lfuse__block_words(t, j));
        else
            lfuse__put(s->out, indent + 1, "const L_%s x%d = s%d[%s];", reg, j, j,
                       o->inner == LFUSE__STRIDE_REPEAT ? "u" : "i_");
    }
    lfuse__put_slice(t, indent + 1, s->wide_prologue - 1, "");
    lfuse__put(s->out, indent + 1, "computed_[i_] = r%d;", s->wide_prologue - 1);
    lfuse__put(s->out, indent, "}");
}

void lfuse__skinny_put_wide(const void *skinny_text, int which, int indent)
{
    const lfuse__skinny_text *s = skinny_text;
    lfuse__text t;
    (void)which;
    lfuse__product_text_prologue(&s->t->t, s->wide, &t);
    lfuse__put(s->out, indent, "S_%s computed_[%d];", s->t->sum, s->v * s->v);
    lfuse__put(s->out, indent, "if (wide_vectors && l + %d <= k) {", s->v);
    put_arrays(s, &t, indent + 1);
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent + 1, "for (u32 u = 0; u < %d; u++) {", s->v);
    if (s->wide_k_contiguous)
        lfuse__put(s->out, indent + 2, "const u32 outer = at + u < %s ? at + u : %s - 1, inner = l;", s->length,
                   s->length);
    else lfuse__put(s->out, indent + 2, "const u32 outer = l + u, inner = at < %s ? at : 0;", s->length);
    put_vectors(s, &t, indent + 2);
    lfuse__put(s->out, indent + 1, "}");
    put_work(s, &t, indent + 1);
    lfuse__put(s->out, indent, "} else {");
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent + 1, "for (int i_ = 0; i_ < %d; i_++) {", s->v * s->v);
    lfuse__put(s->out, indent + 2, "const u32 outer = %s + i_ / %d, inner = %s + i_ %% %d;",
               s->wide_k_contiguous ? "at" : "l", s->v, s->wide_k_contiguous ? "l" : "at", s->v);
    lfuse__put(s->out, indent + 2, "computed_[i_] = ZERO_%s;", s->t->sum);
    lfuse__put(s->out, indent + 2, "if (%s < %s && %s < k) {", s->wide_k_contiguous ? "outer" : "inner", s->length,
               s->wide_k_contiguous ? "inner" : "outer");
    put_elements(s, &t, indent + 3, "outer", "inner");
    lfuse__put_slice(&t, indent + 3, s->wide_prologue - 1, "");
    lfuse__put(s->out, indent + 3, "computed_[i_] = r%d;", s->wide_prologue - 1);
    lfuse__put(s->out, indent + 2, "}");
    lfuse__put(s->out, indent + 1, "}");
    lfuse__put(s->out, indent, "}");
}

void lfuse__skinny_put_other(const void *skinny_text, int which, int indent)
{
    const lfuse__skinny_text *s = skinny_text;
    lfuse__text t;
    (void)which;
    lfuse__product_text_prologue(&s->t->t, s->other, &t);
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent, "for (int i = 0; i < %d; i++) {", s->few * s->v);
    lfuse__put(s->out, indent + 1, "const u32 row = i / %d, q = l + i %% %d;", s->v, s->v);
    lfuse__put(s->out, indent + 1, "f[i] = ZERO_%s;", s->t->sum);
    lfuse__put(s->out, indent + 1, "if (row < %s && q < k) {", s->count);
    put_elements(s, &t, indent + 2, s->other_k_contiguous ? "row" : "q", s->other_k_contiguous ? "q" : "row");
    lfuse__put_slice(&t, indent + 2, s->other_prologue - 1, "");
    lfuse__put(s->out, indent + 2, "f[i] = r%d;", s->other_prologue - 1);
    lfuse__put(s->out, indent + 1, "}");
    lfuse__put(s->out, indent, "}");
}
