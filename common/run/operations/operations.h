/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of an instance, whatever their kind, and what is theirs: buffers, reports. For common/run/ alone. */
#ifndef COMMON_RUN_OPERATIONS_OPERATIONS_H
#define COMMON_RUN_OPERATIONS_OPERATIONS_H

#include "common/run/instance.h"

/* ---- operations.c ---- */
typedef lfuse_status lfuse__place_function(lfuse_instance *in, lfuse__operation *op, const lfuse__slot *slots);
typedef lfuse_status lfuse__launch_function(lfuse_instance *in, const lfuse__operation *op, lfuse_stream *s);

/* What a kind of operation does; the file that adds operations of the kind has its row. NULL: nothing. */
typedef struct lfuse__operation_row {
    lfuse__place_function *place; /* takes addresses and numbers of this run: nothing is launched yet */
    lfuse__launch_function *launch;
    void (*destroy)(lfuse__operation *op);
    lfuse_status (*prime)(lfuse_instance *in, lfuse__operation *op); /* fills tables for the lists of the instance */
    void (*forget)(lfuse__operation *op); /* what others may have written since the last run */
    bool (*settled)(const lfuse__operation *op); /* whether a run launches what the last one did; NULL: always */
    int launches; /* host time to launch it, in launches of one of the library's kernels; 0: as its step's */
} lfuse__operation_row;

/* Takes all but the first `count` away. */
void lfuse__drop_operations(lfuse_instance *in, int count);
lfuse_status lfuse__add_operation(lfuse_instance *in, const lfuse__step *step, const lfuse__operation_row *row,
                                  lfuse__operation **operation);
/* A buffer of the instance's own. */
lfuse_status lfuse__add_buffer(lfuse_instance *in, lfuse__place place, uint64_t bytes, int *index);
/* Notes that the operation that is being added uses the memory. */
void lfuse__use_memory(lfuse_instance *in, const lfuse__memory *m);
/* Where the memory of an operand is in this run. */
void lfuse__memory_at(const lfuse_instance *in, const lfuse__memory *m, lfuse__location *at);
void lfuse__start_at(const lfuse_instance *in, const lfuse__start *p, lfuse__location *at);
bool lfuse__is_scratch(const lfuse_instance *in, const lfuse__range *r);
/* From now on operands in scratch lie in this range; true when they lay elsewhere. */
bool lfuse__use_scratch(lfuse_instance *in, const lfuse__range *scratch);
/* Of the operations `first` to `end` - 1, those that prepare or those that do not: at the addresses of a run. */
lfuse_status lfuse__operations_place(lfuse_instance *in, bool prepare, int first, int end, const lfuse__slot *slots);
/* The same are submitted, as they are placed; *failed: the one that could not be. */
lfuse_status lfuse__operations_launch(lfuse_instance *in, bool prepare, int first, int end, lfuse_stream *s,
                                      int *failed);

/* ---- look_ups.c ---- */
/* Completes an operation whose class is known: where it reports, and how many buffers it takes. */
lfuse_status lfuse__kernel_op_reports(lfuse_instance *in, const lfuse__step *step, lfuse__kernel_op *op);

#endif
