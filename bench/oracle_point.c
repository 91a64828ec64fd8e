/* SPDX-License-Identifier: Apache-2.0 */
/* One element of a pointwise function: its value by the reference of ops.def, its error by the derivatives. */
#include <stdint.h>
#include <tgmath.h>

#include "bench/derivative_words.h"
#include "bench/oracle_internal.h"
#include "common/base/philox.h"
#include "common/base/whole.h"

/* References, in double for f32 and in long double for the rest. */
typedef double value_double(double a, double b, double c);
typedef long double value_long(long double a, long double b, long double c);

#define R double
#define LFUSE__OP(name, arity, klass, dialect, reference, ...)                                                         \
    static double double_##name(double a, double b, double c)                                                         \
    {                                                                                                                  \
        (void)a, (void)b, (void)c;                                                                                     \
        return reference;                                                                                              \
    }
#include "common/graph/ops.def"
#undef LFUSE__OP
#undef R

#define R long double
#define LFUSE__OP(name, arity, klass, dialect, reference, ...)                                                         \
    static long double long_##name(long double a, long double b, long double c)                                       \
    {                                                                                                                  \
        (void)a, (void)b, (void)c;                                                                                     \
        return reference;                                                                                              \
    }
#include "common/graph/ops.def"
#undef LFUSE__OP
#undef R

typedef __int128 whole;
typedef whole value_whole(whole a, whole b, whole c, int bits);

#define LFUSE__OP(name, arity, klass, dialect, reference, ulp_f32, ulp_f64, da, db, dc, backward, expression)          \
    static whole whole_##name(whole a, whole b, whole c, int BITS)                                                     \
    {                                                                                                                  \
        (void)a, (void)b, (void)c, (void)BITS;                                                                         \
        return expression;                                                                                             \
    }
#include "common/graph/ops.def"
#undef LFUSE__OP

/* Derivatives, in double. */
#define A a
#define B b
#define C c
#define Y y
#define R double

typedef void derivatives(double a, double b, double c, double y, double *d);

#define LFUSE__OP(name, arity, klass, dialect, reference, ulp_f32, ulp_f64, da, db, dc, backward, ...)                 \
    static void derivatives_##name(double a, double b, double c, double y, double *d)                                 \
    {                                                                                                                  \
        (void)a, (void)b, (void)c, (void)y;                                                                            \
        d[0] = da, d[1] = db, d[2] = dc;                                                                               \
    }
#include "common/graph/ops.def"
#undef LFUSE__OP
#undef R
#undef A
#undef B
#undef C
#undef Y

static const struct functions {
    value_double *in_double;
    value_long *in_long;
    derivatives *slopes;
    value_whole *in_whole;
} functions[LFUSE__OP_COUNT] = {
#define LFUSE__OP(name, ...) [LFUSE__OP_##name] = {double_##name, long_##name, derivatives_##name, whole_##name},
#include "common/graph/ops.def"
#undef LFUSE__OP
};

static long double evaluate(lfuse__op op, lfuse_type type, const long double *x)
{
    if (type == LFUSE_F32) return functions[op].in_double((double)x[0], (double)x[1], (double)x[2]);
    return functions[op].in_long(x[0], x[1], x[2]);
}

/* Correctly rounded, of operands that are numbers of the register's type. */
static long double correctly_rounded(lfuse__op op, lfuse_type type, const long double *x)
{
    if (type == LFUSE_F64) return functions[op].in_double((double)x[0], (double)x[1], (double)x[2]);
    /* In double all but these give what rounds to the right float: 53 bits are more than twice 24 and 2. */
    if (op == LFUSE__OP_fma) return fmaf((float)x[0], (float)x[1], (float)x[2]);
    if (op == LFUSE__OP_hardsigmoid_with)
        return functions[op].in_double(1, fmaf((float)x[0], (float)x[1], (float)x[2]), 0);
    return (float)functions[op].in_double((double)x[0], (double)x[1], (double)x[2]);
}

