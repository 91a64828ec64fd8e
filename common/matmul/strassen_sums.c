/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products and factors, level by level. Products are read in groups of seven and added up at once, factors are
 * stored as they are made, so that beside the elements of all blocks only a few values are registers at a time.
 * Names: s<level>_<q> are the sums within a product of `level`, f<level>_<q> a factor's blocks; of level 0 both are
 * the elements.
 */
#include <stdio.h>

#include "common/matmul/strassen.h"

enum { PRODUCTS = 7, QUARTERS = 4 };

/* A factor: quarter `a`, and where `sign` is not 0 that times `b` is added. */
typedef struct factor {
    int a, b, sign;
} factor;

static const factor left[PRODUCTS] = {{0, 0, 0}, {0, 1, 1}, {2, 3, 1}, {3, 0, 0}, {0, 3, 1}, {1, 3, -1}, {0, 2, -1}};
static const factor right[PRODUCTS] = {{1, 3, -1}, {3, 0, 0}, {0, 0, 0}, {2, 0, -1}, {0, 3, 1}, {2, 3, 1}, {0, 1, 1}};
/* The sign with which a product is added to a quarter. */
static const int sums[QUARTERS][PRODUCTS] = {
    {0, -1, 0, 1, 1, 1, 0}, {1, 1, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 0, 0}, {1, 0, -1, 0, 1, 0, -1}};

/* Blocks of a matrix whose levels end at `levels`, within those of the deeper side: which of these is meant. */
typedef struct place {
    const lfuse__strassen *s;
    int levels, rest; /* 2^rest x 2^rest blocks in one */
    int row, column;
} place;

static int power(int of, int exponent)
{
    int x = 1;
    while (exponent-- > 0) x *= of;
    return x;
}

/* Block number `q`, of base-4 digits, the outer level's first, in the order of rows of all blocks. */
static int block_of(const place *p, int q)
{
    int row = 0, column = 0;
    for (int level = 0; level < p->levels; level++) {
        const int quarter = q / power(QUARTERS, p->levels - 1 - level) % QUARTERS;
        row = 2 * row + quarter / 2, column = 2 * column + quarter % 2;
    }
    return ((row << p->rest) + p->row) * p->s->side + (column << p->rest) + p->column;
}

static void value(const place *p, char letter, int level, int q, char *text, size_t size)
{
    if (level > 0) snprintf(text, size, p->s->lanes && letter == 'f' ? "%c%d_%d" : "%c%d_%d[v]", letter, level, q);
    else snprintf(text, size, p->s->lanes ? "e[%d][v]" : "e%d[v]", block_of(p, q));
}

static void put_each(const lfuse__strassen *s, int indent)
{
    if (!s->lanes) lfuse__put(s->t.out, 0, "#pragma unroll");
    if (s->lanes) lfuse__put(s->t.out, indent, "for (int v = 0; v < run; v++) {");
    else lfuse__put(s->t.out, indent, "for (int v = 0; v < %d; v++) {", s->vector);
}

/* `pointer`: the place in the first matrix; `step`: bytes from one to the next. */
static void put_walk(const place *p, int indent, int operand, const char *pointer)
{
    const lfuse__strassen *s = p->s;
    const unsigned size = lfuse__type_bytes(s->t.k->operands[operand].type);
    const int deep = 1 << p->rest;
    lfuse__put(s->t.out, indent, "const i64 step = (i64)high * wide * %u;", (unsigned)(deep * deep) * size);
    lfuse__put(s->t.out, indent, "memory %s = p%d + (((i64)i + %d * (i64)high) * wide * %d + %d * (i64)wide + j) * %u;",
               pointer, operand, p->row, deep, p->column, size);
}

/* ---- sums ---- */

/* Items: the vector of product `o`; lanes: where its run begins. */
static void put_product(const lfuse__strassen *s, int indent, int o)
{
    const unsigned bytes = lfuse__type_bytes(s->t.k->operands[LFUSE__STRASSEN_PRODUCTS].type) * (unsigned)s->vector;
    lfuse__strbuf *out = s->t.out;
    if (s->lanes) {
        lfuse__put(out, indent, "memory a%d = from;", o);
    } else {
        lfuse__put(out, indent, "u32 a%d[%d];", o, bytes < 4 ? 1 : bytes / 4);
        lfuse__put(out, indent, "LOADB_%u(a%d, from);", bytes, o);
    }
    lfuse__put(out, indent, "from += step;");
}

