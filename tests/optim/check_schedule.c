/* SPDX-License-Identifier: Apache-2.0 */
/* Learning-rate schedules: values of their formulas, and their edges. */
#include <float.h>
#include <math.h>

#include "libfuse/schedule.h"
#include "tests/support/main.h"

/* A few operations and one function, all of f64. */
#define NEAR(got, want) ck_assert_double_eq_tol(got, want, 8 * DBL_EPSILON * fabs(want))

TEST_CASE("schedule")

TEST(constant)
{
    ck_assert_double_eq(lfuse_schedule_constant(0.125, 0), 0.125);
    ck_assert_double_eq(lfuse_schedule_constant(0.125, INT64_MAX), 0.125);
    ck_assert_double_eq(lfuse_schedule_constant(0.125, -1), 0.125);
}

TEST(linear_warm_up)
{
    ck_assert_double_eq(lfuse_schedule_linear(8, 0, 4, 0), 0);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0, 4, 1), 2);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0, 4, 3), 6);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0, 4, 4), 8);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0, 4, INT64_MAX), 8);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0.5, 4, 0), 4);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0.5, 4, 2), 6);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0.5, 4, -3), 4);
}

/* torch.optim.lr_scheduler.LinearLR(start_factor=1/3, total_iters=5) of 0.05: k / 5 of the way from a third to 1. */
TEST_LOOP(linear_as_pytorch, 0, 8)
{
    static const double want[] = {0.05 / 3, 0.07 / 3, 0.09 / 3, 0.11 / 3, 0.13 / 3, 0.05, 0.05, 0.05};

    NEAR(lfuse_schedule_linear(0.05, 1.0 / 3, 5, _i), want[_i]);
}

TEST(no_warm_up)
{
    ck_assert_double_eq(lfuse_schedule_linear(8, 0, 0, 0), 8);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0, -5, 0), 8);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0, 1, 0), 0);
    ck_assert_double_eq(lfuse_schedule_linear(8, 0, 1, 1), 8);
}

/* Cosines of multiples of 30 degrees are known: 1, sqrt(3) / 2, 1/2, 0 ... */
TEST_LOOP(cosine, 0, 13)
{
    const double root = sqrt(3) / 2;
    const double cosines[] = {1, root, 0.5, 0, -0.5, -root, -1};
    const double want = _i < 4 ? 2.0 * _i + 0.25 * (8 - 2 * _i)
                        : _i < 10 ? 2 + (8 - 2) * (1 + cosines[_i - 4]) / 2 : 2;

    NEAR(lfuse_schedule_cosine(8, 2, 0.25, 4, 10, _i), want);
}

TEST(cosine_at_its_borders)
{
    const double base = 0.1, minimum = 0.003;

    ck_assert_double_eq(lfuse_schedule_cosine(base, minimum, 0, 7, 100, 0), 0);
    ck_assert_double_eq(lfuse_schedule_cosine(base, minimum, 0, 7, 100, -1), 0);
    ck_assert_double_eq(lfuse_schedule_cosine(base, minimum, 0, 7, 100, 7), base);
    ck_assert_double_eq(lfuse_schedule_cosine(base, minimum, 0, 7, 100, 100), minimum);
    ck_assert_double_eq(lfuse_schedule_cosine(base, minimum, 0, 7, 100, INT64_MAX), minimum);
    ck_assert_double_eq(lfuse_schedule_cosine(base, minimum, 0, 0, 100, 0), base);
    ck_assert_double_eq(lfuse_schedule_cosine(base, minimum, 0, -9, 100, 0), base);
    NEAR(lfuse_schedule_cosine(base, minimum, 0, 0, 100, 50), (base + minimum) / 2);
    ck_assert(lfuse_schedule_cosine(base, minimum, 0, 0, 100, 99) > minimum);
}

TEST(cosine_that_has_no_room)
{
    ck_assert_double_eq(lfuse_schedule_cosine(8, 2, 0, 4, 4, 3), 6);
    ck_assert_double_eq(lfuse_schedule_cosine(8, 2, 0, 4, 4, 4), 2);
    ck_assert_double_eq(lfuse_schedule_cosine(8, 2, 0, 4, 3, 3), 6);
    ck_assert_double_eq(lfuse_schedule_cosine(8, 2, 0, 0, 0, 0), 2);
    ck_assert_double_eq(lfuse_schedule_cosine(8, 2, 0, 0, -1, 0), 2);
}

TEST(step_decay)
{
    ck_assert_double_eq(lfuse_schedule_step(8, 0.5, 3, 0), 8);
    ck_assert_double_eq(lfuse_schedule_step(8, 0.5, 3, -4), 8);
    ck_assert_double_eq(lfuse_schedule_step(8, 0.5, 3, 2), 8);
    ck_assert_double_eq(lfuse_schedule_step(8, 0.5, 3, 3), 4);
    ck_assert_double_eq(lfuse_schedule_step(8, 0.5, 3, 8), 2);
    ck_assert_double_eq(lfuse_schedule_step(8, 0.5, 1, 3), 1);
    ck_assert_double_eq(lfuse_schedule_step(8, 0, 2, 1), 8);
    ck_assert_double_eq(lfuse_schedule_step(8, 0, 2, 2), 0);
    ck_assert_double_eq(lfuse_schedule_step(8, 0.5, 1, INT64_MAX), 0);
    NEAR(lfuse_schedule_step(0.05, 0.1, 30, 89), 0.0005);
}

TEST(a_period_that_is_none)
{
    ck_assert(isnan(lfuse_schedule_step(8, 0.5, 0, 1)));
    ck_assert(isnan(lfuse_schedule_step(8, 0.5, -3, 1)));
}

TEST_SUITE("schedule", CK_FORK_GETENV)
