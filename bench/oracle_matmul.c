/* SPDX-License-Identifier: Apache-2.0 */
/* Products: in double, in long double for f64; and |A||B| beside them, which the bound is made of. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"
#include "common/base/half.h"

/*
 * Of operands of 8 bits tensor cores keep 14 bits of what they add up, before sums of 128 products are added in f32: an
 * error that is as large for long sums as for short ones. Measured on an H100: 2^-9.8 of |A||B| at most, where no
 * element is negative; 2^-12.5 of normal ones. Integers below 2^13 are exact.
 */
#define FP8_CUT 0x1p-8
#define FP8_WHOLE 0x1p13

double lfuse__oracle_matmul_factor(lfuse_type type, int64_t k)
{
    const double root = 4 * sqrt((double)k + 2), growth = root > 8 ? root : 8;

    if (lfuse__oracle_register(type) == type) return growth * lfuse__oracle_unit(type);
    /* Tensor cores cut off what they align, once for every 16 products: that error has one sign and grows with k. */
    return (2 * growth + (double)k / 8) * lfuse__oracle_unit(LFUSE_F32) + (lfuse__is_fp8(type) ? FP8_CUT : 0);
}

lfuse_type lfuse__oracle_matmul_type(lfuse_type a, lfuse_type b)
{
    return a == b || (lfuse__is_fp8(a) && lfuse__is_fp8(b)) ? a : LFUSE_F32;
}

/*
 * What it adds that each operand is cut to 10 bits behind the point, which is what tensor cores do, and more than to
 * round them would.
 */
#define TF32_CUT 0x1p-10
double lfuse__oracle_tf32_factor(int64_t k)
{
    return lfuse__oracle_matmul_factor(LFUSE_F16, k) + 2 * TF32_CUT + TF32_CUT * TF32_CUT;
}

typedef double two __attribute__((vector_size(16)));
enum { ROWS = 4, COLUMNS = 4 };

/* c = a b, row-major; a four by four tile of c stays in registers over the whole of k. */
static lfuse_status multiply(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c)
{
    double *panel = malloc((size_t)(k ? k : 1) * COLUMNS * sizeof *panel);
    int64_t i, j, p;
    int r, s;

    if (!panel) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a product of inner extent %lld", (long long)k);
    for (j = 0; j < n; j += COLUMNS) {
        for (p = 0; p < k; p++)
            for (s = 0; s < COLUMNS; s++) panel[p * COLUMNS + s] = j + s < n ? b[p * n + j + s] : 0;
        for (i = 0; i < m; i += ROWS) {
            const double *row[ROWS];
            two sums[ROWS][COLUMNS / 2];
            memset(sums, 0, sizeof sums);
            for (r = 0; r < ROWS; r++) row[r] = a + (i + r < m ? i + r : i) * k;
            for (p = 0; p < k; p++) {
                two left, right;
                memcpy(&left, panel + p * COLUMNS, sizeof left);
                memcpy(&right, panel + p * COLUMNS + 2, sizeof right);
                for (r = 0; r < ROWS; r++) {
                    const two factor = {row[r][p], row[r][p]};
                    sums[r][0] += factor * left;
                    sums[r][1] += factor * right;
                }
            }
            for (r = 0; r < ROWS && i + r < m; r++)
                for (s = 0; s < COLUMNS && j + s < n; s++) c[(i + r) * n + j + s] = sums[r][s / 2][s % 2];
        }
    }
    free(panel);
    return LFUSE_OK;
}

/* Slow and wide: f64 is judged in this. */
static lfuse_status multiply_wide(int64_t m, int64_t n, int64_t k, const lfuse__pair *a, const lfuse__pair *b,
                                  lfuse__pair *c)
{
    long double *row = malloc((size_t)(n ? n : 1) * sizeof *row);
    int64_t i, j, p;

    if (!row) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a row of %lld elements", (long long)n);
    for (i = 0; i < m; i++) {
        for (j = 0; j < n; j++) row[j] = 0;
        for (p = 0; p < k; p++)
            for (j = 0; j < n; j++) row[j] += a[i * k + p].v * b[p * n + j].v;
        for (j = 0; j < n; j++) c[i * n + j].v = row[j];
    }
    free(row);
    return LFUSE_OK;
}

/* What is known of a matrix. */
typedef struct facts {
    bool integers, errors; /* every element is an integer without error; some element has an error */
} facts;

static facts look(const lfuse__pair *x, int64_t count)
{
    facts f = {true, false};
    int64_t i;

    for (i = 0; i < count; i++) {
        if (x[i].e > 0) f.errors = true;
        if (x[i].e > 0 || x[i].v != truncl(x[i].v)) f.integers = false;
    }
    return f;
}

static void take(const lfuse__pair *x, int64_t count, bool sizes, bool errors, double *out)
{
    int64_t i;

    for (i = 0; i < count; i++) {
        out[i] = sizes ? (double)fabsl(x[i].v) : (double)x[i].v;
        if (errors) out[i] += x[i].e;
    }
}

