/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose elements lie apart and whose neighbours lie together: the kernel is text/rows_item.k. */
#include "common/kernels/rows.h"

#include "common/kernels/text/rows_item.k.h"
#include "common/kernels/text/rows_item_segment.k.h"

enum { DEEP = LFUSE__SEGMENT / LFUSE__ROW_LANES };

static bool partial(const lfuse__rows *r)
{
    return r->mapping.form == LFUSE__ROWS_PARTIAL;
}

static int sharers(const lfuse__rows *r)
{
    if (lfuse__single(r->facts)) return 1;
    if (partial(r)) return r->mapping.held ? r->mapping.held : 1; /* lists' rows are shared by nobody */
    return r->mapping.team;
}

/* Whether operand j is touched at all. */
static bool touched(const lfuse__rows *r, int j)
{
    return r->t.loaded[j] || r->t.stored[j];
}

/* x = what stands at offset o<j> of the first row: of each lane's row. */
static void put_lanes_load(const lfuse__rows *r, int indent, int j, const char *target)
{
    const lfuse__kernel_operand *o = &r->t.k->operands[j];
    const char *reg = lfuse__register_word(o->type);
    if (!r->facts->vector_lanes) {
        lfuse__put(r->t.out, indent, "%s = %s;", target, lfuse__load(&r->t, j, lfuse__expression("o%d", j).text).text);
        return;
    }
    if (!o->index) {
        lfuse__put(r->t.out, indent, "if (near%d)", j);
        lfuse__put(r->t.out, indent + 1, "%s = LOADL_%s(p%d, (i64)o%d);", target, lfuse__memory_word(o->type), j, j);
        lfuse__put(r->t.out, indent, "else");
    }
    const lfuse__expr at = lfuse__expression("o%d + far%d[l]", j, j);
    lfuse__put(r->t.out, indent, "{");
    lfuse__put(r->t.out, indent + 1, "S_%s e%d[LANES];", reg, j);
    lfuse__put(r->t.out, indent + 1, "for (int l = 0; l < LANES; l++) e%d[l] = %s;", j,
               lfuse__load(&r->t, j, at.text).text);
    lfuse__put(r->t.out, indent + 1, "%s = LANES_%s(e%d);", target, reg, j);
    lfuse__put(r->t.out, indent, "}");
}

void lfuse__rows_put_across_load(const lfuse__rows *r, int indent, int i)
{
    const int j = r->t.k->body->instr[i].a;
    lfuse__put(r->t.out, indent, "L_%s x%d;", lfuse__register_word(r->t.k->operands[j].type), i);
    lfuse__put(r->t.out, indent, "{");
    lfuse__put(r->t.out, indent + 1, "const %s o%d = b%d;", r->t.ix, j, j);
    put_lanes_load(r, indent + 1, j, lfuse__expression("x%d", i).text);
    lfuse__put(r->t.out, indent, "}");
    lfuse__put(r->t.out, indent, "const L_%s r%d = x%d;", lfuse__register_word(r->t.k->operands[j].type), i, i);
}

/* To offset o<j> of the first row, and of the others the same. */
static void put_lanes_store(const lfuse__rows *r, int indent, int j, int reg)
{
    const lfuse_type type = r->t.k->operands[j].type;
    const char *memory = lfuse__memory_word(type), *word = lfuse__register_word(type);
    if (!r->facts->vector_lanes) {
        lfuse__put(r->t.out, indent, "%sSTORE_%s(p%d, o%d, r%d);", lfuse__single(r->facts) ? "" : "if (active) ",
                   memory, j, j, reg);
        return;
    }
    lfuse__put(r->t.out, indent, "if (near%d && count == LANES) STOREL_%s(p%d, (i64)o%d, r%d);", j, memory, j, j, reg);
    lfuse__put(r->t.out, indent, "else {");
    lfuse__put(r->t.out, indent + 1, "S_%s e%d[LANES];", word, j);
    lfuse__put(r->t.out, indent + 1, "SPREAD_%s(e%d, r%d);", word, j, reg);
    lfuse__put(r->t.out, indent + 1, "for (int l = 0; l < count; l++) STORE_%s(p%d, o%d + far%d[l], e%d[l]);", memory,
               j, j, j, j);
    lfuse__put(r->t.out, indent, "}");
}

