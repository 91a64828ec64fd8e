/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about bundles share: where the argument words of each part are. */
#ifndef COMMON_KERNELS_BUNDLE_H
#define COMMON_KERNELS_BUNDLE_H

#include "common/kernels/kernel.h"

enum {
    LFUSE__BUNDLE_SLOT_SHIFT = 56, /* of the slot in an operand's word */
    LFUSE__BUNDLE_EACH = 0,  /* word: groups of each member, and the factor of the quotient by them */
    LFUSE__BUNDLE_SHIFT = 1,
    LFUSE__BUNDLE_FIRST = 2  /* first_ */
};

/* Where the words of one part are. */
typedef struct lfuse__bundle_place {
    int first;  /* member, over all parts */
    int words;  /* of a kernel by itself */
    int common, own, nown; /* words; `nown` for each member from `own` on */
    int rank[LFUSE__MAX_WORDS]; /* of each word in its half */
} lfuse__bundle_place;

struct lfuse__bundle {
    int nparts, members;
    int words, head; /* of the launch; those before the words of the parts */
    int operands;    /* of the kernel with most */
    lfuse__bundle_part *parts;
    lfuse__bundle_place *places; /* [nparts] */
};

static inline bool lfuse__bundle_has_memory(const lfuse__kernel_class *k, int operand)
{
    return operand < k->noperands && !k->operands[operand].index;
}

/* Operands have a word for each member whatever the class says. */
static inline bool lfuse__bundle_is_own(const lfuse__bundle_part *part, int word)
{
    return word < part->k.noperands || (part->differs[word / 64] >> (word % 64) & 1);
}

#endif
