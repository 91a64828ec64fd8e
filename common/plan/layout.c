/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch by lifetime: buffers that are in use together do not overlap, others share memory. */
#include "common/plan/plan.h"

#include <stdlib.h>

static bool together(const int *first, const int *last, int i, int j)
{
    return first[i] <= last[j] && first[j] <= last[i];
}

/* The lowest offset of buffer i at which no buffer before it is in the way: one that is moves it up behind itself. */
static uint64_t lowest_offset(const uint64_t *bytes, const int *first, const int *last, uint64_t alignment,
                      const uint64_t *offsets, int i)
{
    uint64_t at = 0;
    bool moved = true;
    int j;

    while (moved) {
        moved = false;
        for (j = 0; j < i; j++) {
            if (!bytes[j] || !together(first, last, i, j)) continue;
            if (at >= offsets[j] + bytes[j] || offsets[j] >= at + bytes[i]) continue;
            at = (offsets[j] + bytes[j] + alignment - 1) / alignment * alignment;
            moved = true;
        }
    }
    return at;
}

uint64_t lfuse__plan_layout(int nbuffers, const uint64_t *bytes, const int *first, const int *last,
                            uint64_t alignment, uint64_t *offsets)
{
    uint64_t peak = 0;
    int i;

    for (i = 0; i < nbuffers; i++) {
        offsets[i] = 0;
        if (!bytes[i]) continue;
        offsets[i] = lowest_offset(bytes, first, last, alignment, offsets, i);
        if (offsets[i] + bytes[i] > peak) peak = offsets[i] + bytes[i];
    }
    return peak;
}
