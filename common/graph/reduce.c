/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over axes and over whole members. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/graph/build.h"
#include "libfuse/ops.h"

static bool summable(lfuse_graph *g, const char *call, int32_t node)
{
    const lfuse_type type = (lfuse_type)g->nodes[node].type;

    if (type == LFUSE_TYPE_NONE) {
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: a number without a type: cast it first", call);
        return false;
    }
    if (!lfuse__is_floating(type)) {
        lfuse__graph_poison(g, LFUSE_ERR_UNSUPPORTED, "%s: sums of type %s are not supported", call,
                            lfuse_type_name(type));
        return false;
    }
    return true;
}

/* The axes as a set of bits. */
static bool read_axes(lfuse_graph *g, const char *call, int rank, int count, const int *axes, unsigned *set)
{
    int i, axis;

    *set = 0;
    if (count < 0 || count > rank) {
        lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: %d axes of rank %d", call, count, rank);
        return false;
    }
    if (count && !axes) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the axes are NULL", call);
        return false;
    }
    for (i = 0; i < count; i++) {
        axis = axes[i] < 0 && axes[i] >= -rank ? axes[i] + rank : axes[i];
        if (axis < 0 || axis >= rank) {
            lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d of rank %d", call, axes[i], rank);
            return false;
        }
        if (*set & 1u << axis) {
            lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d is named twice", call, axis);
            return false;
        }
        *set |= 1u << axis;
    }
    return true;
}

lfuse_value lfuse_sum(lfuse_value a, int count, const int *axes, int keepdims)
{
    static const char call[] = "lfuse_sum";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse__node n;
    unsigned set;
    int i, rank;

    if (!g) return LFUSE__POISONED(where);
    if (g->nodes[a.id].list)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the members of a list are flat: see lfuse_member_sum", call);
    rank = g->nodes[a.id].rank;
    if (!read_axes(g, call, rank, count, axes, &set) || !summable(g, call, a.id)) return LFUSE__POISONED(g);
    if (!count) return a;
    if (set >> (rank - count) << (rank - count) != set)
        return lfuse__graph_poison(g, LFUSE_ERR_UNSUPPORTED, "%s: the %d axes are not the last of %d", call, count,
                                   rank);
    n = lfuse__build_node(LFUSE__REDUCE, (lfuse_type)g->nodes[a.id].type);
    n.nin = 1;
    n.in[0] = a.id;
    n.naxes = (int8_t)count;
    n.keepdims = keepdims != 0;
    n.rank = (int8_t)(keepdims ? rank : rank - count);
    for (i = 0; i < rank; i++) {
        if (i >= rank - count) n.axes[i - (rank - count)] = (int8_t)i;
        if (i < n.rank) n.shape[i] = i < rank - count ? g->nodes[a.id].shape[i] : 1;
    }
    return lfuse__build_append(g, call, &n);
}

lfuse_value lfuse_member_sum(lfuse_value list)
{
    static const char call[] = "lfuse_member_sum";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &list, &where);
    char text[LFUSE__DESCRIPTION];
    lfuse__node n;

    if (!g) return LFUSE__POISONED(where);
    if (!g->nodes[list.id].list || !g->nodes[list.id].rank) {
        lfuse__build_describe(g, list.id, text, sizeof text);
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the operand is no list of tensors but %s", call, text);
    }
    if (!summable(g, call, list.id)) return LFUSE__POISONED(g);
    n = lfuse__build_node(LFUSE__MEMBER_SUM, (lfuse_type)g->nodes[list.id].type);
    n.list = true;
    n.nin = 1;
    n.in[0] = list.id;
    return lfuse__build_append(g, call, &n);
}
