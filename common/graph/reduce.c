/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes. */
#include "common/graph/build.h"
#include "common/graph/compose.h"
#include "libfuse/ops.h"

static bool takes(lfuse__reduce op, lfuse_type type)
{
    return type != LFUSE_BOOL && type != LFUSE_TYPE_NONE && op < LFUSE__REDUCE_COUNT;
}

lfuse_type lfuse__reduce_type(lfuse__reduce op, lfuse_type type)
{
    switch (op) {
    case LFUSE__REDUCE_SUM:
    case LFUSE__REDUCE_PROD: return lfuse__is_integer(type) ? LFUSE_I64 : type == LFUSE_F64 ? type : LFUSE_F32;
    case LFUSE__REDUCE_ARGMAX:
    case LFUSE__REDUCE_ARGMIN: return LFUSE_I64;
    default: return type;
    }
}

lfuse_value lfuse__build_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t node, unsigned set,
                                bool keepdims)
{
    const lfuse__node *in = &g->nodes[node];
    const lfuse_type type = (lfuse_type)in->type;
    lfuse__node n;
    char text[LFUSE__DESCRIPTION];
    int i;

    if (!takes(op, type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    n = lfuse__build_node(LFUSE__REDUCE, lfuse__reduce_type(op, type));
    n.op = (uint8_t)op;
    n.nin = 1;
    n.in[0] = node;
    n.keepdims = keepdims;
    for (i = 0; i < in->rank; i++) {
        if (!(set & 1u << i)) {
            n.shape[n.rank++] = in->shape[i];
            continue;
        }
        if (!in->shape[i] && lfuse__reduce_needs_elements(op)) {
            lfuse__build_describe(g, node, text, sizeof text);
            return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d of %s is empty: there is nothing to choose "
                                       "from", call, i, text);
        }
        n.axes[n.naxes++] = (int8_t)i;
        if (keepdims) n.shape[n.rank++] = 1;
    }
    return lfuse__build_append(g, call, &n);
}

/* Operand and axes of the public functions. */
static lfuse_graph *read_operand(const char *call, lfuse_value a, int count, const int *axes, unsigned *set,
                                 lfuse_graph **where)
{
    lfuse_graph *g = lfuse__build_operands(call, 1, &a, where);

    if (g && g->nodes[a.id].list) {
        lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the members of a list are flat: see lfuse_member_sum", call);
        return NULL;
    }
    if (!g || !lfuse__build_tensor(g, call, a.id) ||
        !lfuse__build_axes(g, call, g->nodes[a.id].rank, count, axes, set))
        return NULL;
    return g;
}

static lfuse_value reduce(const char *call, lfuse__reduce op, lfuse_value a, int count, const int *axes, int keepdims)
{
    lfuse_graph *where, *g;
    unsigned set;
    lfuse_type type;
    lfuse_value v;

    g = read_operand(call, a, count, axes, &set, &where);
    if (!g) return LFUSE__POISONED(where);
    type = (lfuse_type)g->nodes[a.id].type;
    if (!set && lfuse__is_floating(type)) return a;
    v = lfuse__reduce_value(call, op, a, set, keepdims != 0);
    return lfuse__is_floating(type) ? lfuse__to_type(call, v, type) : v;
}

lfuse_value lfuse_sum(lfuse_value a, int count, const int *axes, int keepdims)
{
    return reduce("lfuse_sum", LFUSE__REDUCE_SUM, a, count, axes, keepdims);
}

lfuse_value lfuse_prod(lfuse_value a, int count, const int *axes, int keepdims)
{
    return reduce("lfuse_prod", LFUSE__REDUCE_PROD, a, count, axes, keepdims);
}

static lfuse_value extreme(const char *call, lfuse__reduce op, lfuse_value a, int count, const int *axes, int keepdims)
{
    lfuse_graph *where, *g;
    unsigned set;

    g = read_operand(call, a, count, axes, &set, &where);
    if (!g) return LFUSE__POISONED(where);
    if (!takes(op, (lfuse_type)g->nodes[a.id].type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call,
                                   lfuse_type_name((lfuse_type)g->nodes[a.id].type));
    return lfuse__reduce_value(call, op, a, set, keepdims != 0);
}

lfuse_value lfuse_amax(lfuse_value a, int count, const int *axes, int keepdims)
{
    return extreme("lfuse_amax", LFUSE__REDUCE_MAX, a, count, axes, keepdims);
}

lfuse_value lfuse_amin(lfuse_value a, int count, const int *axes, int keepdims)
{
    return extreme("lfuse_amin", LFUSE__REDUCE_MIN, a, count, axes, keepdims);
}

static lfuse_value place(const char *call, lfuse__reduce op, lfuse_value a, int count, const int *axes, int keepdims)
{
    lfuse_graph *where, *g;
    lfuse_type type;
    unsigned set;
    int rank;

    g = read_operand(call, a, count, axes, &set, &where);
    if (!g) return LFUSE__POISONED(where);
    rank = g->nodes[a.id].rank;
    type = (lfuse_type)g->nodes[a.id].type;
    if (set != (1u << rank) - 1 && (!set || set & (set - 1)))
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: one axis or all of them, not %d of rank %d", call, count,
                                   rank);
    if (!takes(op, type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    if (!rank) return lfuse_cast(lfuse_constant(g, 0), lfuse__reduce_type(op, type)); /* the only element's index */
    return lfuse__build_reduce(g, call, op, a.id, set, keepdims != 0);
}

lfuse_value lfuse_argmax(lfuse_value a, int count, const int *axes, int keepdims)
{
    return place("lfuse_argmax", LFUSE__REDUCE_ARGMAX, a, count, axes, keepdims);
}

lfuse_value lfuse_argmin(lfuse_value a, int count, const int *axes, int keepdims)
{
    return place("lfuse_argmin", LFUSE__REDUCE_ARGMIN, a, count, axes, keepdims);
}

/* How many are true, or false, is not 0, or is. */
static lfuse_value truth(const char *call, bool all, lfuse_value a, int count, const int *axes, int keepdims)
{
    lfuse_graph *where, *g;
    unsigned set;
    lfuse_value v;

    g = read_operand(call, a, count, axes, &set, &where);
    if (!g) return LFUSE__POISONED(where);
    v = lfuse__to_type(call, a, LFUSE_BOOL);
    if (all) v = lfuse__op_eq(v, lfuse__build_constant(g, 0));
    v = lfuse__reduce_value(call, LFUSE__REDUCE_SUM, v, set, keepdims != 0);
    return all ? lfuse__op_eq(v, lfuse__build_constant(g, 0)) : lfuse__op_ne(v, lfuse__build_constant(g, 0));
}

lfuse_value lfuse_any(lfuse_value a, int count, const int *axes, int keepdims)
{
    return truth("lfuse_any", false, a, count, axes, keepdims);
}

lfuse_value lfuse_all(lfuse_value a, int count, const int *axes, int keepdims)
{
    return truth("lfuse_all", true, a, count, axes, keepdims);
}
