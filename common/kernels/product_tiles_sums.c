/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums of a tile. Slabs of `depth` along k pass through local memory, two in turn: while one is multiplied, the
 * next ones (`ahead` of them) are on their way from memory into registers. The first of those is put into the other
 * half, and its registers take the one behind them, before the one barrier of each slab. Each slice of the work-items
 * multiplies its share of the slab. A work-item's rows and columns are vectors that lie apart, so that neighbours read
 * neighbouring vectors of local memory. What is turned round is stored element by element, by work-items whose places
 * differ in their vector of k and then in their row: within every BANKS bytes, elements change places by their vector
 * of k, so that those stores fall on different banks.
 */
#include <stdio.h>

#include "common/kernels/product_tiles.h"

enum { BANKS = 128 };

typedef struct side {
    int operand;
    char letter;       /* of names: a or b */
    const char *outer; /* m or n */
    int width;         /* of the tile */
    int base;          /* where it begins in local memory */
    int moves, turns;  /* elements that each vector of k moves those of its rows by, in XOR; after `turns`, 0 again */
    int loads;         /* vectors that a work-item loads of a slab */
    int words;         /* u32 of such a vector */
    unsigned size;     /* bytes of an element */
    const char *memory;
    bool turned;
    bool walks;        /* a work-item's vectors have the same place in rows equally far apart */
} side;

static side side_of(const lfuse__tiles *t, int operand)
{
    const bool a = operand == LFUSE__PRODUCT_A;
    const lfuse_type type = t->t.k->operands[operand].type;
    side s = {.operand = operand, .letter = a ? 'a' : 'b', .outer = a ? "m" : "n",
              .width = a ? t->p->rows : t->p->columns,
              .size = lfuse__type_bytes(type), .memory = lfuse__memory_word(type),
              .base = a ? 0 : 2 * t->p->depth * t->p->rows, .turned = lfuse__tiles_turned(t->p, operand)};
    if (s.turned) {
        const int banks = BANKS / (int)lfuse__type_bytes(t->p->sum);
        const int chunk = s.width * t->vector / (a ? t->p->item_rows : t->p->item_columns);
        const int span = banks < chunk ? banks : chunk; /* so that a work-item's vectors stay apart as they are */
        s.moves = span / (t->p->depth / t->vector);
        if (s.moves < t->vector) s.moves = t->vector;
        s.turns = span / s.moves;
    }
    s.walks = !s.turned && t->threads * t->vector % s.width == 0;
    s.loads = s.width * t->p->depth / t->vector / t->threads;
    s.words = t->vector * (int)s.size / 4;
    return s;
}

/* Where this work-item's vector i stands in the slab: r along the tile, q along k. */
static void put_place(const lfuse__tiles *t, const side *s, int indent)
{
    const int along = s->turned ? t->p->depth : s->width;
    lfuse__put(t->t.out, indent, "const u32 at = item + i * %d;", t->threads);
    lfuse__put(t->t.out, indent, "const u32 %s = at / %d, %s = at %% %d * %d;", s->turned ? "r" : "q",
               along / t->vector, s->turned ? "q" : "r", along / t->vector, t->vector);
}

/* The row of the operand's outer axis at place `r` of the tile. */
enum { ROW = 160 };
static void put_row(const lfuse__tiles *t, const side *s, const char *r, char row[ROW])
{
    const char begin[] = {s->letter, '0', 0};
    if (s->operand == LFUSE__PRODUCT_A) lfuse__tiles_row(t, begin, r, row, ROW);
    else snprintf(row, ROW, "%s + %s", begin, r);
}

/*
 * Addresses of a work-item's vectors in the first slab. Rows beyond the end are the last one again: what is computed of
 * them is not stored. Vectors below each other have one address, which walks: registers are what there is too few of.
 */
