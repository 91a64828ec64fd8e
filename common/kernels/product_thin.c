/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a product one of whose sides is a few rows or columns: what it takes is the time of reading the wide operand
 * once. Nothing goes by way of local memory: V vectors of the wide operand, then FEW of the other (the same for all of
 * a team, or all teams), then their products. Where the wide operand's memory runs along its outer axis, a team of 32
 * has so many vectors of neighbours, and the teams take V of k each in turn; where it runs along k, a team has V rows,
 * and its work-items take vectors of k in turn.
 */
#include <math.h>
#include <stdio.h>

#include "common/kernels/product_thin.h"

enum { TEAM = LFUSE__TEAM, TEAMS = LFUSE__GROUP / TEAM, ROWS_AT_A_TIME = 4 };

static lfuse__thin describe(const lfuse__tiles *t)
{
    const bool rows = t->p->rows == t->p->item_rows;
    lfuse__thin s = {.t = t, .out = t->t.out, .wide = rows ? LFUSE__PRODUCT_B : LFUSE__PRODUCT_A,
              .other = rows ? LFUSE__PRODUCT_A : LFUSE__PRODUCT_B, .length = rows ? "n" : "m",
              .count = rows ? "m" : "n", .few = rows ? t->p->rows : t->p->columns, .v = t->vector};
    s.wide_made = t->p->made[s.wide];
    s.other_made = t->p->made[s.other];
    s.wide_turned = lfuse__tiles_turned(t->p, s.wide);
    s.other_turned = lfuse__tiles_turned(t->p, s.other);
    return s;
}

static const char *memory_of(const lfuse__thin *s, int operand)
{
    return lfuse__memory_word(s->t->t.k->operands[operand].type);
}

static unsigned size_of(const lfuse__thin *s, int operand)
{
    return lfuse__type_bytes(s->t->t.k->operands[operand].type);
}

static int words_of(const lfuse__thin *s, int operand)
{
    return s->v * (int)size_of(s, operand) / 4;
}

/* V vectors of the wide operand, at l along k and `at` along the other axis. */
static void put_wide(const lfuse__thin *s, int indent)
{
    const int words = words_of(s, s->wide);
    const unsigned size = size_of(s, s->wide), bytes = (unsigned)s->v * size;
    lfuse__put(s->out, indent, "u32 raw[%d];", s->v * words);
    lfuse__put(s->out, indent, "if (wide_vectors && l + %d <= k) {", s->v);
    for (int u = 0; u < s->v; u++) {
        if (s->wide_turned)
            lfuse__put(s->out, indent + 1, "const memory w%d = wide + ((u64)(at + %d < %s ? at + %d : %s - 1) * "
                       "ld_wide + l) * %u;", u, u, s->length, u, s->length, size);
        else
            lfuse__put(s->out, indent + 1, "const memory w%d = wide + ((u64)(l + %d) * ld_wide + (at < %s ? at : 0)) * "
                       "%u;", u, u, s->length, size);
        for (unsigned done = 0; done < bytes; done += 16)
            lfuse__put(s->out, indent + 1, "LOADB_%u(raw + %d, w%d + %u);", bytes < 16 ? bytes : 16,
                       u * words + (int)done / 4, u, done);
    }
    lfuse__put(s->out, indent, "} else {");
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent + 1, "for (int i = 0; i < %d; i++) raw[i] = 0;", s->v * words);
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent + 1, "for (int i = 0; i < %d; i++) {", s->v * s->v);
    lfuse__put(s->out, indent + 2, "const u32 q = i / %d, e = i %% %d;", s->v, s->v);
    if (s->wide_turned)
        lfuse__put(s->out, indent + 2, "if (at + q < %s && l + e < k) PACK_%s(raw + q * %d, e, LOAD_%s(wide, "
                   "(u64)(at + q) * ld_wide + l + e));", s->length, memory_of(s, s->wide), words,
                   memory_of(s, s->wide));
    else
        lfuse__put(s->out, indent + 2, "if (at + e < %s && l + q < k) PACK_%s(raw + q * %d, e, LOAD_%s(wide, "
                   "(u64)(l + q) * ld_wide + at + e));", s->length, memory_of(s, s->wide), words,
                   memory_of(s, s->wide));
    lfuse__put(s->out, indent + 1, "}");
    lfuse__put(s->out, indent, "}");
}

