/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows whose elements lie apart and whose neighbours lie together: neighbouring lanes and work-items take neighbouring
 * rows, so that they read whole lines. On GPUs `team` work-items of a group share a row: number q takes the canonical
 * lanes c = q, q + team ..., a subtree of the fold each, and the subtrees meet in local memory. A work-item goes
 * through its lanes in bit-reversed order, which is the fold's tree depth first: one pending value a level is enough.
 */
#include <stdio.h>

#include "common/kernels/rows.h"

enum { LEVELS = 7, DEEP = LFUSE__SEGMENT / LFUSE__ROW_LANES };

static int ninstr(const lfuse__rows *r)
{
    return r->t.k->body->ninstr;
}

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
    char at[48], text[96];
    if (!r->facts->vector_lanes) {
        snprintf(at, sizeof at, "o%d", j);
        lfuse__put_load(&r->t, j, at, text, sizeof text);
        lfuse__put(r->t.out, indent, "%s = %s;", target, text);
        return;
    }
    if (!o->index) {
        lfuse__put(r->t.out, indent, "if (near%d)", j);
        lfuse__put(r->t.out, indent + 1, "%s = LOADL_%s(p%d, (i64)o%d);", target, lfuse__memory_word(o->type), j, j);
        lfuse__put(r->t.out, indent, "else");
    }
    snprintf(at, sizeof at, "o%d + far%d[l]", j, j);
    lfuse__put_load(&r->t, j, at, text, sizeof text);
    lfuse__put(r->t.out, indent, "{");
    lfuse__put(r->t.out, indent + 1, "S_%s e%d[LANES];", reg, j);
    lfuse__put(r->t.out, indent + 1, "for (int l = 0; l < LANES; l++) e%d[l] = %s;", j, text);
    lfuse__put(r->t.out, indent + 1, "%s = LANES_%s(e%d);", target, reg, j);
    lfuse__put(r->t.out, indent, "}");
}

