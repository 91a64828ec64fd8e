/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derivatives along a direction, from the first entry to the last: by the rule of products and that of chains, without
 * an adjoint anywhere. tape_duality holds gradients to them.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/philox.h"
#include "tests/tape/tape_internal.h"

/* The magnitudes of all that was added up, and how many roundings lie behind it at most, bound what rounding does. */
typedef struct tangent {
    long double d, reach;
    int64_t roundings;
} tangent;

/* Adds a partial derivative times the tangent of an operand; where the former is 0 nothing comes, whatever that is. */
static void take(tangent *sum, const tangent *x, long double partial)
{
    if (partial == 0) return;
    sum->d += partial * x->d;
    sum->reach += fabsl(partial) * x->reach;
    if (x->roundings > sum->roundings) sum->roundings = x->roundings;
}

static tangent of_point(const tape *t, const tangent *all, const tape_entry *e)
{
    const int arity = lfuse__ops[e->op].arity;
    long double x[3] = {0, 0, 0}, partials[3];
    tangent sum = {0, 0, 0};
    for (int i = 0; i < arity; i++) x[i] = t->entries[e->in[i]].value;
    tape_partials((lfuse__op)e->op, x, e->value, e->numbers, partials);
    for (int i = 0; i < arity; i++) take(&sum, &all[e->in[i]], partials[i]);
    return sum;
}

/* Factor by factor: (p x)' = p' x + p x'. */
static tangent of_product(const tape *t, const tangent *all, const tape_entry *e)
{
    long double p = 1;
    tangent so_far = {0, 0, 0};
    for (int64_t i = 0; i < e->count; i++) {
        const int32_t in = t->arguments[e->first + i];
        const long double x = t->entries[in].value;
        tangent next = {0, 0, 0};
        take(&next, &so_far, x);
        take(&next, &all[in], p);
        so_far = next;
        p *= x;
    }
    return so_far;
}

static tangent of_fold(const tape *t, const tangent *all, const tape_entry *e)
{
    const int32_t *in = t->arguments + e->first;
    tangent sum = {0, 0, 0};
    long double equal = 0;
    if (e->kind == TAPE_PROD) return of_product(t, all, e);
    for (int64_t i = 0; i < e->count && e->kind == TAPE_MAX; i++) equal += t->entries[in[i]].value == e->value;
    for (int64_t i = 0; i < e->count; i++) {
        if (e->kind == TAPE_SUM) take(&sum, &all[in[i]], 1);
        if (e->kind == TAPE_DOT) take(&sum, &all[in[i]], t->entries[in[i % 2 ? i - 1 : i + 1]].value);
        if (e->kind == TAPE_MAX && t->entries[in[i]].value == e->value) take(&sum, &all[in[i]], 1 / equal);
    }
    return sum;
}

/* Of all entries; `along` is what each moves by of itself. The caller frees it. */
static tangent *forward(const tape *t, const long double *along)
{
    tangent *all = calloc((size_t)t->nentries + 1, sizeof *all);
    if (!all) tape_mistake("no memory for %lld tangents", (long long)t->nentries);
    for (int64_t i = 0; i < t->nentries; i++) {
        const tape_entry *e = &t->entries[i];
        if (e->kind == TAPE_COPY) take(&all[i], &all[e->in[0]], 1);
        else if (e->kind == TAPE_POINT) all[i] = of_point(t, all, e);
        else if (e->kind != TAPE_LEAF) all[i] = of_fold(t, all, e);
        all[i].d += along[i];
        all[i].reach += fabsl(along[i]);
        /* A product and a sum for each operand, and a few for the partial derivatives. */
        all[i].roundings += 2 * e->count + 16;
    }
    return all;
}

static double between_halves(uint64_t i, uint64_t draw, uint64_t stream)
{
    return ((double)lfuse__philox(i, draw, stream) + 0.5) * 0x1p-32 - 0.5;
}

/* Adds <u, J v>. */
static void add_left(tape_pair *pair, const tape *t, const tangent *all, lfuse_value y, lfuse_value u)
{
    for (int64_t i = 0; i < tape_count(t, y); i++) {
        const tangent *x = &all[t->arrays[y.id].at[i]];
        const long double weight = tape_value(t, u, i);
        if (weight == 0) continue;
        pair->left += weight * x->d;
        pair->tolerance += (long double)(x->roundings + tape_count(t, y)) * LDBL_EPSILON * fabsl(weight) * x->reach;
    }
}

/* Adds <J^T u, v>. */
static void add_right(tape_pair *pair, const tape *t, const lfuse__oracle_result *d, lfuse_value wrt,
                      const long double *along)
{
    for (int64_t i = 0; i < d->count; i++) {
        const long double v = along[t->arrays[wrt.id].at[i]];
        pair->right += v * d->value[i];
        pair->tolerance += fabsl(v) * d->bound[i] + (long double)(d->count + 2) * LDBL_EPSILON * fabsl(v * d->value[i]);
    }
}

static bool occurred(const lfuse_value *values, int k)
{
    for (int i = 0; i < k; i++)
        if (values[i].id == values[k].id) return true;
    return false;
}

tape_pair tape_duality(const tape *t, int outputs, const lfuse_value *y, const lfuse_value *u, int nwrt,
                       const lfuse_value *wrt, const lfuse__oracle_result *const *d, uint64_t draw)
{
    tape_pair pair = {0, 0, 0};
    long double *along = calloc((size_t)t->nentries + 1, sizeof *along);
    if (!along) tape_mistake("no memory for a direction");
    for (int k = 0; k < nwrt; k++)
        for (int64_t i = 0; i < tape_count(t, wrt[k]); i++)
            along[t->arrays[wrt[k].id].at[i]] = between_halves((uint64_t)i, draw, (uint64_t)wrt[k].id);
    tangent *all = forward(t, along);
    for (int k = 0; k < outputs; k++) add_left(&pair, t, all, y[k], u[k]);
    for (int k = 0; k < nwrt; k++)
        if (!occurred(wrt, k)) add_right(&pair, t, d[k], wrt[k], along);
    free(all);
    free(along);
    return pair;
}
