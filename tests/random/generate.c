/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a graph of a seed: a pool of values, to which makers add functions of those that are there. A maker looks for
 * operands that fit, makes an input where there is none, and does nothing where it cannot be used. Values that no domain
 * takes or that overflow are kept rare: they leave nothing to judge.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "common/base/whole.h"
#include "common/graph/build.h"
#include "libfuse.h"
#include "tests/random/problem.h"

enum { POOL = 160, MOST_ELEMENTS = 6000, MOST_LONG = 90000, MOST_OUTPUTS = 6, NAME = 16 };

typedef struct gen {
    lfuse__random r;
    lfuse_graph *g;
    problem *p;
    int nvariables;
    lfuse_size variables[PROBLEM_MAX_SIZES];
    int64_t most;        /* elements of a value */
    int32_t pool[POOL];
    int count, names;
    lfuse_type type;     /* that most inputs have */
    bool frozen;         /* some inputs are */
} gen;

static int below(gen *s, int n) { return (int)lfuse__random_below(&s->r, (uint64_t)n); }
static bool chance(gen *s, int of) { return below(s, of) == 0; }
#define PICK(s, array) ((array)[below(s, (int)(sizeof(array) / sizeof *(array)))])

/* ---- values and sizes ---- */

static const lfuse__node *node(const gen *s, lfuse_value v) { return &s->g->nodes[v.id]; }
static lfuse_value value(gen *s, int32_t id) { return (lfuse_value){s->g, id}; }
static lfuse_type type_of(const gen *s, lfuse_value v) { return (lfuse_type)node(s, v)->type; }
static lfuse_value nothing(gen *s) { return (lfuse_value){s->g, -1}; }

/* An extent as builders take it. */
static lfuse_size given(const gen *s, lfuse_size size)
{
    if (lfuse__size_is_number(size)) return size;
    return LFUSE__SIZE_BASE + (int64_t)(s->g->tag << LFUSE__SIZE_INDEX_BITS | (uint64_t)lfuse__size_index(size));
}

static int64_t actual(gen *s, lfuse_size size)
{
    int64_t sizes[256] = {0}, extent = 0;
    for (int i = 0, v = 0; i < s->g->nsizes && i < 256; i++)
        if (s->g->sizes[i].kind == LFUSE__SIZE_VAR) sizes[i] = s->p->sizes[v++];
    if (s->g->nsizes > 256 || lfuse__size_evaluate(s->g, size, sizes, &extent)) return MOST_LONG + 1;
    return extent;
}

static int64_t least(gen *s, lfuse_size size)
{
    int64_t low, high;
    lfuse__size_bounds(s->g, size, &low, &high);
    return low;
}

static int64_t elements(gen *s, int rank, const lfuse_size *shape)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(count, actual(s, shape[i]), &count)) return INT64_MAX;
    return count;
}

static bool affordable(gen *s, int rank, const lfuse_size *shape)
{
    return rank <= 5 && elements(s, rank, shape) <= s->most;
}

/* A new value; one that is too large is left alone. */
static void keep(gen *s, lfuse_value v)
{
    if (v.id < 0 || s->count == POOL || node(s, v)->type == LFUSE_TYPE_NONE) return;
    if (affordable(s, node(s, v)->rank, node(s, v)->shape)) s->pool[s->count++] = v.id;
}

/* ---- inputs ---- */

static lfuse_type any_type(gen *s)
{
    static const lfuse_type types[] = {LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_F32,  LFUSE_F16, LFUSE_BF16, LFUSE_F64,
                                       LFUSE_I32, LFUSE_I32, LFUSE_I64, LFUSE_BOOL, LFUSE_I8,  LFUSE_U8};
    return PICK(s, types);
}

static const char *fresh(gen *s, char name[NAME], char kind)
{
    snprintf(name, NAME, "%c%d", kind, s->names++);
    return name;
}

static lfuse_value new_input(gen *s, lfuse_type type, int rank, const lfuse_size *shape)
{
    char name[NAME];
    if (s->names >= HARNESS_MAX_IO - MOST_OUTPUTS - 2) return nothing(s);
    if (s->frozen && chance(s, 2)) return lfuse_frozen(s->g, fresh(s, name, 'f'), type, rank, shape);
    return lfuse_input(s->g, fresh(s, name, 'i'), type, rank, shape);
}

