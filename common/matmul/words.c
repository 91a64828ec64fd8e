/* SPDX-License-Identifier: Apache-2.0 */
/* Argument words of products. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/matmul/grouped.h"

void lfuse__product_sides(const lfuse__kernel_class *c, int8_t *sides)
{
    memset(sides, -1, (size_t)c->noperands * sizeof *sides);
    for (int i = 0; i < LFUSE__PRODUCT_SUM; i++) {
        if (!c->product.prologue[i]) continue;
        bool needed[LFUSE__MAX_INSTRUCTIONS] = {false}, loaded[LFUSE__MAX_OPERANDS] = {false};
        lfuse__body_loads(c->body, c->product.prologue[i] - 1, needed, loaded);
        for (int j = 0; j < c->noperands; j++)
            if (loaded[j]) sides[j] = (int8_t)i;
    }
}

/* What is marked as uniform is written nowhere in the body. */
void lfuse__product_text_limit(lfuse__text *t, const bool *needed)
{
    const lfuse__body *body = t->k->body;
    memset(t->loaded, 0, sizeof t->loaded);
    for (int i = 0; i < body->ninstr; i++) {
        t->uniform[i] = !needed[i];
        if (needed[i] && body->instr[i].kind == LFUSE__I_LOAD) t->loaded[body->instr[i].a] = true;
    }
}

void lfuse__product_text_own(lfuse__text *t)
{
    const lfuse__body *body = t->k->body;
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false};
    if (!t->k->product.prologue[0] && !t->k->product.prologue[1]) return;
    for (int i = 0; i < body->nstores; i++) needed[body->stores[i].reg] = true;
    lfuse__body_needs(body, NULL, needed);
    lfuse__product_text_limit(t, needed);
}

void lfuse__product_text_prologue(const lfuse__text *t, int i, lfuse__text *made)
{
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false};
    *made = *t;
    memset(made->uniform, 0, sizeof made->uniform);
    memset(made->loaded, 0, sizeof made->loaded);
    memset(made->stored, 0, sizeof made->stored);
    lfuse__body_loads(t->k->body, t->k->product.prologue[i] - 1, needed, made->loaded);
}

void lfuse__product_layout_make(const lfuse__kernel_class *c, lfuse__product_layout *layout)
{
    const bool variables = c->family == LFUSE__FAMILY_GROUPED; /* which the kernel makes of each member's sizes */
    int j, at = variables ? 0 : c->noperands;

    layout->word = variables ? "OF_" : "W";
    layout->m = at++;
    layout->n = at++;
    layout->k = at++;
    layout->lda = at++;
    layout->ldb = at++;
    layout->workspace = variables ? -1 : at++;
    layout->batch = c->product.batched ? at++ : -1;
    for (j = 0; j < LFUSE__MAX_OPERANDS; j++) layout->rows[j] = layout->columns[j] = layout->apart[j] = -1;
    for (j = 0; j < c->noperands && c->product.batched; j++)
        if (j != LFUSE__PRODUCT_SUM) layout->apart[j] = at++;
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++) {
        layout->rows[j] = at++;
        if (c->operands[j].inner == LFUSE__STRIDE_ANY) layout->columns[j] = at++;
    }
    layout->numbers = variables ? LFUSE__GROUPED_NUMBERS : at;
    layout->own = variables ? at : at + c->body->nnumbers;
}

lfuse_status lfuse__product_layout_pack(const lfuse__kernel_class *c, const lfuse__geometry *g, int own,
                                        lfuse__packed *packed)
{
    const int most = LFUSE__ARGUMENT_BYTES / 8 - lfuse__kernel_buffers(c);
    uint64_t *words = packed->words;
    lfuse__product_layout l;
    int j;

    lfuse__product_layout_make(c, &l);
    if (l.own + own > most)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a product with %d operands and %d numbers needs %d argument words; "
                            "a kernel takes %d", c->noperands, c->body->nnumbers, l.own + own, most);
    packed->nwords = (unsigned)(l.own + own);
    for (j = 0; j < c->noperands; j++) words[j] = g->offsets[j];
    words[l.m] = (uint64_t)g->extents[0];
    words[l.n] = (uint64_t)g->extents[1];
    words[l.k] = (uint64_t)g->extents[2];
    words[l.lda] = (uint64_t)g->strides[LFUSE__PRODUCT_A][0];
    words[l.ldb] = (uint64_t)g->strides[LFUSE__PRODUCT_B][0];
    words[l.workspace] = g->partials;
    if (l.batch >= 0) words[l.batch] = (uint64_t)g->extents[LFUSE__PRODUCT_BATCH];
    for (j = 0; j < c->noperands; j++)
        if (l.apart[j] >= 0)
            words[l.apart[j]] = (uint64_t)g->strides[j][LFUSE__PRODUCT_BATCH] * lfuse__type_bytes(c->operands[j].type);
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++) {
        words[l.rows[j]] = (uint64_t)g->strides[j][0];
        if (l.columns[j] >= 0) words[l.columns[j]] = (uint64_t)g->strides[j][1];
    }
    lfuse__numbers_pack(c->body, g->numbers, words + l.numbers);
    return LFUSE_OK;
}

