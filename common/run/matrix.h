/* SPDX-License-Identifier: Apache-2.0 */
/* The matrices of a product for actual sizes and strides. For common/run/ alone. */
#ifndef COMMON_RUN_MATRIX_H
#define COMMON_RUN_MATRIX_H

#include "common/run/loop.h"

/* Where it lies and how it is walked. */
typedef struct lfuse__matrix {
    lfuse__walk walk;
    int64_t extents[2];
    bool transposed; /* stored as [columns, rows] */
    int64_t ld;      /* elements from one stored row to the next */
} lfuse__matrix;

lfuse_status lfuse__matrix_open(lfuse_instance *in, const lfuse__operand *o, int64_t rows, int64_t columns,
                                lfuse__stand_ins *copies, lfuse__matrix *m);
/* Whether it has a leading dimension, transposed or not; fills both. `transposed` is tried first where it holds. */
bool lfuse__matrix_is_stored(lfuse__matrix *m, bool may_transpose, bool transposed);
/* A plain matrix of the same extents in scratch. */
lfuse_status lfuse__matrix_like(lfuse_instance *in, const lfuse__matrix *m, lfuse__matrix *plain);
lfuse_status lfuse__matrix_copy(lfuse_instance *in, const lfuse__step *step, const lfuse__matrix *to,
                                const lfuse__matrix *from);
/* What has no leading dimension becomes a copy that does, made by an operation of its own. */
lfuse_status lfuse__matrix_straighten(lfuse_instance *in, const lfuse__step *step, bool transposed, lfuse__matrix *m);

#endif
