/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of rows and elements by index, which are each other's adjoints. */
#include "common/graph/gradient.h"

/* An extent as a number of i64. */
static lfuse_value whole(const lfuse__backward *b, lfuse_size extent)
{
    return lfuse__to_type(b->call, lfuse__build_extent_number(b->g, b->call, extent), LFUSE_I64);
}

lfuse_value lfuse__gradient_positions(const lfuse__backward *b, int rank, const lfuse_size *shape, int axis)
{
    lfuse_size behind = 1;
    lfuse_value v;
    int i;

    for (i = axis + 1; i < rank; i++)
        if (!lfuse__size_multiply(b->g, b->call, behind, shape[i], &behind)) return LFUSE__POISONED(b->g);
    v = lfuse__op_div(lfuse__build_index(b->g, b->call, rank, shape), whole(b, behind));
    return lfuse__op_remainder(v, whole(b, shape[axis]));
}

/* One element is taken along the axis: the cotangent stands at its index, and 0 elsewhere. */
static lfuse_value one_element(lfuse__backward *b, const lfuse__node *n, const lfuse__node *table, lfuse_value g)
{
    const lfuse_value at = lfuse__to_type(b->call, (lfuse_value){b->g, n->in[1]}, LFUSE_I64);
    const lfuse_value here = lfuse__gradient_positions(b, table->rank, table->shape, n->axes[0]);

    return lfuse__op_where(lfuse__op_eq(here, at), g, lfuse__build_constant(b->g, 0));
}

/*
 * The own index of each element, moved along the axis from its own position to the one that is looked up; -1, which is
 * out of range, where that is.
 */
static lfuse_value moved(const lfuse__backward *b, const lfuse__node *n, int axis, lfuse_size extent, lfuse_value index)
{
    const lfuse_value none = lfuse__to_type(b->call, lfuse__build_constant(b->g, -1), LFUSE_I64);
    lfuse_value outer, inner, at = lfuse__build_index(b->g, b->call, n->rank, n->shape), there;
    lfuse_size behind = 1;
    int i;

    for (i = axis + 1; i < n->rank; i++)
        if (!lfuse__size_multiply(b->g, b->call, behind, n->shape[i], &behind)) return LFUSE__POISONED(b->g);
    inner = lfuse__op_remainder(at, whole(b, behind));
    outer = lfuse__op_div(lfuse__op_div(at, whole(b, behind)), whole(b, n->shape[axis]));
    at = lfuse__op_add(lfuse__op_mul(outer, whole(b, extent)), index);
    at = lfuse__op_add(lfuse__op_mul(at, whole(b, behind)), inner);
    there = lfuse__op_logical_and(lfuse__op_gt(index, none), lfuse__op_lt(index, whole(b, extent)));
    return lfuse__op_where(there, at, none);
}

lfuse_value lfuse__gradient_scatter_along(const lfuse__backward *b, lfuse_value g, int axis, lfuse_value index,
                                          lfuse_size extent)
{
    lfuse__node n;
    lfuse_size count = 1, all = 1;
    int i;

    if (g.id < 0 || index.id < 0) return LFUSE__POISONED(b->g);
    n = b->g->nodes[g.id];
    index = moved(b, &n, axis, extent, lfuse__to_type(b->call, index, LFUSE_I64));
    for (i = 0; i < n.rank; i++)
        if (!lfuse__size_multiply(b->g, b->call, count, n.shape[i], &count) ||
            !lfuse__size_multiply(b->g, b->call, all, i == axis ? extent : n.shape[i], &all))
            return LFUSE__POISONED(b->g);
    if (index.id >= 0) index = lfuse__build_reshape(b->g, b->call, index.id, 1, &count);
    g = lfuse__build_reshape(b->g, b->call, g.id, 1, &count);
    if (index.id < 0 || g.id < 0) return LFUSE__POISONED(b->g);
    g = lfuse__build_scatter_add(b->g, b->call, g.id, index.id, all);
    n.shape[axis] = extent;
    return g.id < 0 ? g : lfuse__build_reshape(b->g, b->call, g.id, n.rank, n.shape);
}

void lfuse__gradient_gather(lfuse__backward *b, int32_t id, lfuse_value g)
{
    const lfuse__node n = b->g->nodes[id], table = b->g->nodes[n.in[0]];

    g = lfuse__gradient_expand(b, id, g);
    if (g.id < 0) return;
    if (!n.naxes) g = lfuse__build_scatter_add(b->g, b->call, g.id, n.in[1], table.shape[0]);
    else if (n.shape[n.axes[0]] == 1) g = one_element(b, &n, &table, g);
    else g = lfuse__gradient_scatter_along(b, g, n.axes[0], (lfuse_value){b->g, n.in[1]}, table.shape[n.axes[0]]);
    lfuse__gradient_add(b, n.in[0], g);
}

void lfuse__gradient_scatter_add(lfuse__backward *b, int32_t id, lfuse_value g)
{
    const lfuse__node n = b->g->nodes[id];

    g = lfuse__gradient_expand(b, id, g);
    if (g.id >= 0) lfuse__gradient_add(b, n.in[0], lfuse__build_gather(b->g, b->call, g.id, n.in[1]));
}
