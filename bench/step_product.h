/* SPDX-License-Identifier: Apache-2.0 */
/* Products of doubles, and other work of the host's side of a training step, on all cores. */
#ifndef BENCH_STEP_PRODUCT_H
#define BENCH_STEP_PRODUCT_H

#include <stdint.h>

#include "libfuse/status.h"

/* Calls task(context, i) for every i from 0 to count - 1, each once, in several threads. */
void bench_in_threads(int64_t count, void (*task)(void *context, int64_t i), void *context);

/* A matrix within an array: element (i, j) is at[i * row + j * column]. */
typedef struct bench_matrix {
    const double *at;
    int64_t row, column;
} bench_matrix;

/* c = a b, a of m rows and k columns, b of k rows and n columns, c contiguous. ERR_MEMORY. */
lfuse_status bench_product(int64_t m, int64_t n, int64_t k, bench_matrix a, bench_matrix b, double *c);

#endif