/* b<j> of the first row; of the lanes' rows far<j>, how much farther, and near<j>, whether each is one element on. */
static void put_bases(const void *context, int which, int indent)
{
    const lfuse__rows *r = ((const lfuse__rows_file *)context)->r;
    lfuse__strbuf *out = r->t.out;
    (void)which;
    if (!r->facts->vector_lanes) {
        lfuse__rows_put_bases(r, indent);
        return;
    }
    for (int j = 0; j < r->t.k->noperands; j++)
        if (touched(r, j)) lfuse__put(out, indent, "%s b%d = 0, far%d[LANES]; int near%d = 1;", r->t.ix, j, j, j);
    lfuse__put(out, indent, "for (int l = LANES - 1; l >= 0; l--) {");
    lfuse__put(out, indent + 1, "const %s row = (%s)(at + (u64)(l < count ? l : count - 1));", r->t.ux, r->t.ux);
    lfuse__put_offsets(&r->t, indent + 1, "row", LFUSE__AT_LOADED | LFUSE__AT_STORED | LFUSE__AT_ROW);
    for (int j = 0; j < r->t.k->noperands; j++)
        if (touched(r, j)) lfuse__put(out, indent + 1, "far%d[l] = b%d;", j, j);
    lfuse__put(out, indent, "}");
    lfuse__put(out, indent, "for (int l = LANES - 1; l >= 0; l--) {");
    for (int j = 0; j < r->t.k->noperands; j++) {
        if (!touched(r, j)) continue;
        lfuse__put(out, indent + 1, "far%d[l] -= b%d;", j, j);
        lfuse__put(out, indent + 1, "near%d = near%d && far%d[l] == l;", j, j, j);
    }
    lfuse__put(out, indent, "}");
}

static void put_stores(const lfuse__rows *r, int indent, bool of_row)
{
    const lfuse__body *body = r->t.k->body;
    for (int i = 0; i < body->nstores; i++) {
        const int j = body->stores[i].operand;
        if (r->row[j] != of_row) continue;
        lfuse__put(r->t.out, indent, "{");
        if (of_row)
            lfuse__put(r->t.out, indent + 1, "const %s o%d = b%d;", r->t.ix, j, j);
        else
            lfuse__put_row_place(&r->t, indent + 1, j, "seg + e");
        put_lanes_store(r, indent + 1, j, body->stores[i].reg);
        lfuse__put(r->t.out, indent, "}");
    }
}

/* ---- places of the segment ---- */

/* GPUs load all of a lane before they compute. */
static bool is_deep(const lfuse__rows *r)
{
    return !lfuse__single(r->facts);
}

static const char *word_of(const lfuse__rows *r, int j)
{
    return lfuse__register_word(r->t.k->operands[j].type);
}

/* Element e of the operands, to d<j>[u], or to x<j>. */
static void put_loads(const lfuse__rows *r, int indent, const bool *loads)
{
    for (int j = 0; j < r->t.k->noperands; j++) {
        if (!loads[j]) continue;
        lfuse__put(r->t.out, indent, "{");
        lfuse__put_row_place(&r->t, indent + 1, j, "seg + e");
        put_lanes_load(r, indent + 1, j, lfuse__expression(is_deep(r) ? "d%d[u]" : "x%d", j).text);
        lfuse__put(r->t.out, indent, "}");
    }
}

enum { DECLARE_LOADED, CLEAR_LOADED, LOAD };

static void put_loaded(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    const lfuse__rows *r = f->r;
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    lfuse__rows_needs(r, f->sweep, needed, loads);
    if (which == LOAD) put_loads(r, indent, loads);
    for (int j = 0; j < r->t.k->noperands && which != LOAD; j++) {
        if (!loads[j]) continue;
        if (which == DECLARE_LOADED) lfuse__put(r->t.out, indent, "S_%s d%d[%d];", word_of(r, j), j, DEEP);
        else lfuse__put(r->t.out, indent, "d%d[u] = ZERO_%s;", j, word_of(r, j));
    }
}

