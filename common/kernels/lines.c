/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows and columns of the members of lists. Long rows are a team's work, or of one item its lanes'; columns, and short
 * rows, are neighbours': each work-item, or lane, takes a line of its own.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/kernels/members.h"

enum {
    TEAMS = LFUSE__GROUP / LFUSE__TEAM, OWN_BUFFERS = 3, SHORT = 64 /* elements of a row */,
    FEW = 8 /* segments of a line */, EACH = 8, BLOCK = EACH * LFUSE__TEAM,
    LENGTH_SHIFT = 48 /* of the chunk, in the word of cells */
};

/* One kernel being written; `item`: for lines side by side. */
typedef struct lines {
    lfuse__members *m;
    lfuse__rows *r;
    lfuse__rows item;
    bool single;
} lines;

static int ninstr(const lfuse__rows *r)
{
    return r->t.k->body->ninstr;
}

/* ---- what both kernels begin with ---- */

/* A loop over chunks; lines, line (their elements) and pitch (between these), own (cell 0 of the member). */
static void put_head(const lines *l, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    lfuse__strbuf *out = l->r->t.out;
    lfuse__put_powers(out, k->body);
    lfuse__put_kernel(out, name, l->single ? 1 : LFUSE__GROUP, lfuse__list_words(&l->r->t),
                      lfuse__list_buffers(facts, OWN_BUFFERS));
    lfuse__put_list_arguments(&l->r->t, l->single ? 1 : LFUSE__GROUP, 1);
    lfuse__put(out, 1, "const u64 chunks = W(%d), cells = W(%d) & (((u64)1 << %d) - 1), part = W(%d) >> %d;",
               LFUSE__MULTI_CHUNKS, LFUSE__MEMBERS_CELLS, LENGTH_SHIFT, LFUSE__MEMBERS_CELLS, LENGTH_SHIFT);
    lfuse__put(out, 1, "const u64 segments = 1; /* neighbouring lines have neighbouring cells */");
    lfuse__put(out, 1, "memory z = BUFFER(2) + W(%d);", LFUSE__MULTI_PARTIALS_OFFSET);
    if (l->single) {
        lfuse__put(out, 1, "const u64 share = (chunks + GROUPS() - 1) / GROUPS();");
        lfuse__put(out, 1, "for (u64 c = GROUP() * share; c < chunks && c < (GROUP() + 1) * share; c++) {");
    } else {
        lfuse__put(out, 1, "TEAM(%d)", LFUSE__GROUP);
        lfuse__put(out, 1, "const u32 team = ITEM() / %d, rank = ITEM() %% %d;", LFUSE__TEAM, LFUSE__TEAM);
        lfuse__put(out, 1, "for (u64 c = GROUP(); c < chunks; c += GROUPS()) {");
    }
    lfuse__put_list_chunk(&l->r->t, 1, 2);
    if (k->list.columns) {
        lfuse__put(out, 2, "const u64 lines = matrices_ * columns_, line = rows_;");
        lfuse__put(out, 2, "const i64 pitch = (i64)columns_;");
    } else {
        lfuse__put(out, 2, "const u64 lines = matrices_ * rows_, line = columns_;");
        lfuse__put(out, 2, "const i64 pitch = 1;");
    }
    lfuse__put(out, 2, "const u64 own = (W(%d) + c) * part - start_;", LFUSE__MULTI_FIRST);
}

/* h<j>: p<j> forward to element `from` of the member, of operands with elements; to line `one` of those with lines. */
static void put_forward(const lines *l, int indent, const char *from, bool elements)
{
    const lfuse__rows *r = l->r;
    for (int j = 0; j < l->m->first; j++) {
        const bool wanted = elements ? r->t.loaded[j] && !r->row[j] : r->t.stored[j];
        if (wanted)
            lfuse__put(r->t.out, indent, "memory h%d = p%d + (%s) * %u;", j, j, from,
                       lfuse__type_bytes(r->t.k->operands[j].type));
    }
    lfuse__put(r->t.out, indent, "{");
    for (int j = 0; j < l->m->first; j++) {
        const bool wanted = elements ? r->t.loaded[j] && !r->row[j] : r->t.stored[j];
        if (wanted) lfuse__put(r->t.out, indent + 1, "memory p%d = h%d;", j, j);
    }
}

/* segment, one (the line) and rest (elements from the segment on) of cell `cell_` of the member. */
static void put_cell(const lines *l, int indent)
{
    lfuse__put(l->r->t.out, indent, "const u64 segment = cell_ / lines, one = cell_ %% lines;");
    lfuse__put(l->r->t.out, indent, "const u64 rest = line - segment * %d;", LFUSE__SEGMENT);
}

