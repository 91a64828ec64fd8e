/* SPDX-License-Identifier: Apache-2.0 */
/* The host's clock and order statistics. */
#ifndef BENCH_TIMER_H
#define BENCH_TIMER_H

/* Microseconds of a monotonic clock. */
double bench_now_us(void);
/* Smallest step of that clock that can be seen. */
double bench_timer_resolution(void);
/* The q-quantile (0 ... 1) of n samples, n > 0; sorts them. */
double bench_quantile(double *samples, int n, double q);

#endif