/* f[i * V + u]: row i of the other operand at l + u. Rows beyond the last are the last again. */
static void put_other(const lfuse__thin *s, int indent)
{
    const int words = words_of(s, s->other);
    const unsigned size = size_of(s, s->other), bytes = (unsigned)s->v * size;
    const char *memory = memory_of(s, s->other);
    lfuse__put(s->out, indent, "S_%s f[%d];", s->t->sum, s->few * s->v);
    if (s->other_made) {
        lfuse__thin_put_other(s, indent);
        return;
    }
    if (s->other_turned) {
        lfuse__put(s->out, indent, "if (other_vectors && l + %d <= k) {", s->v);
        lfuse__put(s->out, 0, "#pragma unroll");
        lfuse__put(s->out, indent + 1, "for (int i = 0; i < %d; i++) {", s->few);
        lfuse__put(s->out, indent + 2, "const memory o = other + ((u64)((u32)i < %s ? (u32)i : %s - 1) * ld_other + l) "
                   "* %u;", s->count, s->count, size);
        lfuse__put(s->out, indent + 2, "u32 q[%d];", words);
        for (unsigned done = 0; done < bytes; done += 16)
            lfuse__put(s->out, indent + 2, "LOADB_%u(q + %u, o + %u);", bytes < 16 ? bytes : 16, done / 4, done);
        for (int u = 0; u < s->v; u++)
            lfuse__put(s->out, indent + 2, "f[i * %d + %d] = UNPACK_%s(q, %d);", s->v, u, memory, u);
        lfuse__put(s->out, indent + 1, "}");
        lfuse__put(s->out, indent, "} else {");
    } else {
        lfuse__put(s->out, indent, "{");
    }
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent + 1, "for (int i = 0; i < %d; i++) {", s->few * s->v);
    lfuse__put(s->out, indent + 2, "const u32 row = i / %d, q = l + i %% %d;", s->v, s->v);
    lfuse__put(s->out, indent + 2, "f[i] = ZERO_%s;", s->t->sum);
    lfuse__put(s->out, indent + 2, s->other_turned ? "if (row < %s && q < k) f[i] = LOAD_%s(other, (u64)row * ld_other "
                                                     "+ q);"
                                                   : "if (row < %s && q < k) f[i] = LOAD_%s(other, (u64)q * ld_other + "
                                                     "row);", s->count, memory);
    lfuse__put(s->out, indent + 1, "}");
    lfuse__put(s->out, indent, "}");
}

static void put_products(const lfuse__thin *s, int indent)
{
    const int v = s->v, words = words_of(s, s->wide);
    const char *memory = memory_of(s, s->wide), *sum = s->t->sum;
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent, "for (int u = 0; u < %d; u++) {", v);
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent + 1, "for (int e = 0; e < %d; e++) {", v);
    if (s->wide_made)
        lfuse__put(s->out, indent + 2, s->wide_turned ? "const S_%s x = made_[e * %d + u];"
                                                      : "const S_%s x = made_[u * %d + e];", sum, v);
    else
        lfuse__put(s->out, indent + 2, s->wide_turned ? "const S_%s x = UNPACK_%s(raw + e * %d, u);"
                                                      : "const S_%s x = UNPACK_%s(raw + u * %d, e);", sum, memory,
                   words);
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, indent + 2, "for (int i = 0; i < %d; i++) acc[i * %d + e] = MAD_%s(f[i * %d + u], x, "
               "acc[i * %d + e]);", s->few, v, sum, v, v);
    lfuse__put(s->out, indent + 1, "}");
    lfuse__put(s->out, indent, "}");
}

/* v_: the sums of row `i` (an expression) of the few, at `at` and behind it. */
static void put_result(const lfuse__thin *s, int indent, const char *i)
{
    const char *type = lfuse__memory_word(s->t->p->sum);
    if (s->wide == LFUSE__PRODUCT_B) {
        lfuse__put(s->out, indent, "u32 u_[4];");
        for (int e = 0; e < s->v; e++) lfuse__put(s->out, indent, "PACK_%s(u_, %d, v_[%d]);", type, e, e);
        lfuse__put(s->out, indent, "if (%s < m && at < n) STOREB_16(space + (((u64)part * m + %s) * row_vectors + "
                   "at / %d) * 16, u_);", i, i, s->v);
        return;
    }
    for (int e = 0; e < s->v; e++)
        lfuse__put(s->out, indent, "if (%s < n && at + %d < m) STORE_%s(space, ((u64)part * m + at + %d) * row_vectors "
                   "* %d + %s, v_[%d]);", i, e, type, e, s->v, i, e);
}

