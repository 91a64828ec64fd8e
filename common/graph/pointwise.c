/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise functions: which type, which shape. The public builders are expanded from ops.def. */
#include <stdio.h>

#include "common/graph/compose.h"
#include "libfuse/ops.h"
#include "libfuse/random.h"

/*
 * How much an operand has to say about the type: an operand takes the type of those above it, and those of the highest
 * standing must agree.
 */
static int standing(const lfuse__node *n)
{
    if (n->type == LFUSE_TYPE_NONE) return 0;
    if (n->rank) return 3;
    return n->list ? 2 : 1;
}

/* As the public header calls them. */
static const char *operand_name(lfuse__op op, int i)
{
    static const char *const names[][3] = {
        [LFUSE__OP_where] = {"condition", "a", "b"},        [LFUSE__OP_clamp] = {"a", "low", "high"},
        [LFUSE__OP_leaky_relu] = {"a", "slope"},            [LFUSE__OP_elu] = {"a", "alpha"},
        [LFUSE__OP_celu] = {"a", "alpha"},                  [LFUSE__OP_threshold] = {"a", "threshold", "value"},
        [LFUSE__OP_hardshrink] = {"a", "lambda"},           [LFUSE__OP_softshrink] = {"a", "lambda"},
        [LFUSE__OP_lerp] = {"a", "b", "weight"},            [LFUSE__OP_shl] = {"a", "count"},
        [LFUSE__OP_shr] = {"a", "count"},                   [LFUSE__OP_powi] = {"a", "n"},
        [LFUSE__OP_hardsigmoid_with] = {"a", "alpha", "beta"}, [LFUSE__OP_selu_with] = {"a", "alpha", "gamma"},
        [LFUSE__OP_philox] = {"counter", "seed", "offset"},
    };
    static const char *const plain[3] = {"a", "b", "c"};

    return (size_t)op < sizeof names / sizeof *names && names[op][i] ? names[op][i] : plain[i];
}

static lfuse_value types_differ(lfuse_graph *g, lfuse__op op, const char *call, int i, int32_t a, int j, int32_t b)
{
    return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: types differ: %s is %s, %s is %s", call, operand_name(op, i),
                               lfuse__describe(g, a).text, operand_name(op, j), lfuse__describe(g, b).text);
}

/* The one type of the operands of `in` from `first` on; NONE when all are numbers. False when they differ. */
static bool common_type(lfuse_graph *g, lfuse__op op, const char *call, int first, const int32_t *in, lfuse_type *type)
{
    const int count = lfuse__ops[op].arity;
    int i, leader = first;

    for (i = first + 1; i < count; i++)
        if (standing(&g->nodes[in[i]]) > standing(&g->nodes[in[leader]])) leader = i;
    for (i = first; i < count; i++)
        if (standing(&g->nodes[in[i]]) == standing(&g->nodes[in[leader]]) &&
            g->nodes[in[i]].type != g->nodes[in[leader]].type) {
            types_differ(g, op, call, leader, in[leader], i, in[i]);
            return false;
        }
    *type = (lfuse_type)g->nodes[in[leader]].type;
    return true;
}

/* Gives every operand from `first` on the type, numbers as adopt.c says. */
static bool adopt(lfuse_graph *g, lfuse__op op, const char *call, int first, int count, int32_t *in, lfuse_type type)
{
    int i;

    for (i = first; i < count; i++) {
        const lfuse_value v = lfuse__build_adopt(g, call, operand_name(op, i), in[i], type);
        if (v.id < 0) return false;
        in[i] = v.id;
    }
    return true;
}

/* Which operand of a comparison is of another type than the integers or truth values beside it; -1: none. */
static int other_type(const lfuse_graph *g, lfuse__op op, const int32_t *in, lfuse_type type)
{
    if (lfuse__ops[op].klass != LFUSE__CLASS_COMPARE || type == LFUSE_TYPE_NONE || lfuse__is_floating(type)) return -1;
    return g->nodes[in[0]].type != type ? 0 : g->nodes[in[1]].type != type ? 1 : -1;
}

/* The condition of a selection: bool, or a number. Choices that are numbers both are f32 where it is bool. */
static bool condition(lfuse_graph *g, const char *call, int32_t *in, lfuse_type *choices)
{
    const lfuse_type type = (lfuse_type)g->nodes[in[0]].type;

    if (type == LFUSE_TYPE_NONE && *choices == LFUSE_TYPE_NONE) return true;
    if (type == LFUSE_TYPE_NONE) return adopt(g, LFUSE__OP_where, call, 0, 1, in, LFUSE_BOOL);
    if (type != LFUSE_BOOL) {
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: the condition is of type %s, not bool", call,
                            lfuse_type_name(type));
        return false;
    }
    if (*choices == LFUSE_TYPE_NONE) *choices = LFUSE_F32;
    return true;
}

