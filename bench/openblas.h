/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system's OpenBLAS, loaded at run time where there is one: what a processor's product is compared with. It takes
 * its kernels and threads as the user has them: OPENBLAS_CORETYPE, OPENBLAS_NUM_THREADS. Without the first it may take
 * those of an old core on a processor that it does not know (in a virtual machine), so its word for the core belongs to
 * every figure.
 */
#ifndef BENCH_OPENBLAS_H
#define BENCH_OPENBLAS_H

#include <stdbool.h>

#include "libfuse/status.h"
#include "libfuse/types.h"

/* Loads it once in the process. ERR_LIBRARY: there is none; the message lists what was tried. */
lfuse_status bench_openblas_load(void);
/* Of a loaded one: its configuration, the core whose kernels it runs, and its threads, in words. */
const char *bench_openblas_note(void);
/*
 * c = a b, row-major and contiguous, of f32 or f64 (others: ERR_TYPE); turned operands are stored [k, m] and [n, k].
 * Extents fit in 32 bits (else ERR_SHAPE).
 */
lfuse_status bench_openblas_multiply(lfuse_type type, bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k,
                                     const void *a, const void *b, void *c);

#endif
