/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums of a tile on units for matrices: f16 or bf16 as they lie in memory, sums of f32. Slabs of `depth` along k
 * are copied into local memory while others are multiplied, `ahead` of them on their way; one barrier a slab. A team of
 * 32 work-items computes a block of the tile, 8 item_rows by 4 item_columns, from fragments: what each work-item of a
 * team has of 16 x 16 elements is the device's (prelude.k: FRAGMENTS, MULTIPLY).
 *
 * Local memory has the rows of an operand as memory has them, in chunks of 16 bytes. The 8 rows that a quarter of a
 * fragment is read from lie a row's length apart, which would be the same banks: chunks change places by their row
 * (XOR), so that all 8 are in different ones. What changes within a row by the step along k, or along the tile, is then
 * an XOR as well.
 *
 * The units' order of additions and their rounding is theirs: equal products are equal bit for bit on one device alone.
 */
#include <stdio.h>

#include "common/kernels/product_tiles.h"

enum { CHUNK = 8 /* elements of 16 bytes */, STEP = 16 /* of a fragment, along k too */, BANKS = 128 /* bytes */ };

enum { LOCAL_OF_ALL = 48 * 1024, TICKET_BYTES = 16 };

bool lfuse__units_serve(const lfuse__facts *facts, const lfuse__kernel_class *c)
{
    const lfuse_type type = c->operands[LFUSE__PRODUCT_A].type;
    return facts->matrix_units && facts->info.local_bytes >= LOCAL_OF_ALL &&
           (type == LFUSE_F16 || type == LFUSE_BF16) && c->operands[LFUSE__PRODUCT_B].type == type;
}

bool lfuse__units_fit(const lfuse__product_class *p)
{
    return lfuse__tiles_local(p) * 4 + (p->split ? TICKET_BYTES : 0) <= LOCAL_OF_ALL;
}

/* Elsewhere they would wait for single elements: the other tiles are faster. */
bool lfuse__units_suit(const lfuse__product_class *p, const int64_t *extents)
{
    return !p->units || (extents[lfuse__tiles_turned(p, LFUSE__PRODUCT_A) ? 2 : 0] % CHUNK == 0 &&
                         extents[lfuse__tiles_turned(p, LFUSE__PRODUCT_B) ? 2 : 1] % CHUNK == 0);
}

typedef struct side {
    int operand;
    char letter;       /* of names: a or b */
    const char *outer; /* m or n */
    int width;         /* of the tile */
    int block;         /* of a team's block along the tile */
    int chunks;        /* of a row in local memory */
    int loads;         /* chunks that a work-item copies of a slab */
    int base, slab;    /* bytes: where it begins in local memory, of a slab */
    bool along;        /* rows of memory run along k */
} side;

static side side_of(const lfuse__tiles *t, int operand)
{
    const lfuse__product_class *p = t->p;
    const bool a = operand == LFUSE__PRODUCT_A;
    side s = {.operand = operand, .letter = a ? 'a' : 'b', .outer = a ? "m" : "n", .width = a ? p->rows : p->columns,
              .block = a ? lfuse__units_rows(p) : lfuse__units_columns(p),
              .base = a ? 0 : (p->ahead + 1) * p->depth * p->rows * 2, .along = lfuse__tiles_turned(p, operand)};
    s.slab = s.width * p->depth * 2;
    s.loads = s.width * p->depth / CHUNK / t->threads;
    s.chunks = (s.along ? p->depth : s.width) / CHUNK;
    return s;
}

/* What the chunks of row `row` change places by. */
static const char *turn_of(const side *s, const char *row, char text[64])
{
    const int rows = BANKS / 16 / s->chunks; /* that lie in different banks as they are */
    if (rows > 1) snprintf(text, 64, "%s / %d %% %d", row, rows, s->chunks);
    else snprintf(text, 64, "%s %% %d", row, BANKS / 16);
    return text;
}

/*
 * Chunks of a work-item lie `apart` lines below each other, which changes neither their place in a line nor what they
 * are turned by: 8 lines are a whole number of turns. One address does for all of them.
 */
