/* SPDX-License-Identifier: Apache-2.0 */
#include "common/graph/compose.h"

#include <string.h>

#include "libfuse/ops.h"

lfuse_value lfuse__widen(const char *call, lfuse_value v)
{
    return v.id < 0 ? v : lfuse__to_type(call, v, lfuse__wide_type((lfuse_type)v.graph->nodes[v.id].type));
}

static lfuse_type type_without_axes(lfuse__reduce op, lfuse_type type)
{
    if (lfuse__folds[op].type != LFUSE__FOLD_WIDE) return type;
    return lfuse__is_floating(type) ? lfuse__wide_type(type) : LFUSE_I64;
}

lfuse_value lfuse__reduce_value(const char *call, lfuse__reduce op, lfuse_value v, unsigned set, bool keepdims)
{
    if (v.id >= 0 && v.graph->nodes[v.id].type == LFUSE_BOOL && lfuse__folds[op].type == LFUSE__FOLD_WIDE)
        v = lfuse__to_type(call, v, LFUSE_I32);
    if (v.id < 0) return v;
    if (!set) return lfuse__to_type(call, v, type_without_axes(op, (lfuse_type)v.graph->nodes[v.id].type));
    return lfuse__build_reduce(v.graph, call, op, v.id, set, keepdims);
}

lfuse_value lfuse__count_value(const char *call, lfuse_value v, unsigned set)
{
    lfuse_size count = 1;
    int i;

    if (v.id < 0) return v;
    for (i = 0; i < LFUSE_MAX_RANK; i++)
        if (set & 1u << i && !lfuse__size_multiply(v.graph, call, count, v.graph->nodes[v.id].shape[i], &count))
            return LFUSE__POISONED(v.graph);
    return lfuse__build_extent_number(v.graph, call, count);
}

lfuse_value lfuse__mean_value(const char *call, lfuse_value v, unsigned set, bool keepdims)
{
    const lfuse_value sum = lfuse__reduce_value(call, LFUSE__REDUCE_SUM, v, set, keepdims);

    return lfuse__op_div(sum, lfuse__count_value(call, v, set));
}

lfuse_value lfuse__inverse_root(lfuse_value v, double eps)
{
    return lfuse__op_reciprocal(lfuse__op_sqrt(lfuse__op_add(v, lfuse__build_constant(v.graph, eps))));
}

lfuse_graph *lfuse__compose_all(const char *call, lfuse_value *a, lfuse_type *type, lfuse_graph **where)
{
    lfuse_graph *g = lfuse__build_operands(call, 1, a, where);

    if (!g || !lfuse__build_tensor(g, call, a->id)) return NULL;
    *type = (lfuse_type)g->nodes[a->id].type;
    if (!lfuse__is_floating(*type)) {
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(*type));
        return NULL;
    }
    *a = lfuse__widen(call, *a);
    return a->id < 0 ? NULL : g;
}

lfuse_graph *lfuse__compose(const char *call, lfuse_value *a, int count, const int *axes, unsigned *set,
                            lfuse_type *type, lfuse_graph **where)
{
    lfuse_graph *g = lfuse__compose_all(call, a, type, where);

    return g && lfuse__build_axes(g, call, g->nodes[a->id].rank, count, axes, set) ? g : NULL;
}

bool lfuse__compose_operand(const char *call, const char *what, lfuse_value a, lfuse_type type, int rank,
                            const lfuse_size *shape, lfuse_value *operand)
{
    const lfuse_value both[] = {a, *operand};
    lfuse_graph *g = lfuse__build_inner_operands(call, 2, both, NULL);
    const lfuse__node *n;

    if (!g || !lfuse__build_tensor(g, call, operand->id)) return false;
    n = &g->nodes[operand->id];
    if (n->type != type && n->type != lfuse__wide_type(type)) {
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: %s is %s, the operand of type %s", call, what,
                            lfuse__describe(g, operand->id).text, lfuse_type_name(type));
        return false;
    }
    if (n->rank != rank || (rank && memcmp(n->shape, shape, (size_t)rank * sizeof *shape))) {
        lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: %s is %s, where %s is needed", call, what,
                            lfuse__describe(g, operand->id).text, lfuse__describe_shape(g, rank, shape).text);
        return false;
    }
    *operand = lfuse__widen(call, *operand);
    return operand->id >= 0;
}