static lfuse_size small_extent(gen *s)
{
    static const int extents[] = {1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12};
    if (s->nvariables && chance(s, 4)) return s->variables[below(s, s->nvariables)];
    return chance(s, 60) ? 0 : PICK(s, extents);
}

/* Shapes that row kernels treat each in their own way among small ones. */
static int any_shape(gen *s, lfuse_size *shape)
{
    static const int rows[] = {16, 31, 64, 100, 128, 130, 200, 257, 512, 1000, 1024, 1025, 2050, 4100};
    static const int lengths[] = {17000, 20001, 33000, 70001};
    int rank;
    switch (below(s, 12)) {
    case 0:
    case 1:
    case 2:
        rank = 1 + below(s, 3);
        for (int i = 0; i < rank; i++) shape[i] = small_extent(s);
        shape[rank - 1] = PICK(s, rows);
        break;
    case 3:
        rank = 2;
        shape[0] = 100 + below(s, 500);
        shape[1] = 1 + below(s, 16);
        break;
    case 4:
        rank = 1 + below(s, 2);
        shape[0] = 1 + below(s, 2);
        shape[rank - 1] = chance(s, 4) ? PICK(s, lengths) : PICK(s, rows);
        break;
    default:
        rank = below(s, 5);
        for (int i = 0; i < rank; i++) shape[i] = small_extent(s);
        break;
    }
    while (rank && !affordable(s, rank, shape)) shape[below(s, rank)] = 1 + below(s, 4);
    return rank;
}

static lfuse_value any_input(gen *s)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    const int rank = any_shape(s, shape);
    return new_input(s, chance(s, 4) ? any_type(s) : s->type, rank, shape);
}

/* ---- operands ---- */

static lfuse_value any(gen *s)
{
    /* The last ones more often: depth. */
    const int near = s->count > 4 && chance(s, 2) ? 4 : s->count;
    return value(s, s->pool[s->count - 1 - below(s, near)]);
}

static bool floating(const gen *s, lfuse_value v) { return lfuse__is_floating(type_of(s, v)); }

static lfuse_value any_floating(gen *s)
{
    for (int i = 0; i < 6; i++) {
        const lfuse_value v = any(s);
        if (floating(s, v)) return v;
    }
    return lfuse_cast(any(s), LFUSE_F32);
}

/* At least so many axes. */
static lfuse_value any_of_rank(gen *s, int rank, bool must_float)
{
    for (int i = 0; i < 8; i++) {
        const lfuse_value v = must_float ? any_floating(s) : any(s);
        if (node(s, v)->rank >= rank) return v;
    }
    return nothing(s);
}

/* Whether the shapes broadcast to one that can be afforded. */
static bool fit(gen *s, int count, const int32_t *in)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    int rank = 0;
    for (int k = 0; k < count; k++)
        if (s->g->nodes[in[k]].rank > rank) rank = s->g->nodes[in[k]].rank;
    for (int i = 0; i < rank; i++) {
        shape[i] = 1;
        for (int k = 0; k < count; k++) {
            const lfuse__node *n = &s->g->nodes[in[k]];
            const lfuse_size extent = i < rank - n->rank ? 1 : n->shape[i - (rank - n->rank)];
            if (extent != 1 && shape[i] != 1 && extent != shape[i]) return false;
            if (extent != 1) shape[i] = extent;
        }
    }
    return affordable(s, rank, shape);
}

static bool broadcasts(gen *s, lfuse_value x, lfuse_value y)
{
    return type_of(s, x) == type_of(s, y) && fit(s, 2, (const int32_t[]){x.id, y.id});
}

