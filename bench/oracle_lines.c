/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of matrices: functions of matrices beside numbers of their rows and columns, and reductions of those. */
#include <stdlib.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

/* Elements of a member of a list of this rank. */
static int64_t elements(int rank, const lfuse__matrices *m)
{
    switch (rank) {
    case LFUSE_RANK_ROWS: return m->count * m->rows;
    case LFUSE_RANK_COLUMNS: return m->count * m->columns;
    case LFUSE_RANK_MATRICES: return m->count;
    default: return m->count * m->rows * m->columns;
    }
}

/* Where element e of a member of rank `rank` stands in one that repeats beside it; -1: it does not. */
static int64_t repeated(int rank, int other, const lfuse__matrices *m, int64_t e)
{
    const bool matrix = rank == LFUSE_RANK_MATRIX;

    if (other == rank) return e;
    if (other == LFUSE_RANK_MATRICES)
        return matrix ? e / (m->rows * m->columns) : e / (rank == LFUSE_RANK_ROWS ? m->rows : m->columns);
    if (matrix && other == LFUSE_RANK_ROWS) return e / m->columns;
    if (matrix && other == LFUSE_RANK_COLUMNS) return e / (m->rows * m->columns) * m->columns + e % m->columns;
    return -1;
}

static int64_t begin_of(const lfuse__values *a, int64_t member)
{
    return !a->ends ? member : member ? a->ends[member - 1] : 0;
}

/* Room, and where members end, for a result of rank n->rank. */
static lfuse_status lay_out(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    int64_t *ends = malloc((size_t)(a->members + 1) * sizeof *ends), i;

    if (!ends) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld members", (long long)a->members);
    s->lines[n - s->g->nodes] = ends;
    a->rank = n->rank;
    a->ends = ends;
    for (i = 0; i < a->members; i++) ends[i] = a->count += elements(n->rank, &a->matrices[i]);
    return lfuse__oracle_allocate(a);
}

/* The members are as many as the matrices say. */
static lfuse_status check(const lfuse__node *n, const lfuse__values *o, const lfuse__values *a)
{
    int64_t i;

    if (o->members != a->members) return lfuse__error(LFUSE_ERR_SHAPE, "oracle: lists differ");
    for (i = 0; i < o->members && n->rank; i++)
        if (o->ends[i] - begin_of(o, i) != elements(n->rank, &a->matrices[i]))
            return lfuse__error(LFUSE_ERR_SHAPE, "oracle: member %lld of a list beside matrices has %lld elements",
                                (long long)i, (long long)(o->ends[i] - begin_of(o, i)));
    return LFUSE_OK;
}

bool lfuse__oracle_repeats(const lfuse__oracle *s, const lfuse__node *n)
{
    int k;

    for (k = 0; k < n->nin; k++) {
        const lfuse__node *o = &s->g->nodes[n->in[k]];
        if (o->list && o->rank && o->rank != n->rank) return true;
    }
    return false;
}

lfuse_status lfuse__oracle_point_lines(lfuse__oracle *s, const lfuse__node *n, lfuse__oracle_apply *apply,
                                       lfuse__values *a)
{
    int64_t member, e, at[3];
    int k;

    for (k = 0; k < n->nin; k++) {
        const lfuse__values *o = &s->arrays[n->in[k]];
        if (!o->matrices) continue;
        a->matrices = o->matrices;
        a->members = o->members;
    }
    if (!a->matrices) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "oracle: lines of matrices that no list tells");
    for (k = 0; k < n->nin; k++)
        if (s->g->nodes[n->in[k]].list)
            LFUSE__TRY(check(&s->g->nodes[n->in[k]], &s->arrays[n->in[k]], a));
    LFUSE__TRY(lay_out(s, n, a));
    for (member = 0; member < a->members; member++)
        for (e = 0; begin_of(a, member) + e < a->ends[member]; e++) {
            for (k = 0; k < n->nin; k++) {
                const lfuse__node *o = &s->g->nodes[n->in[k]];
                at[k] = !o->list ? 0 : begin_of(&s->arrays[n->in[k]], member);
                if (o->list && o->rank) at[k] += repeated(n->rank, o->rank, &a->matrices[member], e);
            }
            a->x[begin_of(a, member) + e] = apply(s, n, at);
        }
    return LFUSE_OK;
}

/* Line l of a member: its first element, how many it has, and how far they are apart. */
typedef struct line {
    int64_t first, count, step;
} line;

static line line_of(const lfuse__node *n, int rank, const lfuse__matrices *m, int64_t l)
{
    const int64_t lines = rank == LFUSE_RANK_ROWS ? m->rows : m->columns;

    if (rank != LFUSE_RANK_MATRIX) return (line){l * lines, lines, 1}; /* of numbers of rows or columns */
    if (n->axes[0] == 0) return (line){l * m->columns, m->columns, 1};
    return (line){l / m->columns * m->rows * m->columns + l % m->columns, m->rows, m->columns};
}

