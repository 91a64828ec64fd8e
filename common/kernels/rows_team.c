/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows on teams whose work-items exchange values. Of every 4 x `width` elements, a chunk, work-item `rank` takes number
 * 4 rank ... 4 rank + 3. Chunks of 128 elements are all lanes; of a team of fewer than 32 several chunks are, so that a
 * work-item has lanes 4 rank ... of each, and folds those by itself before it exchanges anything: a quarter of the
 * exchanges a row where teams are of 16, and what is computed once a row is computed for two rows at once. TEAM: the
 * row is one segment of up to eight chunks. GROUP: every 32 work-items fold a segment at a time, whose results meet in
 * local memory. The first eight chunks of an operand that several sweeps read are held in registers.
 */
#include <stdio.h>
#include <string.h>

#include "common/kernels/rows_team.h"

enum { VECTOR = LFUSE__ROW_VECTOR, CHUNKS = LFUSE__SEGMENT / LFUSE__ROW_LANES, BLOCK = 32 };

static void put_total(const lfuse__rows *r, int indent, int i)
{
    const char *w = lfuse__rows_word(r, i);
    if (r->t.k->body->instr[i].op == LFUSE__REDUCE_SUM && !r->mapping.whole)
        lfuse__put(r->t.out, indent, "a%d = length ? l%d[0] : ZERO_%s;", i, i, w);
    else
        lfuse__put(r->t.out, indent, "a%d = l%d[0];", i, i);
    if (lfuse__rows_indexed(r, i)) lfuse__put(r->t.out, indent, "m%d = n%d[0];", i, i);
}

/* What every team of the group found of its segment, to local memory, and the fold of up to 32 of them. */
static void put_block(const lfuse__team *t, int indent, int sweep, int segments)
{
    const lfuse__rows *r = t->r;
    const int ninstr = r->t.k->body->ninstr;
    lfuse__put(r->t.out, indent, "SYNC();");
    for (int i = 0; i < ninstr; i++) {
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        lfuse__put(r->t.out, indent, "l%d[0] = part%d[rank %% %d];", i, i, segments);
        if (lfuse__rows_indexed(r, i)) lfuse__put(r->t.out, indent, "n%d[0] = spot%d[rank %% %d];", i, i, segments);
        for (int mask = 1; mask < segments; mask *= 2) lfuse__rows_put_exchange(r, indent, i, "[0]", mask);
    }
}

static void put_part(const lfuse__team *t, int indent, int sweep, const char *place)
{
    const lfuse__rows *r = t->r;
    for (int i = 0; i < r->t.k->body->ninstr; i++) {
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        lfuse__rows_put_team_fold(r, indent, i, t->width, t->parts);
        lfuse__put(r->t.out, indent, "if (rank == 0) part%d[%s] = l%d[0];", i, place, i);
        if (lfuse__rows_indexed(r, i)) lfuse__put(r->t.out, indent, "if (rank == 0) spot%d[%s] = n%d[0];", i, place, i);
    }
}

static void put_lanes(const lfuse__team *t, int indent, int sweep)
{
    char count[16];
    snprintf(count, sizeof count, "%d", t->parts * VECTOR);
    for (int i = 0; i < t->r->t.k->body->ninstr; i++)
        if (lfuse__rows_reduces(t->r, i, sweep)) lfuse__rows_put_lanes(t->r, indent, i, "ln", count);
}

/* A row that the group holds: a segment a team. */
static void put_held(const lfuse__team *t, int indent, int sweep, bool any)
{
    const lfuse__rows *r = t->r;
    put_lanes(t, indent, sweep);
    lfuse__team_put_segment(t, indent, sweep);
    if (t->group && any) {
        put_part(t, indent, sweep, "seg");
        put_block(t, indent, sweep, t->size / t->width);
    }
    for (int i = 0; i < r->t.k->body->ninstr; i++) {
        if (!lfuse__rows_reduces(r, i, sweep)) continue;
        if (!t->group) lfuse__rows_put_team_fold(r, indent, i, t->width, t->parts);
        put_total(r, indent, i);
    }
}

