/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a kernel's class: integers that say all that the text depends on but the body. Classes of equal keys and
 * equal bodies have equal texts, so that they share a compiled kernel. Each family adds the part that it alone knows
 * (families.h).
 */
#ifndef COMMON_KERNELS_KEY_H
#define COMMON_KERNELS_KEY_H

#include <stdbool.h>

#include "common/kernels/kernel.h"

enum {
    LFUSE__KEY_LIST = 4,     /* words of a list's part */
    LFUSE__KEY_PRODUCT = 20, /* words of a product's part, behind which a family may add LFUSE__KEY_LIST more */
    LFUSE__KEY_WORDS = 5 + LFUSE__MAX_OPERANDS + LFUSE__KEY_PRODUCT + LFUSE__KEY_LIST
};

typedef struct lfuse__kernel_key {
    int nwords;
    int32_t words[LFUSE__KEY_WORDS];
} lfuse__kernel_key;

/* Adds a word of a family's part, which has LFUSE__KEY_PRODUCT + LFUSE__KEY_LIST words at most. */
static inline void lfuse__key_add(lfuse__kernel_key *key, int32_t word)
{
    key->words[key->nwords++] = word;
}

/* Adds the part that all families of lists have. That of products is in matmul/problem.h. */
void lfuse__key_add_list(const lfuse__kernel_class *k, lfuse__kernel_key *key);

/* Makes the key of a class. */
void lfuse__kernel_key_of(const lfuse__kernel_class *k, lfuse__kernel_key *key);
bool lfuse__kernel_key_equal(const lfuse__kernel_key *a, const lfuse__kernel_key *b);

/* Returns whether two classes have one text. */
bool lfuse__class_equal(const lfuse__kernel_class *a, const lfuse__kernel_class *b);

#endif
