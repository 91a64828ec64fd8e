/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on teams whose work-items exchange values: the kernel is text/rows_team.k. rows_chunks.c has the elements. */
#include <string.h>

#include "common/kernels/rows_team.h"

#include "common/kernels/text/rows_team.k.h"
#include "common/kernels/text/rows_team_rows.k.h"
#include "common/kernels/text/rows_team_sweep.k.h"

enum { VECTOR = LFUSE__ROW_VECTOR, CHUNKS = LFUSE__SEGMENT / LFUSE__ROW_LANES };

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

/* The parameters that all its files have; `own` are those of one, up to a name of NULL. */
static void put_file(const lfuse__team *t, int indent, int sweep, const char *text, const lfuse__parameter *own,
                     const lfuse__text_place *places)
{
    const lfuse__rows_file file = {.r = t->r, .sweep = sweep, .form = t};
    lfuse__parameter parameters[24] = {
        {"ITEMS", .number = t->size}, {"WIDTH", .number = t->width}, {"TEAMS", .number = t->size / t->width},
        {"EACH", .number = t->each}, {"OF_GROUP", .number = t->group}, {"STREAMS", .number = t->streams},
        {"PARTIAL", .number = t->partial}, {"ITEM_LANES", .number = t->parts * VECTOR}, {"PARTS", .number = t->parts},
    };

    for (int n = 9; own->name; n++) parameters[n] = *own++;
    lfuse__rows_put_file(&file, indent, text, parameters, places);
}

static void put_chunks(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    (void)which;
    lfuse__team_put_segment(f->form, indent, f->sweep);
}

/* ---- what is loaded ahead ---- */

/* Where the row's elements are. What is looked up ahead, for the first row or the next, is not looked up again. */
static void put_bases(const lfuse__team *t, int indent, bool ahead)
{
    lfuse__rows_put_offsets(t->r, indent);
    for (int j = 0; j < t->r->t.k->noperands; j++)
        if ((t->holds[j] == LFUSE__HOLD_NEXT || t->holds[j] == LFUSE__HOLD_FIXED) == ahead)
            lfuse__rows_put_look_up(t->r, indent, j);
}

/* The row loads that the place of what is loaded ahead is computed from; whether there are some. */
static bool find_indices(const lfuse__team *t, bool indices[LFUSE__ROW_INSTR])
{
    bool any = false;
    memset(indices, 0, LFUSE__ROW_INSTR * sizeof *indices);
    for (int j = 0; j < t->r->t.k->noperands; j++)
        if (t->holds[j] == LFUSE__HOLD_NEXT) lfuse__rows_find_indices(t->r, j, indices);
    for (int i = 0; i < t->r->t.k->body->ninstr; i++) any = any || indices[i];
    return any;
}