static void put_values(const lfuse__strassen *s, int indent, int level, int count)
{
    for (int q = 0; q < count; q++)
        lfuse__put(s->t.out, indent, "%c_%s s%d_%d[%d];", s->lanes ? 'L' : 'S', s->sum, level, q,
                   s->lanes ? s->run : s->vector);
}

/* Adds product `o` of a level, or the sums within it, to the quarters' sums. */
static void put_add(const place *p, int indent, int level, int q, int o, const char *what)
{
    const lfuse__strassen *s = p->s;
    const int sign = sums[q / power(QUARTERS, p->levels - level - 1)][o];
    char to[32];
    bool first = true;
    for (int earlier = 0; earlier < o; earlier++)
        if (sums[q / power(QUARTERS, p->levels - level - 1)][earlier]) first = false;
    value(p, 's', level, q, to, sizeof to);
    if (!sign) return;
    if (first && sign > 0) lfuse__put(s->t.out, indent, "%s = %s;", to, what);
    else if (first) lfuse__put(s->t.out, indent, "%s = NEG_%s(%s);", to, s->sum, what);
    else lfuse__put(s->t.out, indent, "%s = %s_%s(%s, %s);", to, sign > 0 ? "ADD" : "SUB", s->sum, to, what);
}

static void put_last_level(const place *p, int indent, int level)
{
    const lfuse__strassen *s = p->s;
    const char *word = lfuse__memory_word(s->t.k->operands[LFUSE__STRASSEN_PRODUCTS].type);
    char what[16];
    for (int o = 0; o < PRODUCTS; o++) put_product(s, indent, o);
    put_each(s, indent);
    for (int o = 0; o < PRODUCTS; o++)
        lfuse__put(s->t.out, indent + 1, s->lanes ? "const L_%s m%d = LOADL_%s(a%d, v * LANES);"
                                                  : "const S_%s m%d = UNPACK_%s(a%d, v);", s->sum, o, word, o);
    for (int o = 0; o < PRODUCTS; o++) {
        snprintf(what, sizeof what, "m%d", o);
        for (int q = 0; q < QUARTERS; q++) put_add(p, indent + 1, level, q, o, what);
    }
    lfuse__put(s->t.out, indent, "}");
}

static void put_level(const place *p, int indent, int level)
{
    const lfuse__strassen *s = p->s;
    const int within = power(QUARTERS, p->levels - level - 1);
    char what[32];
    if (level == p->levels - 1) {
        put_last_level(p, indent, level);
        return;
    }
    for (int o = 0; o < PRODUCTS; o++) {
        lfuse__put(s->t.out, indent, "{");
        put_values(s, indent + 1, level + 1, within);
        put_level(p, indent + 1, level + 1);
        put_each(s, indent + 1);
        for (int q = 0; q < QUARTERS * within; q++) {
            value(p, 's', level + 1, q % within, what, sizeof what);
            put_add(p, indent + 2, level, q, o, what);
        }
        lfuse__put(s->t.out, indent + 1, "}");
        lfuse__put(s->t.out, indent, "}");
    }
}

void lfuse__strassen_put_sums(const lfuse__strassen *s, int indent)
{
    place p = {.s = s, .levels = s->s->levels_in, .rest = s->levels - s->s->levels_in};
    for (p.row = 0; p.row < 1 << p.rest; p.row++)
        for (p.column = 0; p.column < 1 << p.rest; p.column++) {
            lfuse__put(s->t.out, indent, "{");
            put_walk(&p, indent + 1, LFUSE__STRASSEN_PRODUCTS, "from");
            put_level(&p, indent + 1, 0);
            lfuse__put(s->t.out, indent, "}");
        }
}

/* ---- factors ---- */

static int quarter_of(const lfuse__strassen *s, int quarter)
{
    return s->s->transposed && (quarter == 1 || quarter == 2) ? 3 - quarter : quarter;
}

/* Block `q` of factor `o`, as an expression. */
static void factor_of(const place *p, int level, int q, int o, char *text, size_t size)
{
    const lfuse__strassen *s = p->s;
    const factor *f = (s->s->right ? right : left) + o;
    const int within = power(QUARTERS, p->levels - level - 1);
    char a[32], b[32];
    value(p, 'f', level, quarter_of(s, f->a) * within + q, a, sizeof a);
    value(p, 'f', level, quarter_of(s, f->b) * within + q, b, sizeof b);
    if (f->sign) snprintf(text, size, "%s_%s(%s, %s)", f->sign > 0 ? "ADD" : "SUB", s->sum, a, b);
    else snprintf(text, size, "%s", a);
}