/* The largest of the finite elements, with its error. */
static long double largest(const lfuse__pair *x, int64_t count)
{
    long double most = 0;
    int64_t i;

    for (i = 0; i < count; i++)
        if (isfinite(x[i].v) && isfinite(x[i].e) && fabsl(x[i].v) + x[i].e > most) most = fabsl(x[i].v) + x[i].e;
    return most;
}

/* Whether an error is INFINITY in one of `count` elements, `step` apart. */
static bool any_open(const lfuse__pair *x, int64_t count, int64_t step)
{
    int64_t i;

    for (i = 0; i < count; i++)
        if (isinf(x[i * step].e)) return true;
    return false;
}

typedef struct bounds {
    lfuse_type type;
    double factor, underflow;
    bool integers;
    bool overflows; /* a sum of products of finite elements may be infinite */
} bounds;

static lfuse__pair element(const bounds *b, long double v, double sizes, double widened)
{
    const lfuse_type in = lfuse__oracle_register(b->type);
    lfuse__pair x = {v, 0};

    if (b->integers && widened <= (lfuse__is_fp8(b->type) ? FP8_WHOLE : 1 / lfuse__oracle_unit(in))) return x;
    if (isinf(v) && b->overflows) x.e = INFINITY; /* it may meet an infinity of the other sign */
    if (!isfinite(v)) return x;
    if (isinf(lfuse__oracle_overflow(in, (lfuse__pair){widened, 0}).v) || !isfinite(widened)) {
        x.e = INFINITY; /* a partial sum may be infinite */
        return x;
    }
    x.e = 1.01 * (b->factor * widened + (widened - sizes) + 1e-15 * widened + b->underflow);
    return lfuse__oracle_overflow(in, x);
}

lfuse_status lfuse__oracle_matmul(lfuse_type type, bool tf32, int64_t m, int64_t n, int64_t k, const lfuse__pair *a,
                                  const lfuse__pair *b, lfuse__pair *c)
{
    const lfuse_type in = lfuse__oracle_register(type);
    const facts of_a = look(a, m * k), of_b = look(b, k * n);
    const bool whole = !tf32 || (largest(a, m * k) <= 1 / TF32_CUT && largest(b, k * n) <= 1 / TF32_CUT);
    const bounds limits = {type, tf32 ? lfuse__oracle_tf32_factor(k)
                                      : lfuse__oracle_matmul_factor(type, k),
                           (double)k * lfuse__oracle_ulp(in, 0, 0), of_a.integers && of_b.integers && whole,
                           isinf(lfuse__oracle_overflow(in, (lfuse__pair){k * largest(a, m * k) * largest(b, k * n),
                                                                          0}).v)};
    const bool errors = of_a.errors || of_b.errors;
    double *x = malloc((size_t)(m * k + 1) * sizeof *x), *y = malloc((size_t)(k * n + 1) * sizeof *y);
    double *value = malloc((size_t)(m * n + 1) * sizeof *value), *sizes = malloc((size_t)(m * n + 1) * sizeof *sizes);
    double *widened = errors ? malloc((size_t)(m * n + 1) * sizeof *widened) : sizes;
    bool *open = calloc((size_t)(n + 1), sizeof *open);
    lfuse_status status = LFUSE_OK;
    int64_t i, j;

    if (!x || !y || !value || !sizes || !widened || !open) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "no memory for a product of %lld x %lld x %lld", (long long)m,
                              (long long)n, (long long)k);
        goto free_all;
    }
    if (type == LFUSE_F64) {
        status = multiply_wide(m, n, k, a, b, c);
    } else {
        take(a, m * k, false, false, x);
        take(b, k * n, false, false, y);
        status = multiply(m, n, k, x, y, value);
        for (i = 0; i < m * n && !status; i++) c[i].v = value[i];
    }
    if (status) goto free_all;
    take(a, m * k, true, false, x);
    take(b, k * n, true, false, y);
    if ((status = multiply(m, n, k, x, y, sizes))) goto free_all;
    if (errors) {
        take(a, m * k, true, true, x);
        take(b, k * n, true, true, y);
        if ((status = multiply(m, n, k, x, y, widened))) goto free_all;
        for (j = 0; j < n; j++) open[j] = any_open(b + j, k, n);
    }
    for (i = 0; i < m; i++) {
        const bool row_open = errors && any_open(a + i * k, k, 1);
        for (j = 0; j < n; j++) {
            lfuse__pair *to = &c[i * n + j];
            *to = row_open || open[j] ? (lfuse__pair){to->v, INFINITY}
                                      : element(&limits, to->v, sizes[i * n + j], widened[i * n + j]);
        }
    }

free_all:
    free(open);
    if (errors) free(widened);
    free(sizes);
    free(value);
    free(y);
    free(x);
    return status;
}