/* ahead<i> of the row at b<j>. */
static void put_indices(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    const lfuse__text *text = &f->r->t;
    bool indices[LFUSE__ROW_INSTR];
    (void)which;
    find_indices(f->form, indices);
    for (int i = 0; i < text->k->body->ninstr; i++) {
        const int j = text->k->body->instr[i].a;
        if (indices[i])
            lfuse__put(text->out, indent, "ahead%d = %s;", i,
                       lfuse__load(text, j, lfuse__expression("b%d", j).text).text);
    }
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

static void put_places(const void *context, int ahead, int indent)
{
    put_bases(((const lfuse__rows_file *)context)->form, indent, ahead);
}

static void put_places_of_next(const void *context, int which, int indent)
{
    const lfuse__team *t = ((const lfuse__rows_file *)context)->form;
    (void)which;
    find_indices(t, t->r->ahead);
    put_bases(t, indent, true);
    memset(t->r->ahead, 0, sizeof t->r->ahead);
}

/* ---- a sweep ---- */

enum { NEXT, AHEAD };

static void put_sweep_loads(const void *context, int which, int indent)
{
    const lfuse__team *t = ((const lfuse__rows_file *)context)->form;
    if (which == NEXT) lfuse__team_put_loads(t, indent, LFUSE__HOLD_NEXT, 'q');
    else lfuse__team_put_ahead(t, indent);
}

/* `in_loop`: of rows; else by itself. */
static void put_sweep(const lfuse__team *t, int indent, int sweep, bool in_loop)
{
    static const lfuse__text_place places[] = {
        {"PLACES_OF_NEXT", put_places_of_next, 0}, {"LOAD_NEXT", put_sweep_loads, NEXT},
        {"LOAD_AHEAD", put_sweep_loads, AHEAD}, {"LOAD_INDICES", put_indices, 0}, {"FOLD_CHUNKS", put_chunks, 0},
        {NULL, NULL, 0},
    };
    const int last = t->r->nsweeps - 1;
    bool indices[LFUSE__ROW_INSTR];
    const lfuse__parameter own[] = {
        {"LOADS_NEXT", .number = in_loop && sweep == last && lfuse__team_holds(t, LFUSE__HOLD_NEXT)},
        {"LOADS_AHEAD", .number = in_loop && sweep == last - 1 && lfuse__team_holds(t, LFUSE__HOLD_AHEAD)},
        {"LOOKS_UP", .number = find_indices(t, indices)}, {NULL},
    };

    put_file(t, indent, sweep, lfuse__text_rows_team_sweep, own, places);
}

/* ---- rows ---- */

static void put_sweeps(const void *context, int which, int indent)
{
    const lfuse__team *t = ((const lfuse__rows_file *)context)->form;
    (void)which;
    for (int sweep = 0; sweep < t->r->nsweeps; sweep++) {
        lfuse__rows_put_phase(t->r, indent, sweep, false);
        put_sweep(t, indent, sweep, true);
    }
}

enum { DECLARE_HELD, LOAD_HELD, LOAD_ROW };

/* What is the same for all rows, and the next row; or this one. */
static void put_held(const void *context, int which, int indent)
{
    const lfuse__team *t = ((const lfuse__rows_file *)context)->form;
    const lfuse__body *body = t->r->t.k->body;
    bool indices[LFUSE__ROW_INSTR];

    switch (which) {
    case DECLARE_HELD:
        find_indices(t, indices);
        lfuse__team_put_arrays(t, indent, LFUSE__HOLD_FIXED, 'h');
        lfuse__team_put_arrays(t, indent, LFUSE__HOLD_NEXT, 'q');
        for (int i = 0; i < body->ninstr; i++) {
            const char *word = lfuse__register_word(body->instr[i].type);
            if (t->r->early[i]) lfuse__put(t->r->t.out, indent, "L_%s r%d = ZERO_%s;", word, i, word);
            if (indices[i]) lfuse__put(t->r->t.out, indent, "S_%s ahead%d = ZERO_%s;", word, i, word);
        }
        break;
    case LOAD_HELD:
        lfuse__team_put_loads(t, indent, LFUSE__HOLD_FIXED, 'h');
        lfuse__team_put_loads(t, indent, LFUSE__HOLD_NEXT, 'q');
        break;
    case LOAD_ROW:
        lfuse__team_put_arrays(t, indent, LFUSE__HOLD_TOP, 'h');
        lfuse__team_put_loads(t, indent, LFUSE__HOLD_TOP, 'h');
        lfuse__team_put_now(t, indent);
        break;
    }
}

static void put_fixed_registers(const void *context, int which, int indent)
{
    const lfuse__rows *r = ((const lfuse__rows_file *)context)->r;
    (void)which;
    for (int i = 0; i < r->t.k->body->ninstr; i++) {
        const int j = r->t.k->body->instr[i].a;
        if (r->early[i])
            lfuse__put(r->t.out, indent, "r%d = LOAD_%s(p%d, b%d);", i, lfuse__memory_word(r->t.k->operands[j].type),
                       j, j);
    }
}

static bool loads_first(const lfuse__team *t)
{
    for (int i = 0; i < t->r->t.k->body->ninstr; i++)
        if (t->r->early[i]) return true;
    return lfuse__team_holds(t, LFUSE__HOLD_NEXT) || lfuse__team_holds(t, LFUSE__HOLD_FIXED);
}

/* The loop over the rows: operands are read and written as `access` says. */
static void put_rows(const void *context, int access, int indent)
{
    static const lfuse__text_place places[] = {
        {"DECLARE_HELD", put_held, DECLARE_HELD}, {"LOAD_HELD", put_held, LOAD_HELD}, {"LOAD_ROW", put_held, LOAD_ROW},
        {"PLACES", put_places, false}, {"PLACES_AHEAD", put_places, true}, {"FIXED_REGISTERS", put_fixed_registers, 0},
        {"LOAD_INDICES", put_indices, 0}, {"SWEEPS", put_sweeps, 0}, {NULL, NULL, 0},
    };
    lfuse__team t = *(const lfuse__team *)((const lfuse__rows_file *)context)->form;
    bool indices[LFUSE__ROW_INSTR];
    int reducing = 0;

    t.access = (lfuse__access)access;
    for (int j = 0; j < t.r->t.k->noperands && access == LFUSE__ACCESS_SINGLE; j++)
        if (t.holds[j] && !(t.group && t.holds[j] == LFUSE__HOLD_TOP)) t.holds[j] = LFUSE__HOLD_LATE;
    for (int sweep = 0; sweep < t.r->nsweeps; sweep++) reducing += lfuse__rows_any_reduce(t.r, sweep);
    const lfuse__parameter own[] = {
        {"LOADS_FIRST", .number = loads_first(&t)}, {"LOOKS_UP", .number = find_indices(&t, indices)},
        {"SYNC_BEHIND", .number = t.group && !t.streams && reducing < 2}, {NULL},
    };
    put_file(&t, indent, 0, lfuse__text_rows_team_rows, own, places);
}

/* ---- the kernel, and its parts in others ---- */

void lfuse__rows_emit_team(lfuse__rows *r, const char *name)
{
    static const lfuse__text_place places[] = {
        {"FOLD_CHUNKS", put_chunks, 0}, {"ROWS", put_rows, LFUSE__ACCESS_ASK},
        {"ROWS_BY_VECTORS", put_rows, LFUSE__ACCESS_VECTORS}, {"ROWS_BY_ELEMENTS", put_rows, LFUSE__ACCESS_SINGLE},
        {NULL, NULL, 0},
    };
    lfuse__team t;

    team_init(&t, r);
    const lfuse__parameter own[] = {
        {"NAME", .word = name},
        {"BY_ACCESS", .number = !t.group || (t.streams && r->nsweeps == 1) || lfuse__team_holds(&t, LFUSE__HOLD_AHEAD)},
        {NULL},
    };
    if (!t.group && !t.partial) find_early(r);
    lfuse__put_powers(r->t.out, r->t.k->body);
    put_file(&t, 0, 0, lfuse__text_rows_team, own, places);
}

void lfuse__rows_put_team_segment(lfuse__rows *r, int indent)
{
    lfuse__team t;

    team_init(&t, r);
    const lfuse__expr lanes = lfuse__expression("%d", t.parts * VECTOR);
    for (int i = 0; i < r->t.k->body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, 0)) lfuse__rows_put_lanes(r, indent, i, "ln", lanes.text);
    lfuse__team_put_segment(&t, indent, 0);
    for (int i = 0; i < r->t.k->body->ninstr; i++)
        if (lfuse__rows_reduces(r, i, 0)) lfuse__rows_put_team_fold(r, indent, i, t.width, t.parts);
}

void lfuse__rows_put_team_sweep(lfuse__rows *r, int indent, int sweep)
{
    lfuse__team t;

    team_init(&t, r);
    put_sweep(&t, indent, sweep, false);
}