/* Another operand for a function of x: a value that is there, a number, or an input that repeats along some axes. */
static lfuse_value partner(gen *s, lfuse_value x)
{
    const lfuse__node *n = node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    char name[NAME];
    int rank = n->rank, drop;
    for (int i = 0; i < 8; i++) {
        const lfuse_value y = any(s);
        if (broadcasts(s, x, y)) return y;
    }
    if (n->type != LFUSE_BOOL && chance(s, 3)) {
        static const double numbers[] = {0.5, 2, -1, 3, 0, 1, -0.75};
        if (chance(s, 3)) return lfuse_scalar(s->g, fresh(s, name, 's'));
        return lfuse_constant(s->g, PICK(s, numbers));
    }
    drop = chance(s, 3) ? below(s, rank + 1) : 0;
    for (int i = drop; i < rank; i++) shape[i - drop] = chance(s, 4) ? 1 : given(s, n->shape[i]);
    return new_input(s, (lfuse_type)n->type, rank - drop, shape);
}

static lfuse_value number(gen *s, double x) { return lfuse_constant(s->g, x); }

static lfuse_value positive(gen *s, lfuse_value v, double least_size)
{
    return lfuse_add(lfuse_abs(v), number(s, least_size));
}

/* ---- pointwise ---- */

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
    {"celu", "-p"},  {"powi", "-s"},
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
        if (!wild) v = into_domain(s, lfuse__ops[op].name, i, v);
        in[i] = v.id;
    }
    if (!fit(s, arity, in)) { /* each goes with x, but not with the others */
        in[arity - 1] = x.id;
        if (!fit(s, arity, in)) return nothing(s);
    }
    return lfuse__build_pointwise(s->g, "random", op, in);
}

/* Keeps what may grow within what the narrow types hold. */
static lfuse_value tame(gen *s, lfuse_value v)
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
static void make_pointwise(gen *s)
{
    const lfuse__op op = (lfuse__op)below(s, LFUSE__OP_COUNT);
    const lfuse_value x = operand_of(s, op);
    if (x.id >= 0) keep(s, tame(s, apply(s, op, x)));
}

static void make_arithmetic(gen *s)
{
    static const lfuse__op ops[] = {LFUSE__OP_add, LFUSE__OP_mul, LFUSE__OP_sub, LFUSE__OP_max};
    const lfuse_value x = any(s);
    if (type_of(s, x) != LFUSE_BOOL) keep(s, tame(s, apply(s, PICK(s, ops), x)));
}

static void make_cast(gen *s)
{
    keep(s, lfuse_cast(any(s), any_type(s)));
}

/* ---- views ---- */

static void make_permute(gen *s)
{
    const lfuse_value x = any_of_rank(s, 2, false);
    int axes[LFUSE_MAX_RANK];
    if (x.id < 0) return;
    const int rank = node(s, x)->rank;
    for (int i = 0; i < rank; i++) axes[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        const int k = below(s, i + 1), t = axes[i];
        axes[i] = axes[k];
        axes[k] = t;
    }
    keep(s, lfuse_permute(x, axes));
}

static void make_slice(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, false);
    if (x.id < 0) return;
    const int axis = below(s, node(s, x)->rank);
    const lfuse_size extent = node(s, x)->shape[axis];
    const int64_t n = least(s, extent);
    if (chance(s, 4)) {
        keep(s, lfuse_flip(x, 1, &axis));
        return;
    }
    if (n < 2) return;
    const int64_t step = 1 + below(s, n > 4 ? 3 : 1), start = below(s, (int)(n < 1000 ? n : 1000));
    if (chance(s, 3)) keep(s, lfuse_slice(x, axis, start, start / step + 1, -step));
    else keep(s, lfuse_slice(x, axis, start, 1 + below(s, (int)((n - 1 - start) / step + 1)), step));
}

static void make_split(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, false);
    lfuse_value parts[4];
    if (x.id < 0) return;
    const int axis = below(s, node(s, x)->rank), count = 2 + below(s, 3);
    const lfuse_size extent = node(s, x)->shape[axis];
    if (!lfuse__size_is_number(extent) || extent % count || !extent) return;
    lfuse_chunk(x, axis, count, parts);
    for (int i = 0; i < count; i++) keep(s, parts[i]);
}

