/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and what is made of them, look-ups, products. */
#include <string.h>

#include "tests/random/generate.h"
#include "tests/support/reductions.h"

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

static void make_logsumexp(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, true);
    int axes[LFUSE_MAX_RANK];
    if (x.id < 0 || !filled(s, x)) return;
    const int count = any_axes(s, node(s, x)->rank, axes);
    keep(s, lfuse_logsumexp(x, count, axes, below(s, 2)));
}

/* A row of reductions.def, sums twice as often, or logsumexp. */
void make_reduction(gen *s)
{
    const int row = below(s, LFUSE__REDUCTION_COUNT + 2) - 1;
    if (row == LFUSE__REDUCTION_COUNT) {
        make_logsumexp(s);
        return;
    }
    const struct reduction_function *f = &reduction_functions[row < 0 ? LFUSE__REDUCTION_sum : row];
    const lfuse__reduction *r = &lfuse__reductions[f - reduction_functions];
    const double of = reduction_numbers[f->numbers > 1 ? below(s, f->numbers) : 0];
    const lfuse__reduce fold = r->fold(of);
    const bool one_axis = r->types == LFUSE__REDUCES_INDEX;
    lfuse_value x = any_of_rank(s, 1, r->types == LFUSE__REDUCES_FLOATING);
    int axes[LFUSE_MAX_RANK], count;
    if (x.id < 0 || (lfuse__reduce_needs_elements(fold) && !filled(s, x))) return;
    if ((r->types == LFUSE__REDUCES_SAME || one_axis) && type_of(s, x) == LFUSE_BOOL) return;
    /* Products of many numbers are 0 or infinite. */
    if (fold == LFUSE__REDUCE_PROD && floating(s, x)) x = lfuse_clamp(x, number(s, 0.75), number(s, 1.25));
    count = one_axis ? 1 : any_axes(s, node(s, x)->rank, axes);
    if (one_axis) axes[0] = below(s, node(s, x)->rank);
    keep(s, f->make(x, count, axes, of, below(s, 2)));
}

typedef lfuse_value scanner(lfuse_value a, int axis);
enum { NUMBERS, SAME, FLOATING };
static const struct scan {
    scanner *make;
    int types;
} scans[] = {
#define LFUSE__SCAN(name, op, types) {lfuse_##name, types},
#include "common/graph/scans.def"
#undef LFUSE__SCAN
};

/* A scan, with what it is made of and what is made of it. */
void make_scan(gen *s)
{
    const struct scan *of = &PICK(s, scans);
    lfuse_value x = any_of_rank(s, 1, of->types == FLOATING), y;
    if (x.id < 0 || (of->types == SAME && type_of(s, x) == LFUSE_BOOL)) return;
    const int axis = below(s, node(s, x)->rank);
    if (of->make == lfuse_cumprod && floating(s, x)) x = lfuse_clamp(x, number(s, 0.75), number(s, 1.25));
    if (floating(s, x) && chance(s, 3)) x = lfuse_tanh(x);
    y = of->make(x, axis - (chance(s, 2) ? node(s, x)->rank : 0));
    if (floating(s, y) && chance(s, 3)) y = lfuse_sub(y, x);
    if (floating(s, y) && chance(s, 4)) y = lfuse_cumsum(y, below(s, node(s, y)->rank));
    keep(s, tame(s, y));
}

/* A reduction and what is made of it in the same rows. */
void make_row_work(gen *s)
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

void make_norm(gen *s)
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

void make_gather(gen *s)
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

/* Rows of any axis by indices of rank 1, or single elements along it, for the table in part repeated. */
void make_take(gen *s)
{
    const lfuse_value table = any_of_rank(s, 1, false);
    const lfuse_index_mode mode = chance(s, 2) ? LFUSE_INDEX_FROM_END : LFUSE_INDEX_PLAIN;
    const lfuse_type type = chance(s, 2) ? LFUSE_I32 : LFUSE_I64;
    lfuse_size shape[LFUSE_MAX_RANK], all[LFUSE_MAX_RANK];
    if (table.id < 0) return;
    const lfuse__node t = *node(s, table);
    const int axis = below(s, t.rank);
    for (int i = 0; i < t.rank; i++) {
        all[i] = i == axis ? 1 + below(s, 9) : t.shape[i];
        shape[i] = i == axis ? all[i] : chance(s, 5) ? 1 : given(s, t.shape[i]);
    }
    if (!affordable(s, t.rank, all)) return;
    const bool along = chance(s, 2);
    const lfuse_value at = new_input(s, type, along ? t.rank : 1, along ? shape : &shape[axis]);
    if (at.id < 0) return;
    keep(s, along ? lfuse_take_along(table, axis, at, mode) : lfuse_index_select(table, axis, at, mode));
}

