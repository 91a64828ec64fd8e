/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of scattered rows: positions are sorted by the row that they name, and each row adds what its positions have.
 *
 * The sum is the canonical one over all positions, of 0 where another row is named, without looking at those: what adds
 * 0 is left out of the tree, as only the sign of a sum that is 0 could tell, and one 0 behind the sum sets that right.
 * Where position p stands in the tree is its slot: of 1024 positions those of one lane are neighbours, and lanes stand
 * in the order in which they fold, so that the leaf of a slot is its eighth and two leaves meet at the highest bit in
 * which they differ. Sorting keeps the order of slots.
 *
 *   keys     of each slot the row that its position names and the slot itself, in one word
 *   count    how many words of each run of them have which digit of the row
 *   prefix   where the words of a run with a digit begin
 *   place    to there; count, prefix and place once for each digit, the lowest first
 *   starts   of each row the first of its words
 *   sum
 */
#include <stdio.h>

#include "common/base/error.h"
#include "common/kernels/emit.h"

enum {
    BATCH = 4,     /* rows that are asked for before the first of them is added */
    BLOCK = 16,    /* counts that a work-item holds at a time */
    LEVELS = 32    /* of the tree above the leaves, of which there are 2^29 at most */
};

typedef struct writer {
    lfuse__strbuf *out;
    const lfuse__kernel_class *k;
    bool single; /* a group is one item */
    int group, digits;
    char word[24];
} writer;

static int size_word(const writer *w, int size)
{
    return w->k->noperands + size;
}

static const char *size(writer *w, int size)
{
    snprintf(w->word, sizeof w->word, "W(%d)", size_word(w, size));
    return w->word;
}

/* A loop over `name` below `end`: neighbours by neighbouring items, or a run of them for each that works alone. */
static void put_loop(const writer *w, const char *name, const char *end)
{
    lfuse__put(w->out, 1, "const u64 all = %s;", end);
    if (w->single) {
        lfuse__put(w->out, 1, "const u64 share = (all + GROUPS() - 1) / GROUPS();");
        lfuse__put(w->out, 1, "for (u64 %s = GROUP() * share; %s < all && %s < (GROUP() + 1) * share; %s++) {", name,
                   name, name, name);
    } else {
        lfuse__put(w->out, 1, "for (u64 %s = GROUP() * %d + ITEM(); %s < all; %s += GROUPS() * %d) {", name, w->group,
                   name, name, w->group);
    }
}

/* p: the position at slot q. */
static void put_position(const writer *w, int indent)
{
    lfuse__put(w->out, indent, "const u32 fold = (u32)(q >> 3) & 127;");
    lfuse__put(w->out, indent, "const u32 lane = (((fold * 0x802u & 0x22110u) | (fold * 0x8020u & 0x88440u)) * "
               "0x10101u >> 16 & 255) >> 1;");
    lfuse__put(w->out, indent, "const u64 p = (q & ~(u64)1023) | (q & 7) << 7 | lane;");
}

static void put_keys(writer *w)
{
    const int reporter = size_word(w, LFUSE__SCATTER_SIZES);
    lfuse__put(w->out, 1, "memory reports = BUFFER(%d) + W(%d);", w->k->noperands, reporter + 1);
    lfuse__put(w->out, 1, "const u64 rows = W(%d), positions = W(%d);", size_word(w, LFUSE__SCATTER_ROWS),
               size_word(w, LFUSE__SCATTER_POSITIONS));
    put_loop(w, "q", size(w, LFUSE__SCATTER_SLOTS));
    put_position(w, 2);
    lfuse__put(w->out, 2, "i64 row = -1;");
    lfuse__put(w->out, 2, "if (p < positions) row = LOOK_UP((i64)LOAD_%s(p0, (i64)p), rows, reports, W(%d), p);",
               lfuse__memory_word(w->k->operands[0].type), reporter);
    lfuse__put(w->out, 2, "SET64(p1, q, (row < 0 ? rows : (u64)row) << 32 | q);");
    lfuse__put(w->out, 1, "}");
}

/* first, last: the slots of run `run`; digit of word x. */
static void put_run(const writer *w)
{
    lfuse__put(w->out, 1, "const u64 slots = W(%d), each = W(%d), runs = W(%d);", size_word(w, LFUSE__SCATTER_SLOTS),
               size_word(w, LFUSE__SCATTER_EACH), size_word(w, LFUSE__SCATTER_RUNS));
    lfuse__put(w->out, 1, "const u32 shift = (u32)W(%d);", size_word(w, LFUSE__SCATTER_SHIFT));
    put_loop(w, "run", "runs");
    lfuse__put(w->out, 2, "const u64 first = run * each, last = first + each < slots ? first + each : slots;");
    lfuse__put(w->out, 2, "u32 at[%d];", w->digits);
}

