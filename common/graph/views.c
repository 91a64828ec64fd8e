/* SPDX-License-Identifier: Apache-2.0 */
/* Views: other ways to walk the same elements. */
#include "common/graph/gradient.h"
#include "libfuse/views.h"

/* Numbers too: they have no axes, which is no mistake yet. */
static bool has_axes(lfuse_graph *g, const char *call, int32_t node)
{
    return g->nodes[node].type == LFUSE_TYPE_NONE || lfuse__build_tensor(g, call, node);
}

lfuse_value lfuse__build_permute(lfuse_graph *g, const char *call, int32_t node, const int *axes)
{
    lfuse__node n = lfuse__build_over(LFUSE__PERMUTE, (lfuse_type)g->nodes[node].type, node, -1);
    unsigned seen = 0;
    int i;

    n.rank = n.naxes = g->nodes[node].rank;
    for (i = 0; i < n.rank; i++) {
        if (axes[i] < 0 || axes[i] >= n.rank)
            return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axes[%d] is %d, the rank %d", call, i, axes[i], n.rank);
        if (seen & 1u << axes[i])
            return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d is named twice", call, axes[i]);
        seen |= 1u << axes[i];
        n.axes[i] = (int8_t)axes[i];
        n.shape[i] = g->nodes[node].shape[axes[i]];
    }
    return lfuse__build_append(g, call, &n);
}

void lfuse__gradient_permute(lfuse__backward *b, int32_t id, lfuse_value g)
{
    const lfuse__node n = b->g->nodes[id];
    int inverse[LFUSE_MAX_RANK], i;

    g = lfuse__gradient_expand(b, id, g);
    for (i = 0; i < n.rank; i++) inverse[n.axes[i]] = i;
    if (g.id >= 0) lfuse__gradient_add(b, n.in[0], lfuse__build_permute(b->g, b->call, g.id, inverse));
}

lfuse_value lfuse_permute(lfuse_value a, const int *axes)
{
    static const char call[] = "lfuse_permute";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);

    if (!g || !has_axes(g, call, a.id)) return LFUSE__POISONED(where);
    if (!g->nodes[a.id].rank) return a;
    if (!axes) return lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the axes are NULL", call);
    return lfuse__build_permute(g, call, a.id, axes);
}

lfuse_value lfuse_transpose(lfuse_value a)
{
    static const char call[] = "lfuse_transpose";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    int axes[LFUSE_MAX_RANK], i, rank;

    if (!g || !has_axes(g, call, a.id)) return LFUSE__POISONED(where);
    rank = g->nodes[a.id].rank;
    if (rank < 2) return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: rank %d has no two axes to swap", call, rank);
    for (i = 0; i < rank; i++) axes[i] = i;
    axes[rank - 1] = rank - 2;
    axes[rank - 2] = rank - 1;
    return lfuse__build_permute(g, call, a.id, axes);
}

lfuse_value lfuse__build_broadcast(lfuse_graph *g, const char *call, int32_t node, int rank, const lfuse_size *shape)
{
    const lfuse__node *in = &g->nodes[node];
    lfuse__node n = lfuse__build_over(LFUSE__BROADCAST, (lfuse_type)in->type, node, -1);
    int i, own;

    lfuse__build_set_shape(&n, rank, shape);
    if (rank < in->rank)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: from %s to %s: the rank shrinks", call,
                                   lfuse__describe(g, node).text, lfuse__describe_shape(g, rank, shape).text);
    for (i = 0; i < rank; i++) {
        own = i - (rank - in->rank);
        if (own >= 0 && in->shape[own] != 1 && in->shape[own] != n.shape[i])
            return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: from %s to %s: axis %d cannot repeat", call,
                                       lfuse__describe(g, node).text, lfuse__describe_shape(g, rank, shape).text,
                                       own);
    }
    return lfuse__build_append(g, call, &n);
}

void lfuse__gradient_broadcast(lfuse__backward *b, int32_t id, lfuse_value g)
{
    const int32_t in = b->g->nodes[id].in[0];

    lfuse__gradient_add(b, in, lfuse__gradient_sum_to(b, id, in, g));
}

lfuse_value lfuse_broadcast_to(lfuse_value a, int rank, const lfuse_size *shape)
{
    static const char call[] = "lfuse_broadcast_to";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse_size extents[LFUSE_MAX_RANK];

    if (!g || !has_axes(g, call, a.id) || !lfuse__build_shape(g, call, rank, shape, extents) ||
        !lfuse__build_tensor(g, call, a.id))
        return LFUSE__POISONED(where);
    return lfuse__build_broadcast(g, call, a.id, rank, extents);
}
