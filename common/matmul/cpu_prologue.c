/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands of products on CPUs that are made where they are packed: the part that a panel takes of one is computed, in
 * lanes along its memory, to where the packing reads it as if it lay there; of B that is not transposed, to the panel
 * itself.
 */
#include <stdio.h>

#include "common/matmul/cpu.h"

/* Elements from `outer` and `inner` on, so many of each, to `to`, `pitch` elements apart. */
static void put_part(const lfuse__cpu_text *x, int indent, int side, const char *outer, const char *inner,
                     const char *high, const char *wide, const char *to, const char *pitch)
{
    const lfuse__text *t = &x->t;
    lfuse__strbuf *out = t->out;
    lfuse__text made;

    lfuse__product_text_prologue(t, side, &made);
    lfuse__put(out, indent, "{");
    lfuse__put(out, indent + 1, "const i64 outer_ = %s, inner_ = %s;", outer, inner);
    lfuse__put(out, indent + 1, "const int high_ = %s, wide_ = %s;", high, wide);
    lfuse__put(out, indent + 1, "memory to_ = %s;", to);
    lfuse__put(out, indent + 1, "for (int r = 0; r < high_; r++)");
    lfuse__put(out, indent + 2, "for (int v = 0; v < wide_; v += LANES) {");
    lfuse__put(out, indent + 3, "const i64 i = outer_ + r, j = inner_ + v;");
    lfuse__put(out, indent + 3, "const int count = wide_ - v < LANES ? wide_ - v : LANES;");
    for (int j = LFUSE__PRODUCT_OWN; j < t->k->noperands; j++)
        if (made.loaded[j]) lfuse__put(out, indent + 3, "L_%s x%d;", lfuse__register_word(t->k->operands[j].type), j);
    lfuse__put_product_lanes(&made, &x->l, indent + 3, true, "i", "j");
    lfuse__put(out, indent + 3, "{");
    lfuse__put_slice(&made, indent + 4, t->k->product.prologue[side] - 1, "");
    lfuse__put(out, indent + 4, "STOREL_%s(to_, r * %s + v, r%d);", lfuse__memory_word(t->k->product.sum), pitch,
               t->k->product.prologue[side] - 1);
    lfuse__put(out, indent + 3, "}");
    lfuse__put(out, indent + 2, "}");
    lfuse__put(out, indent, "}");
}

static void put_a(const lfuse__cpu_text *x, int indent)
{
    const bool transposed = x->t.k->product.ta;

    if (transposed) put_part(x, indent, LFUSE__PRODUCT_A, "at", "row", "depth", "rows", "computed_a", "pitch_a");
    else put_part(x, indent, LFUSE__PRODUCT_A, "row", "at", "rows", "depth", "computed_a", "pitch_a");
}

static void put_b(const lfuse__cpu_text *x, int indent)
{
    const lfuse__product_class *p = &x->t.k->product;
    char count[64], panel[64], pitch[16];

    snprintf(count, sizeof count, "(int)(wide - j < %d ? wide - j : %d)", p->columns, p->columns);
    snprintf(panel, sizeof panel, "panels + j * depth * %u", lfuse__type_bytes(p->sum));
    snprintf(pitch, sizeof pitch, "%d", p->columns);
    if (p->tb) put_part(x, indent, LFUSE__PRODUCT_B, "first_column + j", "at", count, "depth", "computed_b", "pitch_b");
    else put_part(x, indent, LFUSE__PRODUCT_B, "at", "first_column + j", "depth", count, panel, pitch);
}

void lfuse__cpu_put_prologue(const void *cpu_text, int operand, int indent)
{
    (operand == LFUSE__PRODUCT_A ? put_a : put_b)(cpu_text, indent);
}
