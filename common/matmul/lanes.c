/* SPDX-License-Identifier: Apache-2.0 */
/* What an epilogue loads and stores on CPUs: LANES neighbouring columns of a row, or `count` where the row ends. */
#include <stdio.h>

#include "common/matmul/problem.h"

static void put_load_whole(const lfuse__text *t, const lfuse__product_layout *l, int indent, int j, const char *row,
                           const char *column)
{
    const lfuse__kernel_operand *o = &t->k->operands[j];
    const char *reg = lfuse__register_word(o->type);
    char at[128], load[192], each[32];

    if (lfuse__in_blocks(o)) {
        lfuse__put_product_place(t->k, l, j, row, column, at, sizeof at);
        lfuse__put(t->out, indent, "x%d = LOADL_%s(p%d, %s);", j, lfuse__memory_word(o->type), j, at);
        return;
    }
    snprintf(each, sizeof each, "%s%s", column, o->inner == LFUSE__STRIDE_REPEAT ? "" : " + l");
    lfuse__put_product_place(t->k, l, j, row, each, at, sizeof at);
    lfuse__put_load(t, j, at, load, sizeof load);
    if (o->inner == LFUSE__STRIDE_REPEAT) {
        lfuse__put(t->out, indent, "x%d = SPLAT_%s(%s);", j, reg, load);
        return;
    }
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) l%d[l] = %s;", j, load);
    lfuse__put(t->out, indent, "x%d = LANES_%s(l%d);", j, reg, j);
}

static void put_load_each(const lfuse__text *t, const lfuse__product_layout *l, int indent, int j, const char *row,
                          const char *column)
{
    const char *reg = lfuse__register_word(t->k->operands[j].type);
    char at[128], load[192], each[32];

    snprintf(each, sizeof each, "%s + l", column);
    lfuse__put_product_place(t->k, l, j, row, each, at, sizeof at);
    lfuse__put_load(t, j, at, load, sizeof load);
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) l%d[l] = ZERO_%s;", j, reg);
    lfuse__put(t->out, indent, "for (int l = 0; l < count; l++) l%d[l] = %s;", j, load);
    lfuse__put(t->out, indent, "x%d = LANES_%s(l%d);", j, reg, j);
}

static void put_store(const lfuse__text *t, const lfuse__product_layout *l, int indent, int j, bool whole,
                      const char *row, const char *column)
{
    const lfuse__kernel_operand *o = &t->k->operands[j];
    const char *memory = lfuse__memory_word(o->type), *reg = lfuse__register_word(o->type);
    char at[128], each[32];

    if (whole && o->inner == LFUSE__STRIDE_UNIT) {
        lfuse__put_product_place(t->k, l, j, row, column, at, sizeof at);
        lfuse__put(t->out, indent, "STOREL_%s(p%d, %s, y%d);", memory, j, at, j);
        return;
    }
    snprintf(each, sizeof each, "%s + l", column);
    lfuse__put_product_place(t->k, l, j, row, each, at, sizeof at);
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
    lfuse__put(t->out, indent, "SPREAD_%s(l%d, y%d);", reg, j, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < count; l++) STORE_%s(p%d, %s, l%d[l]);", memory, j, at, j);
}

void lfuse__put_product_lanes(const lfuse__text *t, const lfuse__product_layout *l, int indent, bool load,
                              const char *row, const char *column)
{
    for (int whole = 1; whole >= 0; whole--) {
        lfuse__put(t->out, indent, whole ? "if (count == LANES) {" : "} else {");
        for (int j = LFUSE__PRODUCT_OWN; j < t->k->noperands; j++) {
            if (!load && t->stored[j]) put_store(t, l, indent + 1, j, whole, row, column);
            if (load && t->loaded[j])
                (whole ? put_load_whole : put_load_each)(t, l, indent + 1, j, row, column);
        }
    }
    lfuse__put(t->out, indent, "}");
}
