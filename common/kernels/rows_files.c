/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in text/rows_*.k. Their statements are about what REDUCEs gather: lane[0] stands for the l<i>[0] of each REDUCE
 * i of the sweep, and for ARGMAX and ARGMIN, which gather an index beside a value, for n<i>[0] too. lane_0[0] is that
 * of the sweep's first REDUCE alone, for what is done of one after the other: of all together it takes more registers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kernels/rows.h"

enum { ARGUMENTS = 5, ARGUMENT_TEXT = 256, MOST = 48 /* entries of a table */ };

/* The names of what is gathered, and how those of values and indices begin. */
static const struct {
    const char *name, *value, *index;
} names[] = {
    {"lane", "l", "n"}, {"rest", "z", "y"}, {"pending", "w", "k"}, {"half", "h", "k"},
    {"stack", "s", "t"}, {"total", "a", "m"}, {"part", "part", "spot"},
};

/* One of them, as an argument of a statement. */
typedef struct gathered {
    const char *value, *index, *behind;
    char letters[3];
    int only; /* of the sweep's REDUCEs: that one alone; -1: all */
} gathered;

static gathered gathered_of(const char *argument)
{
    const size_t length = strcspn(argument, "_[");
    const char *behind = argument + strcspn(argument, "[");
    size_t n = 0;

    while (strncmp(names[n].name, argument, length) || names[n].name[length]) n++;
    return (gathered){.value = names[n].value, .index = names[n].index, .behind = behind,
                      .letters = {names[n].value[0], names[n].index[0]},
                      .only = argument[length] == '_' ? atoi(argument + length + 1) : -1};
}

static lfuse__lane lane_of(const gathered *g)
{
    return (lfuse__lane){g->letters, g->behind};
}

/* Parts of a text between commas outside of parentheses; those that are not there are NULL. */
typedef struct arguments {
    char text[ARGUMENT_TEXT];
    const char *at[ARGUMENTS];
} arguments;

static void split(const char *text, arguments *a)
{
    int n = 0, depth = 0;

    *a = (arguments){.at = {a->text}};
    snprintf(a->text, sizeof a->text, "%s", text);
    for (char *c = a->text; *c; c++) {
        depth += (*c == '(') - (*c == ')');
        if (*c != ',' || depth || n + 1 == ARGUMENTS) continue;
        *c = '\0';
        a->at[++n] = c + 2;
    }
}

/* ---- statements ---- */

/* Each is written for REDUCE i by a function of its own. */
typedef void put_one(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a);

/* DECLARE(lane, 4): with nothing gathered yet. */
static void put_declare(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    lfuse__rows_put_lanes(f->r, indent, i, g->letters, a->at[1]);
}

/* CLEAR(lane[0]): nothing gathered. */
static void put_clear(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    char identity[64];
    (void)a;
    lfuse__rows_identity(f->r, i, identity, sizeof identity);
    lfuse__put(f->r->t.out, indent, "%s%d%s = %s;", g->value, i, g->behind, identity);
    if (lfuse__rows_indexed(f->r, i))
        lfuse__put(f->r->t.out, indent, "%s%d%s = %s;", g->index, i, g->behind, lfuse__rows_no_index(f->r));
}

/* RESERVE(stack, 56): with nothing in it. */
static void put_reserve(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    const lfuse__text *t = &f->r->t;
    lfuse__put(t->out, indent, "L_%s %s%d[%s];", lfuse__rows_word(f->r, i), g->value, i, a->at[1]);
    if (lfuse__rows_indexed(f->r, i)) lfuse__put(t->out, indent, "L_%s %s%d[%s];", t->ix, g->index, i, a->at[1]);
}

/* LOCAL(part, 8): local memory, of all sweeps. */
static void put_local(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    const lfuse__text *t = &f->r->t;
    lfuse__put(t->out, indent, "LOCAL(S_%s, %s%d, %s)", lfuse__rows_word(f->r, i), g->value, i, a->at[1]);
    if (lfuse__rows_indexed(f->r, i))
        lfuse__put(t->out, indent, "LOCAL(S_%s, %s%d, %s)", t->ix, g->index, i, a->at[1]);
}

/* EMPTY(total): declared, with what an empty row gives. */
static void put_empty(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    (void)g, (void)a;
    lfuse__rows_put_empty(f->r, indent, i);
}