/* ---- factors, items ---- */

static void put_store(const place *p, int indent, int o)
{
    const lfuse__strassen *s = p->s;
    const lfuse_type type = s->t.k->operands[LFUSE__STRASSEN_FACTORS].type;
    const unsigned bytes = lfuse__type_bytes(type) * (unsigned)s->vector, words = bytes < 4 ? 1 : bytes / 4;
    lfuse__strbuf *out = s->t.out;
    char from[96];
    factor_of(p, p->levels - 1, 0, o, from, sizeof from);
    lfuse__put(out, indent, "{");
    lfuse__put(out, indent + 1, "u32 u_[%u];", words);
    for (unsigned w = 0; w < words; w++) lfuse__put(out, indent + 1, "u_[%u] = 0;", w);
    put_each(s, indent + 1);
    lfuse__put(out, indent + 2, "PACK_%s(u_, v, %s);", lfuse__memory_word(type), from);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent + 1, "STOREB_%u(to, u_);", bytes);
    lfuse__put(out, indent + 1, "to += step;");
    lfuse__put(out, indent, "}");
}

static void put_items_factors(const place *p, int indent, int level)
{
    const lfuse__strassen *s = p->s;
    const int within = power(QUARTERS, p->levels - level - 1);
    char to[32], from[96];
    for (int o = 0; o < PRODUCTS; o++) {
        if (level == p->levels - 1) {
            put_store(p, indent, o);
            continue;
        }
        lfuse__put(s->t.out, indent, "{");
        for (int q = 0; q < within; q++)
            lfuse__put(s->t.out, indent + 1, "S_%s f%d_%d[%d];", s->sum, level + 1, q, s->vector);
        put_each(s, indent + 1);
        for (int q = 0; q < within; q++) {
            value(p, 'f', level + 1, q, to, sizeof to);
            factor_of(p, level, q, o, from, sizeof from);
            lfuse__put(s->t.out, indent + 2, "%s = %s;", to, from);
        }
        lfuse__put(s->t.out, indent + 1, "}");
        put_items_factors(p, indent + 1, level + 1);
        lfuse__put(s->t.out, indent, "}");
    }
}

/* ---- factors, lanes: runs of seven at a time, as lines of so many matrices have room in the nearest cache ---- */

/* Within the factors path[0], path[1] ... of the levels before the last. */
static void put_seven(const place *p, int indent, const int *path)
{
    const lfuse__strassen *s = p->s;
    const char *word = lfuse__memory_word(s->t.k->operands[LFUSE__STRASSEN_FACTORS].type);
    char to[32], from[96];
    put_each(s, indent);
    for (int level = 0; level < p->levels - 1; level++)
        for (int q = 0; q < power(QUARTERS, p->levels - level - 1); q++) {
            value(p, 'f', level + 1, q, to, sizeof to);
            factor_of(p, level, q, path[level], from, sizeof from);
            lfuse__put(s->t.out, indent + 1, "const L_%s %s = %s;", s->sum, to, from);
        }
    for (int o = 0; o < PRODUCTS; o++) {
        factor_of(p, p->levels - 1, 0, o, from, sizeof from);
        lfuse__put(s->t.out, indent + 1, "STOREL_%s(to + %d * step, v * LANES, %s);", word, o, from);
    }
    lfuse__put(s->t.out, indent, "}");
    lfuse__put(s->t.out, indent, "to += %d * step;", PRODUCTS);
}

static void put_lanes_factors(const place *p, int indent)
{
    int path[LFUSE__STRASSEN_LEVELS];
    for (int number = 0; number < power(PRODUCTS, p->levels - 1); number++) {
        for (int level = 0; level < p->levels - 1; level++)
            path[level] = number / power(PRODUCTS, p->levels - 2 - level) % PRODUCTS;
        put_seven(p, indent, path);
    }
}

void lfuse__strassen_put_factors(const lfuse__strassen *s, int indent)
{
    place p = {.s = s, .levels = s->s->levels_out, .rest = s->levels - s->s->levels_out};
    for (p.row = 0; p.row < 1 << p.rest; p.row++)
        for (p.column = 0; p.column < 1 << p.rest; p.column++) {
            lfuse__put(s->t.out, indent, "{");
            put_walk(&p, indent + 1, LFUSE__STRASSEN_FACTORS, "to");
            if (s->lanes) put_lanes_factors(&p, indent + 1);
            else put_items_factors(&p, indent + 1, 0);
            lfuse__put(s->t.out, indent, "}");
        }
}
