/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists whose members' places travel in the argument block. Words, from lfuse__multi_words on:
 *   [carried + 1] first chunk of each member, counted in the launch, and in the upper half the length of its last
 *   chunk;
 *                 then the end of the last member; then ones
 *   [operands used][carried] address, or byte offset and in the highest byte the slot
 * text/list_chunk.k and text/list_operand.k read them.
 */
#include "common/kernels/members.h"

enum { SLOT_SHIFT = 56 };

int lfuse__carried_chunks(const lfuse__kernel_class *k, lfuse__carry carry)
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
    const int room = (int)(bytes / 8) - buffers - lfuse__carried_chunks(k, carry) - 1;
    return room < 0 ? 0 : room / (1 + n);
}

unsigned lfuse__carried_words(const lfuse__kernel_class *k, lfuse__carry carry)
{
    int rank[LFUSE__MAX_OPERANDS];
    const int n = used(k, carry, rank), carried = lfuse__class_list(k)->carried;
    return (unsigned)(lfuse__carried_chunks(k, carry) + carried + 1 + n * carried);
}

void lfuse__carried_place(const lfuse__kernel_class *k, lfuse__carry carry, int place, uint64_t first, uint32_t tail,
                          const uint64_t *entries, int64_t stride, uint64_t *words)
{
    const int carried = lfuse__class_list(k)->carried;
    int rank[LFUSE__MAX_OPERANDS];
    uint64_t *firsts = words + lfuse__carried_chunks(k, carry), *addresses = firsts + carried + 1 + place;
    used(k, carry, rank);
    firsts[place] = (uint32_t)first | (uint64_t)tail << 32;
    for (int j = 0; j < k->noperands; j++)
        if (rank[j] >= 0) addresses[rank[j] * carried] = entries[j * stride] | entries[j * stride + 1] << SLOT_SHIFT;
}

void lfuse__carried_end(const lfuse__kernel_class *k, lfuse__carry carry, int members, uint64_t chunks, uint64_t *words)
{
    uint64_t *firsts = words + lfuse__carried_chunks(k, carry);
    firsts[members] = (uint32_t)chunks;
    for (int m = members + 1; m <= lfuse__class_list(k)->carried; m++) firsts[m] = UINT32_MAX;
}

int lfuse__carried_first(const lfuse__kernel_class *k, lfuse__carry carry, int operand)
{
    const int carried = lfuse__class_list(k)->carried;
    int rank[LFUSE__MAX_OPERANDS];
    used(k, carry, rank);
    return lfuse__carried_chunks(k, carry) + carried + 1 + rank[operand] * carried;
}
