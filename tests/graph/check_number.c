/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of numbers alone: one algorithm, in f64. */
#include "common/graph/graph.h"
#include "libfuse/ops.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

static void ck_bits(double got, double expected)
{
    ck_assert_msg(!memcmp(&got, &expected, sizeof got), "%a is not %a", got, expected);
}

static double apply(lfuse__op op, double a, double b, double c)
{
    return lfuse__op_value(op, a, b, c);
}

TEST_CASE("number")

TEST(exact_operators)
{
    ck_bits(apply(LFUSE__OP_add, 0.1, 0.2, 0), 0.1 + 0.2);
    ck_bits(apply(LFUSE__OP_sub, 0.1, 0.2, 0), 0.1 - 0.2);
    ck_bits(apply(LFUSE__OP_mul, 0.1, 0.2, 0), 0.1 * 0.2);
    ck_bits(apply(LFUSE__OP_div, 1, 3, 0), 1.0 / 3.0);
    ck_bits(apply(LFUSE__OP_sqrt, 2, 0, 0), sqrt(2));
    ck_bits(apply(LFUSE__OP_fma, 0.1, 10, -1), fma(0.1, 10, -1));
    ck_bits(apply(LFUSE__OP_neg, 0.0, 0, 0), -0.0);
    ck_bits(apply(LFUSE__OP_abs, -3, 0, 0), 3);
    ck_bits(apply(LFUSE__OP_floor, -1.5, 0, 0), -2);
    ck_bits(apply(LFUSE__OP_ceil, -1.5, 0, 0), -1);
    ck_bits(apply(LFUSE__OP_round, 2.5, 0, 0), 2);
    ck_bits(apply(LFUSE__OP_round, 3.5, 0, 0), 4);
}

TEST(minimum_and_maximum)
{
    ck_bits(apply(LFUSE__OP_min, 0.0, -0.0, 0), -0.0);
    ck_bits(apply(LFUSE__OP_min, -0.0, 0.0, 0), 0.0);
    ck_bits(apply(LFUSE__OP_max, 0.0, -0.0, 0), -0.0);
    ck_assert(isnan(apply(LFUSE__OP_min, NAN, 1, 0)));
    ck_assert(isnan(apply(LFUSE__OP_min, 1, NAN, 0)));
    ck_assert(isnan(apply(LFUSE__OP_max, NAN, 1, 0)));
    ck_assert(isnan(apply(LFUSE__OP_max, 1, NAN, 0)));
    ck_assert(isnan(apply(LFUSE__OP_relu, NAN, 0, 0)));
    ck_assert(isnan(apply(LFUSE__OP_clamp, NAN, 0, 1)));
    ck_bits(apply(LFUSE__OP_relu, -0.0, 0, 0), 0.0);
    ck_bits(apply(LFUSE__OP_relu, -2, 0, 0), 0.0);
    ck_bits(apply(LFUSE__OP_clamp, 7, 0, 6), 6);
    ck_bits(apply(LFUSE__OP_clamp, 7, 6, 0), 0);
    ck_bits(apply(LFUSE__OP_leaky_relu, -2, 0.5, 0), -1);
}

TEST(comparisons_and_choice)
{
    ck_bits(apply(LFUSE__OP_lt, 1, 2, 0), 1);
    ck_bits(apply(LFUSE__OP_ge, 1, 2, 0), 0);
    ck_bits(apply(LFUSE__OP_ne, NAN, NAN, 0), 1);
    ck_bits(apply(LFUSE__OP_eq, NAN, NAN, 0), 0);
    ck_bits(apply(LFUSE__OP_where, 1, 5, 6), 5);
    ck_bits(apply(LFUSE__OP_where, 0, 5, 6), 6);
}

/* Numbers take powers as kernels do; tests/base/check_power.c says more about them. */
TEST(real_powers)
{
    ck_assert_double_eq_tol(apply(LFUSE__OP_pow, 2, 0.5, 0), sqrt(2), 0x1.8p-52);
    ck_bits(apply(LFUSE__OP_pow, 3, -2, 0), 1.0 / 9.0);
    ck_bits(apply(LFUSE__OP_pow, 7, 0, 0), 1);
    ck_bits(apply(LFUSE__OP_pow, -2, 3, 0), -8);
    ck_bits(apply(LFUSE__OP_pow, 1, 1e300, 0), 1);
    ck_assert(isnan(apply(LFUSE__OP_pow, -2, 0.5, 0)));
    ck_bits(apply(LFUSE__OP_pow, 1.5, 1e6, 0), INFINITY);
    ck_assert_double_eq_tol(apply(LFUSE__OP_pow, 100, -0.8, 0), pow(100, -0.8), 1e-17);
}

TEST(integral_powers)
{
    double expected = 1;

    for (int i = 0; i < 8; i++) expected *= 0.999;
    ck_assert_double_eq_tol(apply(LFUSE__OP_powi, 0.999, 8, 0), expected, 1e-15);
    /* By squares: ((x^2)^2)^2, no other order. */
    ck_bits(apply(LFUSE__OP_powi, 0.999, 4, 0), (0.999 * 0.999) * (0.999 * 0.999));
    ck_bits(apply(LFUSE__OP_powi, 0.999, 5, 0), 0.999 * ((0.999 * 0.999) * (0.999 * 0.999)));
    ck_bits(apply(LFUSE__OP_powi, 3, -2, 0), 1.0 / 9.0);
    ck_bits(apply(LFUSE__OP_powi, 7, 0, 0), 1);
    ck_bits(apply(LFUSE__OP_powi, 0, 0, 0), 1);
    ck_bits(apply(LFUSE__OP_powi, -2, 3, 0), -8);
    ck_bits(apply(LFUSE__OP_powi, 0, -1, 0), INFINITY);
    ck_bits(apply(LFUSE__OP_powi, 2, 0.5, 0), 1);
    ck_bits(apply(LFUSE__OP_powi, 2, 3.9, 0), 8);
    ck_bits(apply(LFUSE__OP_powi, 2, -1.5, 0), 0.5);
    ck_bits(apply(LFUSE__OP_powi, 1, 1e300, 0), 1);
    ck_assert(isnan(apply(LFUSE__OP_powi, 2, NAN, 0)));
    ck_bits(apply(LFUSE__OP_powi, 1.5, 1e6, 0), INFINITY);
}

TEST(trees)
{
    lfuse_graph *g = new_graph();
    lfuse_value beta = lfuse_scalar(g, "beta"), step = lfuse_scalar(g, "step"), one = lfuse_constant(g, 1);
    lfuse_value v = lfuse_reciprocal(lfuse_sub(one, lfuse_powi(beta, step)));
    const double scalars[] = {0.9, 3};

    OK(lfuse_graph_check(g));
    ck_bits(lfuse__graph_number(g, v.id, scalars, NULL), 1 / (1 - 0.9 * (0.9 * 0.9)));
    ck_bits(lfuse__graph_number(g, lfuse_where(lfuse_gt(step, one), step, beta).id, scalars, NULL), 3);
}

TEST_SUITE("number", CK_FORK_GETENV)
