/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial derivatives of the operators, from mathematics. At kinks and ties, where there is a choice, they are
 * PyTorch's: the subgradient of least magnitude, a half for each of two that are equal. Rows name the operator, and
 * have its derivatives by a, b and c.
 */
#include <math.h>

#include "tests/tape/tape_internal.h"

typedef long double R;

static R sigma(R a) { return 1 / (1 + expl(-a)); }
static R greater(R a, R b) { return a == b ? 0.5L : a < b ? 0 : 1; }
static R inside(R x, R low, R high) { return x > low && x < high; }

static R of_gelu(R a)
{
    return erfcl(-a / sqrtl(2)) / 2 + a * expl(-a * a / 2) / sqrtl(2 * acosl(-1));
}

static R of_gelu_tanh(R a)
{
    const R k = 2 * sqrtl(2 / acosl(-1)), s = sigma(k * (a + 0.044715L * a * a * a));
    return s + a * s * (1 - s) * k * (1 + 3 * 0.044715L * a * a);
}

static R of_mish(R a)
{
    const R t = tanhl((a > 0 ? a : 0) + log1pl(expl(-fabsl(a))));
    return t + a * sigma(a) * (1 - t * t);
}

/* Of operand i of clamp. Bounds that are tensors get what is cut off, and at a tie a half. */
static R of_clamp(const R *x, bool numbers, int i)
{
    const R a = x[0], low = x[1], high = x[2];
    R d[3] = {0, 0, 0};
    if (numbers) return i == 0 && inside(a, low, high);
    if (low > high) return i == 2;
    if (a < low) return i == 1;
    if (a > high) return i == 2;
    if (low == high || (a > low && a < high)) return i == 0;
    d[0] = d[a == low ? 1 : 2] = 0.5L;
    return d[i];
}

