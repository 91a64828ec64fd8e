/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "common/graph/build.h"
#include "libfuse/ops.h"

lfuse_value lfuse__build_matmul(lfuse_graph *g, const char *call, int32_t a, int32_t b)
{
    const lfuse__node *x = &g->nodes[a], *y = &g->nodes[b];
    char of_a[LFUSE__DESCRIPTION], of_b[LFUSE__DESCRIPTION];
    lfuse__node n;

    lfuse__build_describe(g, a, of_a, sizeof of_a);
    lfuse__build_describe(g, b, of_b, sizeof of_b);
    if (x->list || y->list || x->rank != 2 || y->rank != 2)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: operands of rank 2 are needed: a is %s, b is %s", call, of_a,
                                   of_b);
    if (x->type != y->type)
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: types differ: a is %s, b is %s", call, of_a, of_b);
    if (!lfuse__is_floating((lfuse_type)x->type))
        return lfuse__graph_poison(g, LFUSE_ERR_UNSUPPORTED, "%s: products of type %s are not supported", call,
                                   lfuse_type_name((lfuse_type)x->type));
    if (x->shape[1] != y->shape[0])
        return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: inner extents differ: a is %s, b is %s", call, of_a, of_b);
    n = lfuse__build_node(LFUSE__MATMUL, (lfuse_type)x->type);
    n.nin = 2;
    n.in[0] = a;
    n.in[1] = b;
    n.rank = 2;
    n.shape[0] = x->shape[0];
    n.shape[1] = y->shape[1];
    return lfuse__build_append(g, call, &n);
}

/* The axes before the last as one, multiplied, and as they were. */
static lfuse_value stacked(lfuse_graph *g, const char *call, int32_t a, int32_t b)
{
    const int rank = g->nodes[a].rank;
    lfuse_size flat[2] = {1, g->nodes[a].shape[rank - 1]}, shape[LFUSE_MAX_RANK];
    lfuse_value v;
    int i;

    memcpy(shape, g->nodes[a].shape, sizeof shape);
    if (shape[rank - 1] != g->nodes[b].shape[0]) { /* said with the shapes that the user knows */
        char of_a[LFUSE__DESCRIPTION], of_b[LFUSE__DESCRIPTION];
        lfuse__build_describe(g, a, of_a, sizeof of_a);
        lfuse__build_describe(g, b, of_b, sizeof of_b);
        return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: inner extents differ: a is %s, b is %s", call, of_a, of_b);
    }
    for (i = 0; i < rank - 1; i++)
        if (!lfuse__size_multiply(g, call, flat[0], shape[i], &flat[0])) return LFUSE__POISONED(g);
    v = lfuse__build_reshape(g, call, a, 2, flat);
    if (v.id >= 0) v = lfuse__build_matmul(g, call, v.id, b);
    if (v.id < 0) return v;
    shape[rank - 1] = g->nodes[b].shape[1];
    return lfuse__build_reshape(g, call, v.id, rank, shape);
}

lfuse_value lfuse_matmul(lfuse_value a, lfuse_value b)
{
    static const char call[] = "lfuse_matmul";
    const lfuse_value operands[] = {a, b};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, operands, &where);

    if (!g) return LFUSE__POISONED(where);
    if (!g->nodes[a.id].list && g->nodes[a.id].rank > 2 && !g->nodes[b.id].list && g->nodes[b.id].rank == 2)
        return stacked(g, call, a.id, b.id);
    return lfuse__build_matmul(g, call, a.id, b.id);
}
