/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise work on CPUs: text/pointwise_lanes.k. */
#include "common/kernels/emit.h"
#include "common/kernels/template.h"

#include "common/kernels/text/pointwise_lanes.k.h"

/* Element offset of lane l of a row. */
static lfuse__expr lane_offset(const lfuse__text *t, int j)
{
    return lfuse__offset_ahead(t, j, 'b', "(j + l)", "j + l");
}

static void put_load_row(const lfuse__text *t, int indent, int j)
{
    const char *memory = lfuse__memory_word(t->k->operands[j].type),
        *reg = lfuse__register_word(t->k->operands[j].type);
    const lfuse__expr load = lfuse__load(t, j, lane_offset(t, j).text);
    if (lfuse__in_blocks(&t->k->operands[j])) {
        lfuse__put(t->out, indent, "x%d = LOADL_%s(p%d, (i64)(b%d + j));", j, memory, j, j);
    } else if (t->k->operands[j].inner == LFUSE__STRIDE_REPEAT) {
        lfuse__put(t->out, indent, "x%d = SPLAT_%s(%s);", j, reg, load.text);
    } else {
        lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
        lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) l%d[l] = %s;", j, load.text);
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
    const lfuse__expr value = lfuse__expression("m%d[%s]", at, row ? "0" : "l"), more = lfuse__look_up_offset(t, at);
    const lfuse__expr place = whole ? lane_offset(t, j) : lfuse__expression("o%d", j);
    lfuse__put(t->out, indent, "S_%s m%d[LANES];", index, at);
    lfuse__put(t->out, indent, "{");
    lfuse__put_slice(t, indent + 1, reg, "");
    lfuse__put(t->out, indent + 1, "SPREAD_%s(m%d, r%d);", index, at, reg);
    lfuse__put(t->out, indent, "}");
    if (row) {
        lfuse__put_look_up(t, indent, at, value.text, "i");
        lfuse__put(t->out, indent, "g%d = SPLAT_%s(ZERO_%s);", at, word, word);
        lfuse__put(t->out, indent, "if (n%d >= 0) g%d = LOADL_%s(p%d, (i64)(b%d + j) + %s);", at, at, memory, j, j,
                   more.text);
        return;
    }
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", word, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) {");
    lfuse__put(t->out, indent + 1, "l%d[l] = ZERO_%s;", j, word);
    if (!whole) {
        lfuse__put(t->out, indent + 1, "if (l >= count) continue;");
        lfuse__put_offset(t, indent + 1, "i + l", j);
    }
    lfuse__put_look_up(t, indent + 1, at, value.text, "i + l");
    lfuse__put(t->out, indent + 1, "if (n%d >= 0) l%d[l] = LOAD_%s(p%d, %s + %s);", at, j, memory, j, place.text,
               more.text);
    lfuse__put(t->out, indent, "}");
    lfuse__put(t->out, indent, "g%d = LANES_%s(l%d);", at, word, j);
}

static void put_look_ups(const void *text, int row, int indent)
{
    const lfuse__text *t = text;
    for (int i = 0; i < t->k->body->ninstr; i++) {
        if (!lfuse__is_gather(t->k, &t->k->body->instr[i])) continue;
        lfuse__put(t->out, indent, "{");
        put_gather(t, indent + 1, i, row);
        lfuse__put(t->out, indent, "}");
    }
}

/* What stands in the text for each operand that is loaded, and for each that is stored. */
enum { BASES, VALUES, LOAD_ROW, EACH, ABSENT, LOAD, JOIN, STORE_ROW, SPREAD, STORE };

static void put_loaded(const lfuse__text *t, int which, int indent, int j)
{
    const char *word = lfuse__register_word(t->k->operands[j].type);
    if (which == VALUES) lfuse__put(t->out, indent, "L_%s x%d;", word, j);
    if (which == LOAD_ROW) put_load_row(t, indent, j);
    if (which == EACH) lfuse__put(t->out, indent, "S_%s l%d[LANES];", word, j);
    if (which == ABSENT) lfuse__put(t->out, indent, "l%d[l] = ZERO_%s;", j, word);
    if (which == JOIN) lfuse__put(t->out, indent, "x%d = LANES_%s(l%d);", j, word, j);
    if (which == LOAD)
        lfuse__put(t->out, indent, "l%d[l] = %s;", j,
                   lfuse__load(t, j, lfuse__offset_ahead(t, j, 'o', NULL, "i + l").text).text);
}