static void put_addresses(const lfuse__tiles *t, const side *s)
{
    lfuse__strbuf *out = t->t.out;
    const char c = s->letter, *const at = s->walks ? "" : "[i]";
    char first[96], begin[64], row[ROW];
    lfuse__put_product_first(&t->l, s->operand, first, sizeof first);
    lfuse__put(out, 1, "const memory %c_ = %s;", c, first);
    lfuse__put(out, 1, "const u64 ld%c = %s(%d);", c, t->l.word, s->operand == LFUSE__PRODUCT_A ? t->l.lda : t->l.ldb);
    if (s->operand == LFUSE__PRODUCT_A && t->p->summed) /* apart: of a segment of rows */
        snprintf(begin, sizeof begin, "down / apart * %d + down %% apart", LFUSE__SEGMENT);
    else snprintf(begin, sizeof begin, "%s * %d", s->operand == LFUSE__PRODUCT_A ? "down" : "across", s->width);
    lfuse__put(out, 1, "const u32 %c0 = %s, %c_last = %s - %d;", c, begin, c, s->outer, s->turned ? 1 : t->vector);
    if (s->walks) lfuse__put(out, 1, "memory %c_at = 0;", c);
    else lfuse__put(out, 1, "memory %c_at[%d];", c, s->loads);
    for (int i = 0; i < t->p->ahead; i++) lfuse__put(out, 1, "u32 %c_raw%d[%d];", c, i, s->loads * s->words);
    lfuse__put(out, 1, "u32 %c_to[%d];", c, s->loads);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 1, "for (int i = 0; i < %d; i++) {", s->loads);
    put_place(t, s, 2);
    put_row(t, s, "r", row);
    lfuse__put(out, 2, "const u32 x_ = %s, x = x_ < %c_last ? x_ : %c_last;", row, c, c);
    lfuse__put(out, 2, s->turned ? "%s%c_at%s = %c_ + ((u64)x * ld%c + (u64)first * %d + q) * %u;"
                                 : "%s%c_at%s = %c_ + (((u64)first * %d + q) * ld%c + x) * %u;",
               s->walks ? "if (i == 0) " : "", c, at, c, s->turned ? c : t->p->depth, s->turned ? t->p->depth : c,
               s->size);
    if (s->turned) lfuse__put(out, 2, "%c_to[i] = q * %d + (r ^ q / %d %% %d * %d);", c, s->width, t->vector,
                              s->turns, s->moves);
    else lfuse__put(out, 2, "%c_to[i] = q * %d + r;", c, s->width);
    lfuse__put(out, 1, "}");
}

/* The next slab into registers; `word`: LOADB, or EARLY before BEGIN. */
static void put_fetch(const lfuse__tiles *t, const side *s, int indent, const char *word, int into)
{
    lfuse__strbuf *out = t->t.out;
    const char c = s->letter, *const at = s->walks ? "" : "[i]";
    const unsigned bytes = (unsigned)t->vector * s->size;
    const unsigned rows = (unsigned)(s->walks ? t->threads * t->vector / s->width : t->p->depth);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int i = 0; i < %d; i++) {", s->loads);
    for (unsigned done = 0; done < bytes; done += 16)
        lfuse__put(out, indent + 1, "%s_%u(%c_raw%d + i * %d + %u, %c_at%s + %u);", word, bytes < 16 ? bytes : 16, c,
                   into, s->words, done / 4, c, at, done);
    if (s->turned)
        lfuse__put(out, indent + 1, "%c_at%s += %u;", c, at, (unsigned)t->p->depth * s->size);
    else
        lfuse__put(out, indent + 1, "%c_at%s += ld%c * %u;", c, at, c, rows * s->size);
    lfuse__put(out, indent, "}");
}

/*
 * Slab `slab` into half `half`, element by element, 0 beyond the ends. Not unrolled: what a compiler would compute of
 * it ahead of the loop over slabs would take registers of that loop. The elements of a vector are loaded from one
 * address, and all of them before the first is stored, so that they are on their way at the same time.
 */