#define PARTIALS(X)                                                                                                    \
    X(add, 1, 1, 0)                                                                                                    \
    X(sub, 1, -1, 0)                                                                                                   \
    X(mul, b, a, 0)                                                                                                    \
    X(div, 1 / b, -a / (b * b), 0)                                                                                     \
    X(neg, -1, 0, 0)                                                                                                   \
    X(abs, a == 0 ? 0 : copysignl(1, a), 0, 0)                                                                         \
    X(min, greater(b, a), greater(a, b), 0)                                                                            \
    X(max, greater(a, b), greater(b, a), 0)                                                                            \
    X(fma, b, a, 1)                                                                                                    \
    X(fmod, 1, -truncl(a / b), 0)                                                                                      \
    X(remainder, 1, -floorl(a / b), 0)                                                                                 \
    X(square, 2 * a, 0, 0)                                                                                             \
    X(sign, 0, 0, 0)                                                                                                   \
    X(step, 0, 0, 0)                                                                                                   \
    X(lerp, 1 - c, c, b - a)                                                                                           \
    X(sqrt, 1 / (2 * sqrtl(a)), 0, 0)                                                                                  \
    X(rsqrt, -1 / (2 * a * sqrtl(a)), 0, 0)                                                                            \
    X(reciprocal, -1 / (a * a), 0, 0)                                                                                  \
    X(exp, expl(a), 0, 0)                                                                                              \
    X(exp2, logl(2) * exp2l(a), 0, 0)                                                                                  \
    X(expm1, expl(a), 0, 0)                                                                                            \
    X(log, 1 / a, 0, 0)                                                                                                \
    X(log2, 1 / (a * logl(2)), 0, 0)                                                                                   \
    X(log10, 1 / (a * logl(10)), 0, 0)                                                                                 \
    X(log1p, 1 / (1 + a), 0, 0)                                                                                        \
    X(sin, cosl(a), 0, 0)                                                                                              \
    X(cos, -sinl(a), 0, 0)                                                                                             \
    X(tan, 1 / (cosl(a) * cosl(a)), 0, 0)                                                                              \
    X(asin, 1 / sqrtl(1 - a * a), 0, 0)                                                                                \
    X(acos, -1 / sqrtl(1 - a * a), 0, 0)                                                                               \
    X(atan, 1 / (1 + a * a), 0, 0)                                                                                     \
    X(atan2, a == 0 && b == 0 ? 0 : b / (a * a + b * b), a == 0 && b == 0 ? 0 : -a / (a * a + b * b), 0)               \
    X(sinh, coshl(a), 0, 0)                                                                                            \
    X(cosh, sinhl(a), 0, 0)                                                                                            \
    X(tanh, 1 / (coshl(a) * coshl(a)), 0, 0)                                                                           \
    X(asinh, 1 / hypotl(1, a), 0, 0)                                                                                   \
    X(acosh, 1 / sqrtl(a * a - 1), 0, 0)                                                                               \
    X(atanh, 1 / (1 - a * a), 0, 0)                                                                                    \
    X(erf, 2 / sqrtl(acosl(-1)) * expl(-a * a), 0, 0)                                                                  \
    X(erfc, -2 / sqrtl(acosl(-1)) * expl(-a * a), 0, 0)                                                                \
    X(cbrt, 1 / (3 * cbrtl(a) * cbrtl(a)), 0, 0)                                                                       \
    X(hypot, a / hypotl(a, b), b / hypotl(a, b), 0)                                                                    \
    X(pow, b == 0 ? 0 : b * powl(a, b - 1), a == 0 && b >= 0 ? 0 : powl(a, b) * logl(a), 0)                            \
    X(powi, truncl(b) == 0 ? 0 : truncl(b) * powl(a, truncl(b) - 1), 0, 0)                                             \
    X(floor, 0, 0, 0)                                                                                                  \
    X(ceil, 0, 0, 0)                                                                                                   \
    X(trunc, 0, 0, 0)                                                                                                  \
    X(frac, 1, 0, 0)                                                                                                   \
    X(round, 0, 0, 0)                                                                                                  \
    X(sigmoid, sigma(a) * sigma(-a), 0, 0)                                                                             \
    X(relu, a <= 0 ? 0 : 1, 0, 0)                                                                                      \
    X(leaky_relu, a > 0 ? 1 : b, a > 0 ? 0 : a, 0)                                                                     \
    X(gelu, of_gelu(a), 0, 0)                                                                                          \
    X(gelu_tanh, of_gelu_tanh(a), 0, 0)                                                                                \
    X(gelu_quick, sigma(1.702L * a) * (1 + 1.702L * a * sigma(-1.702L * a)), 0, 0)                                     \
    X(silu, sigma(a) * (1 + a * sigma(-a)), 0, 0)                                                                      \
    X(softplus, sigma(a), 0, 0)                                                                                        \
    X(logaddexp, sigma(a - b), sigma(b - a), 0)                                                                        \
    X(logsigmoid, sigma(-a), 0, 0)                                                                                     \
    X(mish, of_mish(a), 0, 0)                                                                                          \
    X(softsign, 1 / ((1 + fabsl(a)) * (1 + fabsl(a))), 0, 0)                                                           \
    X(elu, a > 0 ? 1 : b * expl(a), a > 0 ? 0 : expm1l(a), 0)                                                          \
    X(selu, 1.05070098735548049341933498529460L * (a > 0 ? 1 : 1.67326324235437728481704297674L * expl(a)), 0, 0)      \
    X(selu_with, c * (a > 0 ? 1 : b * expl(a)), a > 0 ? 0 : c * expm1l(a), a > 0 ? a : b * expm1l(a))                  \
    X(celu, a > 0 ? 1 : a / b > 0 ? 0 : expl(a / b),                                                                   \
      a > 0 || a / b > 0 ? 0 : expm1l(a / b) - a / b * expl(a / b), 0)                                                 \
    X(hardsigmoid, inside(a, -3, 3) / 6, 0, 0)                                                                         \
    X(hardsigmoid_with, inside(fmal(a, b, c), 0, 1) * b, inside(fmal(a, b, c), 0, 1) * a, inside(fmal(a, b, c), 0, 1)) \
    X(hardswish, a <= -3 ? 0 : a < 3 ? a / 3 + 0.5L : 1, 0, 0)                                                         \
    X(relu6, a <= 0 || a >= 6 ? 0 : 1, 0, 0)                                                                           \
    X(squared_relu, a > 0 ? 2 * a : 0, 0, 0)                                                                           \
    X(threshold, a <= b ? 0 : 1, 0, a <= b)                                                                            \
    X(hardshrink, fabsl(a) > b, 0, 0)                                                                                  \
    X(softshrink, fabsl(a) > b, a > b ? -1 : a < -b ? 1 : 0, 0)                                                        \
    X(clamp, of_clamp(x, numbers, 0), of_clamp(x, numbers, 1), of_clamp(x, numbers, 2))                                \
    X(where, 0, a != 0, a == 0)                                                                                        \
    X(full_like, 0, 1, 0)

typedef void partials(const R *x, R y, bool numbers, R *d);

#define FUNCTION(name, da, db, dc)                                                                                     \
    static void of_operator_##name(const R *x, R y, bool numbers, R *d)                                                \
    {                                                                                                                  \
        const R a = x[0], b = x[1], c = x[2];                                                                          \
        (void)a, (void)b, (void)c, (void)y, (void)numbers;                                                             \
        d[0] = da, d[1] = db, d[2] = dc;                                                                               \
    }
PARTIALS(FUNCTION)

static partials *const of_operators[LFUSE__OP_COUNT] = {
#define ROW(name, da, db, dc) [LFUSE__OP_##name] = of_operator_##name,
    PARTIALS(ROW)
};

void tape_partials(lfuse__op op, const long double *x, long double y, bool numbers, long double *d)
{
    if (!of_operators[op]) tape_mistake("%s has no derivative", lfuse__ops[op].name);
    of_operators[op](x, y, numbers, d);
}
