/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating types that are storage alone, f16, bf16, e4m3 and e5m2, on the host: one rounding, to nearest even, from any
 * wider type; NaN stays NaN.
 */
#ifndef COMMON_BASE_HALF_H
#define COMMON_BASE_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "libfuse/types.h"

/* Whether arithmetic on the type is f32. */
static inline bool lfuse__is_narrow(lfuse_type t)
{
    return t == LFUSE_F16 || t == LFUSE_BF16 || t == LFUSE_E4M3 || t == LFUSE_E5M2;
}

/* Whether it is one of those that have 8 bits. */
static inline bool lfuse__is_fp8(lfuse_type t)
{
    return t == LFUSE_E4M3 || t == LFUSE_E5M2;
}

/* A binary format of at most 16 bits. */
typedef struct lfuse__format {
    unsigned fraction, exponent; /* stored bits */
    bool finite;                 /* it has no infinities: the highest exponent is that of numbers, but for one NaN */
} lfuse__format;

static inline lfuse__format lfuse__format_of(lfuse_type t)
{
    switch (t) {
    case LFUSE_F16: return (lfuse__format){10, 5, false};
    case LFUSE_E4M3: return (lfuse__format){3, 4, true};
    case LFUSE_E5M2: return (lfuse__format){2, 5, false};
    default: return (lfuse__format){7, 8, false}; /* bf16 */
    }
}

/* The magnitude's bits from which on there are no numbers: infinity, or the NaN of a format without. */
static inline uint32_t lfuse__format_end(lfuse__format f)
{
    const uint32_t magnitude = (1u << (f.exponent + f.fraction)) - 1;
    return f.finite ? magnitude : magnitude >> f.fraction << f.fraction;
}

static inline uint16_t lfuse__double_to_narrow(lfuse_type type, double x)
{
    const lfuse__format f = lfuse__format_of(type);
    const int bias = (1 << (f.exponent - 1)) - 1;
    const uint32_t end = lfuse__format_end(f);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = (uint32_t)(bits >> 63) << (f.exponent + f.fraction);
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;

    if (exponent == 1024) return (uint16_t)(sign | end | (fraction ? 1u << (f.fraction - 1) : 0));
    if (exponent > bias + 1) return (uint16_t)(sign | end);
    /* Below the smallest normal number more bits are cut off. From 54 bits on the number is less than half of the
     * smallest subnormal one: 0. */
    const int below = exponent < 1 - bias ? 1 - bias - exponent : 0;
    const int shift = 52 - (int)f.fraction + below;
    if (shift >= 54) return (uint16_t)sign;
    const uint64_t significand = fraction | (uint64_t)1 << 52, half = (uint64_t)1 << (shift - 1);
    const uint64_t rest = significand & ((half << 1) - 1);
    uint64_t kept = significand >> shift;
    if (rest > half || (rest == half && (kept & 1))) kept++;
    /* The leading one of a normal number adds 1 to the exponent field, and so does a carry. */
    kept += below ? 0 : (uint64_t)(exponent + bias - 1) << f.fraction;
    return (uint16_t)(sign | (kept < end ? (uint32_t)kept : end));
}

static inline float lfuse__narrow_to_float(lfuse_type type, uint16_t number)
{
    const lfuse__format f = lfuse__format_of(type);
    const unsigned wide = 23 - f.fraction, rebias = 128 - (1u << (f.exponent - 1));
    const uint32_t magnitude = number & ((1u << (f.exponent + f.fraction)) - 1);
    const uint32_t sign = (uint32_t)(number >> (f.exponent + f.fraction) & 1) << 31;
    uint32_t bits = (magnitude << wide) + (rebias << 23);
    float x, unit;

    if (magnitude >= lfuse__format_end(f)) bits = 0x7f800000 | magnitude << wide;
    bits |= sign;
    memcpy(&x, &bits, sizeof x);
    if (magnitude >> f.fraction || !rebias) return x;
    bits = (rebias + 1 - f.fraction) << 23; /* a subnormal number is a multiple of it */
    memcpy(&unit, &bits, sizeof unit);
    return sign ? -(float)magnitude * unit : (float)magnitude * unit;
}

/* Element i of an array of a narrow type. */
static inline float lfuse__narrow_get(lfuse_type type, const void *data, int64_t i)
{
    if (lfuse_type_size(type) == 1) return lfuse__narrow_to_float(type, ((const uint8_t *)data)[i]);
    return lfuse__narrow_to_float(type, ((const uint16_t *)data)[i]);
}

static inline void lfuse__narrow_put(lfuse_type type, void *data, int64_t i, double x)
{
    const uint16_t number = lfuse__double_to_narrow(type, x);
    if (lfuse_type_size(type) == 1) ((uint8_t *)data)[i] = (uint8_t)number;
    else ((uint16_t *)data)[i] = number;
}

/* x, rounded to the type. */
static inline float lfuse__narrow_round(lfuse_type type, double x)
{
    return lfuse__narrow_to_float(type, lfuse__double_to_narrow(type, x));
}

static inline uint16_t lfuse__double_to_f16(double x) { return lfuse__double_to_narrow(LFUSE_F16, x); }
static inline uint16_t lfuse__double_to_bf16(double x) { return lfuse__double_to_narrow(LFUSE_BF16, x); }
static inline float lfuse__f16_to_float(uint16_t h) { return lfuse__narrow_to_float(LFUSE_F16, h); }
static inline float lfuse__bf16_to_float(uint16_t h) { return lfuse__narrow_to_float(LFUSE_BF16, h); }

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

#endif