static void put_slowly(const lfuse__tiles *t, const side *s, int indent, const char *slab, const char *half)
{
    lfuse__strbuf *out = t->t.out;
    const char c = s->letter;
    char row[ROW];
    put_row(t, s, "r", row);
    lfuse__put(out, 0, "#pragma unroll 1");
    lfuse__put(out, indent, "for (int i = 0; i < %d; i++) {", s->loads);
    put_place(t, s, indent + 1);
    lfuse__put(out, indent + 1, "const u32 x = %s, l = (%s) * %d + q;", row, slab, t->p->depth);
    lfuse__put(out, indent + 1, "const memory from_ = %c_ + ((u64)%c * ld%c + %c) * %u;", c, s->turned ? 'x' : 'l', c,
               s->turned ? 'l' : 'x', s->size);
    lfuse__put(out, indent + 1, "S_%s v_[%d];", t->sum, t->vector);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int e = 0; e < %d; e++) {", t->vector);
    lfuse__put(out, indent + 2, "v_[e] = ZERO_%s;", t->sum);
    lfuse__put(out, indent + 2, "if (x%s < %s && l%s < k) v_[e] = LOAD_%s(from_, e);", s->turned ? "" : " + e",
               s->outer, s->turned ? " + e" : "", s->memory);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int e = 0; e < %d; e++)", t->vector);
    if (s->turned)
        lfuse__put(out, indent + 2, "PUT_%s(tile, %d + %s * %d + (q + e) * %d + (r ^ q / %d %% %d * %d), v_[e]);",
                   t->sum, s->base, half, t->p->depth * s->width, s->width, t->vector, s->turns, s->moves);
    else
        lfuse__put(out, indent + 2, "PUT_%s(tile, %d + %s * %d + q * %d + r + e, v_[e]);", t->sum, s->base, half,
                   t->p->depth * s->width, s->width);
    lfuse__put(out, indent, "}");
}

/*
 * `place` in half `half` of a side's local memory, as arguments of PUT, PUTV and GETV. What is known when the kernel is
 * compiled stands behind FROM: so it is a part of each access, where a sum of indices would be computed for each.
 */
enum { SPOT = 160 };
static const char *spot(const lfuse__tiles *t, const side *s, const char *half, const char *place, char text[SPOT])
{
    const int slab = t->p->depth * s->width;
    if (*half == '0' || *half == '1')
        snprintf(text, SPOT, "FROM_%s(tile, %s), %d", t->sum, place, s->base + (*half - '0') * slab);
    else
        snprintf(text, SPOT, "FROM_%s(tile, %s * %d + %s), %d", t->sum, half, slab, place, s->base);
    return text;
}

static void put_to_local(const lfuse__tiles *t, const side *s, int indent, const char *half, int from)
{
    lfuse__strbuf *out = t->t.out;
    const char c = s->letter, to[] = {c, '_', 't', 'o', '[', 'i', ']', 0};
    char text[SPOT];
    spot(t, s, half, to, text);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int i = 0; i < %d; i++) {", s->loads);
    if (!s->turned) lfuse__put(out, indent + 1, "S_%s v_[%d];", t->sum, t->vector);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int e = 0; e < %d; e++)", t->vector);
    if (s->turned)
        lfuse__put(out, indent + 2, "PUT_%s(%s + e * %d, UNPACK_%s(%c_raw%d + i * %d, e));", t->sum, text, s->width,
                   s->memory, c, from, s->words);
    else
        lfuse__put(out, indent + 2, "v_[e] = UNPACK_%s(%c_raw%d + i * %d, e);", s->memory, c, from, s->words);
    if (!s->turned) lfuse__put(out, indent + 1, "PUTV_%s(%s, v_);", t->sum, text);
    lfuse__put(out, indent, "}");
}

