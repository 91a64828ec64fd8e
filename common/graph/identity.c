/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are their first operand, with rules of their own for lfuse_gradient. */
#include <string.h>

#include "common/graph/gradient.h"
#include "libfuse/gradient.h"

/* What a rule works on: the node, and its value and operands in the type that is computed in. */
typedef struct identity {
    lfuse__backward *b;
    int32_t id;
    lfuse__node n;
    unsigned set; /* of axes */
} identity;

static lfuse_value value(const identity *v)
{
    return lfuse__gradient_operand(v->b, v->id);
}

static lfuse_value operand(const identity *v, int i)
{
    return lfuse__gradient_operand(v->b, v->n.in[i]);
}

static lfuse_value sum(const identity *v, lfuse_value x)
{
    return lfuse__reduce_value(v->b->call, LFUSE__REDUCE_SUM, x, v->set, true);
}

static lfuse_value mean(const identity *v, lfuse_value x)
{
    return lfuse__mean_value(v->b->call, x, v->set, true);
}

static lfuse_value pass(const identity *v, lfuse_value g)
{
    (void)v;
    return g;
}

/* y (g - sum(g y)) */
static lfuse_value softmax(const identity *v, lfuse_value g)
{
    const lfuse_value y = value(v);

    return lfuse__op_mul(y, lfuse__op_sub(g, sum(v, lfuse__op_mul(g, y))));
}

/* g - exp(y) sum(g) */
static lfuse_value log_softmax(const identity *v, lfuse_value g)
{
    g = lfuse__gradient_expand(v->b, v->id, g);
    return lfuse__op_sub(g, lfuse__op_mul(lfuse__op_exp(value(v)), sum(v, g)));
}

/* g exp(a - y) */
static lfuse_value logsumexp(const identity *v, lfuse_value g)
{
    return lfuse__op_mul(g, lfuse__op_exp(lfuse__op_sub(operand(v, 1), value(v))));
}

/* r (g - mean(g) - y mean(g y)) */
static lfuse_value standardize(const identity *v, lfuse_value g)
{
    const lfuse_value y = value(v);
    lfuse_value centred;

    g = lfuse__gradient_expand(v->b, v->id, g);
    centred = lfuse__op_sub(g, mean(v, g));
    return lfuse__op_mul(operand(v, 2), lfuse__op_sub(centred, lfuse__op_mul(y, mean(v, lfuse__op_mul(g, y)))));
}

/* r (g - y mean(g y)) */
static lfuse_value rms_normalize(const identity *v, lfuse_value g)
{
    const lfuse_value y = value(v);

    return lfuse__op_mul(operand(v, 2), lfuse__op_sub(g, lfuse__op_mul(y, mean(v, lfuse__op_mul(g, y)))));
}

static const struct row {
    const char *word;
    int operands, through;
    lfuse_value (*rule)(const identity *v, lfuse_value g);
} rows[LFUSE__IDENTITY_COUNT] = {
#define LFUSE__IDENTITY_ROW(name, ...) [LFUSE__IDENTITY_##name] = {__VA_ARGS__},
#include "common/graph/identity.def"
};

const char *lfuse__identity_word(int op)
{
    return rows[op].word;
}

int lfuse__identity_operands(int op)
{
    return rows[op].operands;
}

int lfuse__identity_through(int op)
{
    return rows[op].through;
}

lfuse_value lfuse__build_identity(lfuse_graph *g, const char *call, lfuse__identity_op op, const int32_t *in,
                                  unsigned set)
{
    lfuse__node n = lfuse__build_node(LFUSE__IDENTITY, (lfuse_type)g->nodes[in[0]].type);
    int i;

    n.op = (uint8_t)op;
    n.nin = (int8_t)rows[op].operands;
    memcpy(n.in, in, (size_t)n.nin * sizeof *in);
    lfuse__build_set_form(&n, &g->nodes[in[0]]);
    for (i = 0; i < LFUSE_MAX_RANK; i++)
        if (set & 1u << i) n.axes[n.naxes++] = (int8_t)i;
    return lfuse__build_append(g, call, &n);
}

void lfuse__gradient_identity(lfuse__backward *b, int32_t id, lfuse_value g)
{
    identity v = {.b = b, .id = id, .n = b->g->nodes[id]};
    const struct row *row = &rows[v.n.op];
    int i;

    for (i = 0; i < v.n.naxes; i++) v.set |= 1u << v.n.axes[i];
    if (row->through >= 0 && lfuse__gradient_needs(b, v.n.in[row->through]))
        lfuse__gradient_add(b, v.n.in[row->through], row->rule(&v, g));
}

lfuse_value lfuse__identity_value(const char *call, lfuse__identity_op op, lfuse_value a, lfuse_value b, lfuse_value c,
                            unsigned set)
{
    const lfuse_value operands[] = {a, b, c};
    int32_t in[3];
    int i;

    for (i = 0; i < rows[op].operands; i++) {
        if (operands[i].id < 0) return operands[i];
        in[i] = operands[i].id;
    }
    return lfuse__build_identity(a.graph, call, op, in, set);
}

lfuse_value lfuse__stopped(const char *call, lfuse_value v)
{
    if (v.id < 0 || !lfuse__is_floating((lfuse_type)v.graph->nodes[v.id].type)) return v;
    return lfuse__identity_value(call, LFUSE__IDENTITY_STOP, v, v, v, 0);
}

lfuse_value lfuse__flat_at_zero(const char *call, lfuse_value (*f)(lfuse_value x, double number), lfuse_value x,
                                double number)
{
    lfuse_value zero, one, away;

    if (x.id < 0) return x;
    zero = lfuse__build_constant(x.graph, 0);
    one = lfuse__build_constant(x.graph, 1);
    away = lfuse__op_where(lfuse__op_eq(x, zero), one, x);
    return lfuse__identity_value(call, LFUSE__IDENTITY_SURROGATE, f(x, number), f(away, number), away, 0);
}

lfuse_value lfuse_stop(lfuse_value a)
{
    static const char call[] = "lfuse_stop";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);

    return g ? lfuse__stopped(call, a) : LFUSE__POISONED(where);
}

lfuse_value lfuse_surrogate(lfuse_value a, lfuse_value surrogate)
{
    static const char call[] = "lfuse_surrogate";
    const lfuse_value both[] = {a, surrogate};
    lfuse_graph *where, *g = lfuse__build_operands(call, 2, both, &where);
    const lfuse__node *x, *s;

    if (!g) return LFUSE__POISONED(where);
    x = &g->nodes[a.id];
    s = &g->nodes[surrogate.id];
    if (x->type != s->type || !lfuse__is_floating((lfuse_type)x->type))
        return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: one floating type is needed: the value is %s, the surrogate "
                                   "%s", call, lfuse__describe(g, a.id).text, lfuse__describe(g, surrogate.id).text);
    if (!lfuse__same_shape(x, s))
        return lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: the value is %s, the surrogate %s", call,
                                   lfuse__describe(g, a.id).text, lfuse__describe(g, surrogate.id).text);
    return lfuse__identity_value(call, LFUSE__IDENTITY_SURROGATE, a, surrogate, a, 0);
}

lfuse_value lfuse_checkpoint(lfuse_value a)
{
    static const char call[] = "lfuse_checkpoint";
    lfuse_graph *where, *g = lfuse__build_operands(call, 1, &a, &where);

    if (!g) return LFUSE__POISONED(where);
    if (!lfuse__is_floating((lfuse_type)g->nodes[a.id].type)) return a;
    return lfuse__identity_value(call, LFUSE__IDENTITY_CHECKPOINT, a, a, a, 0);
}