/* Farthest value from the middle that a function takes which is monotone between its turns: at corners and turns. */
static double farthest(lfuse__op op, lfuse_type type, int arity, const lfuse__pair *x, long double middle)
{
    long double first[2 + 3 * LFUSE__TURNS], at[3], value;
    double far = 0;
    int corner, i, k;

    for (corner = 0; corner < 1 << (arity - 1); corner++) {
        for (i = 1; i < arity; i++) at[i] = corner >> (i - 1) & 1 ? x[i].v + x[i].e : x[i].v - x[i].e;
        const int count = lfuse__oracle_places(op, x[0], arity > 1 ? at[1] : 0, first);
        for (k = 0; k < count; k++) {
            at[0] = first[k];
            value = evaluate(op, type, at);
            if (isnan(value) && isnan(middle)) continue;
            if (value == middle) continue;
            if (!isfinite(value) || !isfinite(middle)) return INFINITY;
            if (fabsl(value - middle) > far) far = (double)fabsl(value - middle);
        }
    }
    return far;
}

/* By derivatives in the middle, and at the corners where the intervals are wide. */
static double slope_error(lfuse__op op, lfuse_type type, int arity, const lfuse__pair *x, long double middle, bool wide)
{
    const double relative = lfuse__ops[op].backward * lfuse__oracle_unit(type);
    double largest = 0;
    int corner, i;

    for (corner = -1; corner < (wide ? 1 << arity : 0); corner++) {
        long double at[3] = {0, 0, 0}, value;
        double d[3], error = 0;
        for (i = 0; i < arity; i++) {
            at[i] = x[i].v;
            if (corner >= 0) at[i] += corner >> i & 1 ? x[i].e : -x[i].e;
        }
        value = corner < 0 ? middle : evaluate(op, type, at);
        functions[op].slopes((double)at[0], (double)at[1], (double)at[2], (double)value, d);
        for (i = 0; i < arity; i++) {
            const double own = x[i].e + relative * fabs((double)x[i].v);
            if (own == 0 || d[i] == 0) continue;
            /* Beside an infinite operand, slopes of 0 times infinity come with results that do not move. */
            if (isnan(d[i]) && corner < 0) continue;
            error += fabs(d[i]) * own;
        }
        if (isnan(error)) return INFINITY;
        if (error > largest) largest = error;
    }
    return largest;
}

/* What the operands' errors make of the result. */
static double propagated(lfuse__op op, lfuse_type type, const lfuse__pair *x, long double middle, bool certain)
{
    const int arity = lfuse__ops[op].arity;
    const lfuse__course course = lfuse__oracle_course(op);
    bool wide = course == LFUSE__COURSE_BENT;
    double error, far;
    int i;

    if (certain) return slope_error(op, type, arity, x, middle, false);
    for (i = 0; i < arity; i++) {
        const double size = (double)fabsl(x[i].v);
        if (x[i].e > 1e-4 * (size < 1 ? size : 1)) wide = true;
    }
    if (course == LFUSE__COURSE_WAVE) return fmin(x[0].e, 2);
    if (!wide) return slope_error(op, type, arity, x, middle, false);
    far = farthest(op, type, arity, x, middle);
    if (course == LFUSE__COURSE_BENT) {
        /* The rounding of inner arguments, of which corners know nothing. */
        error = lfuse__ops[op].backward ? slope_error(op, type, arity, x, middle, false) : 0;
        return far + error;
    }
    error = slope_error(op, type, arity, x, middle, true);
    return far > error ? far : error;
}

