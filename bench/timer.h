/* SPDX-License-Identifier: Apache-2.0 */
/* The host's clock and order statistics. */
#ifndef BENCH_TIMER_H
#define BENCH_TIMER_H

#include <stdbool.h>

/* Microseconds of a monotonic clock. */
double bench_now_us(void);
/* Smallest step of that clock that can be seen. */
double bench_timer_resolution(void);
/*
 * Waits until no thread of the process has used a core for 10 ms, `most_us` at most; whether one had. What spins and is
 * denied a core for so long by other processes passes for idle.
 */
bool bench_settle(double most_us);
/* The q-quantile (0 ... 1) of n samples, n > 0; sorts them. */
double bench_quantile(double *samples, int n, double q);

#endif
