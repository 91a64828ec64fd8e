/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Affine walks: how two are composed, and what becomes of one under a reshape. A reshape splits an axis into several,
 * merges several into one where a single step leads through them, or does both; memory itself can be seen in any shape.
 */
#include "common/plan/draft.h"

#include <string.h>

/* All memory of the base in order, seen in a shape. */
static void in_order(int32_t base, int rank, const lfuse_size *shape, lfuse__view *v)
{
    int i;

    memset(v, 0, sizeof *v);
    memset(v->axis, -1, sizeof v->axis);
    v->base = base;
    v->gathered = -1;
    v->rank = (int8_t)rank;
    for (i = 0; i < rank; i++) {
        v->axis[i] = (int8_t)i;
        v->shape[i] = shape[i];
        v->step[i] = 1;
    }
}

void lfuse__view_identity(const lfuse__draft *d, int32_t node, lfuse__view *v)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    in_order(node, n->list ? 0 : n->rank, n->shape, v);
}

bool lfuse__match_axes(int rank_a, const lfuse_size *a, int rank_b, const lfuse_size *b, int8_t match[LFUSE_MAX_RANK])
{
    int i, k = 0;

    memset(match, -1, LFUSE_MAX_RANK);
    for (i = 0; i < rank_a; i++) {
        if (a[i] == 1) continue;
        while (k < rank_b && b[k] == 1) k++;
        if (k == rank_b || b[k] != a[i]) return false;
        match[i] = (int8_t)k++;
    }
    while (k < rank_b && b[k] == 1) k++;
    return k == rank_b;
}

/* Whether the walk goes through all the memory in order when the walker has this shape; axes of 1 do not count. */
static bool linear(const lfuse__view *v, int rank, const lfuse_size *shape)
{
    int8_t match[LFUSE_MAX_RANK];
    int i;

    if (v->gathered >= 0 || !lfuse__match_axes(rank, shape, v->rank, v->shape, match)) return false;
    for (i = 0; i < v->rank; i++)
        if (v->offset[i] != 0) return false;
    for (i = 0; i < rank; i++)
        if (match[i] >= 0 && (v->axis[i] != match[i] || v->step[i] != 1)) return false;
    return true;
}

bool lfuse__view_equal(const lfuse__view *a, const lfuse__view *b)
{
    return a->base == b->base && a->rank == b->rank && a->gathered == b->gathered &&
           !memcmp(a->axis, b->axis, sizeof a->axis) && !memcmp(a->step, b->step, sizeof a->step) &&
           !memcmp(a->shape, b->shape, sizeof a->shape) && !memcmp(a->offset, b->offset, sizeof a->offset);
}

bool lfuse__view_linear(const lfuse__draft *d, int32_t node, const lfuse__view *v)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    return n->list == lfuse__draft_node(d, v->base)->list && (n->list || linear(v, n->rank, n->shape));
}

/* ---- one walk after another ---- */

static lfuse_graph *sizes(const lfuse__draft *d)
{
    return d->out->graph;
}

/* `outer` gives coordinates, `inner` takes them. */
static void chain(const lfuse__draft *d, const lfuse__view *outer, const lfuse__view *inner, lfuse__view *out)
{
    lfuse__view v = *inner;
    int i, j;

    memset(v.axis, -1, sizeof v.axis);
    memset(v.step, 0, sizeof v.step);
    for (j = 0; j < outer->rank; j++)
        if (inner->axis[j] >= 0 && outer->offset[j] != 0)
            v.offset[inner->axis[j]] =
                lfuse__size_sum(sizes(d), v.offset[inner->axis[j]],
                                lfuse__size_product(sizes(d), inner->step[j], outer->offset[j]));
    for (i = 0; i < LFUSE_MAX_RANK; i++) {
        j = outer->axis[i];
        if (j < 0 || inner->axis[j] < 0) continue;
        v.axis[i] = inner->axis[j];
        v.step[i] = lfuse__size_product(sizes(d), inner->step[j], outer->step[i]);
    }
    *out = v;
}

/* ---- reshapes ---- */

