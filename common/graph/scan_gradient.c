/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of scans along an axis. */
#include <math.h>

#include "common/graph/gradient.h"

/* A scan, its operand and result. */
typedef struct scan {
    lfuse__backward *b;
    lfuse__node n;
    int axis;
    lfuse_value a, y;
} scan;

static lfuse_value number(const scan *s, double k)
{
    return lfuse__build_constant(s->b->g, k);
}

static lfuse_value forward(const scan *s, lfuse__reduce op, lfuse_value v)
{
    return v.id < 0 ? v : lfuse__build_scan(s->b->g, s->b->call, op, v.id, s->axis);
}

static lfuse_value flipped(const scan *s, lfuse_value v)
{
    const lfuse_size extent = s->n.shape[s->axis];
    lfuse_size last;

    if (v.id < 0 || extent == 0 || extent == 1) return v;
    if (!lfuse__size_add(s->b->g, s->b->call, extent, -1, &last)) return LFUSE__POISONED(s->b->g);
    return lfuse__build_slice(s->b->g, s->b->call, v.id, s->axis, last, extent, -1);
}

/* From the last element to the first. */
static lfuse_value backward(const scan *s, lfuse__reduce op, lfuse_value v)
{
    return flipped(s, forward(s, op, flipped(s, v)));
}

static lfuse_value of_cumsum(const scan *s, lfuse_value g)
{
    return backward(s, LFUSE__SCAN_cumsum, g);
}

/* Returns the value where the condition holds, else the number. */
static lfuse_value either(const scan *s, lfuse_value condition, lfuse_value v, double otherwise)
{
    return lfuse__op_where(condition, v, number(s, otherwise));
}

/* Of each element the sum of g times the products from it on, in which 1 stands for the factors of a set. */
static lfuse_value products_without(const scan *s, lfuse_value g, lfuse_value set)
{
    const lfuse_value without = forward(s, LFUSE__SCAN_cumprod, lfuse__op_where(set, number(s, 1), s->a));

    return backward(s, LFUSE__SCAN_cumsum, lfuse__op_mul(g, without));
}

/*
 * What comes behind the first factor of 0: 0, which has derivatives. It is that factor times the sum of g times the
 * products without it and the element. Of these all are 0 but the next 0's, and those of elements up to there.
 */
static lfuse_value behind_first(const scan *s, lfuse_value g, lfuse_value zeros, lfuse_value first, lfuse_value at)
{
    const lfuse_value zero = lfuse__op_eq(s->a, number(s, 0)), one = lfuse__op_eq(zeros, number(s, 1));
    const lfuse_value second = lfuse__op_logical_and(zero, lfuse__op_eq(zeros, number(s, 2)));
    const lfuse_value of_second = products_without(s, g, lfuse__op_logical_or(first, second));
    const lfuse_value of_other = lfuse__op_div(at, lfuse__op_where(zero, number(s, 1), s->a));
    const lfuse_value factor = forward(s, LFUSE__SCAN_cumsum, either(s, first, s->a, 0));

    return lfuse__op_mul(factor, lfuse__op_where(one, of_other, either(s, second, of_second, 0)));
}

/*
 * Before the first factor of 0, the sum of g y from the element on, over the element. The first 0 gets the same sum of
 * the products in which 1 stands for it. What comes behind it gets nothing.
 */
static lfuse_value of_cumprod(const scan *s, lfuse_value g)
{
    const lfuse_type type = (lfuse_type)s->n.type;
    const lfuse_value zero = lfuse__op_eq(s->a, number(s, 0));
    const lfuse_value zeros = forward(s, LFUSE__SCAN_cumsum,
                                      either(s, zero, lfuse__to_type(s->b->call, number(s, 1), type), 0));
    const lfuse_value first = lfuse__op_logical_and(zero, lfuse__op_eq(zeros, number(s, 1)));
    const lfuse_value before = lfuse__op_div(backward(s, LFUSE__SCAN_cumsum, lfuse__op_mul(g, s->y)),
                                             lfuse__op_where(zero, number(s, 1), s->a));
    const lfuse_value at = products_without(s, g, first), from_first = either(s, first, at, 0);
    const lfuse_value none = lfuse__op_eq(zeros, number(s, 0)), value = lfuse__op_where(none, before, from_first);
    const lfuse_value behind = behind_first(s, g, zeros, first, at);

    return lfuse__identity_value(s->b->call, LFUSE__IDENTITY_SURROGATE, value,
                                 lfuse__op_where(none, before, lfuse__op_where(first, at, behind)), value, 0);
}

/* Each result is the last element up to there that attains it, as PyTorch has it; NaN attains NaN. */
static lfuse_value of_extreme(const scan *s, lfuse_value g)
{
    const lfuse_value attains = lfuse__op_logical_or(lfuse__op_eq(s->a, s->y), lfuse__op_isnan(s->a));
    const lfuse_value here = lfuse__gradient_positions(s->b, s->n.rank, s->n.shape, s->axis);
    const lfuse_value from = forward(s, LFUSE__SCAN_cummax, lfuse__op_where(attains, here, number(s, -1)));

    return lfuse__gradient_scatter_along(s->b, g, s->axis, from, s->n.shape[s->axis]);
}

/* exp(a) times the sum of w exp(-y) from the element on, by logarithms; w is not negative. */
static lfuse_value weighted(const scan *s, lfuse_value w)
{
    const lfuse_value positive = lfuse__op_gt(w, number(s, 0));
    const lfuse_value log = lfuse__op_log(lfuse__op_where(positive, w, number(s, 1)));
    const lfuse_value summand = lfuse__op_where(positive, lfuse__op_sub(log, s->y), number(s, -INFINITY));

    return lfuse__op_exp(lfuse__op_add(backward(s, LFUSE__SCAN_logcumsumexp, summand), s->a));
}

/* The positive and the negative part of g apart, as its logarithm is taken. */
static lfuse_value of_logcumsumexp(const scan *s, lfuse_value g)
{
    return lfuse__op_sub(weighted(s, g), weighted(s, lfuse__op_neg(g)));
}

void lfuse__gradient_scan(lfuse__backward *b, int32_t id, lfuse_value g)
{
    static lfuse_value (*const rules[LFUSE__FOLD_COUNT])(const scan *s, lfuse_value g) = {
        [LFUSE__SCAN_cumsum] = of_cumsum,      [LFUSE__SCAN_cumprod] = of_cumprod,
        [LFUSE__SCAN_cummax] = of_extreme,     [LFUSE__SCAN_cummin] = of_extreme,
        [LFUSE__SCAN_logcumsumexp] = of_logcumsumexp,
    };
    scan s = {.b = b, .n = b->g->nodes[id], .axis = b->g->nodes[id].axes[0]};

    if (!rules[s.n.op]) {
        lfuse__graph_poison(b->g, LFUSE_ERR_UNSUPPORTED, "%s: %s has no derivative", b->call,
                            lfuse__folds[s.n.op].name);
        return;
    }
    s.a = lfuse__gradient_operand(b, s.n.in[0]);
    s.y = lfuse__gradient_operand(b, id);
    lfuse__gradient_add(b, s.n.in[0], rules[s.n.op](&s, lfuse__gradient_expand(b, id, g)));
}