/* RESULT(total): the register of the row. */
static void put_result(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    (void)g, (void)a;
    lfuse__rows_put_result(f->r, indent, i);
}

/* COMBINE(to, low, high): to = op(low, high). */
static void put_combine(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    const gathered low = gathered_of(a->at[1]), high = gathered_of(a->at[2]);
    lfuse__rows_put_combine(f->r, indent, i, lane_of(g), lane_of(&low), lane_of(&high));
}

/* COPY(to, from). */
static void put_copy(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    const gathered from = gathered_of(a->at[1]);
    lfuse__put(f->r->t.out, indent, "%s%d%s = %s%d%s;", g->value, i, g->behind, from.value, i, from.behind);
    if (lfuse__rows_indexed(f->r, i))
        lfuse__put(f->r->t.out, indent, "%s%d%s = %s%d%s;", g->index, i, g->behind, from.index, i, from.behind);
}

/* LET(half, HALF8, lane[0]): declared as that function of something. */
static void put_let(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    const lfuse__text *t = &f->r->t;
    const char *word = lfuse__rows_word(f->r, i);
    const gathered of = gathered_of(a->at[2]);
    lfuse__put(t->out, indent, "const L_%s %s%d = %s_%s(%s%d%s);", word, g->value, i, a->at[1], word, of.value, i,
               of.behind);
    if (lfuse__rows_indexed(f->r, i))
        lfuse__put(t->out, indent, "const L_%s %s%d = %s_%s(%s%d%s);", t->ix, g->index, i, a->at[1], t->ix, of.index,
                   i, of.behind);
}

/* FETCH(to, cell, guard): from the partial results. */
static void put_fetch(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    lfuse__rows_put_fetch(f->r, indent, i, lane_of(g), a->at[1], a->at[2]);
}

/* SUBTREE(lane, each, first, cell, guard): lfuse__rows_put_subtree. */
static void put_subtree(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    (void)g;
    lfuse__rows_put_subtree(f->r, indent, i, atoi(a->at[1]), a->at[2], a->at[3], a->at[4]);
}

/* BUTTERFLY(lane[0], width): folded among `width` work-items, those whose ranks differ in one bit after the other. */
static void put_butterfly(const lfuse__rows_file *f, int indent, int i, const gathered *g, const arguments *a)
{
    for (int mask = 1; mask < atoi(a->at[1]); mask *= 2)
        lfuse__rows_put_exchange(f->r, indent, i, g->behind, mask);
}

enum { DECLARE, CLEAR, EMPTY, RESULT, RESERVE, LOCAL, COMBINE, COPY, LET, FETCH, SUBTREE, BUTTERFLY };

static void put_statement(const void *context, int which, int indent, const char *text)
{
    static put_one *const puts[] = {
        [DECLARE] = put_declare, [CLEAR] = put_clear, [RESERVE] = put_reserve, [LOCAL] = put_local,
        [COMBINE] = put_combine, [COPY] = put_copy,   [LET] = put_let,         [FETCH] = put_fetch,
        [SUBTREE] = put_subtree, [BUTTERFLY] = put_butterfly, [EMPTY] = put_empty, [RESULT] = put_result,
    };
    const lfuse__rows_file *f = context;
    arguments a;
    int n = 0;
    split(text, &a);
    const gathered g = gathered_of(a.at[0]);
    for (int i = 0; i < f->r->t.k->body->ninstr; i++) {
        const bool gathers = which == LOCAL ? f->r->used[i] && f->r->t.k->body->instr[i].kind == LFUSE__I_REDUCE
                                            : lfuse__rows_reduces(f->r, i, f->sweep);
        if (!gathers) continue;
        if (g.only < 0 || g.only == n) puts[which](f, indent, i, &g, &a);
        n++;
    }
}

/* KEEP(cell): lane[0] among the partial results. */
static void put_keep(const void *context, int which, int indent, const char *text)
{
    (void)which;
    lfuse__rows_put_keep(((const lfuse__rows_file *)context)->r, indent, text);
}

/* COUNT(lane[0]): the result of a segment joins the counter. */
static void put_count(const void *context, int which, int indent, const char *text)
{
    const lfuse__rows_file *f = context;
    (void)which;
    lfuse__rows_put_counter_add(f->r, indent, f->sweep, gathered_of(text).behind);
}

