/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding to the element types, and what it adds to an error. */
#include <float.h>
#include <math.h>

#include "bench/oracle_internal.h"
#include "common/base/half.h"

/* Stored fraction bits and the exponent of the smallest normal number. */
static const struct format {
    int bits, lowest;
    double largest;
    bool finite; /* no infinities: what is too large is NaN, and half-way beyond the largest number is not */
} formats[] = {
    [LFUSE_F32] = {23, -126, FLT_MAX},
    [LFUSE_F16] = {10, -14, 65504.0},
    [LFUSE_BF16] = {7, -126, 0x1.fep127},
    [LFUSE_F64] = {52, -1022, DBL_MAX},
    [LFUSE_E4M3] = {3, -6, 448, true},
    [LFUSE_E5M2] = {2, -14, 57344},
};

bool lfuse__oracle_floating(lfuse_type type)
{
    return (size_t)type < sizeof formats / sizeof *formats && formats[type].bits != 0;
}

lfuse_type lfuse__oracle_register(lfuse_type type)
{
    return lfuse__is_narrow(type) ? LFUSE_F32 : type;
}

double lfuse__oracle_unit(lfuse_type type)
{
    return lfuse__oracle_floating(type) ? ldexp(1, -formats[type].bits - 1) : 0;
}

double lfuse__oracle_ulp(lfuse_type type, double size, int guard)
{
    int lowest, exponent;

    if (!lfuse__oracle_floating(type)) return 0;
    if (!isfinite(size)) return INFINITY;
    lowest = formats[type].lowest + guard;
    exponent = size ? ilogb(size) : lowest;
    return ldexp(1, (exponent > lowest ? exponent : lowest) - formats[type].bits);
}

/* The nearest number of the type: overflow gives infinity, or NaN where there is none. Floating types. */
static long double nearest(lfuse_type type, long double v)
{
    switch (type) {
    case LFUSE_F32: return (float)v;
    case LFUSE_F64: return (double)v;
    default: return lfuse__is_narrow(type) ? (long double)lfuse__narrow_round(type, lfuse__odd_double(v)) : v;
    }
}

lfuse__pair lfuse__oracle_overflow(lfuse_type type, lfuse__pair x)
{
    const struct format *f = &formats[type];
    long double limit;

    if (!lfuse__oracle_floating(type) || !isfinite(x.v) || isinf(x.e)) return x;
    limit = (long double)f->largest + ldexpl(1, ilogb(f->largest) - f->bits - 1); /* half-way to what would be next */
    if (f->finite && fabsl(x.v) - x.e > limit) return (lfuse__pair){NAN, 0};
    if (!f->finite && fabsl(x.v) - x.e >= limit) return (lfuse__pair){x.v < 0 ? -INFINITY : INFINITY, 0};
    if (fabsl(x.v) + x.e >= limit) x.e = INFINITY;
    return x;
}

lfuse__pair lfuse__oracle_store(lfuse_type type, lfuse__pair x)
{
    if (!lfuse__oracle_floating(type) || isnan(x.v) || isinf(x.e)) return x;
    if (isinf(x.v)) return formats[type].finite ? (lfuse__pair){NAN, 0} : x;
    if (x.e == 0) return (lfuse__pair){nearest(type, x.v), 0};
    x = lfuse__oracle_overflow(type, x);
    if (x.e > 0) x.e = 1.01 * (x.e + lfuse__oracle_ulp(type, (double)fabsl(x.v) + x.e, 0) / 2);
    return x;
}

lfuse__pair lfuse__oracle_read(lfuse_type type, lfuse__pair x)
{
    long double rounded;

    if (!lfuse__is_narrow(type) || isnan(x.v) || isinf(x.e)) return x;
    if (isinf(x.v)) return formats[type].finite ? (lfuse__pair){x.v, INFINITY} : x;
    if (x.e == 0) {
        rounded = nearest(type, x.v);
        x.e = isnan(rounded) ? INFINITY : (double)fabsl(rounded - x.v);
        return x;
    }
    if (fabsl(x.v) + x.e > formats[type].largest) return (lfuse__pair){x.v, INFINITY};
    x.e = 1.01 * (x.e + lfuse__oracle_ulp(type, (double)fabsl(x.v) + x.e, 0) / 2);
    return x;
}
