/* SPDX-License-Identifier: Apache-2.0 */
/* Where values come from and where they go: inputs, numbers, outputs, updates. */
#include <stdio.h>

#include "common/graph/compose.h"

/* Appends the node and its name. */
static lfuse_value named(lfuse_graph *g, const char *call, const char *name, lfuse__name_kind kind, lfuse__node *n)
{
    lfuse_value v;

    n->name = lfuse__build_name(g, call, name, kind, g->nnodes);
    if (n->name < 0) return LFUSE__POISONED(g);
    v = lfuse__build_append(g, call, n);
    if (v.id < 0) g->nnames--;
    return v;
}

static lfuse_value tensor(lfuse_graph *g, const char *call, const char *name, lfuse_type type, int rank,
                          const lfuse_size *shape, lfuse__node_kind kind, lfuse__name_kind name_kind)
{
    lfuse__node n;

    if (!g) return LFUSE__POISONED(NULL);
    lfuse__build_begin(g, call);
    n = lfuse__build_node(kind, type);
    if (!lfuse__build_type(g, call, type) || !lfuse__build_shape(g, call, rank, shape, n.shape))
        return LFUSE__POISONED(g);
    n.rank = (int8_t)rank;
    return named(g, call, name, name_kind, &n);
}

lfuse_value lfuse_input(lfuse_graph *g, const char *name, lfuse_type type, int rank, const lfuse_size *shape)
{
    return tensor(g, "lfuse_input", name, type, rank, shape, LFUSE__INPUT, LFUSE__NAME_INPUT);
}

lfuse_value lfuse_frozen(lfuse_graph *g, const char *name, lfuse_type type, int rank, const lfuse_size *shape)
{
    return tensor(g, "lfuse_frozen", name, type, rank, shape, LFUSE__FROZEN, LFUSE__NAME_FROZEN);
}

lfuse_value lfuse_list_input(lfuse_graph *g, const char *name, lfuse_type type, int rank)
{
    static const char call[] = "lfuse_list_input";
    lfuse__node n;

    lfuse__build_begin(g, call);
    if (!g || !lfuse__build_type(g, call, type)) return LFUSE__POISONED(g);
    if (rank > 0 || rank < LFUSE_RANK_MATRICES)
        return lfuse__graph_poison(g, rank < 0 || rank > LFUSE_MAX_RANK ? LFUSE_ERR_RANK : LFUSE_ERR_UNSUPPORTED,
                                   "%s: a list has LFUSE_RANK_ANY, MATRIX, ROWS, COLUMNS, MATRICES, or 0, at present, "
                                   "not rank %d", call, rank);
    n = lfuse__build_node(LFUSE__LIST, type);
    n.list = true;
    n.rank = (int8_t)rank;
    return named(g, call, name, LFUSE__NAME_LIST, &n);
}

lfuse_value lfuse_scalar(lfuse_graph *g, const char *name)
{
    lfuse__node n = lfuse__build_node(LFUSE__SCALAR, LFUSE_TYPE_NONE);

    if (!g) return LFUSE__POISONED(NULL);
    lfuse__build_begin(g, "lfuse_scalar");
    n.cost = 1;
    return named(g, "lfuse_scalar", name, LFUSE__NAME_SCALAR, &n);
}

lfuse_value lfuse_constant(lfuse_graph *g, double number)
{
    lfuse__build_begin(g, "lfuse_constant");
    return lfuse__build_constant(g, number);
}

/* Made of two halves: nodes hold numbers as doubles. */
lfuse_value lfuse_constant_i64(lfuse_graph *g, int64_t number)
{
    static const char call[] = "lfuse_constant_i64";
    const double same = (double)number;
    lfuse_value high, low;

    lfuse__build_begin(g, call);
    if (same < 0x1p63 && (int64_t)same == number) return lfuse__build_constant(g, same);
    high = lfuse__build_constant(g, (double)(number >> 32));
    low = lfuse__build_constant(g, (double)(number & 0xffffffff));
    if (high.id < 0 || low.id < 0) return LFUSE__POISONED(g);
    high = lfuse__build_cast(g, call, high.id, LFUSE_I64);
    return lfuse__op_bit_or(lfuse__op_shl(high, lfuse__build_constant(g, 32)), low);
}

/* The output is made of the first mistake, if there was no other. */
static void blame(lfuse_graph *g, const char *output)
{
    if (g->mistakes == 1 && !*g->failed_output && output)
        snprintf(g->failed_output, sizeof g->failed_output, "%s", output);
}

void lfuse_output(lfuse_graph *graph, const char *name, lfuse_value value)
{
    static const char call[] = "lfuse_output";
    lfuse_graph *g;

    lfuse__build_begin(graph ? graph : value.graph, call);
    if (graph && value.graph && value.graph != graph) {
        lfuse__graph_poison(graph, LFUSE_ERR_INVALID, "%s: the value of \"%.*s\" belongs to another graph", call,
                            LFUSE__MAX_NAME, name ? name : "");
        return;
    }
    if (!value.graph) {
        lfuse__graph_poison(graph, LFUSE_ERR_INVALID, "%s: the value of \"%.*s\" belongs to no graph", call,
                            LFUSE__MAX_NAME, name ? name : "");
        return;
    }
    if (value.id < 0) blame(value.graph, name);
    g = lfuse__build_inner_operands(call, 1, &value, NULL);
    if (!g) return;
    if (!graph) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the graph is NULL", call);
        return;
    }
    if (g->nodes[value.id].type == LFUSE_TYPE_NONE) {
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: \"%.*s\" is a number without a type: cast it first", call,
                            LFUSE__MAX_NAME, name ? name : "");
        return;
    }
    lfuse__build_name(g, call, name, LFUSE__NAME_OUTPUT, value.id);
}

void lfuse_update(lfuse_value input, lfuse_value value)
{
    static const char call[] = "lfuse_update";
    const lfuse_value both[] = {input, value};
    lfuse_graph *g = lfuse__build_operands(call, 2, both, NULL);
    const lfuse__node *to, *of;
    lfuse__name *name;

    if (!g) return;
    to = &g->nodes[input.id];
    if (to->kind != LFUSE__INPUT && to->kind != LFUSE__LIST) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: what is updated is no input or list but %s%s", call,
                            lfuse__describe(g, input.id).text, to->kind == LFUSE__FROZEN ? ", frozen" : "");
        return;
    }
    name = &g->names[to->name];
    if (name->update >= 0) {
        lfuse__graph_poison(g, LFUSE_ERR_STATE, "%s: \"%s\" has an update already", call, name->text);
        return;
    }
    if (g->nodes[value.id].type == LFUSE_TYPE_NONE)
        value = lfuse__build_typed(g, call, "value", value.id, (lfuse_type)to->type);
    if (value.id < 0) return;
    to = &g->nodes[input.id]; /* the cast may have moved the nodes */
    of = &g->nodes[value.id];
    if (to->type == of->type && lfuse__same_shape(to, of))
        name->update = value.id;
    else
        lfuse__graph_poison(g, to->type != of->type ? LFUSE_ERR_TYPE : LFUSE_ERR_SHAPE,
                            "%s: \"%s\" is %s, its new value %s", call, name->text,
                            lfuse__describe(g, input.id).text, lfuse__describe(g, value.id).text);
}
