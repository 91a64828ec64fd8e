/* SPDX-License-Identifier: Apache-2.0 */
/* Problems of the suite first, and one of them in a process of its own. */
#ifndef BENCH_FIRST_H
#define BENCH_FIRST_H

#include <stdbool.h>

#include "bench/bench.h"

typedef struct bench_first {
    enum { BENCH_FIRST_POINTWISE, BENCH_FIRST_GEMM, BENCH_FIRST_DENSE, BENCH_FIRST_BATCH,
           BENCH_FIRST_TRAIN } kind;
    int layers;
    int64_t m, n, k;
    const char *train; /* of the kind TRAIN: the problem of the suite train, a part of the text that was parsed */
} bench_first;

typedef struct bench_first_figures {
    double open_us, first_us, build_us; /* of the device; plan making (or the call) to its end; compiler and loader */
    unsigned long long compiles;
    bool ok;
} bench_first_figures;

/* first.c */
lfuse_status bench_first_parse(const char *problem, bench_first *p);
lfuse_status bench_first_run(const char *device, const bench_first *p, bench_first_figures *f);

/* suite_train.c: whether there is such a problem; its first step on a device that was opened for it. */
lfuse_status bench_train_check(const char *problem);
lfuse_status bench_train_first(bench_device *d, const char *problem, bench_first_figures *f);

/* suite_first.c: what the process does that the suite starts; its exit status. */
int bench_first_process(const char *device, const char *problem);

#endif
