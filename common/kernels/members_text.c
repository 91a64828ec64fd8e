/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels that reduce lists: members by text/list_partial.k and text/list_fold.k, their rows or columns by
 * text/list_lines.k. Their rows are those of the members; the context of their places has all of lfuse__members as its
 * `form`.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/families.h"
#include "common/kernels/members.h"

#include "common/kernels/text/list_fold.k.h"
#include "common/kernels/text/list_lines.k.h"
#include "common/kernels/text/list_partial.k.h"

enum {
    TEAMS = LFUSE__GROUP / LFUSE__TEAM,
    SHORT = 64,                     /* elements of a row */
    FEW = 8,                        /* segments of a line */
    FOLD_EACH = 32, LINES_EACH = 8, /* segments that a work-item has at a time of those that a team folds */
    VECTOR = LFUSE__ROW_VECTOR
};

static const lfuse__rows *rows_of(const void *context)
{
    return ((const lfuse__rows_file *)context)->r;
}

static const lfuse__members *members_of(const void *context)
{
    return ((const lfuse__rows_file *)context)->form;
}

static int ninstr(const lfuse__rows *r)
{
    return r->t.k->body->ninstr;
}

/* ---- places of all list kernels ---- */

enum { ARGUMENTS, GROUP_STRIDE, CHUNK };

static void put_list(const void *context, int which, int indent)
{
    const lfuse__rows *r = rows_of(context);
    const bool single = lfuse__single(r->facts), lines = r->t.still;

    switch (which) {
    case ARGUMENTS: lfuse__put_list_arguments(r, single ? 1 : LFUSE__GROUP, indent); break;
    case GROUP_STRIDE: lfuse__put_group_stride(r, single ? 0 : lines ? 1 : TEAMS, indent); break;
    case CHUNK: lfuse__put_list_chunk(r, single || lines ? 1 : VECTOR, indent); break;
    }
}

/* ---- segments ---- */

static void put_zero_base(const lfuse__rows *r, int indent, int j)
{
    lfuse__put(r->t.out, indent, "const i32 b%d = 0;", j);
}

/* b<j> of what is loaded, and of segments, registers of the member among what the reductions take in. */
static void put_member_values(const void *context, int segments, int indent)
{
    const lfuse__rows *r = rows_of(context);
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    lfuse__rows_needs(r, 0, needed, loads);
    lfuse__body_needs(r->t.k->body, NULL, needed);
    for (int j = 0; j < r->t.k->noperands; j++)
        if (r->t.loaded[j] && (segments || r->row[j])) put_zero_base(r, indent, j);
    for (int i = 0; segments && i < ninstr(r); i++) {
        const lfuse__instr *in = &r->t.k->body->instr[i];
        if (!needed[i] || !r->of_row[i]) continue;
        if (in->kind == LFUSE__I_LOAD) lfuse__rows_put_row_load(r, indent, i);
        else lfuse__put_instr(&r->t, indent, i, "");
    }
}

/* Loads that nothing but the numbers of the member needs are left to the fold. */
static void only_elements(lfuse__rows *r)
{
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    lfuse__rows_needs(r, 0, needed, loads);
    lfuse__body_needs(r->t.k->body, NULL, needed);
    memset(r->t.loaded, 0, sizeof r->t.loaded);
    memset(r->t.stored, 0, sizeof r->t.stored);
    for (int i = 0; i < ninstr(r); i++)
        if (needed[i] && r->t.k->body->instr[i].kind == LFUSE__I_LOAD) r->t.loaded[r->t.k->body->instr[i].a] = true;
}

static void put_segment(const void *context, int which, int indent)
{
    const lfuse__rows *r = rows_of(context);
    (void)which;
    if (lfuse__single(r->facts)) lfuse__rows_put_single_segment(r, indent);
    else lfuse__rows_put_team_segment((lfuse__rows *)r, indent);
}

/* ---- segments of lines ---- */

/* Operands with elements; or of the fold, with a value for each line. */
static bool goes_forward(const lfuse__rows *r, bool elements, int j)
{
    return elements ? r->t.loaded[j] && !r->row[j] : r->t.stored[j];
}

static void put_forward(const void *context, int elements, int indent)
{
    const lfuse__rows *r = rows_of(context);
    for (int j = 0; j < r->t.k->noperands; j++)
        if (goes_forward(r, elements, j))
            lfuse__put(r->t.out, indent, "memory h%d = p%d + %s * %u;", j, j, elements ? "from" : "cell_",
                       lfuse__type_bytes(r->t.k->operands[j].type));
}

static void put_forwarded(const void *context, int elements, int indent)
{
    const lfuse__rows *r = rows_of(context);
    for (int j = 0; j < r->t.k->noperands; j++) {
        if (!goes_forward(r, elements, j)) continue;
        lfuse__put(r->t.out, indent, "memory p%d = h%d;", j, j);
        if (!elements) put_zero_base(r, indent, j);
    }
}

