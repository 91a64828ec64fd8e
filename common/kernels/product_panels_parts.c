/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the texts of product_panels.c: panels are packed and multiplied. */
#include "common/kernels/product_panels.h"

enum { LANES = LFUSE__PANEL_LANES };

/*
 * Sixteen elements of each of sixteen rows, turned: lane r of vector l, which goes to `pitch` * l, is element l of row
 * r. Where there are fewer rows the last one stands for the others; what is made of it is not stored.
 */
static void put_turn(lfuse__strbuf *out, const char *name, const char *suffix, const char *from, const char *to)
{
    lfuse__put(out, 0, "FN_CALLED void %s_%s(memory from, i64 stride, int rows, memory to, int pitch)", name, suffix);
    lfuse__put(out, 0, "{");
    for (int r = 0; r < LANES; r++)
        lfuse__put(out, 1, "const L_%s r0_%d = LOADL_%s(from, (i64)(rows > %d ? %d : rows - 1) * stride);", to, r, from,
                   r, r);
    for (int stage = 0; stage < 4; stage++)
        for (int r = 0; r < LANES / 2; r++) {
            const int s = stage, next = stage + 1, other = r + LANES / 2;
            lfuse__put(out, 1, "const L_%s r%d_%d = ZIPL_%s(r%d_%d, r%d_%d);", to, next, 2 * r, to, s, r, s, other);
            lfuse__put(out, 1, "const L_%s r%d_%d = ZIPH_%s(r%d_%d, r%d_%d);", to, next, 2 * r + 1, to, s, r, s, other);
        }
    for (int l = 0; l < LANES; l++) lfuse__put(out, 1, "STOREL_%s(to, %d * pitch, r4_%d);", to, l, l);
    lfuse__put(out, 0, "}");
}

/*
 * Rows `rows` of A, `depth` of k: [l][rows of a panel]. Vectors that are turned reach into the next place of l, which
 * is filled later; behind the last there is room.
 */
void lfuse__put_pack_a(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c)
{
    const char *from = lfuse__memory_word(lfuse__panels_type(c, LFUSE__PRODUCT_A));
    const char *to = lfuse__memory_word(c->product.sum);
    const unsigned size = lfuse__type_bytes(lfuse__panels_type(c, LFUSE__PRODUCT_A));
    const int pitch = c->product.rows;

    if (!c->product.ta) put_turn(out, name, "ta", from, to);
    lfuse__put(out, 0, "FN_CALLED void %s_a(memory a, i64 lda, int rows, int depth, memory to)", name);
    lfuse__put(out, 0, "{");
    lfuse__put(out, 1, "int l = 0;");
    if (!c->product.ta)
        lfuse__put(out, 1, "for (; l + LANES <= depth; l += LANES) %s_ta(a + l * %u, lda, rows, to + l * %u, %d);",
                   name, size, (unsigned)pitch * lfuse__type_bytes(c->product.sum), pitch);
    lfuse__put(out, 1, "for (; l < depth; l++)");
    lfuse__put(out, 2, "for (int r = 0; r < rows; r++)");
    lfuse__put(out, 3, "STORE_%s(to, l * %d + r, LOAD_%s(a, %s));", to, pitch, from,
               c->product.ta ? "l * lda + r" : "r * lda + l");
    lfuse__put(out, 0, "}");
}

/* A panel of B, of which `count` columns are stored at the end: [l][columns of a panel]. */
void lfuse__put_pack_b(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c)
{
    const char *from = lfuse__memory_word(lfuse__panels_type(c, LFUSE__PRODUCT_B));
    const char *to = lfuse__memory_word(c->product.sum);
    const unsigned size = lfuse__type_bytes(lfuse__panels_type(c, LFUSE__PRODUCT_B)),
                   wide = lfuse__type_bytes(c->product.sum);
    const int columns = c->product.columns;

    if (c->product.tb) put_turn(out, name, "tb", from, to);
    lfuse__put(out, 0, "FN_CALLED void %s_b(memory b, i64 ldb, int count, int depth, memory to)", name);
    lfuse__put(out, 0, "{");
    lfuse__put(out, 1, "int l = 0;");
    if (c->product.tb) {
        lfuse__put(out, 1, "for (; l + LANES <= depth; l += LANES)");
        lfuse__put(out, 2, "for (int j = 0; j < count; j += LANES)");
        lfuse__put(out, 3, "%s_tb(b + (j * ldb + l) * %u, ldb, count - j, to + (l * %d + j) * %u, %d);", name, size,
                   columns, wide, columns);
    } else {
        lfuse__put(out, 1, "for (; count >= %d && l < depth; l++) {", columns);
        for (int v = 0; v < columns; v += LANES)
            lfuse__put(out, 2, "STOREL_%s(to, l * %d + %d, LOADL_%s(b, l * ldb + %d));", to, columns, v, from, v);
        lfuse__put(out, 1, "}");
    }
    lfuse__put(out, 1, "for (; l < depth; l++)");
    lfuse__put(out, 2, "for (int j = 0; j < %d; j++)", columns);
    lfuse__put(out, 3, "STORE_%s(to, l * %d + j, LOAD_%s(b, %s));", to, columns, from,
               c->product.tb ? "(i64)(j < count ? j : count - 1) * ldb + l" : "l * ldb + (j < count ? j : count - 1)");
    lfuse__put(out, 0, "}");
}