/* Teams have parts of the same sums: they meet in local memory, some rows at a time. */
static void put_meeting(const lfuse__thin *s)
{
    const char *sum = s->t->sum;
    const int rows = s->few < ROWS_AT_A_TIME ? s->few : ROWS_AT_A_TIME;
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, 1, "for (int from = 0; from < %d; from += %d) {", s->few, rows);
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, 2, "for (int i = 0; i < %d; i++) PUTV_%s(tile, ((team * %d + i) * %d + lane) * %d, acc + "
               "(from + i) * %d);", rows, sum, rows, TEAM, s->v, s->v);
    lfuse__put(s->out, 2, "SYNC();");
    lfuse__put(s->out, 2, "if (team < %d) {", rows);
    lfuse__put(s->out, 3, "const u32 row = from + team;");
    lfuse__put(s->out, 3, "S_%s v_[%d], w_[%d];", sum, s->v, s->v);
    lfuse__put(s->out, 3, "GETV_%s(v_, tile, (team * %d + lane) * %d);", sum, TEAM, s->v);
    lfuse__put(s->out, 3, "for (u32 other_team = 1; other_team < %d; other_team++) {", TEAMS);
    lfuse__put(s->out, 4, "GETV_%s(w_, tile, ((other_team * %d + team) * %d + lane) * %d);", sum, rows, TEAM, s->v);
    for (int e = 0; e < s->v; e++)
        lfuse__put(s->out, 4, "v_[%d] = ADD_%s(v_[%d], w_[%d]);", e, sum, e, e);
    lfuse__put(s->out, 3, "}");
    put_result(s, 3, "row");
    lfuse__put(s->out, 2, "}");
    lfuse__put(s->out, 2, "SYNC();");
    lfuse__put(s->out, 1, "}");
}

/* Work-items of a team have parts of the same sums. */
static void put_exchange(const lfuse__thin *s)
{
    const char *sum = s->t->sum;
    lfuse__put(s->out, 0, "#pragma unroll");
    lfuse__put(s->out, 1, "for (int i = 0; i < %d; i++) {", s->few);
    lfuse__put(s->out, 2, "S_%s v_[%d];", sum, s->v);
    for (int e = 0; e < s->v; e++) {
        lfuse__put(s->out, 2, "v_[%d] = acc[i * %d + %d];", e, s->v, e);
        for (int mask = TEAM / 2; mask > 0; mask /= 2)
            lfuse__put(s->out, 2, "v_[%d] = ADD_%s(v_[%d], SHUFFLE_%s(v_[%d], %d));", e, sum, e, sum, e, mask);
    }
    lfuse__put(s->out, 2, "if (lane == (u32)i) {");
    lfuse__put(s->out, 3, "const u32 row = i;");
    put_result(s, 3, "row");
    lfuse__put(s->out, 2, "}");
    lfuse__put(s->out, 1, "}");
}

static void put_start(const lfuse__thin *s)
{
    const int own = s->t->l.own, v = s->v;
    const bool b = s->wide == LFUSE__PRODUCT_B;
    char wide[96], other[96], groups[96];
    snprintf(groups, sizeof groups, "(u32)(W(%d) * W(%d)) * parts", own + LFUSE__TILES_DOWN, own + LFUSE__TILES_ACROSS);
    lfuse__put(s->out, 1, "const u32 m = (u32)W(%d), n = (u32)W(%d), k = (u32)W(%d), parts = (u32)W(%d);", s->t->l.m,
               s->t->l.n, s->t->l.k, own + LFUSE__TILES_PARTS);
    lfuse__tiles_put_group(s->t, groups);
    lfuse__put(s->out, 1, "const u32 lane = item %% %d, team = item / %d;", TEAM, TEAM);
    lfuse__put(s->out, 1, "const u32 part = group %% parts, number = group / parts;");
    lfuse__put(s->out, 1, "const u32 slabs = k / %d + (k %% %d != 0);", s->t->p->depth, s->t->p->depth);
    lfuse__put(s->out, 1, "const u32 each_part = slabs / parts, more = slabs %% parts; /* have one more */");
    lfuse__put(s->out, 1, "const u32 first = part * each_part + (part < more ? part : more);");
    lfuse__put(s->out, 1, "const u32 last = first + each_part + (part < more);");
    lfuse__put_product_first(&s->t->l, s->wide, wide, sizeof wide);
    lfuse__put_product_first(&s->t->l, s->other, other, sizeof other);
    if (!s->wide_made)
        lfuse__put(s->out, 1, "const memory wide = %s; const u64 ld_wide = W(%d);", wide,
                   b ? s->t->l.ldb : s->t->l.lda);
    if (!s->other_made)
        lfuse__put(s->out, 1, "const memory other = %s; const u64 ld_other = W(%d);", other,
                   b ? s->t->l.lda : s->t->l.ldb);
    if (s->wide_made || s->other_made) lfuse__put_product_memory(s->out, 1, s->t->t.k, &s->t->l);
    lfuse__put(s->out, 1, "const int wide_vectors = W(%d) >> %d & 1, other_vectors = W(%d) >> %d & 1;",
               own + LFUSE__TILES_VECTORS, s->wide, own + LFUSE__TILES_VECTORS, s->other);
    lfuse__put(s->out, 1, "const u64 row_vectors = (n + %d) / %d;", v - 1, v);
    lfuse__tiles_put_space(s->t, "row_vectors");
    if (s->wide_turned)
        lfuse__put(s->out, 1, "const u32 at = (number * %d + team) * %d, turn = lane * %d;", TEAMS, v, v);
    else
        lfuse__put(s->out, 1, "const u32 at = (number * %d + lane) * %d, turn = team * %d;", TEAM, v, v);
}