/* An exponent takes the type of its base. Where that is a number, an integer is taken as f64, as numbers are. */
static bool exponent(lfuse_graph *g, const char *call, int32_t *in)
{
    const lfuse__node *a = &g->nodes[in[0]], *n = &g->nodes[in[1]];
    const bool whole = lfuse__is_integer((lfuse_type)n->type);
    lfuse_type type = (lfuse_type)a->type;
    lfuse_value v;

    if (n->type == a->type || n->type == LFUSE_TYPE_NONE) return true;
    if (type == LFUSE_TYPE_NONE) {
        if (!whole) return true;
        type = LFUSE_F64;
    } else if (!lfuse__is_floating(type) || standing(n) < standing(a) || (!whole && standing(n) > standing(a))) {
        return true;
    }
    v = lfuse__build_cast(g, call, in[1], type);
    in[1] = v.id;
    return v.id >= 0;
}

/* An exponent of integers that is known must not be negative. What runs give is: see lfuse_pow. */
static bool whole_exponent(lfuse_graph *g, const char *call, int32_t node, lfuse_type type)
{
    double n;

    if (g->nodes[node].kind == LFUSE__CAST) node = g->nodes[node].in[0];
    if (!lfuse__build_is_constant(g, node)) return true;
    n = lfuse__graph_number(g, node, NULL, NULL);
    if (!(n < 0)) return true;
    lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: %s to the power of %g, which is no integer: cast the base to a "
                        "floating type", call, lfuse_type_name(type), n);
    return false;
}

/* `what` is wrong with them, which the message lists. Returns false. */
static bool shapes_differ(lfuse_graph *g, lfuse__op op, const char *call, const int32_t *in, const char *what)
{
    char text[3 * (sizeof(lfuse__description) + 16)];
    size_t used = 0;
    int i;

    for (i = 0; i < lfuse__ops[op].arity; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s is %s", i ? ", " : "", operand_name(op, i),
                                 lfuse__describe(g, in[i]).text);
    lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: %s: %s", call, what, text);
    return false;
}

/* Shapes aligned at their last axis; a literal 1 repeats. */
static bool broadcast(lfuse_graph *g, lfuse__op op, const char *call, lfuse__node *n)
{
    const int arity = lfuse__ops[op].arity;
    const int32_t *in = n->in;
    int i, axis;

    for (i = 0; i < arity; i++)
        if (g->nodes[in[i]].rank > n->rank) n->rank = g->nodes[in[i]].rank;
    for (axis = 0; axis < n->rank; axis++) {
        lfuse_size extent = 1;
        for (i = 0; i < arity; i++) {
            const lfuse__node *o = &g->nodes[in[i]];
            const int own = axis - (n->rank - o->rank);
            const lfuse_size e = own < 0 ? 1 : o->shape[own];
            if (e == 1 || e == extent) continue;
            if (extent != 1) return shapes_differ(g, op, call, in, "shapes do not broadcast");
            extent = e;
        }
        n->shape[axis] = extent;
    }
    return true;
}

/* The rank of what lists of these ranks (a bit each) give; 1: they do not go together. */
static int rank_of_lists(unsigned ranks)
{
    const unsigned matrix = 1u << -LFUSE_RANK_MATRIX, rows = 1u << -LFUSE_RANK_ROWS,
                   columns = 1u << -LFUSE_RANK_COLUMNS, any = 1u << -LFUSE_RANK_ANY;

    ranks &= ~1u; /* numbers of members go with all */
    if (!ranks) return 0;
    if (ranks & any) return ranks == any ? LFUSE_RANK_ANY : 1;
    if (ranks & matrix) return LFUSE_RANK_MATRIX;
    if ((ranks & rows) && (ranks & columns)) return 1;
    return ranks & rows ? LFUSE_RANK_ROWS : ranks & columns ? LFUSE_RANK_COLUMNS : LFUSE_RANK_MATRICES;
}

static bool shape_of_lists(lfuse_graph *g, lfuse__op op, const char *call, lfuse__node *n)
{
    unsigned ranks = 0;
    const int arity = lfuse__ops[op].arity;
    const int32_t *in = n->in;
    int i;

    n->list = true;
    for (i = 0; i < arity; i++) {
        const lfuse__node *o = &g->nodes[in[i]];
        if (o->list) ranks |= 1u << -o->rank;
        if (o->list || !o->rank) continue;
        lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: %s is %s beside a list: lists go with lists and numbers", call,
                            operand_name(op, i), lfuse__describe(g, in[i]).text);
        return false;
    }
    if (rank_of_lists(ranks) > 0) return shapes_differ(g, op, call, in, "lists do not go together");
    n->rank = (int8_t)rank_of_lists(ranks);
    return true;
}

