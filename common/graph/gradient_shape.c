/* SPDX-License-Identifier: Apache-2.0 */
/* Cotangents and the shapes of the values that they belong to: the adjoint of broadcasting, and broadcasting itself. */
#include "common/graph/gradient.h"

/* In the type that values of `type` are computed in: a number without a type takes it. */
static lfuse_value typed(const lfuse__backward *b, lfuse_value v, lfuse_type type)
{
    return lfuse__to_type(b->call, v, lfuse__wide_type(type));
}

lfuse_value lfuse__gradient_expand(const lfuse__backward *b, int32_t id, lfuse_value g)
{
    const lfuse__node n = b->g->nodes[id];

    g = typed(b, g, (lfuse_type)n.type);
    if (g.id < 0 || lfuse__same_shape(&b->g->nodes[g.id], &n)) return g;
    if (!n.list) return lfuse__build_broadcast(b->g, b->call, g.id, n.rank, n.shape);
    return lfuse__op_full_like(typed(b, (lfuse_value){b->g, id}, (lfuse_type)n.type), g);
}

lfuse_value lfuse__gradient_zeros(const lfuse__backward *b, lfuse_type type, int rank, const lfuse_size *shape)
{
    const lfuse_value zero = typed(b, lfuse__build_constant(b->g, 0), type);

    return zero.id < 0 ? zero : lfuse__build_broadcast(b->g, b->call, zero.id, rank, shape);
}

/* The axes of `from` at which `to`, aligned at the last axis, has no extent of its own. */
static unsigned repeated_axes(const lfuse__node *from, const lfuse__node *to)
{
    unsigned set = 0;
    int i;

    for (i = 0; i < from->rank; i++) {
        const int own = i - (from->rank - to->rank);
        if (own < 0 || (to->shape[own] == 1 && from->shape[i] != 1)) set |= 1u << i;
    }
    return set;
}

static lfuse_value sum_of_tensor(const lfuse__backward *b, const lfuse__node *from, const lfuse__node *to,
                                 lfuse_value v)
{
    const unsigned set = repeated_axes(from, to);

    v = lfuse__reduce_value(b->call, LFUSE__REDUCE_SUM, v, set, false);
    if (v.id < 0 || lfuse__same_shape(&b->g->nodes[v.id], to)) return v;
    return lfuse__build_reshape(b->g, b->call, v.id, to->rank, to->shape);
}

/* Rows or columns are summed along their members' other axis, matrices along both, members over all elements. */
static lfuse_value sum_of_list(const lfuse__backward *b, const lfuse__node *from, const lfuse__node *to, lfuse_value v)
{
    const bool matrix = from->rank == LFUSE_RANK_MATRIX;

    if (!to->list || !to->rank) {
        if (from->rank) v = lfuse__build_member_reduce(b->g, b->call, LFUSE__REDUCE_SUM, v.id);
        return to->list || v.id < 0 ? v : lfuse__build_list_reduce(b->g, b->call, LFUSE__REDUCE_SUM, v.id);
    }
    v = lfuse__build_line_reduce(b->g, b->call, LFUSE__REDUCE_SUM, v.id, to->rank == LFUSE_RANK_COLUMNS ? 1 : 0);
    if (to->rank != LFUSE_RANK_MATRICES || !matrix || v.id < 0) return v;
    return lfuse__build_line_reduce(b->g, b->call, LFUSE__REDUCE_SUM, v.id, 0);
}

lfuse_value lfuse__gradient_sum_to(const lfuse__backward *b, int32_t from, int32_t to, lfuse_value v)
{
    const lfuse__node f = b->g->nodes[from], t = b->g->nodes[to];

    if (v.id < 0 || lfuse__same_shape(&f, &t)) return v;
    v = lfuse__gradient_expand(b, from, v);
    if (v.id < 0) return v;
    v = f.list ? sum_of_list(b, &f, &t, v) : sum_of_tensor(b, &f, &t, v);
    return typed(b, v, (lfuse_type)t.type);
}
