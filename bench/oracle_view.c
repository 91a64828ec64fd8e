/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that show the same elements in another order: each element is copied, with its error. */
#include <math.h>
#include <string.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

lfuse_status lfuse__oracle_node_permute(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    int64_t of_operand[LFUSE_MAX_RANK], step[1][LFUSE_MAX_RANK], index[LFUSE_MAX_RANK] = {0}, at = 0, stride = 1, i;
    int axis;

    if (o->rows && n->axes[0] != 0) return lfuse__oracle_not_by_rows("a permutation of the selected axis");
    LFUSE__TRY(lfuse__oracle_shape(s, n, o->rows, a));
    for (axis = o->rank - 1; axis >= 0; axis--) {
        of_operand[axis] = stride;
        stride *= o->shape[axis];
    }
    for (axis = 0; axis < n->rank; axis++) step[0][axis] = of_operand[n->axes[axis]];
    for (i = 0; i < a->count; i++) {
        a->x[i] = o->x[at];
        lfuse__oracle_advance(a, 1, step, index, &at);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_node_broadcast(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    int64_t step[1][LFUSE_MAX_RANK], index[LFUSE_MAX_RANK] = {0}, at = 0, i;

    if (o->rows && (o->rank != n->rank || n->shape[0] != s->g->nodes[n->in[0]].shape[0]))
        return lfuse__oracle_not_by_rows("a broadcast of the selected axis");
    LFUSE__TRY(lfuse__oracle_shape(s, n, o->rows, a));
    lfuse__oracle_steps(a, o, step[0]);
    for (i = 0; i < a->count; i++) {
        a->x[i] = o->x[at];
        lfuse__oracle_advance(a, 1, step, index, &at);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_node_reshape(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];

    if (o->rows && (!n->rank || n->shape[0] != s->g->nodes[n->in[0]].shape[0]))
        return lfuse__oracle_not_by_rows("a reshape of the selected axis");
    LFUSE__TRY(lfuse__oracle_shape(s, n, o->rows, a));
    if (a->count != o->count)
        return lfuse__error(LFUSE_ERR_SHAPE, "oracle: %lld elements cannot be reshaped to %lld", (long long)o->count,
                            (long long)a->count);
    if (a->count) memcpy(a->x, o->x, (size_t)a->count * sizeof *a->x);
    return LFUSE_OK;
}

/* Elements before and behind an axis. */
static void around(const lfuse__values *a, int axis, int64_t *outer, int64_t *inner)
{
    int i;

    *outer = *inner = 1;
    for (i = 0; i < axis; i++) *outer *= a->shape[i];
    for (i = axis + 1; i < a->rank; i++) *inner *= a->shape[i];
}

lfuse_status lfuse__oracle_node_slice(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    const int axis = n->axes[0];
    int64_t start, outer, inner, last, i, j;

    if (o->rows && axis == 0) return lfuse__oracle_not_by_rows("a slice of the selected axis");
    LFUSE__TRY(lfuse__oracle_shape(s, n, o->rows, a));
    LFUSE__TRY(lfuse__size_evaluate(s->g, n->start, s->sizes, &start));
    last = start + (a->shape[axis] - 1) * n->step;
    if (a->count && (start < 0 || last < 0 || start >= o->shape[axis] || last >= o->shape[axis]))
        return lfuse__error(LFUSE_ERR_BOUNDS, "oracle: elements %lld ... %lld of %lld", (long long)start,
                            (long long)last, (long long)o->shape[axis]);
    around(a, axis, &outer, &inner);
    for (i = 0; i < outer; i++)
        for (j = 0; j < a->shape[axis] && inner; j++)
            memcpy(a->x + (i * a->shape[axis] + j) * inner,
                   o->x + (i * o->shape[axis] + start + j * n->step) * inner, (size_t)inner * sizeof *a->x);
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_node_concat(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *part[2] = {&s->arrays[n->in[0]], &s->arrays[n->in[1]]};
    const int axis = n->axes[0];
    int64_t outer, inner, i;
    lfuse__pair *to;
    int k;

    if (part[0]->rows != part[1]->rows || (part[0]->rows && axis == 0))
        return lfuse__oracle_not_by_rows("a concatenation with other rows");
    LFUSE__TRY(lfuse__oracle_shape(s, n, part[0]->rows, a));
    around(a, axis, &outer, &inner);
    if (part[0]->shape[axis] + part[1]->shape[axis] != a->shape[axis] || part[0]->count + part[1]->count != a->count)
        return lfuse__error(LFUSE_ERR_SHAPE, "oracle: parts of %lld and %lld elements make no %lld",
                            (long long)part[0]->count, (long long)part[1]->count, (long long)a->count);
    for (to = a->x, i = 0; i < outer; i++)
        for (k = 0; k < 2; k++) {
            const int64_t run = part[k]->shape[axis] * inner;
            if (run) memcpy(to, part[k]->x + i * run, (size_t)run * sizeof *to);
            to += run;
        }
    return LFUSE_OK;
}

/* One look-up: an index that is not known for sure leaves the element open. */
static lfuse__pair looked_up(lfuse__oracle *s, const lfuse__values *table, int axis, lfuse__pair index, int64_t before,
                             int64_t stride)
{
    const bool inside = index.v >= 0 && index.v < table->shape[axis];
    lfuse__pair x = {0, 0};

    if (!inside || index.e > 0) s->out_of_range = true;
    if (inside) x = table->x[before + (int64_t)index.v * stride];
    if (index.e > 0) x.e = INFINITY;
    return x;
}

/* Element by element along an axis: the index stands where the result does. */
static lfuse_status gather_along(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *table = &s->arrays[n->in[0]], *indices = &s->arrays[n->in[1]];
    const int axis = n->axes[0];
    int64_t outer, inner, i, j, k;

    if (table->rows || indices->rows) return lfuse__oracle_not_by_rows("a table");
    LFUSE__TRY(lfuse__oracle_shape(s, n, false, a));
    around(a, axis, &outer, &inner);
    for (i = 0; i < outer; i++)
        for (j = 0; j < a->shape[axis]; j++)
            for (k = 0; k < inner; k++) {
                const int64_t at = (i * a->shape[axis] + j) * inner + k;
                a->x[at] = looked_up(s, table, axis, indices->x[at], i * table->shape[axis] * inner + k, inner);
            }
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_node_gather(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *table = &s->arrays[n->in[0]], *indices = &s->arrays[n->in[1]];
    int64_t i, r, rest;

    if (n->naxes) return gather_along(s, n, a);
    if (table->rows) return lfuse__oracle_not_by_rows("a table");
    LFUSE__TRY(lfuse__oracle_shape(s, n, indices->rows, a));
    rest = indices->count ? a->count / indices->count : 0;
    for (i = 0; i < indices->count; i++)
        for (r = 0; r < rest; r++) a->x[i * rest + r] = looked_up(s, table, 0, indices->x[i], r, rest);
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_node_index(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    int64_t i;

    LFUSE__TRY(lfuse__oracle_shape(s, n, false, a));
    for (i = 0; i < a->count; i++) a->x[i] = (lfuse__pair){i, 0};
    return LFUSE_OK;
}
