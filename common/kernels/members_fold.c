/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of lists: what was found of their segments folded pairwise by index, the numbers that are made of it; and by
 * the last group to arrive what all members give together.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/kernels/members.h"

/*
 * A team takes 1 024 segments at a time, 32 a work-item: a whole subtree. One team may have a member of tens of
 * thousands, and every turn waits for its loads.
 */
enum { EACH = 32, TEAMS = LFUSE__GROUP / LFUSE__TEAM, BLOCK = EACH * LFUSE__TEAM, OWN_BUFFERS = 3, SEGMENT_TEXT = 80 };

static int ninstr(const lfuse__rows *r)
{
    return r->t.k->body->ninstr;
}

/* The first segment of a member of this launch, as an expression. */
static void first_segment(const lfuse__rows *r, const char *member, char *text, size_t size)
{
    if (!r->t.k->list.carried) {
        snprintf(text, size, "WORD64(table, %s)", member);
        return;
    }
    snprintf(text, size, "(W(%d) + (u32)%s(%d + %s))", LFUSE__FOLD_TABLE, lfuse__argument_word(r->facts),
             lfuse__carried_chunks(r->t.k, LFUSE__CARRY_FOLD), member);
}

/* p<j>, b<j> of numbers: those of the member whose entry stands at `member`. */
static void put_numbers(const lfuse__members *m, const lfuse__rows *r, int indent, const char *member)
{
    for (int j = 0; j < m->first; j++) {
        if ((!r->t.loaded[j] && !r->t.stored[j]) || !r->row[j]) continue;
        lfuse__put_list_operand(&r->t, indent, j, member);
        lfuse__put(r->t.out, indent, "const i32 b%d = 0;", j);
    }
}

/* p<j>, b<j> of what waits for the TOTALs, from member number `from` on. */
static void put_waiting(const lfuse__members *m, const lfuse__rows *r, int indent, const char *from)
{
    unsigned before = 0;
    for (int j = m->first; j < m->first + m->ntotals; j++) {
        const unsigned size = lfuse__type_bytes(r->t.k->operands[j].type);
        lfuse__put(r->t.out, indent, "memory p%d = waiting + (all + 15) / 16 * %u + (%s) * %u;", j, 16 * before, from,
                   size);
        lfuse__put(r->t.out, indent, "const i32 b%d = 0;", j);
        before += size;
    }
}

static void put_team(const lfuse__rows *r, int indent)
{
    lfuse__strbuf *out = r->t.out;
    char end[SEGMENT_TEXT], begin[SEGMENT_TEXT];
    first_segment(r, "member + 1", end, sizeof end);
    lfuse__put(out, indent, "const u64 count = active ? %s - from : 0;", end);
    lfuse__put(out, indent, "u64 most = 0; /* of the group's members: all of it comes to each fold */");
    lfuse__put(out, indent, "for (u64 n = unit; n < members && n < unit + %d; n++) {", TEAMS);
    first_segment(r, "n + 1", end, sizeof end);
    first_segment(r, "n", begin, sizeof begin);
    lfuse__put(out, indent + 1, "const u64 length = %s - %s;", end, begin);
    lfuse__put(out, indent + 1, "if (length > most) most = length;");
    lfuse__put(out, indent, "}");
    lfuse__rows_put_counter_begin(r, indent, 0);
    lfuse__put(out, indent, "for (u64 at = 0; at < most; at += %d) {", BLOCK);
    for (int i = 0; i < ninstr(r); i++)
        if (lfuse__rows_reduces(r, i, 0))
            lfuse__rows_put_subtree(r, indent + 1, i, EACH, "at + rank", "from + number", "number < count");
    lfuse__put(out, indent + 1, "if (at < count) {");
    lfuse__rows_put_counter_add(r, indent + 2, 0, "[0]");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
    lfuse__rows_put_counter_end(r, indent, 0);
}

static void put_single(const lfuse__rows *r, int indent)
{
    const lfuse__lane first = {"ln", "[0]"};
    lfuse__rows_put_counter_begin(r, indent, 0);
    char end[SEGMENT_TEXT];
    first_segment(r, "member + 1", end, sizeof end);
    lfuse__put(r->t.out, indent, "for (u64 at = from; at < %s; at++) {", end);
    for (int i = 0; i < ninstr(r); i++) {
        if (!lfuse__rows_reduces(r, i, 0)) continue;
        lfuse__rows_put_lanes(r, indent + 1, i, "ln", "1");
        lfuse__rows_put_fetch(r, indent + 1, i, first, "at", NULL);
    }
    lfuse__rows_put_counter_add(r, indent + 1, 0, "[0]");
    lfuse__put(r->t.out, indent, "}");
    lfuse__rows_put_counter_end(r, indent, 0);
}