/* Of lanes whose lines begin at the elements of `firsts`. */
static void put_far(const void *context, int which, int indent)
{
    const lfuse__rows *r = rows_of(context);
    (void)which;
    for (int j = 0; j < r->t.k->noperands; j++) {
        if (!goes_forward(r, true, j)) continue;
        lfuse__put(r->t.out, indent, "const i64 *const far%d = firsts;", j);
        lfuse__put(r->t.out, indent, "const int near%d = together;", j);
    }
}

/* A line an item, or lane: as many as there are side by side in one segment. */
static void put_item(const void *context, int store, int indent)
{
    lfuse__rows item = *rows_of(context);
    item.across = true;
    item.t.pitch = "pitch";
    item.t.ix = "i64";
    item.t.ux = "u64";
    if (store) lfuse__rows_put_file(&(lfuse__rows_file){.r = &item}, indent, "\n\n@KEEP(lane[0], cell)@\n", NULL, NULL);
    else lfuse__rows_put_item_segment(&item, indent);
}

/* ---- folds ---- */

/* p<j>, b<j> of numbers of `member`, and of what waits for the TOTALs, from member number `from` on. */
static void put_numbers(const lfuse__members *m, const lfuse__rows *r, int indent, const char *member, const char *from)
{
    unsigned before = 0;
    for (int j = 0; j < m->first; j++) {
        if ((!r->t.loaded[j] && !r->t.stored[j]) || !r->row[j]) continue;
        lfuse__put_list_operand(&r->t, indent, j, member);
        put_zero_base(r, indent, j);
    }
    for (int j = m->first; j < m->first + m->ntotals; j++) {
        const unsigned size = lfuse__type_bytes(r->t.k->operands[j].type);
        lfuse__put(r->t.out, indent, "memory p%d = waiting + (all + 15) / 16 * %u + (%s) * %u;", j, 16 * before, from,
                   size);
        put_zero_base(r, indent, j);
        before += size;
    }
}

static void put_member_numbers(const void *context, int which, int indent)
{
    const lfuse__members *m = members_of(context);
    (void)which;
    put_numbers(m, &m->member.rows, indent, "member", lfuse__expression("W(%d) + member", LFUSE__FOLD_FIRST).text);
}

static void put_local_memory(const void *context, int which, int indent)
{
    const lfuse__members *m = members_of(context);
    (void)which, (void)indent;
    if (m->ntotals) lfuse__rows_put_team_local((lfuse__rows *)&m->list.rows);
}

static void put_list_results(const void *context, int which, int indent)
{
    const lfuse__members *m = members_of(context);
    const lfuse__rows *r = &m->list.rows;
    (void)which;
    put_numbers(m, r, indent, "0", "0");
    lfuse__rows_put_phase(r, indent, 0, false);
    if (lfuse__single(r->facts)) lfuse__rows_put_single_sweep(r, indent, 0);
    else lfuse__rows_put_team_sweep((lfuse__rows *)r, indent, 0);
    lfuse__rows_put_phase(r, indent, 1, true);
}

static void put_list_stores(const void *context, int which, int indent)
{
    (void)which;
    lfuse__rows_put_row_stores(&members_of(context)->list.rows, indent);
}

/* ---- kernels ---- */

/* Parameters and places of all three texts. */
static void put_kernel(const lfuse__members *m, const char *text, const char *name, bool segments)
{
    const lfuse__rows *r = &m->member.rows;
    const lfuse__of_list *l = &r->t.list;
    const bool single = lfuse__single(l->facts), fold = l->carry == LFUSE__CARRY_FOLD;
    const int each = fold ? FOLD_EACH : LINES_EACH;
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ITEMS", .number = single ? 1 : LFUSE__GROUP},
        {"WORDS", .number = lfuse__list_words(&r->t)}, {"BUFFERS", .number = lfuse__list_buffers(l->facts, 3)},
        {"TEAMS", .number = single ? 1 : TEAMS}, {"SEGMENTS", .number = segments},
        {"COLUMNS", .number = l->k->list.columns}, {"SHORT", .number = SHORT}, {"FEW", .number = FEW},
        {"EACH", .number = each}, {"BLOCK", .number = each * LFUSE__TEAM}, {"CHUNKS", .number = LFUSE__MULTI_CHUNKS},
        {"FIRST", .number = LFUSE__MULTI_FIRST}, {"TOTALS", .number = m->ntotals},
        {"CARRIED", .number = l->k->list.carried}, {"ARGUMENT", .word = lfuse__argument_word(l->facts)},
        {"PLACES", .number = lfuse__carried_chunks(l->k, l->carry)},
        {"PARTIALS", .number = fold ? (int)LFUSE__FOLD_PARTIALS : (int)LFUSE__MULTI_PARTIALS_OFFSET},
        {"CELLS", .number = fold ? (int)LFUSE__FOLD_CELLS : (int)LFUSE__MEMBERS_CELLS},
        {"WAITING", .number = LFUSE__FOLD_TOTALS}, {"TABLE", .number = LFUSE__FOLD_TABLE},
        {"ENTRIES", .number = LFUSE__FOLD_ENTRIES}, {"STRIDE", .number = LFUSE__FOLD_STRIDE},
        {"MEMBERS", .number = LFUSE__FOLD_MEMBERS}, {"ALL", .number = LFUSE__FOLD_ALL},
        {"COUNTER", .number = LFUSE__FOLD_TICKET}, {"ARRIVALS", .number = LFUSE__FOLD_ARRIVALS}, {NULL}};
    const lfuse__text_place places[] = {
        {"ARGUMENTS", put_list, ARGUMENTS}, {"GROUP_STRIDE", put_list, GROUP_STRIDE}, {"CHUNK", put_list, CHUNK},
        {"MEMBER_VALUES", put_member_values, segments}, {"SEGMENT", put_segment, 0}, {"FORWARD", put_forward, segments},
        {"FORWARDED", put_forwarded, segments}, {"FAR", put_far, 0}, {"ITEM_SEGMENT", put_item, false},
        {"ITEM_STORE", put_item, true}, {"LOCAL_MEMORY", put_local_memory, 0}, {"NUMBERS", put_member_numbers, 0},
        {"LIST_RESULTS", put_list_results, 0}, {"LIST_STORES", put_list_stores, 0}, {NULL}};
    lfuse__put_powers(r->t.out, l->k->body);
    lfuse__rows_put_file(&(lfuse__rows_file){.r = r, .form = m}, 0, text, parameters, places);
}

