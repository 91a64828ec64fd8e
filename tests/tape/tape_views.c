/* SPDX-License-Identifier: Apache-2.0 */
/* Views, joins and look-ups: the elements of the operand in another order. */
#include "tests/tape/tape_internal.h"

/* Of element i along an axis. */
static int64_t index_along(const tape_array *a, int axis, int64_t i)
{
    for (int k = a->rank - 1; k > axis; k--) i /= a->shape[k];
    return i % a->shape[axis];
}

static int64_t elements_behind(const tape_array *a, int axis)
{
    int64_t inner = 1;
    for (int k = axis + 1; k < a->rank; k++) inner *= a->shape[k];
    return inner;
}

void tape_permute(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o = &t->arrays[n->in[0]];
    tape_shape(t, n, a);
    for (int64_t i = 0; i < a->count; i++) {
        int64_t at = 0;
        for (int k = 0; k < a->rank; k++) at += index_along(a, k, i) * elements_behind(o, n->axes[k]);
        a->at[i] = o->at[at];
    }
}

void tape_broadcast(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o = &t->arrays[n->in[0]];
    tape_shape(t, n, a);
    for (int64_t i = 0; i < a->count; i++) {
        int64_t at = 0;
        for (int k = 0; k < o->rank; k++)
            if (o->shape[k] != 1) at += index_along(a, a->rank - o->rank + k, i) * elements_behind(o, k);
        a->at[i] = o->at[at];
    }
}

void tape_reshape(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o = &t->arrays[n->in[0]];
    if (n->list) {
        *a = *o;
        a->at = tape_block(t, a->count, sizeof *a->at);
    } else {
        tape_shape(t, n, a);
    }
    for (int64_t i = 0; i < a->count; i++) a->at[i] = o->at[i];
}

void tape_slice(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o = &t->arrays[n->in[0]];
    const int axis = n->axes[0];
    int64_t start;
    if (lfuse__size_evaluate(t->g, n->start, t->s.sizes, &start)) tape_mistake("%s", lfuse_last_error());
    tape_shape(t, n, a);
    const int64_t inner = elements_behind(a, axis);
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t outer = i / inner / a->shape[axis], from = start + index_along(a, axis, i) * n->step;
        a->at[i] = o->at[(outer * o->shape[axis] + from) * inner + i % inner];
    }
}

void tape_concat(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *x = &t->arrays[n->in[0]], *y = &t->arrays[n->in[1]];
    const int axis = n->axes[0];
    tape_shape(t, n, a);
    const int64_t inner = elements_behind(a, axis);
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t outer = i / inner / a->shape[axis], along = index_along(a, axis, i);
        const tape_array *from = along < x->shape[axis] ? x : y;
        const int64_t at = from == x ? along : along - x->shape[axis];
        a->at[i] = from->at[(outer * from->shape[axis] + at) * inner + i % inner];
    }
}

/* Which row an index names; -1: none. */
static int64_t row_of(const tape *t, int32_t index, int64_t rows)
{
    const long double row = t->entries[index].value;
    return row >= 0 && row < rows ? (int64_t)row : -1;
}

static void gather_along(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *table = &t->arrays[n->in[0]], *indices = &t->arrays[n->in[1]];
    const int axis = n->axes[0];
    const int64_t inner = elements_behind(a, axis);
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t outer = i / inner / a->shape[axis], row = row_of(t, indices->at[i], table->shape[axis]);
        a->at[i] = row < 0 ? tape_leaf(t, 0) : table->at[(outer * table->shape[axis] + row) * inner + i % inner];
    }
}

void tape_gather(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *table = &t->arrays[n->in[0]], *indices = &t->arrays[n->in[1]];
    tape_shape(t, n, a);
    if (n->naxes) {
        gather_along(t, n, a);
        return;
    }
    const int64_t rest = indices->count ? a->count / indices->count : 0;
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t row = row_of(t, indices->at[i / rest], table->shape[0]);
        a->at[i] = row < 0 ? tape_leaf(t, 0) : table->at[row * rest + i % rest];
    }
}

void tape_scatter_add(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *x = &t->arrays[n->in[0]], *indices = &t->arrays[n->in[1]];
    tape_shape(t, n, a);
    const int64_t rest = a->count && a->shape[0] ? a->count / a->shape[0] : 0;
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t first = t->narguments;
        for (int64_t k = 0; k < indices->count; k++)
            if (row_of(t, indices->at[k], a->shape[0]) == i / rest) tape_argument(t, x->at[k * rest + i % rest]);
        a->at[i] = tape_reduce(t, LFUSE__REDUCE_SUM, (lfuse_type)n->type, first);
    }
}

void tape_index(tape *t, const lfuse__node *n, tape_array *a)
{
    tape_shape(t, n, a);
    for (int64_t i = 0; i < a->count; i++) a->at[i] = tape_leaf(t, i);
}
