/* SPDX-License-Identifier: Apache-2.0 */
/* The same elements in row-major order, in another shape. */
#include "common/graph/gradient.h"
#include "libfuse/views.h"

/* The product of the extents that are in `a` and not, once for each, in `b`. */
static bool rest_of(const lfuse_graph *g, int na, const lfuse_size *a, int nb, const lfuse_size *b,
                    lfuse__poly *product)
{
    bool paired[LFUSE_MAX_RANK] = {false};
    lfuse__poly factor;
    int i, j;

    lfuse__poly_of(g, 1, product);
    for (i = 0; i < na; i++) {
        for (j = 0; j < nb && (paired[j] || b[j] != a[i] || !a[i]); j++) continue;
        if (j < nb) {
            paired[j] = true;
            continue;
        }
        lfuse__poly_of(g, a[i], &factor);
        if (!lfuse__poly_multiply(product, &factor, product)) return false;
    }
    return true;
}

lfuse_value lfuse__build_reshape(lfuse_graph *g, const char *call, int32_t node, int rank, const lfuse_size *shape)
{
    const lfuse__node *in = &g->nodes[node];
    lfuse__node n = lfuse__build_over(LFUSE__RESHAPE, (lfuse_type)in->type, node, -1);
    lfuse__poly have, want;

    lfuse__build_set_shape(&n, rank, shape);
    if (rest_of(g, in->rank, in->shape, rank, shape, &have) && rest_of(g, rank, shape, in->rank, in->shape, &want) &&
        lfuse__poly_equal(&have, &want))
        return lfuse__build_append(g, call, &n);
    return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: %s does not have as many elements as %s", call,
                               lfuse__describe(g, node).text, lfuse__describe_shape(g, rank, shape).text);
}

lfuse_value lfuse__build_fence(lfuse_graph *g, const char *call, int32_t node)
{
    lfuse__node n = lfuse__build_over(LFUSE__RESHAPE, (lfuse_type)g->nodes[node].type, node, -1);

    n.op = LFUSE__RESHAPE_FENCE;
    lfuse__build_set_form(&n, &g->nodes[node]);
    return lfuse__build_append(g, call, &n);
}

void lfuse__gradient_reshape(lfuse__backward *b, int32_t id, lfuse_value g)
{
    const lfuse__node in = b->g->nodes[b->g->nodes[id].in[0]];

    g = lfuse__gradient_expand(b, id, g);
    if (g.id >= 0) lfuse__gradient_add(b, b->g->nodes[id].in[0],
                                       lfuse__build_reshape(b->g, b->call, g.id, in.rank, in.shape));
}

/* What shape[open] must be for the elements to fit. */
static bool infer(lfuse_graph *g, const char *call, int32_t node, int rank, lfuse_size *shape, int open)
{
    const lfuse__node *in = &g->nodes[node];
    lfuse__poly have, others;
    lfuse_size given[LFUSE_MAX_RANK];
    int i, count = 0;

    for (i = 0; i < rank; i++)
        if (i != open) given[count++] = shape[i];
    if (rest_of(g, in->rank, in->shape, count, given, &have) &&
        rest_of(g, count, given, in->rank, in->shape, &others) && lfuse__poly_divide(&have, &others, &have))
        return lfuse__size_of_poly(g, call, &have, &shape[open]);
    lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: %s does not fit into %s, whatever extent %d is", call,
                        lfuse__describe(g, node).text, lfuse__describe_shape(g, rank, shape).text, open);
    return false;
}

lfuse_value lfuse_reshape(lfuse_value a, int rank, const lfuse_size *shape)
{
    static const char call[] = "lfuse_reshape";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse_size given[LFUSE_MAX_RANK], extents[LFUSE_MAX_RANK];
    int i, open = -1;

    if (!g || !lfuse__build_tensor(g, call, a.id)) return LFUSE__POISONED(where);
    for (i = 0; i < rank && rank <= LFUSE_MAX_RANK && shape; i++) {
        given[i] = shape[i] == LFUSE_REST ? 1 : shape[i];
        if (shape[i] != LFUSE_REST) continue;
        if (open >= 0)
            return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: extents %d and %d are both left open", call, open, i);
        open = i;
    }
    if (!lfuse__build_shape(g, call, rank, shape ? given : NULL, extents)) return LFUSE__POISONED(g);
    if (open >= 0) extents[open] = LFUSE_REST;
    if (open >= 0 && !infer(g, call, a.id, rank, extents, open)) return LFUSE__POISONED(g);
    return lfuse__build_reshape(g, call, a.id, rank, extents);
}

lfuse_value lfuse_flatten(lfuse_value a, int first, int last)
{
    static const char call[] = "lfuse_flatten";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse_size shape[LFUSE_MAX_RANK] = {1};
    int i, rank, count = 0;

    if (!g || !lfuse__build_tensor(g, call, a.id)) return LFUSE__POISONED(where);
    rank = g->nodes[a.id].rank;
    if (!rank && first >= -1 && first <= 0 && last >= -1 && last <= 0) /* a number becomes a vector of one */
        return lfuse__build_reshape(g, call, a.id, 1, shape);
    if (!lfuse__build_axis(g, call, first, rank, &first) || !lfuse__build_axis(g, call, last, rank, &last))
        return LFUSE__POISONED(g);
    if (first > last)
        return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d does not come before axis %d", call, first, last);
    for (i = 0; i < rank; i++) {
        const lfuse_size extent = g->nodes[a.id].shape[i];
        if (i <= first || i > last) shape[count++] = extent;
        else if (!lfuse__size_multiply(g, call, shape[first], extent, &shape[first])) return LFUSE__POISONED(g);
    }
    return first == last ? a : lfuse__build_reshape(g, call, a.id, count, shape);
}

lfuse_value lfuse_squeeze(lfuse_value a, int axis)
{
    static const char call[] = "lfuse_squeeze";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse_size shape[LFUSE_MAX_RANK];
    int i, count = 0;

    if (!g || !lfuse__build_tensor(g, call, a.id) ||
        !lfuse__build_axis(g, call, axis, g->nodes[a.id].rank, &axis))
        return LFUSE__POISONED(where);
    if (g->nodes[a.id].shape[axis] != 1)
        return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d of %s is not of extent 1", call, axis,
                                   lfuse__describe(g, a.id).text);
    for (i = 0; i < g->nodes[a.id].rank; i++)
        if (i != axis) shape[count++] = g->nodes[a.id].shape[i];
    return lfuse__build_reshape(g, call, a.id, count, shape);
}

lfuse_value lfuse_unsqueeze(lfuse_value a, int axis)
{
    static const char call[] = "lfuse_unsqueeze";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse_size shape[LFUSE_MAX_RANK];
    int i, rank;

    if (!g || !lfuse__build_tensor(g, call, a.id)) return LFUSE__POISONED(where);
    rank = g->nodes[a.id].rank + 1;
    if (rank > LFUSE_MAX_RANK)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: rank %d is not in 0 ... %d", call, rank, LFUSE_MAX_RANK);
    if (!lfuse__build_axis(g, call, axis, rank, &axis)) return LFUSE__POISONED(g);
    for (i = 0; i < rank; i++)
        shape[i] = i == axis ? 1 : g->nodes[a.id].shape[i - (i > axis)];
    return lfuse__build_reshape(g, call, a.id, rank, shape);
}
