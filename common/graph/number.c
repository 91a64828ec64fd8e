/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers: what constants and scalars become before they meet a tensor. In f64, by the references of ops.def. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <stdint.h>

#include "common/graph/graph.h"

/* Integral exponents by repeated squaring: beta to the power of a step count has the same bits everywhere. */
static double power(double a, double b)
{
    double result = 1, square = a;
    uint64_t n;

    if (b != trunc(b) || fabs(b) > 9007199254740992.0) return pow(a, b);
    for (n = (uint64_t)fabs(b); n; n >>= 1) {
        if (n & 1) result *= square;
        square *= square;
    }
    return b < 0 ? 1 / result : result;
}

typedef double R;
#define LFUSE__OP(name, arity, klass, dialect, reference, ...)                                                         \
    static double value_##name(double a, double b, double c)                                                          \
    {                                                                                                                  \
        (void)a, (void)b, (void)c;                                                                                     \
        return reference;                                                                                              \
    }
#include "common/graph/ops.def"
#undef LFUSE__OP

typedef double value_function(double a, double b, double c);
static value_function *const values[LFUSE__OP_COUNT] = {
#define LFUSE__OP(name, ...) [LFUSE__OP_##name] = value_##name,
#include "common/graph/ops.def"
#undef LFUSE__OP
};

double lfuse__op_value(lfuse__op op, double a, double b, double c)
{
    return op == LFUSE__OP_pow ? power(a, b) : values[op](a, b, c);
}

/* The tree of a number is small (LFUSE__MAX_NUMBER_COST), so operands that are shared may be computed twice. */
double lfuse__graph_number(const lfuse_graph *g, int32_t node, const double *scalars, const int64_t *sizes)
{
    const lfuse__node *n = &g->nodes[node];
    double x[3] = {0, 0, 0};
    int64_t extent;
    int i;

    if (n->kind == LFUSE__CONSTANT) return n->number;
    if (n->kind == LFUSE__SCALAR) return scalars[n->name];
    if (n->kind == LFUSE__EXTENT)
        return lfuse__size_evaluate(g, n->shape[0], sizes, &extent) ? (double)NAN : (double)extent;
    for (i = 0; i < n->nin; i++) x[i] = lfuse__graph_number(g, n->in[i], scalars, sizes);
    return lfuse__op_value((lfuse__op)n->op, x[0], x[1], x[2]);
}
