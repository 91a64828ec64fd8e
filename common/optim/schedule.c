/* SPDX-License-Identifier: Apache-2.0 */
/* Learning-rate schedules: pure functions of the step. */
#include "libfuse/schedule.h"

#include <math.h>

#include "common/base/power.h"

/* No standard constant of C11. */
static const double pi = 3.14159265358979323846;

static int64_t not_negative(int64_t count)
{
    return count < 0 ? 0 : count;
}

double lfuse_schedule_constant(double base, int64_t step)
{
    (void)step;
    return base;
}

double lfuse_schedule_linear(double base, double start, int64_t warmup, int64_t step)
{
    step = not_negative(step);
    return step < warmup ? base * (start + (1 - start) * ((double)step / (double)warmup)) : base;
}

double lfuse_schedule_cosine(double base, double minimum, double start, int64_t warmup, int64_t total, int64_t step)
{
    double part;

    warmup = not_negative(warmup);
    step = not_negative(step);
    if (step < warmup) return lfuse_schedule_linear(base, start, warmup, step);
    if (step >= total) return minimum;
    if (step == warmup) return base; /* the formula would round */
    part = (double)(step - warmup) / (double)(total - warmup);
    return minimum + (base - minimum) * (1 + cos(pi * part)) / 2;
}

double lfuse_schedule_step(double base, double factor, int64_t period, int64_t step)
{
    return period < 1 ? (double)NAN : base * lfuse__power(factor, (double)(not_negative(step) / period));
}
