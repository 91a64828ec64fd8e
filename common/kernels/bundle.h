/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about bundles share: where the argument words of each part are. */
#ifndef COMMON_KERNELS_BUNDLE_H
#define COMMON_KERNELS_BUNDLE_H

#include "common/kernels/kernel.h"

enum {
    LFUSE__BUNDLE_SLOT_SHIFT = 56, /* of the slot in an operand's word */
    LFUSE__BUNDLE_EACH = 0,    /* word: groups of each member */
    LFUSE__BUNDLE_BY_EACH = 1, /* lfuse__division32 of that */
    LFUSE__BUNDLE_FIRST = 2    /* first_ */
};

/* Where the argument words of one part are. */
typedef struct lfuse__bundle_place {
    int first;     /* its first member, counted over all parts */
    int words;     /* words of its kernel in no bundle */
    int common;    /* the first word that all its members have in common */
    int own, nown; /* the first word of its first member; each member has `nown` */
    int rank[LFUSE__MAX_WORDS]; /* of each word of the kernel, among those in common or those of a member */
} lfuse__bundle_place;

struct lfuse__bundle {
    int nparts, members;
    int words, head; /* words of the launch, and those of them before the words of the parts */
    int operands;    /* operands of the kernel that has most */
    lfuse__bundle_part *parts;
    lfuse__bundle_place *places; /* [nparts] */
};

/* Returns whether a word of the kernel is that of an operand with memory. */
static inline bool lfuse__bundle_has_memory(const lfuse__kernel_class *k, int operand)
{
    return operand < k->noperands && !k->operands[operand].index;
}

/* Returns whether each member has a word of its own, as it always has for an operand. */
static inline bool lfuse__bundle_is_own(const lfuse__bundle_part *part, int word)
{
    return word < part->k.noperands || (part->differs[word / 64] >> (word % 64) & 1);
}

#endif
