/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes: the public functions. reduce_node.c makes their nodes. */
#include <math.h>

#include "common/graph/build.h"
#include "common/graph/reduce.h"
#include "libfuse/ops.h"

/* The words of reductions.def. */
#define A a
#define V v
#define R_FOLD(name) LFUSE__REDUCE_##name
#define R(name, ...) lfuse__op_##name(__VA_ARGS__)
#define R_NUMBER(x) lfuse__build_constant(v.graph, x)
#define R_BOOL(x) lfuse__to_type(call, x, LFUSE_BOOL)
#define R_NAN_AS(x, y) nan_as(x, R_NUMBER(y))
#define R_COUNT lfuse__count_value(call, a, set)

#define R_FLAT_AT_0(name, x, number) lfuse__flat_at_zero(call, flat_##name, x, number)

static lfuse_value flat_sqrt(lfuse_value x, double none)
{
    (void)none;
    return lfuse__op_sqrt(x);
}

static lfuse_value flat_pow(lfuse_value x, double order)
{
    return x.id < 0 ? x : lfuse__op_pow(x, lfuse__build_constant(x.graph, order));
}

/* Integers have no NaN. */
static inline lfuse_value nan_as(lfuse_value x, lfuse_value y)
{
    if (x.id < 0 || !lfuse__is_floating((lfuse_type)x.graph->nodes[x.id].type)) return x;
    return lfuse__op_where(lfuse__op_isnan(x), y, x);
}

#define LFUSE__REDUCTION(name, types, fold, ...) LFUSE__REDUCTION_BY(name, none, types, R_FOLD(fold), __VA_ARGS__)
#define LFUSE__REDUCTION_BY(name, number, types, fold, before, after)                                                  \
    static lfuse__reduce fold_##name(double number)                                                                    \
    {                                                                                                                  \
        (void)number;                                                                                                  \
        return fold;                                                                                                   \
    }                                                                                                                  \
    static lfuse_value before_##name(const char *call, lfuse_value a, double number)                                   \
    {                                                                                                                  \
        const lfuse_value v = a;                                                                                       \
        (void)call, (void)v, (void)number;                                                                             \
        return before;                                                                                                 \
    }                                                                                                                  \
    static lfuse_value after_##name(const char *call, lfuse_value a, unsigned set, lfuse_value v, double number)       \
    {                                                                                                                  \
        (void)call, (void)a, (void)set, (void)number;                                                                  \
        return after;                                                                                                  \
    }
#include "common/graph/reductions.def"

const lfuse__reduction lfuse__reductions[LFUSE__REDUCTION_COUNT] = {
#define LFUSE__REDUCTION(name, types, fold, ...) LFUSE__REDUCTION_BY(name, none, types, R_FOLD(fold), __VA_ARGS__)
#define LFUSE__REDUCTION_BY(name, number, types, ...)                                                                  \
    [LFUSE__REDUCTION_##name] = {LFUSE__REDUCES_##types, #number, fold_##name, before_##name, after_##name},
#include "common/graph/reductions.def"
};

bool lfuse__reduction_takes_number(lfuse_graph *g, const char *call, const lfuse__reduction *r, double number)
{
    if (!isnan(number)) return true;
    lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the %s is NaN", call, r->number);
    return false;
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

/* What the types of a reduction say of an operand, which FLOATING widens: NULL after a mistake. */
static lfuse_graph *admit(const char *call, const lfuse__reduction *r, lfuse__reduce fold, lfuse_value *a, int count,
                          const int *axes, unsigned *set, lfuse_graph **where)
{
    lfuse_type type;
    lfuse_graph *g;
    int rank;

    if (r->types == LFUSE__REDUCES_FLOATING) return lfuse__compose(call, a, count, axes, set, &type, where);
    g = read_operand(call, *a, count, axes, set, where);
    if (!g) return NULL;
    rank = g->nodes[a->id].rank;
    type = (lfuse_type)g->nodes[a->id].type;
    if (r->types == LFUSE__REDUCES_INDEX && *set != (1u << rank) - 1 && (!*set || *set & (*set - 1)))
        lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: one axis or all of them, not %d of rank %d", call, count, rank);
    else if (lfuse__folds[fold].type != LFUSE__FOLD_WIDE && !lfuse__reduce_takes(fold, type))
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    else
        return g;
    return NULL;
}

static lfuse_value reduce(const char *call, lfuse__reduction_name name, lfuse_value a, int count, const int *axes,
                          double number, int keepdims)
{
    const lfuse__reduction *r = &lfuse__reductions[name];
    const lfuse__reduce fold = r->fold(number);
    lfuse_graph *where, *g;
    unsigned set;
    lfuse_type type;
    lfuse_value v = a;

    g = admit(call, r, fold, &v, count, axes, &set, &where);
    if (!g || !lfuse__reduction_takes_number(g, call, r, number)) return LFUSE__POISONED(where);
    type = (lfuse_type)g->nodes[a.id].type;
    if (r->types == LFUSE__REDUCES_NUMBERS && !set && lfuse__is_floating(type))
        return r->after(call, a, set, r->before(call, a, number), number);
    if (r->types == LFUSE__REDUCES_INDEX && !set) /* the only element's index */
        return lfuse_cast(lfuse_constant(g, 0), lfuse__reduce_type(fold, type));
    a = v;
    v = lfuse__reduce_value(call, fold, r->before(call, a, number), set, keepdims != 0);
    v = r->after(call, a, set, v, number);
    return lfuse__reduction_rounds(r) && lfuse__is_floating(type) ? lfuse__to_type(call, v, type) : v;
}

#define LFUSE__REDUCTION(name, ...)                                                                                    \
    lfuse_value lfuse_##name(lfuse_value a, int count, const int *axes, int keepdims)                                  \
    {                                                                                                                  \
        return reduce("lfuse_" #name, LFUSE__REDUCTION_##name, a, count, axes, 0, keepdims);                           \
    }
#define LFUSE__REDUCTION_BY(name, number, ...)                                                                         \
    lfuse_value lfuse_##name(lfuse_value a, int count, const int *axes, double number, int keepdims)                   \
    {                                                                                                                  \
        return reduce("lfuse_" #name, LFUSE__REDUCTION_##name, a, count, axes, number, keepdims);                      \
    }
#include "common/graph/reductions.def"
