/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: functions of members beside numbers, rows and columns; reductions; products. */
#include "tests/tape/tape_internal.h"

/* Elements of a member of a list of this rank. */
static int64_t elements(int rank, const lfuse__matrices *m)
{
    const int64_t rows = rank == LFUSE_RANK_COLUMNS || rank == LFUSE_RANK_MATRICES ? 1 : m->rows;
    const int64_t columns = rank == LFUSE_RANK_ROWS || rank == LFUSE_RANK_MATRICES ? 1 : m->columns;
    return m->count * rows * columns;
}

static int64_t begin_of(const tape_array *a, int64_t m) { return !a->ends ? m : m ? a->ends[m - 1] : 0; }
static int64_t end_of(const tape_array *a, int64_t m) { return a->ends ? a->ends[m] : m + 1; }

/* Where element e of a member stands in one of rank `other`: by the matrix, row and column that it is of. */
static int64_t stands(int rank, int other, const lfuse__matrices *m, int64_t e)
{
    if (other == rank || !m) return e;
    const int64_t columns = rank == LFUSE_RANK_ROWS || rank == LFUSE_RANK_MATRICES ? 1 : m->columns;
    const int64_t rows = rank == LFUSE_RANK_COLUMNS || rank == LFUSE_RANK_MATRICES ? 1 : m->rows;
    const int64_t matrix = e / (rows * columns), row = e / columns % rows, column = e % columns;
    if (other == LFUSE_RANK_MATRICES) return matrix;
    return other == LFUSE_RANK_ROWS ? matrix * m->rows + row : matrix * m->columns + column;
}

/* The element of the operand that stands beside element `e` of member `m` of the result. */
static int32_t beside(const tape *t, const lfuse__node *n, const tape_array *a, int operand, int64_t m, int64_t e)
{
    const lfuse__node *in = &t->g->nodes[n->in[operand]];
    const tape_array *o = &t->arrays[n->in[operand]];
    if (!in->list) return o->at[0];
    if (!in->rank) return o->at[m];
    return o->at[begin_of(o, m) + stands(n->rank, in->rank, a->matrices ? &a->matrices[m] : NULL, e)];
}

/* Members and elements as the operand of the node's rank has them, else as the matrices say. */
static void lay_out(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *like = NULL;
    a->rank = n->rank;
    for (int k = 0; k < n->nin; k++) {
        const tape_array *o = &t->arrays[n->in[k]];
        const lfuse__node *in = &t->g->nodes[n->in[k]];
        if (!in->list) continue;
        a->members = o->members;
        if (o->matrices) a->matrices = o->matrices;
        if (in->rank == n->rank) like = o;
    }
    a->ends = n->rank ? tape_block(t, a->members, sizeof *a->ends) : NULL;
    for (int64_t m = 0; m < a->members; m++) {
        a->count += like ? end_of(like, m) - begin_of(like, m) : n->rank ? elements(n->rank, &a->matrices[m]) : 1;
        if (a->ends) a->ends[m] = a->count;
    }
    a->at = tape_block(t, a->count, sizeof *a->at);
}

void tape_pointwise_list(tape *t, const lfuse__node *n, lfuse_type type, bool numbers, tape_array *a)
{
    int32_t in[3];
    lay_out(t, n, a);
    for (int64_t m = 0; m < a->members; m++)
        for (int64_t e = 0; begin_of(a, m) + e < end_of(a, m); e++) {
            for (int k = 0; k < n->nin; k++) in[k] = beside(t, n, a, k, m, e);
            a->at[begin_of(a, m) + e] = tape_point(t, (lfuse__op)n->op, type, numbers, in);
        }
}

void tape_member_reduce(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o = &t->arrays[n->in[0]];
    a->count = a->members = o->members;
    a->matrices = o->matrices;
    a->at = tape_block(t, a->count, sizeof *a->at);
    for (int64_t m = 0; m < a->members; m++) {
        const int64_t first = t->narguments;
        for (int64_t i = begin_of(o, m); i < end_of(o, m); i++) tape_argument(t, o->at[i]);
        a->at[m] = tape_reduce(t, (lfuse__reduce)n->op, (lfuse_type)t->g->nodes[n->in[0]].type, first);
    }
}

void tape_list_reduce(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o = &t->arrays[n->in[0]];
    const int64_t first = t->narguments;
    tape_shape(t, n, a);
    for (int64_t i = 0; i < o->count; i++) tape_argument(t, o->at[i]);
    a->at[0] = tape_reduce(t, (lfuse__reduce)n->op, (lfuse_type)t->g->nodes[n->in[0]].type, first);
}

