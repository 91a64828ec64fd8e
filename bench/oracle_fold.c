/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds in the canonical order: segments of 1024 elements; lane c of 128 takes elements c, c + 128 ... of the segment
 * in order; lanes fold by c ^ 64, c ^ 32 ... c ^ 1; segments fold pairwise by index. Absent elements are the operator's
 * identity (of sums -0).
 */
#include <math.h>
#include <stdlib.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

enum { SEGMENT = 1024, LANES = 128 };

/* `op` is done in `real`; the left operand is the one of lower index. */
#define FOLD_IN(name, real, op, identity)                                                                              \
    static real segment_##name(const lfuse__pair *x, int64_t count)                                                    \
    {                                                                                                                  \
        real lanes[LANES];                                                                                             \
        int64_t i;                                                                                                     \
        int c, half;                                                                                                   \
                                                                                                                       \
        for (c = 0; c < LANES; c++) lanes[c] = (real)(identity);                                                       \
        for (i = 0; i < count; i++) lanes[i % LANES] = op(lanes[i % LANES], (real)x[i].v);                             \
        for (half = LANES / 2; half; half /= 2)                                                                        \
            for (c = 0; c < half; c++) lanes[c] = op(lanes[c], lanes[c + half]);                                       \
        return lanes[0];                                                                                               \
    }                                                                                                                  \
    static lfuse_status fold_##name(const lfuse__pair *x, int64_t count, long double *result)                          \
    {                                                                                                                  \
        int64_t n = (count + SEGMENT - 1) / SEGMENT, i;                                                                \
        real *partial = calloc((size_t)n, sizeof *partial);                                                            \
                                                                                                                       \
        if (!partial) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for %lld partial results", (long long)n);       \
        for (i = 0; i < n; i++) {                                                                                      \
            const int64_t rest = count - i * SEGMENT;                                                                  \
            partial[i] = segment_##name(x + i * SEGMENT, rest < SEGMENT ? rest : SEGMENT);                             \
        }                                                                                                              \
        for (; n > 1; n = (n + 1) / 2)                                                                                 \
            for (i = 0; i < (n + 1) / 2; i++)                                                                          \
                partial[i] = 2 * i + 1 < n ? op(partial[2 * i], partial[2 * i + 1]) : partial[2 * i];                  \
        *result = partial[0];                                                                                          \
        free(partial);                                                                                                 \
        return LFUSE_OK;                                                                                               \
    }
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
FOLD_IN(sum_float, float, PLUS, -0.0)
FOLD_IN(sum_double, double, PLUS, -0.0)
FOLD_IN(product_float, float, TIMES, 1)
FOLD_IN(product_double, double, TIMES, 1)
FOLD_IN(largest, long double, LARGER, -INFINITY)
FOLD_IN(smallest, long double, SMALLER, INFINITY)

/* Additions that one element goes through. */
static int depth(int64_t count)
{
    int64_t segments;
    int d = SEGMENT / LANES + 7;

    for (segments = (count + SEGMENT - 1) / SEGMENT; segments > 1; segments = (segments + 1) / 2) d++;
    return d;
}

/* Of integers, which wrap: any order gives the same. */
static lfuse__pair whole(bool product, const lfuse__pair *x, int64_t count)
{
    uint64_t total = product ? 1 : 0;
    long double size = product ? 1 : 0, widened = size;
    bool open = false;
    int64_t i;

    for (i = 0; i < count; i++) {
        const long double own = fabsl(x[i].v);
        total = product ? total * (uint64_t)(int64_t)x[i].v : total + (uint64_t)(int64_t)x[i].v;
        size = product ? size * own : size + own;
        widened = product ? widened * (own + x[i].e) : widened + own + x[i].e;
        open = open || x[i].e > 0;
    }
    if (!open) return (lfuse__pair){(int64_t)total, 0};
    if (isnan(widened) || widened >= 0x1p63L) return (lfuse__pair){(int64_t)total, INFINITY};
    return (lfuse__pair){(int64_t)total, (double)(widened - size) * 1.01};
}

static bool any_error(const lfuse__pair *x, int64_t count)
{
    int64_t i;

    for (i = 0; i < count; i++)
        if (x[i].e > 0) return true;
    return false;
}

/* A sum in which an element goes through `steps` additions. */
static lfuse__pair inexact_sum(lfuse_type in, double unit, int64_t steps, const lfuse__pair *x, int64_t count)
{
    long double total = 0, size = 0, finite = 0;
    lfuse__pair sum = {0, 0};
    double error = 0;
    int64_t i;

    for (i = 0; i < count; i++) {
        total += x[i].v;
        size += fabsl(x[i].v);
        if (isfinite(x[i].v)) finite += fabsl(x[i].v);
        error += x[i].e;
    }
    sum.v = total;
    if (isinf(error))
        sum.e = INFINITY;
    else if (!isnan(total) && isinf(lfuse__oracle_overflow(in, (lfuse__pair){finite + error, 0}).v))
        sum.e = INFINITY; /* a partial sum may be infinite */
    else if (isfinite(total))
        sum.e = 1.01 * (error + (double)steps * unit * ((double)size + error)) + lfuse__oracle_ulp(in, 0, 0);
    return lfuse__oracle_overflow(in, sum);
}

/* Every rounding is a factor of the result; one near the subnormal numbers is an error that the rest enlarges. */
static lfuse__pair inexact_product(lfuse_type in, double unit, const lfuse__pair *x, int64_t count)
{
    long double total = 1, widened = 1, most = 1;
    lfuse__pair product = {0, 0};
    int64_t i;

    for (i = 0; i < count; i++) {
        const long double size = fabsl(x[i].v) + x[i].e;
        total *= x[i].v;
        widened *= size;
        if (size > 1) most *= size;
    }
    product.v = total;
    if (isnan(total)) {
        for (i = 0; i < count; i++) /* certain when an operand is; else infinity met a zero, or nearly */
            if (isnan(x[i].v) && x[i].e == 0) return product;
        product.e = INFINITY;
        return product;
    }
    if (isnan(widened) || isinf(widened) || isinf(lfuse__oracle_overflow(in, (lfuse__pair){most, 0}).v))
        product.e = INFINITY; /* a partial product may be infinite */
    else
        product.e = 1.01 * ((double)(widened - fabsl(total)) + (double)widened * expm1((double)count * unit)) +
                    (double)count * (double)most * lfuse__oracle_ulp(in, 0, 0);
    return lfuse__oracle_overflow(in, product);
}

/* The largest number, or (sign -1) the smallest. */
static lfuse_status extreme(int sign, const lfuse__pair *x, int64_t count, lfuse__pair *result)
{
    long double low = -INFINITY, high = -INFINITY;
    int64_t i;

    result->e = 0;
    LFUSE__TRY(sign > 0 ? fold_largest(x, count, &result->v) : fold_smallest(x, count, &result->v));
    if (!any_error(x, count)) return LFUSE_OK;
    for (i = 0; i < count; i++) {
        if (isnan(x[i].v) && x[i].e == 0) { /* it wins whatever the others are */
            result->v = NAN;
            return LFUSE_OK;
        }
        if (isinf(x[i].e)) result->e = INFINITY;
        if (sign * x[i].v - x[i].e > low) low = sign * x[i].v - x[i].e;
        if (sign * x[i].v + x[i].e > high) high = sign * x[i].v + x[i].e;
    }
    if (isinf(result->e)) return LFUSE_OK;
    if (isinf(result->v))
        result->e = 0; /* no finite error reaches an infinity */
    else
        result->e = (double)(high - sign * result->v > sign * result->v - low ? high - sign * result->v
                                                                             : sign * result->v - low);
    return LFUSE_OK;
}

static bool beats(int sign, long double a, long double b)
{
    return isnan(a) ? !isnan(b) : sign * a > sign * b;
}

/* The first index of an extreme number; with errors, every index that may win is within the bound. */
static lfuse__pair winner(int sign, const lfuse__pair *x, int64_t count)
{
    long double certain = -INFINITY;
    int64_t best = 0, i;
    double far = 0;
    bool nan = false;

    for (i = 0; i < count; i++) {
        if (beats(sign, x[i].v, x[best].v)) best = i;
        if (isinf(x[i].e)) continue;
        if (isnan(x[i].v)) nan = true;
        if (sign * x[i].v - x[i].e > certain) certain = sign * x[i].v - x[i].e;
    }
    if (!any_error(x, count)) return (lfuse__pair){best, 0};
    for (i = 0; i < count; i++) {
        const bool may = isinf(x[i].e) || isnan(x[i].v) || (!nan && sign * x[i].v + x[i].e >= certain);
        if (may && fabs((double)(i - best)) > far) far = fabs((double)(i - best));
    }
    return (lfuse__pair){best, far};
}

/* Sums and products. */
static lfuse_status accumulate(bool product, lfuse_type in, bool exact, const lfuse__pair *x, int64_t count,
                               lfuse__pair *r)
{
    const double unit = lfuse__oracle_unit(in) * (exact ? 1 : 2);
    const bool certain = exact && !any_error(x, count);

    *r = (lfuse__pair){product ? 1 : 0, 0};
    if (!count) return LFUSE_OK;
    if (lfuse__oracle_floating(in) && certain) {
        if (in == LFUSE_F64) return product ? fold_product_double(x, count, &r->v) : fold_sum_double(x, count, &r->v);
        return product ? fold_product_float(x, count, &r->v) : fold_sum_float(x, count, &r->v);
    }
    if (!lfuse__oracle_floating(in)) *r = whole(product, x, count);
    else if (product) *r = inexact_product(in, unit, x, count);
    else *r = inexact_sum(in, unit, depth(count), x, count);
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_fold(lfuse__reduce op, lfuse_type type, bool exact, const lfuse__pair *x, int64_t count,
                                lfuse__pair *result)
{
    const lfuse__identity identity = lfuse__folds[op].identity;
    const int sign = identity == LFUSE__IDENTITY_LOWEST ? 1 : -1;
    lfuse__pair r;

    if (!count && lfuse__reduce_needs_elements(op))
        return lfuse__error(LFUSE_ERR_SHAPE, "oracle: the largest of no numbers");
    switch (lfuse__folds[op].type) {
    case LFUSE__FOLD_WIDE:
        LFUSE__TRY(accumulate(identity == LFUSE__IDENTITY_ONE, lfuse__oracle_register(type), exact, x, count, &r));
        break;
    case LFUSE__FOLD_SAME: LFUSE__TRY(extreme(sign, x, count, &r)); break;
    case LFUSE__FOLD_INDEX: r = winner(sign, x, count); break;
    }
    *result = r;
    return LFUSE_OK;
}
