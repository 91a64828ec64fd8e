/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/timer.h"

#include <stdlib.h>
#include <time.h>

double bench_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

double bench_timer_resolution(void)
{
    double best = 1e6;
    for (int i = 0; i < 100; i++) {
        double start = bench_now_us(), end;
        do end = bench_now_us();
        while (end <= start);
        if (end - start < best) best = end - start;
    }
    return best;
}

static double processor_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

bool bench_settle(double most_us)
{
    enum { QUIET = 2 };
    const struct timespec pause = {0, 5000000};
    const double start = bench_now_us(), idle_share = 0.1;
    bool busy = false;
    for (int quiet = 0; quiet < QUIET && bench_now_us() - start < most_us;) {
        const double used = processor_us(), began = bench_now_us();
        nanosleep(&pause, NULL);
        const bool idle = processor_us() - used < idle_share * (bench_now_us() - began);
        quiet = idle ? quiet + 1 : 0;
        busy |= !idle;
    }
    return busy;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *samples, int n, double q)
{
    qsort(samples, (size_t)n, sizeof *samples, ascending);
    return samples[(int)(q * (n - 1) + 0.5)];
}
