/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of the rows and columns of the members of lists. */
#include "common/graph/build.h"
#include "common/graph/compose.h"
#include "libfuse/members.h"
#include "libfuse/ops.h"

enum { ROW = 0, COLUMN = 1, RANK = 2 };

static lfuse_value no_lines(lfuse_graph *g, const char *call, int32_t node)
{
    return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the operand is no list of matrices (LFUSE_RANK_MATRIX) but %s",
                               call, lfuse__describe(g, node).text);
}

/* What the reduction gives; 0: it cannot be. */
static int rank_of(const lfuse__node *n, int axis)
{
    if (!n->list) return 0;
    if (n->rank == LFUSE_RANK_MATRIX) return axis == ROW ? LFUSE_RANK_ROWS : LFUSE_RANK_COLUMNS;
    return axis == ROW && (n->rank == LFUSE_RANK_ROWS || n->rank == LFUSE_RANK_COLUMNS) ? LFUSE_RANK_MATRICES : 0;
}

lfuse_value lfuse__build_line_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t list, int axis)
{
    const lfuse_type type = (lfuse_type)g->nodes[list].type;
    const int rank = rank_of(&g->nodes[list], axis);
    lfuse__node n;

    if (!rank) return no_lines(g, call, list);
    if (type == LFUSE_BOOL || op != LFUSE__REDUCE_SUM)
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    n = lfuse__build_over(LFUSE__LINE_REDUCE, lfuse__reduce_type(op, type), list, -1);
    n.op = (uint8_t)op;
    n.list = true;
    n.rank = (int8_t)rank;
    lfuse__build_set_axis(&n, axis);
    return lfuse__build_append(g, call, &n);
}

lfuse_value lfuse__build_member_extent(lfuse_graph *g, const char *call, int32_t list, int axis)
{
    lfuse__node n = lfuse__build_over(LFUSE__MEMBER_ELEMENTS, LFUSE_I64, list, -1);

    if (g->nodes[list].kind != LFUSE__LIST || g->nodes[list].rank != LFUSE_RANK_MATRIX) return no_lines(g, call, list);
    n.list = true;
    lfuse__build_set_axis(&n, axis);
    return lfuse__build_append(g, call, &n);
}

static lfuse_value extent(const char *call, lfuse_value list, int axis)
{
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &list, &where);

    if (!g) return LFUSE__POISONED(where);
    if (!g->nodes[list.id].list || g->nodes[list.id].rank != LFUSE_RANK_MATRIX) return no_lines(g, call, list.id);
    if (lfuse__build_input_of(g, list.id) < 0) return lfuse__build_untold(g, call);
    return lfuse__build_member_extent(g, call, lfuse__build_input_of(g, list.id), axis);
}

static lfuse_value sum(const char *call, lfuse_value list, int axis)
{
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &list, &where);
    lfuse_type type;
    lfuse_value v;

    if (!g) return LFUSE__POISONED(where);
    type = (lfuse_type)g->nodes[list.id].type;
    if (!rank_of(&g->nodes[list.id], axis)) return no_lines(g, call, list.id);
    if (type == LFUSE_BOOL) list = lfuse__to_type(call, list, LFUSE_I32);
    if (list.id < 0) return list;
    v = lfuse__build_line_reduce(g, call, LFUSE__REDUCE_SUM, list.id, axis);
    return lfuse__is_floating(type) ? lfuse__to_type(call, v, type) : v;
}

/* Rounded once, behind the division; of matrices alone, as of lines nobody knows how many a matrix has. */
static lfuse_value mean(const char *call, lfuse_value list, int axis)
{
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &list, &where);
    lfuse_type type;
    lfuse_value v, count;

    if (!g) return LFUSE__POISONED(where);
    type = (lfuse_type)g->nodes[list.id].type;
    if (!g->nodes[list.id].list || g->nodes[list.id].rank != LFUSE_RANK_MATRIX) return no_lines(g, call, list.id);
    if (!lfuse__is_floating(type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    if (lfuse__build_input_of(g, list.id) < 0) return lfuse__build_untold(g, call);
    list = lfuse__widen(call, list);
    if (list.id < 0) return list;
    v = lfuse__build_line_reduce(g, call, LFUSE__REDUCE_SUM, list.id, axis);
    count = lfuse__build_member_extent(g, call, lfuse__build_input_of(g, list.id), axis == ROW ? COLUMN : ROW);
    count = lfuse__to_type(call, count, (lfuse_type)g->nodes[list.id].type);
    return lfuse__to_type(call, lfuse__op_div(v, count), type);
}

lfuse_value lfuse_member_row_sum(lfuse_value list)
{
    return sum("lfuse_member_row_sum", list, ROW);
}

lfuse_value lfuse_member_column_sum(lfuse_value list)
{
    return sum("lfuse_member_column_sum", list, COLUMN);
}

lfuse_value lfuse_member_row_mean(lfuse_value list)
{
    return mean("lfuse_member_row_mean", list, ROW);
}

lfuse_value lfuse_member_column_mean(lfuse_value list)
{
    return mean("lfuse_member_column_mean", list, COLUMN);
}

lfuse_value lfuse_member_rows(lfuse_value list)
{
    return extent("lfuse_member_rows", list, ROW);
}

lfuse_value lfuse_member_columns(lfuse_value list)
{
    return extent("lfuse_member_columns", list, COLUMN);
}

lfuse_value lfuse_member_rank(lfuse_value list)
{
    return extent("lfuse_member_rank", list, RANK);
}
