/* SPDX-License-Identifier: Apache-2.0 */
/* Our copy kernel: the plan of a graph whose output is its input, between pairs of contiguous tensors of any shape. */
#ifndef BENCH_COPIER_H
#define BENCH_COPIER_H

#include "bench/bench.h"

typedef struct bench_copier bench_copier;

/* One instance for each of `count` pairs. */
lfuse_status bench_copier_create(bench_device *d, int count, lfuse_tensor *const *to, lfuse_tensor *const *from,
                                 bench_copier **copier);
lfuse_status bench_copier_run(bench_copier *copier, int pair);
void bench_copier_destroy(bench_copier *copier);

/* The same as a variant "kernel-copy": pair i for buffer set i. */
lfuse_status bench_add_copy(bench_device *d, bench_case *c, lfuse_tensor *const *to, lfuse_tensor *const *from);

#endif
