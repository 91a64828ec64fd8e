/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What numbers become beside a tensor: constants, scalars, functions of them, and values of rank 0. Nothing of a number
 * is lost without a word: beside 16 bits it takes part in f32, integers take what they can hold exactly, and
 * comparisons are those of mathematics.
 */
#include <math.h>

#include "common/base/error.h"
#include "common/base/real.h"
#include "common/base/whole.h"
#include "common/graph/compose.h"
#include "libfuse/ops.h"

/* ---- what a type can hold ---- */

/* One more than the highest number: unlike that, a double for every type. */
static double beyond(lfuse_type type)
{
    return type == LFUSE_I64 ? 0x1p63 : (double)lfuse__highest(type) + 1;
}

bool lfuse__type_holds(lfuse_type type, double number)
{
    return lfuse__is_floating(type) ||
           (number == trunc(number) && number >= (double)lfuse__lowest(type) && number < beyond(type));
}

/* Whether every number of the type `from` is one of `to`: both integers, or bool. */
static bool contains(lfuse_type to, lfuse_type from)
{
    return !lfuse__is_floating(from) && lfuse__lowest(from) >= lfuse__lowest(to) &&
           lfuse__highest(from) <= lfuse__highest(to);
}

bool lfuse__build_is_constant(const lfuse_graph *g, int32_t node)
{
    const lfuse__node *n = &g->nodes[node];
    int i;

    if (n->type != LFUSE_TYPE_NONE || n->kind == LFUSE__SCALAR) return false;
    if (n->kind == LFUSE__EXTENT) return lfuse__size_is_number(n->shape[0]);
    for (i = 0; i < n->nin; i++)
        if (!lfuse__build_is_constant(g, n->in[i])) return false;
    return true;
}

/* ---- beside a tensor ---- */

static lfuse_value checked_cast(lfuse_graph *g, const char *call, int32_t node, lfuse_type type)
{
    lfuse__node n = lfuse__build_over(LFUSE__CAST, type, node, -1);

    n.op = LFUSE__CAST_CHECKED;
    return lfuse__build_append(g, call, &n);
}

/* Integers to the last digit. */
static void put_number(lfuse__strbuf *out, double number)
{
    if (number == trunc(number) && fabs(number) < 1e18) lfuse__strbuf_format(out, "%.0f", number);
    else lfuse__real_add(out, number);
}

static lfuse_value refused(lfuse_graph *g, const char *call, const char *name, double number, lfuse_type type)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_value none;

    put_number(&text, number);
    none = lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: %s is %s, a number that %s cannot hold", call, name, text.data,
                               lfuse_type_name(type));
    lfuse__strbuf_free(&text);
    return none;
}

/* Of a number or value of rank 0, beside integers or bool. */
static lfuse_value adopt_whole(lfuse_graph *g, const char *call, const char *name, int32_t node, lfuse_type type)
{
    const lfuse_type from = (lfuse_type)g->nodes[node].type;
    double number;

    if (from != LFUSE_TYPE_NONE) {
        if (contains(type, from)) return lfuse__build_cast(g, call, node, type);
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: %s is of type %s, not all of whose numbers %s can hold: "
                                   "cast it", call, name, lfuse_type_name(from), lfuse_type_name(type));
    }
    if (!lfuse__build_is_constant(g, node)) return checked_cast(g, call, node, type);
    number = lfuse__graph_number(g, node, NULL, NULL);
    return lfuse__type_holds(type, number) ? lfuse__build_cast(g, call, node, type)
                                           : refused(g, call, name, number, type);
}

lfuse_value lfuse__build_adopt(lfuse_graph *g, const char *call, const char *name, int32_t node, lfuse_type type)
{
    if ((lfuse_type)g->nodes[node].type == type || type == LFUSE_TYPE_NONE) return (lfuse_value){g, node};
    if (lfuse__is_floating(type)) return lfuse__build_cast(g, call, node, lfuse__wide_type(type));
    return adopt_whole(g, call, name, node, type);
}

lfuse_value lfuse__build_typed(lfuse_graph *g, const char *call, const char *name, int32_t node, lfuse_type type)
{
    return lfuse__is_floating(type) ? lfuse__build_cast(g, call, node, type)
                                    : lfuse__build_adopt(g, call, name, node, type);
}

lfuse_status lfuse__graph_check_number(const lfuse_graph *g, int32_t cast, const double *scalars, const int64_t *sizes)
{
    const int32_t number = g->nodes[cast].in[0];
    const double value = lfuse__graph_number(g, number, scalars, sizes);
    const lfuse_type type = (lfuse_type)g->nodes[cast].type;
    lfuse__strbuf name = LFUSE__STRBUF_INIT, text = LFUSE__STRBUF_INIT;
    lfuse_status status;

    if (lfuse__type_holds(type, value)) return LFUSE_OK;
    lfuse__graph_print_value(g, number, &name);
    put_number(&text, value);
    status = lfuse__error(LFUSE_ERR_TYPE, "the number %s is %s, which %s cannot hold", name.data, text.data,
                          lfuse_type_name(type));
    lfuse__strbuf_free(&text);
    lfuse__strbuf_free(&name);
    return status;
}

/* ---- comparisons of integers with numbers ---- */