/* A work-item's elements of one k, which is `l`, number `l_` of its slice. */
static void put_elements(const lfuse__tiles *t, const side *s, int indent, const char *half, char at, int each)
{
    const int depth = t->p->depth / t->p->slices;
    char place[96], text[SPOT];
    int n = 0;
    if (t->p->slices > 1) n = snprintf(place, sizeof place, "slice * %d + ", depth * s->width);
    if (s->turned) snprintf(place + n, sizeof place - (size_t)n, "(%c ^ l / %d %% %d * %d)", at, t->vector, s->turns,
                            s->moves);
    else snprintf(place + n, sizeof place - (size_t)n, "%c", at);
    spot(t, s, half, place, text);
    for (int i = 0; i < each; i += t->vector)
        lfuse__put(t->t.out, indent, "GETV_%s(%c + %d, %s + %d + l_ * %d);", t->sum, s->letter, i, text,
                   i * (s->width / each), s->width);
}

/*
 * Adds the products of one k to the sums: back and forth, by vectors of columns, so that a product has one factor of
 * the one before, which a device need not read from its banks of registers again.
 */
static void put_products(const lfuse__tiles *t, int indent)
{
    const lfuse__product_class *p = t->p;
    const int v = t->vector;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int n_ = 0; n_ < %d; n_++) {", p->item_rows * p->item_columns);
    lfuse__put(out, indent + 1, "const int v_ = n_ / %d, r_ = n_ %% %d / %d;", p->item_rows * v, p->item_rows * v, v);
    lfuse__put(out, indent + 1, "const int i = v_ %% 2 ? %d - r_ : r_;", p->item_rows - 1);
    lfuse__put(out, indent + 1, "const int j = v_ * %d + (r_ %% 2 ? %d - n_ %% %d : n_ %% %d);", v, v - 1, v, v);
    lfuse__put(out, indent + 1, "acc[i * %d + j] = MAD_%s(a[i], b[j], acc[i * %d + j]);", p->item_columns, t->sum,
               p->item_columns);
    lfuse__put(out, indent, "}");
}

/* ---- the products of a k-tile as one asm statement ---- */

/*
 * STEPS_MOST is the largest number of multiply-adds in one statement, which has a line for each. STEPS_ELEMENTS is how
 * many registers the prelude declares for the elements of each operand: a0 to a15 and b0 to b15.
 */
enum { STEPS_MOST = 1024, STEPS_ELEMENTS = 16 };

static bool has_steps(const lfuse__tiles *t)
{
    const lfuse__product_class *p = t->p;
    return t->steps && p->sum == LFUSE_F32 && p->item_rows <= STEPS_ELEMENTS && p->item_columns <= STEPS_ELEMENTS &&
           p->depth / p->slices * p->item_rows * p->item_columns <= STEPS_MOST;
}

/* Returns how many base addresses an operand is read from: one for each vector of k where it is swizzled, else one. */
static int places_of(const lfuse__tiles *t, const side *s)
{
    const int vectors = t->p->depth / t->p->slices / t->vector;
    if (!s->turned || vectors < 1) return 1;
    return vectors < s->turns ? vectors : s->turns;
}

/* The half that is multiplied is "0" or "1" where it is known when the kernel is compiled, else a variable. */
static bool half_is_known(const char *half)
{
    return *half == '0' || *half == '1';
}

/* Returns the bytes from half "0" of an operand's local memory to half "1". */
static int half_bytes(const lfuse__tiles *t, const side *s)
{
    return t->p->depth * s->width * 4;
}

/* A half that is known is a part of the instruction's immediate offset. */
static void put_step_gets(const lfuse__tiles *t, const side *s, int indent, const char *half, int l, int each,
                          int address)
{
    const int places = places_of(t, s), at = address + (s->turned ? l / t->vector % places : 0);
    const int offset = l * s->width * 4 + (*half == '1' ? half_bytes(t, s) : 0);
    for (int i = 0; i < each; i += t->vector)
        lfuse__put(t->t.out, indent, "STEP_GET_%s(%c, %d, %d, %d, %d, %d, %d)", t->sum, s->letter, i, i + 1, i + 2,
                   i + 3, at, offset + i * (s->width / each) * 4);
}