static void put_member(const lfuse__members *m, int indent, bool single)
{
    const lfuse__rows *r = &m->member.rows;
    lfuse__strbuf *out = r->t.out;
    char number[24];
    snprintf(number, sizeof number, "W(%d) + member", LFUSE__FOLD_FIRST);
    for (int i = 0; i < ninstr(r); i++)
        if (lfuse__rows_reduces(r, i, 0)) lfuse__rows_put_empty(r, indent, i);
    if (m->reduces) {
        char from[SEGMENT_TEXT];
        first_segment(r, "member", from, sizeof from);
        lfuse__put(out, indent, "const u64 from = %s;", from);
        lfuse__put(out, indent, "{");
        if (single)
            put_single(r, indent + 1);
        else
            put_team(r, indent + 1);
        lfuse__put(out, indent, "}");
    }
    for (int i = 0; i < ninstr(r); i++)
        if (lfuse__rows_reduces(r, i, 0)) lfuse__rows_put_result(r, indent, i);
    put_numbers(m, r, indent, "member");
    put_waiting(m, r, indent, number);
    lfuse__rows_put_phase(r, indent, 0, true);
    lfuse__put(out, indent, single ? "{" : "if (active && rank == 0) {");
    lfuse__rows_put_row_stores(r, indent + 1);
    lfuse__put(out, indent, "}");
}

/* By the last group, when everybody's numbers are there. */
static void put_list(lfuse__members *m, int indent, bool single)
{
    lfuse__rows *r = &m->list.rows;
    lfuse__put(r->t.out, indent, "const u32 length = (u32)all;");
    /* Sixteen numbers share what waits: behind the last there is memory that is not taken in. */
    if (!single) lfuse__put(r->t.out, indent, "const u32 vectors = 1;");
    put_numbers(m, r, indent, "0");
    put_waiting(m, r, indent, "0");
    lfuse__rows_put_phase(r, indent, 0, false);
    if (single)
        lfuse__rows_put_single_sweep(r, indent, 0);
    else
        lfuse__rows_put_team_sweep(r, indent, 0);
    lfuse__rows_put_phase(r, indent, 1, true);
    lfuse__put(r->t.out, indent, single ? "{" : "if (ITEM() == 0) {");
    lfuse__rows_put_row_stores(r, indent + 1);
    lfuse__put(r->t.out, indent, "}");
}

static void put_head(lfuse__members *m, const char *name, bool single)
{
    lfuse__rows *r = &m->member.rows;
    lfuse__strbuf *out = r->t.out;
    lfuse__put_kernel(out, name, single ? 1 : LFUSE__GROUP, lfuse__list_words(&r->t),
                      lfuse__list_buffers(r->facts, OWN_BUFFERS));
    lfuse__put_list_arguments(&r->t, single ? 1 : LFUSE__GROUP, 1);
    lfuse__put(out, 1, "memory z = BUFFER(0) + W(%d), waiting = BUFFER(0) + W(%d);", LFUSE__FOLD_PARTIALS,
               LFUSE__FOLD_TOTALS);
    if (!r->t.k->list.carried)
        lfuse__put(out, 1, "memory table = BUFFER(1) + W(%d), entries = BUFFER(2) + W(%d);", LFUSE__FOLD_TABLE,
                   LFUSE__FOLD_ENTRIES);
    lfuse__put(out, 1, "const u64 members = W(%d), stride = W(%d), all = W(%d), cells = W(%d);", LFUSE__FOLD_MEMBERS,
               LFUSE__FOLD_STRIDE, LFUSE__FOLD_ALL, LFUSE__FOLD_CELLS);
    if (m->ntotals) lfuse__put(out, 1, "TICKET");
    if (single) return;
    lfuse__put(out, 1, "TEAM(%d)", LFUSE__GROUP);
    if (m->ntotals) lfuse__rows_put_team_local(&m->list.rows);
    lfuse__put(out, 1, "const u32 team = ITEM() / %d, rank = ITEM() %% %d;", LFUSE__TEAM, LFUSE__TEAM);
}

lfuse_status lfuse__members_fold_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                      const lfuse__facts *facts)
{
    const bool single = lfuse__single(facts);
    lfuse__members *m;
    LFUSE__TRY(lfuse__list_check(name, k, facts));
    LFUSE__TRY(lfuse__members_create(out, k, facts, &m));
    m->member.rows.t.numbers = m->list.rows.t.numbers = LFUSE__FOLD_NUMBERS;
    m->member.rows.t.list = m->list.rows.t.list = (lfuse__of_list){k, facts, LFUSE__CARRY_FOLD};
    lfuse__put_powers(out, k->body);
    put_head(m, name, single);
    if (single) {
        lfuse__put(out, 1, "const u64 share = (members + GROUPS() - 1) / GROUPS();");
        lfuse__put(out, 1, "for (u64 member = GROUP() * share; member < members && member < (GROUP() + 1) * share; "
                           "member++) {");
    } else {
        lfuse__put(out, 1, "for (u64 unit = GROUP() * %d; unit < members; unit += GROUPS() * %d) {", TEAMS, TEAMS);
        lfuse__put(out, 2, "const int active = unit + team < members;");
        lfuse__put(out, 2, "const u64 member = active ? unit + team : unit;");
    }
    put_member(m, 2, single);
    lfuse__put(out, 1, "}");
    if (m->ntotals) {
        lfuse__put(out, 1, "if (W(%d) && ARRIVE(BUFFER(1) + W(%d), W(%d))) {", LFUSE__FOLD_ARRIVALS,
                   LFUSE__FOLD_TICKET, LFUSE__FOLD_ARRIVALS);
        put_list(m, 2, single);
        lfuse__put(out, 1, "}");
    }
    lfuse__put(out, 0, "}");
    free(m);
    return lfuse__strbuf_check(out);
}

lfuse_status lfuse__members_fold_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts,
                                         lfuse__packed *packed)
{
    const lfuse__members_part part = {.numbers = lfuse__zeros};
    return lfuse__members_fold_pack(k, facts, &part, packed);
}