void lfuse__put_product_place(const lfuse__kernel_class *c, const lfuse__product_layout *layout, int j,
                              const char *row, const char *column, char *text, size_t size)
{
    if (c->operands[j].inner == LFUSE__STRIDE_UNIT)
        snprintf(text, size, "((i64)(%s) * (i64)%s(%d) + (i64)(%s))", row, layout->word, layout->rows[j],
                 column);
    else if (layout->columns[j] >= 0)
        snprintf(text, size, "((i64)(%s) * (i64)%s(%d) + (i64)(%s) * (i64)%s(%d))", row, layout->word,
                 layout->rows[j], column, layout->word, layout->columns[j]);
    else
        snprintf(text, size, "((i64)(%s) * (i64)%s(%d))", row, layout->word, layout->rows[j]);
}

void lfuse__put_product_first(const lfuse__product_layout *layout, int j, char *text, size_t size)
{
    if (*layout->word != 'W') snprintf(text, size, "p%d", j);
    else if (layout->apart[j] >= 0) snprintf(text, size, "BUFFER(%d) + W(%d) + matrix * W(%d)", j, j, layout->apart[j]);
    else snprintf(text, size, "BUFFER(%d) + W(%d)", j, j);
}

void lfuse__put_product_memory(lfuse__strbuf *out, int indent, const lfuse__kernel_class *c,
                               const lfuse__product_layout *layout)
{
    char first[96];
    int j;

    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++) {
        lfuse__put_product_first(layout, j, first, sizeof first);
        if (!c->operands[j].index) lfuse__put(out, indent, "memory p%d = %s;", j, first);
    }
}

void lfuse__put_product_vector(lfuse__strbuf *out, int indent, const lfuse__kernel_class *c, int j, int vector,
                               bool load, const char *at, const char *words)
{
    const unsigned size = lfuse__type_bytes(c->operands[j].type), bytes = size * (unsigned)vector;
    const unsigned each = bytes < 16 ? bytes : 16;
    unsigned done;

    for (done = 0; done < bytes; done += each)
        if (load)
            lfuse__put(out, indent, "LOADB_%u(%s + %u, p%d + %s * %u + %u);", each, words, done / 4, j, at, size, done);
        else
            lfuse__put(out, indent, "STOREB_%u(p%d + %s * %u + %u, %s + %u);", each, j, at, size, done, words,
                       done / 4);
}

bool lfuse__product_aligned(const lfuse__kernel_class *c, const lfuse__geometry *g, int j, int vector)
{
    const uint64_t all = (uint64_t)lfuse__type_bytes(c->operands[j].type) * (unsigned)vector;
    const int64_t apart = c->product.batched ? g->strides[j][LFUSE__PRODUCT_BATCH] : 0;

    return g->strides[j][0] % vector == 0 && apart % vector == 0 && g->addresses[j] % (all < 16 ? all : 16) == 0;
}

bool lfuse__product_side_aligned(const lfuse__kernel_class *c, const lfuse__geometry *g, int side, int vector)
{
    int8_t sides[LFUSE__MAX_OPERANDS];
    int j;

    if (side < 0 && g->extents[1] % vector) return false;
    lfuse__product_sides(c, sides);
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++)
        if (sides[j] == side && lfuse__in_blocks(&c->operands[j]) && !lfuse__product_aligned(c, g, j, vector))
            return false;
    return true;
}