/* In the order of put_products. */
static void put_step_products(const lfuse__tiles *t, int indent)
{
    const lfuse__product_class *p = t->p;
    const int v = t->vector;
    for (int n = 0; n < p->item_rows * p->item_columns; n++) {
        const int block = n / (p->item_rows * v), r = n % (p->item_rows * v) / v;
        const int i = block % 2 ? p->item_rows - 1 - r : r, j = block * v + (r % 2 ? v - 1 - n % v : n % v);
        lfuse__put(t->t.out, indent, "STEP_FMA_%s(%d, a%d, b%d)", t->sum, i * p->item_columns + j, i, j);
    }
}

/*
 * Declares a_step0, ... and b_step0, ...: the addresses in half "0" from which a work-item reads the elements of a
 * k-tile. They are the same for all k-tiles, and held in registers from in front of the loop on.
 */
static void put_step_addresses(const lfuse__tiles *t, const side *s, int indent)
{
    const int each = t->p->depth / t->p->slices, places = places_of(t, s);
    const char at = s->operand == LFUSE__PRODUCT_A ? 'y' : 'x';
    for (int i = 0; i < places; i++) {
        char place[128];
        int n = 0;
        if (t->p->slices > 1) n = snprintf(place, sizeof place, "slice * %d + ", each * s->width);
        if (s->turned)
            snprintf(place + n, sizeof place - (size_t)n, "(%c ^ (slice * %d + %d) %% %d * %d)", at, each / t->vector,
                     i, s->turns, s->moves);
        else snprintf(place + n, sizeof place - (size_t)n, "%c", at);
        lfuse__put(t->t.out, indent, "u32 %c_step%d = STEP_AT_%s(tile, %d + %s);", s->letter, i, t->sum, s->base,
                   place);
        lfuse__put(t->t.out, indent, "STEP_HOLD(%c_step%d);", s->letter, i);
    }
}

static void put_step_inputs(const lfuse__tiles *t, const side *s, int indent, const char *half, bool comma)
{
    for (int i = 0; i < places_of(t, s); i++) {
        char at[64];
        int n = snprintf(at, sizeof at, "%c_step%d", s->letter, i);
        if (!half_is_known(half)) snprintf(at + n, sizeof at - (size_t)n, " + %s * %d", half, half_bytes(t, s));
        lfuse__put(t->t.out, indent, "%sSTEP_IN(%s)", comma || i ? ", " : "", at);
    }
}

static void put_steps(const lfuse__tiles *t, const side *sides, int indent, const char *half)
{
    const lfuse__product_class *p = t->p;
    const int sums = p->item_rows * p->item_columns, places = places_of(t, &sides[0]);
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, indent, "STEPS_%s", t->sum);
    for (int l = 0; l < p->depth / p->slices; l++) {
        put_step_gets(t, &sides[0], indent + 1, half, l, p->item_rows, sums);
        put_step_gets(t, &sides[1], indent + 1, half, l, p->item_columns, sums + places);
        put_step_products(t, indent + 1);
    }
    lfuse__put(out, indent, "STEPS_FROM");
    for (int i = 0; i < sums; i++)
        lfuse__put(out, indent + 1, "%sSTEP_SUM_%s(acc[%d])", i ? ", " : "", t->sum, i);
    lfuse__put(out, indent, "STEPS_AT");
    put_step_inputs(t, &sides[0], indent + 1, half, false);
    put_step_inputs(t, &sides[1], indent + 1, half, true);
    lfuse__put(out, indent, "STEPS_END");
}