static void make_reshape(gen *s)
{
    const lfuse_value x = any(s);
    const lfuse__node n = *node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    int rank = 0;
    if (n.rank >= 2 && chance(s, 2)) {
        const int first = below(s, n.rank - 1);
        keep(s, lfuse_flatten(x, first, first + 1 + below(s, n.rank - 1 - first)));
        return;
    }
    if (n.rank == LFUSE_MAX_RANK || chance(s, 4)) {
        if (n.rank < 5) keep(s, lfuse_unsqueeze(x, below(s, n.rank + 1)));
        return;
    }
    if (!n.rank) return;
    const int axis = below(s, n.rank);
    if (!lfuse__size_is_number(n.shape[axis])) return;
    for (int i = 0; i < n.rank; i++) {
        if (i == axis)
            for (int64_t f = 2; f <= n.shape[axis] && f < 100; f++)
                if (n.shape[axis] % f == 0 && (chance(s, 2) || f * f > n.shape[axis])) {
                    shape[rank++] = n.shape[axis] / f;
                    shape[rank++] = f;
                    break;
                }
        if (i != axis || rank == i) shape[rank++] = given(s, n.shape[i]);
    }
    keep(s, lfuse_reshape(x, rank, shape));
}

static void make_broadcast(gen *s)
{
    const lfuse_value x = any(s);
    const lfuse__node n = *node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    const int more = below(s, 2);
    if (n.rank + more > 5) return;
    for (int i = 0; i < more; i++) shape[i] = 1 + below(s, 4);
    for (int i = 0; i < n.rank; i++)
        shape[more + i] = n.shape[i] == 1 && chance(s, 2) ? 1 + below(s, 6) : given(s, n.shape[i]);
    if (affordable(s, n.rank + more, shape)) keep(s, lfuse_broadcast_to(x, n.rank + more, shape));
}

/* Equal but for one axis, which has to be a literal somewhere. */
static lfuse_value neighbour(gen *s, lfuse_value x, int axis)
{
    const lfuse__node n = *node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    for (int i = 0; i < 10; i++) {
        const lfuse_value y = any(s);
        const lfuse__node *m = node(s, y);
        bool fits = m->type == n.type && m->rank == n.rank && y.id != x.id;
        for (int k = 0; fits && k < n.rank; k++) fits = k == axis || m->shape[k] == n.shape[k];
        if (fits) return y;
    }
    for (int i = 0; i < n.rank; i++) shape[i] = i == axis ? small_extent(s) : given(s, n.shape[i]);
    return new_input(s, (lfuse_type)n.type, n.rank, shape);
}

static void make_concat(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, false);
    lfuse_value parts[3] = {x};
    if (x.id < 0) return;
    const int axis = below(s, node(s, x)->rank), count = 2 + below(s, 2);
    for (int i = 1; i < count; i++)
        if ((parts[i] = neighbour(s, x, axis)).id < 0) return;
    keep(s, lfuse_concat(count, parts, axis));
}

static void make_pad(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, false);
    lfuse_size before[LFUSE_MAX_RANK], after[LFUSE_MAX_RANK];
    if (x.id < 0) return;
    for (int i = 0; i < node(s, x)->rank; i++) {
        before[i] = chance(s, 2) ? below(s, 3) : 0;
        after[i] = chance(s, 2) ? below(s, 3) : 0;
    }
    keep(s, lfuse_pad(x, before, after, type_of(s, x) == LFUSE_BOOL ? 1 : 2.5));
}

/* ---- reductions ---- */

static int any_axes(gen *s, int rank, int axes[LFUSE_MAX_RANK])
{
    int count = 0;
    if (chance(s, 3)) {
        axes[0] = rank - 1;
        return 1;
    }
    if (chance(s, 8)) return LFUSE_ALL_AXES;
    for (int i = 0; i < rank; i++)
        if (chance(s, 2)) axes[count++] = i - (chance(s, 2) ? rank : 0);
    if (!count) axes[count++] = below(s, rank);
    return count;
}

/* Whether no extent can be 0: some reductions refuse that. */
static bool filled(gen *s, lfuse_value x)
{
    for (int i = 0; i < node(s, x)->rank; i++)
        if (least(s, node(s, x)->shape[i]) < 1) return false;
    return true;
}

