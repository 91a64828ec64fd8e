/* SPDX-License-Identifier: Apache-2.0 */
/* Operands and loops of a step for actual sizes and strides. For common/run/ alone. */
#ifndef COMMON_RUN_INSTANTIATE_LOOP_H
#define COMMON_RUN_INSTANTIATE_LOOP_H

#include "common/run/instantiate/instantiate.h"

/* A contiguous copy that a step uses in place of a bound tensor, whose strides do not allow the shape that it wants. */
typedef struct lfuse__stand_in {
    int name;        /* the tensor's */
    lfuse_type type;
    int buffer;      /* number of the instance's buffer that holds the copy */
    bool in, out;    /* it is filled before the step; it is stored back after the step */
} lfuse__stand_in;
/* Those of one step, one for each tensor at most. */
typedef struct lfuse__stand_ins {
    int count;
    lfuse__stand_in of[LFUSE__MAX_OPERANDS];
} lfuse__stand_ins;

/* A loop over the elements of a step, and how each operand is walked along it. */
typedef struct lfuse__tensor_loop {
    int rank, naxes; /* the last `naxes` axes are reduced */
    int64_t extents[LFUSE_MAX_RANK];
    int64_t rows, length, all; /* products of the extents: of the axes that are kept, of the reduced ones, of both */
    int nwalks;      /* operands of the step, in order */
    lfuse__walk walks[LFUSE__MAX_OPERANDS];
    lfuse__stand_ins copies;
} lfuse__tensor_loop;

/* ---- walk.c ---- */
/* Evaluates a size of the graph as an extent. ERR_BOUNDS: it is negative. */
lfuse_status lfuse__extent_of(const lfuse_instance *in, lfuse_size s, int64_t *extent);
/*
 * Finds how an operand is walked along a loop of these extents. Where a bound tensor has strides that do not allow the
 * operand's shape, the walk goes over a copy, which is noted in `copies`.
 *  - ERR_BOUNDS: an element lies outside of the memory, as slices with variable starts may.
 *  - ERR_SHAPE: the memory has not as many elements as the operand's shape.
 */
lfuse_status lfuse__walk_open(lfuse_instance *in, const lfuse__operand *o, int rank, const int64_t *extents,
                              lfuse__stand_ins *copies, lfuse__walk *w);
/* Returns the memory and the byte where the walk starts. */
lfuse__start lfuse__start_of(const lfuse__walk *w);
/* Add the operations that fill the copies before a step, and those that store them back after it. */
lfuse_status lfuse__stand_ins_fill(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__stand_ins *copies);
lfuse_status lfuse__stand_ins_empty(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__stand_ins *copies);

/* ---- loop.c ---- */
/* Evaluates the extents of a step's loop, and the walks of all operands. */
lfuse_status lfuse__loop_open(lfuse_instance *in, const lfuse__step *step, lfuse__tensor_loop *l);
/* Computes rows, length and all. ERR_OVERFLOW: they do not fit 64 bits. */
lfuse_status lfuse__loop_count(lfuse__tensor_loop *l);
/* Returns whether indices of the loop, or offsets of an operand, need 64 bits. */
bool lfuse__loop_is_large(const lfuse__tensor_loop *l);
/* Takes axes of extent 1 out; of a loop that reduces nothing, puts the axes in the order of what is written. */
void lfuse__loop_tidy(lfuse__tensor_loop *l);
/* Merges neighbouring axes that all operands walk as one; never a reduced axis with one that is kept. */
void lfuse__loop_merge(lfuse__tensor_loop *l);
/* Returns whether the walk goes over all reduced axes with one stride. */
bool lfuse__walk_is_single(const lfuse__tensor_loop *l, const lfuse__walk *w);

/* ---- rows.c ---- */
/* Sets how an operand of a kernel over rows is walked, by a loop that is merged: inner and fixed of `o`. */
void lfuse__row_operand(const lfuse__tensor_loop *l, const lfuse__walk *w, lfuse__kernel_operand *o);
/* Completes the class of a kernel by what its sizes decide. ERR_UNSUPPORTED: the next alternative is faster. */
lfuse_status lfuse__row_choose(const lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__tensor_loop *l,
                               lfuse__kernel_class *k);

#endif
