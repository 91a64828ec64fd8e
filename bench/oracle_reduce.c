/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes, and the sums of scattered rows. */
#include <math.h>
#include <stdlib.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

/* x[offsets[0]], x[offsets[1]] ... reduced to one; `room` is for as many. */
static lfuse_status reduce_run(lfuse__oracle *s, const lfuse__node *n, const lfuse__pair *x, const int64_t *offsets,
                               int64_t length, lfuse__pair *room, lfuse__pair *result)
{
    const lfuse_type type = lfuse__oracle_type(s, n->in[0]);
    int64_t i;

    for (i = 0; i < length; i++) room[i] = lfuse__oracle_read(type, x[offsets[i]]);
    return lfuse__oracle_fold((lfuse__reduce)n->op, type, !s->options->inexact, room, length, result);
}

/* The operand's axes in two groups, each walked in row-major order: those that stay, and those that are reduced. */
typedef struct split {
    lfuse__values kept, reduced; /* shapes alone */
    int64_t kept_step[1][LFUSE_MAX_RANK], reduced_step[1][LFUSE_MAX_RANK];
} split;

static void split_axes(const lfuse__node *n, const lfuse__values *o, split *p)
{
    int64_t stride[LFUSE_MAX_RANK], step = 1;
    unsigned set = 0;
    int axis;

    for (axis = 0; axis < n->naxes; axis++) set |= 1u << n->axes[axis];
    for (axis = o->rank - 1; axis >= 0; axis--) {
        stride[axis] = step;
        step *= o->shape[axis];
    }
    *p = (split){{.count = 1}, {.count = 1}, {{0}}, {{0}}};
    for (axis = 0; axis < o->rank; axis++) {
        lfuse__values *to = set >> axis & 1 ? &p->reduced : &p->kept;
        (to == &p->kept ? p->kept_step : p->reduced_step)[0][to->rank] = stride[axis];
        to->shape[to->rank++] = o->shape[axis];
        to->count *= o->shape[axis];
    }
}

lfuse_status lfuse__oracle_node_reduce(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    int64_t index[LFUSE_MAX_RANK] = {0}, at = 0, i, *offsets;
    lfuse_status status = LFUSE_OK;
    lfuse__pair *room;
    split p;

    if (o->rows && n->axes[0] == 0) return lfuse__oracle_not_by_rows("a reduction of the selected axis");
    LFUSE__TRY(lfuse__oracle_shape(s, n, o->rows, a));
    split_axes(n, o, &p);
    offsets = malloc((size_t)(p.reduced.count + 1) * sizeof *offsets);
    room = malloc((size_t)(p.reduced.count + 1) * sizeof *room);
    if (!offsets || !room) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld elements", (long long)p.reduced.count);
        goto free_all;
    }
    for (i = 0; i < p.reduced.count; i++) {
        offsets[i] = at;
        lfuse__oracle_advance(&p.reduced, 1, p.reduced_step, index, &at);
    }
    at = 0;
    for (i = 0; i < LFUSE_MAX_RANK; i++) index[i] = 0;
    for (i = 0; i < a->count && !status; i++) {
        status = reduce_run(s, n, o->x + at, offsets, p.reduced.count, room, &a->x[i]);
        lfuse__oracle_advance(&p.kept, 1, p.kept_step, index, &at);
    }

free_all:
    free(room);
    free(offsets);
    return status;
}

/* Row i of the result: the canonical sum over all positions, of the rows whose index is i and of 0 elsewhere. */
static lfuse_status scatter_row(lfuse__oracle *s, const lfuse__node *n, int64_t row, int64_t rest, lfuse__pair *room,
                                lfuse__pair *to)
{
    const lfuse__values *x = &s->arrays[n->in[0]], *indices = &s->arrays[n->in[1]];
    const lfuse_type type = lfuse__oracle_type(s, n->in[0]);
    int64_t r, i;

    for (r = 0; r < rest; r++) {
        for (i = 0; i < indices->count; i++)
            room[i] = indices->x[i].v == row ? lfuse__oracle_read(type, x->x[i * rest + r]) : (lfuse__pair){0, 0};
        LFUSE__TRY(lfuse__oracle_fold(LFUSE__REDUCE_SUM, type, !s->options->inexact, room, indices->count, &to[r]));
        if (!lfuse__oracle_floating(type)) to[r] = lfuse__oracle_cast(LFUSE_I64, type, to[r]);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__oracle_node_scatter_add(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *x = &s->arrays[n->in[0]], *indices = &s->arrays[n->in[1]];
    lfuse_status status = LFUSE_OK;
    lfuse__pair *room;
    int64_t i, rest;
    bool open = false;

    if (x->rows || indices->rows) return lfuse__oracle_not_by_rows("a sum of scattered rows");
    LFUSE__TRY(lfuse__oracle_shape(s, n, false, a));
    room = malloc((size_t)(indices->count + 1) * sizeof *room);
    if (!room) return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld indices", (long long)indices->count);
    for (i = 0; i < indices->count; i++) {
        const lfuse__pair at = indices->x[i];
        open = open || at.e > 0;
        if (at.e > 0 || at.v < 0 || at.v >= a->shape[0]) s->out_of_range = true;
    }
    rest = a->count ? a->count / a->shape[0] : 0;
    for (i = 0; rest && i < a->shape[0] && !status; i++) status = scatter_row(s, n, i, rest, room, a->x + i * rest);
    for (i = 0; open && i < a->count; i++) a->x[i].e = INFINITY;
    free(room);
    return status;
}