static int apart(const lfuse__tiles *t, const side *s)
{
    return t->threads / s->chunks;
}

/*
 * <c>_line, <c>_chunk: of the first chunk. What lies beyond the end is 0, so are lines along k that are none: <c>_left
 * counts rows of the tile from the first one on; where memory runs along the tile, <c>_q is out of reach there.
 */
static void put_addresses(const lfuse__tiles *t, const side *s)
{
    lfuse__strbuf *out = t->t.out;
    const char c = s->letter, *begin = s->operand == LFUSE__PRODUCT_A ? "down" : "across";
    char first[96], turn[64];
    lfuse__put_product_first(&t->l, s->operand, first, sizeof first);
    lfuse__put(out, 1, "const memory %c_first = %s;", c, first);
    lfuse__put(out, 1, "const u64 ld%c = %s(%d);", c, t->l.word, s->operand == LFUSE__PRODUCT_A ? t->l.lda : t->l.ldb);
    lfuse__put(out, 1, "const u32 %c0 = %s * %d, %c_line = item / %d, %c_chunk = item %% %d;", c, begin, s->width, c,
               s->chunks, c, s->chunks);
    lfuse__put(out, 1, "const u32 %c_to = base + %d + %c_line * %d + (%c_chunk ^ %s) * 16;", c, s->base, c,
               s->chunks * 16, c, turn_of(s, s->letter == 'a' ? "a_line" : "b_line", turn));
    if (s->along) {
        lfuse__put(out, 1, "const u32 %c_q = %c_chunk * %d;", c, c, CHUNK);
        lfuse__put(out, 1, "const i32 %c_left = (i32)%s - (i32)(%c0 + %c_line);", c, s->outer, c, c);
        lfuse__put(out, 1, "memory %c_at = %c_first + ((u64)(%c0 + %c_line) * ld%c + (u64)first * %d + %c_q) * 2;", c,
                   c, c, c, c, t->p->depth, c);
    } else {
        lfuse__put(out, 1, "const u32 %c_q = %c0 + %c_chunk * %d < %s ? %c_line : 0x80000000u;", c, c, c, CHUNK,
                   s->outer, c);
        lfuse__put(out, 1, "memory %c_at = %c_first + (((u64)first * %d + %c_line) * ld%c + %c0 + %c_chunk * %d) * 2;",
                   c, c, t->p->depth, c, c, c, c, CHUNK);
    }
}

/* Slab `slab` into place `stage`. */
static void put_copies(const lfuse__tiles *t, const side *s, int indent, const char *slab, const char *stage)
{
    lfuse__strbuf *out = t->t.out;
    const char c = s->letter;
    const int lines = apart(t, s);
    char in[96];
    if (s->along) snprintf(in, sizeof in, "%c_q < k && (i32)i * %d < %c_left", c, lines, c);
    else snprintf(in, sizeof in, "i * %d + %c_q < k", lines, c);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (u32 i = 0; i < %d; i++)", s->loads);
    lfuse__put(out, indent + 1,
               "ASYNC_COPY16(%c_to + %s * %d + i * %d, %c_at + i * (ld%c * %d), (%s) * %d + %s ? 16 : 0);", c, stage,
               s->slab, lines * s->chunks * 16, c, c, lines * 2, slab, t->p->depth, in);
    if (s->along) lfuse__put(out, indent, "%c_at += %d;", c, t->p->depth * 2);
    else lfuse__put(out, indent, "%c_at += ld%c * %d;", c, c, t->p->depth * 2);
}

static void put_fetch(const lfuse__tiles *t, const side *sides, int indent, const char *slab, const char *stage)
{
    lfuse__put(t->t.out, indent, "if (%s < last) {", slab);
    for (int s = 0; s < 2; s++) put_copies(t, &sides[s], indent + 1, slab, stage);
    lfuse__put(t->t.out, indent, "}");
    lfuse__put(t->t.out, indent, "ASYNC_COMMIT();");
}

