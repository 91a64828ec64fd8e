/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists whose members' places travel in the argument block. Words, from lfuse__multi_words on:
 *   [carried + 1] first chunk of each member, counted in the launch, and in the upper half the length of its last chunk;
 *                 then the end of the last member; then ones
 *   [operands used][carried] address, or byte offset and in the highest byte the slot
 * A chunk's member is searched for in the first chunks: as many steps as the capacity has bits, each one word. Where an
 * index into the argument block would make the compiler copy all of it to private memory (facts.staged_arguments), the
 * words are first put into local memory, each by a line of its own.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>

#include "common/base/error.h"
#include "common/kernels/emit.h"

enum { SLOT_SHIFT = 56, STAGED_LINE = 8 };

/* Operands that the kernel reaches: those it loads, and unless it sums, where it stores. */
static int used(const lfuse__kernel_class *k, bool sums, int rank[LFUSE__MAX_OPERANDS])
{
    bool reached[LFUSE__MAX_OPERANDS] = {false};
    int n = 0;
    for (int i = 0; i < k->body->ninstr; i++)
        if (k->body->instr[i].kind == LFUSE__I_LOAD) reached[k->body->instr[i].a] = true;
    for (int i = 0; i < k->body->nstores && !sums; i++) reached[k->body->stores[i].operand] = true;
    for (int j = 0; j < k->noperands; j++) rank[j] = reached[j] ? n++ : -1;
    return n;
}

int lfuse__carried_most(const lfuse__kernel_class *k, bool sums, const lfuse__facts *facts, uint32_t bytes)
{
    int rank[LFUSE__MAX_OPERANDS];
    const int n = used(k, sums, rank), buffers = (sums ? 3 : 2) + (facts->addresses ? 0 : LFUSE__MAX_SLOTS);
    const int room = (int)(bytes / 8) - buffers - lfuse__multi_words(k) - 1;
    return room < 0 ? 0 : room / (1 + n);
}

unsigned lfuse__carried_words(const lfuse__kernel_class *k, bool sums)
{
    int rank[LFUSE__MAX_OPERANDS];
    const int n = used(k, sums, rank);
    return (unsigned)(lfuse__multi_words(k) + k->carried + 1 + n * k->carried);
}

void lfuse__carried_place(const lfuse__kernel_class *k, bool sums, int place, uint64_t first, uint32_t tail,
                          const uint64_t *entries, int64_t stride, uint64_t *words)
{
    int rank[LFUSE__MAX_OPERANDS];
    uint64_t *firsts = words + lfuse__multi_words(k), *addresses = firsts + k->carried + 1 + place;
    used(k, sums, rank);
    firsts[place] = (uint32_t)first | (uint64_t)tail << 32;
    for (int j = 0; j < k->noperands; j++)
        if (rank[j] >= 0) addresses[rank[j] * k->carried] = entries[j * stride] | entries[j * stride + 1] << SLOT_SHIFT;
}

void lfuse__carried_end(const lfuse__kernel_class *k, int members, uint64_t chunks, uint64_t *words)
{
    uint64_t *firsts = words + lfuse__multi_words(k);
    firsts[members] = (uint32_t)chunks;
    for (int m = members + 1; m <= k->carried; m++) firsts[m] = UINT32_MAX;
}

/* ---- text ---- */

void lfuse__put_argument(lfuse__strbuf *out, const lfuse__facts *facts, int first, const char *index)
{
    lfuse__strbuf_format(out, facts->staged_arguments ? "arguments[%d + %s]" : "W(%d + %s)",
                         first, index);
}

void lfuse__put_arguments(lfuse__strbuf *out, const lfuse__facts *facts, int words, unsigned group)
{
    if (!facts->staged_arguments) return;
    lfuse__put(out, 1, "LOCAL(u64, arguments, %d)", words);
    for (int i = 0; i < words; i += STAGED_LINE) {
        lfuse__strbuf_format(out, "    if (ITEM() == %u) {", (unsigned)(i / STAGED_LINE * LFUSE__TEAM) % group);
        for (int w = i; w < i + STAGED_LINE && w < words; w++)
            lfuse__strbuf_format(out, " arguments[%d] = W(%d);", w, w);
        lfuse__strbuf_add(out, " }\n");
    }
    lfuse__put(out, 1, "SYNC();");
}

static void put_search(lfuse__strbuf *out, int indent, const lfuse__facts *facts, int firsts, int carried,
                       const char *c)
{
    int step = 1;
    while (step < carried) step *= 2;
    lfuse__put(out, indent, "u32 member = 0;");
    for (step /= 2; step > 0; step /= 2) {
        lfuse__strbuf_format(out, "%*sif (member + %d < %d && (u32)", 4 * indent, "", step, carried);
        char index[32];
        snprintf(index, sizeof index, "member + %d", step);
        lfuse__put_argument(out, facts, firsts, index);
        lfuse__strbuf_format(out, " <= (u32)%s) member += %d;\n", c, step);
    }
}

void lfuse__put_carried_entry(lfuse__strbuf *out, int indent, const lfuse__facts *facts, int slots, int j, int first,
                              const char *member)
{
    if (facts->addresses) {
        lfuse__strbuf_format(out, "%*smemory p%d = ADDRESS(", 4 * indent, "", j);
        lfuse__put_argument(out, facts, first, member);
        lfuse__strbuf_add(out, ");\n");
        return;
    }
    lfuse__strbuf_format(out, "%*sconst u64 e%d = ", 4 * indent, "", j);
    lfuse__put_argument(out, facts, first, member);
    lfuse__strbuf_add(out, ";\n");
    lfuse__put(out, indent, "const u32 s%d = (u32)(e%d >> %d);", j, j, SLOT_SHIFT);
    lfuse__put(out, indent, "memory p%d = BUFFER(%d);", j, slots);
    for (int s = 1; s < LFUSE__MAX_SLOTS; s++)
        lfuse__put(out, indent, "if (s%d == %d) p%d = BUFFER(%d);", j, s, j, slots + s);
    lfuse__put(out, indent, "p%d += e%d & 0x%llxul;", j, j, (1ull << SLOT_SHIFT) - 1);
}

void lfuse__put_carried_chunk(const lfuse__text *t, int indent, const lfuse__facts *facts, const char *c)
{
    lfuse__strbuf *out = t->out;
    const int firsts = lfuse__multi_words(t->k);
    put_search(out, indent, facts, firsts, t->k->carried, c);
    lfuse__strbuf_format(out, "%*sconst u64 place = ", 4 * indent, "");
    lfuse__put_argument(out, facts, firsts, "member");
    lfuse__strbuf_format(out, ", start_ = (%s - (u32)place) * W(%d);\n", c, LFUSE__MULTI_LENGTH);
    lfuse__strbuf_format(out, "%*sconst u32 length = (u32)", 4 * indent, "");
    lfuse__put_argument(out, facts, firsts + 1, "member");
    lfuse__strbuf_format(out, " - (u32)%s == 1 ? (u32)(place >> 32) : (u32)W(%d);\n", c, LFUSE__MULTI_LENGTH);
}

int lfuse__carried_first(const lfuse__kernel_class *k, bool sums, int operand)
{
    int rank[LFUSE__MAX_OPERANDS];
    used(k, sums, rank);
    return lfuse__multi_words(k) + k->carried + 1 + rank[operand] * k->carried;
}
