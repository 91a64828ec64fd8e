/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes: the public functions. reduce_node.c makes their nodes. */
#include "common/graph/build.h"
#include "common/graph/reduce.h"
#include "libfuse/ops.h"

/* The words of reductions.def. */
#define A a
#define V v
#define R(name, ...) lfuse__op_##name(__VA_ARGS__)
#define R_NUMBER(x) lfuse__build_constant(v.graph, x)
#define R_BOOL(x) lfuse__to_type(call, x, LFUSE_BOOL)
#define R_COUNT lfuse__count_value(call, a, set)

#define LFUSE__FOLD(...)
#define LFUSE__REDUCTION(name, types, fold, before, after)                                                             \
    static lfuse_value before_##name(const char *call, lfuse_value a)                                                  \
    {                                                                                                                  \
        const lfuse_value v = a;                                                                                       \
        (void)call, (void)v;                                                                                           \
        return before;                                                                                                 \
    }                                                                                                                  \
    static lfuse_value after_##name(const char *call, lfuse_value a, unsigned set, lfuse_value v)                      \
    {                                                                                                                  \
        (void)call, (void)a, (void)set;                                                                                \
        return after;                                                                                                  \
    }
#include "common/graph/reductions.def"
#undef LFUSE__REDUCTION

const lfuse__reduction lfuse__reductions[LFUSE__REDUCTION_COUNT] = {
#define LFUSE__REDUCTION(name, types, fold, before, after)                                                             \
    [LFUSE__REDUCTION_##name] = {LFUSE__REDUCES_##types, LFUSE__REDUCE_##fold, before_##name, after_##name},
#include "common/graph/reductions.def"
#undef LFUSE__REDUCTION
};

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
static lfuse_graph *admit(const char *call, const lfuse__reduction *r, lfuse_value *a, int count, const int *axes,
                          unsigned *set, lfuse_graph **where)
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
    else if (lfuse__folds[r->fold].type != LFUSE__FOLD_WIDE && !lfuse__reduce_takes(r->fold, type))
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    else
        return g;
    return NULL;
}

static lfuse_value reduce(const char *call, lfuse__reduction_name name, lfuse_value a, int count, const int *axes,
                          int keepdims)
{
    const lfuse__reduction *r = &lfuse__reductions[name];
    lfuse_graph *where, *g;
    unsigned set;
    lfuse_type type;
    lfuse_value v = a;

    g = admit(call, r, &v, count, axes, &set, &where);
    if (!g) return LFUSE__POISONED(where);
    type = (lfuse_type)g->nodes[a.id].type;
    if (r->types == LFUSE__REDUCES_NUMBERS && !set && lfuse__is_floating(type)) return a;
    if (r->types == LFUSE__REDUCES_INDEX && !set) /* the only element's index */
        return lfuse_cast(lfuse_constant(g, 0), lfuse__reduce_type(r->fold, type));
    a = v;
    v = lfuse__reduce_value(call, r->fold, r->before(call, a), set, keepdims != 0);
    v = r->after(call, a, set, v);
    return lfuse__reduction_rounds(r) && lfuse__is_floating(type) ? lfuse__to_type(call, v, type) : v;
}

#define LFUSE__REDUCTION(name, ...)                                                                                    \
    lfuse_value lfuse_##name(lfuse_value a, int count, const int *axes, int keepdims)                                  \
    {                                                                                                                  \
        return reduce("lfuse_" #name, LFUSE__REDUCTION_##name, a, count, axes, keepdims);                              \
    }
#include "common/graph/reductions.def"