/* Any row: blocks of 32 segments, then the counter. */
static void put_streamed(const lfuse__team *t, int indent, int sweep, bool any)
{
    const lfuse__rows *r = t->r;
    const int teams = t->size / t->width;
    lfuse__strbuf *out = r->t.out;
    if (any) lfuse__rows_put_counter_begin(r, indent, sweep);
    lfuse__put(out, indent, "for (%s block = 0; block * %d < length; block += %d) {", r->t.ux, LFUSE__SEGMENT, BLOCK);
    lfuse__put(out, indent + 1, "for (u32 turn = 0; turn < %d; turn += %d) {", BLOCK, teams);
    lfuse__put(out, indent + 2, "const %s seg = block + turn + team;", r->t.ux);
    put_lanes(t, indent + 2, sweep);
    lfuse__team_put_segment(t, indent + 2, sweep);
    if (any) put_part(t, indent + 2, sweep, "turn + team");
    lfuse__put(out, indent + 1, "}");
    if (any) {
        put_lanes(t, indent + 1, sweep);
        put_block(t, indent + 1, sweep, BLOCK);
        lfuse__put(out, indent + 1, "SYNC();");
        lfuse__rows_put_counter_add(r, indent + 1, sweep, "[0]");
    }
    lfuse__put(out, indent, "}");
    if (any) lfuse__rows_put_counter_end(r, indent, sweep);
}

static void put_sweep(const lfuse__team *t, int indent, int sweep)
{
    const lfuse__rows *r = t->r;
    const bool any = lfuse__rows_any_reduce(r, sweep);
    for (int i = 0; i < r->t.k->body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, sweep)) lfuse__rows_put_empty(r, indent, i);
    lfuse__put(r->t.out, indent, "{");
    if (t->streams)
        put_streamed(t, indent + 1, sweep, any);
    else
        put_held(t, indent + 1, sweep, any);
    lfuse__put(r->t.out, indent, "}");
    for (int i = 0; i < r->t.k->body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, sweep)) lfuse__rows_put_result(r, indent, i);
}

static void put_local(const lfuse__team *t)
{
    const lfuse__rows *r = t->r;
    for (int i = 0; i < r->t.k->body->ninstr && t->group; i++) {
        if (!r->used[i] || r->t.k->body->instr[i].kind != LFUSE__I_REDUCE) continue;
        lfuse__put(r->t.out, 1, "LOCAL(S_%s, part%d, %d)", lfuse__rows_word(r, i), i, BLOCK);
        if (lfuse__rows_indexed(r, i)) lfuse__put(r->t.out, 1, "LOCAL(S_%s, spot%d, %d)", r->t.ix, i, BLOCK);
    }
}

/* Where the row's elements are. What is looked up ahead, for the first row or the next, is not looked up again. */
static void put_bases(const lfuse__team *t, int indent, bool ahead)
{
    lfuse__rows_put_offsets(t->r, indent);
    for (int j = 0; j < t->r->t.k->noperands; j++)
        if ((t->holds[j] == LFUSE__HOLD_NEXT || t->holds[j] == LFUSE__HOLD_FIXED) == ahead)
            lfuse__rows_put_look_up(t->r, indent, j);
}

/* Row `at` of each team, or the last one where there are no more: teams of a group keep step. */
static void put_row_number(const lfuse__team *t, int indent, const char *at)
{
    lfuse__put(t->r->t.out, indent, "const %s row = %s + team < total ? %s + team : total - 1;", t->r->t.ux, at, at);
}

/* ahead<i> of row `at`. */
static void put_indices(const lfuse__team *t, int indent, const bool *indices, const char *at)
{
    const lfuse__text *text = &t->r->t;
    bool any = false;
    for (int i = 0; i < text->k->body->ninstr; i++) any = any || indices[i];
    if (!any) return;
    lfuse__put(text->out, indent, "{");
    put_row_number(t, indent + 1, at);
    lfuse__rows_put_offsets(t->r, indent + 1);
    for (int i = 0; i < text->k->body->ninstr; i++) {
        const int j = text->k->body->instr[i].a;
        char place[16], load[96];
        if (!indices[i]) continue;
        snprintf(place, sizeof place, "b%d", j);
        lfuse__put_load(text, j, place, load, sizeof load);
        lfuse__put(text->out, indent + 1, "ahead%d = %s;", i, load);
    }
    lfuse__put(text->out, indent, "}");
}