typedef lfuse_value reducer(lfuse_value a, int count, const int *axes, int keepdims);
static const struct reduction {
    reducer *make;
    char takes; /* f: floating types, n: all but bool, a: all */
    bool needs, one_axis;
} reductions[] = {
    {lfuse_sum, 'a', false, false},       {lfuse_sum, 'a', false, false},    {lfuse_prod, 'a', false, false},
    {lfuse_amax, 'n', true, false},       {lfuse_amin, 'n', true, false},    {lfuse_argmax, 'n', true, true},
    {lfuse_argmin, 'n', true, true},      {lfuse_any, 'a', false, false},    {lfuse_all, 'a', false, false},
    {lfuse_mean, 'f', false, false},      {lfuse_norm_l1, 'f', false, false}, {lfuse_norm_l2, 'f', false, false},
    {lfuse_norm_inf, 'f', true, false},   {lfuse_logsumexp, 'f', true, false},
};

static void make_reduction(gen *s)
{
    const struct reduction *r = &PICK(s, reductions);
    lfuse_value x = any_of_rank(s, 1, r->takes == 'f');
    int axes[LFUSE_MAX_RANK], count;
    if (x.id < 0 || (r->needs && !filled(s, x)) || (r->takes == 'n' && type_of(s, x) == LFUSE_BOOL)) return;
    /* Products of many numbers are 0 or infinite. */
    if (r->make == lfuse_prod && floating(s, x)) x = lfuse_clamp(x, number(s, 0.75), number(s, 1.25));
    count = r->one_axis ? 1 : any_axes(s, node(s, x)->rank, axes);
    if (r->one_axis) axes[0] = below(s, node(s, x)->rank);
    keep(s, r->make(x, count, axes, below(s, 2)));
}

/* A reduction and what is made of it in the same rows. */
static void make_row_work(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, true);
    int axes[LFUSE_MAX_RANK];
    if (x.id < 0 || !filled(s, x)) return;
    const int count = any_axes(s, node(s, x)->rank, axes);
    const lfuse_value mean = lfuse_mean(x, count, axes, 1), centred = lfuse_sub(x, mean);
    switch (below(s, 5)) {
    case 0: keep(s, centred); break;
    case 1: keep(s, lfuse_div(centred, lfuse_add(lfuse_norm_l1(x, count, axes, 1), number(s, 1)))); break;
    case 2:
        keep(s, lfuse_var(x, count, axes, below(s, 2), below(s, 2)));
        keep(s, mean);
        break;
    case 3: keep(s, lfuse_mul(x, lfuse_amax(lfuse_abs(x), count, axes, 1))); break;
    default: keep(s, lfuse_sum(lfuse_mul(lfuse_tanh(centred), x), count, axes, below(s, 2))); break;
    }
}

static lfuse_value affine(gen *s, lfuse_value x, int count)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    const lfuse__node n = *node(s, x);
    if (chance(s, 2)) return lfuse_none();
    for (int i = 0; i < count; i++) shape[i] = given(s, n.shape[n.rank - count + i]);
    const lfuse_value v = new_input(s, (lfuse_type)n.type, count, shape);
    return v.id < 0 ? lfuse_none() : v;
}

static void make_norm(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, true);
    int axes[LFUSE_MAX_RANK];
    if (x.id < 0 || !filled(s, x)) return;
    const int rank = node(s, x)->rank, last = 1 + (chance(s, 3) ? below(s, rank) : 0);
    const int count = any_axes(s, rank, axes);
    switch (below(s, 7)) {
    case 0: keep(s, lfuse_softmax(x, count, axes)); break;
    case 1: keep(s, lfuse_log_softmax(x, count, axes)); break;
    case 2: keep(s, lfuse_rmsnorm(x, last, affine(s, x, last), 1e-5)); break;
    case 3: keep(s, lfuse_l2_normalize(x, count, axes, 1e-6)); break;
    case 4: {
        const lfuse_size channels = rank > 1 ? node(s, x)->shape[1] : 0;
        if (rank < 2 || !lfuse__size_is_number(channels) || channels < 1) return;
        keep(s, lfuse_groupnorm(x, channels % 2 ? 1 : 2, lfuse_none(), lfuse_none(), 1e-5));
        break;
    }
    default: {
        const lfuse_value weight = affine(s, x, last);
        keep(s, lfuse_layernorm(x, last, weight, affine(s, x, last), 1e-5));
        break;
    }
    }
}

/* ---- look-ups and products ---- */

