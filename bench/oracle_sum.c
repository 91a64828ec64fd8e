/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical sum: segments of 1024 elements; lane c of 128 adds elements c, c + 128 ... of the segment in order;
 * lanes fold by c ^ 64, c ^ 32 ... c ^ 1; segments fold pairwise by index. Absent elements are -0.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <stdlib.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

enum { SEGMENT = 1024, LANES = 128 };

#define SUM_IN(real)                                                                                                   \
    static real segment_##real(const lfuse__pair *x, int64_t count)                                                    \
    {                                                                                                                  \
        real lanes[LANES];                                                                                             \
        int64_t i;                                                                                                     \
        int c, half;                                                                                                   \
                                                                                                                       \
        for (c = 0; c < LANES; c++) lanes[c] = (real)-0.0;                                                             \
        for (i = 0; i < count; i++) lanes[i % LANES] = lanes[i % LANES] + (real)x[i].v;                                \
        for (half = LANES / 2; half; half /= 2)                                                                        \
            for (c = 0; c < half; c++) lanes[c] = lanes[c] + lanes[c + half];                                          \
        return lanes[0];                                                                                               \
    }                                                                                                                  \
    static lfuse_status sum_##real(const lfuse__pair *x, int64_t count, long double *sum)                              \
    {                                                                                                                  \
        int64_t n = (count + SEGMENT - 1) / SEGMENT, i;                                                                \
        real *partial = malloc((size_t)n * sizeof *partial);                                                           \
                                                                                                                       \
        if (!partial) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for %lld partial sums", (long long)n);          \
        for (i = 0; i < n; i++) {                                                                                      \
            const int64_t rest = count - i * SEGMENT;                                                                  \
            partial[i] = segment_##real(x + i * SEGMENT, rest < SEGMENT ? rest : SEGMENT);                             \
        }                                                                                                              \
        for (; n > 1; n = (n + 1) / 2)                                                                                 \
            for (i = 0; i < (n + 1) / 2; i++)                                                                          \
                partial[i] = 2 * i + 1 < n ? partial[2 * i] + partial[2 * i + 1] : partial[2 * i];                     \
        *sum = partial[0];                                                                                             \
        free(partial);                                                                                                 \
        return LFUSE_OK;                                                                                               \
    }
SUM_IN(float)
SUM_IN(double)

/* Additions that one element goes through. */
static int depth(int64_t count)
{
    int64_t segments;
    int d = SEGMENT / LANES + 7;

    for (segments = (count + SEGMENT - 1) / SEGMENT; segments > 1; segments = (segments + 1) / 2) d++;
    return d;
}

lfuse_status lfuse__oracle_sum(lfuse_type type, bool exact, const lfuse__pair *x, int64_t count, lfuse__pair *sum)
{
    const lfuse_type in = lfuse__oracle_register(type);
    long double total = 0, size = 0;
    double error = 0, growth;
    int64_t i;

    if (!count) {
        *sum = (lfuse__pair){0, 0};
        return LFUSE_OK;
    }
    for (i = 0; i < count; i++) {
        total += x[i].v;
        size += fabsl(x[i].v);
        error += x[i].e;
    }
    if (error == 0 && exact) {
        sum->e = 0;
        return in == LFUSE_F64 ? sum_double(x, count, &sum->v) : sum_float(x, count, &sum->v);
    }
    growth = depth(count) * lfuse__oracle_unit(in) * (exact ? 1 : 2);
    *sum = (lfuse__pair){total, 0};
    if (isinf(error))
        sum->e = INFINITY;
    else if (isfinite(total) && isinf(lfuse__oracle_overflow(in, (lfuse__pair){size, error}).v))
        sum->e = INFINITY; /* a partial sum may be infinite */
    else if (isfinite(total))
        sum->e = 1.01 * (error + growth * ((double)size + error)) + lfuse__oracle_ulp(in, 0, 0);
    *sum = lfuse__oracle_overflow(in, *sum);
    return LFUSE_OK;
}