/*
 * Where a work-item reads its row of the first fragment. Quarters of A: rows 0 ... 7 and 8 ... 15 of the first 8 of k,
 * then both of the others; of B: both eights of k of columns 0 ... 7, then of the others.
 */
static void put_reading(const lfuse__tiles *t, const side *s)
{
    const bool a = s->operand == LFUSE__PRODUCT_A;
    const char *tile_eight = a ? "quarter % 2" : "quarter / 2", *k_eight = a ? "quarter / 2" : "quarter % 2";
    const int across = t->p->columns / lfuse__units_columns(t->p);
    lfuse__strbuf *out = t->t.out;
    char turn[64];
    lfuse__put(out, 1, "u32 %c_from;", s->letter);
    lfuse__put(out, 1, "{");
    lfuse__put(out, 2, "const u32 block = team %s %d * %d;", a ? "/" : "%", across, s->block);
    if (s->along) lfuse__put(out, 2, "const u32 line = block + %s * 8 + lane %% 8, chunk = %s;", tile_eight, k_eight);
    else lfuse__put(out, 2, "const u32 line = %s * 8 + lane %% 8, chunk = block / 8 + %s;", k_eight, tile_eight);
    lfuse__put(out, 2, "%c_from = %d + line * %d + (chunk ^ %s) * 16;", s->letter, s->base, s->chunks * 16,
               turn_of(s, "line", turn));
    lfuse__put(out, 1, "}");
}

/* The fragments of step `step` along k of the slab at <c>_now, into one of two sets. */
static void put_fragments(const lfuse__tiles *t, const side *s, int indent, const char *step, int set)
{
    const char c = s->letter;
    lfuse__put(t->t.out, 0, "#pragma unroll");
    lfuse__put(t->t.out, indent, "for (u32 i = 0; i < %d; i++)", s->block / STEP);
    if (s->along)
        lfuse__put(t->t.out, indent + 1, "FRAGMENTS(%c_set%d + 4 * i, (%c_from ^ %s * 32) + %c_now + i * %d);", c,
                   set, c, step, c, STEP * s->chunks * 16);
    else
        lfuse__put(t->t.out, indent + 1,
                   "FRAGMENTS_TURNED(%c_set%d + 4 * i, (%c_from ^ i * 32) + %c_now + %s * %d);", c, set, c, c, step,
                   STEP * s->chunks * 16);
}

static void put_multiply(const lfuse__tiles *t, int indent, int step)
{
    const int down = lfuse__units_rows(t->p) / STEP, across = lfuse__units_columns(t->p) / 8;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int i = 0; i < %d; i++)", down);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int j = 0; j < %d; j++)", across);
    lfuse__put(out, indent + 2, "MULTIPLY_%s(sums + (i * %d + j) * 4, a_set%d + 4 * i, b_set%d + 2 * j);",
               lfuse__memory_word(t->t.k->operands[LFUSE__PRODUCT_A].type), across, step % 2, step % 2);
}

static void put_stage(const side *sides, lfuse__strbuf *out, int indent, const char *now)
{
    for (int s = 0; s < 2; s++)
        lfuse__put(out, indent, "%c_now = base + %s * %d;", sides[s].letter, now, sides[s].slab);
}

/*
 * A slab: the fragments of the next step are read ahead of the products of this one, at the end of the slab those of
 * the next slab's first, so that units do not wait for local memory. Behind the barrier everybody has read the slab
 * before: its place is the next to be copied into.
 */
static void put_slab(const lfuse__tiles *t, const side *sides)
{
    const int steps = t->p->depth / STEP, ahead = t->p->ahead;
    lfuse__strbuf *out = t->t.out;
    char later[32], behind[16];
    snprintf(later, sizeof later, "slab + %d", ahead);
    for (int step = 0; step < steps; step++) {
        if (step + 1 == steps) {
            lfuse__put(out, 3, "ASYNC_WAIT(%d);", ahead - 1);
            lfuse__put(out, 3, "ASYNC_SYNC();");
            lfuse__put(out, 3, "now = now == %d ? 0 : now + 1;", ahead);
            put_stage(sides, out, 3, "now");
        }
        snprintf(behind, sizeof behind, "%d", (step + 1) % steps);
        for (int s = 0; s < 2; s++) put_fragments(t, &sides[s], 3, behind, (step + 1) % 2);
        if (step == 0) {
            put_fetch(t, sides, 3, later, "next");
            lfuse__put(out, 3, "next = next == %d ? 0 : next + 1;", ahead);
        }
        put_multiply(t, 3, step);
    }
}

