/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a whole product by a random vector of +1 and -1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "bench/oracle_internal.h"
#include "common/base/error.h"

typedef struct matrix {
    lfuse_type type;
    const void *data;
    int64_t rows, columns;
    bool transpose; /* stored [columns, rows] */
} matrix;

static double get(const matrix *x, int64_t row, int64_t column)
{
    return lfuse__data_get(x->type, x->data, x->transpose ? column * x->rows + row : row * x->columns + column);
}

/* Row by row: the product with `t`, and the length of the row. Returns the largest element. */
static double apply(const matrix *x, const double *t, double *product, double *length)
{
    double most = 0;
    int64_t i, j;

    memset(product, 0, (size_t)x->rows * sizeof *product);
    memset(length, 0, (size_t)x->rows * sizeof *length);
    for (i = 0; i < (x->transpose ? x->columns : x->rows); i++)
        for (j = 0; j < (x->transpose ? x->rows : x->columns); j++) {
            const int64_t row = x->transpose ? j : i, column = x->transpose ? i : j;
            const double value = get(x, row, column);
            product[row] += value * t[column];
            length[row] += value * value;
            most = fmax(most, fabs(value));
        }
    for (i = 0; i < x->rows; i++) length[i] = sqrt(length[i]);
    return most;
}

/* `normwise`: the deviation of a whole row by Strassen's algorithm, 0: it has none of its own. */
static void judge(const lfuse__oracle_whole *w, const double *got, const double *got_length, const double *expected,
                  const double *length, double length_b, double normwise, lfuse__oracle_report *r)
{
    const int64_t m = w->m, k = w->k;
    const double factor = w->tf32 ? lfuse__oracle_tf32_factor(k) : lfuse__oracle_matmul_factor(w->type, k);
    const double unit = lfuse__oracle_unit(w->result);
    int64_t i;

    memset(r, 0, sizeof *r);
    r->count = m;
    r->first_bad = -1;
    for (i = 0; i < m; i++) {
        /* (|A||B|)_ij is at most the product of the lengths of row i and column j, by Cauchy and Schwarz. */
        const double deviation = fmax(factor * length[i] * length_b, normwise) + unit * got_length[i];
        const double bound = 8 * deviation + 1e-15 * (double)k * length[i] * length_b;
        const double error = fabs(got[i] - expected[i]), ratio = error == 0 ? 0 : bound > 0 ? error / bound : INFINITY;
        if (error > r->max_error) r->max_error = error;
        if (bound > r->max_bound) r->max_bound = bound;
        if (ratio > r->max_ratio) r->max_ratio = ratio;
        if (error <= bound) continue;
        if (!r->bad++) {
            r->first_bad = i;
            r->got = got[i];
            r->expected = expected[i];
            r->bound = bound;
        }
    }
    if (r->bad)
        snprintf(r->text, sizeof r->text, "%lld of %lld rows bad, first %lld: C t is %.9g, A (B t) %.9g +- %.3g",
                 (long long)r->bad, (long long)m, (long long)r->first_bad, r->got, r->expected, r->bound);
}

static double normwise_of(const lfuse__oracle_whole *w, double of_a, double of_b)
{
    const double deviations = lfuse__oracle_register(w->type) == w->type ? 1 : 8; /* of narrow types the bound has 8 */
    if (!w->levels) return 0;
    return lfuse__oracle_strassen_bound(w->type, w->levels, w->k, of_a, of_b) / deviations * sqrt((double)w->n);
}

lfuse_status lfuse__oracle_product(const lfuse__oracle_whole *w, const void *a, const void *b, const void *c,
                                   uint64_t seed, lfuse__oracle_report *report)
{
    const int64_t m = w->m, n = w->n, k = w->k;
    const matrix left = {w->type, a, m, k, w->transpose_a}, right = {w->type, b, k, n, w->transpose_b};
    const matrix whole = {w->result, c, m, n, false};
    double *t = malloc((size_t)(n + 1) * sizeof *t), *bt = malloc((size_t)(k + 1) * sizeof *bt);
    double *of_b = malloc((size_t)(k + 1) * sizeof *of_b), *expected = malloc((size_t)(m + 1) * sizeof *expected);
    double *of_a = malloc((size_t)(m + 1) * sizeof *of_a), *got = malloc((size_t)(m + 1) * sizeof *got);
    double *of_c = malloc((size_t)(m + 1) * sizeof *of_c), length_b = 0;
    lfuse_status status = LFUSE_OK;
    lfuse__random random;
    int64_t i;

    if (t && bt && of_b && expected && of_a && got && of_c) {
        lfuse__random_seed(&random, seed);
        for (i = 0; i < n; i++) t[i] = lfuse__random_bits(&random) >> 63 ? 1 : -1;
        const double most_b = apply(&right, t, bt, of_b), most_a = apply(&left, bt, expected, of_a);
        apply(&whole, t, got, of_c);
        for (i = 0; i < k; i++) length_b += of_b[i] * of_b[i];
        judge(w, got, of_c, expected, of_a, sqrt(length_b), normwise_of(w, most_a, most_b), report);
    } else {
        status = lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for the vectors of a product of %lld x %lld x %lld",
                              (long long)m, (long long)n, (long long)k);
    }
    free(of_c);
    free(got);
    free(of_a);
    free(expected);
    free(of_b);
    free(bt);
    free(t);
    return status;
}
