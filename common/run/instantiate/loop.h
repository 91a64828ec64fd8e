/* SPDX-License-Identifier: Apache-2.0 */
/* Operands and loops of a step for actual sizes and strides. For common/run/ alone. */
#ifndef COMMON_RUN_INSTANTIATE_LOOP_H
#define COMMON_RUN_INSTANTIATE_LOOP_H

#include "common/run/instantiate/instantiate.h"

/* A bound tensor that a step sees through a contiguous copy, because its strides allow no other way. */
typedef struct lfuse__stand_in {
    int name;
    lfuse_type type;
    int buffer;   /* of the instance */
    bool in, out; /* made before the step; stored back after it */
} lfuse__stand_in;
typedef struct lfuse__stand_ins {
    int count;
    lfuse__stand_in of[LFUSE__MAX_OPERANDS];
} lfuse__stand_ins;

typedef struct lfuse__tensor_loop {
    int rank, naxes; /* naxes: reduced, the last ones; 0: none */
    int64_t extents[LFUSE_MAX_RANK];
    int64_t rows, length, all; /* products of the extents: of the axes that are kept, of the reduced ones, of both */
    int nwalks;
    lfuse__walk walks[LFUSE__MAX_OPERANDS];
    lfuse__stand_ins copies;
} lfuse__tensor_loop;

/* ---- walk.c ---- */
/* A size that has to be one: ERR_BOUNDS when it is negative. */
lfuse_status lfuse__extent_of(const lfuse_instance *in, lfuse_size s, int64_t *extent);
/*
 * An operand along a loop of these extents. ERR_BOUNDS when an element lies outside what is there (slices with variable
 * starts), ERR_SHAPE when the memory has not as many elements as the shape under which it is seen. Where a bound tensor
 * has strides that do not allow the shape, the walk goes over a copy, noted in `copies`.
 */
lfuse_status lfuse__walk_open(lfuse_instance *in, const lfuse__operand *o, int rank, const int64_t *extents,
                              lfuse__stand_ins *copies, lfuse__walk *w);
/* Where the walk starts. */
lfuse__start lfuse__start_of(const lfuse__walk *w);
/* The operations that fill the copies before a step, and store them back after it. */
lfuse_status lfuse__stand_ins_fill(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__stand_ins *copies);
lfuse_status lfuse__stand_ins_empty(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__stand_ins *copies);

/* ---- loop.c ---- */
lfuse_status lfuse__loop_open(lfuse_instance *in, const lfuse__step *step, lfuse__tensor_loop *l);
/* Fills rows, length and all. ERR_OVERFLOW. */
lfuse_status lfuse__loop_count(lfuse__tensor_loop *l);
/* Whether indices of the loop or of an operand need 64 bits. */
bool lfuse__loop_is_large(const lfuse__tensor_loop *l);
/* Axes of extent 1 go; those of a loop that reduces nothing are put in the order of what is written. */
void lfuse__loop_tidy(lfuse__tensor_loop *l);
/* Merges neighbours that all operands walk as one; never a reduced axis with one that is not. */
void lfuse__loop_merge(lfuse__tensor_loop *l);
/* Whether the walk goes over all reduced axes with one stride. */
bool lfuse__walk_is_single(const lfuse__tensor_loop *l, const lfuse__walk *w);

/* ---- rows.c ---- */
/* How an operand walks the rows of a loop that is merged. */
void lfuse__row_operand(const lfuse__tensor_loop *l, const lfuse__walk *w, lfuse__kernel_operand *o);
/* What sizes decide in the class of a kernel; ERR_UNSUPPORTED: they are left to the next alternative. */
lfuse_status lfuse__row_choose(const lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__tensor_loop *l,
                               lfuse__kernel_class *k);

#endif