/* Slab `slab` element by element into the first place: of memory that is not aligned, or where chunks are cut. */
static void put_slowly(const lfuse__tiles *t, const side *s, int indent)
{
    lfuse__strbuf *out = t->t.out;
    const char c = s->letter;
    lfuse__put(out, 0, "#pragma unroll 1");
    lfuse__put(out, indent, "for (u32 i = 0; i < %d; i++) {", s->loads);
    lfuse__put(out, indent + 1, "u32 u_[4] = {0, 0, 0, 0};");
    lfuse__put(out, indent + 1, "S_f32 four_[4];");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (u32 e = 0; e < %d; e++) {", CHUNK);
    lfuse__put(out, indent + 2, "const u32 line = %c_line + i * %d, in_line = %c_chunk * %d + e;", c, apart(t, s), c,
               CHUNK);
    lfuse__put(out, indent + 2, "const u32 x = %c0 + %s, l = slab * %d + %s;", c, s->along ? "line" : "in_line",
               t->p->depth, s->along ? "in_line" : "line");
    lfuse__put(out, indent + 2, "u32 h_[1] = {0};");
    lfuse__put(out, indent + 2, s->along ? "if (x < %s && l < k) LOADB_2(h_, %c_first + ((u64)x * ld%c + l) * 2);"
                                         : "if (x < %s && l < k) LOADB_2(h_, %c_first + ((u64)l * ld%c + x) * 2);",
               s->outer, c, c);
    lfuse__put(out, indent + 2, "u_[e / 2] |= h_[0] << e %% 2 * 16;");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int e = 0; e < 4; e++) four_[e] = UNPACK_f32(u_, e);");
    lfuse__put(out, indent + 1, "PUTV_f32(tile, (%c_to - base + i * %d) / 4, four_);", c,
               apart(t, s) * s->chunks * 16);
    lfuse__put(out, indent, "}");
}

/* Nothing is on its way meanwhile: short, not fast. */
static void put_slow_slabs(const lfuse__tiles *t, const side *sides)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 2, "for (u32 slab = first; slab < last; slab++) {");
    lfuse__put(out, 3, "SYNC();");
    for (int s = 0; s < 2; s++) put_slowly(t, &sides[s], 3);
    lfuse__put(out, 3, "SYNC();");
    lfuse__put(out, 0, "#pragma unroll 1");
    lfuse__put(out, 3, "for (u32 step = 0; step < %d; step++) {", t->p->depth / STEP);
    for (int s = 0; s < 2; s++) put_fragments(t, &sides[s], 4, "step", 0);
    put_multiply(t, 4, 0);
    lfuse__put(out, 3, "}");
    lfuse__put(out, 2, "}");
}

static void put_quick_slabs(const lfuse__tiles *t, const side *sides)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 2, "u32 now = 0, next = %d;", t->p->ahead);
    for (int i = 0; i < t->p->ahead; i++) {
        char slab[32], stage[16];
        snprintf(slab, sizeof slab, "first + %d", i);
        snprintf(stage, sizeof stage, "%d", i);
        put_fetch(t, sides, 2, slab, stage);
    }
    lfuse__put(out, 2, "ASYNC_WAIT(%d);", t->p->ahead - 1);
    lfuse__put(out, 2, "ASYNC_SYNC();");
    for (int s = 0; s < 2; s++) put_fragments(t, &sides[s], 2, "0", 0);
    lfuse__put(out, 2, "for (u32 slab = first; slab < last; slab++) {");
    put_slab(t, sides);
    lfuse__put(out, 2, "}");
}

