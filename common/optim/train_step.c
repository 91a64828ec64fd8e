/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a training: bindings of its own beside the program's, one run of a plan. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/optim/train.h"

/* A slot that the program binds and that has this name; -1: none. */
static int slot_of(const lfuse__train_plan *plan, const char *name)
{
    int i;

    for (i = 0; i < plan->nslots; i++)
        if (!plan->slots[i].tensor && !plan->slots[i].number && !strcmp(plan->plan->names[i].text, name)) return i;
    return -1;
}

static lfuse_status grow(lfuse_training *t, int room)
{
    lfuse_binding *larger;

    if (room <= t->binding_room) return LFUSE_OK;
    larger = realloc(t->bindings, (size_t)room * sizeof *larger);
    if (!larger) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d bindings)", room);
    t->bindings = larger;
    t->binding_room = room;
    return LFUSE_OK;
}

/* What the plan's graph declares, in that order, where bindings are found at once; the program's others behind it. */
static lfuse_status bind(lfuse_training *t, const lfuse__train_plan *plan, const lfuse_binding *given, int count,
                         int *n)
{
    lfuse_binding *b, *more;
    int i, slot;

    LFUSE__TRY(grow(t, plan->nslots + count));
    b = t->bindings;
    more = b + plan->nslots;
    memset(b, 0, (size_t)plan->nslots * sizeof *b);
    for (i = 0; i < plan->nslots; i++) {
        const lfuse__train_slot *s = &plan->slots[i];
        if (s->tensor) b[i] = lfuse_bind_tensor(plan->plan->names[i].text, s->tensor);
        else if (s->number) b[i] = lfuse_bind_scalar(plan->plan->names[i].text, *s->number);
    }
    for (i = 0; i < count; i++) {
        if (!given[i].name)
            return lfuse__error(LFUSE_ERR_BINDING, "binding %d has no name: those of a training have names", i);
        slot = slot_of(plan, given[i].name);
        if (slot >= 0 && !b[slot].name) b[slot] = given[i];
        else *more++ = given[i];
    }
    for (i = *n = 0; b + i < more; i++)
        if (b[i].name) b[(*n)++] = b[i];
    return LFUSE_OK;
}

static lfuse_status step(lfuse_training *t, lfuse_stream *stream, const lfuse_binding *bindings, int count)
{
    const bool last = t->micro + 1 >= t->options.micro_batches;
    const lfuse__train_plan *plan = &t->plans[last];
    const double before = t->t;
    lfuse_status status;
    int i, n;

    if (count < 0) return lfuse__error(LFUSE_ERR_INVALID, "%d bindings", count);
    t->accumulate = t->micro > 0;
    t->t = before + 1;
    status = bind(t, plan, bindings, count, &n);
    if (!status) status = lfuse__plan_run_after(plan->plan, stream, t->bindings, n, NULL, NULL);
    if (status || !last) t->t = before;
    if (status) return status;
    t->micro = last ? 0 : t->micro + 1;
    for (i = 0; i < t->ngroups && last && t->rule->product && !t->groups[i].product; i++)
        t->groups[i].product_before *= lfuse__nadam_momentum(&t->groups[i].hyper, (int64_t)t->t);
    return LFUSE_OK;
}

lfuse_status lfuse__train_step(lfuse_training *t, lfuse_stream *stream, const lfuse_binding *bindings, int count)
{
    return lfuse__recording_note(stream, step(t, stream, bindings, count));
}

lfuse_status lfuse__train_check(lfuse_training *t, lfuse_stream *stream)
{
    int64_t nonfinite;

    LFUSE__TRY(lfuse__stream_usable(stream));
    LFUSE__TRY(lfuse__stream_same_device(stream, t->dev, "the training"));
    LFUSE__TRY(lfuse__stream_settle(stream));
    LFUSE__TRY(lfuse__tensor_read(t->nonfinite, NULL, &nonfinite));
    if (!nonfinite) return LFUSE_OK;
    LFUSE__TRY(lfuse__tensor_fill(t->nonfinite, NULL, 0));
    return lfuse__error(LFUSE_ERR_NONFINITE, "the loss of step %" PRId64 " was infinite or not a number", nonfinite);
}
