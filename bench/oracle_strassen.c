/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by Strassen's algorithm: any element may be off by what the largest elements of both operands allow. Of rows
 * that are selected, their own largest element counts, which is no more than the matrix's: the bound is narrower then
 * than what is promised.
 */
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

/*
 * Products of a level are of factors up to 2 max|A| and 2 max|B|, and a quarter of the result is a sum of four at most,
 * whose k / 2 terms each are up to 2, 2, 4 and 4 times max|A| max|B|, 12 in all (Higham, Accuracy and Stability of
 * Numerical Algorithms, 23.2.2; Ballard, Benson, Druinsky, Lipshitz, Schwartz, Improving the Numerical Stability of
 * Fast Matrix Multiplication, 2016). Each factor is within h of what it should be. If all that adds up, it is at most
 * 12^L k / 2^L (2 h + h^2); if the roundings are independent (Higham, Mary, A New Approach to Probabilistic Rounding
 * Error Analysis, 2019), their squares add up, which are 4, 4, 16 and 16.
 */
double lfuse__oracle_strassen_storage(lfuse_type type, int levels, int64_t k)
{
    const double h = lfuse__oracle_unit(type);

    return h * sqrt(2 * pow(20, levels) * (double)k);
}

static double narrow_bound(lfuse_type type, int levels, int64_t k)
{
    const double h = lfuse__oracle_unit(type), u = lfuse__oracle_unit(LFUSE_F32);
    const double worst = pow(6, levels) * (double)k * (2 * h + h * h);
    const double likely = 8 * lfuse__oracle_strassen_storage(type, levels, k);

    /* Tensor cores cut off what they align, with one sign. */
    return fmin(worst, likely) + pow(3, levels) * (double)k * (sqrt((double)k) + (double)k / 8) * u;
}

double lfuse__oracle_strassen_bound(lfuse_type type, int levels, int64_t k, double a, double b)
{
    if (lfuse__oracle_register(type) != type) return narrow_bound(type, levels, k) * a * b;
    return pow(3, levels) * pow((double)k, 1.5) * lfuse__oracle_unit(type) * a * b;
}

void lfuse__oracle_strassen(lfuse_type type, int levels, int64_t m, int64_t n, int64_t k, const lfuse__pair *a,
                            const lfuse__pair *b, lfuse__pair *c)
{
    const lfuse_type in = lfuse__oracle_register(type);
    bool integers = true;
    const double of_a = largest(a, m * k, &integers), of_b = largest(b, k * n, &integers);
    const double bound = lfuse__oracle_strassen_bound(type, levels, k, of_a, of_b);
    const double factor = pow(2, levels) * fmax(of_a, of_b);

    /* A factor has 2 terms a level on each side, a result 4: integers up to there are added without error. */
    if (integers && factor <= 1 / lfuse__oracle_unit(type) &&
        pow(8, levels) * (double)k * of_a * of_b <= 1 / lfuse__oracle_unit(in)) return;
    for (int64_t i = 0; i < m * n; i++)
        if (!(c[i].e >= bound)) c[i].e = bound;
}