static lfuse_status emit_partial(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                 const lfuse__facts *facts)
{
    lfuse__members *m;
    LFUSE__TRY(lfuse__list_check(name, k, facts));
    LFUSE__TRY(lfuse__members_create(out, k, facts, LFUSE__CARRY_PARTIAL, &m));
    only_elements(&m->member.rows);
    put_kernel(m, lfuse__text_list_partial, name, true);
    free(m);
    return lfuse__strbuf_check(out);
}

static lfuse_status emit_fold(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                              const lfuse__facts *facts)
{
    lfuse__members *m;
    LFUSE__TRY(lfuse__list_check(name, k, facts));
    LFUSE__TRY(lfuse__members_create(out, k, facts, LFUSE__CARRY_FOLD, &m));
    put_kernel(m, lfuse__text_list_fold, name, false);
    free(m);
    return lfuse__strbuf_check(out);
}

static lfuse_status emit_lines_kernel(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                      const lfuse__facts *facts, bool segments)
{
    lfuse__members *m;
    int reduces = 0;
    LFUSE__TRY(lfuse__list_check(name, k, facts));
    for (int i = 0; i < k->body->ninstr; i++) {
        reduces += k->body->instr[i].kind == LFUSE__I_REDUCE;
        if (k->body->instr[i].kind == LFUSE__I_TOTAL) reduces = 2;
    }
    if (reduces != 1 || !k->operands[k->noperands - 1].shape ||
        (k->list.columns && k->list.walk != LFUSE__WALK_ELEMENTS))
        return lfuse__error(LFUSE_ERR_INVALID, "lines of lists: %d reductions, or no shape to find them by", reduces);
    LFUSE__TRY(lfuse__members_create(out, k, facts, LFUSE__CARRY_PARTIAL, &m));
    m->member.rows.t.still = true;
    if (segments) only_elements(&m->member.rows);
    put_kernel(m, lfuse__text_list_lines, name, segments);
    free(m);
    return lfuse__strbuf_check(out);
}

static lfuse_status emit_lines(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                               const lfuse__facts *facts)
{
    return emit_lines_kernel(out, name, k, facts, true);
}

static lfuse_status emit_lines_fold(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                    const lfuse__facts *facts)
{
    return emit_lines_kernel(out, name, k, facts, false);
}

/* ---- the families ---- */

static lfuse_status partial_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    const lfuse__members_part part = {.numbers = lfuse__zeros};
    return lfuse__members_partial_pack(k, facts, &part, packed);
}

static lfuse_status fold_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    const lfuse__members_part part = {.numbers = lfuse__zeros};
    return lfuse__members_fold_pack(k, facts, &part, packed);
}

static lfuse_status lines_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    const lfuse__lines_part part = {.numbers = lfuse__zeros};
    return lfuse__lines_pack(k, facts, &part, packed);
}

const lfuse__kernel_family lfuse__family_partial = {
    .emit = emit_partial, .key = lfuse__key_add_list, .warm_up = partial_warm_up, .list_buffers = 3,
    .carry = LFUSE__CARRY_PARTIAL,
};
const lfuse__kernel_family lfuse__family_fold = {
    .emit = emit_fold, .key = lfuse__key_add_list, .warm_up = fold_warm_up, .list_buffers = 3,
    .carry = LFUSE__CARRY_FOLD,
};
const lfuse__kernel_family lfuse__family_lines = {
    .emit = emit_lines, .key = lfuse__key_add_list, .warm_up = lines_warm_up, .list_buffers = 3,
    .carry = LFUSE__CARRY_PARTIAL,
};
const lfuse__kernel_family lfuse__family_lines_fold = {
    .emit = emit_lines_fold, .key = lfuse__key_add_list, .warm_up = lines_warm_up, .list_buffers = 3,
    .carry = LFUSE__CARRY_PARTIAL,
};
