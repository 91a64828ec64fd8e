/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/power.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/base/power.k.h"

/* The words that the text takes for granted. */
#define FN static
#define FN_CALLED static
typedef uint64_t u64;
typedef int64_t i64;
typedef int32_t i32;
typedef float S_f32;
typedef double S_f64;

static uint64_t BITS_f64(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double REAL_f64(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

#define FMA1_f64(a, b, c) fma(a, b, c)

#include "common/base/power.k"

double lfuse__power(double x, double y)
{
    return real_power_f64_(x, y);
}

double lfuse__whole_power(double a, double b)
{
    return whole_power_f64_(a, b);
}

float lfuse__whole_power_f32(float a, float b)
{
    return whole_power_f32_(a, b);
}

int64_t lfuse__integer_power(int64_t a, int64_t n)
{
    return integer_power_(a, n);
}

const char *lfuse__power_text(void)
{
    return lfuse__text_power;
}
