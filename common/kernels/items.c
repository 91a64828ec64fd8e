/* SPDX-License-Identifier: Apache-2.0 */
/* The items form of element-wise work: a tile of a group, `slots` elements a work-item. */
#include <stdio.h>

#include "common/kernels/emit.h"

void lfuse__items_shape(lfuse__text *t, int vector)
{
    unsigned widest = 0;
    int loads = 0;
    for (int j = 0; j < t->k->noperands; j++) {
        const unsigned bytes = lfuse__type_bytes(t->k->operands[j].type);
        if (lfuse__in_blocks(&t->k->operands[j]) && bytes > widest) widest = bytes;
        loads += t->loaded[j] && t->k->operands[j].inner != LFUSE__STRIDE_REPEAT && !t->k->operands[j].index;
        loads += t->k->operands[j].gathered;
    }
    t->vector = vector ? vector : widest ? 16 / (int)widest : 4;
    t->chunks = loads <= 1 ? 4 : loads <= 3 ? 2 : 1;
    while (t->chunks > 1 && t->vector * t->chunks > 16) t->chunks /= 2;
    t->slots = t->vector * t->chunks;
}

unsigned lfuse__items_tile(const lfuse__text *t)
{
    return LFUSE__GROUP * (unsigned)t->slots;
}

static const char *memory_word(const lfuse__text *t, int j)
{
    return lfuse__memory_word(t->k->operands[j].type);
}

static const char *register_word(const lfuse__text *t, int j)
{
    return lfuse__register_word(t->k->operands[j].type);
}

/* Offset of element v of a chunk whose first is at o<j>. */
static void put_element(const lfuse__text *t, int j, char *at, size_t size)
{
    char stride[32];
    const int inner = t->k->rank - 1;
    if (lfuse__repeats_lines(&t->k->operands[j])) {
        lfuse__put_line_place(t, j, "i + v", at, size);
    } else if (t->k->operands[j].inner == LFUSE__STRIDE_REPEAT) {
        snprintf(at, size, "o%d", j);
    } else if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) {
        snprintf(at, size, "o%d + v", j);
    } else {
        lfuse__put_stride(t, j, inner, stride, sizeof stride);
        snprintf(at, size, "o%d + v * %s", j, stride);
    }
}

static void put_chunk_index(const lfuse__text *t, int indent)
{
    lfuse__put(t->out, indent, "const %s i = start + (%s)((u * %d + ITEM()) * %d);", t->ux, t->ux, LFUSE__GROUP,
               t->vector);
}

static void put_slot_index(const lfuse__text *t, int indent)
{
    lfuse__put(t->out, indent, "const %s i = start + (%s)(k * %d + ITEM());", t->ux, t->ux, LFUSE__GROUP);
}

