/* SPDX-License-Identifier: Apache-2.0 */
/* Immediate calls over lists: what common/api/foreach.c hands down. */
#ifndef COMMON_RUN_FOREACH_H
#define COMMON_RUN_FOREACH_H

#include "common/run/run.h"
#include "libfuse/foreach.h"

/* The functions of foreach.def. */
typedef enum lfuse__foreach {
#define LFUSE__FOREACH(name, ...) LFUSE__FOREACH_##name,
#include "common/run/foreach.def"
#undef LFUSE__FOREACH
    LFUSE__FOREACH_COUNT
} lfuse__foreach;

enum { LFUSE__FOREACH_OPERANDS = 4 };

/*
 * Calls a function: `count` operands in the order of foreach.def, results into the members of `to`. Passes its status
 * to lfuse__recording_note.
 */
lfuse_status lfuse__foreach_run(lfuse_stream *stream, lfuse__foreach function, lfuse_list *to,
                                const lfuse_operand *operands, int count);
/* The same with numbers as results: one for each member, in a vector, or one for the list, in a tensor of rank 0. */
lfuse_status lfuse__foreach_reduce(lfuse_stream *stream, lfuse__foreach function, lfuse_tensor *to,
                                   const lfuse_operand *operands, int count);

/* ---- foreach_numbers.c: arrays of the host's numbers, in device memory, for common/run/foreach.c and cache.h ---- */
typedef struct lfuse__numbers lfuse__numbers; /* memory for one array */
/* What an array is for: one that comes again for the same use is written only where it differs. */
typedef struct lfuse__numbers_use {
    lfuse_stream *stream;
    lfuse_list *list;    /* that the call works on */
    int operand;         /* the function's number times LFUSE__FOREACH_OPERANDS, and the operand's */
    lfuse_type type;     /* in memory: f32, f64, i32 or i64 */
    lfuse_type rounding; /* to which each number is rounded first; it may be narrower than `type` */
    int64_t count;
} lfuse__numbers_use;
/*
 * Finds or makes the memory for an array, which is held until it is given back; *list is a list of its elements. While
 * the stream records, the numbers are written now, to memory that the recording keeps.
 */
lfuse_status lfuse__numbers_take(const lfuse__numbers_use *use, const double *numbers, lfuse__numbers **taken,
                                 lfuse_list **list);
/* Writes the numbers in stream order, as arguments of launches, so that a stream that is captured holds them. */
lfuse_status lfuse__numbers_write(lfuse__numbers *n, lfuse_stream *stream, const double *numbers);
/* The call that took the memory needs it no longer. */
void lfuse__numbers_give_back(lfuse_device *dev, lfuse__numbers *n);
/* Frees a list of them. */
void lfuse__numbers_clear(lfuse__numbers *first);

#endif
