/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes form of element-wise work: one work-item goes through a run of elements, LANES at a time. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>

#include "common/kernels/emit.h"

static void put_load_whole(const lfuse__text *t, int indent, int j)
{
    const char *memory = lfuse__memory_word(t->k->operands[j].type),
        *reg = lfuse__register_word(t->k->operands[j].type);
    char stride[32];
    switch (t->k->operands[j].inner) {
    case LFUSE__STRIDE_UNIT:
        lfuse__put(t->out, indent, "x%d = LOADL_%s(p%d, (i64)(b%d + j));", j, memory, j, j);
        break;
    case LFUSE__STRIDE_REPEAT:
        lfuse__put(t->out, indent, "x%d = SPLAT_%s(LOAD_%s(p%d, b%d));", j, reg, memory, j, j);
        break;
    case LFUSE__STRIDE_ANY:
        lfuse__put_stride(t, j, t->k->rank - 1, stride, sizeof stride);
        lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
        lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) l%d[l] = LOAD_%s(p%d, b%d + (j + l) * %s);", j,
                   memory, j,
                   j, stride);
        lfuse__put(t->out, indent, "x%d = LANES_%s(l%d);", j, reg, j);
        break;
    }
}

/* Lanes that cross rows or end early: each by itself. */
static void put_loads_each(const lfuse__text *t, int indent)
{
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j])
            lfuse__put(t->out, indent, "S_%s l%d[LANES];", lfuse__register_word(t->k->operands[j].type), j);
    lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) {");
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j]) lfuse__put(t->out, indent + 1, "l%d[l] = ZERO_%s;", j,
                                     lfuse__register_word(t->k->operands[j].type));
    lfuse__put(t->out, indent + 1, "if (l >= count) continue;");
    lfuse__put_offsets(t, indent + 1, "i + l", LFUSE__AT_LOADED);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j])
            lfuse__put(t->out, indent + 1, "l%d[l] = LOAD_%s(p%d, o%d);", j,
                       lfuse__memory_word(t->k->operands[j].type), j, j);
    lfuse__put(t->out, indent, "}");
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j])
            lfuse__put(t->out, indent, "x%d = LANES_%s(l%d);", j, lfuse__register_word(t->k->operands[j].type), j);
}

static void put_store_whole(const lfuse__text *t, int indent, int j)
{
    const char *memory = lfuse__memory_word(t->k->operands[j].type),
        *reg = lfuse__register_word(t->k->operands[j].type);
    char stride[32] = "0";
    if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) {
        lfuse__put(t->out, indent, "STOREL_%s(p%d, (i64)(b%d + j), y%d);", memory, j, j, j);
        return;
    }
    if (t->k->operands[j].inner == LFUSE__STRIDE_ANY) lfuse__put_stride(t, j, t->k->rank - 1, stride, sizeof stride);
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
    lfuse__put(t->out, indent, "SPREAD_%s(l%d, y%d);", reg, j, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) STORE_%s(p%d, b%d + (j + l) * %s, l%d[l]);", memory,
               j, j,
               stride, j);
}

static void put_stores_each(const lfuse__text *t, int indent)
{
    for (int j = 0; j < t->k->noperands; j++) {
        const char *reg = lfuse__register_word(t->k->operands[j].type);
        if (!t->stored[j]) continue;
        lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
        lfuse__put(t->out, indent, "SPREAD_%s(l%d, y%d);", reg, j, j);
    }
    lfuse__put(t->out, indent, "for (int l = 0; l < count; l++) {");
    lfuse__put_offsets(t, indent + 1, "i + l", LFUSE__AT_STORED);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->stored[j])
            lfuse__put(t->out, indent + 1, "STORE_%s(p%d, o%d, l%d[l]);", lfuse__memory_word(t->k->operands[j].type),
                       j, j, j);
    lfuse__put(t->out, indent, "}");
}

/* `left`: how many elements stand behind i in its row and in the share; found anew where it runs out. */
static void put_row_position(const lfuse__text *t, int indent)
{
    const bool split = t->layout && t->k->rank > 1;
    if (!split) {
        lfuse__put(t->out, indent, "j = (%s)i;", t->ix);
        lfuse__put(t->out, indent, "left = (%s)(last - i);", t->ix);
        return;
    }
    const int d = t->layout->division + (t->k->rank - 2) * (t->k->index64 ? 2 : 1);
    lfuse__put(t->out, indent, "if (left < LANES) {");
    lfuse__put_offsets(t, indent + 1, "i", LFUSE__AT_LOADED | LFUSE__AT_STORED | LFUSE__AT_ROW);
    lfuse__put(t->out, indent + 1, "left = (%s)(%s)W(%d) - j;", t->ix, t->k->index64 ? "u64" : "u32", d);
    lfuse__put(t->out, indent + 1, "if ((%s)left > last - i) left = (%s)(last - i);", t->ux, t->ix);
    lfuse__put(t->out, indent, "}");
}

void lfuse__put_lanes_run(const lfuse__text *t, int indent)
{
    lfuse__strbuf *out = t->out;
    const bool split = t->layout && t->k->rank > 1;
    lfuse__put(out, indent, "%s j = 0, left = 0;", t->ix);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j] || t->stored[j]) lfuse__put(out, indent, "%s b%d = 0;", t->ix, j);
    lfuse__put(out, indent, "for (%s i = first; i < last; i += LANES) {", t->ux);
    put_row_position(t, indent + 1);
    lfuse__put(out, indent + 1, "const int whole = left >= LANES;");
    lfuse__put(out, indent + 1, "const int count = last - i < LANES ? (int)(last - i) : LANES;");
    for (int j = 0; j < t->k->noperands; j++) {
        const char *reg = lfuse__register_word(t->k->operands[j].type);
        if (t->loaded[j]) lfuse__put(out, indent + 1, "L_%s x%d;", reg, j);
        if (t->stored[j]) lfuse__put(out, indent + 1, "L_%s y%d;", reg, j);
    }
    lfuse__put(out, indent + 1, "if (whole) {");
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j]) put_load_whole(t, indent + 2, j);
    lfuse__put(out, indent + 1, "} else {");
    put_loads_each(t, indent + 2);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent + 1, "{");
    lfuse__put_body(t, indent + 2, "");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent + 1, "if (whole) {");
    for (int j = 0; j < t->k->noperands; j++)
        if (t->stored[j]) put_store_whole(t, indent + 2, j);
    lfuse__put(out, indent + 1, "} else {");
    put_stores_each(t, indent + 2);
    lfuse__put(out, indent + 1, "}");
    if (split) {
        lfuse__put(out, indent + 1, "left -= LANES;");
        lfuse__put(out, indent + 1, "j += LANES;");
    }
    lfuse__put(out, indent, "}");
}