static void put_loads_whole(const lfuse__text *t, int indent)
{
    char at[96], load[128];
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j] && lfuse__in_blocks(&t->k->operands[j]))
            lfuse__put(t->out, indent, "u32 q%d[%d];", j, t->chunks * lfuse__block_words(t, j));
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (u32 u = 0; u < %d; u++) {", t->chunks);
    put_chunk_index(t, indent + 1);
    lfuse__put_offsets(t, indent + 1, "i", LFUSE__AT_LOADED);
    for (int j = 0; j < t->k->noperands; j++) {
        if (!t->loaded[j]) continue;
        snprintf(at, sizeof at, "o%d", j);
        if (lfuse__in_blocks(&t->k->operands[j])) {
            lfuse__put_block_load(t, indent + 1, j, "u", at);
            continue;
        }
        put_element(t, j, at, sizeof at);
        lfuse__put_load(t, j, at, load, sizeof load);
        lfuse__put(t->out, 0, "#pragma unroll");
        lfuse__put(t->out, indent + 1, "for (int v = 0; v < %d; v++) x%d[u * %d + v] = %s;", t->vector, j, t->vector,
                   load);
    }
    lfuse__put(t->out, indent, "}");
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (int k = 0; k < %d; k++) {", t->slots);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j] && lfuse__in_blocks(&t->k->operands[j]))
            lfuse__put(t->out, indent + 1, "x%d[k] = UNPACK_%s(q%d + k / %d * %d, k %% %d);", j, memory_word(t, j), j,
                       t->vector, lfuse__block_words(t, j), t->vector);
    lfuse__put(t->out, indent, "}");
}

/* n<at> of the element whose registers are indexed by `index`. */
static void put_index(const lfuse__text *t, int indent, int at, const char *index, const char *element)
{
    const int reg = t->k->body->instr[at].b;
    char value[16];
    snprintf(value, sizeof value, "m%d", at);
    lfuse__put(t->out, indent, "S_%s m%d;", lfuse__register_word(t->k->body->instr[reg].type), at);
    lfuse__put(t->out, indent, "{");
    lfuse__put_slice(t, indent + 1, reg, index);
    lfuse__put(t->out, indent + 1, "m%d = r%d;", at, reg);
    lfuse__put(t->out, indent, "}");
    lfuse__put_look_up(t, indent, at, value, element);
}

/* One index a vector. */
static void put_gather_blocks(const lfuse__text *t, int indent, int at)
{
    const int j = t->k->body->instr[at].a, words = lfuse__block_words(t, j);
    char index[16], place[80], more[48];
    lfuse__put(t->out, indent, "u32 q%d[%d];", j, t->chunks * words);
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (u32 u = 0; u < %d; u++) {", t->chunks);
    put_chunk_index(t, indent + 1);
    snprintf(index, sizeof index, "[u * %d]", t->vector);
    put_index(t, indent + 1, at, index, "i");
    lfuse__put_offset(t, indent + 1, "i", j);
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent + 1, "for (int w = 0; w < %d; w++) q%d[u * %d + w] = 0;", words, j, words);
    lfuse__put(t->out, indent + 1, "if (n%d >= 0) {", at);
    lfuse__put_look_up_offset(t, at, more, sizeof more);
    snprintf(place, sizeof place, "o%d + %s", j, more);
    lfuse__put_block_load(t, indent + 2, j, "u", place);
    lfuse__put(t->out, indent + 1, "}");
    lfuse__put(t->out, indent, "}");
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (int k = 0; k < %d; k++) g%d[k] = UNPACK_%s(q%d + k / %d * %d, k %% %d);", t->slots,
               at, memory_word(t, j), j, t->vector, words, t->vector);
}

/* One index an element, which is i. */
static void put_gather_element(const lfuse__text *t, int indent, int at)
{
    const int j = t->k->body->instr[at].a;
    char more[48];
    put_index(t, indent, at, "[k]", "i");
    lfuse__put_offset(t, indent, "i", j);
    lfuse__put_look_up_offset(t, at, more, sizeof more);
    lfuse__put(t->out, indent, "if (n%d >= 0) g%d[k] = LOAD_%s(p%d, o%d + %s);", at, at, memory_word(t, j), j, j, more);
}

static void put_gather(const lfuse__text *t, int indent, int at, bool whole)
{
    lfuse__put(t->out, indent, "{");
    if (whole && lfuse__in_blocks(&t->k->operands[t->k->body->instr[at].a]) && lfuse__gather_steady(t->k, at)) {
        put_gather_blocks(t, indent + 1, at);
    } else {
        lfuse__put(t->out, 0, "#pragma unroll");
        lfuse__put(t->out, indent + 1, "for (u32 k = 0; k < %d; k++) {", t->slots);
        if (whole)
            lfuse__put(t->out, indent + 2, "const %s i = start + (%s)((k / %d * %d + ITEM()) * %d + k %% %d);", t->ux,
                       t->ux, t->vector, LFUSE__GROUP, t->vector, t->vector);
        else
            put_slot_index(t, indent + 2);
        lfuse__put(t->out, indent + 2, "g%d[k] = ZERO_%s;", at, register_word(t, t->k->body->instr[at].a));
        lfuse__put(t->out, indent + 2, "if (i < n) {");
        put_gather_element(t, indent + 3, at);
        lfuse__put(t->out, indent + 2, "}");
        lfuse__put(t->out, indent + 1, "}");
    }
    lfuse__put(t->out, indent, "}");
}

static void put_gathers(const lfuse__text *t, int indent, bool whole)
{
    for (int i = 0; i < t->k->body->ninstr; i++)
        if (lfuse__is_gather(t->k, &t->k->body->instr[i])) put_gather(t, indent, i, whole);
}

static void put_loads_single(const lfuse__text *t, int indent)
{
    char at[96], load[128];
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (u32 k = 0; k < %d; k++) {", t->slots);
    put_slot_index(t, indent + 1);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j]) lfuse__put(t->out, indent + 1, "x%d[k] = ZERO_%s;", j, register_word(t, j));
    lfuse__put(t->out, indent + 1, "if (i < n) {");
    lfuse__put_offsets(t, indent + 2, "i", LFUSE__AT_LOADED);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->loaded[j]) {
            snprintf(at, sizeof at, "o%d", j);
            if (lfuse__repeats_lines(&t->k->operands[j])) lfuse__put_line_place(t, j, "i", at, sizeof at);
            lfuse__put_load(t, j, at, load, sizeof load);
            lfuse__put(t->out, indent + 2, "x%d[k] = %s;", j, load);
        }
    lfuse__put(t->out, indent + 1, "}");
    lfuse__put(t->out, indent, "}");
}

