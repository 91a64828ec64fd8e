/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of the members of lists, and of whole lists. */
#include "common/graph/build.h"
#include "common/graph/reduce.h"
#include "libfuse/ops.h"

/* Of each member, or of all of them. */
typedef enum scope { MEMBERS, WHOLE } scope;

static lfuse_value not_a_list(lfuse_graph *g, const char *call, int32_t node)
{
    return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the operand is no list of tensors but %s", call,
                               lfuse__describe(g, node).text);
}

static lfuse_value build(lfuse_graph *g, const char *call, lfuse__node_kind kind, lfuse__reduce op, int32_t in)
{
    const lfuse_type type = (lfuse_type)g->nodes[in].type;
    lfuse__node n;

    if (type == LFUSE_BOOL || lfuse__folds[op].type == LFUSE__FOLD_INDEX)
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    n = lfuse__build_over(kind, lfuse__reduce_type(op, type), in, -1);
    n.op = (uint8_t)op;
    n.list = kind == LFUSE__MEMBER_REDUCE;
    return lfuse__build_append(g, call, &n);
}

lfuse_value lfuse__build_member_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t list)
{
    if (!g->nodes[list].list || !g->nodes[list].rank) return not_a_list(g, call, list);
    return build(g, call, LFUSE__MEMBER_REDUCE, op, list);
}

lfuse_value lfuse__build_list_reduce(lfuse_graph *g, const char *call, lfuse__reduce op, int32_t numbers)
{
    if (g->nodes[numbers].list && !g->nodes[numbers].rank) return build(g, call, LFUSE__LIST_REDUCE, op, numbers);
    return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: the operand is no list of numbers but %s", call,
                               lfuse__describe(g, numbers).text);
}

lfuse_value lfuse__build_member_elements(lfuse_graph *g, const char *call, int32_t list)
{
    lfuse__node n = lfuse__build_over(LFUSE__MEMBER_ELEMENTS, LFUSE_I64, list, -1);

    if (g->nodes[list].kind != LFUSE__LIST || !g->nodes[list].rank) return not_a_list(g, call, list);
    n.list = true;
    return lfuse__build_append(g, call, &n);
}

int32_t lfuse__build_input_of(const lfuse_graph *g, int32_t list)
{
    while (g->nodes[list].kind != LFUSE__LIST) {
        const lfuse__node *n = &g->nodes[list];
        int i = 0;
        if (n->kind == LFUSE__MATMUL) return -1;
        while (!g->nodes[n->in[i]].list || g->nodes[n->in[i]].rank != n->rank) i++;
        list = n->in[i];
    }
    return list;
}

lfuse_value lfuse__build_untold(lfuse_graph *g, const char *call)
{
    return lfuse__graph_poison(g, LFUSE_ERR_UNSUPPORTED, "%s: of products no list tells the sizes: where the operand "
                               "is made of others too, let a list come first", call);
}

/* Whether the members have elements of their own: of lines no input tells how many. */
static bool counts_elements(lfuse_graph *g, const char *call, int32_t list)
{
    if (g->nodes[list].rank < LFUSE_RANK_MATRIX) not_a_list(g, call, list);
    else if (lfuse__build_input_of(g, list) < 0) lfuse__build_untold(g, call);
    else return true;
    return false;
}

/* The operand of a public function: a list of tensors, for the whole list also one of numbers. */
static lfuse_graph *read_list(const char *call, scope of, lfuse_value list, lfuse_graph **where)
{
    lfuse_graph *g = lfuse__build_operands(call, 1, &list, where);

    if (!g) return NULL;
    if (g->nodes[list.id].list && (g->nodes[list.id].rank || of == WHOLE)) return g;
    not_a_list(g, call, list.id);
    return NULL;
}

/* The same, of floating numbers, in the type that is computed in; *type is its own. */
static lfuse_graph *read_floating(const char *call, scope of, lfuse_value *list, lfuse_type *type, lfuse_graph **where)
{
    lfuse_graph *g = read_list(call, of, *list, where);

    if (!g) return NULL;
    *type = (lfuse_type)g->nodes[list->id].type;
    if (!lfuse__is_floating(*type)) {
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(*type));
        return NULL;
    }
    *list = lfuse__widen(call, *list);
    return list->id < 0 ? NULL : g;
}

