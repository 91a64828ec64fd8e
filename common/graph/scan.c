/* SPDX-License-Identifier: Apache-2.0 */
/* Scans along an axis: the public functions, and their node. */
#include "common/graph/compose.h"
#include "libfuse/ops.h"

typedef enum admitted { NUMBERS, SAME, FLOATING } admitted;

lfuse_value lfuse__build_scan(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t node, int axis)
{
    const lfuse_type type = (lfuse_type)g->nodes[node].type;
    lfuse__node n;

    if (lfuse__is_narrow(type) || !lfuse__op_takes(lfuse__scan_op(op), type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    n = lfuse__build_over(LFUSE__SCAN, type, node, -1);
    n.op = (uint8_t)op;
    lfuse__build_set_axis(&n, axis);
    lfuse__build_set_form(&n, &g->nodes[node]);
    return lfuse__build_append(g, call, &n);
}

/* The type that elements are put together in; NONE: the scan does not take them. */
static lfuse_type scan_type(admitted types, lfuse_type type)
{
    if (lfuse__is_floating(type)) return lfuse__wide_type(type);
    if (types == NUMBERS) return LFUSE_I64;
    return types == SAME && type != LFUSE_BOOL ? type : LFUSE_TYPE_NONE;
}

static lfuse_value scan(const char *call, lfuse__reduce op, admitted types, lfuse_value a, int axis)
{
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);
    lfuse_type type, wide;
    int own;

    if (g && g->nodes[a.id].list)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the members of a list are flat, and have no axis", call);
    if (!g || !lfuse__build_tensor(g, call, a.id) || !lfuse__build_axis(g, call, axis, g->nodes[a.id].rank, &own))
        return LFUSE__POISONED(where);
    type = (lfuse_type)g->nodes[a.id].type;
    wide = scan_type(types, type);
    if (wide == LFUSE_TYPE_NONE)
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    a = lfuse__to_type(call, a, wide);
    if (a.id < 0) return a;
    a = lfuse__build_scan(g, call, op, a.id, own);
    return lfuse__is_floating(type) ? lfuse__to_type(call, a, type) : a;
}

#define LFUSE__SCAN(name, op, types)                                                                                   \
    lfuse_value lfuse_##name(lfuse_value a, int axis)                                                                  \
    {                                                                                                                  \
        return scan("lfuse_" #name, LFUSE__SCAN_##name, types, a, axis);                                               \
    }
#include "common/graph/scans.def"
