/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by index, and what makes indices and extents values. */
#include <string.h>

#include "common/graph/build.h"
#include "libfuse/ops.h"
#include "libfuse/views.h"

static bool is_index(lfuse_graph *g, const char *call, int32_t node)
{
    const lfuse_type type = (lfuse_type)g->nodes[node].type;

    if (type == LFUSE_I32 || type == LFUSE_I64) return true;
    lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: indices are i32 or i64, not %s", call, lfuse_type_name(type));
    return false;
}

lfuse_value lfuse__build_gather(lfuse_graph *g, const char *call, int32_t table, int32_t indices)
{
    const lfuse__node *t = &g->nodes[table], *x = &g->nodes[indices];
    lfuse__node n = lfuse__build_over(LFUSE__GATHER, (lfuse_type)t->type, table, indices);
    const int rank = t->rank - 1 + x->rank;

    if (!t->rank) return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: a table of rank 0 has no rows", call);
    if (!is_index(g, call, indices)) return LFUSE__POISONED(g);
    if (rank > LFUSE_MAX_RANK)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: rank %d (rows of rank %d by indices of rank %d) is not in "
                                   "0 ... %d", call, rank, t->rank - 1, x->rank, LFUSE_MAX_RANK);
    n.rank = (int8_t)rank;
    memcpy(n.shape, x->shape, (size_t)x->rank * sizeof *n.shape);
    memcpy(n.shape + x->rank, t->shape + 1, (size_t)(t->rank - 1) * sizeof *n.shape);
    return lfuse__build_append(g, call, &n);
}

lfuse_value lfuse__build_gather_along(lfuse_graph *g, const char *call, int32_t table, int32_t indices, int axis)
{
    const lfuse__node *t = &g->nodes[table], *x = &g->nodes[indices];
    lfuse__node n = lfuse__build_over(LFUSE__GATHER, (lfuse_type)t->type, table, indices);
    int i;

    if (!is_index(g, call, indices)) return LFUSE__POISONED(g);
    for (i = 0; i < t->rank && (i == axis || t->shape[i] == x->shape[i]); i++) continue;
    if (t->rank != x->rank || i < t->rank)
        return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: shapes differ beside axis %d: %s by the indices %s", call,
                                   axis, lfuse__describe(g, table).text, lfuse__describe(g, indices).text);
    lfuse__build_set_form(&n, x);
    lfuse__build_set_axis(&n, axis);
    return lfuse__build_append(g, call, &n);
}

lfuse_value lfuse_gather(lfuse_value table, lfuse_value indices)
{
    static const char call[] = "lfuse_gather";
    const lfuse_value both[] = {table, indices};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, both, &where);

    if (!g || !lfuse__build_tensor(g, call, table.id) || !lfuse__build_tensor(g, call, indices.id))
        return LFUSE__POISONED(where);
    return lfuse__build_gather(g, call, table.id, indices.id);
}

lfuse_value lfuse__build_scatter_add(lfuse_graph *g, const char *call, int32_t source, int32_t indices,
                                     lfuse_size rows)
{
    const lfuse__node *s = &g->nodes[source], *x = &g->nodes[indices];
    lfuse__node n = lfuse__build_over(LFUSE__SCATTER_ADD, (lfuse_type)s->type, source, indices);
    int i;

    if (!is_index(g, call, indices)) return LFUSE__POISONED(g);
    if (s->type == LFUSE_BOOL)
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type bool", call);
    for (i = 0; i < x->rank && i < s->rank && x->shape[i] == s->shape[i]; i++) continue;
    if (i < x->rank)
        return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: the source %s does not begin with the shape of the indices "
                                   "%s", call, lfuse__describe(g, source).text, lfuse__describe(g, indices).text);
    n.rank = (int8_t)(s->rank - x->rank + 1);
    if (n.rank > LFUSE_MAX_RANK)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: rank %d is not in 0 ... %d", call, n.rank, LFUSE_MAX_RANK);
    n.shape[0] = rows;
    memcpy(n.shape + 1, s->shape + x->rank, (size_t)(s->rank - x->rank) * sizeof *n.shape);
    return lfuse__build_append(g, call, &n);
}

lfuse_value lfuse_scatter_add(lfuse_value source, lfuse_value indices, lfuse_size rows)
{
    static const char call[] = "lfuse_scatter_add";
    const lfuse_value both[] = {source, indices};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, both, &where);

    if (!g || !lfuse__build_tensor(g, call, source.id) || !lfuse__build_tensor(g, call, indices.id) ||
        !lfuse__build_extent(g, call, rows, &rows))
        return LFUSE__POISONED(where);
    return lfuse__build_scatter_add(g, call, source.id, indices.id, rows);
}

lfuse_value lfuse__build_extent_number(lfuse_graph *g, const char *call, lfuse_size extent)
{
    lfuse__node n = lfuse__build_node(LFUSE__EXTENT, LFUSE_TYPE_NONE);

    n.shape[0] = extent;
    n.cost = 1;
    return lfuse__build_append(g, call, &n);
}

lfuse_value lfuse_extent(lfuse_graph *g, lfuse_size size)
{
    static const char call[] = "lfuse_extent";

    lfuse__build_begin(g, call);
    if (!g || !lfuse__build_extent(g, call, size, &size)) return LFUSE__POISONED(g);
    return lfuse__build_extent_number(g, call, size);
}

lfuse_value lfuse__build_index(lfuse_graph *g, const char *call, int rank, const lfuse_size *shape)
{
    lfuse__node n = lfuse__build_node(LFUSE__INDEX, LFUSE_I64);

    lfuse__build_set_shape(&n, rank, shape);
    return lfuse__build_append(g, call, &n);
}

lfuse_value lfuse_index(lfuse_graph *g, int rank, const lfuse_size *shape)
{
    static const char call[] = "lfuse_index";
    lfuse_size extents[LFUSE_MAX_RANK];

    lfuse__build_begin(g, call);
    if (!g || !lfuse__build_shape(g, call, rank, shape, extents)) return LFUSE__POISONED(g);
    return lfuse__build_index(g, call, rank, extents);
}
