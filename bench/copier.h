/* SPDX-License-Identifier: Apache-2.0 */
/* Our copy kernel: the plan of a graph whose output is its input, between pairs of equal tensors of rank 1. */
#ifndef BENCH_COPIER_H
#define BENCH_COPIER_H

#include "bench/bench.h"

typedef struct bench_copier bench_copier;

/* One instance for each of `count` pairs. */
lfuse_status bench_copier_create(bench_device *d, lfuse_type type, int64_t elements, int count,
                                 lfuse_tensor *const *to, lfuse_tensor *const *from, bench_copier **copier);
lfuse_status bench_copier_run(bench_copier *copier, int pair);
void bench_copier_destroy(bench_copier *copier);

#endif
