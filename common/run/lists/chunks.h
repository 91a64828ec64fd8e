/* SPDX-License-Identifier: Apache-2.0 */
/* Chunk tables of lists (§8). Pure. */
#ifndef COMMON_RUN_LISTS_CHUNKS_H
#define COMMON_RUN_LISTS_CHUNKS_H

#include "common/kernels/kernel.h"

/* Elements of a chunk, `most` (a segment times a power of 2) or so few that the device's units have work. */
int64_t lfuse__chunk_length(int64_t elements, int64_t most, unsigned compute_units);
/* Segments of rows and columns, each the work of a few items or of a team. */
int64_t lfuse__chunk_cells(int64_t cells, unsigned compute_units);
int64_t lfuse__chunk_count(int64_t members, const int64_t *sizes, int64_t length);
/* first[members + 1] alone, as of the next. */
void lfuse__chunk_firsts(int64_t members, const int64_t *sizes, int64_t length, uint64_t *first);
/* chunks[count]; first[members + 1]: the first chunk of each member, then the count. */
void lfuse__chunk_fill(int64_t members, const int64_t *sizes, int64_t length, lfuse__chunk *chunks, uint64_t *first);

#endif
