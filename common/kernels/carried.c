/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists whose members' places travel in the argument block. Words, from lfuse__multi_words on:
 *   [carried + 1] first chunk of each member, counted in the launch, and in the upper half the length of its last
 *   chunk;
 *                 then the end of the last member; then ones
 *   [operands used][carried] address, or byte offset and in the highest byte the slot
 * A chunk's member is searched for in the first chunks: as many steps as the capacity has bits, each one word. Where an
 * index into the argument block would make the compiler copy all of it to private memory (facts.staged_arguments), the
 * words are first put into local memory, each by a line of its own.
 */
#include <stdio.h>

#include "common/base/error.h"
#include "common/kernels/members.h"

enum { SLOT_SHIFT = 56, STAGED_LINE = 8 };

static int first_word(const lfuse__kernel_class *k, lfuse__carry carry)
{
    if (carry == LFUSE__CARRY_CHUNKS) return lfuse__multi_words(k);
    return (carry == LFUSE__CARRY_PARTIAL ? LFUSE__MEMBERS_PARTIAL_NUMBERS : LFUSE__FOLD_NUMBERS) + k->body->nnumbers;
}

/*
 * Operands that the kernel may reach: of a fold, numbers. The kernels of a reduction have parts of the class's body, so
 * that this may not depend on it.
 */
static int used(const lfuse__kernel_class *k, lfuse__carry carry, int rank[LFUSE__MAX_OPERANDS])
{
    bool reached[LFUSE__MAX_OPERANDS] = {false};
    int n = 0;
    for (int i = 0; i < k->body->ninstr; i++)
        if (k->body->instr[i].kind == LFUSE__I_LOAD) reached[k->body->instr[i].a] = true;
    for (int i = 0; i < k->body->nstores; i++) reached[k->body->stores[i].operand] = true;
    for (int j = 0; j < k->noperands; j++) {
        if (carry == LFUSE__CARRY_PARTIAL || k->operands[j].shape) reached[j] = true;
        if (carry == LFUSE__CARRY_FOLD) reached[j] = k->operands[j].inner == LFUSE__STRIDE_REPEAT;
        rank[j] = reached[j] ? n++ : -1;
    }
    return n;
}

int lfuse__carried_most(const lfuse__kernel_class *k, lfuse__carry carry, const lfuse__facts *facts, uint32_t bytes)
{
    int rank[LFUSE__MAX_OPERANDS];
    const int n = used(k, carry, rank), buffers = lfuse__list_buffers(facts, carry == LFUSE__CARRY_CHUNKS ? 2 : 3);
    const int room = (int)(bytes / 8) - buffers - first_word(k, carry) - 1;
    return room < 0 ? 0 : room / (1 + n);
}

unsigned lfuse__carried_words(const lfuse__kernel_class *k, lfuse__carry carry)
{
    int rank[LFUSE__MAX_OPERANDS];
    const int n = used(k, carry, rank), carried = lfuse__class_list(k)->carried;
    return (unsigned)(first_word(k, carry) + carried + 1 + n * carried);
}

void lfuse__carried_place(const lfuse__kernel_class *k, lfuse__carry carry, int place, uint64_t first, uint32_t tail,
                          const uint64_t *entries, int64_t stride, uint64_t *words)
{
    const int carried = lfuse__class_list(k)->carried;
    int rank[LFUSE__MAX_OPERANDS];
    uint64_t *firsts = words + first_word(k, carry), *addresses = firsts + carried + 1 + place;
    used(k, carry, rank);
    firsts[place] = (uint32_t)first | (uint64_t)tail << 32;
    for (int j = 0; j < k->noperands; j++)
        if (rank[j] >= 0) addresses[rank[j] * carried] = entries[j * stride] | entries[j * stride + 1] << SLOT_SHIFT;
}

void lfuse__carried_end(const lfuse__kernel_class *k, lfuse__carry carry, int members, uint64_t chunks, uint64_t *words)
{
    uint64_t *firsts = words + first_word(k, carry);
    firsts[members] = (uint32_t)chunks;
    for (int m = members + 1; m <= lfuse__class_list(k)->carried; m++) firsts[m] = UINT32_MAX;
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

void lfuse__put_carried_chunk(const lfuse__text *t, int indent, const lfuse__facts *facts, lfuse__carry carry,
                              const char *c)
{
    lfuse__strbuf *out = t->out;
    const int firsts = first_word(t->k, carry);
    put_search(out, indent, facts, firsts, lfuse__class_list(t->k)->carried, c);
    lfuse__strbuf_format(out, "%*sconst u64 placed_ = ", 4 * indent, "");
    lfuse__put_argument(out, facts, firsts, "member");
    lfuse__strbuf_format(out, ", start_ = (%s - (u32)placed_) * W(%d);\n", c, LFUSE__MULTI_LENGTH);
    lfuse__strbuf_format(out, "%*sconst u32 length = (u32)", 4 * indent, "");
    lfuse__put_argument(out, facts, firsts + 1, "member");
    lfuse__strbuf_format(out, " - (u32)%s == 1 ? (u32)(placed_ >> 32) : (u32)W(%d);\n", c, LFUSE__MULTI_LENGTH);
}

int lfuse__carried_first(const lfuse__kernel_class *k, lfuse__carry carry, int operand)
{
    const int carried = lfuse__class_list(k)->carried;
    int rank[LFUSE__MAX_OPERANDS];
    used(k, carry, rank);
    return first_word(k, carry) + carried + 1 + rank[operand] * carried;
}

int lfuse__carried_chunks(const lfuse__kernel_class *k, lfuse__carry carry)
{
    return first_word(k, carry);
}
