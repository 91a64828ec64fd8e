/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a graph that is rewritten; a concatenation gets a node when somebody reads it as a whole. */
#include "common/plan/lower.h"

#include "common/graph/build.h"
#include "common/plan/draft.h"

static int32_t new_value(lfuse__lowering *l, const lfuse__node *spec, int32_t node)
{
    if (!lfuse__build_grow((void **)&l->values, l->nvalues, &l->value_capacity, sizeof *l->values)) {
        lfuse__graph_poison(l->g, LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d values)",
                            (int)l->nvalues);
        return -1;
    }
    l->values[l->nvalues] = (lfuse__lowered){ .spec = *spec, .node = node, .axis = -1, .once = true };
    return l->nvalues++;
}

int32_t lfuse__lower_concat(lfuse__lowering *l, const lfuse__node *spec, int axis, int count, const int32_t *pieces)
{
    const int32_t value = new_value(l, spec, -1);
    int i;

    if (value < 0) return -1;
    l->values[value].axis = axis;
    l->values[value].count = count;
    l->values[value].first = l->npieces;
    for (i = 0; i < count; i++) {
        if (!lfuse__build_grow((void **)&l->pieces, l->npieces, &l->piece_capacity, sizeof *l->pieces)) {
            lfuse__graph_poison(l->g, LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d pieces)",
                                (int)l->npieces);
            return -1;
        }
        l->pieces[l->npieces++] = pieces[i];
    }
    return value;
}

/* ---- specs ---- */

lfuse__node lfuse__lower_spec(const lfuse__lowering *l, lfuse__node_kind kind, int32_t like)
{
    const lfuse__node *n = &l->values[like].spec;
    lfuse__node spec = lfuse__build_over(kind, (lfuse_type)n->type, -1, -1);

    lfuse__build_set_form(&spec, n);
    return spec;
}

int32_t lfuse__lower_cast(lfuse__lowering *l, int32_t value, lfuse_type type)
{
    lfuse__node n;

    if (value < 0 || l->values[value].spec.type == type) return value;
    n = lfuse__lower_spec(l, LFUSE__CAST, value);
    n.type = (uint8_t)type;
    return lfuse__lower_node(l, &n, &value);
}

int32_t lfuse__lower_reshape(lfuse__lowering *l, int32_t value, int rank, const lfuse_size *shape)
{
    lfuse__node n;

    if (value < 0) return -1;
    n = lfuse__lower_spec(l, LFUSE__RESHAPE, value);
    lfuse__build_set_shape(&n, rank, shape);
    return lfuse__lower_node(l, &n, &value);
}

int32_t lfuse__lower_sum(lfuse__lowering *l, int32_t value, int axis, bool keepdims, lfuse_type type)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse__node n;
    int i, rank = 0;

    if (value < 0) return -1;
    n = lfuse__lower_spec(l, LFUSE__REDUCE, value);
    for (i = 0; i < n.rank; i++)
        if (i != axis || keepdims) shape[rank++] = i == axis ? 1 : n.shape[i];
    n.op = LFUSE__REDUCE_SUM;
    n.type = (uint8_t)type;
    n.keepdims = keepdims;
    lfuse__build_set_axis(&n, axis);
    lfuse__build_set_shape(&n, rank, shape);
    return lfuse__lower_node(l, &n, &value);
}

/* ---- making nodes ---- */

static int32_t add_node(lfuse__lowering *l, const lfuse__node *n)
{
    if (!lfuse__build_grow((void **)&l->value_of, l->g->nnodes, &l->node_capacity, sizeof *l->value_of)) {
        lfuse__graph_poison(l->g, LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d nodes)",
                            (int)l->g->nnodes);
        return -1;
    }
    l->value_of[l->g->nnodes] = -1;
    return lfuse__build_append(l->g, "plan", n).id;
}

/* A chain of concatenations, the first pieces innermost. */
static int32_t make_concat(lfuse__lowering *l, int32_t value)
{
    const lfuse__lowered v = l->values[value];
    lfuse__node n = lfuse__lower_spec(l, LFUSE__CONCAT, value);
    int32_t node = lfuse__lower_materialize(l, l->pieces[v.first]);
    int i;

    n.nin = 2;
    lfuse__build_set_axis(&n, v.axis);
    n.shape[v.axis] = lfuse__lower_extent(l, &v, 0);
    for (i = 1; i < v.count && node >= 0; i++) {
        n.in[0] = node;
        n.in[1] = lfuse__lower_materialize(l, l->pieces[v.first + i]);
        n.shape[v.axis] = lfuse__size_sum(l->g, n.shape[v.axis], lfuse__lower_extent(l, &v, i));
        node = n.in[1] < 0 ? -1 : add_node(l, &n);
    }
    return node;
}

int32_t lfuse__lower_materialize(lfuse__lowering *l, int32_t value)
{
    int32_t node;

    if (value < 0) return -1;
    if (l->values[value].node < 0) {
        node = make_concat(l, value);
        if (node >= 0) l->values[value].spec = l->g->nodes[node];
        l->values[value].node = node;
    }
    return l->values[value].node;
}

static bool of_rows(const lfuse__lowering *l, const lfuse__node *n, const int32_t *in)
{
    bool any = n->kind == LFUSE__REDUCE;
    int i;

    if (n->kind != LFUSE__POINTWISE && n->kind != LFUSE__CAST && n->kind != LFUSE__BROADCAST) return any;
    for (i = 0; i < n->nin; i++) any = any || l->values[in[i]].rows;
    return any;
}

int32_t lfuse__lower_value(lfuse__lowering *l, int32_t node)
{
    const lfuse__node spec = l->g->nodes[node];

    return l->value_of[node] >= 0 ? l->value_of[node] : new_value(l, &spec, node);
}

int32_t lfuse__lower_append(lfuse__lowering *l, const lfuse__node *spec, const int32_t *in)
{
    lfuse__node n = *spec;
    int32_t node;
    int i;

    for (i = 0; i < n.nin; i++)
        if ((n.in[i] = lfuse__lower_materialize(l, in[i])) < 0) return -1;
    node = add_node(l, &n);
    if (node < 0) return -1;
    l->value_of[node] = new_value(l, &n, node);
    if (l->value_of[node] >= 0) l->values[l->value_of[node]].rows = of_rows(l, &n, in);
    return l->value_of[node];
}

/* ---- what is computed ---- */

bool lfuse__lower_node_computed(const lfuse_graph *g, int32_t node)
{
    const lfuse__node *n = &g->nodes[node];

    switch ((lfuse__node_kind)n->kind) {
    case LFUSE__PERMUTE:
    case LFUSE__BROADCAST:
    case LFUSE__RESHAPE:
    case LFUSE__SLICE: return lfuse__lower_node_computed(g, n->in[0]);
    case LFUSE__CAST: return g->nodes[n->in[0]].type != LFUSE_TYPE_NONE;
    case LFUSE__POINTWISE: return n->type != LFUSE_TYPE_NONE;
    case LFUSE__REDUCE:
    case LFUSE__GATHER: return true;
    case LFUSE__CONCAT: return lfuse__lower_node_computed(g, n->in[0]) && lfuse__lower_node_computed(g, n->in[1]);
    default: return false;
    }
}

bool lfuse__lower_computed(const lfuse__lowering *l, int32_t value)
{
    const lfuse__lowered *v = &l->values[value];
    int i;

    if (v->node >= 0) return lfuse__lower_node_computed(l->g, v->node);
    for (i = 0; i < v->count; i++)
        if (!lfuse__lower_computed(l, l->pieces[v->first + i])) return false;
    return true;
}
