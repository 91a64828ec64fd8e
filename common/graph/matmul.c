/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. */
#include <string.h>

#include "common/graph/build.h"
#include "libfuse/members.h"
#include "libfuse/ops.h"

/* All but the last two extents. */
static bool same_batch(const lfuse__node *x, const lfuse__node *y)
{
    return x->rank == y->rank && !memcmp(x->shape, y->shape, (size_t)(x->rank - 2) * sizeof *x->shape);
}

/* Different types that are both multiplied as f32. */
static bool mixed(lfuse_type a, lfuse_type b)
{
    return a != b && (lfuse__is_narrow(a) || a == LFUSE_F32) && (lfuse__is_narrow(b) || b == LFUSE_F32);
}

void lfuse__build_no_integers(lfuse_graph *g, const char *call, lfuse_type type)
{
    lfuse__graph_poison(g, LFUSE_ERR_UNSUPPORTED, "%s: there are no products of type %s: cast the operands to f32, "
                        "which is exact while sums stay below 2^24, or to f64 (2^53), and the result back", call,
                        lfuse_type_name(type));
}

/* Whether a product of these can be formed, up to their batches; records what is wrong with them. */
static bool fit(lfuse_graph *g, const char *call, int32_t a, int32_t b, bool may_mix)
{
    const lfuse__node *x = &g->nodes[a], *y = &g->nodes[b];
    const lfuse__description of_a = lfuse__describe(g, a), of_b = lfuse__describe(g, b);

    if (x->list || y->list ? x->rank != LFUSE_RANK_MATRIX || y->rank != LFUSE_RANK_MATRIX : x->rank < 2 || y->rank < 2)
        lfuse__graph_poison(g, LFUSE_ERR_RANK, x->list || y->list
                            ? "%s: a list of matrices (LFUSE_RANK_MATRIX) goes with another one: a is %s, b is %s"
                            : "%s: operands of rank 2 or more are needed: a is %s, b is %s", call, of_a.text,
                            of_b.text);
    else if (x->type != y->type && !(may_mix && mixed((lfuse_type)x->type, (lfuse_type)y->type)))
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: types differ: a is %s, b is %s", call, of_a.text, of_b.text);
    else if (!lfuse__is_floating((lfuse_type)x->type))
        lfuse__build_no_integers(g, call, (lfuse_type)x->type);
    else if (!x->list && x->shape[x->rank - 1] != y->shape[y->rank - 2])
        lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: inner extents differ: a is %s, b is %s", call, of_a.text,
                            of_b.text);
    else
        return true;
    return false;
}

/* Whether there are such products of these operands. */
static bool has_form(lfuse_graph *g, const char *call, const lfuse__node *x, const lfuse__node *y, lfuse_type type,
                     lfuse_precision precision)
{
    const lfuse_type in = (lfuse_type)x->type;

    if (type != in ? !lfuse__is_narrow(in) || type != LFUSE_F32 : x->type != y->type && type != LFUSE_F32)
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: a product of %s and %s whose sums are %s", call,
                            lfuse_type_name(in), lfuse_type_name((lfuse_type)y->type), lfuse_type_name(type));
    else if (precision != LFUSE_PRECISION_FULL &&
             (!lfuse__is_of_f32(precision) || in != LFUSE_F32 || y->type != LFUSE_F32))
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: precision %d of a product of %s and %s", call, (int)precision,
                            lfuse_type_name(in), lfuse_type_name((lfuse_type)y->type));
    else
        return true;
    return false;
}

/*
 * The sizes of members are known when they are bound: they are checked there. Lists are multiplied in f32, which a
 * precision that splits leaves open: the node has FULL then.
 */
static lfuse_value member_matmul(lfuse_graph *g, const char *call, int32_t a, int32_t b, lfuse__product_form f)
{
    lfuse__node n;
    int i;

    if (f.precision == LFUSE_PRECISION_TF32)
        return lfuse__graph_poison(g, LFUSE_ERR_UNSUPPORTED, "%s: products of lists have no tf32", call);
    if (!has_form(g, call, &g->nodes[a], &g->nodes[b], f.type, f.precision)) return LFUSE__POISONED(g);
    n = lfuse__build_over(LFUSE__MATMUL, f.type, a, b);
    n.list = true;
    n.rank = LFUSE_RANK_MATRIX;
    for (i = 0; i < 2; i++)
        if (f.transposed & 1u << i) n.axes[n.naxes++] = (int8_t)i;
    return lfuse__build_append(g, call, &n);
}

lfuse_value lfuse__build_matmul_as(lfuse_graph *g, const char *call, int32_t a, int32_t b, lfuse_type type,
                                   lfuse_precision precision)
{
    const lfuse__node *x = &g->nodes[a], *y = &g->nodes[b];
    lfuse__node n;

    if (!fit(g, call, a, b, true) || !has_form(g, call, x, y, type, precision)) return LFUSE__POISONED(g);
    if (!same_batch(x, y))
        return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: batch extents differ: a is %s, b is %s", call,
                                   lfuse__describe(g, a).text, lfuse__describe(g, b).text);
    n = lfuse__build_over(LFUSE__MATMUL, type, a, b);
    n.op = (uint8_t)precision;
    lfuse__build_set_form(&n, x);
    n.shape[n.rank - 1] = y->shape[n.rank - 1];
    return lfuse__build_append(g, call, &n);
}