/* The first element of the segment, as an expression of the line `one`. */
static const char *first_element(const lines *l)
{
    return l->r->t.k->list.columns
               ? "(one / columns_) * rows_ * columns_ + one % columns_ + segment * 1024 * columns_"
               : "one * columns_ + segment * 1024";
}

/* ---- segments ---- */

static void put_team_segments(const lines *l, int indent)
{
    lfuse__strbuf *out = l->r->t.out;
    lfuse__put(out, indent, "for (u32 unit = 0; unit < length; unit += %d) {", TEAMS);
    lfuse__put(out, indent + 1, "const int active = unit + team < length;");
    lfuse__put(out, indent + 1, "const u64 cell_ = start_ + (active ? unit + team : unit);");
    put_cell(l, indent + 1);
    lfuse__put(out, indent + 1, "const u64 from = %s;", first_element(l));
    lfuse__put(out, indent + 1, "const u32 left = rest < %d ? (u32)rest : %d;", LFUSE__SEGMENT, LFUSE__SEGMENT);
    lfuse__put(out, indent + 1, "const u32 even = vectors && from %% %d == 0 && left %% %d == 0;", LFUSE__ROW_VECTOR,
               LFUSE__ROW_VECTOR);
    put_forward(l, indent + 1, "from", true);
    lfuse__put(out, indent + 2, "const u32 vectors = even, length = left, seg = 0;");
    lfuse__rows_put_team_segment(l->r, indent + 2);
    lfuse__put(out, indent + 2, "if (active && rank == 0) {");
    lfuse__put(out, indent + 3, "const u64 cell = own + cell_;");
    lfuse__rows_put_keep(l->r, indent + 3, "cell");
    lfuse__put(out, indent + 2, "}");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

/* One item, its lanes along the row. */
static void put_single_segments(const lines *l, int indent)
{
    lfuse__strbuf *out = l->r->t.out;
    lfuse__put(out, indent, "for (u32 unit = 0; unit < length; unit++) {");
    lfuse__put(out, indent + 1, "const u64 cell_ = start_ + unit, cell = own + cell_;");
    put_cell(l, indent + 1);
    lfuse__put(out, indent + 1, "const u32 seg = 0;");
    lfuse__put(out, indent + 1, "const int left = rest < %d ? (int)rest : %d;", LFUSE__SEGMENT, LFUSE__SEGMENT);
    put_forward(l, indent + 1, first_element(l), true);
    lfuse__rows_put_single_segment(l->r, indent + 2);
    lfuse__rows_put_keep(l->r, indent + 2, "cell");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

/* far<j>, near<j> of lanes whose lines begin at the elements of `firsts`. */
static void put_far(const lines *l, int indent)
{
    lfuse__strbuf *out = l->r->t.out;
    lfuse__put(out, indent, "i64 firsts[LANES];");
    lfuse__put(out, indent, "int together = count == LANES;");
    lfuse__put(out, indent, "for (int l = 0; l < LANES; l++) {");
    lfuse__put(out, indent + 1, "const u64 one = cell_ %% lines + (u64)(l < count ? l : count - 1);");
    lfuse__put(out, indent + 1, "firsts[l] = (i64)(%s - from);", first_element(l));
    lfuse__put(out, indent + 1, "together = together && firsts[l] == l;");
    lfuse__put(out, indent, "}");
    for (int j = 0; j < l->m->first; j++)
        if (l->r->t.loaded[j] && !l->r->row[j]) {
            lfuse__put(out, indent, "const i64 *const far%d = firsts;", j);
            lfuse__put(out, indent, "const int near%d = together;", j);
        }
}

/* A line an item, or lane: as many as there are side by side in one segment. */
static void put_item_segments(const lines *l, int indent)
{
    lfuse__strbuf *out = l->r->t.out;
    const bool lanes = l->r->facts->vector_lanes;
    if (l->single) lfuse__put(out, indent, "for (u32 unit = 0, count_ = 1; unit < length; unit += count_) {");
    else lfuse__put(out, indent, "for (u32 unit = ITEM(); unit < length; unit += %d) {", LFUSE__GROUP);
    lfuse__put(out, indent + 1, "const u64 cell_ = start_ + unit, cell = own + cell_;");
    put_cell(l, indent + 1);
    lfuse__put(out, indent + 1, "const u64 from = %s;", first_element(l));
    if (lanes) {
        lfuse__put(out, indent + 1, "const u64 beside = lines - one < length - unit ? lines - one : length - unit;");
        lfuse__put(out, indent + 1, "const int count = beside < LANES ? (int)beside : LANES;");
        lfuse__put(out, indent + 1, "count_ = (u32)count;");
        put_far(l, indent + 1);
    }
    lfuse__put(out, indent + 1, "const u64 seg = 0;");
    lfuse__put(out, indent + 1, "const u32 left = rest < %d ? (u32)rest : %d;", LFUSE__SEGMENT, LFUSE__SEGMENT);
    put_forward(l, indent + 1, "from", true);
    lfuse__rows_put_item_segment(&l->item, indent + 2);
    lfuse__rows_put_keep(&l->item, indent + 2, "cell");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

static lfuse_status begin(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts,
                          lines *l)
{
    int reduces = 0;
    LFUSE__TRY(lfuse__list_check(name, k, facts));
    for (int i = 0; i < k->body->ninstr; i++) {
        reduces += k->body->instr[i].kind == LFUSE__I_REDUCE;
        if (k->body->instr[i].kind == LFUSE__I_TOTAL) reduces = 2;
    }
    if (reduces != 1 || !k->operands[k->noperands - 1].shape ||
        (k->list.columns && k->list.walk != LFUSE__WALK_ELEMENTS))
        return lfuse__error(LFUSE_ERR_INVALID, "lines of lists: %d reductions, or no shape to find them by", reduces);
    LFUSE__TRY(lfuse__members_create(out, k, facts, &l->m));
    l->r = &l->m->member.rows;
    l->r->t.numbers = LFUSE__MEMBERS_PARTIAL_NUMBERS;
    l->r->t.still = true;
    l->r->t.list = (lfuse__of_list){k, facts, LFUSE__CARRY_PARTIAL};
    l->single = lfuse__single(facts);
    return LFUSE_OK;
}

lfuse_status lfuse__lines_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                               const lfuse__facts *facts)
{
    lines l;
    LFUSE__TRY(begin(out, name, k, facts, &l));
    lfuse__members_only_elements(l.r);
    l.item = *l.r;
    l.item.across = true;
    l.item.t.pitch = "pitch";
    l.item.t.ix = "i64";
    l.item.t.ux = "u64";
    put_head(&l, name, k, facts);
    lfuse__members_put_beginning(l.r, 2);
    if (!k->list.columns) {
        lfuse__put(out, 2, "if (line > %d) {", SHORT);
        if (l.single) put_single_segments(&l, 3);
        else put_team_segments(&l, 3);
        lfuse__put(out, 2, "} else {");
    } else {
        lfuse__put(out, 2, "{");
    }
    put_item_segments(&l, 3);
    lfuse__put(out, 2, "}");
    lfuse__put(out, 1, "}");
    lfuse__put(out, 0, "}");
    free(l.m);
    return lfuse__strbuf_check(out);
}

/* ---- fold ---- */

static void put_results(const lines *l, int indent, const char *guard)
{
    lfuse__strbuf *out = l->r->t.out;
    for (int i = 0; i < ninstr(l->r); i++)
        if (lfuse__rows_reduces(l->r, i, 0)) lfuse__rows_put_result(l->r, indent, i);
    lfuse__rows_put_phase(l->r, indent, 0, true);
    put_forward(l, indent, "cell_", false);
    lfuse__put(out, indent + 1, "if (%s) {", guard);
    for (int j = 0; j < l->m->first; j++)
        if (l->r->t.stored[j]) lfuse__put(out, indent + 2, "const i32 b%d = 0;", j);
    lfuse__rows_put_row_stores(l->r, indent + 2);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

static void put_empty(const lines *l, int indent)
{
    for (int i = 0; i < ninstr(l->r); i++)
        if (lfuse__rows_reduces(l->r, i, 0)) lfuse__rows_put_empty(l->r, indent, i);
    lfuse__put(l->r->t.out, indent, "{");
    lfuse__rows_put_counter_begin(l->r, indent + 1, 0);
}

static void put_end(const lines *l, int indent)
{
    lfuse__rows_put_counter_end(l->r, indent + 1, 0);
    lfuse__put(l->r->t.out, indent, "}");
}

static void put_team_folds(const lines *l, int indent)
{
    lfuse__strbuf *out = l->r->t.out;
    lfuse__put(out, indent, "for (u32 unit = 0; unit < length; unit += %d) {", TEAMS);
    lfuse__put(out, indent + 1, "const int active = unit + team < length && start_ + unit + team < lines;");
    lfuse__put(out, indent + 1, "const u64 cell_ = start_ + (active ? unit + team : 0);");
    put_empty(l, indent + 1);
    lfuse__put(out, indent + 2, "for (u64 at = 0; at < count; at += %d) {", BLOCK);
    for (int i = 0; i < ninstr(l->r); i++)
        if (lfuse__rows_reduces(l->r, i, 0))
            lfuse__rows_put_subtree(l->r, indent + 3, i, EACH, "at + rank", "own + number * lines + cell_",
                                    "number < count");
    lfuse__rows_put_counter_add(l->r, indent + 3, 0, "[0]");
    lfuse__put(out, indent + 2, "}");
    put_end(l, indent + 1);
    put_results(l, indent + 1, "active && rank == 0");
    lfuse__put(out, indent, "}");
}

static void put_item_folds(const lines *l, int indent)
{
    const lfuse__lane first = {"ln", "[0]"};
    lfuse__strbuf *out = l->r->t.out;
    if (l->single) lfuse__put(out, indent, "for (u32 unit = 0; unit < length; unit++) {");
    else lfuse__put(out, indent, "for (u32 unit = ITEM(); unit < length; unit += %d) {", LFUSE__GROUP);
    lfuse__put(out, indent + 1, "const u64 cell_ = start_ + unit;");
    lfuse__put(out, indent + 1, "if (cell_ >= lines) continue;");
    put_empty(l, indent + 1);
    lfuse__put(out, indent + 2, "for (u64 number = 0; number < count; number++) {");
    for (int i = 0; i < ninstr(l->r); i++) {
        if (!lfuse__rows_reduces(l->r, i, 0)) continue;
        lfuse__rows_put_lanes(l->r, indent + 3, i, "ln", "1");
        lfuse__rows_put_fetch(l->r, indent + 3, i, first, "own + number * lines + cell_", NULL);
    }
    lfuse__rows_put_counter_add(l->r, indent + 3, 0, "[0]");
    lfuse__put(out, indent + 2, "}");
    put_end(l, indent + 1);
    put_results(l, indent + 1, "1");
    lfuse__put(out, indent, "}");
}

lfuse_status lfuse__lines_fold_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                    const lfuse__facts *facts)
{
    lines l;
    LFUSE__TRY(begin(out, name, k, facts, &l));
    put_head(&l, name, k, facts);
    for (int j = 0; j < l.m->first; j++)
        if (l.r->t.loaded[j] && l.r->row[j]) lfuse__put(out, 2, "const i32 b%d = 0;", j);
    lfuse__put(out, 2, "const u64 count = (line + %d) / %d;", LFUSE__SEGMENT - 1, LFUSE__SEGMENT);
    lfuse__put(out, 2, "if (start_ >= lines) continue; /* cells behind the first of each line */");
    if (!l.single) {
        lfuse__put(out, 2, "if (count > %d) {", FEW);
        put_team_folds(&l, 3);
        lfuse__put(out, 2, "} else {");
        put_item_folds(&l, 3);
        lfuse__put(out, 2, "}");
    } else {
        put_item_folds(&l, 2);
    }
    lfuse__put(out, 1, "}");
    lfuse__put(out, 0, "}");
    free(l.m);
    return lfuse__strbuf_check(out);
}

/* ---- sizes and words ---- */

int64_t lfuse__lines_count(const lfuse__kernel_class *k, int64_t matrices, int64_t rows, int64_t columns)
{
    if (k->list.walk != LFUSE__WALK_ELEMENTS) return matrices;
    return matrices * (k->list.columns ? columns : rows);
}

int64_t lfuse__lines_cells(const lfuse__kernel_class *k, int64_t matrices, int64_t rows, int64_t columns)
{
    const int64_t line = k->list.columns || k->list.walk == LFUSE__WALK_ROWS ? rows : columns;
    const int64_t segments = line / LFUSE__SEGMENT + (line % LFUSE__SEGMENT != 0);
    return lfuse__lines_count(k, matrices, rows, columns) * (segments ? segments : 1);
}

static uint64_t cells_of(int64_t chunks, int64_t length)
{
    return ((uint64_t)chunks * (uint64_t)length + 15) / 16 * 16;
}

uint64_t lfuse__lines_scratch(const lfuse__kernel_class *k, int64_t chunks, int64_t length)
{
    for (int i = 0; i < k->body->ninstr; i++)
        if (k->body->instr[i].kind == LFUSE__I_REDUCE)
            return cells_of(chunks, length) * lfuse__type_bytes(lfuse__register_type(k->body->instr[i].type));
    return 0;
}

lfuse_status lfuse__lines_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__lines_part *part,
                               lfuse__packed *packed)
{
    const uint64_t cells = cells_of(part->all_chunks, part->length);
    LFUSE__TRY(lfuse__list_pack(k, facts, lfuse__single(facts), 1, LFUSE__MEMBERS_PARTIAL_NUMBERS, part->members,
                                part->first_chunk, part->chunks, part->numbers, packed));
    if (cells >> LENGTH_SHIFT)
        return lfuse__error(LFUSE_ERR_OVERFLOW, "%llu segments of rows or columns", (unsigned long long)cells);
    packed->words[LFUSE__MULTI_PARTIALS_OFFSET] = part->scratch;
    packed->words[LFUSE__MEMBERS_CELLS] = cells | (uint64_t)part->length << LENGTH_SHIFT;
    return LFUSE_OK;
}

lfuse_status lfuse__lines_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    const lfuse__lines_part part = {.numbers = lfuse__zeros};
    return lfuse__lines_pack(k, facts, &part, packed);
}
