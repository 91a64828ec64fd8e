/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its kin: the maximum is subtracted first. */
#include <math.h>

#include "common/graph/compose.h"
#include "libfuse/ops.h"

lfuse_value lfuse_softmax(lfuse_value a, int count, const int *axes)
{
    static const char call[] = "lfuse_softmax";
    lfuse_graph *where;
    lfuse_type type;
    lfuse_value e;
    unsigned set;

    if (!lfuse__compose(call, &a, count, axes, &set, &type, &where)) return LFUSE__POISONED(where);
    e = lfuse__op_exp(lfuse__op_sub(a, lfuse__reduce_value(call, LFUSE__REDUCE_MAX, a, set, true)));
    e = lfuse__op_mul(e, lfuse__op_reciprocal(lfuse__reduce_value(call, LFUSE__REDUCE_SUM, e, set, true)));
    e = lfuse__identity_value(call, LFUSE__IDENTITY_SOFTMAX, e, a, a, set);
    return lfuse__to_type(call, e, type);
}

lfuse_value lfuse_log_softmax(lfuse_value a, int count, const int *axes)
{
    static const char call[] = "lfuse_log_softmax";
    lfuse_graph *where;
    lfuse_type type;
    lfuse_value d;
    unsigned set;

    if (!lfuse__compose(call, &a, count, axes, &set, &type, &where)) return LFUSE__POISONED(where);
    d = lfuse__op_sub(a, lfuse__reduce_value(call, LFUSE__REDUCE_MAX, a, set, true));
    d = lfuse__op_sub(d, lfuse__op_log(lfuse__reduce_value(call, LFUSE__REDUCE_SUM, lfuse__op_exp(d), set, true)));
    d = lfuse__identity_value(call, LFUSE__IDENTITY_LOG_SOFTMAX, d, a, a, set);
    return lfuse__to_type(call, d, type);
}

/* The result has no kept axes, what is subtracted has. */
static lfuse_value without_axes(const char *call, lfuse_value v, unsigned set)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    int i, rank = 0;

    if (v.id < 0) return v;
    for (i = 0; i < v.graph->nodes[v.id].rank; i++)
        if (!(set & 1u << i)) shape[rank++] = v.graph->nodes[v.id].shape[i];
    return lfuse__build_reshape(v.graph, call, v.id, rank, shape);
}

lfuse_value lfuse_logsumexp(lfuse_value a, int count, const int *axes, int keepdims)
{
    static const char call[] = "lfuse_logsumexp";
    lfuse_graph *where, *g;
    lfuse_type type;
    lfuse_value top, sum;
    unsigned set;

    g = lfuse__compose(call, &a, count, axes, &set, &type, &where);
    if (!g) return LFUSE__POISONED(where);
    top = lfuse__reduce_value(call, LFUSE__REDUCE_MAX, a, set, true);
    top = lfuse__op_where(lfuse__op_lt(lfuse__op_abs(top), lfuse__build_constant(g, INFINITY)), top,
                          lfuse__build_constant(g, 0));
    sum = lfuse__op_log(lfuse__reduce_value(call, LFUSE__REDUCE_SUM, lfuse__op_exp(lfuse__op_sub(a, top)), set, true));
    sum = lfuse__identity_value(call, LFUSE__IDENTITY_LOGSUMEXP, lfuse__op_add(sum, top), a, a, set);
    sum = lfuse__to_type(call, sum, type);
    return keepdims || !set ? sum : without_axes(call, sum, set);
}
