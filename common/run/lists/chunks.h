/* SPDX-License-Identifier: Apache-2.0 */
/* Chunk tables: a list's elements, or its segments of rows and columns, in shares for work-groups. Pure functions. */
#ifndef COMMON_RUN_LISTS_CHUNKS_H
#define COMMON_RUN_LISTS_CHUNKS_H

#include "common/kernels/kernel.h"

/*
 * Returns the length of a chunk: `most`, or so much less that each compute unit has some chunks, but `least` at least.
 * `most` is `least` times a power of 2.
 */
int64_t lfuse__chunk_length(int64_t elements, int64_t least, int64_t most, unsigned compute_units);
/* Returns how many chunks members of these sizes have; the last chunk of a member may be shorter than the others. */
int64_t lfuse__chunk_count(int64_t members, const int64_t *sizes, int64_t length);
/* Fills first[0 ... members]: the number of the first chunk of each member, then the count of all chunks. */
void lfuse__chunk_firsts(int64_t members, const int64_t *sizes, int64_t length, uint64_t *first);
/* The same, and fills chunks[0 ... count - 1]: the member of each, its length and where it starts in the member. */
void lfuse__chunk_fill(int64_t members, const int64_t *sizes, int64_t length, lfuse__chunk *chunks, uint64_t *first);

#endif