static lfuse__pair floating(lfuse__op op, lfuse_type type, bool exact, const lfuse__pair *x)
{
    const lfuse__op_row *row = &lfuse__ops[op];
    const double ulps = type == LFUSE_F64 ? row->ulp_f64 : row->ulp_f32;
    const long double at[3] = {x[0].v, row->arity > 1 ? x[1].v : 0, row->arity > 2 ? x[2].v : 0};
    lfuse__pair y;
    bool certain = true;
    int i;

    for (i = 0; i < row->arity; i++) {
        if (isinf(x[i].e)) return (lfuse__pair){evaluate(op, type, at), INFINITY};
        if (x[i].e > 0) certain = false;
    }
    if (certain && exact && ulps == 0 && row->backward == 0)
        return (lfuse__pair){correctly_rounded(op, type, at), 0};
    y.v = evaluate(op, type, at);
    if (lfuse__oracle_open(op, type, x, certain)) return (lfuse__pair){y.v, INFINITY};
    if (!isfinite(y.v) && certain) return (lfuse__pair){y.v, 0};
    y.e = propagated(op, type, x, y.v, certain);
    if (isinf(y.e)) return y;
    if (!isfinite(y.v)) return (lfuse__pair){y.v, 0};
    if (ulps > 0)
        y.e += ulps * lfuse__oracle_ulp(type, (double)fabsl(y.v) + y.e, 7);
    else if (lfuse__oracle_rounds(op))
        y.e += lfuse__oracle_ulp(type, (double)fabsl(y.v) + y.e, 0) * (exact ? 0.5 : 1);
    y.e *= 1.01;
    return lfuse__oracle_overflow(type, y);
}

/* Whether the function of integers takes its extremes at the corners of its operands' intervals. */
static bool bends(lfuse__op op)
{
    switch (op) {
    case LFUSE__OP_add:
    case LFUSE__OP_sub:
    case LFUSE__OP_mul:
    case LFUSE__OP_neg:
    case LFUSE__OP_abs:
    case LFUSE__OP_min:
    case LFUSE__OP_max:
    case LFUSE__OP_relu:
    case LFUSE__OP_relu6:
    case LFUSE__OP_sign:
    case LFUSE__OP_step:
    case LFUSE__OP_clamp: return false;
    default: return true;
    }
}

/* The exact value of operands that are integers, not yet wrapped. */
static whole whole_value(lfuse__op op, lfuse_type type, const long double *x)
{
    return functions[op].in_whole((whole)x[0], (whole)x[1], (whole)x[2], 8 * (int)lfuse_type_size(type));
}

static bool in_range(lfuse_type type, long double v)
{
    return v >= (long double)lfuse__lowest(type) && v <= (long double)lfuse__highest(type);
}

static lfuse__pair integer(lfuse__op op, lfuse_type type, const lfuse__pair *x)
{
    const int arity = lfuse__ops[op].arity;
    long double at[3] = {x[0].v, arity > 1 ? x[1].v : 0, arity > 2 ? x[2].v : 0};
    const whole middle = whole_value(op, type, at);
    lfuse__pair y = {(long double)lfuse__wrapped(lfuse__op_result(op, type), middle), 0};
    bool certain = true;
    int i, corner;

    for (i = 0; i < arity; i++)
        if (x[i].e != 0) certain = false;
    if (certain) return y;
    for (i = 0; i < arity; i++)
        if (isinf(x[i].e)) y.e = INFINITY;
    if (bends(op) || isinf(y.e)) return (lfuse__pair){y.v, INFINITY};
    for (corner = 0; corner < 1 << arity; corner++) {
        for (i = 0; i < arity; i++) at[i] = corner >> i & 1 ? x[i].v + x[i].e : x[i].v - x[i].e;
        const whole value = whole_value(op, type, at);
        if (!in_range(type, (long double)value)) return (lfuse__pair){y.v, INFINITY};
        if (fabsl((long double)(value - middle)) > y.e) y.e = (double)fabsl((long double)(value - middle));
    }
    y.e += op == LFUSE__OP_abs || op == LFUSE__OP_relu || op == LFUSE__OP_clamp;
    return y;
}

static lfuse__pair comparison(lfuse__op op, const lfuse__pair *x)
{
    const bool open = x[0].e + x[1].e > 0 && !(fabsl(x[0].v - x[1].v) > (long double)x[0].e + x[1].e);
    const bool nan = (isnan(x[0].v) && x[0].e == 0) || (isnan(x[1].v) && x[1].e == 0);

    return (lfuse__pair){functions[op].in_long(x[0].v, x[1].v, 0), open && !nan ? 1 : 0};
}

