/* SPDX-License-Identifier: Apache-2.0 */
/* What common/run/ keeps on a device: plan bodies, and the plans behind lfuse_gemm. For common/run/ alone. */
#ifndef COMMON_RUN_CACHE_H
#define COMMON_RUN_CACHE_H

#include <pthread.h>

#include "common/run/run.h"

/* Types, transposes of both operands, beta. */
enum { LFUSE__GEMM_PLANS = 8 * 2 * 2 * 2 };

typedef struct lfuse__plan_cache {
    pthread_mutex_t lock;
    pthread_cond_t built;
    lfuse__body_entry *bodies;
    int nbodies;
    uint64_t clock;
    lfuse_plan *gemms[LFUSE__GEMM_PLANS]; /* each with a reference; they go when the device is closed */
} lfuse__plan_cache;

lfuse_status lfuse__plan_cache_get(lfuse_device *dev, lfuse__plan_cache **cache);

#endif
