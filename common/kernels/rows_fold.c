/* SPDX-License-Identifier: Apache-2.0 */
/* What PARTIAL kernels found of the segments of a row: folded pairwise by index, then the work of the row. */
#include "common/kernels/rows.h"

/* A work-item takes 8 neighbours, and so a group a whole subtree at a time. */
enum { EACH = 8, TEAMS = LFUSE__GROUP / LFUSE__TEAM };

static int ninstr(const lfuse__rows *r)
{
    return r->t.k->body->ninstr;
}

static void put_single(const lfuse__rows *r, int indent)
{
    const lfuse__lane first = {"ln", "[0]"};
    lfuse__put(r->t.out, indent, "for (u64 number = 0; number < segments; number++) {");
    for (int i = 0; i < ninstr(r); i++) {
        if (!lfuse__rows_reduces(r, i, 0)) continue;
        lfuse__rows_put_lanes(r, indent + 1, i, "ln", "1");
        lfuse__rows_put_fetch(r, indent + 1, i, first, "row * segments + number", NULL);
    }
    lfuse__rows_put_counter_add(r, indent + 1, 0, "[0]");
    lfuse__put(r->t.out, indent, "}");
}

static void put_block(const lfuse__rows *r, int indent, int i)
{
    lfuse__rows_put_subtree(r, indent, i, EACH, "block + ITEM()", "row * segments + number", "number < segments");
    lfuse__put(r->t.out, indent, "if (rank == 0) part%d[team] = l%d[0];", i, i);
    if (lfuse__rows_indexed(r, i)) lfuse__put(r->t.out, indent, "if (rank == 0) spot%d[team] = n%d[0];", i, i);
}

/* Whole subtrees of EACH segments, all of which are fetched before any is folded. */
static void put_item(const lfuse__rows *r, int indent)
{
    const lfuse__lane one = {"wk", "[q]"}, low = {"wk", "[q]"}, high = {"wk", "[q + h]"};
    lfuse__strbuf *out = r->t.out;
    lfuse__put(out, indent, "for (u64 block = 0; block < segments; block += %d) {", EACH);
    for (int i = 0; i < ninstr(r); i++) {
        if (!lfuse__rows_reduces(r, i, 0)) continue;
        lfuse__rows_put_lanes(r, indent + 1, i, "ln", "1");
        lfuse__rows_put_lanes(r, indent + 1, i, "wk", "8");
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, indent + 1, "for (int q = 0; q < %d; q++) {", EACH);
        lfuse__rows_put_fetch(r, indent + 2, i, one, "row * segments + block + q", "block + q < segments");
        lfuse__put(out, indent + 1, "}");
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, indent + 1, "for (int h = 1; h < %d; h *= 2) {", EACH);
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, indent + 2, "for (int q = 0; q < %d; q += 2 * h) {", EACH);
        lfuse__rows_put_combine(r, indent + 3, i, low, low, high);
        lfuse__put(out, indent + 2, "}");
        lfuse__put(out, indent + 1, "}");
        lfuse__put(out, indent + 1, "l%d[0] = w%d[0];", i, i);
        if (lfuse__rows_indexed(r, i)) lfuse__put(out, indent + 1, "n%d[0] = k%d[0];", i, i);
    }
    lfuse__rows_put_counter_add(r, indent + 1, 0, "[0]");
    lfuse__put(out, indent, "}");
}