static const lfuse__statement statements[] = {
    {"DECLARE", put_statement, DECLARE}, {"CLEAR", put_statement, CLEAR},
    {"RESERVE", put_statement, RESERVE}, {"LOCAL", put_statement, LOCAL},
    {"COMBINE", put_statement, COMBINE}, {"COPY", put_statement, COPY},
    {"LET", put_statement, LET},         {"FETCH", put_statement, FETCH},
    {"SUBTREE", put_statement, SUBTREE}, {"BUTTERFLY", put_statement, BUTTERFLY},
    {"EMPTY", put_statement, EMPTY},     {"RESULT", put_statement, RESULT},
    {"KEEP", put_keep, 0},               {"COUNT", put_count, 0},
    {NULL, NULL, 0},
};

/* ---- places ---- */

enum { COUNTER, COUNTER_END, REGISTERS, LAST_REGISTERS, ALL_REGISTERS, OPERANDS, BASES, ROW_STORES };

static void put_place(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    const lfuse__rows *r = f->r;

    switch (which) {
    case COUNTER: lfuse__rows_put_counter_begin(r, indent, f->sweep); break;
    case COUNTER_END: lfuse__rows_put_counter_end(r, indent, f->sweep); break;
    case REGISTERS: lfuse__rows_put_phase(r, indent, f->sweep, false); break;
    case LAST_REGISTERS: lfuse__rows_put_phase(r, indent, r->nsweeps, true); break;
    case ALL_REGISTERS: lfuse__rows_put_phase(r, indent, 0, true); break;
    case OPERANDS: lfuse__rows_put_operands(r); break;
    case BASES: lfuse__rows_put_bases(r, indent); break;
    case ROW_STORES: lfuse__rows_put_row_stores(r, indent); break;
    }
}

static const lfuse__place places[] = {
    {"COUNTER", put_place, COUNTER},       {"COUNTER_END", put_place, COUNTER_END},
    {"REGISTERS", put_place, REGISTERS},   {"LAST_REGISTERS", put_place, LAST_REGISTERS},
    {"OPERANDS", put_place, OPERANDS},     {"ALL_REGISTERS", put_place, ALL_REGISTERS},
    {"BASES", put_place, BASES},           {"ROW_STORES", put_place, ROW_STORES},
    {NULL, NULL, 0},
};

/* ---- files ---- */

void lfuse__rows_put_file(const lfuse__rows_file *f, int indent, const char *text, const lfuse__parameter *own,
                          const lfuse__place *own_places)
{
    const lfuse__text *t = &f->r->t;
    const lfuse__layout none = {0}, *l = t->layout ? t->layout : &none;
    int reductions = 0;
    for (int i = 0; i < t->k->body->ninstr; i++) reductions += lfuse__rows_reduces(f->r, i, f->sweep);
    const lfuse__parameter common[] = {
        {"UX", .word = t->ux}, {"REDUCTIONS", .number = reductions}, {"SINGLE", .number = lfuse__single(f->r->facts)},
        {"VECTOR_LANES", .number = f->r->facts->vector_lanes}, {"WORDS", .number = l->total},
        {"BUFFERS", .number = lfuse__kernel_buffers(t->k)}, {"LAST", .number = lfuse__kernel_buffers(t->k) - 1},
        {"ROWS", .number = l->count}, {"LENGTH", .number = l->length}, {"SEGMENTS", .number = l->segments},
        {"PARTIALS", .number = l->partials}, {"FLAGS", .number = l->flags}, {NULL},
    };
    lfuse__parameter parameters[MOST];
    lfuse__place all[MOST];
    size_t n = sizeof common / sizeof *common - 1, m = sizeof places / sizeof *places - 1;

    memcpy(parameters, common, n * sizeof *common);
    memcpy(all, places, m * sizeof *places);
    for (; own && own->name; own++) parameters[n++] = *own;
    for (; own_places && own_places->name; own_places++) all[m++] = *own_places;
    parameters[n] = (lfuse__parameter){NULL};
    all[m] = (lfuse__place){NULL};
    lfuse__put_text_of(t->out, indent, text, parameters, all, statements, f);
}