/* Of truth values that are open, both are tried. */
static lfuse__pair logic(lfuse__op op, const lfuse__pair *x)
{
    const int arity = lfuse__ops[op].arity;
    long double at[2] = {x[0].v, arity > 1 ? x[1].v : 0};
    lfuse__pair y = {functions[op].in_long(at[0], at[1], 0), 0};
    int corner, i;

    for (corner = 0; corner < 1 << arity; corner++) {
        for (i = 0; i < arity; i++) at[i] = x[i].e > 0 ? corner >> i & 1 : x[i].v;
        if (functions[op].in_long(at[0], at[1], 0) != y.v) y.e = 1;
    }
    return y;
}

static lfuse__pair selection(const lfuse__pair *x)
{
    const lfuse__pair chosen = x[0].v != 0 ? x[1] : x[2], other = x[0].v != 0 ? x[2] : x[1];
    lfuse__pair y = chosen;
    long double apart;

    if (x[0].e == 0 || (isnan(x[1].v) && isnan(x[2].v))) return y;
    apart = chosen.v == other.v ? 0 : fabsl(chosen.v - other.v);
    if (!(apart + other.e <= y.e)) y.e = isfinite(apart) ? (double)apart + other.e : INFINITY;
    return y;
}

lfuse__pair lfuse__oracle_point(lfuse__op op, lfuse_type type, bool exact, const lfuse__pair *operands)
{
    type = lfuse__oracle_register(type);
    switch (lfuse__ops[op].klass) {
    case LFUSE__CLASS_COMPARE: return comparison(op, operands);
    case LFUSE__CLASS_SELECT: return selection(operands);
    case LFUSE__CLASS_LOGIC: return logic(op, operands);
    case LFUSE__CLASS_PREDICATE:
        return (lfuse__pair){functions[op].in_long(operands[0].v, 0, 0), isinf(operands[0].e) ? 1 : 0};
    case LFUSE__CLASS_NUMERIC:
    case LFUSE__CLASS_FLOATING:
    case LFUSE__CLASS_INTEGER:
    case LFUSE__CLASS_RANDOM: break;
    }
    return lfuse__is_integer(type) ? integer(op, type, operands) : floating(op, type, exact, operands);
}

/* To an integer type: floating numbers truncate and saturate, NaN gives 0; integers wrap. */
static long double to_integer(lfuse_type from, lfuse_type to, long double v)
{
    if (isnan(v)) return 0;
    if (!lfuse__is_floating(from)) return (long double)lfuse__wrapped(to, (whole)v);
    if (v >= (long double)lfuse__highest(to)) return (long double)lfuse__highest(to);
    if (v <= (long double)lfuse__lowest(to)) return (long double)lfuse__lowest(to);
    return truncl(v);
}

lfuse__pair lfuse__oracle_cast(lfuse_type from, lfuse_type to, lfuse__pair x)
{
    lfuse__pair y;
    double up, down;

    if (to == LFUSE_BOOL) {
        const bool open = x.e > 0 && !(fabsl(x.v) > x.e);
        return (lfuse__pair){x.v != 0, open ? 1 : 0};
    }
    if (!lfuse__is_integer(to)) return to == from ? x : lfuse__oracle_store(to, x);
    if (isinf(x.e)) return (lfuse__pair){isfinite(x.v) ? to_integer(from, to, x.v) : 0, INFINITY};
    y.v = to_integer(from, to, x.v);
    if (x.e == 0) return (lfuse__pair){y.v, 0};
    /* A wrap within the interval. */
    if (lfuse__is_integer(from) && (!in_range(to, x.v - x.e) || !in_range(to, x.v + x.e)))
        return (lfuse__pair){y.v, INFINITY};
    up = (double)fabsl(to_integer(from, to, x.v + x.e) - y.v);
    down = (double)fabsl(to_integer(from, to, x.v - x.e) - y.v);
    y.e = up > down ? up : down;
    return y;
}
