/* SPDX-License-Identifier: Apache-2.0 */
/* Each array is a block of its own, so that tools that watch over memory see where one ends. */
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/error.h"

typedef struct lfuse__arena_block {
    struct lfuse__arena_block *before;
    alignas(max_align_t) unsigned char elements[];
} block;

void *lfuse__arena_array(lfuse__arena *a, size_t count, size_t size)
{
    const bool fits = count <= (SIZE_MAX - sizeof(block)) / size;
    block *b = fits ? calloc(1, sizeof *b + count * size) : NULL;
    if (!b) {
        lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu elements of %zu bytes)", count, size);
        return NULL;
    }
    b->before = a->last;
    a->last = b;
    return b->elements;
}

void lfuse__arena_free(lfuse__arena *a)
{
    while (a->last) {
        block *b = a->last;
        a->last = b->before;
        free(b);
    }
}