bool lfuse__group_next(const lfuse_graph *g, int from_rank, const lfuse_size *from, int to_rank, const lfuse_size *to,
                       lfuse__group *at)
{
    lfuse__factors a, b;

    for (at->from = at->from_end; at->from < from_rank && from[at->from] == 1; at->from++) continue;
    for (at->to = at->to_end; at->to < to_rank && to[at->to] == 1; at->to++) continue;
    at->from_end = at->from;
    at->to_end = at->to;
    if (at->from == from_rank && at->to == to_rank) return true;
    lfuse__factors_of(g, 1, &a);
    b = a;
    do {
        const bool more_from = at->from_end < from_rank, more_to = at->to_end < to_rank;
        const bool shorter = at->from_end == at->from || (at->to_end > at->to && !lfuse__factors_divide(&b, &a));
        if (more_from && (shorter || !more_to)) lfuse__factors_times(g, &a, from[at->from_end++]);
        else if (more_to) lfuse__factors_times(g, &b, to[at->to_end++]);
        else return false;
    } while (at->to_end == at->to || !lfuse__factors_equal(&a, &b));
    return a.number != 0;
}

/* Sees axes first ... last of the memory as one. */
static void join(const lfuse__draft *d, lfuse__view *v, int first, int last)
{
    lfuse_size extent = v->shape[last], offset = v->offset[last];
    int i, m;

    for (m = last - 1; m >= first; m--) {
        for (i = 0; i < LFUSE_MAX_RANK; i++)
            if (v->axis[i] == m) v->step[i] = lfuse__size_product(sizes(d), v->step[i], extent);
        offset = lfuse__size_sum(sizes(d), lfuse__size_product(sizes(d), v->offset[m], extent), offset);
        extent = lfuse__size_product(sizes(d), v->shape[m], extent);
    }
    v->shape[first] = extent;
    v->offset[first] = offset;
    for (i = last + 1; i < v->rank; i++) {
        v->shape[first + i - last] = v->shape[i];
        v->offset[first + i - last] = v->offset[i];
    }
    for (i = 0; i < LFUSE_MAX_RANK; i++) {
        if (v->axis[i] > last) v->axis[i] = (int8_t)(v->axis[i] - (last - first));
        else if (v->axis[i] > first) v->axis[i] = (int8_t)first;
    }
    if (v->gathered > last) v->gathered = (int8_t)(v->gathered - (last - first));
    v->rank = (int8_t)(v->rank - (last - first));
    for (i = v->rank; i < LFUSE_MAX_RANK; i++) v->shape[i] = v->offset[i] = 0;
}

/* Whether the walker's axis a leads on where axis b, whose step is followed `extent` times, has come to its end. */
static bool leads_on(const lfuse__draft *d, const lfuse__view *v, int a, int b, const lfuse__factors *extent)
{
    lfuse__factors outer, inner = *extent;
    int i;

    if (v->axis[a] > v->axis[b] || (v->gathered >= v->axis[a] && v->gathered <= v->axis[b])) return false;
    lfuse__factors_of(sizes(d), v->step[a], &outer);
    for (i = v->axis[a] + 1; i <= v->axis[b]; i++) lfuse__factors_times(sizes(d), &outer, v->shape[i]);
    lfuse__factors_times(sizes(d), &inner, v->step[b]);
    return lfuse__factors_equal(&outer, &inner);
}

/* The walker's axes of a group as one: they get a common axis of the memory. */
static bool merge(const lfuse__draft *d, lfuse__view *v, const lfuse_size *shape, const lfuse__group *at)
{
    lfuse__factors extent;
    int i, inner = -1, repeats = 0;

    lfuse__factors_of(sizes(d), 1, &extent);
    for (i = at->from_end - 1; i >= at->from; i--) {
        if (shape[i] == 1) continue;
        repeats += v->axis[i] < 0;
        if (inner >= 0 && (v->axis[i] < 0) != (v->axis[inner] < 0)) return false;
        if (inner >= 0 && !repeats) {
            if (!leads_on(d, v, i, inner, &extent)) return false;
            if (v->axis[i] < v->axis[inner]) join(d, v, v->axis[i], v->axis[inner]);
        }
        if (inner < 0) inner = i;
        lfuse__factors_times(sizes(d), &extent, shape[i]);
    }
    return true;
}

