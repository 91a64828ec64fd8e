/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that compute element by element, and products. */
#include <stdlib.h>
#include <string.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

/* What the function is done in: of a comparison, its operands' type. */
static lfuse_type working_type(const lfuse__oracle *s, const lfuse__node *n)
{
    return lfuse__op_retypes((lfuse__op)n->op) ? lfuse__oracle_type(s, n->in[0]) : (lfuse_type)n->type;
}

/*
 * As a function or cast reads it: what functions make is rounded nowhere between them, whatever a device fuses; what
 * other nodes make may have been.
 */
static lfuse__pair taken(const lfuse__oracle *s, int32_t node, lfuse__pair x)
{
    return s->g->nodes[node].kind == LFUSE__POINTWISE ? x : lfuse__oracle_read(lfuse__oracle_type(s, node), x);
}

static lfuse__pair apply(const lfuse__oracle *s, const lfuse__node *n, const int64_t *at)
{
    lfuse__pair x[3];
    int i;

    for (i = 0; i < n->nin; i++)
        x[i] = taken(s, n->in[i], s->arrays[n->in[i]].x[at[i]]);
    return lfuse__oracle_point((lfuse__op)n->op, working_type(s, n), !s->options->inexact, x);
}

static bool same_members(const lfuse__values *a, const lfuse__values *b)
{
    return a->members == b->members && (a->ends == b->ends || !a->ends || !b->ends || !a->members ||
                                        !memcmp(a->ends, b->ends, (size_t)a->members * sizeof *a->ends));
}

static lfuse_status point_list(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    int64_t member, i, begin = 0, at[3];
    const lfuse__values *o;
    int k;

    a->rank = n->rank;
    a->members = -1;
    for (k = 0; k < n->nin; k++) {
        o = &s->arrays[n->in[k]];
        if (!s->g->nodes[n->in[k]].list) continue;
        if (a->members < 0) a->members = o->members;
        if (!a->ends) a->ends = o->ends;
        if (!a->matrices) a->matrices = o->matrices;
        if (!same_members(a, o)) return lfuse__error(LFUSE_ERR_SHAPE, "oracle: lists differ");
    }
    a->count = !a->members ? 0 : a->ends ? a->ends[a->members - 1] : a->members;
    LFUSE__TRY(lfuse__oracle_allocate(a));
    for (member = 0; member < a->members; member++) {
        const int64_t end = a->ends ? a->ends[member] : member + 1;
        for (i = begin; i < end; i++) {
            for (k = 0; k < n->nin; k++)
                at[k] = !s->g->nodes[n->in[k]].list ? 0 : s->arrays[n->in[k]].ends ? i : member;
            a->x[i] = apply(s, n, at);
        }
        begin = end;
    }
    return LFUSE_OK;
}

static lfuse_status point_tensor(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    int64_t step[3][LFUSE_MAX_RANK], index[LFUSE_MAX_RANK] = {0}, at[3] = {0, 0, 0}, i;
    bool rows = false;
    const lfuse__values *o;
    int k;

    for (k = 0; k < n->nin; k++) rows = rows || s->arrays[n->in[k]].rows;
    LFUSE__TRY(lfuse__oracle_shape(s, n, rows, a));
    for (k = 0; k < n->nin; k++) {
        o = &s->arrays[n->in[k]];
        if (rows && o->rank == n->rank && !o->rows && s->g->nodes[n->in[k]].shape[0] != 1)
            return lfuse__oracle_not_by_rows("a function of an operand with other rows");
        if (o->rows && o->rank != n->rank) return lfuse__oracle_not_by_rows("a broadcast of the selected axis");
        lfuse__oracle_steps(a, o, step[k]);
    }
    for (i = 0; i < a->count; i++) {
        a->x[i] = apply(s, n, at);
        lfuse__oracle_advance(a, n->nin, step, index, at);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_node_pointwise(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    if (n->list && lfuse__oracle_repeats(s, n)) return lfuse__oracle_point_lines(s, n, apply, a);
    return n->list ? point_list(s, n, a) : point_tensor(s, n, a);
}

lfuse_status lfuse__oracle_node_identity(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    int64_t i;

    *a = *o;
    a->x = NULL;
    LFUSE__TRY(lfuse__oracle_allocate(a));
    for (i = 0; i < a->count; i++) a->x[i] = o->x[i];
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_node_cast(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    const lfuse_type from = lfuse__oracle_type(s, n->in[0]);
    int64_t i;

    if (from == LFUSE_TYPE_NONE) {
        a->count = 1;
        LFUSE__TRY(lfuse__oracle_allocate(a));
        a->x[0] = lfuse__oracle_cast(LFUSE_F64, (lfuse_type)n->type,
                                     (lfuse__pair){lfuse__graph_number(s->g, n->in[0], s->scalars, s->sizes), 0});
        return LFUSE_OK;
    }
    *a = *o;
    a->x = NULL;
    LFUSE__TRY(lfuse__oracle_allocate(a));
    for (i = 0; i < a->count; i++)
        a->x[i] = lfuse__oracle_cast(from, (lfuse_type)n->type, taken(s, n->in[0], o->x[i]));
    return LFUSE_OK;
}

static lfuse__pair *read_all(const lfuse__values *a, lfuse_type type)
{
    lfuse__pair *x = malloc((size_t)(a->count ? a->count : 1) * sizeof *x);
    int64_t i;

    for (i = 0; x && i < a->count; i++) x[i] = lfuse__oracle_read(type, a->x[i]);
    return x;
}

lfuse_status lfuse__oracle_node_matmul(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse_type of_a = lfuse__oracle_type(s, n->in[0]), of_b = lfuse__oracle_type(s, n->in[1]);
    const lfuse__values *left = &s->arrays[n->in[0]], *right = &s->arrays[n->in[1]];
    const lfuse_type type = lfuse__oracle_matmul_type(of_a, of_b);
    const bool tf32 = n->op == LFUSE_PRECISION_TF32;
    const int row = n->rank - 2, column = n->rank - 1;
    lfuse_status status = LFUSE_OK;
    lfuse__pair *x, *y;
    int64_t i, m, k, count = 1;

    if (n->list) return lfuse__oracle_member_matmul(s, n, a);
    if (row ? left->rows != right->rows : right->rows)
        return lfuse__oracle_not_by_rows("one side of a product");
    LFUSE__TRY(lfuse__oracle_shape(s, n, left->rows, a));
    m = left->shape[row], k = left->shape[column];
    for (i = 0; i < row; i++) count *= left->shape[i];
    x = read_all(left, of_a);
    y = read_all(right, of_b);
    for (i = 0; x && y && i < count && !status; i++)
        status = lfuse__oracle_matmul(type, tf32, m, right->shape[column], k, x + i * m * k,
                                      y + i * k * right->shape[column], a->x + i * m * right->shape[column]);
    if (!x || !y)
        status = lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for a product");
    if (!status && n->rank == 2 && s->options && s->options->levels)
        lfuse__oracle_strassen(type, s->options->levels, m, right->shape[column], k, x, y, a->x);
    free(y);
    free(x);
    return status;
}