/*
 * x op v, v a number and x of an integer type or bool, is x op t: t is v rounded up or down, whichever changes no
 * answer, and saturated. Where no t does it, `sure`, a truth value of v alone, decides: what is joined by `or` is true
 * where sure is, what is joined by `and` is false where sure is not.
 */
typedef struct comparison {
    lfuse_value t, sure;
    lfuse__op joint;
} comparison;

static comparison comparison_with(lfuse__op op, lfuse_value v, double lowest, double end)
{
    const lfuse_value low = lfuse__build_constant(v.graph, lowest), high = lfuse__build_constant(v.graph, end);
    const lfuse_value up = lfuse__op_ceil(v), down = lfuse__op_floor(v);

    switch (op) {
    case LFUSE__OP_lt: /* of a NaN t is the lowest number, and nothing is below */
        return (comparison){lfuse__op_where(lfuse__op_gt(v, low), up, low), lfuse__op_ge(up, high),
                            LFUSE__OP_logical_or};
    case LFUSE__OP_gt:
        return (comparison){lfuse__op_where(lfuse__op_lt(v, high), down, high), lfuse__op_lt(v, low),
                            LFUSE__OP_logical_or};
    case LFUSE__OP_le: return (comparison){down, lfuse__op_ge(v, low), LFUSE__OP_logical_and};
    case LFUSE__OP_ge: return (comparison){up, lfuse__op_lt(up, high), LFUSE__OP_logical_and};
    default: break;
    }
    const lfuse_value inside = lfuse__op_logical_and(lfuse__op_ge(v, low), lfuse__op_lt(v, high));
    const lfuse_value there = lfuse__op_logical_and(lfuse__op_eq(v, down), inside);
    if (op == LFUSE__OP_eq) return (comparison){v, there, LFUSE__OP_logical_and};
    return (comparison){v, lfuse__op_logical_not(there), LFUSE__OP_logical_or};
}

static lfuse_value apply(const char *call, lfuse__op op, lfuse_value a, lfuse_value b)
{
    return a.id < 0 ? a : b.id < 0 ? b : lfuse__build_pointwise(a.graph, call, op, (const int32_t[]){a.id, b.id, -1});
}

static lfuse_value compare_number(const char *call, lfuse__op op, lfuse_value x, lfuse_value v)
{
    lfuse_graph *g = x.graph;
    const lfuse_type type = (lfuse_type)g->nodes[x.id].type;
    comparison c = comparison_with(op, v, (double)lfuse__lowest(type), beyond(type));
    lfuse_value compared;

    if (c.t.id < 0 || c.sure.id < 0) return LFUSE__POISONED(g);
    if (lfuse__build_is_constant(g, v.id)) {
        const bool sure = lfuse__graph_number(g, c.sure.id, NULL, NULL) != 0;
        if (c.joint == LFUSE__OP_logical_or && sure) return apply(call, LFUSE__OP_eq, x, x);
        if (c.joint == LFUSE__OP_logical_and && !sure) return apply(call, LFUSE__OP_ne, x, x);
        c.t = lfuse__build_constant(g, lfuse__graph_number(g, c.t.id, NULL, NULL));
        return apply(call, op, x, lfuse__to_type(call, c.t, type));
    }
    compared = apply(call, op, x, lfuse__to_type(call, c.t, type));
    return apply(call, c.joint, compared, lfuse__to_type(call, c.sure, LFUSE_BOOL));
}

/* A type that holds all numbers of both, or NONE. Of integers, and of floating types of values of rank 0. */
static lfuse_type type_of_both(lfuse_type whole, lfuse_type other)
{
    const bool small = whole != LFUSE_I32 && whole != LFUSE_I64;

    if (contains(whole, other)) return whole;
    if (contains(other, whole)) return other;
    if (!lfuse__is_floating(other)) return LFUSE_I32; /* i8 and u8 */
    if (small) return lfuse__wide_type(other);
    return whole == LFUSE_I32 ? LFUSE_F64 : LFUSE_TYPE_NONE;
}

static lfuse__op mirrored(lfuse__op op)
{
    switch (op) {
    case LFUSE__OP_lt: return LFUSE__OP_gt;
    case LFUSE__OP_gt: return LFUSE__OP_lt;
    case LFUSE__OP_le: return LFUSE__OP_ge;
    case LFUSE__OP_ge: return LFUSE__OP_le;
    default: return op;
    }
}

lfuse_value lfuse__build_compare(lfuse_graph *g, const char *call, lfuse__op op, int32_t whole, int32_t number,
                                 bool first)
{
    const lfuse_type type = (lfuse_type)g->nodes[whole].type, other = (lfuse_type)g->nodes[number].type;
    const lfuse_value x = {g, whole}, v = {g, number};
    const lfuse_type both = other == LFUSE_TYPE_NONE ? type : type_of_both(type, other);

    if (!first) op = mirrored(op);
    if (other == LFUSE_TYPE_NONE) return compare_number(call, op, x, v);
    if (both == LFUSE_TYPE_NONE)
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: no type holds all numbers of both %s and %s: cast one", call,
                                   lfuse_type_name(type), lfuse_type_name(other));
    return apply(call, op, lfuse__to_type(call, x, both), lfuse__to_type(call, v, both));
}
