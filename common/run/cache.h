/* SPDX-License-Identifier: Apache-2.0 */
/* What common/run/ keeps on a device: plan bodies, and the plans behind immediate calls. For common/run/ alone. */
#ifndef COMMON_RUN_CACHE_H
#define COMMON_RUN_CACHE_H

#include <pthread.h>

#include "common/base/hash.h"
#include "common/run/run.h"

/* Types, transposes of both operands, beta. */
enum { LFUSE__GEMM_PLANS = 16 * 2 * 2 * 2 * 2 };

/* The plan of a graph that was evaluated. */
enum { LFUSE__EVALUATED = 64 };
typedef struct lfuse__evaluated {
    void *key;
    size_t length;
    lfuse__hash hash;
    lfuse_plan *plan; /* NULL: the place is free */
    int users; /* calls that run it now */
    uint64_t used;
} lfuse__evaluated;

typedef struct lfuse__plan_cache {
    lfuse__body_cache bodies;
    pthread_mutex_t lock; /* of what follows */
    uint64_t clock;
    lfuse_plan *gemms[LFUSE__GEMM_PLANS]; /* each with a reference; they go when the device is closed */
    lfuse__evaluated evaluated[LFUSE__EVALUATED];
    struct lfuse__numbers *numbers; /* foreach_numbers.c */
} lfuse__plan_cache;

lfuse_status lfuse__plan_cache_get(lfuse_device *dev, lfuse__plan_cache **cache);

/* A call that is run at once: which plan, and what else it does. */
typedef struct lfuse__immediate {
    const void *key; /* keys of graphs' texts begin with '(' */
    size_t length;
    const lfuse_graph *graph; /* NULL: make(data) makes it, where the plan is not there; its mistakes come with it */
    lfuse_graph *(*make)(const void *data);
    lfuse_status (*before)(const void *data, lfuse_stream *stream); /* as for plan_run_after; may be NULL */
    const void *data;
} lfuse__immediate;
/* evaluate.c: does not pass its status to recording_note. */
lfuse_status lfuse__immediate_run(lfuse_stream *stream, const lfuse__immediate *call, const lfuse_binding *bindings,
                                  int count);
/* evaluate.c: frees what is there. */
void lfuse__evaluated_clear(lfuse__evaluated *e);

#endif
