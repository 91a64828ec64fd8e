/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of elements. */
#include <string.h>

#include "tests/random/generate.h"

/* What operands some operators need: 'p' positive, 'u' within (-1, 1), 's' small, 'n' away from 0. */
static const struct domain {
    const char *op;
    const char *kinds; /* one letter an operand */
} domains[] = {
    {"div", "-n"},   {"reciprocal", "n"}, {"sqrt", "p"},  {"rsqrt", "p"},  {"log", "p"},    {"log1p", "p"},
    {"log2", "p"},   {"log10", "p"},      {"exp", "s"},   {"exp2", "s"},   {"expm1", "s"},  {"pow", "ps"},
    {"sinh", "s"},   {"cosh", "s"},       {"tan", "u"},   {"asin", "u"},   {"acos", "u"},   {"atanh", "u"},
    {"acosh", "p"},  {"fmod", "-n"},      {"rem", "-n"},  {"remainder", "-n"}, {"mod", "-n"}, {"erfinv", "u"},
    {"square", "s"}, {"softplus", "s"},   {"squared_relu", "s"},
    {"celu", "-p"},  {"powi", "-s"},      {"selu_with", "s"},
};

static lfuse_value into_domain(gen *s, const char *op, int operand, lfuse_value v)
{
    if (type_of(s, v) == LFUSE_BOOL || (node(s, v)->type != LFUSE_TYPE_NONE && !floating(s, v))) return v;
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        if (strcmp(domains[i].op, op) || (size_t)operand >= strlen(domains[i].kinds)) continue;
        switch (domains[i].kinds[operand]) {
        case 'p': return positive(s, v, 1);
        case 'n': return positive(s, v, 0.5);
        case 'u': return lfuse_clamp(v, number(s, -0.75), number(s, 0.75));
        case 's': return lfuse_clamp(v, number(s, -3), number(s, 3));
        default: return v;
        }
    }
    return v;
}

static lfuse_value any_truth(gen *s, lfuse_value like)
{
    const lfuse_value y = partner(s, like);
    if (y.id < 0) return y;
    return type_of(s, like) == LFUSE_BOOL ? lfuse_ne(like, y) : lfuse_lt(like, y);
}

static lfuse_value apply(gen *s, lfuse__op op, lfuse_value x)
{
    const bool select = lfuse__ops[op].klass == LFUSE__CLASS_SELECT, wild = chance(s, 10);
    const int arity = lfuse__ops[op].arity;
    int32_t in[3] = {-1, -1, -1};
    for (int i = 0; i < arity; i++) {
        lfuse_value v = select && i == 0 ? any_truth(s, x) : i == (select ? 1 : 0) ? x : partner(s, x);
        if (v.id < 0) return v;
        if (!wild && !lfuse__is_integer(type_of(s, x))) v = into_domain(s, lfuse__ops[op].name, i, v);
        /* A known power of an integer must not be negative. */
        if ((op == LFUSE__OP_pow || op == LFUSE__OP_powi) && i == 1 && node(s, v)->type == LFUSE_TYPE_NONE)
            v = lfuse_abs(v);
        in[i] = v.id;
    }
    if (!fit(s, arity, in)) { /* each goes with x, but not with the others */
        in[arity - 1] = x.id;
        if (!fit(s, arity, in)) return nothing(s);
    }
    return lfuse__build_pointwise(s->g, "random", op, in);
}

/* Keeps what may grow within what the narrow types hold. */
lfuse_value tame(gen *s, lfuse_value v)
{
    if (v.id < 0 || !floating(s, v) || !chance(s, 3)) return v;
    return lfuse_clamp(v, number(s, -9), number(s, 9));
}

/* A value of a type that the operator takes. */
static lfuse_value operand_of(gen *s, lfuse__op op)
{
    static const lfuse_type integers[] = {LFUSE_I32, LFUSE_I64, LFUSE_I8, LFUSE_U8};
    const lfuse_value x = any(s);
    if (lfuse__op_takes(op, type_of(s, x))) return x;
    switch (lfuse__ops[op].klass) {
    case LFUSE__CLASS_FLOATING:
    case LFUSE__CLASS_PREDICATE: return any_floating(s);
    case LFUSE__CLASS_LOGIC: return any_truth(s, x);
    case LFUSE__CLASS_INTEGER: return lfuse_cast(x, PICK(s, integers));
    case LFUSE__CLASS_RANDOM: return lfuse_cast(x, LFUSE_I64);
    case LFUSE__CLASS_NUMERIC:
    case LFUSE__CLASS_COMPARE:
    case LFUSE__CLASS_SELECT: break;
    }
    return nothing(s);
}

/* Operands of numbers only make numbers, which the pool does not hold: the first one is a tensor. */
void make_pointwise(gen *s)
{
    const lfuse__op op = (lfuse__op)below(s, LFUSE__OP_COUNT);
    const lfuse_value x = operand_of(s, op);
    if (x.id >= 0) keep(s, tame(s, apply(s, op, x)));
}

void make_arithmetic(gen *s)
{
    static const lfuse__op ops[] = {LFUSE__OP_add, LFUSE__OP_mul, LFUSE__OP_sub, LFUSE__OP_max};
    const lfuse_value x = any(s);
    if (type_of(s, x) != LFUSE_BOOL) keep(s, tame(s, apply(s, PICK(s, ops), x)));
}

void make_cast(gen *s)
{
    keep(s, lfuse_cast(any(s), any_type(s)));
}