lfuse_status lfuse__oracle_node_line_reduce(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    const lfuse_type type = lfuse__oracle_type(s, n->in[0]);
    const int rank = s->g->nodes[n->in[0]].rank;
    lfuse_status status = LFUSE_OK;
    lfuse__pair *room;
    int64_t member, l, i;

    if (!o->matrices) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "oracle: lines of matrices that no list tells");
    a->matrices = o->matrices;
    a->members = o->members;
    LFUSE__TRY(lay_out(s, n, a));
    room = malloc((size_t)(o->count + 1) * sizeof *room);
    if (!room) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld elements", (long long)o->count);
    for (member = 0; member < a->members; member++)
        for (l = begin_of(a, member); l < a->ends[member] && !status; l++) {
            const line x = line_of(n, rank, &a->matrices[member], l - begin_of(a, member));
            for (i = 0; i < x.count; i++)
                room[i] = lfuse__oracle_read(type, o->x[begin_of(o, member) + x.first + i * x.step]);
            status = lfuse__oracle_fold((lfuse__reduce)n->op, type, !s->options->inexact, room, x.count, &a->x[l]);
        }
    free(room);
    return status;
}

/* ---- products of members ---- */

/* A matrix of a member, turned round where the product takes it transposed: row-major. */
static void take_matrix(const lfuse__values *o, lfuse_type type, int64_t first, int64_t rows, int64_t columns,
                        bool transposed, lfuse__pair *to)
{
    int64_t i, j;

    for (i = 0; i < rows; i++)
        for (j = 0; j < columns; j++)
            to[transposed ? j * rows + i : i * columns + j] = lfuse__oracle_read(type, o->x[first + i * columns + j]);
}

static lfuse_status multiply_member(const lfuse_type *types, const lfuse__values *const *o, const bool *transposed,
                                    int64_t member, lfuse__values *a)
{
    const lfuse_type type = lfuse__oracle_matmul_type(types[0], types[1]);
    const lfuse__matrices *x = &o[0]->matrices[member], *y = &o[1]->matrices[member], *z = &a->matrices[member];
    const int64_t k = transposed[0] ? x->rows : x->columns;
    lfuse__pair *left = malloc((size_t)(x->rows * x->columns + 1) * sizeof *left);
    lfuse__pair *right = malloc((size_t)(y->rows * y->columns + 1) * sizeof *right);
    lfuse_status status = LFUSE_OK;
    int64_t i;

    if (!left || !right) status = lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for a product");
    for (i = 0; i < z->count && !status; i++) {
        take_matrix(o[0], types[0], begin_of(o[0], member) + i * x->rows * x->columns, x->rows, x->columns,
                    transposed[0], left);
        take_matrix(o[1], types[1], begin_of(o[1], member) + i * y->rows * y->columns, y->rows, y->columns,
                    transposed[1], right);
        status = lfuse__oracle_matmul(type, false, z->rows, z->columns, k, left, right,
                                      a->x + begin_of(a, member) + i * z->rows * z->columns);
    }
    free(right);
    free(left);
    return status;
}

lfuse_status lfuse__oracle_member_matmul(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o[2] = {&s->arrays[n->in[0]], &s->arrays[n->in[1]]};
    const lfuse_type types[] = {lfuse__oracle_type(s, n->in[0]), lfuse__oracle_type(s, n->in[1])};
    const int32_t node = (int32_t)(n - s->g->nodes);
    bool transposed[2] = {false, false};
    lfuse__matrices *made;
    lfuse_status status = LFUSE_OK;
    int64_t i;
    int k;

    for (k = 0; k < n->naxes; k++) transposed[n->axes[k]] = true;
    if (!o[0]->matrices || !o[1]->matrices || o[0]->members != o[1]->members)
        return lfuse__error(LFUSE_ERR_SHAPE, "oracle: lists that cannot be multiplied");
    a->rank = n->rank;
    a->members = o[0]->members;
    made = s->products[node] = malloc((size_t)(a->members + 1) * sizeof *made);
    s->lines[node] = malloc((size_t)(a->members + 1) * sizeof *s->lines[node]);
    if (!made || !s->lines[node])
        return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld members", (long long)a->members);
    a->matrices = made;
    a->ends = s->lines[node];
    for (i = 0; i < a->members; i++) {
        const lfuse__matrices *x = &o[0]->matrices[i], *y = &o[1]->matrices[i];
        made[i] = (lfuse__matrices){x->count, transposed[0] ? x->columns : x->rows,
                                    transposed[1] ? y->rows : y->columns, 2};
        if (x->count != y->count ||
            (transposed[0] ? x->rows : x->columns) != (transposed[1] ? y->columns : y->rows))
            return lfuse__error(LFUSE_ERR_SHAPE, "oracle: member %lld cannot be multiplied", (long long)i);
        s->lines[node][i] = a->count += made[i].count * made[i].rows * made[i].columns;
    }
    LFUSE__TRY(lfuse__oracle_allocate(a));
    for (i = 0; i < a->members && !status; i++) status = multiply_member(types, o, transposed, i, a);
    return status;
}
