/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of pointwise functions and casts: the partial derivatives of ops.def, built of the graph's own functions.
 *
 * A partial derivative that is a number, a quotient or a selection is kept as such until it meets the cotangent g, so
 * that g * 1 is g, g * 0 is nothing at all, g * (1 / b) is g / b, and g * (m ? x : 0) is m ? g * x : 0, which is 0
 * where m is false even if g is infinite.
 */
#include "common/graph/gradient.h"
#include "libfuse/norm.h"

typedef enum partial_kind { NUMBER, VALUE, QUOTIENT, SELECTION } partial_kind;

typedef struct partial {
    partial_kind kind;
    double number;              /* NUMBER */
    lfuse_value value;          /* VALUE; of a SELECTION the condition */
    const struct partial *x, *y; /* QUOTIENT: x / y; SELECTION: x where the condition holds, else y */
} partial;

/* More than any row of ops.def takes. */
enum { PARTIALS = 128 };

/* The derivatives of one node. */
typedef struct rule {
    lfuse__backward *b;
    int32_t id;
    lfuse__node node;
    lfuse_type type; /* that is computed in */
    int used;
    partial pool[PARTIALS];
} rule;

static const partial *new_partial(rule *r, partial p)
{
    if (r->used == PARTIALS) {
        lfuse__graph_poison(r->b->g, LFUSE_ERR_OVERFLOW, "%s: a derivative of more than %d parts", r->b->call,
                            PARTIALS);
        r->used = 0;
    }
    r->pool[r->used] = p;
    return &r->pool[r->used++];
}

static const partial *number(rule *r, double k)
{
    return new_partial(r, (partial){.kind = NUMBER, .number = k});
}

static const partial *value(rule *r, lfuse_value v)
{
    return new_partial(r, (partial){.kind = VALUE, .value = v});
}

/* Whether an operand is one number for the whole tensor: a constant, a scalar, or what is computed of such. */
static bool is_number(const rule *r, int i)
{
    const lfuse__node *n = &r->b->g->nodes[r->node.in[i]];

    return n->kind == LFUSE__CAST && r->b->g->nodes[n->in[0]].type == LFUSE_TYPE_NONE;
}

/* Numbers are taken as they were before the cast: what is made of numbers alone is then computed on the host. */
static const partial *operand(rule *r, int i)
{
    const int32_t in = r->node.in[i];

    if (is_number(r, i)) return value(r, (lfuse_value){r->b->g, r->b->g->nodes[in].in[0]});
    return value(r, lfuse__gradient_operand(r->b, in));
}

static const partial *result(rule *r)
{
    return value(r, lfuse__gradient_operand(r->b, r->id));
}

/* A number in the type that is computed in, where all that is known are numbers without one. */
static lfuse_value typed(const rule *r, lfuse_value v)
{
    return v.id >= 0 && r->b->g->nodes[v.id].type == LFUSE_TYPE_NONE ? lfuse__to_type(r->b->call, v, r->type) : v;
}

static lfuse_value build(const rule *r, const partial *p)
{
    switch (p->kind) {
    case NUMBER: return lfuse__build_constant(r->b->g, p->number);
    case QUOTIENT: return lfuse__op_div(build(r, p->x), build(r, p->y));
    case SELECTION: return lfuse__op_where(p->value, typed(r, build(r, p->x)), build(r, p->y));
    case VALUE: break;
    }
    return p->value;
}

static bool is_none(lfuse_value v)
{
    return !v.graph;
}

/* g times the derivative; lfuse_none(): nothing. */
static lfuse_value times(const rule *r, lfuse_value g, const partial *p)
{
    lfuse_value x, y;

    switch (p->kind) {
    case NUMBER:
        if (p->number == 0) return lfuse_none();
        if (p->number == 1) return g;
        return p->number == -1 ? lfuse__op_neg(g) : lfuse__op_mul(g, build(r, p));
    case QUOTIENT: x = times(r, g, p->x); return is_none(x) ? x : lfuse__op_div(x, build(r, p->y));
    case SELECTION:
        x = times(r, g, p->x);
        y = times(r, g, p->y);
        if (is_none(x) && is_none(y)) return x;
        if (is_none(x)) x = lfuse__build_constant(r->b->g, 0);
        if (is_none(y)) y = lfuse__build_constant(r->b->g, 0);
        return lfuse__op_where(p->value, typed(r, x), y);
    case VALUE: break;
    }
    return lfuse__op_mul(g, p->value);
}

/* ---- the words of ops.def ---- */

static const partial *binary(rule *r, lfuse_value (*op)(lfuse_value, lfuse_value), const partial *x, const partial *y)
{
    return value(r, op(build(r, x), build(r, y)));
}

static const partial *unary(rule *r, lfuse_value (*op)(lfuse_value), const partial *x)
{
    return value(r, op(build(r, x)));
}

static const partial *negative(rule *r, const partial *x)
{
    return x->kind == NUMBER ? number(r, -x->number) : unary(r, lfuse__op_neg, x);
}

static const partial *quotient(rule *r, const partial *x, const partial *y)
{
    return new_partial(r, (partial){.kind = QUOTIENT, .x = x, .y = y});
}

