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
    bool even;       /* from each matrix of the batch to the next one it is `stride` elements */
    int64_t stride;  /* 0: one matrix for all of the batch, or no batch; never negative */
    bool transposed; /* each is stored as [columns, rows] */
    int64_t ld;      /* elements from one stored row to the next */
} lfuse__matrix;

/* Returns the strides of rows and columns, in elements. */
static inline const int64_t *lfuse__matrix_strides(const lfuse__matrix *m)
{
    return m->walk.strides + m->rank - 2;
}

/*
 * Finds how the matrices of an operand are walked. They have `rank` axes: those of the batch, which are the first of
 * `extents`, then `rows` and `columns`.
 */
lfuse_status lfuse__matrix_open(lfuse_instance *in, const lfuse__operand *o, int rank, const int64_t *extents,
                                int64_t rows, int64_t columns, lfuse__stand_ins *copies, lfuse__matrix *m);
/* Computes how many matrices the batch has, 1 where there is none. ERR_OVERFLOW. */
lfuse_status lfuse__matrix_count(int rank, const int64_t *extents, int64_t *count);
/*
 * Returns whether the batch is even and its matrices have a leading dimension; sets `transposed` and `ld` then. With
 * `transposed`, matrices stored transposed are tried first; with `may_transpose`, last.
 */
bool lfuse__matrix_is_stored(lfuse__matrix *m, bool may_transpose, bool transposed);
/* Adds a buffer for contiguous matrices of the same extents; for one, where `m` is the same for all of the batch. */
lfuse_status lfuse__matrix_like(lfuse_instance *in, const lfuse__matrix *m, lfuse__matrix *plain);
/* Adds a kernel that copies matrices. */
lfuse_status lfuse__matrix_copy(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__matrix *to,
                                const lfuse__matrix *from);
/* Where the matrices are not stored as libraries take them, adds a copy that is, and has `m` describe the copy. */
lfuse_status lfuse__matrix_straighten(lfuse__instantiation *ctx, const lfuse__step *step, bool transposed,
                                      lfuse__matrix *m);

#endif
