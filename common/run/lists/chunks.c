/* SPDX-License-Identifier: Apache-2.0 */
/* Chunk tables: equal shares of a list's elements for the work-groups. Pure functions of the members' sizes. */
#include "common/run/lists/chunks.h"

static int64_t chunks_of(int64_t elements, int64_t length)
{
    return elements / length + (elements % length != 0);
}

int64_t lfuse__chunk_length(int64_t elements, int64_t least, int64_t most, unsigned compute_units)
{
    const int64_t wanted = 8 * (int64_t)(compute_units ? compute_units : 1);
    int64_t length = most;

    while (length > least && elements / length < wanted) length /= 2;
    return length;
}

int64_t lfuse__chunk_count(int64_t members, const int64_t *sizes, int64_t length)
{
    int64_t count = 0, m;

    for (m = 0; m < members; m++) count += chunks_of(sizes[m], length);
    return count;
}

void lfuse__chunk_firsts(int64_t members, const int64_t *sizes, int64_t length, uint64_t *first)
{
    int64_t at = 0, m;

    for (m = 0; m < members; m++) {
        first[m] = (uint64_t)at;
        at += chunks_of(sizes[m], length);
    }
    first[members] = (uint64_t)at;
}

void lfuse__chunk_fill(int64_t members, const int64_t *sizes, int64_t length, lfuse__chunk *chunks, uint64_t *first)
{
    int64_t m, start;

    lfuse__chunk_firsts(members, sizes, length, first);
    for (m = 0; m < members; m++)
        for (start = 0; start < sizes[m]; start += length) {
            const int64_t left = sizes[m] - start;
            *chunks++ = (lfuse__chunk){ (uint32_t)m, (uint32_t)(left < length ? left : length), (uint64_t)start };
        }
}
