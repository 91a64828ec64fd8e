/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by Strassen's algorithm: any element may be off by what the largest elements of both operands allow. Of rows
 * that are selected, their own largest element counts, which is no more than the matrix's: the bound is narrower then
 * than what is promised.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>

#include "bench/oracle_internal.h"

static double largest(const lfuse__pair *x, int64_t count, bool *integers)
{
    double most = 0;

    for (int64_t i = 0; i < count; i++) {
        const double size = (double)fabsl(x[i].v) + x[i].e;
        if (x[i].e > 0 || x[i].v != truncl(x[i].v)) *integers = false;
        if (size > most || isnan(size)) most = isnan(size) ? INFINITY : size;
    }
    return most;
}

double lfuse__oracle_strassen_bound(lfuse_type type, int levels, int64_t k, double a, double b)
{
    return pow(3, levels) * pow((double)k, 1.5) * lfuse__oracle_unit(type) * a * b;
}

void lfuse__oracle_strassen(lfuse_type type, int levels, int64_t m, int64_t n, int64_t k, const lfuse__pair *a,
                            const lfuse__pair *b, lfuse__pair *c)
{
    const lfuse_type in = lfuse__oracle_register(type);
    bool integers = true;
    const double of_a = largest(a, m * k, &integers), of_b = largest(b, k * n, &integers);
    const double bound = lfuse__oracle_strassen_bound(in, levels, k, of_a, of_b);

    /* A factor has 2 terms a level on each side, a result 4: integers up to there are added without error. */
    if (integers && pow(8, levels) * (double)k * of_a * of_b <= 1 / lfuse__oracle_unit(in)) return;
    for (int64_t i = 0; i < m * n; i++)
        if (!(c[i].e >= bound)) c[i].e = bound;
}
