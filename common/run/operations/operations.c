/* SPDX-License-Identifier: Apache-2.0 */
/* An instance's operations and buffers, whatever their kind: adding them and taking them away, and where memory is. */
#include <string.h>

#include "common/base/array.h"
#include "common/base/error.h"
#include "common/run/operations/operations.h"

lfuse_status lfuse__add_operation(lfuse_instance *in, const lfuse__step *step, const lfuse__operation_row *row,
                                  lfuse__operation **operation)
{
    lfuse__operation *op;

    LFUSE__TRY(lfuse__array_grow(&in->operations, &in->operation_capacity, (size_t)in->noperations + 1,
                                 sizeof *in->operations));
    op = &in->operations[in->noperations];
    memset(op, 0, sizeof *op);
    op->row = row;
    op->step = step;
    op->prepare = step->prepare;
    in->noperations++;
    *operation = op;
    return LFUSE_OK;
}

lfuse_status lfuse__add_buffer(lfuse_instance *in, lfuse__place place, uint64_t bytes, int *index)
{
    lfuse__instance_buffer *b;

    LFUSE__TRY(lfuse__array_grow(&in->buffers, &in->buffer_capacity, (size_t)in->nbuffers + 1, sizeof *in->buffers));
    b = &in->buffers[in->nbuffers];
    memset(b, 0, sizeof *b);
    b->place = place;
    b->bytes = bytes;
    b->first = 0;
    b->last = -1;
    *index = in->nbuffers++;
    return LFUSE_OK;
}

void lfuse__use_memory(lfuse_instance *in, const lfuse__memory *m)
{
    const int now = in->noperations - 1;
    lfuse__instance_buffer *b;

    if (m->place != LFUSE__PLACE_SCRATCH && m->place != LFUSE__PLACE_PREPARED) return;
    b = &in->buffers[m->index];
    if (b->last < b->first) b->first = now;
    b->last = now;
}

void lfuse__drop_operations(lfuse_instance *in, int count)
{
    while (in->noperations > count) {
        lfuse__operation *op = &in->operations[--in->noperations];
        op->row->destroy(op);
    }
}

void lfuse__memory_at(const lfuse_instance *in, const lfuse__memory *m, lfuse__location *at)
{
    const lfuse__spot *s;
    const lfuse__instance_buffer *b;

    if (m->place == LFUSE__PLACE_BOUND) {
        s = &in->spots[m->index];
        *at = (lfuse__location){ s->mem, s->offset, s->address };
        return;
    }
    if (m->place >= LFUSE__PLACE_INDEX) { /* no memory, or what a step makes itself */
        *at = (lfuse__location){ NULL, 0, 0 };
        return;
    }
    b = &in->buffers[m->index];
    if (m->place == LFUSE__PLACE_SCRATCH) {
        *at = (lfuse__location){ in->scratch.mem, in->scratch.offset + b->offset, in->scratch.address + b->offset };
        return;
    }
    *at = (lfuse__location){ NULL, 0, 0 };
    if (b->prepared) *at = (lfuse__location){ b->prepared->mem, b->prepared->offset, b->prepared->address };
}

void lfuse__start_at(const lfuse_instance *in, const lfuse__start *p, lfuse__location *at)
{
    lfuse__memory_at(in, &p->memory, at);
    at->offset += p->first;
    at->address += p->first;
}

bool lfuse__is_scratch(const lfuse_instance *in, const lfuse__range *r)
{
    return r->mem == in->scratch.mem && r->offset == in->scratch.offset && r->address == in->scratch.address;
}

bool lfuse__use_scratch(lfuse_instance *in, const lfuse__range *scratch)
{
    if (lfuse__is_scratch(in, scratch)) return false;
    in->scratch = (lfuse__location){ scratch->mem, scratch->offset, scratch->address };
    return true;
}

void lfuse__instance_forget(lfuse_instance *in)
{
    int i;

    for (i = 0; i < in->noperations; i++)
        if (in->operations[i].row->forget) in->operations[i].row->forget(&in->operations[i]);
}

bool lfuse__instance_unified(const lfuse_instance *in)
{
    int i;

    for (i = 0; i < in->noperations; i++)
        if (in->operations[i].row->prime && in->plan->transport == LFUSE_TRANSPORT_UNIFIED) return true;
    return false;
}

lfuse_status lfuse__operations_set_args(lfuse_instance *in, bool prepare, int first, int end, const lfuse__slot *slots)
{
    int i;

    for (i = first; i < end; i++)
        if (in->operations[i].prepare == prepare)
            LFUSE__TRY(in->operations[i].row->set_args(in, &in->operations[i], slots));
    return LFUSE_OK;
}

lfuse_status lfuse__operations_launch(lfuse_instance *in, bool prepare, int first, int end, lfuse_stream *s,
                                      int *failed)
{
    lfuse_status status;
    int i;

    for (i = first; i < end; i++) {
        if (in->operations[i].prepare != prepare) continue;
        status = in->operations[i].row->launch(in, &in->operations[i], s);
        if (__builtin_expect(status == LFUSE_OK, 1)) continue;
        *failed = i;
        return status;
    }
    return LFUSE_OK;
}
