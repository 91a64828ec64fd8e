/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical sum. Segments of 1 024 elements; lane c of 128 adds elements c, c + 128 ... in order, absent ones count
 * as -0, which changes nothing; lanes fold by c^64 ... c^1. Segments fold pairwise by index, an odd one out going up as
 * it is: a stack of finished subtrees, as a binary counter of the segments seen.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>

#include "common/base/error.h"
#include "common/kernels/emit.h"

enum { LANE_COUNT = 128, ITEM_LANES = 4, DEPTH = 56 };

const char *lfuse__sum_word(const lfuse__kernel_class *k)
{
    return k->operands[lfuse__stored_operand(k)].type == LFUSE_F64 ? "f64" : "f32";
}

int lfuse__stored_operand(const lfuse__kernel_class *k)
{
    return k->body->stores[0].operand;
}

lfuse_status lfuse__sum_check(const lfuse__kernel_class *k)
{
    if (k->body->nstores != 1)
        return lfuse__error(LFUSE_ERR_INVALID, "a sum kernel stores 1 value, not %d", k->body->nstores);
    for (int j = 0; j < k->noperands; j++)
        if (k->operands[j].gathered || k->operands[j].index)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "operand %d of a sum is looked up in", j);
    const lfuse_type type = k->operands[lfuse__stored_operand(k)].type;
    if (!lfuse__is_floating(type))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "sums of %s", lfuse__memory_word(type));
    return LFUSE_OK;
}

void lfuse__sum_shape(lfuse__text *t)
{
    t->vector = ITEM_LANES;
    t->chunks = 2;
    t->slots = t->vector * t->chunks;
}

void lfuse__put_teams(lfuse__strbuf *out, int indent)
{
    lfuse__put(out, indent, "const u32 team = ITEM() / %d, rank = ITEM() %% %d;", LFUSE__TEAM, LFUSE__TEAM);
}

static const char *absent(const char *word)
{
    return word[1] == '6' ? "K_f64(0x8000000000000000ul)" : "K_f32(0x80000000u)";
}

/* Offset of the element whose place in the row is `place`. */
static void put_place(const lfuse__text *t, int j, const char *place, char *at, size_t size)
{
    char stride[32];
    if (t->k->operands[j].inner == LFUSE__STRIDE_REPEAT) {
        snprintf(at, size, "b%d", j);
    } else if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) {
        snprintf(at, size, "b%d + (%s)(%s)", j, t->ix, place);
    } else {
        lfuse__put_stride(t, j, t->k->rank - 1, stride, sizeof stride);
        snprintf(at, size, "b%d + (%s)(%s) * %s", j, t->ix, place, stride);
    }
}

static void put_load(const lfuse__text *t, int indent, int j, const char *target, const char *place)
{
    char at[128];
    put_place(t, j, place, at, sizeof at);
    lfuse__put(t->out, indent, "%s = LOAD_%s(p%d, %s);", target, lfuse__memory_word(t->k->operands[j].type), j, at);
}

static void put_items_vectors(const lfuse__text *t, int indent)
{
    char at[128], target[32];
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j] && t->k->operands[j].inner == LFUSE__STRIDE_UNIT)
            lfuse__put(t->out, indent, "u32 q%d[%d];", j, t->chunks * lfuse__block_words(t, j));
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (u32 u = 0; u < %d; u++) {", t->chunks);
    lfuse__put(t->out, indent + 1, "const %s e = seg + step + u * %d + rank * %d;", t->ux, LANE_COUNT, ITEM_LANES);
    for (int j = 0; j < t->k->noperands; j++) {
        if (!t->loaded[j]) continue;
        if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) {
            put_place(t, j, "e", at, sizeof at);
            lfuse__put_block_load(t, indent + 1, j, "u", at);
            continue;
        }
        snprintf(target, sizeof target, "x%d[u * %d + v]", j, ITEM_LANES);
        lfuse__put(t->out, 0, "#pragma unroll");
        lfuse__put(t->out, indent + 1, "for (int v = 0; v < %d; v++)", ITEM_LANES);
        put_load(t, indent + 2, j, target, "e + v");
    }
    lfuse__put(t->out, indent, "}");
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (int k = 0; k < %d; k++) {", t->slots);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j] && t->k->operands[j].inner == LFUSE__STRIDE_UNIT)
            lfuse__put(t->out, indent + 1, "x%d[k] = UNPACK_%s(q%d + k / %d * %d, k %% %d);", j,
                       lfuse__memory_word(t->k->operands[j].type), j, ITEM_LANES, lfuse__block_words(t, j), ITEM_LANES);
    lfuse__put(t->out, indent, "}");
}

static void put_items_single(const lfuse__text *t, int indent)
{
    char target[32];
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (u32 k = 0; k < %d; k++) {", t->slots);
    lfuse__put(t->out, indent + 1, "const u32 e = step + k / 4 * %d + rank * 4 + k %% 4;", LANE_COUNT);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j])
            lfuse__put(t->out, indent + 1, "x%d[k] = ZERO_%s;", j, lfuse__register_word(t->k->operands[j].type));
    lfuse__put(t->out, indent + 1, "if (e < left) {");
    for (int j = 0; j < t->k->noperands; j++) {
        if (!t->loaded[j]) continue;
        snprintf(target, sizeof target, "x%d[k]", j);
        put_load(t, indent + 2, j, target, "seg + e");
    }
    lfuse__put(t->out, indent + 1, "}");
    lfuse__put(t->out, indent, "}");
}

