/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kernels/key.h"

#include <string.h>

#include "common/kernels/families.h"

void lfuse__key_add_list(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    const lfuse__list_class *l = lfuse__class_list(k);
    lfuse__key_add(key, l->carried);
    lfuse__key_add(key, l->groups);
    lfuse__key_add(key, (int32_t)l->walk);
    lfuse__key_add(key, l->columns);
}

static int32_t operand_word(const lfuse__kernel_operand *o)
{
    const int bits = o->written | o->gathered << 1 | o->index << 2 | o->shape << 3 | o->fixed << 4;
    return (int32_t)o->type << 16 | (int32_t)o->inner << 8 | bits;
}

void lfuse__kernel_key_of(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    const lfuse__kernel_family *family = lfuse__family_of(k);
    key->nwords = 0;
    lfuse__key_add(key, (int32_t)k->family);
    lfuse__key_add(key, k->noperands);
    lfuse__key_add(key, k->rank);
    lfuse__key_add(key, k->naxes);
    lfuse__key_add(key, k->index64);
    for (int j = 0; j < k->noperands; j++) lfuse__key_add(key, operand_word(&k->operands[j]));
    if (family->key) family->key(k, key);
}

bool lfuse__kernel_key_equal(const lfuse__kernel_key *a, const lfuse__kernel_key *b)
{
    return a->nwords == b->nwords && !memcmp(a->words, b->words, (size_t)a->nwords * sizeof *a->words);
}

bool lfuse__class_equal(const lfuse__kernel_class *a, const lfuse__kernel_class *b)
{
    lfuse__kernel_key of_a, of_b;
    if (a->family != b->family || a->noperands != b->noperands || !lfuse__body_equal(a->body, b->body)) return false;
    lfuse__kernel_key_of(a, &of_a);
    lfuse__kernel_key_of(b, &of_b);
    return lfuse__kernel_key_equal(&of_a, &of_b);
}