static lfuse_value indices(gen *s)
{
    lfuse_size shape[2];
    const int rank = 1 + below(s, 2);
    for (int i = 0; i < rank; i++) shape[i] = small_extent(s);
    if (rank == 1 && chance(s, 3)) shape[0] = 40;
    return new_input(s, chance(s, 2) ? LFUSE_I32 : LFUSE_I64, rank, shape);
}

static void make_gather(gen *s)
{
    lfuse_value table = any_of_rank(s, 1, false);
    lfuse_size shape[2] = {3 + below(s, 30), 1 + below(s, 20)};
    if (chance(s, 2)) table = new_input(s, s->type, 1 + below(s, 2), shape);
    if (table.id < 0) return;
    const lfuse_value at = indices(s);
    if (at.id < 0) return;
    const lfuse__node *t = node(s, table), *i = node(s, at);
    lfuse_size result[2 * LFUSE_MAX_RANK];
    if (t->rank + i->rank - 1 > 5) return;
    memcpy(result, i->shape, (size_t)i->rank * sizeof *result);
    memcpy(result + i->rank, t->shape + 1, (size_t)(t->rank - 1) * sizeof *result);
    if (affordable(s, i->rank + t->rank - 1, result)) keep(s, lfuse_gather(table, at));
}

static void make_scatter(gen *s)
{
    const lfuse_value source = any_of_rank(s, 1, false);
    if (source.id < 0 || type_of(s, source) == LFUSE_BOOL) return;
    lfuse_size shape[1] = {given(s, node(s, source)->shape[0])};
    const lfuse_value at = new_input(s, chance(s, 2) ? LFUSE_I32 : LFUSE_I64, 1, shape);
    if (at.id >= 0) keep(s, lfuse_scatter_add(source, at, 1 + below(s, 9)));
}

static void make_product(gen *s)
{
    lfuse_value x = any_of_rank(s, 2, true);
    lfuse_size shape[2];
    if (x.id < 0) return;
    if (node(s, x)->rank > 2) x = lfuse_flatten(x, 0, node(s, x)->rank - 2);
    shape[0] = given(s, node(s, x)->shape[1]);
    shape[1] = 1 + below(s, chance(s, 3) ? 20 : 8);
    const lfuse_value w = new_input(s, type_of(s, x), 2, shape);
    if (w.id < 0 || !affordable(s, 2, node(s, w)->shape)) return;
    lfuse_value y = lfuse_matmul(x, w);
    if (chance(s, 2)) {
        const lfuse_value bias = new_input(s, type_of(s, x), 1, shape + 1);
        if (bias.id >= 0) y = lfuse_add(y, bias);
    }
    if (chance(s, 2)) y = lfuse_relu(y);
    keep(s, tame(s, y));
}

/* The same work several times over, on inputs of one or of many shapes, joined or not: what bundles are made of. */
static void make_twins(gen *s)
{
    lfuse_value parts[4];
    const int count = 2 + below(s, 3), work = below(s, 4);
    const bool alike = chance(s, 2), join = chance(s, 2);
    lfuse_size shape[2] = {1 + below(s, 6), 1 + below(s, 70)};
    const int last = 1;
    for (int i = 0; i < count; i++) {
        if (!alike) shape[0] = 1 + below(s, 6);
        lfuse_value x = new_input(s, lfuse__is_floating(s->type) ? s->type : LFUSE_F32, 2, shape);
        if (x.id < 0) return;
        switch (work) {
        case 0: x = lfuse_tanh(lfuse_layernorm(x, 1, lfuse_none(), lfuse_none(), 1e-5)); break;
        case 1: x = lfuse_mul(lfuse_add(x, number(s, 1)), x); break;
        case 2: x = lfuse_sub(x, lfuse_amax(x, 1, &last, 1)); break;
        default: x = lfuse_relu(lfuse_sub(number(s, 1), x)); break;
        }
        parts[i] = x;
    }
    if (join) keep(s, lfuse_concat(count, parts, 0));
    for (int i = 0; !join && i < count; i++) keep(s, parts[i]);
}

static void make_index(gen *s)
{
    const lfuse_value x = any(s);
    const lfuse__node n = *node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    for (int i = 0; i < n.rank; i++) shape[i] = given(s, n.shape[i]);
    const lfuse_value i = lfuse_index(s->g, n.rank, shape);
    keep(s, chance(s, 2) ? lfuse_cast(i, LFUSE_F32) : i);
}

