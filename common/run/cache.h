/* SPDX-License-Identifier: Apache-2.0 */
/* What common/run/ keeps on a device: plan bodies, and the plans behind immediate calls. For common/run/ alone. */
#ifndef COMMON_RUN_CACHE_H
#define COMMON_RUN_CACHE_H

#include <pthread.h>

#include "common/base/hash.h"
#include "common/run/run.h"

/* Types, transposes of both operands, beta. */
enum { LFUSE__GEMM_PLANS = 16 * 2 * 2 * 2 };

/* The plan of a graph that was evaluated. */
enum { LFUSE__EVALUATED = 64 };
typedef struct lfuse__evaluated {
    char *text; /* of the graph; NULL: the place is free */
    size_t length;
    lfuse__hash hash;
    lfuse_plan *plan;
    int users; /* calls that run it now */
    uint64_t used;
} lfuse__evaluated;

typedef struct lfuse__plan_cache {
    pthread_mutex_t lock;
    pthread_cond_t built;
    lfuse__body_entry *bodies;
    int nbodies;
    uint64_t clock;
    lfuse_plan *gemms[LFUSE__GEMM_PLANS]; /* each with a reference; they go when the device is closed */
    lfuse__evaluated evaluated[LFUSE__EVALUATED];
} lfuse__plan_cache;

lfuse_status lfuse__plan_cache_get(lfuse_device *dev, lfuse__plan_cache **cache);
/* evaluate.c: frees what is there. */
void lfuse__evaluated_clear(lfuse__evaluated *e);

#endif
