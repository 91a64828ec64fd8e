/* SPDX-License-Identifier: Apache-2.0 */
/* Members of lists: what each REDUCE gives of a segment, one chunk of the table. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/members.h"

enum { TEAMS = LFUSE__GROUP / LFUSE__TEAM, OWN_BUFFERS = 3 };

lfuse_status lfuse__members_partial_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                         const lfuse__facts *facts)
{
    const bool single = lfuse__single(facts);
    lfuse__members *m;
    LFUSE__TRY(lfuse__list_check(name, k, facts));
    LFUSE__TRY(lfuse__members_create(out, k, facts, &m));
    lfuse__rows *r = &m->member.rows;
    r->t.numbers = LFUSE__MEMBERS_PARTIAL_NUMBERS;
    r->t.list = (lfuse__of_list){k, facts, LFUSE__CARRY_PARTIAL};
    lfuse__members_only_elements(r);
    lfuse__put_powers(out, k->body);
    lfuse__put_kernel(out, name, single ? 1 : LFUSE__GROUP, lfuse__list_words(&r->t),
                      lfuse__list_buffers(facts, OWN_BUFFERS));
    lfuse__put_list_arguments(&r->t, single ? 1 : LFUSE__GROUP, 1);
    lfuse__put(out, 1, "const u64 chunks = W(%d), cells = W(%d);", LFUSE__MULTI_CHUNKS, LFUSE__MEMBERS_CELLS);
    lfuse__put(out, 1, "memory z = BUFFER(2) + W(%d);", LFUSE__MULTI_PARTIALS_OFFSET);
    if (single) {
        lfuse__put(out, 1, "const u64 share = (chunks + GROUPS() - 1) / GROUPS();");
        lfuse__put(out, 1, "for (u64 c = GROUP() * share; c < chunks && c < (GROUP() + 1) * share; c++) {");
        lfuse__put_list_chunk(&r->t, 1, 2);
        lfuse__members_put_beginning(r, 2);
        lfuse__put(out, 2, "const u32 seg = 0;");
        lfuse__put(out, 2, "const int left = (int)length;");
        lfuse__rows_put_single_segment(r, 2);
    } else {
        lfuse__put(out, 1, "TEAM(%d)", LFUSE__GROUP);
        lfuse__put(out, 1, "const u32 team = ITEM() / %d, rank = ITEM() %% %d;", LFUSE__TEAM, LFUSE__TEAM);
        lfuse__put(out, 1, "for (u64 unit = GROUP() * %d; unit < chunks; unit += GROUPS() * %d) {", TEAMS, TEAMS);
        lfuse__put(out, 2, "const int active = unit + team < chunks;");
        lfuse__put(out, 2, "const u64 c = active ? unit + team : unit;");
        lfuse__put_list_chunk(&r->t, LFUSE__ROW_VECTOR, 2);
        lfuse__members_put_beginning(r, 2);
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

lfuse_status lfuse__members_partial_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts,
                                            lfuse__packed *packed)
{
    const lfuse__members_part part = {.numbers = lfuse__zeros};
    return lfuse__members_partial_pack(k, facts, &part, packed);
}
