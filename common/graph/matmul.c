/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/graph/build.h"
#include "libfuse/ops.h"

lfuse_value lfuse_matmul(lfuse_value a, lfuse_value b)
{
    static const char call[] = "lfuse_matmul";
    const lfuse_value operands[] = {a, b};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, operands, &where);
    char of_a[LFUSE__DESCRIPTION], of_b[LFUSE__DESCRIPTION];
    const lfuse__node *x, *y;
    lfuse__node n;

    if (!g) return LFUSE__POISONED(where);
    x = &g->nodes[a.id];
    y = &g->nodes[b.id];
    lfuse__build_describe(g, a.id, of_a, sizeof of_a);
    lfuse__build_describe(g, b.id, of_b, sizeof of_b);
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
    n.in[0] = a.id;
    n.in[1] = b.id;
    n.rank = 2;
    n.shape[0] = x->shape[0];
    n.shape[1] = y->shape[1];
    return lfuse__build_append(g, call, &n);
}