/* Whether chunks are whole and aligned is known for all of them alike. */
static void put_slabs(const lfuse__tiles *t, const side *sides)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 1, "u32 a_now, b_now;");
    put_stage(sides, out, 1, "0");
    for (int s = 0; s < 2; s++)
        lfuse__put(out, 1, "u32 %c_set0[%d], %c_set1[%d];", sides[s].letter, sides[s].block / 4, sides[s].letter,
                   sides[s].block / 4);
    lfuse__put(out, 1, "if ((%s(%d) & 3) == 3) {", t->l.word, t->l.own + LFUSE__TILES_VECTORS);
    put_quick_slabs(t, sides);
    lfuse__put(out, 1, "} else {");
    put_slow_slabs(t, sides);
    lfuse__put(out, 1, "}");
}

/*
 * A work-item has two neighbouring columns of each 8; of two such it gives those of one to its neighbour for the
 * other's: four in a row, as the epilogue takes them (lfuse__units_put_place).
 */
static void put_exchange(const lfuse__tiles *t)
{
    const int down = lfuse__units_rows(t->p) / STEP, across = lfuse__units_columns(t->p) / STEP;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 1, "S_f32 acc[%d];", t->p->item_rows * t->p->item_columns);
    lfuse__put(out, 1, "const int odd = lane %% 2;");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 1, "for (int i = 0; i < %d; i++) {", 2 * down * across);
    lfuse__put(out, 2, "const int from = (i / %d * %d + i %% %d) * 8 + i / %d %% 2 * 2;", 2 * across, across, across,
               across);
    lfuse__put(out, 2, "const S_f32 x_ = SHUFFLE_f32(odd ? sums[from] : sums[from + 4], 1);");
    lfuse__put(out, 2, "const S_f32 y_ = SHUFFLE_f32(odd ? sums[from + 1] : sums[from + 5], 1);");
    lfuse__put(out, 2, "acc[i * 4] = odd ? x_ : sums[from];");
    lfuse__put(out, 2, "acc[i * 4 + 1] = odd ? y_ : sums[from + 1];");
    lfuse__put(out, 2, "acc[i * 4 + 2] = odd ? sums[from + 4] : x_;");
    lfuse__put(out, 2, "acc[i * 4 + 3] = odd ? sums[from + 5] : y_;");
    lfuse__put(out, 1, "}");
}

void lfuse__units_put_sums(const lfuse__tiles *t)
{
    const side sides[2] = {side_of(t, LFUSE__PRODUCT_A), side_of(t, LFUSE__PRODUCT_B)};
    const int sums = t->p->item_rows * t->p->item_columns;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 1, "const u32 base = LOCAL_AT(tile), lane = item %% 32, team = item / 32, quarter = lane / 8;");
    for (int s = 0; s < 2; s++) put_addresses(t, &sides[s]);
    for (int s = 0; s < 2; s++) put_reading(t, &sides[s]);
    lfuse__put(out, 1, "S_f32 sums[%d];", sums);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 1, "for (int i = 0; i < %d; i++) sums[i] = ZERO_f32;", sums);
    put_slabs(t, sides);
    put_exchange(t);
    lfuse__put(out, 1, "SYNC();");
}

void lfuse__units_put_corner(const lfuse__tiles *t, int indent, const char *place)
{
    const int across = t->p->columns / lfuse__units_columns(t->p);
    lfuse__put(t->t.out, indent, "const u32 y = %s / %d * %d + %s %% 32 / 4;", place, 32 * across,
               lfuse__units_rows(t->p), place);
    lfuse__put(t->t.out, indent, "const u32 x = %s / 32 %% %d * %d + %s %% 2 * 8 + %s %% 4 / 2 * 4;", place, across,
               lfuse__units_columns(t->p), place, place);
}

void lfuse__units_put_place(const lfuse__tiles *t, int indent, const char *g)
{
    const int across = lfuse__units_columns(t->p) / STEP;
    lfuse__put(t->t.out, indent, "const u32 g = %s;", g);
    lfuse__put(t->t.out, indent, "const u32 row = a0 + g / %d * 8 + y, column = b0 + g %% %d * %d + x;", across, across,
               STEP);
}