void lfuse__rows_put_across_load(const lfuse__rows *r, int indent, int i)
{
    const int j = r->t.k->body->instr[i].a;
    char target[32];
    snprintf(target, sizeof target, "x%d", i);
    lfuse__put(r->t.out, indent, "L_%s x%d;", lfuse__register_word(r->t.k->operands[j].type), i);
    lfuse__put(r->t.out, indent, "{");
    lfuse__put(r->t.out, indent + 1, "const %s o%d = b%d;", r->t.ix, j, j);
    put_lanes_load(r, indent + 1, j, target);
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
static void put_bases(const lfuse__rows *r, int indent)
{
    lfuse__strbuf *out = r->t.out;
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

static void put_element_loads(const lfuse__rows *r, int indent, const bool *loads, const char *index)
{
    for (int j = 0; j < r->t.k->noperands; j++) {
        char target[32];
        if (!loads[j]) continue;
        snprintf(target, sizeof target, *index ? "d%d%s" : "x%d%s", j, index);
        lfuse__put(r->t.out, indent, "{");
        lfuse__put_row_place(&r->t, indent + 1, j, "seg + e");
        put_lanes_load(r, indent + 1, j, target);
        lfuse__put(r->t.out, indent, "}");
    }
}

/* Elements lane, lane + 128 ... of the segment, in l<i>[0]. */
static void put_lane(const lfuse__rows *r, int indent, int sweep)
{
    const lfuse__lane one = {"ln", "[0]"};
    /* GPUs load all of a lane before they compute. */
    const bool deep = !r->facts->vector_lanes && !lfuse__single(r->facts);
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    lfuse__strbuf *out = r->t.out;
    lfuse__rows_needs(r, sweep, needed, loads);
    for (int j = 0; j < r->t.k->noperands; j++)
        if (loads[j] && deep)
            lfuse__put(out, indent, "S_%s d%d[%d];", lfuse__register_word(r->t.k->operands[j].type), j, DEEP);
    if (deep) {
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, indent, "for (u32 u = 0; u < %d; u++) {", DEEP);
        lfuse__put(out, indent + 1, "const u32 e = lane + u * %d;", LFUSE__ROW_LANES);
        for (int j = 0; j < r->t.k->noperands; j++)
            if (loads[j])
                lfuse__put(out, indent + 1, "d%d[u] = ZERO_%s;", j, lfuse__register_word(r->t.k->operands[j].type));
        lfuse__put(out, indent + 1, "if (e < left) {");
        put_element_loads(r, indent + 2, loads, "[u]");
        lfuse__put(out, indent + 1, "}");
        lfuse__put(out, indent, "}");
        lfuse__put(out, 0, "#pragma unroll");
    }
    if (deep)
        lfuse__put(out, indent, "for (u32 u = 0; u < %d; u++) {", DEEP);
    else
        lfuse__put(out, indent, "for (u32 e = lane; e < left; e += %d) {", LFUSE__ROW_LANES);
    if (deep) lfuse__put(out, indent + 1, "const u32 e = lane + u * %d;", LFUSE__ROW_LANES);
    if (deep) lfuse__put(out, indent + 1, "if (e < left) {");
    for (int j = 0; j < r->t.k->noperands && !deep; j++)
        if (loads[j]) lfuse__put(out, indent + 1, "L_%s x%d;", lfuse__register_word(r->t.k->operands[j].type), j);
    for (int j = 0; j < r->t.k->noperands && deep; j++)
        if (loads[j])
            lfuse__put(out, indent + 2, "const S_%s x%d = d%d[u];", lfuse__register_word(r->t.k->operands[j].type), j,
                       j);
    if (!deep) put_element_loads(r, indent + 1, loads, "");
    lfuse__rows_put_elements(r, indent + 1 + deep, needed, "seg + e", NULL);
    for (int i = 0; i < ninstr(r); i++) {
        char index[64];
        snprintf(index, sizeof index, "SPLAT_%s((%s)(seg + e))", r->t.ix, r->t.ix);
        if (lfuse__rows_reduces(r, i, sweep)) lfuse__rows_put_gather(r, indent + 1 + deep, i, one, NULL, index);
    }
    if (lfuse__rows_stores(r, sweep)) put_stores(r, indent + 1 + deep, false);
    if (deep) lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

/* l<i>[0] joins the pending subtrees w<i> (indices j<i>): as many as leaf number `leaf` has trailing ones. */
static void put_leaf(const lfuse__rows *r, int indent, int sweep)
{
    const lfuse__lane one = {"ln", "[0]"}, pending = {"wk", "[level]"};
    lfuse__strbuf *out = r->t.out;
    lfuse__put(out, indent, "int open = 1;");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int level = 0; level < %d; level++) {", LEVELS);
    lfuse__put(out, indent + 1, "if (open && (leaf >> level & 1)) {");
    for (int i = 0; i < ninstr(r); i++)
        if (lfuse__rows_reduces(r, i, sweep)) lfuse__rows_put_combine(r, indent + 2, i, one, pending, one);
    lfuse__put(out, indent + 1, "} else if (open) {");
    for (int i = 0; i < ninstr(r); i++) {
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        lfuse__put(out, indent + 2, "w%d[level] = l%d[0];", i, i);
        if (lfuse__rows_indexed(r, i)) lfuse__put(out, indent + 2, "k%d[level] = n%d[0];", i, i);
    }
    lfuse__put(out, indent + 2, "open = 0;");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

/* The subtrees of those who share the row, in local memory: everybody folds all of them. */
static void put_share(const lfuse__rows *r, int indent, int sweep)
{
    const int n = sharers(r), columns = LFUSE__GROUP / n;
    const lfuse__lane low = {"wk", "[q]"};
    lfuse__strbuf *out = r->t.out;
    for (int i = 0; i < ninstr(r); i++) {
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        lfuse__put(out, indent, "part%d[ITEM()] = l%d[0];", i, i);
        if (lfuse__rows_indexed(r, i)) lfuse__put(out, indent, "spot%d[ITEM()] = n%d[0];", i, i);
    }
    lfuse__put(out, indent, "SYNC();");
    for (int i = 0; i < ninstr(r); i++) {
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        lfuse__put(out, indent, "{");
        lfuse__put(out, indent + 1, "S_%s w%d[%d];", lfuse__rows_word(r, i), i, n);
        if (lfuse__rows_indexed(r, i)) lfuse__put(out, indent + 1, "S_%s k%d[%d];", r->t.ix, i, n);
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, indent + 1, "for (int q = 0; q < %d; q++) {", n);
        lfuse__put(out, indent + 2, "w%d[q] = part%d[q * %d + column];", i, i, columns);
        if (lfuse__rows_indexed(r, i)) lfuse__put(out, indent + 2, "k%d[q] = spot%d[q * %d + column];", i, i, columns);
        lfuse__put(out, indent + 1, "}");
        for (int h = n / 2; h > 0; h /= 2) { /* a loop over h of 32 is not unrolled, and its array is in memory */
            char behind[24];
            const lfuse__lane high = {"wk", behind};
            snprintf(behind, sizeof behind, "[q + %d]", h);
            lfuse__put(out, 0, "#pragma unroll");
            lfuse__put(out, indent + 1, "for (int q = 0; q < %d; q++) {", h);
            lfuse__rows_put_combine(r, indent + 2, i, low, low, high);
            lfuse__put(out, indent + 1, "}");
        }
        lfuse__put(out, indent + 1, "l%d[0] = w%d[0];", i, i);
        if (lfuse__rows_indexed(r, i)) lfuse__put(out, indent + 1, "n%d[0] = k%d[0];", i, i);
        lfuse__put(out, indent, "}");
    }
    lfuse__put(out, indent, "SYNC();");
}

/* The segment at `seg` with `left` elements: l<i>[0], declared here. */
static void put_segment(const lfuse__rows *r, int indent, int sweep)
{
    const int n = sharers(r);
    const bool any = lfuse__rows_any_reduce(r, sweep);
    lfuse__strbuf *out = r->t.out;
    for (int i = 0; i < ninstr(r); i++) {
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        lfuse__rows_put_lanes(r, indent, i, "ln", "1");
        lfuse__put(out, indent, "L_%s w%d[%d];", lfuse__rows_word(r, i), i, LEVELS);
        if (lfuse__rows_indexed(r, i)) lfuse__put(out, indent, "L_%s k%d[%d];", r->t.ix, i, LEVELS);
    }
    lfuse__put(out, indent, "u32 leaves = 1, lane = %s;", n > 1 ? "number" : "0");
    lfuse__put(out, indent, "while (leaves * %d < left && leaves < %d) leaves *= 2;", n, LFUSE__ROW_LANES / n);
    lfuse__put(out, indent, "for (u32 leaf = 0; leaf < leaves; leaf++) {");
    for (int i = 0; i < ninstr(r); i++) {
        char identity[64];
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        lfuse__rows_identity(r, i, identity, sizeof identity);
        lfuse__put(out, indent + 1, "l%d[0] = %s;", i, identity);
        if (lfuse__rows_indexed(r, i)) lfuse__put(out, indent + 1, "n%d[0] = %s;", i, lfuse__rows_no_index(r));
    }
    put_lane(r, indent + 1, sweep);
    if (any) put_leaf(r, indent + 1, sweep);
    /* The next lane: one is added from the highest bit down. */
    lfuse__put(out, indent + 1, "u32 bit = leaves * %d;", n / 2 ? n / 2 : 1);
    if (n == 1) lfuse__put(out, indent + 1, "bit /= 2;");
    lfuse__put(out, indent + 1, "while (bit >= %d && (lane & bit)) {", n);
    lfuse__put(out, indent + 2, "lane ^= bit;");
    lfuse__put(out, indent + 2, "bit /= 2;");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent + 1, "lane |= bit;");
    lfuse__put(out, indent, "}");
    if (n > 1 && any) put_share(r, indent, sweep);
}

/* A loop over blocks of rows, or of rows and segments: `at` is the first row, of which there are `count`. */
static void put_loop(const lfuse__rows *r, const char *width)
{
    lfuse__strbuf *out = r->t.out;
    const bool single = lfuse__single(r->facts);
    lfuse__put(out, 1, "const u64 blocks = (rows + %s - 1) / %s, units = blocks * %s;", width, width,
               partial(r) ? "segments" : "1");
    if (single) {
        lfuse__put(out, 1, "const u64 share = (units + GROUPS() - 1) / GROUPS();");
        lfuse__put(out, 1, "for (u64 unit = GROUP() * share; unit < units && unit < (GROUP() + 1) * share; unit++) {");
    } else {
        lfuse__put(out, 1, "for (u64 unit = GROUP(); unit < units; unit += GROUPS()) {");
    }
    lfuse__put(out, 2, "const u64 at = unit %% blocks * %s;", width);
    lfuse__put(out, 2, "const int count = rows - at < %s ? (int)(rows - at) : %s;", width, width);
    if (!single) lfuse__put(out, 2, "const int active = (int)column < count;");
    if (!r->facts->vector_lanes)
        lfuse__put(out, 2, "const %s row = (%s)(at%s);", r->t.ux, r->t.ux, single ? "" : " + (active ? column : 0)");
    put_bases(r, 2);
}

static void put_partial(const lfuse__rows *r, int indent)
{
    lfuse__strbuf *out = r->t.out;
    const bool single = lfuse__single(r->facts);
    lfuse__put(out, indent, "const %s seg = (%s)(unit / blocks) * %d;", r->t.ux, r->t.ux, LFUSE__SEGMENT);
    lfuse__put(out, indent, "const u32 left = length - seg < %d ? (u32)(length - seg) : %d;", LFUSE__SEGMENT,
               LFUSE__SEGMENT);
    lfuse__rows_put_phase(r, indent, 0, false);
    put_segment(r, indent, 0);
    lfuse__put(out, indent, single ? "{" : sharers(r) > 1 ? "if (active && number == 0) {" : "if (active) {");
    lfuse__put(out, indent + 1, "const u64 cell = %s * segments + unit / blocks;",
               r->facts->vector_lanes ? "at" : "row");
    lfuse__rows_put_keep(r, indent + 1, "cell");
    lfuse__put(out, indent, "}");
}

static void put_segment_of_row(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    (void)which;
    put_segment(f->r, indent, f->sweep);
}

static void put_rows(const lfuse__rows *r, int indent)
{
    for (int sweep = 0; sweep < r->nsweeps; sweep++) {
        lfuse__rows_put_phase(r, indent, sweep, false);
        lfuse__rows_put_segments(r, indent, sweep, "u32", put_segment_of_row);
    }
    lfuse__rows_put_phase(r, indent, r->nsweeps, true);
    lfuse__put(r->t.out, indent, sharers(r) > 1 ? "if (number == 0) {" : "{");
    put_stores(r, indent + 1, true);
    lfuse__put(r->t.out, indent, "}");
}

static void put_local(const lfuse__rows *r, int columns)
{
    lfuse__put(r->t.out, 1, "const u32 column = ITEM() %% %d, number = ITEM() / %d;", columns, columns);
    for (int i = 0; i < ninstr(r) && sharers(r) > 1; i++) {
        if (!r->used[i] || r->t.k->body->instr[i].kind != LFUSE__I_REDUCE) continue;
        lfuse__put(r->t.out, 1, "LOCAL(S_%s, part%d, %d)", lfuse__rows_word(r, i), i, LFUSE__GROUP);
        if (lfuse__rows_indexed(r, i))
            lfuse__put(r->t.out, 1, "LOCAL(S_%s, spot%d, %d)", r->t.ix, i, LFUSE__GROUP);
    }
}

void lfuse__rows_put_item_segment(const lfuse__rows *r, int indent)
{
    put_segment(r, indent, 0);
}

void lfuse__rows_emit_item(const lfuse__rows *from, const char *name)
{
    lfuse__rows r = *from;
    const bool single = lfuse__single(from->facts);
    const int columns = LFUSE__GROUP / sharers(from);
    char width[24] = "LANES";
    r.across = true;
    lfuse__rows_put_head(&r, name, single ? 1 : LFUSE__GROUP);
    if (partial(&r)) lfuse__rows_put_partials(&r, 1);
    if (!single) snprintf(width, sizeof width, "%d", columns);
    if (!single) put_local(&r, columns);
    put_loop(&r, width);
    if (partial(&r))
        put_partial(&r, 2);
    else
        put_rows(&r, 2);
    lfuse__put(r.t.out, 1, "}");
    lfuse__put(r.t.out, 0, "}");
}