static void find_indices(const lfuse__team *t, bool indices[LFUSE__ROW_INSTR])
{
    memset(indices, 0, LFUSE__ROW_INSTR * sizeof *indices);
    for (int j = 0; j < t->r->t.k->noperands; j++)
        if (t->holds[j] == LFUSE__HOLD_NEXT) lfuse__rows_find_indices(t->r, j, indices);
}

/*
 * The next row is loaded when the last sweep begins, which is most of the work where it matters: what earlier sweeps
 * alone took of this row has left its registers to it. Where it is looked up, its index has come a row earlier.
 */
static void put_next(const lfuse__team *t, int indent)
{
    const lfuse__text *text = &t->r->t;
    bool indices[LFUSE__ROW_INSTR];
    find_indices(t, indices);
    lfuse__put(text->out, indent, "const %s next = first + step;", text->ux);
    lfuse__put(text->out, indent, "if (next < total) {");
    put_row_number(t, indent + 1, "next");
    memcpy(t->r->ahead, indices, sizeof indices);
    put_bases(t, indent + 1, true);
    memset(t->r->ahead, 0, sizeof t->r->ahead);
    lfuse__team_put_loads(t, indent + 1, LFUSE__HOLD_NEXT, 'q');
    put_indices(t, indent + 1, indices, "next + step");
    lfuse__put(text->out, indent, "}");
}

/* Row loads of what is the same for all rows. */
static void find_early(lfuse__rows *r)
{
    for (int i = 0; i < r->t.k->body->ninstr; i++) {
        const lfuse__instr *instr = &r->t.k->body->instr[i];
        const lfuse__kernel_operand *o = &r->t.k->operands[instr->kind == LFUSE__I_LOAD ? instr->a : 0];
        r->early[i] = instr->kind == LFUSE__I_LOAD && r->used[i] && r->of_row[i] && o->fixed && !o->gathered &&
                      !o->index;
    }
}

/* Before the loop over rows: what is the same for all of them, and the first row. */
static void put_first(const lfuse__team *t, int indent)
{
    const lfuse__text *text = &t->r->t;
    const lfuse__body *body = text->k->body;
    bool any = lfuse__team_holds(t, LFUSE__HOLD_NEXT) || lfuse__team_holds(t, LFUSE__HOLD_FIXED);
    bool indices[LFUSE__ROW_INSTR];
    find_indices(t, indices);
    lfuse__team_put_arrays(t, indent, LFUSE__HOLD_FIXED, 'h');
    lfuse__team_put_arrays(t, indent, LFUSE__HOLD_NEXT, 'q');
    for (int i = 0; i < body->ninstr; i++) {
        const char *word = lfuse__register_word(body->instr[i].type);
        if (!t->r->early[i]) continue;
        lfuse__put(text->out, indent, "L_%s r%d = ZERO_%s;", word, i, word);
        any = true;
    }
    for (int i = 0; i < body->ninstr; i++) {
        const char *word = lfuse__register_word(body->instr[i].type);
        if (indices[i]) lfuse__put(text->out, indent, "S_%s ahead%d = ZERO_%s;", word, i, word);
    }
    if (!any) return;
    lfuse__put(text->out, indent, "if (first < total) {");
    put_row_number(t, indent + 1, "first");
    put_bases(t, indent + 1, true);
    for (int i = 0; i < body->ninstr; i++)
        if (t->r->early[i])
            lfuse__put(text->out, indent + 1, "r%d = LOAD_%s(p%d, b%d);", i,
                       lfuse__memory_word(text->k->operands[body->instr[i].a].type), body->instr[i].a,
                       body->instr[i].a);
    put_indices(t, indent + 1, indices, "first + step");
    lfuse__team_put_loads(t, indent + 1, LFUSE__HOLD_FIXED, 'h');
    lfuse__team_put_loads(t, indent + 1, LFUSE__HOLD_NEXT, 'q');
    lfuse__put(text->out, indent, "}");
}

