/* SPDX-License-Identifier: Apache-2.0 */
/* Chunk tables of lists (§8). Pure. */
#ifndef COMMON_RUN_LISTS_CHUNKS_H
#define COMMON_RUN_LISTS_CHUNKS_H

#include "common/kernels/kernel.h"

/*
 * Elements of a chunk: `most`, or so few that the compute units have work, `least` at least. `most` is
 * `least` times a power of 2.
 */
int64_t lfuse__chunk_length(int64_t elements, int64_t least, int64_t most, unsigned compute_units);
int64_t lfuse__chunk_count(int64_t members, const int64_t *sizes, int64_t length);
/* first[members + 1] alone, as of the next. */
void lfuse__chunk_firsts(int64_t members, const int64_t *sizes, int64_t length, uint64_t *first);
/* chunks[count]; first[members + 1]: the first chunk of each member, then the count. */
void lfuse__chunk_fill(int64_t members, const int64_t *sizes, int64_t length, lfuse__chunk *chunks, uint64_t *first);

#endif