/* The product of the slab in half `half`. */
static void put_multiply(const lfuse__tiles *t, const side *sides, int indent, const char *half)
{
    const lfuse__product_class *p = t->p;
    lfuse__strbuf *out = t->t.out;
    const int each = p->depth / p->slices;
    if (has_steps(t)) {
        put_steps(t, sides, indent, half);
        return;
    }
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (u32 l_ = 0; l_ < %d; l_++) {", each);
    if (p->slices > 1) lfuse__put(out, indent + 1, "const u32 l = slice * %d + l_;", each);
    else lfuse__put(out, indent + 1, "const u32 l = l_;");
    lfuse__put(out, indent + 1, "S_%s a[%d], b[%d];", t->sum, p->item_rows, p->item_columns);
    put_elements(t, &sides[0], indent + 1, half, 'y', p->item_rows);
    put_elements(t, &sides[1], indent + 1, half, 'x', p->item_columns);
    put_products(t, indent + 1);
    lfuse__put(out, indent, "}");
}

/* Slab `slab` into half `half`: what was fetched of it, or element by element. */
static void put_half(const lfuse__tiles *t, const side *sides, int indent, const char *slab, const char *half, int from)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, indent, "if (%s < fetched) {", slab);
    for (int s = 0; s < 2; s++) put_to_local(t, &sides[s], indent + 1, half, from);
    lfuse__put(out, indent, "} else if (%s < last) {", slab);
    for (int s = 0; s < 2; s++) put_slowly(t, &sides[s], indent + 1, slab, half);
    lfuse__put(out, indent, "}");
}

/*
 * Slabs of a round of the loop. Where there are two, the half and the registers that each has are known when the kernel
 * is compiled: with less to do for a slab than MUCH, slices lose up to 8 % without (512 x 512 x 512 on an H200). A
 * round has all that is done for a slab, for the first and the last one too: a compiler takes as long as its text is,
 * and this is most of it.
 */
enum { MUCH = 512 /* products of a work-item in a slab */ };
static int slabs_of_round(const lfuse__product_class *p)
{
    const bool little = p->slices > 1 && p->depth / p->slices * p->item_rows * p->item_columns <= MUCH;
    return p->ahead > 1 || little ? 2 : 1;
}

/*
 * Slab number `i` of a round goes into its half, while the one before it is multiplied; the registers that it comes
 * from take the one that is `ahead` of it. What is fetched is fetched before all work-items meet: compilers move loads
 * as far down as to where their values are used, but across no barrier, and behind it is all of the product of a slab
 * to wait for them.
 */
static void put_slab(const lfuse__tiles *t, const side *sides, int i)
{
    const bool both = slabs_of_round(t->p) == 2;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 2, i ? "if (begin_ + %d <= last) {" : "{", i);
    lfuse__put(out, 3, "const u32 slab = begin_ + %d;", i);
    if (!both) lfuse__put(out, 3, "const u32 next = (slab - first) & 1, now = next ^ 1;");
    lfuse__put(out, 3, i ? "{" : "if (slab != first) {");
    put_multiply(t, sides, 4, both ? i ? "0" : "1" : "now");
    lfuse__put(out, 3, "}");
    put_half(t, sides, 3, "slab", both ? i ? "1" : "0" : "next", i % t->p->ahead);
    lfuse__put(out, 3, "if (slab + %d < fetched) {", t->p->ahead);
    for (int s = 0; s < 2; s++) put_fetch(t, &sides[s], 4, "LOADB", i % t->p->ahead);
    lfuse__put(out, 3, "}");
    lfuse__put(out, 3, "SYNC();");
    lfuse__put(out, 2, "}");
}

/* Whether sums are stored in the result with nothing computed of them before. */
static bool as_they_are(const lfuse__tiles *t)
{
    const lfuse__body *body = t->t.k->body;
    if (t->p->slices > 1 || t->p->split == 1 || body->ninstr > LFUSE__TILES_SHORT) return false; /* they are put down */
    for (int i = 0; i < body->nstores; i++)
        if (body->instr[body->stores[i].reg].kind == LFUSE__I_LOAD) return true;
    return false;
}

