/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fold of a segment's lanes by the work-items of a team, which exchange values. It is written here, not a file: one
 * step after the other, each a few words of every reduction, over distances that the width of the team tells. Of
 * loops over 32, 16 ... compilers would leave some, and put their arrays into memory.
 */
#include "common/kernels/rows.h"

/* Whether op(a, b) and op(b, a) are the same bits: not of zeros in a maximum. */
static bool symmetric(const lfuse__rows *r, int i)
{
    const int op = r->t.k->body->instr[i].op;
    const char *w = lfuse__rows_word(r, i);
    return lfuse__folds[op].type != LFUSE__FOLD_SAME || w[0] == 'i';
}

/* l<i>[at] = fold of f<i> (kept) and j<i> (of the item that differs by the mask), which is the lower where `hi`. */
static void put_meet(const lfuse__rows *r, int indent, int i, const char *at)
{
    const lfuse__lane to = {"ln", at}, kept = {"fg", ""}, got = {"jv", ""}, low = {"dc", ""}, high = {"zw", ""};
    const char *w = lfuse__rows_word(r, i);
    if (symmetric(r, i)) {
        lfuse__rows_put_combine(r, indent, i, to, kept, got);
        return;
    }
    lfuse__put(r->t.out, indent, "const L_%s d%d = SEL_%s(hi, j%d, f%d), z%d = SEL_%s(hi, f%d, j%d);", w, i, w, i, i, i,
               w, i, i);
    lfuse__rows_put_combine(r, indent, i, to, low, high);
}

void lfuse__rows_put_exchange(const lfuse__rows *r, int indent, int i, const char *at, int mask)
{
    const char *w = lfuse__rows_word(r, i), *x = r->t.ix;
    lfuse__put(r->t.out, indent, "{");
    lfuse__put(r->t.out, indent + 1, "const int hi = (rank & %d) != 0;", mask);
    lfuse__put(r->t.out, indent + 1, "const L_%s f%d = l%d%s, j%d = SHUFFLE_%s(f%d, %d);", w, i, i, at, i, w, i, mask);
    if (lfuse__rows_indexed(r, i))
        lfuse__put(r->t.out, indent + 1, "const L_%s g%d = n%d%s, v%d = SHUFFLE_%s(g%d, %d);", x, i, i, at, i, x, i,
                   mask);
    put_meet(r, indent + 1, i, at);
    lfuse__put(r->t.out, indent, "}");
}

/*
 * Half of the lanes go to the other half of the work-items, so that each folds half as many: l<i>[at] of `at`, other.
 */
static void put_scatter(const lfuse__rows *r, int indent, int i, const char *at, const char *other, int mask)
{
    const char *w = lfuse__rows_word(r, i), *x = r->t.ix;
    lfuse__put(r->t.out, indent, "{");
    lfuse__put(r->t.out, indent + 1, "const int hi = (rank & %d) != 0;", mask);
    lfuse__put(r->t.out, indent + 1, "const L_%s f%d = SEL_%s(hi, l%d%s, l%d%s);", w, i, w, i, other, i, at);
    lfuse__put(r->t.out, indent + 1, "const L_%s j%d = SHUFFLE_%s(SEL_%s(hi, l%d%s, l%d%s), %d);", w, i, w, w, i, at, i,
               other, mask);
    if (lfuse__rows_indexed(r, i)) {
        lfuse__put(r->t.out, indent + 1, "const L_%s g%d = SEL_%s(hi, n%d%s, n%d%s);", x, i, x, i, other, i, at);
        lfuse__put(r->t.out, indent + 1, "const L_%s v%d = SHUFFLE_%s(SEL_%s(hi, n%d%s, n%d%s), %d);", x, i, x, x, i,
                   at, i, other, mask);
    }
    put_meet(r, indent + 1, i, at);
    lfuse__put(r->t.out, indent, "}");
}

/* l<i>[0 ... 3] from lanes 4 rank ... of several chunks. */
static void put_fold_parts(const lfuse__rows *r, int indent, int i, int parts)
{
    for (int h = parts / 2 * LFUSE__ROW_VECTOR; h >= LFUSE__ROW_VECTOR; h /= 2) {
        const lfuse__expr high = lfuse__expression("[a + %d]", h);
        const lfuse__lane a = {"ln", "[a]"}, b = {"ln", high.text};
        lfuse__put(r->t.out, 0, "#pragma unroll");
        lfuse__put(r->t.out, indent, "for (int a = 0; a < %d; a++) {", h);
        lfuse__rows_put_combine(r, indent + 1, i, a, a, b);
        lfuse__put(r->t.out, indent, "}");
    }
}

void lfuse__rows_put_team_fold(const lfuse__rows *r, int indent, int i, int width, int parts)
{
    static const char *const at[] = {"[0]", "[1]", "[2]", "[3]"};
    put_fold_parts(r, indent, i, parts);
    if (width >= 4) {
        put_scatter(r, indent, i, at[0], at[2], width / 2);
        put_scatter(r, indent, i, at[1], at[3], width / 2);
        put_scatter(r, indent, i, at[0], at[1], width / 4);
        for (int mask = width / 8; mask; mask /= 2) lfuse__rows_put_exchange(r, indent, i, at[0], mask);
        lfuse__rows_put_exchange(r, indent, i, at[0], width / 2);
        lfuse__rows_put_exchange(r, indent, i, at[0], width / 4);
        return;
    }
    for (int j = 0; j < 4 && width == 2; j++) lfuse__rows_put_exchange(r, indent, i, at[j], 1);
    for (int h = 2; h; h /= 2)
        for (int j = 0; j < h; j++)
            lfuse__rows_put_combine(r, indent, i, (lfuse__lane){"ln", at[j]}, (lfuse__lane){"ln", at[j]},
                                    (lfuse__lane){"ln", at[j + h]});
}

void lfuse__rows_put_subtree(const lfuse__rows *r, int indent, int i, int each, const char *first, const char *at,
                             const char *there)
{
    const lfuse__lane one = {"ln", "[v]"};
    lfuse__rows_put_lanes(r, indent, i, "ln", lfuse__expression("%d", each).text);
    lfuse__put(r->t.out, 0, "#pragma unroll");
    lfuse__put(r->t.out, indent, "for (u32 v = 0; v < %d; v++) {", each);
    lfuse__put(r->t.out, indent + 1, "const u64 number = %s * %d + v;", first, each);
    lfuse__rows_put_fetch(r, indent + 1, i, one, at, there);
    lfuse__put(r->t.out, indent, "}");
    for (int step = 1; step < each; step *= 2)
        for (int j = 0; j < each; j += 2 * step) {
            const lfuse__expr low = lfuse__expression("[%d]", j), high = lfuse__expression("[%d]", j + step);
            lfuse__rows_put_combine(r, indent, i, (lfuse__lane){"ln", low.text}, (lfuse__lane){"ln", low.text},
                                    (lfuse__lane){"ln", high.text});
        }
    for (int mask = 1; mask < LFUSE__TEAM; mask *= 2) lfuse__rows_put_exchange(r, indent, i, "[0]", mask);
}
