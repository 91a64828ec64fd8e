/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 on the host: one rounding, to nearest even, from any wider type; NaN stays NaN. */
#ifndef COMMON_BASE_HALF_H
#define COMMON_BASE_HALF_H

#include <stdint.h>
#include <string.h>

/* A binary format of 16 bits with `mantissa` stored fraction bits. */
static inline uint16_t lfuse__double_to_16(double x, unsigned mantissa)
{
    const int bias = (1 << (14 - mantissa)) - 1;
    const uint32_t infinity = (0x7fffu >> mantissa) << mantissa;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = (uint32_t)(bits >> 63) << 15;
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;

    if (exponent == 1024) return (uint16_t)(sign | infinity | (fraction ? 1u << (mantissa - 1) : 0));
    if (exponent > bias) return (uint16_t)(sign | infinity);
    /* Below the smallest normal number more bits are cut off; 2^54 times the unit is below half of it: 0. */
    const int below = exponent < 1 - bias ? 1 - bias - exponent : 0;
    const int shift = 52 - (int)mantissa + below;
    if (shift >= 54) return (uint16_t)sign;
    const uint64_t significand = fraction | (uint64_t)1 << 52, half = (uint64_t)1 << (shift - 1);
    const uint64_t rest = significand & ((half << 1) - 1);
    uint64_t kept = significand >> shift;
    if (rest > half || (rest == half && (kept & 1))) kept++;
    /* The leading one of a normal number adds 1 to the exponent field, and so does a carry. */
    const uint64_t field = below ? 0 : (uint64_t)(exponent + bias - 1) << mantissa;
    return (uint16_t)(sign | (uint32_t)(field + kept));
}

static inline uint16_t lfuse__double_to_f16(double x)
{
    return lfuse__double_to_16(x, 10);
}

static inline uint16_t lfuse__double_to_bf16(double x)
{
    return lfuse__double_to_16(x, 7);
}

/* As double, rounded to odd: a later rounding to a narrower type is then the only one. */
static inline double lfuse__odd_double(long double x)
{
    double y = (double)x;
    uint64_t bits;
    if ((long double)y == x || x != x || y - y != 0) return y;
    memcpy(&bits, &y, sizeof bits);
    if (x < 0 ? (long double)y < x : (long double)y > x) bits--;
    bits |= 1;
    memcpy(&y, &bits, sizeof y);
    return y;
}

static inline float lfuse__bf16_to_float(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float lfuse__f16_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    uint32_t bits;
    float x;
    if (rest >= 0x7c00) {
        bits = sign | 0x7f800000 | (rest & 0x3ff) << 13;
    } else if (rest >= 0x400) {
        bits = sign | ((rest << 13) + (112u << 23));
    } else { /* a multiple of 2^-24 */
        x = (float)rest * 0x1p-24f;
        return sign ? -x : x;
    }
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
