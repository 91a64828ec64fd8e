/* SPDX-License-Identifier: Apache-2.0 */
/* The one hash behind every key: 128 bits, not cryptographic. Whole keys are compared as well. */
#ifndef COMMON_BASE_HASH_H
#define COMMON_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct lfuse__hash { uint64_t low, high; } lfuse__hash;

/* Returns the hash of `length` bytes. */
lfuse__hash lfuse__hash_bytes(const void *data, size_t length);

#endif