static void put_store_block(const lfuse__text *t, int indent, int j)
{
    const unsigned size = lfuse__type_bytes(t->k->operands[j].type), bytes = size * (unsigned)t->vector;
    const int words = lfuse__block_words(t, j);
    lfuse__put(t->out, indent, "u32 w%d[%d];", j, words);
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (int v = 0; v < %d; v++) w%d[v] = 0;", words, j);
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (int v = 0; v < %d; v++) PACK_%s(w%d, v, y%d[u * %d + v]);", t->vector,
               memory_word(t, j), j, j, t->vector);
    for (unsigned done = 0; done < bytes; done += 16)
        lfuse__put(t->out, indent, "STOREB_%u(p%d + (i64)o%d * %u + %u, w%d + %u);", bytes < 16 ? bytes : 16, j, j,
                   size, done,
                   j, done / 4);
}

static void put_stores_whole(const lfuse__text *t, int indent)
{
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (u32 u = 0; u < %d; u++) {", t->chunks);
    put_chunk_index(t, indent + 1);
    lfuse__put_offsets(t, indent + 1, "i", LFUSE__AT_STORED);
    for (int j = 0; j < t->k->noperands; j++) {
        char at[64];
        if (!t->stored[j]) continue;
        if (t->k->operands[j].inner == LFUSE__STRIDE_UNIT) {
            put_store_block(t, indent + 1, j);
            continue;
        }
        put_element(t, j, at, sizeof at);
        lfuse__put(t->out, indent + 1, "for (int v = 0; v < %d; v++) STORE_%s(p%d, %s, y%d[u * %d + v]);", t->vector,
                   memory_word(t, j), j, at, j, t->vector);
    }
    lfuse__put(t->out, indent, "}");
}

static void put_stores_single(const lfuse__text *t, int indent)
{
    lfuse__put(t->out, 0, "#pragma unroll");
    lfuse__put(t->out, indent, "for (u32 k = 0; k < %d; k++) {", t->slots);
    put_slot_index(t, indent + 1);
    lfuse__put(t->out, indent + 1, "if (i < n) {");
    lfuse__put_offsets(t, indent + 2, "i", LFUSE__AT_STORED);
    for (int j = 0; j < t->k->noperands; j++)
        if (t->stored[j])
            lfuse__put(t->out, indent + 2, "STORE_%s(p%d, o%d, y%d[k]);", memory_word(t, j), j, j, j);
    lfuse__put(t->out, indent + 1, "}");
    lfuse__put(t->out, indent, "}");
}

void lfuse__put_tile(const lfuse__text *t, int indent)
{
    lfuse__strbuf *out = t->out;
    lfuse__put(out, indent, "const int whole = vectors && n - start >= %u;", lfuse__items_tile(t));
    for (int j = 0; j < t->k->noperands; j++) {
        if (t->loaded[j]) lfuse__put(out, indent, "S_%s x%d[%d];", register_word(t, j), j, t->slots);
        if (t->stored[j]) lfuse__put(out, indent, "S_%s y%d[%d];", register_word(t, j), j, t->slots);
    }
    for (int i = 0; i < t->k->body->ninstr; i++)
        if (lfuse__is_gather(t->k, &t->k->body->instr[i]))
            lfuse__put(out, indent, "S_%s g%d[%d];", register_word(t, t->k->body->instr[i].a), i, t->slots);
    lfuse__put(out, indent, "if (whole) {");
    put_loads_whole(t, indent + 1);
    put_gathers(t, indent + 1, true);
    lfuse__put(out, indent, "} else {");
    put_loads_single(t, indent + 1);
    put_gathers(t, indent + 1, false);
    lfuse__put(out, indent, "}");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int k = 0; k < %d; k++) {", t->slots);
    lfuse__put_body(t, indent + 1, "[k]");
    lfuse__put(out, indent, "}");
    lfuse__put(out, indent, "if (whole) {");
    put_stores_whole(t, indent + 1);
    lfuse__put(out, indent, "} else {");
    put_stores_single(t, indent + 1);
    lfuse__put(out, indent, "}");
}
