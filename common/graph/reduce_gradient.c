/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of reductions: of axes of tensors, of members, of lists, and of rows and columns of members. */
#include "common/graph/gradient.h"

/* A reduction, and its operand and result in the type that is computed in. */
typedef struct reduction {
    lfuse__backward *b;
    lfuse__node n;
    lfuse_value a, y;
} reduction;

/* Returns a value of the result's shape in one that repeats over the operand's elements. */
static lfuse_value repeat(const reduction *r, lfuse_value v)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    const lfuse__node in = r->b->g->nodes[r->n.in[0]];
    int i;

    if (v.id < 0 || r->n.kind != LFUSE__REDUCE || r->n.keepdims || !r->b->g->nodes[v.id].rank) return v;
    for (i = 0; i < in.rank; i++) shape[i] = in.shape[i];
    for (i = 0; i < r->n.naxes; i++) shape[r->n.axes[i]] = 1;
    return lfuse__build_reshape(r->b->g, r->b->call, v.id, in.rank, shape);
}

/* Returns another reduction of the same elements, repeated. */
static lfuse_value reduce(const reduction *r, lfuse__reduce op, lfuse_value v)
{
    unsigned set = 0;
    int i;

    if (v.id < 0) return v;
    for (i = 0; i < r->n.naxes; i++) set |= 1u << r->n.axes[i];
    switch ((lfuse__node_kind)r->n.kind) {
    case LFUSE__MEMBER_REDUCE: return lfuse__build_member_reduce(r->b->g, r->b->call, op, v.id);
    case LFUSE__LIST_REDUCE: return lfuse__build_list_reduce(r->b->g, r->b->call, op, v.id);
    case LFUSE__LINE_REDUCE: return lfuse__build_line_reduce(r->b->g, r->b->call, op, v.id, r->n.axes[0]);
    default: return lfuse__build_reduce(r->b->g, r->b->call, op, v.id, set, true);
    }
}

static lfuse_value number(const reduction *r, double k)
{
    return lfuse__build_constant(r->b->g, k);
}

/* 1 where the condition holds, else 0. */
static lfuse_value indicator(const reduction *r, lfuse_value condition)
{
    const lfuse_type type = lfuse__wide_type((lfuse_type)r->b->g->nodes[r->n.in[0]].type);

    return lfuse__op_where(condition, lfuse__to_type(r->b->call, number(r, 1), type), number(r, 0));
}

/* What the gradient of a product is made of: g times the factors that are not 0, of those 1 stands for 0. */
typedef struct factors {
    lfuse_value zero, others, zeros, product; /* whether one is 0; it, or 1; how many are; g times the others */
} factors;

/* The value x where so many factors are 0, else 0. */
static lfuse_value where_zeros(const reduction *r, const factors *f, double count, lfuse_value x)
{
    return lfuse__op_where(lfuse__op_eq(f->zeros, number(r, count)), x, number(r, 0));
}

/*
 * The same gradient, with terms that are 0 but have derivatives: a factor of 0 stands in the product of the others too,
 * and where there are two, each in that of the other.
 */
static lfuse_value with_derivatives(const reduction *r, const factors *f)
{
    const lfuse_value nothing = lfuse__op_where(f->zero, r->a, number(r, 0));
    const lfuse_value all = reduce(r, LFUSE__REDUCE_SUM, nothing);
    const lfuse_value second = lfuse__op_mul(f->product, lfuse__op_sub(all, nothing));
    const lfuse_value of_zero = lfuse__op_add(where_zeros(r, f, 1, f->product), where_zeros(r, f, 2, second));
    const lfuse_value of_other = lfuse__op_add(where_zeros(r, f, 0, f->product),
                                               where_zeros(r, f, 1, lfuse__op_mul(f->product, all)));

    return lfuse__op_where(f->zero, of_zero, lfuse__op_div(of_other, f->others));
}

/*
 * Where no factor is 0, g y / a. Where one is, it alone gets g times the product of the others; where there are more,
 * nobody gets anything.
 */
static lfuse_value of_product(const reduction *r, lfuse_value g)
{
    const lfuse_value zero = lfuse__op_eq(r->a, number(r, 0));
    const lfuse_value others = lfuse__op_where(zero, number(r, 1), r->a);
    const lfuse_value zeros = reduce(r, LFUSE__REDUCE_SUM, indicator(r, zero));
    const lfuse_value product = lfuse__op_mul(g, reduce(r, LFUSE__REDUCE_PROD, others));
    const factors f = {zero, others, zeros, product};
    const lfuse_value of_zero = where_zeros(r, &f, 1, product), of_other = where_zeros(r, &f, 0, product);
    const lfuse_value value = lfuse__op_where(zero, of_zero, lfuse__op_div(of_other, others));

    return lfuse__identity_value(r->b->call, LFUSE__IDENTITY_SURROGATE, value, with_derivatives(r, &f), value, 0);
}

/* Shared by all elements that are the extreme one. None is where there is a NaN: 0 / 0 makes all of them NaN. */
static lfuse_value of_extreme(const reduction *r, lfuse_value g)
{
    const lfuse_value attained = lfuse__op_eq(r->a, repeat(r, r->y));
    const lfuse_value count = reduce(r, LFUSE__REDUCE_SUM, indicator(r, attained));

    return lfuse__op_where(attained, lfuse__op_div(g, count), lfuse__op_div(number(r, 0), count));
}

void lfuse__gradient_reduce(lfuse__backward *b, int32_t id, lfuse_value g)
{
    reduction r = {.b = b, .n = b->g->nodes[id]};

    if (r.n.kind == LFUSE__REDUCE && !r.n.keepdims && b->g->nodes[g.id].rank) g = lfuse__gradient_expand(b, id, g);
    g = repeat(&r, g);
    if (r.n.op == LFUSE__REDUCE_SUM) {
        lfuse__gradient_add(b, r.n.in[0], g);
        return;
    }
    r.a = lfuse__gradient_operand(b, r.n.in[0]);
    r.y = lfuse__gradient_operand(b, id);
    lfuse__gradient_add(b, r.n.in[0], r.n.op == LFUSE__REDUCE_PROD ? of_product(&r, g) : of_extreme(&r, g));
}