static lfuse_value reduce(const char *call, scope of, lfuse__reduce op, lfuse_value v)
{
    if (v.id >= 0 && op == LFUSE__REDUCE_SUM && v.graph->nodes[v.id].type == LFUSE_BOOL)
        v = lfuse__to_type(call, v, LFUSE_I32);
    if (v.id >= 0 && v.graph->nodes[v.id].rank) v = lfuse__build_member_reduce(v.graph, call, op, v.id);
    if (v.id >= 0 && of == WHOLE) v = lfuse__build_list_reduce(v.graph, call, op, v.id);
    return v;
}

/* A row of reductions.def. */
static lfuse_value reduce_list(const char *call, scope of, lfuse__reduction_name name, lfuse_value list, double number)
{
    const lfuse__reduction *r = &lfuse__reductions[name];
    lfuse_graph *where, *g;
    lfuse_type type;
    lfuse_value v;

    if (r->types == LFUSE__REDUCES_FLOATING) g = read_floating(call, of, &list, &type, &where);
    else g = read_list(call, of, list, &where);
    if (!g || !lfuse__reduction_takes_number(g, call, r, number)) return LFUSE__POISONED(where);
    if (r->types != LFUSE__REDUCES_FLOATING) type = (lfuse_type)g->nodes[list.id].type;
    v = reduce(call, of, r->fold(number), r->before(call, list, number));
    v = r->after(call, list, 0, v, number);
    return lfuse__reduction_rounds(r) && lfuse__is_floating(type) ? lfuse__to_type(call, v, type) : v;
}

lfuse_value lfuse_member_elements(lfuse_value list)
{
    static const char call[] = "lfuse_member_elements";
    lfuse_graph *where, *g = read_list(call, MEMBERS, list, &where);

    if (!g || !counts_elements(g, call, list.id)) return LFUSE__POISONED(where);
    return lfuse__build_member_elements(g, call, lfuse__build_input_of(g, list.id));
}

lfuse_value lfuse_member_mean(lfuse_value list)
{
    static const char call[] = "lfuse_member_mean";
    lfuse_graph *where, *g;
    lfuse_value count;
    lfuse_type type;

    g = read_floating(call, MEMBERS, &list, &type, &where);
    if (!g || !counts_elements(g, call, list.id)) return LFUSE__POISONED(where);
    count = lfuse__build_member_elements(g, call, lfuse__build_input_of(g, list.id));
    count = lfuse__to_type(call, count, (lfuse_type)g->nodes[list.id].type);
    return lfuse__to_type(call, lfuse__op_div(reduce(call, MEMBERS, LFUSE__REDUCE_SUM, list), count), type);
}

#define BOTH(name)                                                                                                     \
    lfuse_value lfuse_member_##name(lfuse_value list)                                                                  \
    {                                                                                                                  \
        return reduce_list("lfuse_member_" #name, MEMBERS, LFUSE__REDUCTION_##name, list, 0);                          \
    }                                                                                                                  \
    lfuse_value lfuse_list_##name(lfuse_value list)                                                                    \
    {                                                                                                                  \
        return reduce_list("lfuse_list_" #name, WHOLE, LFUSE__REDUCTION_##name, list, 0);                              \
    }
BOTH(sum)
BOTH(amax)
BOTH(amin)
BOTH(any)
BOTH(all)
BOTH(norm_l1)
BOTH(norm_l2)
BOTH(norm_inf)

lfuse_value lfuse_member_norm(lfuse_value list, double order)
{
    return reduce_list("lfuse_member_norm", MEMBERS, LFUSE__REDUCTION_norm, list, order);
}

lfuse_value lfuse_list_norm(lfuse_value list, double order)
{
    return reduce_list("lfuse_list_norm", WHOLE, LFUSE__REDUCTION_norm, list, order);
}