static const partial *selection(rule *r, const partial *condition, const partial *x, const partial *y)
{
    return new_partial(r, (partial){.kind = SELECTION, .value = condition->value, .x = x, .y = y});
}

#define A operand(r, 0)
#define B operand(r, 1)
#define C operand(r, 2)
#define Y result(r)
#define D_NONE number(r, 0)
#define D_CONST(k) number(r, k)
#define D_NEG(x) negative(r, x)
#define D_ADD(x, y) binary(r, lfuse__op_add, x, y)
#define D_SUB(x, y) binary(r, lfuse__op_sub, x, y)
#define D_MUL(x, y) binary(r, lfuse__op_mul, x, y)
#define D_DIV(x, y) quotient(r, x, y)
#define D_EXP(x) unary(r, lfuse__op_exp, x)
#define D_LOG(x) unary(r, lfuse__op_log, x)
#define D_SIN(x) unary(r, lfuse__op_sin, x)
#define D_COS(x) unary(r, lfuse__op_cos, x)
#define D_ERFC(x) unary(r, lfuse__op_erfc, x)
#define D_POW(x, y) binary(r, lfuse__op_pow, x, y)
#define D_POWI(x, y) binary(r, lfuse__op_powi, x, y)
#define D_SIGMOID(x) unary(r, lfuse__op_sigmoid, x)
#define D_SQRT(x) unary(r, lfuse__op_sqrt, x)
#define D_EXPM1(x) unary(r, lfuse__op_expm1, x)
#define D_SINH(x) unary(r, lfuse__op_sinh, x)
#define D_COSH(x) unary(r, lfuse__op_cosh, x)
#define D_TANH(x) unary(r, lfuse__op_tanh, x)
#define D_SOFTPLUS(x) unary(r, lfuse__op_softplus, x)
#define D_ABS(x) unary(r, lfuse__op_abs, x)
#define D_TRUNC(x) unary(r, lfuse__op_trunc, x)
#define D_FLOOR(x) unary(r, lfuse__op_floor, x)
#define D_WHERE(m, x, y) selection(r, m, x, y)
#define D_LT(x, y) binary(r, lfuse__op_lt, x, y)
#define D_LE(x, y) binary(r, lfuse__op_le, x, y)
#define D_GT(x, y) binary(r, lfuse__op_gt, x, y)
#define D_GE(x, y) binary(r, lfuse__op_ge, x, y)
#define D_EQ(x, y) binary(r, lfuse__op_eq, x, y)
#define D_BOUNDS(numbers, tensors) (is_number(r, 1) && is_number(r, 2) ? (numbers) : (tensors))

/* One partial derivative of one row. */
#define PARTIAL(name, which, expression)                                                                               \
    static const partial *name##_##which(rule *r)                                                                     \
    {                                                                                                                  \
        return expression;                                                                                             \
    }
#define LFUSE__OP(name, arity, klass, dialect, reference, ulp_f32, ulp_f64, da, db, dc, ...)                           \
    PARTIAL(name, a, da)                                                                                               \
    PARTIAL(name, b, db)                                                                                               \
    PARTIAL(name, c, dc)
#include "common/graph/ops.def"
#undef LFUSE__OP

typedef const partial *partial_function(rule *r);
static partial_function *const partials[LFUSE__OP_COUNT][3] = {
#define LFUSE__OP(name, ...) [LFUSE__OP_##name] = {name##_a, name##_b, name##_c},
#include "common/graph/ops.def"
#undef LFUSE__OP
};

/* The cotangent, expanded where it has numbers of rows and an operand those of columns, or the other way round. */
static lfuse_value beside_operands(const lfuse__backward *b, int32_t id, lfuse_value g)
{
    const lfuse__node *n = &b->g->nodes[id], *c = &b->g->nodes[g.id];
    int i;

    for (i = 0; c->list && c->rank && i < n->nin; i++) {
        const lfuse__node *o = &b->g->nodes[n->in[i]];
        if (o->list && o->rank && o->rank != n->rank && o->rank != c->rank) return lfuse__gradient_expand(b, id, g);
    }
    return g;
}

void lfuse__gradient_pointwise(lfuse__backward *b, int32_t id, lfuse_value g)
{
    rule r = {.b = b, .id = id, .node = b->g->nodes[id]};
    int i;

    g = beside_operands(b, id, g);
    r.type = lfuse__wide_type((lfuse_type)r.node.type);
    for (i = 0; i < r.node.nin && !b->g->status; i++) {
        const int32_t in = r.node.in[i];
        lfuse_value v;
        if (!lfuse__gradient_needs(b, in)) continue;
        r.used = 0;
        v = times(&r, g, partials[r.node.op][i](&r));
        if (!is_none(v)) lfuse__gradient_add(b, in, lfuse__gradient_sum_to(b, id, in, v));
    }
}

/* Rounding counts as the identity. */
void lfuse__gradient_cast(lfuse__backward *b, int32_t id, lfuse_value g)
{
    const int32_t in = b->g->nodes[id].in[0];

    if (b->g->nodes[g.id].type != LFUSE_TYPE_NONE)
        g = lfuse__to_type(b->call, g, lfuse__wide_type((lfuse_type)b->g->nodes[in].type));
    lfuse__gradient_add(b, in, g);
}
