/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of recordings share: the list of commands, and what is done to all of them. */
#ifndef COMMON_RUN_RECORD_RECORDING_H
#define COMMON_RUN_RECORD_RECORDING_H

#include "common/run/instance.h"

typedef struct lfuse__recorded_run {
    struct lfuse__recorded_run *following; /* in the order of the commands */
    size_t index, command;                 /* its number among the runs, and among the commands */
    lfuse_instance *instance;
    int nnames;
    lfuse__slot *slots; /* hold references; slots[nnames ...] is the other half, room for what a replay binds anew */
    double *numbers;    /* [nnames][groups] of scalars with a number for each group, where there are groups */
    uint64_t *versions; /* [nnames] of the lists, when the native graph was made */
    uint64_t generation; /* of the instance when the run was last made ready */
    bool rebound;       /* the other half is filled */
    lfuse_instance *next; /* of other sizes, for the other half; NULL: the instance that is there does */
} lfuse__recorded_run;

typedef struct lfuse__recorded_bytes {
    lfuse__range *to, *from; /* from NULL: a fill */
    uint64_t to_offset, from_offset, bytes, pattern;
    unsigned pattern_bytes;
} lfuse__recorded_bytes;

typedef struct lfuse__command {
    lfuse__recorded_run *run;    /* NULL: a copy or a fill */
    lfuse__recorded_bytes bytes;
} lfuse__command;

enum { LFUSE__FORMS = 7 /* and the present one: as many as a plan keeps instances of a stream */ };

/* What replays with other sizes have left: the recording as it was then. */
typedef struct lfuse__recorded_form {
    lfuse_instance **instances; /* [nruns], one reference each */
    lfuse__native *native;
} lfuse__recorded_form;

struct lfuse_recording {
    lfuse_device *dev; /* one reference */
    lfuse__arena memory; /* of the runs and their arrays */
    lfuse__command *commands;
    size_t count, capacity;
    lfuse__recorded_run *runs, **end; /* the first one, and where the next one goes */
    size_t nruns;
    lfuse_status status; /* of the first refused run, or of what made the recording useless */
    lfuse__saved_error error;
    lfuse__range *scratch; /* NULL when no run needs any */
    lfuse_binding *bindings; /* room for those of the run with most names and sizes */
    lfuse__native *native;   /* NULL until first replayed that way */
    bool changed;            /* the native graph does not hold the present slots */
    bool settled;            /* no instance has to serve two sets of strides */
    lfuse__recorded_form forms[LFUSE__FORMS]; /* the last one left comes first */
    int nforms;
};

/* ---- record.c ---- */
void lfuse__slots_retain(const lfuse__slot *slots, int n);
void lfuse__slots_release(const lfuse__slot *slots, int n);
/* Numbers by group are the caller's: into memory of the recording's own, where they may be already. */
void lfuse__recorded_keep_numbers(lfuse__recorded_run *run);
/* The binding that repeats what the slot holds. */
lfuse_binding lfuse__recorded_binding(const lfuse__name *name, const lfuse__slot *slot);
/* The first error makes the recording useless. Returns `status`. */
lfuse_status lfuse__recording_spoil(lfuse_recording *r, lfuse_status status);
/*
 * Makes everything that the runs need before one of them is submitted: instances for the strides that are bound, and
 * scratch as large as the largest need. Does nothing where nothing has changed since the last time.
 */
lfuse_status lfuse__recording_ready(lfuse_recording *r, lfuse_stream *s);

/* ---- rebind.c ---- */
/* All runs take the new bindings, or none does. Instances of sizes that are new are made for the stream. */
lfuse_status lfuse__recording_rebind(lfuse_recording *r, lfuse_stream *s, const lfuse_binding *bindings, int count);

/* ---- record_forms.c ---- */
/*
 * Finds or makes an instance of the run for r->bindings[0 ... n - 1]: the one that it has, one that a form or another
 * run of the same plan has, or a new one. run->next is what is not the run's own, with a reference.
 */
lfuse_status lfuse__forms_find(lfuse_recording *r, lfuse_stream *s, lfuse__recorded_run *run, int n);
/* Drops what forms_find has found. */
void lfuse__forms_forget(lfuse_recording *r);
/* Runs take what was found for them, and the recording the graph of those instances, if it has one. All or nothing. */
lfuse_status lfuse__forms_take(lfuse_recording *r);
void lfuse__forms_free(lfuse_recording *r);

#endif