static void put_items(const lfuse__text *t, int indent)
{
    lfuse__strbuf *out = t->out;
    const char *word = lfuse__sum_word(t->k);
    const int stored = lfuse__stored_operand(t->k), step = LANE_COUNT * t->chunks;
    lfuse__put(out, indent, "S_%s lanes[4] = {%s, %s, %s, %s};", word, absent(word), absent(word), absent(word),
               absent(word));
    lfuse__put(out, indent, "for (u32 step = 0; step < left; step += %d) {", step);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j])
            lfuse__put(out, indent + 1, "S_%s x%d[%d];", lfuse__register_word(t->k->operands[j].type), j, t->slots);
    lfuse__put(out, indent + 1, "S_%s y%d[%d];", word, stored, t->slots);
    lfuse__put(out, indent + 1, "if (vectors && step + %d <= left) {", step);
    put_items_vectors(t, indent + 2);
    lfuse__put(out, indent + 1, "} else {");
    put_items_single(t, indent + 2);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (u32 k = 0; k < %d; k++) {", t->slots);
    lfuse__put_body(t, indent + 2, "[k]");
    lfuse__put(out, indent + 2, "const u32 e = step + k / 4 * %d + rank * 4 + k %% 4;", LANE_COUNT);
    lfuse__put(out, indent + 2, "lanes[k %% 4] = ADD_%s(lanes[k %% 4], SEL_%s(e < left, y%d[k], %s));", word, word,
               stored, absent(word));
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
    lfuse__put(out, indent, "total = FOLD_%s(lanes);", word);
}

static void put_lanes_load(const lfuse__text *t, int indent, int j)
{
    const char *memory = lfuse__memory_word(t->k->operands[j].type),
        *reg = lfuse__register_word(t->k->operands[j].type);
    char at[128];
    put_place(t, j, "seg + e", at, sizeof at);
    if (t->k->operands[j].inner == LFUSE__STRIDE_REPEAT) {
        lfuse__put(t->out, indent, "const L_%s x%d = SPLAT_%s(LOAD_%s(p%d, %s));", reg, j, reg, memory, j, at);
        return;
    }
    lfuse__put(t->out, indent, "L_%s x%d;", reg, j);
    if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) {
        lfuse__put(t->out, indent, "if (count >= LANES) {");
        lfuse__put(t->out, indent + 1, "x%d = LOADL_%s(p%d, (i64)(%s));", j, memory, j, at);
        lfuse__put(t->out, indent, "} else {");
    } else {
        lfuse__put(t->out, indent, "{");
    }
    put_place(t, j, "seg + e + l", at, sizeof at);
    lfuse__put(t->out, indent + 1, "S_%s l%d[LANES];", reg, j);
    lfuse__put(t->out, indent + 1, "for (int l = 0; l < LANES; l++) {");
    lfuse__put(t->out, indent + 2, "l%d[l] = ZERO_%s;", j, reg);
    lfuse__put(t->out, indent + 2, "if (l < count) l%d[l] = LOAD_%s(p%d, %s);", j, memory, j, at);
    lfuse__put(t->out, indent + 1, "}");
    lfuse__put(t->out, indent + 1, "x%d = LANES_%s(l%d);", j, reg, j);
    lfuse__put(t->out, indent, "}");
}

static void put_lanes(const lfuse__text *t, int indent)
{
    lfuse__strbuf *out = t->out;
    const char *word = lfuse__sum_word(t->k);
    const int stored = lfuse__stored_operand(t->k);
    lfuse__put(out, indent, "L_%s lanes[%d / LANES];", word, LANE_COUNT);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int a = 0; a < %d / LANES; a++) lanes[a] = %s;", LANE_COUNT, absent(word));
    lfuse__put(out, indent, "for (u32 step = 0; step < left; step += %d) {", LANE_COUNT);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int a = 0; a < %d / LANES; a++) {", LANE_COUNT);
    lfuse__put(out, indent + 2, "const int e = (int)step + a * LANES, count = (int)left - e;");
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j]) put_lanes_load(t, indent + 2, j);
    lfuse__put(out, indent + 2, "L_%s y%d;", word, stored);
    lfuse__put_body(t, indent + 2, "");
    lfuse__put(out, indent + 2, "if (count < LANES) y%d = SEL_%s(BELOW(count), y%d, %s);", stored, word, stored,
               absent(word));
    lfuse__put(out, indent + 2, "lanes[a] = ADD_%s(lanes[a], y%d);", word, stored);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent, "}");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int h = %d / LANES; h > 0; h /= 2)", LANE_COUNT / 2);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int a = 0; a < h; a++) lanes[a] = ADD_%s(lanes[a], lanes[a + h]);", word);
    lfuse__put(out, indent, "total = FOLDL_%s(lanes[0]);", word);
}

void lfuse__put_segment(const lfuse__text *t, int indent, bool lanes)
{
    if (lanes)
        put_lanes(t, indent);
    else
        put_items(t, indent);
}

void lfuse__put_counter_begin(lfuse__strbuf *out, int indent, const char *word)
{
    lfuse__put(out, indent, "S_%s stack[%d], total = ZERO_%s;", word, DEPTH, word);
    lfuse__put(out, indent, "int depth = 0;");
    lfuse__put(out, indent, "u64 done = 0;");
}

void lfuse__put_counter_add(lfuse__strbuf *out, int indent)
{
    lfuse__put(out, indent, "done++;");
    lfuse__put(out, indent, "for (u64 t = done; !(t & 1); t >>= 1) total = stack[--depth] + total;");
    lfuse__put(out, indent, "stack[depth++] = total;");
}

void lfuse__put_counter_end(lfuse__strbuf *out, int indent)
{
    lfuse__put(out, indent, "if (depth) total = stack[--depth];");
    lfuse__put(out, indent, "while (depth) total = stack[--depth] + total;");
}
