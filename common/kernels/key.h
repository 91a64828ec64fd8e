/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a kernel's class: numbers that say all that the text depends on, but for the body. Classes of equal keys
 * and equal bodies have equal texts, and a kernel that was compiled for one is the other's too. The part that one
 * family alone knows is written by that family (families.h).
 */
#ifndef COMMON_KERNELS_KEY_H
#define COMMON_KERNELS_KEY_H

#include <stdbool.h>

#include "common/kernels/kernel.h"

enum {
    LFUSE__KEY_LIST = 4,     /* words of a list's part */
    LFUSE__KEY_PRODUCT = 19, /* and of a product's, behind which a family may add as many as a list has */
    LFUSE__KEY_WORDS = 5 + LFUSE__MAX_OPERANDS + LFUSE__KEY_PRODUCT + LFUSE__KEY_LIST
};

typedef struct lfuse__kernel_key {
    int nwords;
    int32_t words[LFUSE__KEY_WORDS];
} lfuse__kernel_key;

/* For the families' functions, whose parts have LFUSE__KEY_PRODUCT + LFUSE__KEY_LIST words at most. */
static inline void lfuse__key_add(lfuse__kernel_key *key, int32_t word)
{
    key->words[key->nwords++] = word;
}

/* The part that the families of lists have in common; products': matmul/problem.h. */
void lfuse__key_add_list(const lfuse__kernel_class *k, lfuse__kernel_key *key);

void lfuse__kernel_key_of(const lfuse__kernel_class *k, lfuse__kernel_key *key);
bool lfuse__kernel_key_equal(const lfuse__kernel_key *a, const lfuse__kernel_key *b);

/* Whether two classes have one text. */
bool lfuse__class_equal(const lfuse__kernel_class *a, const lfuse__kernel_class *b);

#endif