static void put_row(const lfuse__team *t, int indent)
{
    const lfuse__rows *r = t->r;
    int reducing = 0;
    put_bases(t, indent, false);
    lfuse__team_put_arrays(t, indent, LFUSE__HOLD_TOP, 'h');
    lfuse__team_put_loads(t, indent, LFUSE__HOLD_TOP, 'h');
    lfuse__team_put_now(t, indent);
    for (int sweep = 0; sweep < r->nsweeps; sweep++) {
        lfuse__rows_put_phase(r, indent, sweep, false);
        if (sweep == r->nsweeps - 1 && lfuse__team_holds(t, LFUSE__HOLD_NEXT)) put_next(t, indent);
        if (sweep == r->nsweeps - 2) lfuse__team_put_ahead(t, indent);
        put_sweep(t, indent, sweep);
        reducing += lfuse__rows_any_reduce(r, sweep);
    }
    lfuse__rows_put_phase(r, indent, r->nsweeps, true);
    lfuse__put(r->t.out, indent, t->group ? "if (ITEM() == 0) {" : "if (active && rank == 0) {");
    lfuse__rows_put_row_stores(r, indent + 1);
    lfuse__put(r->t.out, indent, "}");
    /* The parts of one sweep are written again when everybody has come through another one. */
    if (t->group && !t->streams && reducing < 2) lfuse__put(r->t.out, indent, "SYNC();");
}

static void team_init(lfuse__team *t, lfuse__rows *r)
{
    const lfuse__row_mapping *m = &r->mapping;
    *t = (lfuse__team){.r = r, .group = m->form == LFUSE__ROWS_GROUP, .partial = m->form == LFUSE__ROWS_PARTIAL,
                .whole = m->whole};
    t->streams = t->group && m->held == 0;
    t->size = t->group ? m->team : LFUSE__GROUP;
    t->width = t->group || t->partial ? LFUSE__TEAM : m->team;
    t->each = t->group ? 1 : LFUSE__GROUP / t->width;
    t->chunks = t->group || t->partial ? CHUNKS : m->held / VECTOR;
    t->parts = LFUSE__TEAM / t->width < t->chunks ? LFUSE__TEAM / t->width : t->chunks;
    lfuse__rows_hold(r, t->chunks, t->holds);
}

/* A segment a team. */
static void put_partial(const lfuse__team *t, int indent)
{
    const lfuse__rows *r = t->r;
    const lfuse__text *text = &r->t;
    lfuse__put(text->out, indent, "const u64 total = rows * segments;");
    lfuse__put(text->out, indent, "for (u64 first = GROUP() * %d; first < total; first += GROUPS() * %d) {", t->each,
               t->each);
    lfuse__put(text->out, indent + 1, "const int active = first + team < total;");
    lfuse__put(text->out, indent + 1, "const u64 cell = active ? first + team : first;");
    lfuse__put(text->out, indent + 1, "const %s row = (%s)(cell / segments), seg = (%s)(cell %% segments);", text->ux,
               text->ux, text->ux);
    lfuse__rows_put_bases(r, indent + 1);
    lfuse__rows_put_phase(r, indent + 1, 0, false);
    put_lanes(t, indent + 1, 0);
    lfuse__team_put_segment(t, indent + 1, 0);
    for (int i = 0; i < text->k->body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, 0)) lfuse__rows_put_team_fold(r, indent + 1, i, t->width, t->parts);
    lfuse__put(text->out, indent + 1, "if (active && rank == 0) {");
    lfuse__rows_put_keep(r, indent + 2, "cell");
    lfuse__put(text->out, indent + 1, "}");
    lfuse__put(text->out, indent, "}");
}