static void put_count(writer *w)
{
    put_run(w);
    lfuse__put(w->out, 2, "for (u32 d = 0; d < %d; d++) at[d] = 0;", w->digits);
    lfuse__put(w->out, 2, "for (u64 i = first; i < last; i++) at[(u32)(WORD64(p0, i) >> shift) & %d]++;",
               w->digits - 1);
    lfuse__put(w->out, 2, "for (u32 d = 0; d < %d; d++) SET64(p1, d * runs + run, (u64)at[d]);", w->digits);
    lfuse__put(w->out, 1, "}");
}

static void put_place(writer *w)
{
    put_run(w);
    lfuse__put(w->out, 2, "for (u32 d = 0; d < %d; d++) at[d] = (u32)WORD64(p1, d * runs + run);", w->digits);
    lfuse__put(w->out, 2, "for (u64 i = first; i < last; i++) {");
    lfuse__put(w->out, 3, "const u64 x = WORD64(p0, i);");
    lfuse__put(w->out, 3, "const u32 to = at[(u32)(x >> shift) & %d]++;", w->digits - 1);
    lfuse__put(w->out, 3, "SET64(p2, to, x);");
    lfuse__put(w->out, 2, "}");
    lfuse__put(w->out, 1, "}");
}

/* x[]: the next counts below `last`, 0 beyond. All are asked for before the first is needed. */
static void put_block(const writer *w, int indent)
{
    lfuse__put(w->out, indent, "u64 x[%d];", BLOCK);
    lfuse__put(w->out, 0, "#pragma unroll");
    lfuse__put(w->out, indent, "for (u32 b = 0; b < %d; b++) x[b] = i + b < last ? WORD64(p0, i + b) : 0;", BLOCK);
    lfuse__put(w->out, 0, "#pragma unroll");
}

/* One group: each item has a stretch of the counts. */
static void put_prefix(writer *w)
{
    lfuse__put(w->out, 1, "const u64 all = W(%d) * %d, share = (all + %d) / %d;", size_word(w, LFUSE__SCATTER_RUNS),
               w->digits, w->group - 1, w->group);
    lfuse__put(w->out, 1, "const u64 first = ITEM() * share, last = first + share < all ? first + share : all;");
    lfuse__put(w->out, 1, "u64 before = 0;");
    if (!w->single) {
        lfuse__put(w->out, 1, "LOCAL(u64, sums, %d)", w->group);
        lfuse__put(w->out, 1, "u64 sum = 0;");
        lfuse__put(w->out, 1, "for (u64 i = first; i < last; i += %d) {", BLOCK);
        put_block(w, 2);
        lfuse__put(w->out, 2, "for (u32 b = 0; b < %d; b++) sum += x[b];", BLOCK);
        lfuse__put(w->out, 1, "}");
        lfuse__put(w->out, 1, "sums[ITEM()] = sum;");
        lfuse__put(w->out, 1, "SYNC();");
        lfuse__put(w->out, 1, "for (u32 i = 0; i < ITEM(); i++) before += sums[i];");
    }
    lfuse__put(w->out, 1, "for (u64 i = first; i < last; i += %d) {", BLOCK);
    put_block(w, 2);
    lfuse__put(w->out, 2, "for (u32 b = 0; b < %d; b++) {", BLOCK);
    lfuse__put(w->out, 3, "if (i + b < last) SET64(p0, i + b, before);");
    lfuse__put(w->out, 3, "before += x[b];");
    lfuse__put(w->out, 2, "}");
    lfuse__put(w->out, 1, "}");
}

/* Each row by bisection; who has a run of rows goes on from the last. */
static void put_starts(writer *w)
{
    lfuse__put(w->out, 1, "const u64 slots = W(%d);", size_word(w, LFUSE__SCATTER_SLOTS));
    lfuse__put(w->out, 1, "u64 low = 0;");
    put_loop(w, "row", size(w, LFUSE__SCATTER_STARTS));
    if (w->single) {
        lfuse__put(w->out, 2, "while (low < slots && WORD64(p0, low) >> 32 < row && row != GROUP() * share) low++;");
        lfuse__put(w->out, 2, "if (row == GROUP() * share)");
    } else {
        lfuse__put(w->out, 2, "low = 0;");
    }
    lfuse__put(w->out, 2, "for (u64 high = slots; low < high;) {");
    lfuse__put(w->out, 3, "const u64 middle = (low + high) / 2;");
    lfuse__put(w->out, 3, "if (WORD64(p0, middle) >> 32 < row) low = middle + 1;");
    lfuse__put(w->out, 3, "else high = middle;");
    lfuse__put(w->out, 2, "}");
    lfuse__put(w->out, 2, "SET64(p1, row, low);");
    lfuse__put(w->out, 1, "}");
}

