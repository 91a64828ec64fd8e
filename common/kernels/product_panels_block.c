/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of product_panels.c: what a group does for a block of the result.
 *
 * A small operand is not packed but read as it lies: where NEAR_MATRIX bytes hold all of it, with the gaps between its
 * rows, the second-level cache has what a panel takes of it; so does the first-level cache what it takes of A, whose
 * rows are read side by side, if no row is longer than NEAR_BYTES (rows further apart compete for few places). Packed
 * or not, the additions and their order are the same.
 */
#include <stdio.h>

#include "common/kernels/product_panels.h"

enum {
    FEW_ROWS = 4,  /* for which there is a form of its own */
    DOT_ROWS = 12, /* so where B is transposed */
    DIRECT_ROWS = 24, /* up to which B is not packed: what that takes is more than what it saves */
    NEAR_MATRIX = 640 << 10, /* of a cache of 1 MiB */
    NEAR_BYTES = 2048, /* 12 rows: at most 6 of 8 places */
    NEAR_ROWS = 288, /* of a block; with more of them packing B is a matter of a hundredth */
    NEAR_COLUMNS = 128 /* up to which packing A takes longer than its misses */
};

/*
 * Both operands lie along k and need no conversion; what is made does as it is made. Of a list nowhere: which rows are
 * few depends on the other members, and lanes along k add up in another order.
 */
static bool along(const lfuse__kernel_class *c)
{
    return c->family != LFUSE__FAMILY_GROUPED && !c->product.ta && c->product.tb &&
           c->operands[LFUSE__PRODUCT_A].type == c->product.sum && c->operands[LFUSE__PRODUCT_B].type == c->product.sum;
}

/* Up to which B is taken as it lies; with lanes along k both are, what is made too, from where it then is. */
static int direct_rows(const lfuse__kernel_class *c)
{
    if (c->product.tb) return along(c) ? DOT_ROWS : 0;
    if (c->product.made[LFUSE__PRODUCT_B]) return 0;
    return c->operands[LFUSE__PRODUCT_B].type == c->product.sum ? DIRECT_ROWS : 0;
}

/* B's panels of the part of k that begins at `at`. */
static void put_panels(const lfuse__text *t, const lfuse__product_layout *l, int indent, const char *name)
{
    const lfuse__product_class *p = &t->k->product;
    const unsigned size = lfuse__type_bytes(p->sum), b_size = lfuse__type_bytes(t->k->operands[LFUSE__PRODUCT_B].type);
    const bool made = p->made[LFUSE__PRODUCT_B];
    lfuse__strbuf *out = t->out;

    if (p->tb) lfuse__put(out, indent, "for (i64 j = direct ? wide : 0; j < wide; j += %d) {", p->columns);
    else
        lfuse__put(out, indent, "for (i64 j = direct ? wide / %d * %d : 0; j < wide; j += %d) {", p->columns,
                   p->columns, p->columns);
    if (made) lfuse__panels_put_b(t, l, indent + 1);
    if (made && p->tb)
        lfuse__put(out, indent + 1, "%s_b(made_b, pitch_b, (int)(wide - j < %d ? wide - j : %d), depth, panels + j * "
                   "depth * %u);", name, p->columns, p->columns, size);
    if (!made)
        lfuse__put(out, indent + 1, "%s_b(p1 + (%s) * %u, ldb, (int)(wide - j < %d ? wide - j : %d), depth, panels + "
                   "j * depth * %u);", name,
                   p->tb ? "(first_column + j) * ldb + at" : "at * ldb + first_column + j", b_size, p->columns,
                   p->columns, size);
    lfuse__put(out, indent, "}");
}

/* A's rows from `row` on, `apart` and their elements `next` bytes apart: where they lie, or in the panel. */
static void put_rows(const lfuse__text *t, const lfuse__product_layout *l, int indent, const char *name)
{
    const lfuse__product_class *p = &t->k->product;
    const unsigned size = lfuse__type_bytes(p->sum), a_size = lfuse__type_bytes(t->k->operands[LFUSE__PRODUCT_A].type);
    const bool made = p->made[LFUSE__PRODUCT_A];
    lfuse__strbuf *out = t->out;

    if (made) lfuse__panels_put_a(t, l, indent);
    if (made) lfuse__put(out, indent, "memory a = made_a;");
    else lfuse__put(out, indent, "memory a = p0 + (%s) * %u;", p->ta ? "at * lda + row" : "row * lda + at", a_size);
    lfuse__put(out, indent, "const int packed = !near_a || (rows != %d && rows != %d);", p->rows, FEW_ROWS);
    lfuse__put(out, indent, "if (packed%s) {", along(t->k) ? " && !direct" : "");
    lfuse__put(out, indent + 1, "%s_a(a, %s, rows, depth, panel);", name, made ? "pitch_a" : "lda");
    lfuse__put(out, indent + 1, "a = panel;");
    lfuse__put(out, indent, "}");
    lfuse__put(out, indent, "const i64 apart = (packed ? 1 : %s) * %u, next = (packed ? %d : %s) * %u;",
               p->ta ? "1" : "lda", size, p->rows, p->ta ? "lda" : "1", size);
}

