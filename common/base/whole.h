/* SPDX-License-Identifier: Apache-2.0 */
/* Integer types on the host: what a floating number becomes. */
#ifndef COMMON_BASE_WHOLE_H
#define COMMON_BASE_WHOLE_H

#include <stdint.h>

#include "libfuse/types.h"

/* Range of an integer type. */
static inline int64_t lfuse__lowest(lfuse_type type)
{
    return type == LFUSE_I64 ? INT64_MIN : type == LFUSE_I32 ? INT32_MIN : type == LFUSE_I8 ? INT8_MIN : 0;
}

static inline int64_t lfuse__highest(lfuse_type type)
{
    return type == LFUSE_I64   ? INT64_MAX
           : type == LFUSE_I32 ? INT32_MAX
           : type == LFUSE_I8  ? INT8_MAX
           : type == LFUSE_U8  ? UINT8_MAX
                               : 1;
}

/* Truncates and saturates; NaN gives 0. */
static inline int64_t lfuse__double_to_whole(lfuse_type type, double x)
{
    const int64_t low = lfuse__lowest(type), high = lfuse__highest(type);

    if (x != x) return 0;
    /* As doubles the bounds may be one more than they are: nothing between is lost. */
    return x >= (double)high ? high : x <= (double)low ? low : (int64_t)x;
}

/* Modulo 2^bits, into the range of an integer type. */
static inline int64_t lfuse__wrapped(lfuse_type type, __int128 x)
{
    switch (type) {
    case LFUSE_I64: return (int64_t)(uint64_t)x;
    case LFUSE_I8: return (int8_t)(uint8_t)x;
    case LFUSE_U8: return (uint8_t)x;
    default: return (int32_t)(uint32_t)x;
    }
}

/* a^n modulo 2^128, so that it can be wrapped to any type. Below 0 what is left of 1 / a^|n|, and 0 of 0. */
static inline __int128 lfuse__wrapping_power(__int128 a, __int128 n)
{
    unsigned __int128 result = 1, square = (unsigned __int128)a;

    if (n < 0) return a == 1 || a == -1 ? (n & 1 ? a : 1) : 0;
    for (; n; n >>= 1, square *= square)
        if (n & 1) result *= square;
    return (__int128)result;
}

#endif
