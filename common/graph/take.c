/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of any axis by index. */
#include <string.h>

#include "common/graph/compose.h"
#include "libfuse/views.h"

static bool is_mode(lfuse_graph *g, const char *call, lfuse_index_mode mode)
{
    if (mode == LFUSE_INDEX_PLAIN || mode == LFUSE_INDEX_FROM_END) return true;
    lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: %d is no mode of indices", call, (int)mode);
    return false;
}

/* Negative ones plus the extent; in i64 where the extent may not fit beside them. */
static lfuse_value from_end(const char *call, lfuse_value indices, lfuse_size extent)
{
    lfuse_graph *g = indices.graph;
    const lfuse_type own = (lfuse_type)g->nodes[indices.id].type;
    lfuse_value n, zero;
    lfuse_type type;
    int64_t low, high;

    if (own != LFUSE_I32 && own != LFUSE_I64) return indices; /* refused by who looks them up */
    lfuse__size_bounds(g, extent, &low, &high);
    type = high > INT32_MAX ? LFUSE_I64 : own;
    indices = lfuse__to_type(call, indices, type);
    n = lfuse__to_type(call, lfuse__build_extent_number(g, call, extent), type);
    zero = lfuse__to_type(call, lfuse__build_constant(g, 0), type);
    return lfuse__op_where(lfuse__op_lt(indices, zero), lfuse__op_add(indices, n), indices);
}

/* The operands of both functions: tensors, an axis, indices that count from 0 alone. */
static lfuse_graph *read_operands(const char *call, lfuse_value a, int *axis, lfuse_value *indices,
                                  lfuse_index_mode mode, lfuse_graph **where)
{
    const lfuse_value both[] = {a, *indices};
    lfuse_graph *g = lfuse__build_operands(call, 2, both, where);

    if (!g || !lfuse__build_tensor(g, call, a.id) || !lfuse__build_tensor(g, call, indices->id) ||
        !lfuse__build_axis(g, call, *axis, g->nodes[a.id].rank, axis) || !is_mode(g, call, mode))
        return NULL;
    if (mode == LFUSE_INDEX_FROM_END) *indices = from_end(call, *indices, g->nodes[a.id].shape[*axis]);
    return indices->id < 0 ? NULL : g;
}

/* Axis `axis` as the first, before the others. */
static lfuse_value axis_first(lfuse_graph *g, const char *call, int32_t node, int axis)
{
    int axes[LFUSE_MAX_RANK], i;

    for (i = 0; i < g->nodes[node].rank; i++) axes[i] = i == 0 ? axis : i - (i <= axis);
    return axis ? lfuse__build_permute(g, call, node, axes) : (lfuse_value){g, node};
}

/* The first `count` axes behind the `before` axes that follow them. */
static lfuse_value axes_behind(lfuse_graph *g, const char *call, int32_t node, int count, int before)
{
    int axes[LFUSE_MAX_RANK], i;

    for (i = 0; i < g->nodes[node].rank; i++)
        axes[i] = i < before ? count + i : i < before + count ? i - before : i;
    return before && count ? lfuse__build_permute(g, call, node, axes) : (lfuse_value){g, node};
}

lfuse_value lfuse__build_index_select(lfuse_graph *g, const char *call, int32_t node, int32_t indices, int axis)
{
    lfuse_value v = axis_first(g, call, node, axis);

    if (v.id >= 0) v = lfuse__build_gather(g, call, v.id, indices);
    return v.id < 0 ? v : axes_behind(g, call, v.id, g->nodes[indices].rank, axis);
}

lfuse_value lfuse_index_select(lfuse_value a, int axis, lfuse_value indices, lfuse_index_mode mode)
{
    static const char call[] = "lfuse_index_select";
    lfuse_graph *where, *g = read_operands(call, a, &axis, &indices, mode, &where);

    return g ? lfuse__build_index_select(g, call, a.id, indices.id, axis) : LFUSE__POISONED(where);
}

/* The value in the shape of `like` but for the axis; itself where it has that. */
static lfuse_value spread(lfuse_graph *g, const char *call, int32_t node, const lfuse_size *like, int axis)
{
    const lfuse__node *n = &g->nodes[node];
    lfuse_size shape[LFUSE_MAX_RANK];

    memcpy(shape, like, (size_t)n->rank * sizeof *shape);
    shape[axis] = n->shape[axis];
    if (!memcmp(shape, n->shape, (size_t)n->rank * sizeof *shape)) return (lfuse_value){g, node};
    return lfuse__build_broadcast(g, call, node, n->rank, shape);
}

lfuse_value lfuse_take_along(lfuse_value a, int axis, lfuse_value indices, lfuse_index_mode mode)
{
    static const char call[] = "lfuse_take_along";
    lfuse_graph *where, *g = read_operands(call, a, &axis, &indices, mode, &where);
    lfuse_size shape[LFUSE_MAX_RANK];
    const lfuse__node *t, *x;
    int i;

    if (!g) return LFUSE__POISONED(where);
    t = &g->nodes[a.id];
    x = &g->nodes[indices.id];
    if (t->rank != x->rank)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: a has rank %d, the indices have rank %d", call, t->rank,
                                   x->rank);
    for (i = 0; i < t->rank; i++) shape[i] = t->shape[i] == 1 ? x->shape[i] : t->shape[i];
    a = spread(g, call, a.id, shape, axis);
    if (a.id >= 0) indices = spread(g, call, indices.id, shape, axis);
    return a.id < 0 || indices.id < 0 ? LFUSE__POISONED(g)
                                      : lfuse__build_gather_along(g, call, a.id, indices.id, axis);
}
