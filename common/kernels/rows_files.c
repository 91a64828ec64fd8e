/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in text/rows_*.k. Their statements are about what REDUCEs gather: lane[0] stands for the l<i>[0] of each REDUCE
 * i of the sweep, and for ARGMAX and ARGMIN, which gather an index with the value, for n<i>[0] too. lane_0[0] is that
 * of the sweep's first REDUCE alone, for what is done of one after the other: of all together it takes more registers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kernels/rows.h"

#include "common/kernels/text/rows_counter.k.h"

enum { ARGUMENTS = 5, CALL_TEXT = 256, MOST = 48 /* entries of a table */ };

/* The names of what is gathered, and how those of values and indices begin. */
static const struct {
    const char *name, *value, *index;
} names[] = {
    {"lane", "l", "n"}, {"rest", "z", "y"}, {"pending", "w", "k"}, {"half", "h", "k"},
    {"stack", "s", "t"}, {"total", "a", "m"}, {"part", "part", "spot"},
};

/* Of the values, or of the indices, of one REDUCE. */
typedef struct field {
    const char *type;
    const char *identity;
    unsigned before; /* bytes a segment of the partial results that stand before it */
    char x[64], y[64], function[32]; /* of the first, the last and the second argument of a statement */
} field;

/* A statement: what stands before its parenthesis, and between its commas. */
typedef struct call {
    char text[CALL_TEXT];
    const char *name, *at[ARGUMENTS]; /* NULL: there are not so many */
    int last;
} call;

static void parse(const char *text, call *c)
{
    int depth = 0;

    *c = (call){.name = c->text, .last = -1};
    snprintf(c->text, sizeof c->text, "%s", text);
    for (char *p = c->text; *p; p++) {
        depth += (*p == '(') - (*p == ')');
        if ((*p == '(' && depth == 1) || (*p == ',' && depth == 1 && c->last + 1 < ARGUMENTS))
            c->at[++c->last] = p + (*p == '(' ? 1 : 2);
        else if (depth || *p != ')') continue;
        *p = '\0';
    }
}

/* Which of the names an argument begins with; -1: none. */
static int name_of(const char *argument)
{
    const size_t length = strcspn(argument, "_[");
    int n = (int)(sizeof names / sizeof *names) - 1;

    while (n >= 0 && (strncmp(names[n].name, argument, length) || names[n].name[length])) n--;
    return n;
}

/* lane[0] or lane_1[0], as that of a REDUCE is called; what has no name there is no word for a compiler. */
static lfuse__lane lane_of(const char *argument, char letters[3])
{
    const int n = name_of(argument);

    letters[0] = n < 0 ? '?' : *names[n].value, letters[1] = n < 0 ? '?' : *names[n].index, letters[2] = '\0';
    return (lfuse__lane){letters, argument + strcspn(argument, "[")};
}

static void expand(const char *argument, int i, bool index, char *text, size_t size)
{
    const int n = name_of(argument);

    if (n < 0) *text = '\0';
    else snprintf(text, size, "%s%d%s", index ? names[n].index : names[n].value, i, argument + strcspn(argument, "["));
}

static field field_of(const lfuse__rows *r, int i, bool index, const call *c)
{
    field f = {.type = index ? r->t.ix : lfuse__rows_word(r, i),
               .identity = index ? lfuse__rows_no_index(r) : lfuse__rows_identity(r, i),
               .before = lfuse__rows_partial_bytes(r, i, index)};

    expand(c->at[0], i, index, f.x, sizeof f.x);
    expand(c->at[c->last], i, index, f.y, sizeof f.y);
    if (c->last) snprintf(f.function, sizeof f.function, "%s_%s", c->at[1], f.type);
    return f;
}

/* ---- statements ---- */

/*
 * What is written of values and, where there are some, of indices. X and Y are the first and the last argument, ARG is
 * the second one as it stands, F a function of that name.
 */
static const struct {
    const char *name, *text;
} simple[] = {
    {"RESERVE", "\n\nL_T X[ARG];\n"},      /* (stack, 56): with nothing in it */
    {"LOCAL", "\n\nLOCAL(S_T, X, ARG)\n"}, /* (part, 8): local memory, of all sweeps */
    {"CLEAR", "\n\nX = IDENTITY;\n"},      /* (lane[0]): nothing gathered */
    {"COPY", "\n\nX = Y;\n"},              /* (to, from) */
    {"LET", "\n\nconst L_T X = F(Y);\n"},  /* (half, HALF8, lane[0]): declared */
    {"EMPTY", "\n\n"                       /* (total): declared, with what an empty row gives */
              "#if IS_ZERO\n"
              "L_T X = SPLAT_T(ZERO_T);\n"
              "#else\n"
              "L_T X = IDENTITY;\n"
              "#endif\n"},
    {"KEEP", "\n\n"                        /* (lane[0], cell): to the partial results */
             "#if LANES_ARE_ROWS\n"
             "{\n"
             "    S_T one[LANES];\n"
             "    SPREAD_T(one, X);\n"
             "    for (int l = 0; l < count; l++) STORE_T(z + cells * BEFORE, ARG + l * segments, one[l]);\n"
             "}\n"
             "#else\n"
             "STORE_T(z + cells * BEFORE, ARG, FIRST_T(X));\n"
             "#endif\n"},
};

