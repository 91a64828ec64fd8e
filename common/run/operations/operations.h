/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of an instance, whatever their kind, and what is theirs: buffers, reports. For common/run/ alone. */
#ifndef COMMON_RUN_OPERATIONS_OPERATIONS_H
#define COMMON_RUN_OPERATIONS_OPERATIONS_H

#include "common/run/instance.h"

/* ---- operations.c ---- */
typedef lfuse_status lfuse__set_args_function(lfuse_instance *in, lfuse__operation *op, const lfuse__slot *slots);
typedef lfuse_status lfuse__launch_function(lfuse_instance *in, const lfuse__operation *op, lfuse_stream *s);

/*
 * What a kind of operation does. The file that adds operations of the kind has its row. Of the functions, the first
 * three are always there; NULL in place of another: there is nothing to do.
 */
typedef struct lfuse__operation_row {
    lfuse__set_args_function *set_args; /* takes addresses and numbers of a run; nothing is launched yet */
    lfuse__launch_function *launch;     /* submits the operation with the arguments that are set */
    void (*destroy)(lfuse__operation *op); /* frees what `as` points to */
    lfuse_status (*prime)(lfuse_instance *in, lfuse__operation *op); /* fills tables for the lists of the instance */
    void (*forget)(lfuse__operation *op); /* tables on the device may hold something else than the last run left */
    bool (*settled)(const lfuse__operation *op); /* whether a run launches what the last one did; NULL: always */
    int launches; /* host time of a launch, counted in launches of one of the library's kernels; 0: as its step's */
} lfuse__operation_row;

/* Destroys all operations but the first `count`. */
void lfuse__drop_operations(lfuse_instance *in, int count);
/* Adds an operation of the step, as the last one; its `as` is the caller's to set. */
lfuse_status lfuse__add_operation(lfuse_instance *in, const lfuse__step *step, const lfuse__operation_row *row,
                                  lfuse__operation **operation);
/* Adds a buffer of the instance, in scratch or in prepared memory; *index is its number. */
lfuse_status lfuse__add_buffer(lfuse_instance *in, lfuse__place place, uint64_t bytes, int *index);
/* Notes that the operation that was added last uses the memory, where that is a buffer. */
void lfuse__use_memory(lfuse_instance *in, const lfuse__memory *m);
/* Returns in *at where the memory of an operand begins in this run; all zero: the operand has no memory. */
void lfuse__memory_at(const lfuse_instance *in, const lfuse__memory *m, lfuse__location *at);
/* The same of an element of it. */
void lfuse__start_at(const lfuse_instance *in, const lfuse__start *p, lfuse__location *at);
/* Returns whether operands in scratch lie in this range. */
bool lfuse__is_scratch(const lfuse_instance *in, const lfuse__range *r);
/* From now on operands in scratch lie in this range. Returns whether they lay elsewhere before. */
bool lfuse__use_scratch(lfuse_instance *in, const lfuse__range *scratch);
/*
 * Of the operations `first` to `end` - 1, those that prepare or those that do not take the addresses and numbers of a
 * run, as the instance has them now.
 */
lfuse_status lfuse__operations_set_args(lfuse_instance *in, bool prepare, int first, int end, const lfuse__slot *slots);
/* Submits the same operations in order. After an error *failed is the number of the one that could not be submitted. */
lfuse_status lfuse__operations_launch(lfuse_instance *in, bool prepare, int first, int end, lfuse_stream *s,
                                      int *failed);

/* ---- look_ups.c ---- */
/*
 * Completes an operation whose class is known: how many buffers it has, and, where its kernel reads indices from
 * memory, where it reports those that are out of range.
 */
lfuse_status lfuse__kernel_op_reports(lfuse_instance *in, const lfuse__step *step, lfuse__kernel_op *op);

#endif
