/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/data.h"
#include "common/base/half.h"
#include "common/base/whole.h"

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* The state is filled by another generator (splitmix64), so that near seeds give unlike streams. */
void lfuse__random_seed(lfuse__random *r, uint64_t seed)
{
    int i;

    for (i = 0; i < 4; i++) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        r->state[i] = z ^ z >> 31;
    }
}

uint64_t lfuse__random_bits(lfuse__random *r)
{
    uint64_t *s = r->state;
    const uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* In [0, 1), a multiple of 2^-53. */
static double random_unit(lfuse__random *r)
{
    return (double)(lfuse__random_bits(r) >> 11) * 0x1p-53;
}

/* The high half of a product; the bias is below 2^-32 for counts below 2^32, which tests do not see. */
uint64_t lfuse__random_below(lfuse__random *r, uint64_t count)
{
    return (uint64_t)((unsigned __int128)lfuse__random_bits(r) * count >> 64);
}

/* The method of Fisher and Yates, from the inside out. */
void lfuse__random_order(lfuse__random *r, int count, int *order)
{
    for (int i = 0; i < count; i++) {
        const uint64_t place = lfuse__random_below(r, (uint64_t)i + 1);
        order[i] = order[place];
        order[place] = i;
    }
}

/* Two uniform numbers make a normal one, by Box and Muller. */
static double random_normal(lfuse__random *r)
{
    const double u = 1 - random_unit(r), v = random_unit(r);
    const double radius = sqrt(-2 * log(u));

    return (radius < 8 ? radius : 8) * cos(6.283185307179586 * v);
}

void lfuse__data_put(lfuse_type type, void *data, int64_t i, double x)
{
    switch (type) {
    case LFUSE_F32: ((float *)data)[i] = (float)x; break;
    case LFUSE_F16:
    case LFUSE_BF16:
    case LFUSE_E4M3:
    case LFUSE_E5M2: lfuse__narrow_put(type, data, i, x); break;
    case LFUSE_F64: ((double *)data)[i] = x; break;
    case LFUSE_I32: ((int32_t *)data)[i] = (int32_t)lfuse__double_to_whole(type, x); break;
    case LFUSE_I64: ((int64_t *)data)[i] = lfuse__double_to_whole(type, x); break;
    case LFUSE_I8: ((int8_t *)data)[i] = (int8_t)lfuse__double_to_whole(type, x); break;
    case LFUSE_U8: ((uint8_t *)data)[i] = (uint8_t)lfuse__double_to_whole(type, x); break;
    case LFUSE_BOOL: ((uint8_t *)data)[i] = x != 0; break;
    case LFUSE_TYPE_NONE: break;
    }
}

long double lfuse__data_exact(lfuse_type type, const void *data, int64_t i)
{
    return type == LFUSE_I64 ? (long double)((const int64_t *)data)[i] : lfuse__data_get(type, data, i);
}

double lfuse__data_scale(lfuse_type type)
{
    return type == LFUSE_I32 || type == LFUSE_I64 ? 1000 : type == LFUSE_I8 || type == LFUSE_U8 ? 50 : 1;
}

double lfuse__data_get(lfuse_type type, const void *data, int64_t i)
{
    switch (type) {
    case LFUSE_F32: return ((const float *)data)[i];
    case LFUSE_F16:
    case LFUSE_BF16:
    case LFUSE_E4M3:
    case LFUSE_E5M2: return lfuse__narrow_get(type, data, i);
    case LFUSE_F64: return ((const double *)data)[i];
    case LFUSE_I32: return ((const int32_t *)data)[i];
    case LFUSE_I64: return (double)((const int64_t *)data)[i];
    case LFUSE_I8: return ((const int8_t *)data)[i];
    case LFUSE_U8: return ((const uint8_t *)data)[i];
    case LFUSE_BOOL: return ((const uint8_t *)data)[i];
    case LFUSE_TYPE_NONE: break;
    }
    return NAN;
}

void lfuse__data_uniform(lfuse_type type, void *data, int64_t count, double low, double high, uint64_t seed)
{
    lfuse__random r;
    int64_t i;

    lfuse__random_seed(&r, seed);
    for (i = 0; i < count; i++) {
        const double u = random_unit(&r);
        lfuse__data_put(type, data, i, type == LFUSE_BOOL ? u < 0.5 : low + (high - low) * u);
    }
}

void lfuse__data_normal(lfuse_type type, void *data, int64_t count, double deviation, uint64_t seed)
{
    lfuse__random r;
    int64_t i;

    lfuse__random_seed(&r, seed);
    for (i = 0; i < count; i++) {
        const double x = random_normal(&r);
        lfuse__data_put(type, data, i, type == LFUSE_BOOL ? x > 0 : deviation * x);
    }
}

void lfuse__data_integers(lfuse_type type, void *data, int64_t count, int limit, uint64_t seed)
{
    lfuse__random r;
    int64_t i;

    lfuse__random_seed(&r, seed);
    for (i = 0; i < count; i++) {
        const uint64_t x = lfuse__random_below(&r, type == LFUSE_BOOL ? 2 : 2 * (uint64_t)limit + 1);
        lfuse__data_put(type, data, i, type == LFUSE_BOOL ? (double)x : (double)x - limit);
    }
}

/* Smallest subnormal and normal number, the largest, and the unit of 1. */
static void corners(lfuse_type type, double *tiny, double *small, double *large, double *unit)
{
    switch (type) {
    case LFUSE_F16: *tiny = 0x1p-24, *small = 0x1p-14, *large = 65504, *unit = 0x1p-10; break;
    case LFUSE_BF16: *tiny = 0x1p-133, *small = 0x1p-126, *large = 0x1.fep127, *unit = 0x1p-7; break;
    case LFUSE_E4M3: *tiny = 0x1p-9, *small = 0x1p-6, *large = 448, *unit = 0x1p-3; break;
    case LFUSE_E5M2: *tiny = 0x1p-16, *small = 0x1p-14, *large = 57344, *unit = 0x1p-2; break;
    case LFUSE_F64: *tiny = 0x1p-1074, *small = DBL_MIN, *large = DBL_MAX, *unit = DBL_EPSILON; break;
    case LFUSE_I64:
    case LFUSE_I32:
    case LFUSE_I8:
    case LFUSE_U8: *tiny = 1, *small = 2, *large = (double)lfuse__highest(type), *unit = 1; break;
    default: *tiny = 0x1p-149, *small = FLT_MIN, *large = FLT_MAX, *unit = FLT_EPSILON; break;
    }
}

void lfuse__data_nasty(lfuse_type type, void *data, int64_t count, uint64_t seed)
{
    double tiny, small, large, unit;
    lfuse__random r;
    int64_t i;

    corners(type, &tiny, &small, &large, &unit);
    {
        const double table[] = {NAN,   INFINITY, -INFINITY,    0.0, -0.0, tiny,     -tiny,      3 * tiny, small - tiny,
                                small, -small,   small + tiny, 1.0, -1.0, 1 + unit, 1 - unit / 2, 0.5,    -0.5,
                                1.5,   2.5,      -2.5,         large, -large, large * (1 - unit / 2), large / 2};
        lfuse__random_seed(&r, seed);
        for (i = 0; i < count; i++) {
            const double normal = random_normal(&r) * lfuse__data_scale(type);
            const uint64_t pick = lfuse__random_below(&r, 3 * sizeof table / sizeof table[0]);
            lfuse__data_put(type, data, i, pick < sizeof table / sizeof table[0] ? table[pick] : normal);
        }
    }
}

void lfuse__data_poison(lfuse_type type, void *data, int64_t count)
{
    memset(data, 0xff, (size_t)count * lfuse_type_size(type));
}