static void put_simple(const lfuse__rows *r, int indent, int i, const call *c, const char *text)
{
    for (int index = 0; index <= lfuse__rows_indexed(r, i); index++) {
        const field f = field_of(r, i, index, c);
        const bool zero = index || r->t.k->body->instr[i].op == LFUSE__REDUCE_SUM;
        const lfuse__parameter parameters[] = {{"T", .word = f.type}, {"IDENTITY", .word = f.identity},
                                               {"X", .word = f.x}, {"Y", .word = f.y}, {"ARG", .word = c->at[1]},
                                               {"F", .word = f.function}, {"IS_ZERO", .number = zero},
                                               {"BEFORE", .number = (int)f.before},
                                               {"LANES_ARE_ROWS", .number = r->across && r->facts->vector_lanes},
                                               {NULL}};
        lfuse__put_text(r->t.out, indent, text, parameters, NULL, NULL);
    }
}

/* Others, each written for REDUCE i by a function of its own. */
typedef void put_one(const lfuse__rows *r, int indent, int i, const call *c);

/* DECLARE(lane, 4): with nothing gathered yet. */
static void put_declare(const lfuse__rows *r, int indent, int i, const call *c)
{
    char letters[3];
    lfuse__rows_put_lanes(r, indent, i, lane_of(c->at[0], letters).letter, c->at[1]);
}

/* COMBINE(to, low, high): to = op(low, high). */
static void put_combine(const lfuse__rows *r, int indent, int i, const call *c)
{
    char to[3], low[3], high[3];
    lfuse__rows_put_combine(r, indent, i, lane_of(c->at[0], to), lane_of(c->at[1], low), lane_of(c->at[2], high));
}

/* RESULT(total): the register of the row. */
static void put_result(const lfuse__rows *r, int indent, int i, const call *c)
{
    (void)c;
    lfuse__rows_put_result(r, indent, i);
}

/* TOTAL(total, lane[0]): of the row, where it is one segment. */
static void put_total(const lfuse__rows *r, int indent, int i, const call *c)
{
    const field f = field_of(r, i, false, c);
    if (r->t.k->body->instr[i].op == LFUSE__REDUCE_SUM && !r->mapping.whole)
        lfuse__put(r->t.out, indent, "%s = length ? %s : ZERO_%s;", f.x, f.y, f.type);
    else
        put_simple(r, indent, i, c, "\n\nX = Y;\n");
}

/* FETCH(to, cell, guard): from the partial results. */
static void put_fetch(const lfuse__rows *r, int indent, int i, const call *c)
{
    char to[3];
    lfuse__rows_put_fetch(r, indent, i, lane_of(c->at[0], to), c->at[1], c->at[2]);
}

/* SUBTREE(lane, each, first, cell, guard): lfuse__rows_put_subtree. */
static void put_subtree(const lfuse__rows *r, int indent, int i, const call *c)
{
    lfuse__rows_put_subtree(r, indent, i, atoi(c->at[1]), c->at[2], c->at[3], c->at[4]);
}

/* FOLD_LANES(lane, width, parts): lfuse__rows_put_team_fold. */
static void put_fold_lanes(const lfuse__rows *r, int indent, int i, const call *c)
{
    lfuse__rows_put_team_fold(r, indent, i, atoi(c->at[1]), atoi(c->at[2]));
}

/* BUTTERFLY(lane[0], width): folded among `width` work-items, those whose ranks differ in one bit after the other. */
static void put_butterfly(const lfuse__rows *r, int indent, int i, const call *c)
{
    char letters[3];
    for (int mask = 1; mask < atoi(c->at[1]); mask *= 2)
        lfuse__rows_put_exchange(r, indent, i, lane_of(c->at[0], letters).behind, mask);
}

static const struct {
    const char *name;
    put_one *put;
} others[] = {
    {"DECLARE", put_declare}, {"COMBINE", put_combine}, {"RESULT", put_result},         {"TOTAL", put_total},
    {"FETCH", put_fetch},     {"SUBTREE", put_subtree}, {"FOLD_LANES", put_fold_lanes}, {"BUTTERFLY", put_butterfly},
};