/* `to`: the elements c ... of the source's row at the slot in word `from`. */
static void put_row(const writer *w, int indent, const char *to, const char *from)
{
    const char *memory = lfuse__memory_word(w->k->operands[0].type),
        *reg = lfuse__register_word(w->k->operands[0].type);
    lfuse__put(w->out, indent, "{");
    lfuse__put(w->out, indent + 1, "const u64 q = %s;", from);
    put_position(w, indent + 1);
    if (w->single) {
        lfuse__put(w->out, indent + 1, "if (count < LANES) {");
        lfuse__put(w->out, indent + 2, "S_%s one[LANES];", reg);
        lfuse__put(w->out, indent + 2, "for (int l = 0; l < LANES; l++) one[l] = ZERO_%s;", reg);
        lfuse__put(w->out, indent + 2, "for (int l = 0; l < count; l++) one[l] = LOAD_%s(p0, (i64)(p * rest + c) + l);",
                   memory);
        lfuse__put(w->out, indent + 2, "%s = LANES_%s(one);", to, reg);
        lfuse__put(w->out, indent + 1, "} else {");
        lfuse__put(w->out, indent + 2, "%s = LOADL_%s(p0, (i64)(p * rest + c));", to, memory);
        lfuse__put(w->out, indent + 1, "}");
    } else {
        lfuse__put(w->out, indent + 1, "%s = LOAD_%s(p0, (i64)(p * rest + c));", to, memory);
    }
    lfuse__put(w->out, indent, "}");
}

/* One more leaf, or one more row of the last: what is held below the level where both meet goes into the sum first. */
static void put_add(const writer *w, int indent)
{
    const char *reg = lfuse__register_word(w->k->operands[0].type);
    lfuse__put(w->out, indent, "const u32 other = x[b] >> 3 ^ leaf;");
    lfuse__put(w->out, indent, "if (other) {");
    lfuse__put(w->out, indent + 1, "u32 level = 0;");
    lfuse__put(w->out, indent + 1, "for (; other >> 1 >> level; level++)");
    lfuse__put(w->out, indent + 2, "if (holds >> level & 1) sum = ADD_%s(held[level], sum);", reg);
    lfuse__put(w->out, indent + 1, "holds = holds >> level << level | 1u << level;");
    lfuse__put(w->out, indent + 1, "held[level] = sum;");
    lfuse__put(w->out, indent + 1, "sum = v[b];");
    lfuse__put(w->out, indent + 1, "leaf = x[b] >> 3;");
    lfuse__put(w->out, indent, "} else {");
    lfuse__put(w->out, indent + 1, "sum = ADD_%s(sum, v[b]);", reg);
    lfuse__put(w->out, indent, "}");
}

static void put_batches(const writer *w, int indent)
{
    lfuse__put(w->out, indent, "while (i < end) {");
    lfuse__put(w->out, indent + 1, "u32 x[%d];", BATCH);
    lfuse__put(w->out, 0, "#pragma unroll");
    lfuse__put(w->out, indent + 1, "for (u32 b = 0; b < %d; b++) x[b] = (u32)WORD64(p1, i + b < end ? i + b : i);",
               BATCH);
    lfuse__put(w->out, 0, "#pragma unroll");
    lfuse__put(w->out, indent + 1, "for (u32 b = 0; b < %d; b++)", BATCH);
    put_row(w, indent + 1, "v[b]", "x[b]");
    lfuse__put(w->out, 0, "#pragma unroll");
    lfuse__put(w->out, indent + 1, "for (u32 b = 0; b < %d; b++) {", BATCH);
    lfuse__put(w->out, indent + 2, "if (i + b >= end) continue;");
    put_add(w, indent + 2);
    lfuse__put(w->out, indent + 1, "}");
    lfuse__put(w->out, indent + 1, "i += %d;", BATCH);
    lfuse__put(w->out, indent, "}");
}

