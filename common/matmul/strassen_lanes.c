/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a Strassen kernel on CPUs: over the run of one block after the other. */
#include "common/matmul/strassen.h"

static const char *reg_of(const lfuse__strassen *s, int j)
{
    return lfuse__register_word(s->t.k->operands[j].type);
}

static void place_of(const lfuse__strassen *s, int j, const char *column, char *text, size_t size)
{
    lfuse__put_product_place(s->t.k, &s->l, j, "row", column, text, size);
}

static void put_load_whole(const lfuse__strassen *s, int indent, int j)
{
    const lfuse__kernel_operand *o = &s->t.k->operands[j];
    char at[128], load[192];
    if (lfuse__in_blocks(o)) {
        place_of(s, j, "column", at, sizeof at);
        lfuse__put(s->t.out, indent, "x%d = LOADL_%s(p%d, %s);", j, lfuse__memory_word(o->type), j, at);
        return;
    }
    place_of(s, j, o->inner == LFUSE__STRIDE_REPEAT ? "column" : "column + l", at, sizeof at);
    lfuse__put_load(&s->t, j, at, load, sizeof load);
    if (o->inner == LFUSE__STRIDE_REPEAT) {
        lfuse__put(s->t.out, indent, "x%d = SPLAT_%s(%s);", j, reg_of(s, j), load);
        return;
    }
    lfuse__put(s->t.out, indent, "S_%s l%d[LANES];", reg_of(s, j), j);
    lfuse__put(s->t.out, indent, "for (int l = 0; l < LANES; l++) l%d[l] = %s;", j, load);
    lfuse__put(s->t.out, indent, "x%d = LANES_%s(l%d);", j, reg_of(s, j), j);
}

static void put_load_each(const lfuse__strassen *s, int indent, int j)
{
    char at[128], load[192];
    place_of(s, j, "column + l", at, sizeof at);
    lfuse__put_load(&s->t, j, at, load, sizeof load);
    lfuse__put(s->t.out, indent, "S_%s l%d[LANES];", reg_of(s, j), j);
    lfuse__put(s->t.out, indent, "for (int l = 0; l < LANES; l++) l%d[l] = ZERO_%s;", j, reg_of(s, j));
    lfuse__put(s->t.out, indent, "for (int l = 0; l < count; l++) l%d[l] = %s;", j, load);
    lfuse__put(s->t.out, indent, "x%d = LANES_%s(l%d);", j, reg_of(s, j), j);
}

static void put_store(const lfuse__strassen *s, int indent, int j, bool whole)
{
    const lfuse__kernel_operand *o = &s->t.k->operands[j];
    const char *memory = lfuse__memory_word(o->type);
    char at[128];
    if (whole && o->inner == LFUSE__STRIDE_UNIT) {
        place_of(s, j, "column", at, sizeof at);
        lfuse__put(s->t.out, indent, "STOREL_%s(p%d, %s, y%d);", memory, j, at, j);
        return;
    }
    place_of(s, j, "column + l", at, sizeof at);
    lfuse__put(s->t.out, indent, "S_%s l%d[LANES];", reg_of(s, j), j);
    lfuse__put(s->t.out, indent, "SPREAD_%s(l%d, y%d);", reg_of(s, j), j, j);
    lfuse__put(s->t.out, indent, "for (int l = 0; l < count; l++) STORE_%s(p%d, %s, l%d[l]);", memory, j, at, j);
}

static void put_loads(const lfuse__strassen *s, int indent)
{
    const int noperands = s->t.k->noperands;
    lfuse__strbuf *out = s->t.out;
    bool any = false;
    for (int j = LFUSE__PRODUCT_OWN; j < noperands; j++) {
        if (s->t.loaded[j]) lfuse__put(out, indent, "L_%s x%d;", reg_of(s, j), j);
        any = any || s->t.loaded[j];
    }
    if (s->t.loaded[LFUSE__PRODUCT_SUM])
        lfuse__put(out, indent, "const L_%s x%d = e[b][v];", s->sum, LFUSE__PRODUCT_SUM);
    if (!any) return;
    for (int whole = 1; whole >= 0; whole--) {
        lfuse__put(out, indent, whole ? "if (count == LANES) {" : "} else {");
        for (int j = LFUSE__PRODUCT_OWN; j < noperands; j++) {
            if (!s->t.loaded[j]) continue;
            if (whole) put_load_whole(s, indent + 1, j);
            else put_load_each(s, indent + 1, j);
        }
    }
    lfuse__put(out, indent, "}");
}

static void put_stores(const lfuse__strassen *s, int indent)
{
    const int noperands = s->t.k->noperands;
    lfuse__strbuf *out = s->t.out;
    bool any = false;
    for (int j = LFUSE__PRODUCT_OWN; j < noperands; j++) any = any || s->t.stored[j];
    for (int whole = 1; whole >= 0 && any; whole--) {
        lfuse__put(out, indent, whole ? "if (count == LANES) {" : "} else {");
        for (int j = LFUSE__PRODUCT_OWN; j < noperands; j++)
            if (s->t.stored[j]) put_store(s, indent + 1, j, whole);
    }
    if (any) lfuse__put(out, indent, "}");
    if (s->t.stored[LFUSE__STRASSEN_FACTORS])
        lfuse__put(out, indent, "e[b][v] = SEL_%s(BELOW(count), y%d, SPLAT_%s(ZERO_%s));", s->sum,
                   LFUSE__STRASSEN_FACTORS, s->sum, s->sum);
}

void lfuse__strassen_put_lanes(const lfuse__strassen *s, int indent)
{
    lfuse__strbuf *out = s->t.out;
    lfuse__put(out, indent, "for (int b = 0; b < %d; b++)", s->blocks);
    lfuse__put(out, indent, "for (int v = 0; v < run; v++) {");
    lfuse__put(out, indent + 1, "const u32 row = i + (u32)(b / %d) * high, column = j + (u32)(b %% %d) * wide + (u32)v "
               "* LANES;", s->side, s->side);
    lfuse__put(out, indent + 1, "const int left = row < m && column < n ? (int)(n - column) : 0;");
    lfuse__put(out, indent + 1, "const int count = left < LANES ? left : LANES;");
    put_loads(s, indent + 1);
    for (int j = 0; j < s->t.k->noperands; j++)
        if (s->t.stored[j]) lfuse__put(out, indent + 1, "L_%s y%d;", reg_of(s, j), j);
    lfuse__put(out, indent + 1, "{");
    lfuse__put_body(&s->t, indent + 2, "");
    lfuse__put(out, indent + 1, "}");
    put_stores(s, indent + 1);
    lfuse__put(out, indent, "}");
}