/* Element e of a member goes into the number of its row (axis 0), of its column (1), or of its matrix. */
static int64_t line_of(int rank, int axis, const lfuse__matrices *m, int64_t e)
{
    const int to = rank != LFUSE_RANK_MATRIX ? LFUSE_RANK_MATRICES : axis == 0 ? LFUSE_RANK_ROWS : LFUSE_RANK_COLUMNS;
    return stands(rank, to, m, e);
}

void tape_line_reduce(tape *t, const lfuse__node *n, tape_array *a)
{
    const lfuse__node *in = &t->g->nodes[n->in[0]];
    const tape_array *o = &t->arrays[n->in[0]];
    a->rank = n->rank;
    a->members = o->members;
    a->matrices = o->matrices;
    a->ends = tape_block(t, a->members, sizeof *a->ends);
    for (int64_t m = 0; m < a->members; m++) a->ends[m] = a->count += elements(n->rank, &a->matrices[m]);
    a->at = tape_block(t, a->count, sizeof *a->at);
    for (int64_t m = 0; m < a->members; m++)
        for (int64_t l = 0; begin_of(a, m) + l < end_of(a, m); l++) {
            const int64_t first = t->narguments;
            for (int64_t e = 0; begin_of(o, m) + e < end_of(o, m); e++)
                if (line_of(in->rank, n->axes[0], &a->matrices[m], e) == l)
                    tape_argument(t, o->at[begin_of(o, m) + e]);
            a->at[begin_of(a, m) + l] = tape_reduce(t, (lfuse__reduce)n->op, (lfuse_type)in->type, first);
        }
}

void tape_member_elements(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o = &t->arrays[n->in[0]];
    a->count = a->members = o->members;
    a->matrices = o->matrices;
    a->at = tape_block(t, a->count, sizeof *a->at);
    for (int64_t m = 0; m < a->members; m++) {
        const lfuse__matrices *x = n->naxes ? &o->matrices[m] : NULL;
        const int64_t extents[] = {x ? x->rows : 0, x ? x->columns : 0, x ? x->rank : 0};
        a->at[m] = tape_leaf(t, x ? extents[n->axes[0]] : end_of(o, m) - begin_of(o, m));
    }
}

/* Element (i, j) of a matrix that begins at `first`, or of its transpose. */
static int32_t element(const tape_array *o, int64_t first, const lfuse__matrices *m, bool transposed, int64_t i,
                       int64_t j)
{
    return o->at[first + (transposed ? j * m->columns + i : i * m->columns + j)];
}

static void multiply(tape *t, const tape_array *const *o, const bool *transposed, int64_t m, tape_array *a)
{
    const lfuse__matrices *x = &o[0]->matrices[m], *y = &o[1]->matrices[m], *z = &a->matrices[m];
    const int64_t size = z->rows * z->columns, inner = transposed[0] ? x->rows : x->columns;
    for (int64_t e = 0; e < z->count * size; e++) {
        const int64_t matrix = e / size, first = t->narguments;
        for (int64_t k = 0; k < inner; k++) {
            tape_argument(t, element(o[0], begin_of(o[0], m) + matrix * x->rows * x->columns, x, transposed[0],
                                     e / z->columns % z->rows, k));
            tape_argument(t, element(o[1], begin_of(o[1], m) + matrix * y->rows * y->columns, y, transposed[1], k,
                                     e % z->columns));
        }
        a->at[begin_of(a, m) + e] = tape_fold(t, TAPE_DOT, first);
    }
}

void tape_member_matmul(tape *t, const lfuse__node *n, tape_array *a)
{
    const tape_array *o[2] = {&t->arrays[n->in[0]], &t->arrays[n->in[1]]};
    bool transposed[2] = {false, false};
    for (int k = 0; k < n->naxes; k++) transposed[n->axes[k]] = true;
    a->rank = n->rank;
    a->members = o[0]->members;
    a->matrices = tape_block(t, a->members, sizeof *a->matrices);
    a->ends = tape_block(t, a->members, sizeof *a->ends);
    for (int64_t m = 0; m < a->members; m++) {
        const lfuse__matrices *x = &o[0]->matrices[m], *y = &o[1]->matrices[m];
        a->matrices[m] = (lfuse__matrices){x->count, transposed[0] ? x->columns : x->rows,
                                           transposed[1] ? y->rows : y->columns, 2};
        a->ends[m] = a->count += elements(LFUSE_RANK_MATRIX, &a->matrices[m]);
    }
    a->at = tape_block(t, a->count, sizeof *a->at);
    for (int64_t m = 0; m < a->members; m++) multiply(t, o, transposed, m, a);
}