static void put_group(const lfuse__rows *r, int indent)
{
    lfuse__put(r->t.out, indent, "for (u64 block = 0; block < segments; block += %d) {", EACH * LFUSE__GROUP);
    for (int i = 0; i < ninstr(r); i++)
        if (lfuse__rows_reduces(r, i, 0)) put_block(r, indent + 1, i);
    lfuse__put(r->t.out, indent + 1, "SYNC();");
    for (int i = 0; i < ninstr(r); i++) {
        if (!lfuse__rows_reduces(r, i, 0)) continue;
        lfuse__put(r->t.out, indent + 1, "l%d[0] = part%d[rank %% %d];", i, i, TEAMS);
        if (lfuse__rows_indexed(r, i)) lfuse__put(r->t.out, indent + 1, "n%d[0] = spot%d[rank %% %d];", i, i, TEAMS);
        for (int mask = 1; mask < TEAMS; mask *= 2) lfuse__rows_put_exchange(r, indent + 1, i, "[0]", mask);
    }
    lfuse__put(r->t.out, indent + 1, "SYNC();");
    lfuse__rows_put_counter_add(r, indent + 1, 0, "[0]");
    lfuse__put(r->t.out, indent, "}");
}

/* `how` puts the row's segments into the counter; by a group, all of whose work-items then know, or by an item. */
static void put_rows(const lfuse__rows *r, int indent, void (*how)(const lfuse__rows *r, int indent), bool group)
{
    lfuse__strbuf *out = r->t.out;
    lfuse__put(out, indent, "const %s row = (%s)one;", r->t.ux, r->t.ux);
    for (int i = 0; i < ninstr(r); i++)
        if (lfuse__rows_reduces(r, i, 0)) lfuse__rows_put_empty(r, indent, i);
    lfuse__rows_put_bases(r, indent);
    lfuse__put(out, indent, "{");
    lfuse__rows_put_counter_begin(r, indent + 1, 0);
    how(r, indent + 1);
    lfuse__rows_put_counter_end(r, indent + 1, 0);
    lfuse__put(out, indent, "}");
    for (int i = 0; i < ninstr(r); i++)
        if (lfuse__rows_reduces(r, i, 0)) lfuse__rows_put_result(r, indent, i);
    lfuse__rows_put_phase(r, indent, 0, true);
    if (group) lfuse__put(out, indent, "if (ITEM() == 0) {");
    lfuse__rows_put_row_stores(r, indent + group);
    if (group) lfuse__put(out, indent, "}");
}

void lfuse__rows_emit_fold(const lfuse__rows *r, const char *name)
{
    const bool single = lfuse__single(r->facts), strided = r->mapping.team == 0 && !single;
    lfuse__strbuf *out = r->t.out;
    lfuse__rows_put_head(r, name, single ? 1 : LFUSE__GROUP);
    lfuse__rows_put_partials(r, 1);
    if (!single) {
        lfuse__put(out, 1, "TEAM(%d)", LFUSE__GROUP);
        for (int i = 0; i < ninstr(r); i++) {
            if (!lfuse__rows_reduces(r, i, 0)) continue;
            lfuse__put(out, 1, "LOCAL(S_%s, part%d, %d)", lfuse__rows_word(r, i), i, TEAMS);
            if (lfuse__rows_indexed(r, i)) lfuse__put(out, 1, "LOCAL(S_%s, spot%d, %d)", r->t.ix, i, TEAMS);
        }
        lfuse__put(out, 1, "const u32 team = ITEM() / %d, rank = ITEM() %% %d;", LFUSE__TEAM, LFUSE__TEAM);
    }
    if (strided) {
        lfuse__put(out, 1, "if (segments <= %d) {", LFUSE__FOLD_FEW);
        lfuse__put(out, 2, "for (u64 one = GROUP() * %d + ITEM(); one < rows; one += GROUPS() * %d) {", LFUSE__GROUP,
                   LFUSE__GROUP);
        put_rows(r, 3, put_item, false);
        lfuse__put(out, 2, "}");
        lfuse__put(out, 2, "return;");
        lfuse__put(out, 1, "}");
    }
    lfuse__put(out, 1, "for (u64 one = GROUP(); one < rows; one += GROUPS()) {");
    put_rows(r, 2, single ? put_single : put_group, !single);
    lfuse__put(out, 1, "}");
    lfuse__put(out, 0, "}");
}