/* Casts numbers that are beside a tensor: where there are none, this makes one node. */
lfuse_value lfuse__build_pointwise(lfuse_graph *g, const char *call, lfuse__op op, const int32_t *in)
{
    const lfuse__op_row *row = &lfuse__ops[op];
    const int first = row->klass == LFUSE__CLASS_SELECT ? 1 : 0; /* of the operands that share a type */
    lfuse_type type;
    lfuse__node n;
    bool list = false, fits;
    int i;

    n = lfuse__build_node(LFUSE__POINTWISE, LFUSE_TYPE_NONE);
    n.op = (uint8_t)op;
    n.nin = (int8_t)row->arity;
    for (i = 0; i < row->arity; i++) n.in[i] = in[i];

    if (op == LFUSE__OP_powi && !exponent(g, call, n.in)) return LFUSE__POISONED(g);
    if (!common_type(g, op, call, first, n.in, &type)) return LFUSE__POISONED(g);
    if (type == LFUSE_TYPE_NONE && (row->klass == LFUSE__CLASS_INTEGER || row->klass == LFUSE__CLASS_RANDOM))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: all operands are numbers without a type: cast one", call);
    if (type != LFUSE_TYPE_NONE && !lfuse__op_takes(op, type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: does not take type %s", call, lfuse_type_name(type));
    if ((op == LFUSE__OP_pow || op == LFUSE__OP_powi) && lfuse__is_integer(type) &&
        !whole_exponent(g, call, n.in[1], type))
        return LFUSE__POISONED(g);
    if (first && !condition(g, call, n.in, &type)) return LFUSE__POISONED(g);
    i = other_type(g, op, n.in, type);
    if (i >= 0) return lfuse__build_compare(g, call, op, n.in[1 - i], n.in[i], i == 1);
    if (!adopt(g, op, call, first, row->arity, n.in, type)) return LFUSE__POISONED(g);
    n.type = (uint8_t)(type == LFUSE_TYPE_NONE ? type : lfuse__op_result(op, type));

    if (type == LFUSE_TYPE_NONE) n.cost = 1;
    for (i = 0; i < row->arity; i++) {
        list = list || g->nodes[n.in[i]].list;
        if (type == LFUSE_TYPE_NONE) n.cost += g->nodes[n.in[i]].cost;
    }
    fits = list ? shape_of_lists(g, op, call, &n) : broadcast(g, op, call, &n);
    return fits ? lfuse__build_append(g, call, &n) : LFUSE__POISONED(g);
}

static lfuse_value pointwise(lfuse__op op, const char *call, const lfuse_value *operands)
{
    const int arity = lfuse__ops[op].arity;
    lfuse_graph *where, *g = lfuse__build_inner_operands(call, arity, operands, &where);
    int32_t in[3] = {-1, -1, -1};
    int i;

    if (!g) return LFUSE__POISONED(where);
    for (i = 0; i < arity; i++) in[i] = operands[i].id;
    return lfuse__build_pointwise(g, call, op, in);
}

/* The public builders, which count their calls, and what builders call of each other. */
#define BUILDERS(name, arity, parameters, ...)                                                                         \
    lfuse_value lfuse__op_##name parameters                                                                            \
    {                                                                                                                  \
        const lfuse_value operands[] = {__VA_ARGS__};                                                                  \
        return pointwise(LFUSE__OP_##name, "lfuse_" #name, operands);                                                  \
    }                                                                                                                  \
    lfuse_value lfuse_##name parameters                                                                                \
    {                                                                                                                  \
        const lfuse_value operands[] = {__VA_ARGS__};                                                                  \
        lfuse__build_begin(lfuse__build_graph_of(arity, operands), "lfuse_" #name);                                    \
        return lfuse__op_##name(__VA_ARGS__);                                                                          \
    }
#define BUILDERS_1(name) BUILDERS(name, 1, (lfuse_value a), a)
#define BUILDERS_2(name) BUILDERS(name, 2, (lfuse_value a, lfuse_value b), a, b)
#define BUILDERS_3(name) BUILDERS(name, 3, (lfuse_value a, lfuse_value b, lfuse_value c), a, b, c)
#define LFUSE__OP(name, arity, ...) BUILDERS_##arity(name)
#include "common/graph/ops.def"
#undef LFUSE__OP

lfuse_value lfuse_cast(lfuse_value a, lfuse_type type)
{
    static const char call[] = "lfuse_cast";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);

    if (!g || !lfuse__build_type(g, call, type)) return LFUSE__POISONED(where);
    return lfuse__build_cast(g, call, a.id, type);
}
