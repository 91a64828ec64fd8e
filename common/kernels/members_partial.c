/* SPDX-License-Identifier: Apache-2.0 */
/* Members of lists: what each REDUCE gives of a segment, one chunk of the table. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/members.h"

enum { TEAMS = LFUSE__GROUP / LFUSE__TEAM, OWN_BUFFERS = 3 };

/* The operands that the reductions take in, and the registers of the member among what they are computed from. */
static void put_beginning(const lfuse__rows *r, int indent)
{
    bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
    lfuse__rows_needs(r, 0, needed, loads);
    lfuse__body_needs(r->t.k->body, NULL, needed);
    for (int j = 0; j < r->t.k->noperands; j++)
        if (r->t.loaded[j]) lfuse__put(r->t.out, indent, "const i32 b%d = 0;", j);
    for (int i = 0; i < r->t.k->body->ninstr; i++) {
        const lfuse__instr *in = &r->t.k->body->instr[i];
        if (!needed[i] || !r->of_row[i]) continue;
        if (in->kind == LFUSE__I_LOAD)
            lfuse__rows_put_row_load(r, indent, i);
        else
            lfuse__put_instr(&r->t, indent, i, "");
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
    for (int i = 0; i < r->t.k->body->ninstr; i++)
        if (needed[i] && r->t.k->body->instr[i].kind == LFUSE__I_LOAD) r->t.loaded[r->t.k->body->instr[i].a] = true;
}

lfuse_status lfuse__members_partial_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                         const lfuse__facts *facts)
{
    const bool single = lfuse__single(facts);
    lfuse__members *m;
    LFUSE__TRY(lfuse__list_check(name, k, facts));
    LFUSE__TRY(lfuse__members_create(out, k, facts, &m));
    lfuse__rows *r = &m->member.rows;
    r->t.numbers = LFUSE__MEMBERS_PARTIAL_NUMBERS;
    only_elements(r);
    lfuse__put_powers(out, k->body);
    const int words = k->carried ? (int)lfuse__carried_words(k, LFUSE__CARRY_PARTIAL)
                                 : LFUSE__MEMBERS_PARTIAL_NUMBERS + k->body->nnumbers;
    lfuse__put_kernel(out, name, single ? 1 : LFUSE__GROUP, words, lfuse__list_buffers(facts, OWN_BUFFERS));
    if (k->carried) lfuse__put_arguments(out, facts, words, LFUSE__GROUP);
    lfuse__put(out, 1, "const u64 chunks = W(%d), cells = W(%d);", LFUSE__MULTI_CHUNKS, LFUSE__MEMBERS_CELLS);
    lfuse__put(out, 1, "memory z = BUFFER(2) + W(%d);", LFUSE__MULTI_PARTIALS_OFFSET);
    if (single) {
        lfuse__put(out, 1, "const u64 share = (chunks + GROUPS() - 1) / GROUPS();");
        lfuse__put(out, 1, "for (u64 c = GROUP() * share; c < chunks && c < (GROUP() + 1) * share; c++) {");
        lfuse__put_chunk(&r->t, 2, facts, OWN_BUFFERS, "c", 1);
        put_beginning(r, 2);
        lfuse__put(out, 2, "const u32 seg = 0;");
        lfuse__put(out, 2, "const int left = (int)length;");
        lfuse__rows_put_single_segment(r, 2);
    } else {
        lfuse__put(out, 1, "TEAM(%d)", LFUSE__GROUP);
        lfuse__put(out, 1, "const u32 team = ITEM() / %d, rank = ITEM() %% %d;", LFUSE__TEAM, LFUSE__TEAM);
        lfuse__put(out, 1, "for (u64 unit = GROUP() * %d; unit < chunks; unit += GROUPS() * %d) {", TEAMS, TEAMS);
        lfuse__put(out, 2, "const int active = unit + team < chunks;");
        lfuse__put(out, 2, "const u64 c = active ? unit + team : unit;");
        lfuse__put_chunk(&r->t, 2, facts, OWN_BUFFERS, "c", LFUSE__ROW_VECTOR);
        put_beginning(r, 2);
        lfuse__put(out, 2, "const u32 seg = 0;");
        lfuse__rows_put_team_segment(r, 2);
    }
    lfuse__put(out, 2, single ? "{" : "if (active && rank == 0) {");
    lfuse__put(out, 3, "const u64 cell = W(%d) + c;", LFUSE__MULTI_FIRST);
    lfuse__rows_put_keep(r, 3, "cell");
    lfuse__put(out, 2, "}");
    lfuse__put(out, 1, "}");
    lfuse__put(out, 0, "}");
    free(m);
    return lfuse__strbuf_check(out);
}