void make_scatter(gen *s)
{
    const lfuse_value source = any_of_rank(s, 1, false);
    if (source.id < 0 || type_of(s, source) == LFUSE_BOOL) return;
    lfuse_size shape[1] = {given(s, node(s, source)->shape[0])};
    const lfuse_value at = new_input(s, chance(s, 2) ? LFUSE_I32 : LFUSE_I64, 1, shape);
    if (at.id >= 0) keep(s, lfuse_scatter_add(source, at, 1 + below(s, 9)));
}

void make_product(gen *s)
{
    lfuse_value x = any_of_rank(s, 2, true);
    lfuse_size shape[2];
    if (x.id < 0) return;
    if (node(s, x)->rank > 2) x = lfuse_flatten(x, 0, node(s, x)->rank - 2);
    shape[0] = given(s, node(s, x)->shape[1]);
    shape[1] = 1 + below(s, chance(s, 3) ? 20 : 8);
    const lfuse_value w = new_input(s, type_of(s, x), 2, shape);
    if (w.id < 0 || !affordable(s, 2, node(s, w)->shape)) return;
    const bool wide = lfuse__is_narrow(type_of(s, x)) && chance(s, 2);
    lfuse_value y = wide ? lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_FULL) : lfuse_matmul(x, w);
    if (chance(s, 2)) {
        const lfuse_value bias = new_input(s, type_of(s, y), 1, shape + 1);
        if (bias.id >= 0) y = lfuse_add(y, bias);
    }
    if (chance(s, 2)) y = lfuse_relu(y);
    keep(s, tame(s, y));
}

/*
 * A batch of products: with a right side of as many matrices, of fewer (its axes repeat, or are not there), or x itself
 * on both sides.
 */
void make_batch(gen *s)
{
    lfuse_value x = any_of_rank(s, 3, true);
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse_value w, y;
    if (x.id < 0) return;
    const lfuse__node n = *node(s, x);
    const int skip = chance(s, 4) && n.rank > 3 ? 1 : 0, rank = n.rank - skip;
    for (int i = 0; i < rank - 2; i++) shape[i] = chance(s, 4) ? 1 : given(s, n.shape[i + skip]);
    shape[rank - 2] = given(s, n.shape[n.rank - 1]);
    shape[rank - 1] = 1 + below(s, 8);
    if (!affordable(s, n.rank, n.shape)) return;
    switch (below(s, 4)) {
    case 0: y = lfuse_matmul(x, lfuse_transpose(x)); break;
    case 1:
        w = new_input(s, n.type, 2, (const lfuse_size[]){1 + below(s, 5), given(s, n.shape[n.rank - 2])});
        if (w.id < 0) return;
        y = lfuse_matmul(w, x);
        break;
    default:
        w = new_input(s, n.type, rank, shape);
        if (w.id < 0) return;
        y = lfuse_matmul(x, w);
        if (chance(s, 2)) y = lfuse_add(y, new_input(s, n.type, 1, &shape[rank - 1]));
    }
    if (chance(s, 3)) y = lfuse_relu(y);
    keep(s, tame(s, y));
}

/* The same work several times over, on inputs of one or of many shapes, joined or not: what bundles are made of. */
void make_twins(gen *s)
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

void make_index(gen *s)
{
    const lfuse_value x = any(s);
    const lfuse__node n = *node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    for (int i = 0; i < n.rank; i++) shape[i] = given(s, n.shape[i]);
    const lfuse_value i = lfuse_index(s->g, n.rank, shape);
    keep(s, chance(s, 2) ? lfuse_cast(i, LFUSE_F32) : i);
}

void make_extent(gen *s)
{
    const lfuse_value x = any_floating(s);
    if (s->nvariables) keep(s, lfuse_mul(x, lfuse_div(number(s, 1), lfuse_extent(s->g, s->variables[0]))));
}