static void put_elements(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    const lfuse__rows *r = f->r;
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    (void)which;
    lfuse__rows_needs(r, f->sweep, needed, loads);
    for (int j = 0; j < r->t.k->noperands; j++) {
        if (!loads[j]) continue;
        if (is_deep(r)) lfuse__put(r->t.out, indent, "const S_%s x%d = d%d[u];", word_of(r, j), j, j);
        else lfuse__put(r->t.out, indent, "L_%s x%d;", word_of(r, j), j);
    }
    if (!is_deep(r)) put_loads(r, indent, loads);
    lfuse__rows_put_elements(r, indent, needed, "seg + e", NULL);
    for (int i = 0; i < r->t.k->body->ninstr; i++) {
        if (lfuse__rows_reduces(r, i, f->sweep))
            lfuse__rows_put_gather(r, indent, i, (lfuse__lane){"ln", "[0]"}, NULL,
                                   lfuse__expression("SPLAT_%s((%s)(seg + e))", r->t.ix, r->t.ix).text);
    }
    if (lfuse__rows_stores(r, f->sweep)) put_stores(r, indent, false);
}

static void put_segment(const void *context, int which, int indent)
{
    static const lfuse__text_place places[] = {
        {"DECLARE_LOADED", put_loaded, DECLARE_LOADED}, {"CLEAR_LOADED", put_loaded, CLEAR_LOADED},
        {"LOAD", put_loaded, LOAD},                     {"ELEMENTS", put_elements, 0},
        {NULL, NULL, 0},
    };
    const lfuse__rows_file *f = context;
    const lfuse__rows *r = f->r;
    const int n = sharers(r);
    int halvings = 0;
    (void)which;
    while (1 << halvings < n) halvings++;
    const lfuse__parameter parameters[] = {
        {"SHARERS", .number = n}, {"SHARED", .number = n > 1}, {"HALVINGS", .number = halvings},
        {"ALONE", .number = partial(r) || f->sweep == r->nsweeps - 1},
        {"WIDTH", .number = LFUSE__GROUP / n}, {"DEEP", .number = is_deep(r)}, {NULL},
    };
    lfuse__rows_put_file(context, indent, lfuse__text_rows_item_segment, parameters, places);
}

void lfuse__rows_put_item_segment(const lfuse__rows *r, int indent)
{
    put_segment(&(lfuse__rows_file){.r = r}, 0, indent);
}

/* ---- places of the kernel ---- */

static void put_sweeps(const void *context, int which, int indent)
{
    const lfuse__rows *r = ((const lfuse__rows_file *)context)->r;
    (void)which;
    for (int sweep = 0; sweep < r->nsweeps; sweep++) {
        lfuse__rows_put_phase(r, indent, sweep, false);
        lfuse__rows_put_segments(r, indent, sweep, "u32", put_segment);
    }
}

static void put_row_stores(const void *context, int which, int indent)
{
    (void)which;
    put_stores(((const lfuse__rows_file *)context)->r, indent, true);
}

void lfuse__rows_emit_item(const lfuse__rows *from, const char *name)
{
    static const lfuse__text_place places[] = {
        {"PLACES_OF_ROWS", put_bases, 0}, {"FOLD_SEGMENT", put_segment, 0}, {"SWEEPS", put_sweeps, 0},
        {"STORES_OF_ROWS", put_row_stores, 0}, {NULL, NULL, 0},
    };
    const bool single = lfuse__single(from->facts);
    const int n = sharers(from);
    lfuse__rows r = *from;
    const lfuse__expr width = single ? lfuse__expression("LANES") : lfuse__expression("%d", LFUSE__GROUP / n);
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ITEMS", .number = single ? 1 : LFUSE__GROUP}, {"WIDTH", .word = width.text},
        {"SHARED", .number = n > 1}, {"PARTIAL", .number = partial(from)},
        {"WHOLE", .number = from->mapping.whole ? from->mapping.held : 0}, {NULL},
    };

    r.across = true;
    lfuse__put_powers(r.t.out, r.t.k->body);
    lfuse__rows_put_file(&(lfuse__rows_file){.r = &r}, 0, lfuse__text_rows_item, parameters, places);
}
