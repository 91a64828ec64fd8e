/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given back as a whole: of what exists only while something is being made, and of the arrays of an
 * object that live as long as it does.
 */
#ifndef COMMON_BASE_ARENA_H
#define COMMON_BASE_ARENA_H

#include <stddef.h>

/* All zero: empty. One thread at a time uses it. */
typedef struct lfuse__arena {
    struct lfuse__arena_block *last;
} lfuse__arena;

/* Returns an array of `count` zeroed elements of `size` bytes, also where count is 0; NULL: ERR_MEMORY. */
void *lfuse__arena_array(lfuse__arena *a, size_t count, size_t size);

/* Frees all arrays; the arena is empty then. */
void lfuse__arena_free(lfuse__arena *a);

#endif
