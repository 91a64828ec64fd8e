/* SPDX-License-Identifier: Apache-2.0 */
/* Immediate calls over lists: what common/api/foreach.c hands down. */
#ifndef COMMON_RUN_FOREACH_H
#define COMMON_RUN_FOREACH_H

#include "common/run/run.h"
#include "libfuse/foreach.h"

typedef enum lfuse__foreach {
#define LFUSE__FOREACH(name, ...) LFUSE__FOREACH_##name,
#include "common/run/foreach.def"
#undef LFUSE__FOREACH
    LFUSE__FOREACH_COUNT
} lfuse__foreach;

enum { LFUSE__FOREACH_OPERANDS = 4 };

/*
 * One call of a function: its operands in the order of foreach.def, those that are left out with the kind 0. Passes its
 * status to recording_note.
 */
lfuse_status lfuse__foreach_run(lfuse_stream *stream, lfuse__foreach function, lfuse_list *to,
                                const lfuse_operand *operands, int count);
/* The same with numbers as results: one for each member in a vector, or one in a tensor of rank 0. */
lfuse_status lfuse__foreach_reduce(lfuse_stream *stream, lfuse__foreach function, lfuse_tensor *to,
                                   const lfuse_operand *operands, int count);

/* ---- foreach_numbers.c: arrays of the host's numbers, in device memory, for common/run/foreach.c and cache.h ---- */
typedef struct lfuse__numbers lfuse__numbers;
/* For what they are used: an array that comes again in the same place is not written again. */
typedef struct lfuse__numbers_use {
    lfuse_stream *stream;
    lfuse_list *list;    /* one that the call works on */
    int place;           /* function and operand */
    lfuse_type type;     /* f32, f64, i32 or i64: how they lie in memory */
    lfuse_type rounding; /* the type to which each is rounded first, which may be narrower */
    int64_t count;
} lfuse__numbers_use;
/*
 * The place for `count` numbers, held until it is given back; *list is a list of them. Where the stream records they
 * are written now, to a place that belongs to the recording.
 */
lfuse_status lfuse__numbers_take(const lfuse__numbers_use *use, const double *numbers, lfuse__numbers **taken,
                                 lfuse_list **list);
/* Brings them to the device, in stream order, by kernels whose arguments they are: a capture holds them. */
lfuse_status lfuse__numbers_write(lfuse__numbers *n, lfuse_stream *stream, const double *numbers);
void lfuse__numbers_give_back(lfuse_device *dev, lfuse__numbers *n);
/* Frees all of them: the device is closed. */
void lfuse__numbers_clear(lfuse__numbers *first);

#endif