static void make_extent(gen *s)
{
    const lfuse_value x = any_floating(s);
    if (s->nvariables) keep(s, lfuse_mul(x, lfuse_div(number(s, 1), lfuse_extent(s->g, s->variables[0]))));
}

/* ---- the whole ---- */

typedef void maker(gen *s);
static maker *const makers[] = {
    make_pointwise, make_pointwise, make_pointwise, make_pointwise, make_arithmetic, make_arithmetic, make_arithmetic,
    make_cast,      make_permute,   make_slice,     make_slice,     make_split,      make_reshape,    make_reshape,
    make_broadcast, make_concat,    make_concat,    make_pad,       make_reduction,  make_reduction,  make_reduction,
    make_row_work,  make_row_work,  make_norm,      make_norm,      make_gather,     make_gather,     make_scatter,
    make_product,   make_product,   make_twins,     make_index,     make_extent,
};

static void make_sizes(gen *s)
{
    const int count = chance(s, 3) ? 1 + below(s, 2) : 0;
    char name[NAME];
    for (int i = 0; i < count; i++) {
        const int64_t low = chance(s, 5) ? 0 : 1 + below(s, 4), high = low + below(s, 12);
        s->p->sizes[i] = low + below(s, (int)(high - low + 1));
        s->variables[i] = lfuse_size_var(s->g, fresh(s, name, 'n'), low, high);
        s->nvariables = s->p->nsizes = i + 1;
    }
}

/* What nobody reads, and some of what is read. */
static void make_outputs(gen *s)
{
    bool read[4096] = {false};
    char name[NAME];
    int made = 0;
    for (int32_t i = 0; i < s->g->nnodes; i++)
        for (int k = 0; k < s->g->nodes[i].nin; k++)
            if (s->g->nodes[i].in[k] < 4096) read[s->g->nodes[i].in[k]] = true;
    for (int i = s->count - 1; i >= 0 && made < MOST_OUTPUTS; i--) {
        const int32_t id = s->pool[i];
        const bool input = s->g->nodes[id].name >= 0;
        if (id >= 4096 || (read[id] || input ? !chance(s, input ? 40 : 10) : false)) continue;
        lfuse_output(s->g, fresh(s, name, 'o'), value(s, id));
        made++;
    }
    if (!made) lfuse_output(s->g, fresh(s, name, 'o'), value(s, s->pool[s->count - 1]));
}

static void make_updates(gen *s)
{
    for (int i = 0; i < s->count; i++) {
        const lfuse__node n = s->g->nodes[s->pool[i]];
        if (n.kind != LFUSE__INPUT || s->g->names[n.name].update >= 0 || !chance(s, 5)) continue;
        for (int k = s->count - 1; k > i; k--) {
            const lfuse__node *m = &s->g->nodes[s->pool[k]];
            if (m->type != n.type || m->rank != n.rank ||
                memcmp(m->shape, n.shape, (size_t)n.rank * sizeof *n.shape) || chance(s, 3))
                continue;
            lfuse_update(value(s, s->pool[i]), value(s, s->pool[k]));
            break;
        }
    }
}

void problem_generate(uint64_t seed, problem *p)
{
    gen *s = calloc(1, sizeof *s);
    if (!s) abort();
    *p = (problem){lfuse_graph_create(), seed, 0, {0}};
    lfuse__random_seed(&s->r, seed);
    s->g = p->graph;
    s->p = p;
    s->most = chance(s, 12) ? MOST_LONG : MOST_ELEMENTS;
    s->type = any_type(s);
    s->frozen = chance(s, 6);
    make_sizes(s);
    const int inputs = 1 + below(s, 3), depth = 1 + below(s, chance(s, 3) ? 12 : 6);
    for (int i = 0; i < inputs; i++) keep(s, any_input(s));
    if (!s->count) keep(s, new_input(s, s->type, 0, NULL));
    for (int i = 0; i < depth && !lfuse_graph_check(s->g); i++) PICK(s, makers)(s);
    if (!lfuse_graph_check(s->g)) {
        make_outputs(s);
        make_updates(s);
    }
    free(s);
}