/* The axes before the last as one, multiplied, and as they were. */
static lfuse_value stacked(lfuse_graph *g, const char *call, int32_t a, int32_t b, lfuse__product_form f)
{
    const int rank = g->nodes[a].rank;
    lfuse_size flat[2] = {1, g->nodes[a].shape[rank - 1]}, shape[LFUSE_MAX_RANK];
    lfuse_value v;
    int i;

    memcpy(shape, g->nodes[a].shape, sizeof shape);
    for (i = 0; i < rank - 1; i++)
        if (!lfuse__size_multiply(g, call, flat[0], shape[i], &flat[0])) return LFUSE__POISONED(g);
    v = lfuse__build_reshape(g, call, a, 2, flat);
    if (v.id >= 0) v = lfuse__build_matmul_as(g, call, v.id, b, f.type, f.precision);
    if (v.id < 0) return v;
    shape[rank - 1] = g->nodes[b].shape[1];
    return lfuse__build_reshape(g, call, v.id, rank, shape);
}

/* The extents of both batches, from the last on: equal, or 1 in one of them, as where it has no such axis. */
static bool batch_of(lfuse_graph *g, const char *call, int32_t a, int32_t b, int rank, lfuse_size *shape)
{
    const lfuse__node *x = &g->nodes[a], *y = &g->nodes[b];
    int i;

    for (i = 0; i < rank - 2; i++) {
        const int in_x = i - (rank - x->rank), in_y = i - (rank - y->rank);
        const lfuse_size of_x = in_x < 0 ? 1 : x->shape[in_x], of_y = in_y < 0 ? 1 : y->shape[in_y];
        shape[i] = of_x == 1 ? of_y : of_x;
        if (of_x == of_y || of_x == 1 || of_y == 1) continue;
        lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: batch extents differ, axis %d of a, axis %d of b: a is %s, b is "
                            "%s", call, in_x, in_y, lfuse__describe(g, a).text, lfuse__describe(g, b).text);
        return false;
    }
    return true;
}

/* The operand with the batch of all; itself where it has that. */
static lfuse_value spread(lfuse_graph *g, const char *call, int32_t node, int rank, lfuse_size *shape)
{
    const lfuse__node *n = &g->nodes[node];

    memcpy(shape + rank - 2, n->shape + n->rank - 2, 2 * sizeof *shape);
    if (n->rank == rank && !memcmp(n->shape, shape, (size_t)rank * sizeof *shape)) return (lfuse_value){g, node};
    return lfuse__build_broadcast(g, call, node, rank, shape);
}

static lfuse_value batched(lfuse_graph *g, const char *call, int32_t a, int32_t b, lfuse__product_form f)
{
    const int rank = g->nodes[a].rank > g->nodes[b].rank ? g->nodes[a].rank : g->nodes[b].rank;
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse_value x, y;

    if (!batch_of(g, call, a, b, rank, shape)) return LFUSE__POISONED(g);
    x = spread(g, call, a, rank, shape);
    if (x.id < 0) return x;
    y = spread(g, call, b, rank, shape);
    return y.id < 0 ? y : lfuse__build_matmul_as(g, call, x.id, y.id, f.type, f.precision);
}

lfuse_value lfuse__build_product(lfuse_graph *g, const char *call, int32_t a, int32_t b, lfuse__product_form f)
{
    const lfuse__node *x = &g->nodes[a], *y = &g->nodes[b];

    if (!fit(g, call, a, b, f.mixed)) return LFUSE__POISONED(g); /* said of the shapes that the user knows */
    if (x->list) return member_matmul(g, call, a, b, f);
    if (x->rank > 2 && y->rank == 2) return stacked(g, call, a, b, f);
    if (y->rank > 2) return batched(g, call, a, b, f);
    return lfuse__build_matmul_as(g, call, a, b, f.type, f.precision);
}

lfuse_value lfuse_matmul(lfuse_value a, lfuse_value b)
{
    static const char call[] = "lfuse_matmul";
    const lfuse_value operands[] = {a, b};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, operands, &where);
    lfuse__product_form f = {LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL, false, 0};

    if (!g) return LFUSE__POISONED(where);
    f.type = (lfuse_type)g->nodes[a.id].type;
    return lfuse__build_product(g, call, a.id, b.id, f);
}

bool lfuse__build_lists_only(lfuse_graph *g, const char *call, int32_t a, int32_t b)
{
    if (g->nodes[a].list || g->nodes[b].list) return true;
    lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the operands are no lists", call);
    return false;
}

lfuse_value lfuse_member_matmul(lfuse_value a, int transpose_a, lfuse_value b, int transpose_b)
{
    static const char call[] = "lfuse_member_matmul";
    const lfuse_value operands[] = {a, b};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, operands, &where);
    lfuse__product_form f = {LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL, false,
                             (transpose_a ? 1u : 0u) | (transpose_b ? 2u : 0u)};

    if (!g) return LFUSE__POISONED(where);
    if (!lfuse__build_lists_only(g, call, a.id, b.id)) return LFUSE__POISONED(g);
    f.type = (lfuse_type)g->nodes[a.id].type;
    return lfuse__build_product(g, call, a.id, b.id, f);
}