/*
 * The sums times 1, which no compiler knows to be 1: what is stored is in other registers then than what is added up,
 * which would otherwise follow each other like those of B (see lfuse__tiles_put_down): a plain product took 14 % longer
 * than one with an epilogue.
 */
static void put_other_registers(const lfuse__tiles *t, int sums)
{
    if (t->p->sum != LFUSE_F32) return;
    lfuse__put(t->t.out, 1, "const S_f32 one = m ? K_f32(0x3f800000) : ZERO_f32;");
    lfuse__put(t->t.out, 0, "#pragma unroll");
    lfuse__put(t->t.out, 1, "for (int i = 0; i < %d; i++) acc[i] = MUL_f32(acc[i], one);", sums);
}

/*
 * Of a kernel that overlaps: BEGIN where B may not be read early, which makes `flags`; and, behind the first of B,
 * BEGIN and what hands over. So B is loaded in one place, and nothing has to wait for it there.
 */
static void put_late(const lfuse__tiles *t)
{
    lfuse__put(t->t.out, 1, "const u32 flags = (u32)W(%d);", t->l.own + LFUSE__TILES_VECTORS);
    lfuse__put(t->t.out, 1, "if (!(flags & %d)) {", LFUSE__TILES_EARLY);
    lfuse__put(t->t.out, 2, LFUSE__BEGIN);
    lfuse__put(t->t.out, 1, "}");
}

static void put_begin(const lfuse__tiles *t)
{
    lfuse__put(t->t.out, 1, LFUSE__BEGIN);
    lfuse__put(t->t.out, 1, "if (flags & %d) HAND_OVER();", LFUSE__TILES_HANDS);
}

/* The slabs that are on their way before the loop; those of B before what may be a second BEGIN. */
static void put_first(const lfuse__tiles *t, const side *sides)
{
    lfuse__strbuf *out = t->t.out;
    if (t->overlaps) put_late(t);
    for (int s = 1; s >= 0; s--) {
        if (!s && t->overlaps) put_begin(t);
        for (int i = 0; i < t->p->ahead; i++) {
            lfuse__put(out, 1, "if (first + %d < fetched) {", i);
            put_fetch(t, &sides[s], 2, s && t->overlaps ? "EARLY" : "LOADB", i);
            lfuse__put(out, 1, "}");
        }
    }
}

void lfuse__tiles_put_sums(const lfuse__tiles *t)
{
    const side sides[2] = {side_of(t, LFUSE__PRODUCT_A), side_of(t, LFUSE__PRODUCT_B)};
    const int sums = t->p->item_rows * t->p->item_columns;
    lfuse__strbuf *out = t->t.out;
    for (int s = 0; s < 2; s++) put_addresses(t, &sides[s]);
    lfuse__put(out, 1, "const u32 quick = (%s(%d) & 3) == 3 ? k / %d : 0; /* whole slabs of aligned memory */",
               t->l.word, t->l.own + LFUSE__TILES_VECTORS, t->p->depth);
    lfuse__put(out, 1, "S_%s acc[%d];", t->sum, sums);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 1, "for (int i = 0; i < %d; i++) acc[i] = ZERO_%s;", sums, t->sum);
    lfuse__put(out, 1, "const u32 fetched = last < quick ? last : quick;");
    put_first(t, sides);
    for (int i = 0; i < 2 && has_steps(t); i++) put_step_addresses(t, &sides[i], 1);
    lfuse__put(out, 1, "for (u32 begin_ = first; begin_ <= last; begin_ += %d) {", slabs_of_round(t->p));
    for (int i = 0; i < slabs_of_round(t->p); i++) put_slab(t, sides, i);
    lfuse__put(out, 1, "}");
    if (as_they_are(t)) put_other_registers(t, sums);
}