static void put_store_row(const lfuse__text *t, int indent, int j)
{
    const char *memory = lfuse__memory_word(t->k->operands[j].type),
        *reg = lfuse__register_word(t->k->operands[j].type);
    if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) {
        lfuse__put(t->out, indent, "STOREL_%s(p%d, (i64)(b%d + j), y%d);", memory, j, j, j);
        return;
    }
    const lfuse__expr stride = t->k->operands[j].inner == LFUSE__STRIDE_ANY ? lfuse__stride(t, j, t->k->rank - 1)
                                                                            : lfuse__expression("0");
    lfuse__put(t->out, indent, "S_%s l%d[LANES];", reg, j);
    lfuse__put(t->out, indent, "SPREAD_%s(l%d, y%d);", reg, j, j);
    lfuse__put(t->out, indent, "for (int l = 0; l < LANES; l++) STORE_%s(p%d, b%d + (j + l) * %s, l%d[l]);", memory,
               j, j, stride.text, j);
}

static void put_stored(const lfuse__text *t, int which, int indent, int j)
{
    const lfuse_type type = t->k->operands[j].type;
    const char *word = lfuse__register_word(type);
    if (which == VALUES) lfuse__put(t->out, indent, "L_%s y%d;", word, j);
    if (which == STORE_ROW) put_store_row(t, indent, j);
    if (which == SPREAD) lfuse__put(t->out, indent, "S_%s l%d[LANES];", word, j);
    if (which == SPREAD) lfuse__put(t->out, indent, "SPREAD_%s(l%d, y%d);", word, j, j);
    if (which == STORE) lfuse__put(t->out, indent, "STORE_%s(p%d, o%d, l%d[l]);", lfuse__memory_word(type), j, j, j);
}

static void put_operands(const void *text, int which, int indent)
{
    const lfuse__text *t = text;
    if (which == LOAD) lfuse__put_offsets(t, indent, "i + l", LFUSE__AT_LOADED);
    if (which == STORE) lfuse__put_offsets(t, indent, "i + l", LFUSE__AT_STORED);
    for (int j = 0; j < t->k->noperands; j++) {
        const bool used = t->loaded[j] || t->stored[j] || t->k->operands[j].gathered;
        if (which == BASES && used) lfuse__put(t->out, indent, "%s b%d = 0;", t->ix, j);
        if (t->loaded[j]) put_loaded(t, which, indent, j);
        if (t->stored[j]) put_stored(t, which, indent, j);
    }
    for (int i = 0; i < t->k->body->ninstr && which == VALUES; i++)
        if (lfuse__is_gather(t->k, &t->k->body->instr[i]))
            lfuse__put(t->out, indent, "L_%s g%d;", lfuse__register_word(t->k->body->instr[i].type), i);
}

static void put_row(const void *text, int which, int indent)
{
    lfuse__put_offsets(text, indent, "i", which);
}

static void put_body(const void *text, int which, int indent)
{
    (void)which;
    lfuse__put_body(text, indent, "");
}

void lfuse__put_lanes(const void *text, int which, int indent)
{
    const lfuse__text *t = text;
    static const lfuse__text_place places[] = {
        {"BASES", put_operands, BASES}, {"VALUES", put_operands, VALUES}, {"LOAD_ROW", put_operands, LOAD_ROW},
        {"LOOK_UP_ROW", put_look_ups, true}, {"EACH", put_operands, EACH}, {"ABSENT", put_operands, ABSENT},
        {"LOAD", put_operands, LOAD}, {"JOIN", put_operands, JOIN}, {"LOOK_UP", put_look_ups, false},
        {"BODY", put_body, 0}, {"STORE_ROW", put_operands, STORE_ROW}, {"SPREAD", put_operands, SPREAD},
        {"STORE", put_operands, STORE},
        {"ROW", put_row, LFUSE__AT_LOADED | LFUSE__AT_STORED | LFUSE__AT_GATHERED | LFUSE__AT_ROW}, {NULL}};
    const bool split = t->layout && t->k->rank > 1;
    const int inner = split ? t->layout->division + (t->k->rank - 2) * (t->k->index64 ? 2 : 1) : 0;
    const lfuse__parameter parameters[] = {
        {"UX", .word = t->ux}, {"IX", .word = t->ix}, {"SPLIT", .number = split}, {"INNER", .number = inner}, {NULL}};
    (void)which;
    lfuse__put_text(t->out, indent, lfuse__text_pointwise_lanes, parameters, places, t);
}
