/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of slices: zeros around the cotangent. The cotangents of several slices of one axis wait until their
 * operand's turn comes, and are joined by one concatenation, as far as they do not overlap, instead of being added.
 */
#include <string.h>

#include "common/graph/gradient.h"

/* The value's axis as the middle one of three. */
static lfuse_value three_axes(const lfuse__backward *b, lfuse_value v, int axis, lfuse_size three[3])
{
    const lfuse__node n = b->g->nodes[v.id];
    int i;

    three[0] = three[2] = 1;
    three[1] = n.shape[axis];
    for (i = 0; i < n.rank; i++)
        if (i != axis && !lfuse__size_multiply(b->g, b->call, three[i < axis ? 0 : 2], n.shape[i],
                                               &three[i < axis ? 0 : 2]))
            return LFUSE__POISONED(b->g);
    return lfuse__build_reshape(b->g, b->call, v.id, 3, three);
}

static lfuse_value join(const lfuse__backward *b, lfuse_value x, lfuse_value y, int axis)
{
    return x.id < 0 || y.id < 0 ? LFUSE__POISONED(b->g) : lfuse__build_concat(b->g, b->call, x.id, y.id, axis);
}

/* Puts step - 1 zeros between the elements along an axis. */
static lfuse_value spread(const lfuse__backward *b, lfuse_value g, int axis, int64_t step)
{
    const lfuse__node n = b->g->nodes[g.id];
    lfuse_size three[3], four[4], shape[LFUSE_MAX_RANK], count;
    lfuse_value v = three_axes(b, g, axis, three);

    if (v.id < 0) return v;
    memcpy(four, (lfuse_size[]){three[0], three[1], 1, three[2]}, sizeof four);
    v = lfuse__build_reshape(b->g, b->call, v.id, 4, four);
    four[2] = step - 1;
    v = join(b, v, lfuse__gradient_zeros(b, (lfuse_type)n.type, 4, four), 2);
    if (v.id < 0 || !lfuse__size_multiply(b->g, b->call, three[1], step, &three[1])) return LFUSE__POISONED(b->g);
    v = lfuse__build_reshape(b->g, b->call, v.id, 3, three);
    if (v.id < 0 || !lfuse__size_add(b->g, b->call, three[1], 1 - step, &count)) return LFUSE__POISONED(b->g);
    v = lfuse__build_slice(b->g, b->call, v.id, 1, 0, count, 1);
    memcpy(shape, n.shape, sizeof shape);
    shape[axis] = count;
    return v.id < 0 ? v : lfuse__build_reshape(b->g, b->call, v.id, n.rank, shape);
}

/* Turns the cotangent of a slice of any step into that of a slice of step 1. False: the graph is poisoned. */
static bool straighten(const lfuse__backward *b, const lfuse__node *n, lfuse__slice_cotangent *s)
{
    int64_t step = n->step;
    lfuse_size last;

    if (step < 0) {
        if (!lfuse__size_add(b->g, b->call, s->count, -1, &last)) return false;
        s->g = lfuse__build_slice(b->g, b->call, s->g.id, s->axis, last, s->count, -1);
        if (s->g.id < 0 || !lfuse__size_multiply(b->g, b->call, last, step, &last) ||
            !lfuse__size_add(b->g, b->call, s->start, last, &s->start))
            return false;
        step = -step;
    }
    if (step == 1) return true;
    s->g = spread(b, s->g, s->axis, step);
    if (s->g.id < 0) return false;
    s->count = b->g->nodes[s->g.id].shape[s->axis];
    return true;
}

void lfuse__gradient_slice(lfuse__backward *b, int32_t id, lfuse_value g)
{
    const lfuse__node n = b->g->nodes[id];
    lfuse__slice_cotangent s = {.to = n.in[0], .axis = n.axes[0], .start = n.start, .count = n.shape[n.axes[0]]};

    s.g = lfuse__gradient_expand(b, id, g);
    if (s.g.id < 0 || !s.count || !straighten(b, &n, &s)) return;
    if (!lfuse__build_grow((void **)&b->slices, b->nslices, &b->slice_capacity, sizeof *b->slices)) {
        lfuse__graph_poison(b->g, LFUSE_ERR_MEMORY, "%s: no memory for %d slices", b->call, (int)b->nslices);
        return;
    }
    b->slices[b->nslices++] = s;
}

/*
 * Returns the index of the waiting slice of a value that comes next along an axis, from position `at` on; -1: there is
 * none. A slice that begins there is preferred to one that begins later, of which the first position that is known to
 * be later is taken. Of the first slice, at -1, any position will do.
 */
static int32_t next_slice(const lfuse__backward *b, int32_t to, int axis, lfuse_size at)
{
    int32_t i, best = -1;

    for (i = 0; i < b->nslices; i++) {
        const lfuse__slice_cotangent *s = &b->slices[i];
        if (s->to != to || s->axis != axis) continue;
        if (s->start == at) return i;
        if (at < 0 && lfuse__size_is_number(at) && best < 0) best = i;
        if (!lfuse__size_is_number(s->start) || !lfuse__size_is_number(at) || s->start < at) continue;
        if (best < 0 || !lfuse__size_is_number(b->slices[best].start) || s->start < b->slices[best].start) best = i;
    }
    return best;
}

/* Appends zeros up to a position; *at becomes it. */
static lfuse_value fill(const lfuse__backward *b, lfuse_value v, const lfuse__node *n, int axis, lfuse_size *at,
                        lfuse_size to)
{
    lfuse_size shape[LFUSE_MAX_RANK], gap;
    lfuse_value zeros;

    if (*at == to) return v;
    memcpy(shape, n->shape, sizeof shape);
    if (!lfuse__size_multiply(b->g, b->call, *at, -1, &gap) || !lfuse__size_add(b->g, b->call, to, gap, &gap))
        return LFUSE__POISONED(b->g);
    shape[axis] = gap;
    *at = to;
    zeros = lfuse__gradient_zeros(b, (lfuse_type)n->type, n->rank, shape);
    return v.graph ? join(b, v, zeros, axis) : zeros;
}

/* Joins slices of one axis that do not overlap, and removes them from those that wait. */
static lfuse_value join_some(lfuse__backward *b, int32_t to, int axis)
{
    const lfuse__node n = b->g->nodes[to];
    lfuse_value v = {NULL, 0}; /* nothing yet */
    lfuse_size at = 0;
    int32_t i = next_slice(b, to, axis, 0);

    if (i < 0) i = next_slice(b, to, axis, -1);
    for (; i >= 0; i = next_slice(b, to, axis, at)) {
        const lfuse__slice_cotangent s = b->slices[i];
        b->slices[i] = b->slices[--b->nslices];
        v = fill(b, v, &n, axis, &at, s.start);
        v = v.graph ? join(b, v, s.g, axis) : s.g;
        if (v.id < 0 || !lfuse__size_add(b->g, b->call, at, s.count, &at)) return LFUSE__POISONED(b->g);
    }
    return fill(b, v, &n, axis, &at, n.shape[axis]);
}

void lfuse__gradient_join_slices(lfuse__backward *b, int32_t to)
{
    int32_t i = 0;

    while (i < b->nslices && !b->g->status) {
        if (b->slices[i].to != to) {
            i++;
            continue;
        }
        lfuse__gradient_add(b, to, join_some(b, to, b->slices[i].axis));
        i = 0;
    }
}