/*
 * Sums of rows of A with `count` rows of B that is stored transposed, both as they lie: lanes along k. Four columns at
 * a time, so that four sums are under way.
 */
void lfuse__put_dots(lfuse__strbuf *out, const char *name, const lfuse__product_class *p)
{
    enum { COLUMNS = 4 };
    const char *t = lfuse__memory_word(p->sum);

    lfuse__put(out, 0, "FN_CALLED void %s_d(memory a, i64 lda, memory b, i64 ldb, int rows, int count, int depth, "
               "int first, memory to)", name);
    lfuse__put(out, 0, "{");
    lfuse__put(out, 1, "for (int j = 0; j < count; j += %d)", COLUMNS);
    lfuse__put(out, 2, "for (int r = 0; r < rows; r++) {");
    for (int q = 0; q < COLUMNS; q++) {
        lfuse__put(out, 3, "const i64 b%d = (i64)(j + %d < count ? j + %d : count - 1) * ldb;", q, q, q);
        lfuse__put(out, 3, "L_%s c%d = SPLAT_%s(ZERO_%s);", t, q, t, t);
    }
    lfuse__put(out, 3, "const i64 from = r * lda;");
    lfuse__put(out, 3, "int l = 0;");
    lfuse__put(out, 3, "for (; l + LANES <= depth; l += LANES) {");
    lfuse__put(out, 4, "const L_%s x = LOADL_%s(a, from + l);", t, t);
    for (int q = 0; q < COLUMNS; q++)
        lfuse__put(out, 4, "c%d = MAD_%s(x, LOADL_%s(b, b%d + l), c%d);", q, t, t, q, q);
    lfuse__put(out, 3, "}");
    for (int q = 0; q < COLUMNS; q++) {
        for (int half = LANES / 2; half; half /= 2)
            lfuse__put(out, 3, "c%d = ADD_%s(c%d, HALF%d_%s(c%d));", q, t, q, half, t, q);
        lfuse__put(out, 3, "S_%s s%d = FIRST_%s(c%d);", t, q, t, q);
    }
    lfuse__put(out, 3, "for (; l < depth; l++) {");
    for (int q = 0; q < COLUMNS; q++)
        lfuse__put(out, 4, "s%d += LOAD_%s(a, from + l) * LOAD_%s(b, b%d + l);", q, t, t, q);
    lfuse__put(out, 3, "}");
    for (int q = 0; q < COLUMNS; q++) {
        const int at = q;
        lfuse__put(out, 3, "if (j + %d < count) STORE_%s(to, r * %d + j + %d, first ? s%d : s%d + LOAD_%s(to, r * %d + "
                   "j + %d));", at, t, p->columns, at, q, q, t, p->columns, at);
    }
    lfuse__put(out, 2, "}");
    lfuse__put(out, 0, "}");
}

/*
 * Sums of `rows` rows of A, which are `row` bytes apart, as their elements along k are `next`, with a panel of B, whose
 * rows are `step` bytes apart, added to what lies in `to` but for the first part of k. Every third row has a pointer
 * of its own: so many registers there are.
 */
void lfuse__put_multiply(lfuse__strbuf *out, const char *name, const char *suffix, int rows,
                          const lfuse__product_class *p)
{
    enum { OF_POINTER = 3 };
    const char *t = lfuse__memory_word(p->sum);
    const int vectors = p->columns / LANES;

    lfuse__put(out, 0, "FN_CALLED void %s_%s(memory a, i64 row, i64 next, memory b, i64 step, int depth, int first,",
               name, suffix);
    lfuse__put(out, 1, "memory to)");
    lfuse__put(out, 0, "{");
    for (int r = 0; r < rows; r += OF_POINTER) lfuse__put(out, 1, "memory q%d = a + %d * row;", r, r);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            lfuse__put(out, 1, "L_%s c%d_%d = SPLAT_%s(ZERO_%s);", t, r, v, t, t);
    lfuse__put(out, 1, "for (int l = 0; l < depth; l++) {");
    for (int v = 0; v < vectors; v++)
        lfuse__put(out, 2, "const L_%s b%d = LOADL_%s(b, %d);", t, v, t, v * LANES);
    for (int r = 0; r < rows; r++) {
        lfuse__put(out, 2, "const L_%s a%d = SPLAT_%s(LOAD_%s(q%d + %d * row, 0));", t, r, t, t,
                   r / OF_POINTER * OF_POINTER, r % OF_POINTER);
        for (int v = 0; v < vectors; v++) lfuse__put(out, 2, "c%d_%d = MAD_%s(a%d, b%d, c%d_%d);", r, v, t, r, v, r, v);
    }
    for (int r = 0; r < rows; r += OF_POINTER) lfuse__put(out, 2, "q%d += next;", r);
    lfuse__put(out, 2, "b += step;");
    lfuse__put(out, 1, "}");
    lfuse__put(out, 1, "if (!first) {");
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            lfuse__put(out, 2, "c%d_%d = ADD_%s(c%d_%d, LOADL_%s(to, %d));", r, v, t, r, v, t,
                       r * p->columns + v * LANES);
    lfuse__put(out, 1, "}");
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            lfuse__put(out, 1, "STOREL_%s(to, %d, c%d_%d);", t, r * p->columns + v * LANES, r, v);
    lfuse__put(out, 0, "}");
}
