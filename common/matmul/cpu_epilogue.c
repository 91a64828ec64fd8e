/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the sums of a panel: the epilogue's body over rows and vectors of them, which lie at `sums`. */
#include "common/matmul/cpu.h"

static void put_load_whole(const lfuse__text *t, const lfuse__product_layout *l, int indent, int j)
{
    const lfuse__kernel_operand *o = &t->k->operands[j];
    const char *memory = lfuse__memory_word(o->type), *reg = lfuse__register_word(o->type);
    char at[128], load[192];

    if (o->inner == LFUSE__STRIDE_UNIT && !o->index) {
        lfuse__put_product_place(t->k, l, j, "i", "j", at, sizeof at);
        lfuse__put(t->out, indent, "x%d = LOADL_%s(p%d, %s);", j, memory, j, at);
        return;
    }
    lfuse__put_product_place(t->k, l, j, "i", o->inner == LFUSE__STRIDE_REPEAT ? "j" : "j + l", at, sizeof at);
    lfuse__put_load(t, j, at, load, sizeof load);
    if (o->inner == LFUSE__STRIDE_REPEAT) {
        lfuse__put(t->out, indent, "x%d = SPLAT_%s(%s);", j, reg, load);
        return;
    }
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) l%d[l] = %s;", j, load);
    lfuse__put(t->out, indent, "x%d = LANES_%s(l%d);", j, reg, j);
}

static void put_load_each(const lfuse__text *t, const lfuse__product_layout *l, int indent, int j)
{
    const char *reg = lfuse__register_word(t->k->operands[j].type);
    char at[128], load[192];

    lfuse__put_product_place(t->k, l, j, "i", "j + l", at, sizeof at);
    lfuse__put_load(t, j, at, load, sizeof load);
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) l%d[l] = ZERO_%s;", j, reg);
    lfuse__put(t->out, indent, "for (int l = 0; l < count; l++) l%d[l] = %s;", j, load);
    lfuse__put(t->out, indent, "x%d = LANES_%s(l%d);", j, reg, j);
}

static void put_store(const lfuse__text *t, const lfuse__product_layout *l, int indent, int j, bool whole)
{
    const lfuse__kernel_operand *o = &t->k->operands[j];
    const char *memory = lfuse__memory_word(o->type), *reg = lfuse__register_word(o->type);
    char at[128];

    if (whole && o->inner == LFUSE__STRIDE_UNIT) {
        lfuse__put_product_place(t->k, l, j, "i", "j", at, sizeof at);
        lfuse__put(t->out, indent, "STOREL_%s(p%d, %s, y%d);", memory, j, at, j);
        return;
    }
    lfuse__put_product_place(t->k, l, j, "i", "j + l", at, sizeof at);
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
    lfuse__put(t->out, indent, "SPREAD_%s(l%d, y%d);", reg, j, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < count; l++) STORE_%s(p%d, %s, l%d[l]);", memory, j, at, j);
}

void lfuse__cpu_put_load(const lfuse__text *t, const lfuse__product_layout *l, int indent, int j, bool whole)
{
    if (whole) put_load_whole(t, l, indent, j);
    else put_load_each(t, l, indent, j);
}

void lfuse__cpu_put_epilogue(const lfuse__text *t, const lfuse__product_layout *l, int indent)
{
    const lfuse__product_class *p = &t->k->product;
    lfuse__strbuf *out = t->out;

    lfuse__put(out, indent, "for (int r = 0; r < rows; r++)");
    lfuse__put(out, indent + 1, "for (int v = 0; v < columns; v += LANES) {");
    lfuse__put(out, indent + 2, "const i64 i = row + r, j = column + v;");
    lfuse__put(out, indent + 2, "const int count = columns - v < LANES ? columns - v : LANES;");
    for (int j = LFUSE__PRODUCT_SUM; j < t->k->noperands; j++) {
        if (t->loaded[j]) lfuse__put(out, indent + 2, "L_%s x%d;", lfuse__register_word(t->k->operands[j].type), j);
        if (t->stored[j]) lfuse__put(out, indent + 2, "L_%s y%d;", lfuse__register_word(t->k->operands[j].type), j);
    }
    if (t->loaded[LFUSE__PRODUCT_SUM])
        lfuse__put(out, indent + 2, "x%d = LOADL_%s(sums, r * %d + v);", LFUSE__PRODUCT_SUM,
                   lfuse__memory_word(p->sum), p->columns);
    for (int whole = 1; whole >= 0; whole--) {
        lfuse__put(out, indent + 2, whole ? "if (count == LANES) {" : "} else {");
        for (int j = LFUSE__PRODUCT_OWN; j < t->k->noperands; j++)
            if (t->loaded[j]) lfuse__cpu_put_load(t, l, indent + 3, j, whole);
    }
    lfuse__put(out, indent + 2, "}");
    lfuse__put(out, indent + 2, "{");
    lfuse__put_body(t, indent + 3, "");
    lfuse__put(out, indent + 2, "}");
    for (int whole = 1; whole >= 0; whole--) {
        lfuse__put(out, indent + 2, whole ? "if (count == LANES) {" : "} else {");
        for (int j = LFUSE__PRODUCT_OWN; j < t->k->noperands; j++)
            if (t->stored[j]) put_store(t, l, indent + 3, j, whole);
    }
    lfuse__put(out, indent + 2, "}");
    lfuse__put(out, indent + 1, "}");
}
