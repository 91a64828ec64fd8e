/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices of a product for actual sizes and strides. For common/run/ alone. */
#ifndef COMMON_RUN_INSTANTIATE_MATRIX_H
#define COMMON_RUN_INSTANTIATE_MATRIX_H

#include "common/run/instantiate/loop.h"

/* Where a batch of matrices lies and how it is walked: the axes of the batch, if any, then rows and columns. */
typedef struct lfuse__matrix {
    lfuse__walk walk;
    int rank;
    int64_t extents[LFUSE_MAX_RANK];
    bool even;       /* all matrices are `stride` elements apart, in the order of the batch */
    int64_t stride;  /* 0: one matrix for all of the batch, or no batch; never negative */
    bool transposed; /* each is stored as [columns, rows] */
    int64_t ld;      /* elements from one stored row to the next */
} lfuse__matrix;

/* Strides of rows and columns. */
static inline const int64_t *lfuse__matrix_strides(const lfuse__matrix *m)
{
    return m->walk.strides + m->rank - 2;
}

/* `rank` axes: those of `extents` but for the last two, rows and columns. */
lfuse_status lfuse__matrix_open(lfuse_instance *in, const lfuse__operand *o, int rank, const int64_t *extents,
                                int64_t rows, int64_t columns, lfuse__stand_ins *copies, lfuse__matrix *m);
/* Matrices of the batch. ERR_OVERFLOW. */
lfuse_status lfuse__matrix_count(int rank, const int64_t *extents, int64_t *count);
/*
 * Whether it is even and has a leading dimension, transposed or not; fills both. `transposed` is tried first where it
 * holds.
 */
bool lfuse__matrix_is_stored(lfuse__matrix *m, bool may_transpose, bool transposed);
/* Plain matrices of the same extents in scratch, behind each other; one where `m` is one for all of the batch. */
lfuse_status lfuse__matrix_like(lfuse_instance *in, const lfuse__matrix *m, lfuse__matrix *plain);
lfuse_status lfuse__matrix_copy(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__matrix *to,
                                const lfuse__matrix *from);
/* What is not stored so becomes a copy that is, made by an operation of its own. */
lfuse_status lfuse__matrix_straighten(lfuse__instantiation *ctx, const lfuse__step *step, bool transposed,
                                      lfuse__matrix *m);

#endif
