/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of the members of lists, and of whole lists. */
#include <stdlib.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

/* x[begin ... end - 1] of the operand reduced to one; `room` is for as many. */
static lfuse_status fold(lfuse__oracle *s, const lfuse__node *n, int64_t begin, int64_t end, lfuse__pair *room,
                         lfuse__pair *result)
{
    const lfuse__pair *x = s->arrays[n->in[0]].x;
    const lfuse_type type = lfuse__oracle_type(s, n->in[0]);
    int64_t i;

    for (i = begin; i < end; i++) room[i - begin] = lfuse__oracle_read(type, x[i]);
    return lfuse__oracle_fold((lfuse__reduce)n->op, type, !s->options->inexact, room, end - begin, result);
}

static lfuse_status make_room(int64_t count, lfuse__pair **room)
{
    *room = malloc((size_t)(count + 1) * sizeof **room);
    return *room ? LFUSE_OK : lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld elements", (long long)count);
}

lfuse_status lfuse__oracle_node_member_reduce(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    lfuse_status status = LFUSE_OK;
    lfuse__pair *room;
    int64_t i, begin = 0;

    a->count = a->members = o->members;
    LFUSE__TRY(lfuse__oracle_allocate(a));
    LFUSE__TRY(make_room(o->count, &room));
    for (i = 0; i < a->members && !status; i++) {
        status = fold(s, n, begin, o->ends[i], room, &a->x[i]);
        begin = o->ends[i];
    }
    free(room);
    return status;
}

lfuse_status lfuse__oracle_node_list_reduce(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    lfuse_status status;
    lfuse__pair *room;

    LFUSE__TRY(lfuse__oracle_shape(s, n, false, a));
    LFUSE__TRY(make_room(o->members, &room));
    status = fold(s, n, 0, o->members, room, &a->x[0]);
    free(room);
    return status;
}

lfuse_status lfuse__oracle_node_member_elements(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    int64_t i;

    a->count = a->members = o->members;
    LFUSE__TRY(lfuse__oracle_allocate(a));
    for (i = 0; i < a->members; i++) {
        const lfuse__matrices *m = n->naxes ? &o->matrices[i] : NULL;
        const int64_t count = !m                  ? o->ends[i] - (i ? o->ends[i - 1] : 0)
                              : n->axes[0] == 0   ? m->rows
                              : n->axes[0] == 1   ? m->columns
                                                  : m->rank;
        a->x[i] = (lfuse__pair){(long double)count, 0};
    }
    return LFUSE_OK;
}
