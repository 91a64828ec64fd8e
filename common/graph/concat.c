/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors one after the other along an axis. */
#include "common/graph/gradient.h"
#include "libfuse/views.h"

static lfuse_value unlike(lfuse_graph *g, lfuse_status status, const char *call, const char *what, int32_t a, int32_t b)
{
    return lfuse__graph_poison(g, status, "%s: %s: %s and %s", call, what, lfuse__describe(g, a).text,
                               lfuse__describe(g, b).text);
}

lfuse_value lfuse__build_concat(lfuse_graph *g, const char *call, int32_t a, int32_t b, int axis)
{
    const lfuse__node *x = &g->nodes[a], *y = &g->nodes[b];
    lfuse__node n = lfuse__build_over(LFUSE__CONCAT, (lfuse_type)x->type, a, b);
    int i;

    if (x->type != y->type) return unlike(g, LFUSE_ERR_TYPE, call, "types differ", a, b);
    if (x->rank != y->rank) return unlike(g, LFUSE_ERR_RANK, call, "ranks differ", a, b);
    for (i = 0; i < x->rank; i++)
        if (i != axis && x->shape[i] != y->shape[i])
            return unlike(g, LFUSE_ERR_SHAPE, call, "shapes differ elsewhere than along the axis", a, b);
    lfuse__build_set_form(&n, x);
    lfuse__build_set_axis(&n, axis);
    if (!lfuse__size_add(g, call, x->shape[axis], y->shape[axis], &n.shape[axis])) return LFUSE__POISONED(g);
    return lfuse__build_append(g, call, &n);
}

void lfuse__gradient_concat(lfuse__backward *b, int32_t id, lfuse_value g)
{
    const lfuse__node n = b->g->nodes[id];
    const int axis = n.axes[0];
    lfuse_size start = 0;
    int i;

    g = lfuse__gradient_expand(b, id, g);
    for (i = 0; i < n.nin && g.id >= 0; i++) {
        const lfuse_size count = b->g->nodes[n.in[i]].shape[axis];
        if (lfuse__gradient_needs(b, n.in[i]))
            lfuse__gradient_add(b, n.in[i], lfuse__build_slice(b->g, b->call, g.id, axis, start, count, 1));
        if (!lfuse__size_add(b->g, b->call, start, count, &start)) return;
    }
}

/* The graph, when there is at least one operand and all are tensors. */
static lfuse_graph *tensors(const char *call, int count, const lfuse_value *values, lfuse_graph **where)
{
    lfuse_graph *g;
    int i;

    *where = NULL;
    if (count < 1 || !values) return NULL;
    g = lfuse__build_operands(call, count, values, where);
    for (i = 0; g && i < count; i++)
        if (!lfuse__build_tensor(g, call, values[i].id)) g = NULL;
    return g;
}

lfuse_value lfuse_concat(int count, const lfuse_value *values, int axis)
{
    static const char call[] = "lfuse_concat";
    lfuse_graph *where, *g = tensors(call, count, values, &where);
    lfuse_value v;
    int i;

    if (!g || !lfuse__build_axis(g, call, axis, g->nodes[values[0].id].rank, &axis)) return LFUSE__POISONED(where);
    for (v = values[0], i = 1; i < count && v.id >= 0; i++) v = lfuse__build_concat(g, call, v.id, values[i].id, axis);
    return v;
}

static lfuse_value with_axis(lfuse_graph *g, const char *call, int32_t node, int axis)
{
    lfuse_size shape[LFUSE_MAX_RANK + 1];
    const int rank = g->nodes[node].rank + 1;
    int i;

    for (i = 0; i < rank; i++) shape[i] = i == axis ? 1 : g->nodes[node].shape[i - (i > axis)];
    return lfuse__build_reshape(g, call, node, rank, shape);
}

lfuse_value lfuse_stack(int count, const lfuse_value *values, int axis)
{
    static const char call[] = "lfuse_stack";
    lfuse_graph *where, *g = tensors(call, count, values, &where);
    lfuse_value v = LFUSE__POISONED(where), next;
    int i, rank;

    if (!g) return v;
    rank = g->nodes[values[0].id].rank + 1;
    if (rank > LFUSE_MAX_RANK)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: rank %d is not in 0 ... %d", call, rank, LFUSE_MAX_RANK);
    if (!lfuse__build_axis(g, call, axis, rank, &axis)) return v;
    for (i = 0; i < count; i++) {
        if (!lfuse__same_shape(&g->nodes[values[0].id], &g->nodes[values[i].id]))
            return unlike(g, LFUSE_ERR_SHAPE, call, "shapes differ", values[0].id, values[i].id);
        next = with_axis(g, call, values[i].id, axis);
        if (next.id < 0) return next;
        v = i ? lfuse__build_concat(g, call, v.id, next.id, axis) : next;
        if (v.id < 0) return v;
    }
    return v;
}
