/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of elements, reductions, scans and products. */
#include <string.h>

#include "tests/tape/tape_internal.h"

static lfuse_type type_of(const tape *t, int32_t node) { return (lfuse_type)t->g->nodes[node].type; }

/* Of a comparison it is the type of what is compared. */
static lfuse_type working_type(const tape *t, const lfuse__node *n)
{
    return lfuse__op_retypes((lfuse__op)n->op) ? type_of(t, n->in[0]) : (lfuse_type)n->type;
}

/* A constant or scalar, or one in another type. */
static bool is_number(const tape *t, int32_t node)
{
    while (t->g->nodes[node].kind == LFUSE__CAST) node = t->g->nodes[node].in[0];
    return t->g->nodes[node].type == LFUSE_TYPE_NONE;
}

static bool behind_first_are_numbers(const tape *t, const lfuse__node *n)
{
    for (int k = 1; k < n->nin; k++)
        if (!is_number(t, n->in[k])) return false;
    return true;
}

/* The index of the operand's element that element `index` of the result takes, where literal 1 repeats. */
static int64_t repeated(const tape_array *a, const tape_array *o, int64_t index)
{
    int64_t at = 0, stride = 1;
    for (int axis = a->rank - 1; axis >= 0; axis--) {
        const int64_t i = index % a->shape[axis];
        const int own = axis - (a->rank - o->rank);
        index /= a->shape[axis];
        if (own < 0) break;
        if (o->shape[own] != 1) at += i * stride;
        stride *= o->shape[own];
    }
    return at;
}

void tape_pointwise(tape *t, const lfuse__node *n, tape_array *a)
{
    const bool numbers = behind_first_are_numbers(t, n);
    int32_t in[3];
    if (n->list) {
        tape_pointwise_list(t, n, working_type(t, n), numbers, a);
        return;
    }
    tape_shape(t, n, a);
    for (int64_t i = 0; i < a->count; i++) {
        for (int k = 0; k < n->nin; k++) {
            const tape_array *o = &t->arrays[n->in[k]];
            in[k] = o->at[repeated(a, o, i)];
        }
        a->at[i] = tape_point(t, (lfuse__op)n->op, working_type(t, n), numbers, in);
    }
}

/* As the operand is, in memory of its own. */
static void same(tape *t, const tape_array *o, tape_array *a)
{
    *a = *o;
    a->at = tape_block(t, a->count, sizeof *a->at);
    if (a->count) memcpy(a->at, o->at, (size_t)a->count * sizeof *a->at);
}

/* Between floating types nothing is rounded, as nothing is anywhere, but constants, which are stored. */
void tape_cast(tape *t, const lfuse__node *n, tape_array *a)
{
    const lfuse_type from = type_of(t, n->in[0]), to = (lfuse_type)n->type;
    same(t, &t->arrays[n->in[0]], a);
    for (int64_t i = 0; i < a->count; i++) {
        const lfuse__pair x = {t->entries[a->at[i]].value, 0};
        if (lfuse__is_floating(from) && lfuse__is_floating(to) && t->entries[a->at[i]].kind != TAPE_LEAF) continue;
        a->at[i] = tape_leaf(t, lfuse__oracle_cast(from, to, x).v);
    }
}

void tape_identity(tape *t, const lfuse__node *n, tape_array *a)
{
    same(t, &t->arrays[n->in[0]], a);
    for (int64_t i = 0; i < a->count; i++) {
        const long double value = t->entries[a->at[i]].value;
        if (n->op == LFUSE__IDENTITY_STOP) a->at[i] = tape_leaf(t, value);
        if (n->op == LFUSE__IDENTITY_SURROGATE) a->at[i] = tape_copy(t, t->arrays[n->in[1]].at[i], value);
    }
}

static bool is_reduced(const lfuse__node *n, int axis)
{
    for (int k = 0; k < n->naxes; k++)
        if (n->axes[k] == axis) return true;
    return false;
}

/* The element of the result that element i of the operand goes into. */
static int64_t target(const lfuse__node *n, const tape_array *o, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int axis = o->rank - 1; axis >= 0; axis--) {
        const int64_t index = i % o->shape[axis];
        i /= o->shape[axis];
        if (is_reduced(n, axis)) continue;
        at += index * stride;
        stride *= o->shape[axis];
    }
    return at;
}

void tape_reduction(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o = &t->arrays[n->in[0]];
    tape_shape(t, n, a);
    /* The elements that go into one are a chain, from its first one on. */
    int64_t *head = tape_block(t, a->count, sizeof *head), *next = tape_block(t, o->count, sizeof *next);
    for (int64_t r = 0; r < a->count; r++) head[r] = -1;
    for (int64_t i = o->count - 1; i >= 0; i--) {
        const int64_t r = target(n, o, i);
        next[i] = head[r];
        head[r] = i;
    }
    for (int64_t r = 0; r < a->count; r++) {
        const int64_t first = t->narguments;
        for (int64_t i = head[r]; i >= 0; i = next[i]) tape_argument(t, o->at[i]);
        a->at[r] = tape_reduce(t, (lfuse__reduce)n->op, type_of(t, n->in[0]), first);
    }
}

/* The largest so far is an element: of equal ones the last, which PyTorch's index is of. */
static int32_t scanned(tape *t, const lfuse__node *n, int32_t before, int32_t x)
{
    const lfuse__op op = lfuse__scan_op((lfuse__reduce)n->op);
    const long double a = t->entries[before].value, b = t->entries[x].value;
    if (op == LFUSE__OP_max) return b >= a ? x : before;
    if (op == LFUSE__OP_min) return b <= a ? x : before;
    return tape_point(t, op, (lfuse_type)n->type, false, (const int32_t[]){before, x});
}

void tape_scan(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o = &t->arrays[n->in[0]];
    int64_t inner = 1;
    tape_shape(t, n, a);
    for (int axis = n->axes[0] + 1; axis < a->rank; axis++) inner *= a->shape[axis];
    for (int64_t i = 0; i < a->count; i++) {
        const bool first = i / inner % a->shape[n->axes[0]] == 0;
        a->at[i] = first ? o->at[i] : scanned(t, n, a->at[i - inner], o->at[i]);
    }
}

void tape_matmul(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *x = &t->arrays[n->in[0]], *y = &t->arrays[n->in[1]];
    if (n->list) {
        tape_member_matmul(t, n, a);
        return;
    }
    tape_shape(t, n, a);
    const int64_t rows = a->shape[a->rank - 2], columns = a->shape[a->rank - 1], k = x->shape[x->rank - 1];
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t batch = i / (rows * columns), row = i / columns % rows, column = i % columns;
        const int64_t first = t->narguments;
        for (int64_t j = 0; j < k; j++) {
            tape_argument(t, x->at[(batch * rows + row) * k + j]);
            tape_argument(t, y->at[(batch * k + j) * columns + column]);
        }
        a->at[i] = tape_fold(t, TAPE_DOT, first);
    }
}
