/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations, with optional factors and summands. */
#include <string.h>

#include "common/graph/compose.h"
#include "libfuse/ops.h"

lfuse_value lfuse_none(void)
{
    return (lfuse_value){NULL, INT32_MIN};
}

/* A weight or bias of exactly this shape, if there is one. */
static bool read_parameter(const char *call, const char *what, lfuse_value a, lfuse_type type, int rank,
                           const lfuse_size *shape, lfuse_value *p)
{
    return lfuse__is_none(*p) || lfuse__compose_operand(call, what, a, type, rank, shape, p);
}

static lfuse_value affine(lfuse_value v, lfuse_value weight, lfuse_value bias)
{
    if (!lfuse__is_none(weight)) v = lfuse__op_mul(v, weight);
    return lfuse__is_none(bias) ? v : lfuse__op_add(v, bias);
}

/* The last axes as a set. */
static bool last_axes(lfuse_graph *g, const char *call, int rank, int count, unsigned *set)
{
    if (count < 1 || count > rank) {
        lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the last %d axes of rank %d", call, count, rank);
        return false;
    }
    *set = ((1u << count) - 1) << (rank - count);
    return true;
}

static lfuse_value normalized(const char *call, lfuse_value a, unsigned set, double eps)
{
    const lfuse_value centred = lfuse__op_sub(a, lfuse__mean_value(call, a, set, true));
    const lfuse_value var = lfuse__mean_value(call, lfuse__op_mul(centred, centred), set, true);
    const lfuse_value r = lfuse__inverse_root(var, eps);

    return lfuse__identity_value(call, LFUSE__IDENTITY_STANDARDIZE, lfuse__op_mul(centred, r), a, r, set);
}

lfuse_value lfuse_layernorm(lfuse_value a, int count, lfuse_value weight, lfuse_value bias, double eps)
{
    static const char call[] = "lfuse_layernorm";
    lfuse_graph *where, *g;
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse_type type;
    unsigned set;
    int rank;

    g = lfuse__compose_all(call, &a, &type, &where);
    if (!g || !last_axes(g, call, g->nodes[a.id].rank, count, &set)) return LFUSE__POISONED(where);
    rank = g->nodes[a.id].rank;
    memcpy(shape, g->nodes[a.id].shape + rank - count, (size_t)count * sizeof *shape);
    if (!read_parameter(call, "the weight", a, type, count, shape, &weight) ||
        !read_parameter(call, "the bias", a, type, count, shape, &bias))
        return LFUSE__POISONED(g);
    return lfuse__to_type(call, affine(normalized(call, a, set, eps), weight, bias), type);
}

lfuse_value lfuse_rmsnorm(lfuse_value a, int count, lfuse_value weight, double eps)
{
    static const char call[] = "lfuse_rmsnorm";
    lfuse_graph *where, *g;
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse_type type;
    lfuse_value v, r;
    unsigned set;
    int rank;

    g = lfuse__compose_all(call, &a, &type, &where);
    if (!g || !last_axes(g, call, g->nodes[a.id].rank, count, &set)) return LFUSE__POISONED(where);
    rank = g->nodes[a.id].rank;
    memcpy(shape, g->nodes[a.id].shape + rank - count, (size_t)count * sizeof *shape);
    if (!read_parameter(call, "the weight", a, type, count, shape, &weight)) return LFUSE__POISONED(g);
    r = lfuse__inverse_root(lfuse__mean_value(call, lfuse__op_mul(a, a), set, true), eps);
    v = lfuse__identity_value(call, LFUSE__IDENTITY_RMS_NORMALIZE, lfuse__op_mul(a, r), a, r, set);
    return lfuse__to_type(call, affine(v, weight, lfuse_none()), type);
}

/* Axis 1 as groups and channels of a group. */
static bool group_shape(lfuse_graph *g, const char *call, int32_t node, int groups, lfuse_size *shape)
{
    const lfuse__node *n = &g->nodes[node];
    int i;

    if (n->rank < 2 || n->rank == LFUSE_MAX_RANK) {
        lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: rank %d is not in 2 ... %d", call, n->rank, LFUSE_MAX_RANK - 1);
        return false;
    }
    if (groups < 1 || !lfuse__size_quotient(g, call, n->shape[1], groups, &shape[2])) {
        lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis 1 of %s does not divide into %d groups", call,
                            lfuse__describe(g, node).text, groups);
        return false;
    }
    shape[0] = n->shape[0];
    shape[1] = groups;
    for (i = 2; i < n->rank; i++) shape[i + 1] = n->shape[i];
    return true;
}

/* A parameter of the channels as [groups, channels, 1 ...]. */
static lfuse_value by_group(const char *call, lfuse_value p, int rank, const lfuse_size *split)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    int i;

    if (lfuse__is_none(p)) return p;
    for (i = 1; i < rank; i++) shape[i - 1] = i < 3 ? split[i] : 1;
    return lfuse__build_reshape(p.graph, call, p.id, rank - 1, shape);
}

lfuse_value lfuse_groupnorm(lfuse_value a, int groups, lfuse_value weight, lfuse_value bias, double eps)
{
    static const char call[] = "lfuse_groupnorm";
    lfuse_graph *where, *g;
    lfuse_size split[LFUSE_MAX_RANK], shape[LFUSE_MAX_RANK];
    lfuse_type type;
    lfuse_value v;
    int rank;

    g = lfuse__compose_all(call, &a, &type, &where);
    if (!g || !group_shape(g, call, a.id, groups, split)) return LFUSE__POISONED(where);
    rank = g->nodes[a.id].rank;
    memcpy(shape, g->nodes[a.id].shape, sizeof shape);
    if (!read_parameter(call, "the weight", a, type, 1, &shape[1], &weight) ||
        !read_parameter(call, "the bias", a, type, 1, &shape[1], &bias))
        return LFUSE__POISONED(g);
    v = lfuse__build_reshape(g, call, a.id, rank + 1, split);
    if (v.id < 0) return v;
    weight = by_group(call, weight, rank + 1, split);
    bias = by_group(call, bias, rank + 1, split);
    v = affine(normalized(call, v, ((1u << (rank + 1)) - 1) & ~3u, eps), weight, bias);
    v = lfuse__to_type(call, v, type);
    return v.id < 0 ? v : lfuse__build_reshape(g, call, v.id, rank, shape);
}

static lfuse_value root(lfuse_value x, double none)
{
    (void)none;
    return lfuse__op_sqrt(x);
}

lfuse_value lfuse_l2_normalize(lfuse_value a, int count, const int *axes, double eps)
{
    static const char call[] = "lfuse_l2_normalize";
    lfuse_graph *where, *g;
    lfuse_type type;
    lfuse_value norm;
    unsigned set;

    g = lfuse__compose(call, &a, count, axes, &set, &type, &where);
    if (!g) return LFUSE__POISONED(where);
    norm = lfuse__reduce_value(call, LFUSE__REDUCE_SUM, lfuse__op_mul(a, a), set, true);
    norm = lfuse__flat_at_zero(call, root, norm, 0);
    return lfuse__to_type(call, lfuse__op_div(a, lfuse__op_max(norm, lfuse__build_constant(g, eps))), type);
}