/* A group a row, or one row after the other. */
static void put_rows_of_groups(const lfuse__team *t, int indent)
{
    const lfuse__text *text = &t->r->t;
    lfuse__put(text->out, indent, "for (u64 first = GROUP(); first < rows; first += GROUPS()) {");
    lfuse__put(text->out, indent + 1, "const %s row = (%s)first;", text->ux, text->ux);
    put_row(t, indent + 1);
    lfuse__put(text->out, indent, "}");
}

static void put_rows_of_teams(const lfuse__team *t, int indent)
{
    const lfuse__text *text = &t->r->t;
    lfuse__put(text->out, indent, "%s first = (%s)GROUP() * %d;", text->ux, text->ux, t->each);
    put_first(t, indent);
    lfuse__put(text->out, indent, "for (; first < total; first += step) {");
    lfuse__put(text->out, indent + 1, "const int active = first + team < total;");
    put_row_number(t, indent + 1, "first");
    put_row(t, indent + 1);
    lfuse__put(text->out, indent, "}");
}

/* What teams of a group step by over the rows. */
static void put_steps(const lfuse__team *t, int indent)
{
    const lfuse__text *text = &t->r->t;
    lfuse__put(text->out, indent, "const %s total = (%s)rows, step = (%s)GROUPS() * %d;", text->ux, text->ux, text->ux,
               t->each);
    find_early(t->r);
}

static void put_rows(const lfuse__team *t, int indent)
{
    if (t->group) put_rows_of_groups(t, indent);
    else put_rows_of_teams(t, indent);
}

/*
 * A loop for vectors, and one for single elements that holds nothing but rows of groups: a question inside would cost
 * its answers an instruction each for every row, and what is loaded ahead the registers for both.
 */
static void put_rows_by_access(lfuse__team *t, int indent)
{
    const lfuse__text *text = &t->r->t;
    t->access = LFUSE__ACCESS_VECTORS;
    lfuse__put(text->out, indent, "if (vectors) {");
    put_rows(t, indent + 1);
    lfuse__put(text->out, indent, "} else {");
    t->access = LFUSE__ACCESS_SINGLE;
    for (int j = 0; j < text->k->noperands; j++)
        if (t->holds[j] && !(t->group && t->holds[j] == LFUSE__HOLD_TOP)) t->holds[j] = LFUSE__HOLD_LATE;
    put_rows(t, indent + 1);
    lfuse__put(text->out, indent, "}");
}

void lfuse__rows_put_team_segment(lfuse__rows *r, int indent)
{
    lfuse__team t;
    team_init(&t, r);
    put_lanes(&t, indent, 0);
    lfuse__team_put_segment(&t, indent, 0);
    for (int i = 0; i < r->t.k->body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, 0)) lfuse__rows_put_team_fold(r, indent, i, t.width, t.parts);
}

void lfuse__rows_put_team_local(lfuse__rows *r)
{
    lfuse__team t;
    team_init(&t, r);
    put_local(&t);
}

void lfuse__rows_put_team_sweep(lfuse__rows *r, int indent, int sweep)
{
    lfuse__team t;
    team_init(&t, r);
    put_sweep(&t, indent, sweep);
}

void lfuse__rows_emit_team(lfuse__rows *r, const char *name)
{
    const lfuse__text *text = &r->t;
    lfuse__team t;
    team_init(&t, r);
    lfuse__rows_put_head(r, name, t.size);
    lfuse__put(text->out, 1, "TEAM(%d)", t.size);
    put_local(&t);
    lfuse__put(text->out, 1, "const u32 vectors = (u32)W(%d), team = ITEM() / %d, rank = ITEM() %% %d;",
               text->layout->flags, t.width, t.width);
    if (t.partial) {
        lfuse__rows_put_partials(r, 1);
        put_partial(&t, 1);
    } else {
        if (t.group && !t.streams) lfuse__put(text->out, 1, "const %s seg = team;", text->ux);
        if (!t.group) put_steps(&t, 1);
        if (t.group && !lfuse__team_holds(&t, LFUSE__HOLD_AHEAD)) put_rows_of_groups(&t, 1);
        else put_rows_by_access(&t, 1);
    }
    lfuse__put(text->out, 0, "}");
}