int lfuse__thin_width(const lfuse__product_class *p, int wide, int vector)
{
    return vector * (lfuse__tiles_turned(p, wide) ? TEAMS : TEAM);
}

int lfuse__thin_depth(const lfuse__product_class *p, int wide, int vector)
{
    return vector * (lfuse__tiles_turned(p, wide) ? TEAM : TEAMS);
}

void lfuse__thin_put(const lfuse__tiles *t, const char *name)
{
    const lfuse__thin s = describe(t);
    const int rows = s.few < ROWS_AT_A_TIME ? s.few : ROWS_AT_A_TIME;
    lfuse__put_kernel(s.out, name, LFUSE__GROUP, t->l.own + LFUSE__TILES_OWN, lfuse__kernel_buffers(t->t.k));
    if (s.wide_turned) lfuse__put(s.out, 1, "TEAM(%d)", LFUSE__GROUP);
    else lfuse__put(s.out, 1, "TILE_%s(tile, %d)", t->sum, TEAMS * rows * TEAM * s.v);
    put_start(&s);
    lfuse__put(s.out, 1, "S_%s acc[%d];", t->sum, s.few * s.v);
    lfuse__put(s.out, 0, "#pragma unroll");
    lfuse__put(s.out, 1, "for (int i = 0; i < %d; i++) acc[i] = ZERO_%s;", s.few * s.v, t->sum);
    lfuse__put(s.out, 1, "for (u32 slab = first; slab < last; slab++) {");
    lfuse__put(s.out, 2, "const u32 l = slab * %d + turn;", t->p->depth);
    if (s.wide_made) lfuse__thin_put_wide(&s, 2);
    else put_wide(&s, 2);
    put_other(&s, 2);
    put_products(&s, 2);
    lfuse__put(s.out, 1, "}");
    if (s.wide_turned) put_exchange(&s);
    else put_meeting(&s);
    lfuse__put(s.out, 0, "}");
}

/* ---- how it is cut up ---- */

enum { THIN_GROUPS = 4 /* of a compute unit, for its memory to be busy */ };

/* Cycles of a second launch, and products a cycle of a compute unit: fitted as those of product_tiles_clock.c. */
static const double launch = 6200, rate = 42;

/* As many parts as keep all units reading. */
void lfuse__thin_cut(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c)
{
    const int64_t units = facts->info.compute_units ? facts->info.compute_units : 1;
    const int64_t batch = p->batched ? extents[LFUSE__PRODUCT_BATCH] : 1;
    const int64_t length = p->rows == p->item_rows ? extents[1] : extents[0];
    const double wide = (double)length * (double)extents[2] * (double)batch;
    const double few = p->rows == p->item_rows ? p->rows : p->columns;
    c->down = lfuse__tiles_parts(extents[0], p->rows), c->across = lfuse__tiles_parts(extents[1], p->columns);
    c->slabs = lfuse__tiles_parts(extents[2], p->depth);
    c->parts = lfuse__tiles_parts(THIN_GROUPS * units, batch * c->down * c->across);
    if (c->parts > c->slabs) c->parts = c->slabs ? c->slabs : 1;
    if (c->parts > LFUSE__MOST_PARTS) c->parts = LFUSE__MOST_PARTS;
    const double products = wide * few / rate, bytes = wide * lfuse__type_bytes(p->sum) / LFUSE__TILES_BYTES;
    const double groups = (double)(batch * c->down * c->across * c->parts);
    c->time = launch + LFUSE__TILES_START + (products > bytes ? products : bytes) / fmin(groups, (double)units);
}

/* One side is `few`, in whole. */
void lfuse__thin_set(lfuse__product_class *p, bool rows, int few)
{
    const int wide = rows ? LFUSE__PRODUCT_B : LFUSE__PRODUCT_A;
    const int width = lfuse__thin_width(p, wide, lfuse__tiles_vector(p));
    p->rows = rows ? few : width, p->columns = rows ? width : few;
    p->item_rows = rows ? few : lfuse__tiles_vector(p), p->item_columns = rows ? lfuse__tiles_vector(p) : few;
    p->depth = lfuse__thin_depth(p, wide, lfuse__tiles_vector(p));
    p->slices = p->split = p->ahead = 1;
    p->beside = 0;
    p->units = false;
}
