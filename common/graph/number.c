/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers: what constants and scalars become before they meet a tensor. In f64, by the references of ops.def; powers as
 * kernels take them.
 */
#include <math.h>
#include <stdint.h>

#include "common/base/power.h"
#include "common/graph/graph.h"

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
    if (op == LFUSE__OP_pow) return lfuse__power(a, b);
    if (op == LFUSE__OP_powi) return lfuse__whole_power(a, b);
    return values[op](a, b, c);
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
