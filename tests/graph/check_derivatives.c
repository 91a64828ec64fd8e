/* SPDX-License-Identifier: Apache-2.0 */
/* The derivatives of ops.def against differences of the reference, in long double. */
#include <float.h>

#include "common/base/philox.h"
#include "tests/support/main.h"
#include "tests/support/operators.h"

enum { POINTS = 400 };
static const R step = 0x1p-13L, sharp = 1e-6L;

/* Around 0 and 1 where functions bend, and farther out. */
static R coordinate(uint64_t number)
{
    static const R scales[] = {1, 1.5L, 4, 12};
    const R x = (R)(int32_t)lfuse__philox(number, 31, 7) * 0x1p-31L;
    return x * scales[number % 4] + (number % 8 < 2 ? 1 : 0);
}

/* Central difference along operand i, of five points: exact but for h^4 times the fifth derivative. */
static R difference(int op, const R *x, int i, R h, R *largest)
{
    static const int at[4] = {-2, -1, 1, 2}, weight[4] = {1, -8, 8, -1};
    R sum = 0;
    for (int k = 0; k < 4; k++) {
        R p[3] = {x[0], x[1], x[2]};
        p[i] += at[k] * h;
        const R y = operators[op].reference(p[0], p[1], p[2]);
        sum += weight[k] * y;
        if (fabs(y) > *largest) *largest = fabs(y);
    }
    return sum / (12 * h);
}

typedef struct tally {
    int defined, sharp;
} tally;

/*
 * Three steps tell how far the differences are from their limit: by h^4 a finer one has a fifteenth of what separates
 * it from the one before; the whole of that is the tolerance, with what rounding of values and of the text's constants
 * (double) makes. Next to a kink, a jump or a pole they differ by as much as it makes: such points say little, and are
 * not sharp.
 */
static void check_point(int op, const R *x, int i, tally *t)
{
    R largest = 0, d[3];
    const R coarse = difference(op, x, i, step, &largest);
    const R middle = difference(op, x, i, step / 2, &largest);
    const R fine = difference(op, x, i, step / 4, &largest);
    const R y = operators[op].reference(x[0], x[1], x[2]);
    if (!isfinite(coarse) || !isfinite(middle) || !isfinite(fine) || !isfinite(y)) return;
    operators[op].derivative(x[0], x[1], x[2], y, d);
    const R tolerance = fabs(coarse - middle) + fabs(middle - fine) + 128 * LDBL_EPSILON * largest / step +
                        16 * DBL_EPSILON * (fabs(d[i]) + 1);
    t->defined++;
    if (tolerance > sharp * (fabs(d[i]) + 1)) return;
    t->sharp++;
    ck_assert_msg(fabs(d[i] - fine) <= tolerance,
                  "%s at %.9Lg %.9Lg %.9Lg: the derivative by operand %d is %.12Lg, differences give %.12Lg +- %.2Lg",
                  lfuse__ops[op].name, x[0], x[1], x[2], i, d[i], fine, tolerance);
}

static bool has_slopes(int op, int operand)
{
    const lfuse__op_class klass = lfuse__ops[op].klass;
    if (klass == LFUSE__CLASS_SELECT) return operand > 0; /* the first is a mask */
    return klass == LFUSE__CLASS_NUMERIC || klass == LFUSE__CLASS_FLOATING;
}

TEST_CASE("ops.def")

TEST_LOOP(derivatives, 0, LFUSE__OP_COUNT)
{
    for (int i = 0; i < lfuse__ops[_i].arity; i++) {
        tally t = {0, 0};
        for (uint64_t p = 0; p < POINTS && has_slopes(_i, i); p++) {
            R x[3] = {coordinate(3 * p), coordinate(3 * p + 1), coordinate(3 * p + 2)};
            if (lfuse__ops[_i].klass == LFUSE__CLASS_SELECT) x[0] = p % 2;
            check_point(_i, x, i, &t);
        }
        if (!has_slopes(_i, i)) continue;
        ck_assert_msg(t.defined >= POINTS / 16, "%s is defined at %d points of %d", lfuse__ops[_i].name,
                      t.defined, POINTS);
        ck_assert_msg(2 * t.sharp > t.defined, "%s: %d points of %d say enough of operand %d", lfuse__ops[_i].name,
                      t.sharp, t.defined, i);
    }
}

TEST_SUITE("derivatives", CK_NOFORK)
