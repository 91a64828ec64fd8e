/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/power.h"

#include <float.h>

#include "tests/support/main.h"

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* From 0 to 1. */
static double share(void)
{
    return (double)(next() >> 11) * 0x1p-53;
}

static double any_positive(void)
{
    const uint64_t bits = next() & 0x7fffffffffffffff;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a);
}

/* A pair of every kind: wide results, bases of all sizes, bases beside 1, what optimizers take. */
static void pair(int i, double *x, double *y)
{
    switch (i % 5) {
    case 0: *x = share() * 4, *y = (share() - 0.5) * 2000; break;
    case 1: *x = exp((share() - 0.5) * 1400), *y = (share() - 0.5) * 4; break;
    case 2: *x = 1 + (share() - 0.5) * 1e-3, *y = (share() - 0.5) * 1e6; break;
    case 3: *x = any_positive(), *y = (share() - 0.5) * 3; break;
    default: *x = (double)(next() % 100000), *y = i % 2 ? -0.8 : (double)(next() % 40) - 20; break;
    }
}

TEST_CASE("power")

/* libm's long double has 11 bits more than the result. */
TEST(against_libm)
{
    double x, y, worst = 0;
    int exponent;

    for (int i = 0; i < 300000; i++) {
        pair(i, &x, &y);
        const double p = lfuse__power(x, y);
        const long double r = powl(x, y);
        if (isnan(x)) continue;
        if (r > DBL_MAX) {
            ck_assert_msg(p >= DBL_MAX, "%a to the power of %a: %a", x, y, p);
        } else if (r < DBL_MIN) {
            ck_assert_msg(fabsl(p - r) <= 0x1p-1074L, "%a to the power of %a: %a", x, y, p);
        } else {
            frexpl(r, &exponent);
            const double error = (double)(fabsl(p - r) / ldexpl(1, exponent - 53));
            if (error > worst) worst = error;
            ck_assert_msg(error <= 1, "%a to the power of %a: %g ulp", x, y, error);
        }
    }
    ck_assert_double_gt(worst, 0.4); /* as a correctly rounded one has it: something was compared */
}

/* What C says of infinities, zeros, NaN and negative bases. */
TEST(special_cases)
{
    static const double x[] = {0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, INFINITY, -INFINITY, NAN, 0x1p-1074, -0x1p-1074,
                               DBL_MAX, -DBL_MAX};
    static const double y[] = {0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, INFINITY, -INFINITY, NAN, 0x1p53, 0x1p60,
                               -0x1p60, 0x1.fffffffffffffp52};

    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        for (size_t k = 0; k < sizeof y / sizeof *y; k++) {
            const double got = lfuse__power(x[i], y[k]), want = pow(x[i], y[k]);
            const bool close = same(got, want) || fabs(got - want) <= 0x1p-52 * fabs(want);
            ck_assert_msg(close, "%a to the power of %a: %a, not %a", x[i], y[k], got, want);
        }
}

TEST(exact_results)
{
    for (int a = 0; a < 200; a++)
        for (int n = 0; n < 8; n++) {
            const double want = lfuse__whole_power(a, n);
            if (want <= 0x1p53) ck_assert_msg(lfuse__power(a, n) == want, "%d to the power of %d", a, n);
        }
    for (int n = -1074; n < 1024; n++) ck_assert(lfuse__power(2, n) == ldexp(1, n));
}

/* The order of the products, from the lowest bit up. */
TEST(whole_powers)
{
    const double x = 0.999, x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
    const float f = 0.999f, f2 = f * f, f4 = f2 * f2;

    ck_assert(same(lfuse__whole_power(x, 13), x * x4 * x8));
    ck_assert(same(lfuse__whole_power(x, -13), 1 / (x * x4 * x8)));
    ck_assert(same(lfuse__whole_power(x, 13.9), x * x4 * x8));
    ck_assert(lfuse__whole_power_f32(f, 6) == f2 * f4);
    ck_assert(same(lfuse__whole_power(x, 0), 1));
    ck_assert(same(lfuse__whole_power(x, -0.5), 1));
    ck_assert(same(lfuse__whole_power(-3, 3), -27));
    ck_assert(same(lfuse__whole_power(-1, 0x1p60), 1));
    ck_assert(same(lfuse__whole_power(-1, 0x1.fffffffffffffp52), -1));
    ck_assert(same(lfuse__whole_power(2, INFINITY), INFINITY));
    ck_assert(same(lfuse__whole_power(0.0, -2), INFINITY));
    ck_assert(isnan(lfuse__whole_power(2, NAN)) && isnan(lfuse__whole_power(NAN, 2)));
}

TEST(integer_powers)
{
    for (int64_t a = -9; a < 10; a++) {
        uint64_t product = 1;
        for (int64_t n = 0; n < 70; n++, product *= (uint64_t)a)
            ck_assert_int_eq(lfuse__integer_power(a, n), (int64_t)product);
    }
    ck_assert_int_eq(lfuse__integer_power(3, INT64_MAX), (int64_t)UINT64_C(0xaaaaaaaaaaaaaaab)); /* 3^(2^63) is 1 */
    ck_assert_int_eq(lfuse__integer_power(2, INT64_MAX), 0);
    ck_assert_int_eq(lfuse__integer_power(1, -5), 1);
    ck_assert_int_eq(lfuse__integer_power(-1, -5), -1);
    ck_assert_int_eq(lfuse__integer_power(-1, INT64_MIN), 1);
    ck_assert_int_eq(lfuse__integer_power(7, -1), 0);
    ck_assert_int_eq(lfuse__integer_power(0, -1), 0);
    ck_assert_int_eq(lfuse__integer_power(0, 0), 1);
}

TEST_SUITE("power", CK_FORK_GETENV)
