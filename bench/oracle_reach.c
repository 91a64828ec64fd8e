/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions turn, bend, jump and end. */
#include <float.h>
#include <math.h>

#include "bench/oracle_internal.h"

lfuse__course lfuse__oracle_course(lfuse__op op)
{
    switch (op) {
    case LFUSE__OP_abs:
    case LFUSE__OP_min:
    case LFUSE__OP_max:
    case LFUSE__OP_floor:
    case LFUSE__OP_ceil:
    case LFUSE__OP_trunc:
    case LFUSE__OP_round:
    case LFUSE__OP_sign:
    case LFUSE__OP_step:
    case LFUSE__OP_relu:
    case LFUSE__OP_relu6:
    case LFUSE__OP_leaky_relu:
    case LFUSE__OP_elu:
    case LFUSE__OP_selu:
    case LFUSE__OP_selu_with:
    case LFUSE__OP_celu:
    case LFUSE__OP_hardsigmoid:
    case LFUSE__OP_hardsigmoid_with:
    case LFUSE__OP_hardswish:
    case LFUSE__OP_hardshrink:
    case LFUSE__OP_softshrink:
    case LFUSE__OP_threshold:
    case LFUSE__OP_clamp: return LFUSE__COURSE_BENT;
    case LFUSE__OP_sin:
    case LFUSE__OP_cos: return LFUSE__COURSE_WAVE;
    default: return LFUSE__COURSE_SMOOTH;
    }
}

bool lfuse__oracle_rounds(lfuse__op op)
{
    switch (op) {
    case LFUSE__OP_leaky_relu:
    case LFUSE__OP_hardsigmoid_with:
    case LFUSE__OP_softshrink: return true;
    case LFUSE__OP_fmod:
    case LFUSE__OP_frac: return false;
    default: return lfuse__oracle_course(op) != LFUSE__COURSE_BENT;
    }
}

/* The functions between whose turns all are monotone. */
static int turns(lfuse__op op, long double parameter, long double *at)
{
    switch (op) {
    case LFUSE__OP_abs:
    case LFUSE__OP_sign:
    case LFUSE__OP_step:
    case LFUSE__OP_square:
    case LFUSE__OP_cosh:
    case LFUSE__OP_hypot:
    case LFUSE__OP_relu:
    case LFUSE__OP_leaky_relu:
    case LFUSE__OP_elu:
    case LFUSE__OP_selu:
    case LFUSE__OP_selu_with:
    case LFUSE__OP_celu:
    case LFUSE__OP_pow:
    case LFUSE__OP_powi:
    case LFUSE__OP_squared_relu: at[0] = 0; return 1;
    case LFUSE__OP_relu6: at[0] = 0, at[1] = 6; return 2;
    case LFUSE__OP_hardsigmoid: at[0] = -3, at[1] = 3; return 2;
    case LFUSE__OP_hardswish: at[0] = -3, at[1] = -1.5L, at[2] = 3; return 3;
    case LFUSE__OP_hardshrink:
    case LFUSE__OP_softshrink: at[0] = parameter, at[1] = -parameter; return 2;
    case LFUSE__OP_threshold: at[0] = parameter; return 1;
    /* Minima. */
    case LFUSE__OP_gelu: at[0] = -0.75179155L; return 1;
    case LFUSE__OP_gelu_tanh: at[0] = -0.75246142L; return 1;
    case LFUSE__OP_gelu_quick: at[0] = -0.75115422L; return 1;
    case LFUSE__OP_silu: at[0] = -1.27846454L; return 1;
    case LFUSE__OP_mish: at[0] = -1.19243119L; return 1;
    default: return 0;
    }
}

int lfuse__oracle_places(lfuse__op op, lfuse__pair x, long double parameter, long double *places)
{
    const long double low = x.v - x.e, high = x.v + x.e;
    long double at[LFUSE__TURNS];
    const int count = turns(op, parameter, at);
    int i, n = 0;

    places[n++] = low;
    places[n++] = high;
    for (i = 0; i < count; i++) {
        if (!(low <= at[i] && at[i] <= high)) continue;
        places[n++] = at[i];
        places[n++] = nextafterl(at[i], -INFINITY);
        places[n++] = nextafterl(at[i], INFINITY);
    }
    return n;
}

static bool within(lfuse__pair x, long double place)
{
    return fabsl(x.v - place) <= x.e;
}

/* Whether the quotient may be cut off at different whole numbers. */
static bool jumps(lfuse__pair a, lfuse__pair b, long double (*cut)(long double))
{
    const long double middle = cut(a.v / b.v);
    int corner;

    if (within(b, 0)) return true;
    for (corner = 0; corner < 4; corner++)
        if (cut((corner & 1 ? a.v + a.e : a.v - a.e) / (corner & 2 ? b.v + b.e : b.v - b.e)) != middle) return true;
    return false;
}

/* Of intervals that are more than a point. */
static bool broken(lfuse__op op, const lfuse__pair *x)
{
    const lfuse__pair one = {1, 0};

    switch (op) {
    case LFUSE__OP_div: return x[1].e > 0 && within(x[1], 0);
    case LFUSE__OP_reciprocal:
    case LFUSE__OP_rsqrt:
    case LFUSE__OP_log:
    case LFUSE__OP_log2:
    case LFUSE__OP_log10:
    case LFUSE__OP_sqrt:
    case LFUSE__OP_pow: return x[0].e > 0 && within(x[0], 0);
    case LFUSE__OP_powi: return (x[0].e > 0 && within(x[0], 0)) || jumps(x[1], one, truncl);
    case LFUSE__OP_log1p: return within(x[0], -1);
    case LFUSE__OP_asin:
    case LFUSE__OP_acos:
    case LFUSE__OP_atanh: return within(x[0], 1) || within(x[0], -1);
    case LFUSE__OP_acosh: return within(x[0], 1);
    case LFUSE__OP_atan2: return within(x[0], 0) && x[1].v - x[1].e <= 0;
    case LFUSE__OP_tan: return x[0].e > 0.1 || x[0].e * fabsl(tanl(x[0].v)) > 0.1L;
    case LFUSE__OP_celu: return within(x[1], 0);
    case LFUSE__OP_frac: return jumps(x[0], one, truncl);
    case LFUSE__OP_fmod: return jumps(x[0], x[1], truncl);
    case LFUSE__OP_remainder: return jumps(x[0], x[1], floorl);
    default: return false;
    }
}

/* 1 / a^|n| is as good as a^|n|, which may overflow, or be subnormal, before the result does. */
static bool inverse_open(lfuse_type type, long double a, long double n)
{
    const long double y = fabsl(powl(a, truncl(n)));
    const long double largest = type == LFUSE_F64 ? DBL_MAX : FLT_MAX, least = type == LFUSE_F64 ? DBL_MIN : FLT_MIN;

    return n <= -1 && ((y > 0 && y < 16 * least) || (y > largest / 16 && !isinf(y)));
}

bool lfuse__oracle_open(lfuse__op op, lfuse_type type, const lfuse__pair *x, bool certain)
{
    const long double largest = type == LFUSE_F64 ? DBL_MAX : FLT_MAX;

    if (!certain && broken(op, x)) return true;
    if (op == LFUSE__OP_powi && inverse_open(type, x[0].v, x[1].v)) return true;
    /* The difference overflows before what becomes of it does. */
    return op == LFUSE__OP_lerp && isfinite(x[0].v) && isfinite(x[1].v) && !(fabsl(x[1].v - x[0].v) <= largest);
}
