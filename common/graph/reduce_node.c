/* SPDX-License-Identifier: Apache-2.0 */
/* The node of one reduction over axes. */
#include "common/graph/build.h"

bool lfuse__reduce_takes(lfuse__reduce op, lfuse_type type)
{
    return type != LFUSE_BOOL && type != LFUSE_TYPE_NONE && op < LFUSE__REDUCE_COUNT;
}

lfuse_type lfuse__reduce_type(lfuse__reduce op, lfuse_type type)
{
    switch (lfuse__folds[op].type) {
    case LFUSE__FOLD_WIDE: return lfuse__is_integer(type) ? LFUSE_I64 : type == LFUSE_F64 ? type : LFUSE_F32;
    case LFUSE__FOLD_INDEX: return LFUSE_I64;
    case LFUSE__FOLD_SAME: break;
    }
    return type;
}

lfuse_value lfuse__build_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t node, unsigned set,
                                bool keepdims)
{
    const lfuse__node *in = &g->nodes[node];
    const lfuse_type type = (lfuse_type)in->type;
    lfuse__node n;
    int i;

    if (!lfuse__reduce_takes(op, type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    n = lfuse__build_over(LFUSE__REDUCE, lfuse__reduce_type(op, type), node, -1);
    n.op = (uint8_t)op;
    n.keepdims = keepdims;
    for (i = 0; i < in->rank; i++) {
        if (!(set & 1u << i)) {
            n.shape[n.rank++] = in->shape[i];
            continue;
        }
        if (!in->shape[i] && lfuse__reduce_needs_elements(op))
            return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: axis %d of %s is empty: there is nothing to choose "
                                       "from", call, i, lfuse__describe(g, node).text);
        n.axes[n.naxes++] = (int8_t)i;
        if (keepdims) n.shape[n.rank++] = 1;
    }
    return lfuse__build_append(g, call, &n);
}
