/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes form of element-wise work: one work-item goes through a run of elements, LANES at a time. */
#include <stdio.h>

#include "common/kernels/emit.h"

/* Element offset of lane l of a row. */
static void put_lane(const lfuse__text *t, int j, char *at, size_t size)
{
    char stride[32];
    if (lfuse__repeats_lines(&t->k->operands[j])) {
        lfuse__put_line_place(t, j, "j + l", at, size);
    } else if (t->k->operands[j].inner == LFUSE__STRIDE_REPEAT) {
        snprintf(at, size, "b%d", j);
    } else if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) {
        snprintf(at, size, "b%d + (j + l)", j);
    } else {
        lfuse__put_stride(t, j, t->k->rank - 1, stride, sizeof stride);
        snprintf(at, size, "b%d + (j + l) * %s", j, stride);
    }
}

static void put_load_whole(const lfuse__text *t, int indent, int j)
{
    const char *memory = lfuse__memory_word(t->k->operands[j].type),
        *reg = lfuse__register_word(t->k->operands[j].type);
    char at[96], load[128];
    put_lane(t, j, at, sizeof at);
    lfuse__put_load(t, j, at, load, sizeof load);
    if (lfuse__in_blocks(&t->k->operands[j])) {
        lfuse__put(t->out, indent, "x%d = LOADL_%s(p%d, (i64)(b%d + j));", j, memory, j, j);
    } else if (t->k->operands[j].inner == LFUSE__STRIDE_REPEAT) {
        lfuse__put(t->out, indent, "x%d = SPLAT_%s(%s);", j, reg, load);
    } else {
        lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
        lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) l%d[l] = %s;", j, load);
        lfuse__put(t->out, indent, "x%d = LANES_%s(l%d);", j, reg, j);
    }
}

/*
 * Values of one gathered load. `whole`: lanes that stand in one row, where one index may do for all of them; else every
 * lane has a place of its own.
 */
static void put_gather(const lfuse__text *t, int indent, int at, bool whole)
{
    const int j = t->k->body->instr[at].a, reg = t->k->body->instr[at].b;
    const char *memory = lfuse__memory_word(t->k->operands[j].type),
        *word = lfuse__register_word(t->k->operands[j].type),
        *index = lfuse__register_word(t->k->body->instr[reg].type);
    const bool row = whole && t->k->operands[j].inner == LFUSE__STRIDE_UNIT && lfuse__gather_steady(t->k, at);
    char place[64], more[48], value[24];
    snprintf(value, sizeof value, "m%d[%s]", at, row ? "0" : "l");
    lfuse__put_look_up_offset(t, at, more, sizeof more);
    lfuse__put(t->out, indent, "S_%s m%d[LANES];", index, at);
    lfuse__put(t->out, indent, "{");
    lfuse__put_slice(t, indent + 1, reg, "");
    lfuse__put(t->out, indent + 1, "SPREAD_%s(m%d, r%d);", index, at, reg);
    lfuse__put(t->out, indent, "}");
    if (row) {
        lfuse__put_look_up(t, indent, at, value, "i");
        lfuse__put(t->out, indent, "g%d = SPLAT_%s(ZERO_%s);", at, word, word);
        lfuse__put(t->out, indent, "if (n%d >= 0) g%d = LOADL_%s(p%d, (i64)(b%d + j) + %s);", at, at, memory, j, j,
                   more);
        return;
    }
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", word, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) {");
    lfuse__put(t->out, indent + 1, "l%d[l] = ZERO_%s;", j, word);
    if (whole) {
        put_lane(t, j, place, sizeof place);
    } else {
        lfuse__put(t->out, indent + 1, "if (l >= count) continue;");
        lfuse__put_offset(t, indent + 1, "i + l", j);
        snprintf(place, sizeof place, "o%d", j);
    }
    lfuse__put_look_up(t, indent + 1, at, value, "i + l");
    lfuse__put(t->out, indent + 1, "if (n%d >= 0) l%d[l] = LOAD_%s(p%d, %s + %s);", at, j, memory, j, place, more);
    lfuse__put(t->out, indent, "}");
    lfuse__put(t->out, indent, "g%d = LANES_%s(l%d);", at, word, j);
}

static void put_gathers(const lfuse__text *t, int indent, bool whole)
{
    for (int i = 0; i < t->k->body->ninstr; i++) {
        if (!lfuse__is_gather(t->k, &t->k->body->instr[i])) continue;
        lfuse__put(t->out, indent, "{");
        put_gather(t, indent + 1, i, whole);
        lfuse__put(t->out, indent, "}");
    }
}

/* Lanes that cross rows or end early: each by itself. */
static void put_loads_each(const lfuse__text *t, int indent)
{
    char at[96], load[128];
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
        if (t->loaded[j]) {
            snprintf(at, sizeof at, "o%d", j);
            if (lfuse__repeats_lines(&t->k->operands[j])) lfuse__put_line_place(t, j, "i + l", at, sizeof at);
            lfuse__put_load(t, j, at, load, sizeof load);
            lfuse__put(t->out, indent + 1, "l%d[l] = %s;", j, load);
        }
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
    lfuse__put_offsets(t, indent + 1, "i", LFUSE__AT_LOADED | LFUSE__AT_STORED | LFUSE__AT_GATHERED | LFUSE__AT_ROW);
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
        if (t->loaded[j] || t->stored[j] || t->k->operands[j].gathered)
            lfuse__put(out, indent, "%s b%d = 0;", t->ix, j);
    lfuse__put(out, indent, "for (%s i = first; i < last; i += LANES) {", t->ux);
    put_row_position(t, indent + 1);
    lfuse__put(out, indent + 1, "const int whole = left >= LANES;");
    lfuse__put(out, indent + 1, "const int count = last - i < LANES ? (int)(last - i) : LANES;");
    for (int j = 0; j < t->k->noperands; j++) {
        const char *reg = lfuse__register_word(t->k->operands[j].type);
        if (t->loaded[j]) lfuse__put(out, indent + 1, "L_%s x%d;", reg, j);
        if (t->stored[j]) lfuse__put(out, indent + 1, "L_%s y%d;", reg, j);
    }
    for (int i = 0; i < t->k->body->ninstr; i++)
        if (lfuse__is_gather(t->k, &t->k->body->instr[i]))
            lfuse__put(out, indent + 1, "L_%s g%d;", lfuse__register_word(t->k->body->instr[i].type), i);
    lfuse__put(out, indent + 1, "if (whole) {");
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j]) put_load_whole(t, indent + 2, j);
    put_gathers(t, indent + 2, true);
    lfuse__put(out, indent + 1, "} else {");
    put_loads_each(t, indent + 2);
    put_gathers(t, indent + 2, false);
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
