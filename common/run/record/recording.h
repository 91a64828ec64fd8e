/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of recordings share: the list of commands, and what is done to all of them. For record/ alone. */
#ifndef COMMON_RUN_RECORD_RECORDING_H
#define COMMON_RUN_RECORD_RECORDING_H

#include "common/run/instance.h"

/* A run of an instance. */
typedef struct lfuse__recorded_run {
    struct lfuse__recorded_run *following; /* the next run of the recording; NULL: this is the last one */
    size_t index, command;                 /* its number among the runs, and among the commands */
    lfuse_instance *instance;              /* one reference */
    int nnames;                            /* of its plan */
    lfuse__slot *slots;    /* [2 * nnames] what is bound, one reference each; room for what a replay binds instead */
    double *numbers;       /* [nnames][groups] of scalars with a number for each group; NULL: no list has groups */
    uint64_t *versions;    /* [nnames] of the lists, when the native graph was made */
    uint64_t generation;   /* of the instance when the run was last made ready */
    bool rebound;          /* the second half of `slots` is filled */
    lfuse_instance *next;  /* that takes the second half, one reference; NULL: `instance` takes it */
} lfuse__recorded_run;

/* A copy of bytes, or a fill. */
typedef struct lfuse__recorded_bytes {
    lfuse__range *to, *from; /* one reference each; from NULL: a fill */
    uint64_t to_offset, from_offset, bytes; /* offsets from the first byte of the range */
    uint64_t pattern;        /* of a fill, in its lowest `pattern_bytes` bytes */
    unsigned pattern_bytes;
} lfuse__recorded_bytes;

typedef struct lfuse__command {
    lfuse__recorded_run *run;    /* NULL: a copy or a fill */
    lfuse__recorded_bytes bytes;
} lfuse__command;

enum { LFUSE__VARIANTS = 7 /* and the present one: as many as a plan keeps instances of a stream */ };

/* The recording as it was when replays with other sizes left it. */
typedef struct lfuse__recorded_variant {
    lfuse_instance **instances; /* [nruns], one reference each */
    lfuse__native *native;      /* the graph of these; NULL: none was made */
} lfuse__recorded_variant;

struct lfuse_recording {
    lfuse_device *dev;   /* one reference */
    lfuse__arena memory; /* of the runs and their arrays */
    lfuse__command *commands;
    size_t count, capacity;
    lfuse__recorded_run *runs, **end; /* the first run, and where the next one goes */
    size_t nruns;
    lfuse_status status;      /* of the first refused run, or of what made the recording useless */
    lfuse__saved_error error; /* the message of `status` */
    lfuse__range *scratch;    /* of all runs, one reference; NULL: none needs any */
    lfuse_binding *bindings;  /* room for those of the run with most names and sizes */
    lfuse__native *native;    /* NULL until the recording is first replayed as a graph */
    bool changed;             /* the native graph does not hold the present slots */
    bool settled;             /* no instance has to serve two sets of strides */
    lfuse__recorded_variant variants[LFUSE__VARIANTS]; /* that which was left last comes first */
    int nvariants;
};

/* ---- record.c ---- */
/* Retains, or releases, the tensors and lists of `n` slots. */
void lfuse__slots_retain(const lfuse__slot *slots, int n);
void lfuse__slots_release(const lfuse__slot *slots, int n);
/* Copies the numbers by group that the first half of the slots has into the run's own array, which they then name. */
void lfuse__recorded_keep_numbers(lfuse__recorded_run *run);
/* Returns the binding of the name that has what the slot holds. */
lfuse_binding lfuse__recorded_binding(const lfuse__name *name, const lfuse__slot *slot);
/* Makes the recording useless where `status` is an error and the first one. Returns `status`. */
lfuse_status lfuse__recording_spoil(lfuse_recording *r, lfuse_status status);
/*
 * Makes all that the runs need before one of them is submitted to `s`: instances for the strides that are bound, and
 * scratch for the run that needs most. Does nothing where nothing has changed since the last time.
 */
lfuse_status lfuse__recording_ready(lfuse_recording *r, lfuse_stream *s);

/* ---- rebind.c ---- */
/*
 * Binds names and sizes of all runs anew. Either all runs take the bindings, or none does and an error is returned. For
 * sizes that are new, instances are made on the stream.
 */
lfuse_status lfuse__recording_rebind(lfuse_recording *r, lfuse_stream *s, const lfuse_binding *bindings, int count);

/* ---- record_variants.c ---- */
/*
 * Finds an instance of the run's plan for r->bindings[0 ... n - 1]. Looked at are, in this order,
 *  - the instance that the run has: run->next stays NULL then;
 *  - those that the variants have for this run;
 *  - those found for earlier runs by this rebinding.
 * Where none of them suits, a new one is made on the stream. run->next gets a reference.
 */
lfuse_status lfuse__variants_find(lfuse_recording *r, lfuse_stream *s, lfuse__recorded_run *run, int n);
/* Releases what lfuse__variants_find has found for the runs. */
void lfuse__variants_forget(lfuse_recording *r);
/*
 * Gives the runs the instances that were found for them, keeps the former ones as a variant, and takes up the graph of
 * the new ones where a variant has it. ERR_MEMORY: nothing has changed.
 */
lfuse_status lfuse__variants_take(lfuse_recording *r);
/* Frees all variants, and what was found. */
void lfuse__variants_free(lfuse_recording *r);

#endif