static void put_result(const writer *w, int indent)
{
    const char *memory = lfuse__memory_word(w->k->operands[0].type),
        *reg = lfuse__register_word(w->k->operands[0].type);
    if (w->single) {
        lfuse__put(w->out, indent, "if (count < LANES) {");
        lfuse__put(w->out, indent + 1, "S_%s one[LANES];", reg);
        lfuse__put(w->out, indent + 1, "SPREAD_%s(one, sum);", reg);
        lfuse__put(w->out, indent + 1, "for (int l = 0; l < count; l++) STORE_%s(p3, (i64)(r * rest + c) + l, one[l]);",
                   memory);
        lfuse__put(w->out, indent, "} else {");
        lfuse__put(w->out, indent + 1, "STOREL_%s(p3, (i64)(r * rest + c), sum);", memory);
        lfuse__put(w->out, indent, "}");
    } else {
        lfuse__put(w->out, indent, "STORE_%s(p3, (i64)(r * rest + c), sum);", memory);
    }
}

/* Elements c ... of row r. */
static void put_elements(const writer *w, int indent)
{
    const char *reg = lfuse__register_word(w->k->operands[0].type);
    lfuse__put(w->out, indent, "u64 i = WORD64(p2, r);");
    lfuse__put(w->out, indent, "const u64 end = WORD64(p2, r + 1), named = end - i;");
    lfuse__put(w->out, indent, "L_%s sum = SPLAT_%s(ZERO_%s), held[%d], v[%d];", reg, reg, reg, LEVELS, BATCH);
    lfuse__put(w->out, indent, "u32 leaf = 0, holds = 0;");
    lfuse__put(w->out, indent, "if (named) {");
    lfuse__put(w->out, indent + 1, "leaf = (u32)WORD64(p1, i) >> 3;");
    put_row(w, indent + 1, "sum", "(u32)WORD64(p1, i)");
    lfuse__put(w->out, indent + 1, "i++;");
    lfuse__put(w->out, indent, "}");
    put_batches(w, indent);
    lfuse__put(w->out, indent, "for (u32 level = 0; holds >> level; level++)");
    lfuse__put(w->out, indent + 1, "if (holds >> level & 1) sum = ADD_%s(held[level], sum);", reg);
    lfuse__put(w->out, indent, "if (named < positions) sum = ADD_%s(sum, SPLAT_%s(ZERO_%s));", reg, reg, reg);
    put_result(w, indent);
}

static void put_sum(writer *w)
{
    lfuse__put(w->out, 1, "const u64 rest = W(%d), positions = W(%d);", size_word(w, LFUSE__SCATTER_REST),
               size_word(w, LFUSE__SCATTER_POSITIONS));
    if (w->single) {
        put_loop(w, "r", size(w, LFUSE__SCATTER_ROWS));
        lfuse__put(w->out, 2, "for (u64 c = 0; c < rest; c += LANES) {");
        lfuse__put(w->out, 3, "const int count = rest - c < LANES ? (int)(rest - c) : LANES;");
        put_elements(w, 3);
        lfuse__put(w->out, 2, "}");
    } else {
        lfuse__strbuf_format(w->out, "    const u64 rows = W(%d);\n", size_word(w, LFUSE__SCATTER_ROWS));
        put_loop(w, "e", "rows * rest");
        lfuse__put(w->out, 2, "const u64 r = all >> 32 ? e / rest : (u32)e / (u32)rest, c = e - r * rest;");
        put_elements(w, 2);
    }
    lfuse__put(w->out, 1, "}");
}

static void (*const puts_of[])(writer *w) = {
    [LFUSE__SCATTER_KEYS] = put_keys,   [LFUSE__SCATTER_COUNT] = put_count,   [LFUSE__SCATTER_PREFIX] = put_prefix,
    [LFUSE__SCATTER_PLACE] = put_place, [LFUSE__SCATTER_FIRSTS] = put_starts, [LFUSE__SCATTER_SUM] = put_sum,
};

lfuse_status lfuse__scatter_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                 const lfuse__facts *facts)
{
    const bool single = lfuse__scatter_single(k, facts);
    writer w = {.out = out, .k = k, .single = single, .group = single ? 1 : LFUSE__GROUP,
                .digits = 1 << lfuse__scatter_bits(facts)};
    LFUSE__TRY(lfuse__class_check(name, k, facts));
    lfuse__put_kernel(out, name, w.group, lfuse__scatter_words(k), lfuse__kernel_buffers(k));
    for (int j = 0; j < k->noperands; j++) lfuse__put(out, 1, "memory p%d = BUFFER(%d) + W(%d);", j, j, j);
    puts_of[k->scatter](&w);
    lfuse__put(out, 0, "}");
    return lfuse__strbuf_check(out);
}
