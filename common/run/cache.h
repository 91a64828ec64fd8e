/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept on a device: plan bodies, and the plans behind immediate calls. For common/run/ alone. */
#ifndef COMMON_RUN_CACHE_H
#define COMMON_RUN_CACHE_H

#include <pthread.h>

#include "common/base/hash.h"
#include "common/run/run.h"

/* Plans of lfuse_gemm: for each type, a wide result or not, both transposes, beta or none. */
enum { LFUSE__GEMM_PLANS = 16 * 2 * 2 * 2 * 2 };

/* An entry of the cache of graphs that were run at once. */
enum { LFUSE__EVALUATED = 64 };
typedef struct lfuse__evaluated {
    void *key;        /* [length] bytes that tell the graph, the entry's own */
    size_t length;
    lfuse__hash hash; /* of the key */
    lfuse_plan *plan; /* NULL: the entry is free */
    int users;        /* calls that run the plan now: it is not evicted */
    uint64_t used;    /* the cache's clock when it was last asked for */
} lfuse__evaluated;

typedef struct lfuse__plan_cache {
    lfuse__body_cache bodies; /* with a lock of its own */
    pthread_mutex_t lock;     /* of what follows */
    uint64_t clock;           /* counts what is asked for */
    lfuse_plan *gemms[LFUSE__GEMM_PLANS]; /* each with a reference; they go when the device is closed */
    lfuse__evaluated evaluated[LFUSE__EVALUATED];
    struct lfuse__numbers *numbers; /* foreach_numbers.c: list of the arrays that are kept */
} lfuse__plan_cache;

/* Returns the device's cache, which is made at the first call and goes when the device is closed. */
lfuse_status lfuse__plan_cache_get(lfuse_device *dev, lfuse__plan_cache **cache);

/* A call that is run at once: its plan, and what else it does. */
typedef struct lfuse__immediate {
    const void *key; /* [length] bytes: equal keys have equal graphs. Keys that are graphs' texts begin with '(' */
    size_t length;
    const lfuse_graph *graph; /* NULL: make(data) makes it where the plan is not in the cache, also a faulty one */
    lfuse_graph *(*make)(const void *data);
    lfuse_status (*before)(const void *data, lfuse_stream *stream); /* as for lfuse__plan_run_after; may be NULL */
    const void *data; /* the first argument of both */
} lfuse__immediate;
/*
 * evaluate.c: runs the plan of the call, from the cache or made now. The caller passes the status to
 * lfuse__recording_note.
 */
lfuse_status lfuse__immediate_run(lfuse_stream *stream, const lfuse__immediate *call, const lfuse_binding *bindings,
                                  int count);
/* evaluate.c: frees what the entry has. */
void lfuse__evaluated_clear(lfuse__evaluated *e);

#endif