/* Once for each REDUCE that is meant: of the sweep, or of all sweeps; the one with a number behind the name alone. */
static bool put_each(const lfuse__rows_file *f, int indent, const call *c, put_one *put, const char *text)
{
    const char *number = c->at[0] + strcspn(c->at[0], "_[");
    const int only = *number == '_' ? atoi(number + 1) : -1;
    const bool all = !strcmp(c->name, "LOCAL");
    int n = 0;

    for (int i = 0; i < f->r->t.k->body->ninstr; i++) {
        if (all ? !f->r->used[i] || f->r->t.k->body->instr[i].kind != LFUSE__I_REDUCE
                : !lfuse__rows_reduces(f->r, i, f->sweep))
            continue;
        if (only >= 0 && n++ != only) continue;
        if (put) put(f->r, indent, i, c);
        else put_simple(f->r, indent, i, c, text);
    }
    return true;
}

/* ---- the binary counter of segments ---- */

enum { BEGIN, ADD, END };

/* A part of rows_counter.k; `one` is what joins, in the other parts NULL. */
static void put_counter(const lfuse__rows_file *f, int indent, int part, const char *one)
{
    const lfuse__parameter parameters[] = {
        {"BEGIN", .number = part == BEGIN}, {"ADD", .number = part == ADD}, {"END", .number = part == END},
        {"ONE", .word = one}, {"DEPTH", .number = LFUSE__ROW_DEPTH}, {NULL},
    };

    lfuse__rows_put_file(f, indent, lfuse__text_rows_counter, parameters, NULL);
}

static bool put_statement(const void *context, int indent, const char *text)
{
    const lfuse__rows_file *f = context;
    call c;

    parse(text, &c);
    for (size_t n = 0; n < sizeof simple / sizeof *simple; n++)
        if (!strcmp(simple[n].name, c.name)) return put_each(f, indent, &c, NULL, simple[n].text);
    for (size_t n = 0; n < sizeof others / sizeof *others; n++)
        if (!strcmp(others[n].name, c.name)) return put_each(f, indent, &c, others[n].put, NULL);
    /* COUNT(lane[0]): the result of a segment joins the counter. */
    if (!strcmp(c.name, "COUNT")) put_counter(f, indent, ADD, c.at[0]);
    else return false;
    return true;
}

void lfuse__rows_put_team_local(lfuse__rows *r)
{
    put_statement(&(lfuse__rows_file){.r = r}, 1, "LOCAL(part, 32)");
}

/* ---- places ---- */

/* REGISTERS are those of the row that are known before the sweep, LAST_REGISTERS behind the last, ALL_REGISTERS all. */
enum { COUNTER, COUNTER_END, REGISTERS, LAST_REGISTERS, ALL_REGISTERS, OPERANDS, OFFSETS, BASES, NEXT, ROW_STORES,
       SYNC_ROW };

static void put_place(const void *context, int which, int indent)
{
    const lfuse__rows_file *f = context;
    const lfuse__rows *r = f->r;

    switch (which) {
    case COUNTER: put_counter(f, indent, BEGIN, NULL); break;
    case COUNTER_END: put_counter(f, indent, END, NULL); break;
    case REGISTERS: lfuse__rows_put_phase(r, indent, f->sweep, false); break;
    case LAST_REGISTERS: lfuse__rows_put_phase(r, indent, r->nsweeps, true); break;
    case ALL_REGISTERS: lfuse__rows_put_phase(r, indent, 0, true); break;
    case OPERANDS: lfuse__rows_put_operands(r); break;
    case OFFSETS: lfuse__rows_put_offsets(r, indent); break;
    case BASES: lfuse__rows_put_bases(r, indent); break;
    case NEXT: lfuse__rows_put_next(r, indent); break;
    case ROW_STORES: lfuse__rows_put_row_stores(r, indent); break;
    case SYNC_ROW: lfuse__rows_put_sync(r, indent); break;
    }
}

static const lfuse__text_place places[] = {
    {"COUNTER", put_place, COUNTER},     {"COUNTER_END", put_place, COUNTER_END},
    {"REGISTERS", put_place, REGISTERS}, {"LAST_REGISTERS", put_place, LAST_REGISTERS},
    {"OPERANDS", put_place, OPERANDS},   {"ALL_REGISTERS", put_place, ALL_REGISTERS},
    {"OFFSETS", put_place, OFFSETS},     {"BASES", put_place, BASES},
    {"NEXT", put_place, NEXT},           {"ROW_STORES", put_place, ROW_STORES},
    {"SYNC_ROW", put_place, SYNC_ROW},   {NULL, NULL, 0},
};

/* ---- files ---- */

void lfuse__rows_put_file(const lfuse__rows_file *f, int indent, const char *text, const lfuse__parameter *own,
                          const lfuse__text_place *own_places)
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
    lfuse__text_place all[MOST];
    size_t n = 0, m = 0;

    for (; own && own->name; own++) parameters[n++] = *own;
    for (; own_places && own_places->name; own_places++) all[m++] = *own_places;
    if (n > MOST - sizeof common / sizeof *common || m > MOST - sizeof places / sizeof *places) {
        t->out->failed = true;
        return;
    }
    memcpy(parameters + n, common, sizeof common);
    memcpy(all + m, places, sizeof places);
    lfuse__put_text_of(t->out, indent, text, parameters, all, put_statement, f);
}