/* Splits the walker's last axis of a group into the new ones. */
static void split(const lfuse__draft *d, const lfuse__view *v, const lfuse_size *from, const lfuse_size *to,
                  const lfuse__group *at, lfuse__view *out)
{
    lfuse_size step;
    int i, inner = at->from_end - 1;

    while (inner > at->from && from[inner] == 1) inner--;
    if (inner < at->from || v->axis[inner] < 0) return;
    step = v->step[inner];
    for (i = at->to_end - 1; i >= at->to; i--) {
        if (to[i] == 1) continue;
        out->axis[i] = v->axis[inner];
        out->step[i] = step;
        step = lfuse__size_product(sizes(d), step, to[i]);
    }
}

/*
 * All the memory in order, seen in a shape that differs in axes of one element alone: the memory keeps its shape. So
 * what is merely given such axes, or loses them, still reads and stores at its own indices.
 */
static bool unsqueeze(const lfuse__view *v, int to_rank, const lfuse_size *to, lfuse__view *out)
{
    lfuse__view seen = *v;
    int i;

    if (!lfuse__match_axes(to_rank, to, v->rank, v->shape, seen.axis)) return false;
    for (i = 0; i < LFUSE_MAX_RANK; i++) seen.step[i] = seen.axis[i] >= 0;
    *out = seen;
    return true;
}

/* The walk `v` of a walker of shape `from` as one of a walker of shape `to`. */
static bool reshape(const lfuse__draft *d, const lfuse__view *v, int from_rank, const lfuse_size *from, int to_rank,
                    const lfuse_size *to, lfuse__view *out)
{
    lfuse__view seen = *v;
    lfuse__group at = { 0, 0, 0, 0 };

    if (linear(v, from_rank, from)) {
        if (!unsqueeze(v, to_rank, to, out)) in_order(v->base, to_rank, to, out);
        return true;
    }
    do {
        if (!lfuse__group_next(sizes(d), from_rank, from, to_rank, to, &at) || !merge(d, &seen, from, &at))
            return false;
    } while (at.from_end < from_rank || at.to_end < to_rank);
    *out = seen;
    memset(out->axis, -1, sizeof out->axis);
    memset(out->step, 0, sizeof out->step);
    memset(&at, 0, sizeof at);
    do {
        lfuse__group_next(sizes(d), from_rank, from, to_rank, to, &at);
        split(d, &seen, from, to, &at, out);
    } while (at.from_end < from_rank || at.to_end < to_rank);
    return true;
}

bool lfuse__view_compose(const lfuse__draft *d, const lfuse__view *outer, int32_t through, const lfuse__view *inner,
                         lfuse__view *out)
{
    const lfuse__node *n = lfuse__draft_node(d, through);
    lfuse__view seen;

    if (n->list || (outer->rank == n->rank &&
                    !memcmp(outer->shape, n->shape, (size_t)n->rank * sizeof *n->shape))) {
        chain(d, outer, inner, out);
        return true;
    }
    if (!reshape(d, inner, n->rank, n->shape, outer->rank, outer->shape, &seen)) return false;
    chain(d, outer, &seen, out);
    return true;
}

/* Whoever stores walks axes of one element too, so that each element of a row of one has a place of its own. */
static void walk_ones(const lfuse__node *n, lfuse__view *v)
{
    int i;

    for (i = 0; i < n->rank && v->rank > 0; i++) {
        if (n->shape[i] != 1 || v->axis[i] >= 0) continue;
        v->axis[i] = (int8_t)(v->rank - 1);
        v->step[i] = 1;
    }
}

bool lfuse__view_reshape(const lfuse__draft *d, const lfuse__view *v, int32_t from, int32_t to, lfuse__view *out)
{
    const lfuse__node *a = lfuse__draft_node(d, from), *b = lfuse__draft_node(d, to);

    if (lfuse__same_shape(a, b)) {
        *out = *v;
        return true;
    }
    if (!reshape(d, v, a->rank, a->shape, b->rank, b->shape, out)) return false;
    walk_ones(b, out);
    return true;
}