/* Of few rows and lanes along k: sums of what both operands are as they lie. */
static void put_direct(const lfuse__text *t, const lfuse__product_layout *l, int indent, const char *name)
{
    const lfuse__product_class *p = &t->k->product;
    const unsigned size = lfuse__type_bytes(p->sum);
    char a[64], b[64];

    snprintf(a, sizeof a, p->made[0] ? "made_a, pitch_a" : "p0 + (row * lda + at) * %u, lda", size);
    snprintf(b, sizeof b, p->made[1] ? "made_b, pitch_b" : "p1 + (column * ldb + at) * %u, ldb", size);
    lfuse__put(t->out, indent, "if (direct) {");
    if (p->made[1]) lfuse__panels_put_b(t, l, indent + 1);
    lfuse__put(t->out, indent + 1, "%s_d(%s, %s, rows, columns, depth, at == 0, sums);", name, a, b);
    lfuse__put(t->out, indent, "} else {");
}

void lfuse__panels_put_block(const lfuse__text *t, const lfuse__product_layout *l, int indent, const char *name)
{
    const lfuse__product_class *p = &t->k->product;
    const unsigned size = lfuse__type_bytes(p->sum);
    lfuse__strbuf *out = t->out;

    lfuse__put(out, indent, "for (i64 at = 0; at == 0 || at < k; at += block_depth) {");
    lfuse__put(out, indent + 1, "const int depth = (int)(k - at < block_depth ? k - at : block_depth);");
    if (p->made[0])
        lfuse__put(out, indent + 1, "const int pitch_a = %s;", p->ta ? "LANES" : "(depth + LANES - 1) / LANES * LANES");
    if (p->made[1] && p->tb) lfuse__put(out, indent + 1, "const int pitch_b = (depth + LANES - 1) / LANES * LANES;");
    lfuse__put(out, indent + 1, "memory sums = space;");
    put_panels(t, l, indent + 1, name);
    lfuse__put(out, indent + 1, "for (i64 i = 0; i < high; i += %d) {", p->rows);
    lfuse__put(out, indent + 2, "const i64 row = first_row + i;");
    lfuse__put(out, indent + 2, "const int rows = (int)(high - i < %d ? high - i : %d);", p->rows, p->rows);
    put_rows(t, l, indent + 2, name);
    lfuse__put(out, indent + 2, "for (i64 j = 0; j < wide; j += %d) {", p->columns);
    lfuse__put(out, indent + 3, "const i64 column = first_column + j;");
    lfuse__put(out, indent + 3, "const int columns = (int)(wide - j < %d ? wide - j : %d);", p->columns, p->columns);
    if (along(t->k)) put_direct(t, l, indent + 3, name);
    if (p->tb) lfuse__put(out, indent + 3, "const int as_it_lies = 0;");
    else lfuse__put(out, indent + 3, "const int as_it_lies = direct && columns == %d;", p->columns);
    lfuse__put(out, indent + 3, "memory b = as_it_lies ? p1 + (at * ldb + column) * %u : panels + j * depth * %u;",
               size, size);
    lfuse__put(out, indent + 3, "const i64 step = (as_it_lies ? ldb : %d) * %u;", p->columns, size);
    lfuse__put(out, indent + 3, "if (rows <= %d) %s_s(a, apart, next, b, step, depth, at == 0, sums);", FEW_ROWS,
               name);
    lfuse__put(out, indent + 3, "else %s_m(a, apart, next, b, step, depth, at == 0, sums);", name);
    if (along(t->k)) lfuse__put(out, indent + 3, "}");
    lfuse__put(out, indent + 3, "if (at + depth >= k) {");
    lfuse__panels_put_epilogue(t, l, indent + 4);
    lfuse__put(out, indent + 3, "}");
    lfuse__put(out, indent + 3, "if (block_depth < k) sums += %u;", (unsigned)(p->rows * p->columns) * size);
    lfuse__put(out, indent + 2, "}");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
}

/* Whether A need not be packed: near_a. */
static void put_near(const lfuse__text *t, int indent)
{
    const lfuse__product_class *p = &t->k->product;
    const unsigned size = lfuse__type_bytes(p->sum);

    if (p->made[LFUSE__PRODUCT_A] || t->k->operands[LFUSE__PRODUCT_A].type != p->sum)
        lfuse__put(t->out, indent, "const int near_a = 0;");
    else if (p->ta) lfuse__put(t->out, indent, "const int near_a = k * lda * %u <= %d;", size, NEAR_MATRIX);
    else
        lfuse__put(t->out, indent, "const int near_a = lda * %u <= %d && (n <= %d || m * lda * %u <= %d);", size,
                   NEAR_BYTES, NEAR_COLUMNS, size, NEAR_MATRIX);
}

void lfuse__panels_put_bounds(const lfuse__text *t, int indent)
{
    lfuse__put(t->out, indent, "const i64 high = m - first_row < block_rows ? m - first_row : block_rows;");
    lfuse__put(t->out, indent, "const i64 wide = n - first_column < block_columns ? n - first_column : block_columns;");
    if (!direct_rows(t->k)) lfuse__put(t->out, indent, "const int direct = 0;");
    else if (t->k->product.tb) lfuse__put(t->out, indent, "const int direct = high <= %d;", direct_rows(t->k));
    else
        lfuse__put(t->out, indent, "const int direct = high <= %d || (high <= %d && k * ldb * %u <= %d);",
                   direct_rows(t->k), NEAR_ROWS, lfuse__type_bytes(t->k->product.sum), NEAR_MATRIX);
    put_near(t, indent);
}

void lfuse__panels_put_parts(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c)
{
    lfuse__put_pack_a(out, name, c);
    lfuse__put_pack_b(out, name, c);
    if (along(c)) lfuse__put_dots(out, name, &c->product);
    lfuse__put_multiply(out, name, "m", c->product.rows, &c->product);
    lfuse__put_multiply(out, name, "s", FEW_ROWS, &c->product);
}
