/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording. A recording is a list of commands, each with references to all that it uses, and scratch memory of its
 * own. Replaying (record_replay.c) submits the list again, or launches the native graph that the list was made into.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/run/record/recording.h"

/* ---- making and freeing ---- */

void lfuse__slots_retain(const lfuse__slot *slots, int n)
{
    for (int i = 0; i < n; i++) {
        if (slots[i].tensor) lfuse__tensor_retain(slots[i].tensor);
        if (slots[i].list) lfuse__list_retain(slots[i].list);
    }
}

void lfuse__slots_release(const lfuse__slot *slots, int n)
{
    for (int i = 0; i < n; i++) {
        lfuse__tensor_release(slots[i].tensor);
        lfuse__list_release(slots[i].list);
    }
}

void lfuse__recording_destroy(lfuse_recording *r)
{
    if (!r || lfuse__forked()) return;
    lfuse__variants_free(r);
    lfuse__native_destroy(r->native);
    for (const lfuse__recorded_run *run = r->runs; run; run = run->following) {
        lfuse__slots_release(run->slots, run->nnames);
        lfuse__instance_release(run->instance);
    }
    for (size_t i = 0; i < r->count; i++) {
        lfuse__range_release(r->commands[i].bytes.to);
        lfuse__range_release(r->commands[i].bytes.from);
    }
    lfuse__range_release(r->scratch);
    lfuse__device_release(r->dev);
    lfuse__arena_free(&r->memory);
    free(r->commands);
    free(r);
}

static lfuse_status make_room(lfuse_recording *r)
{
    return lfuse__array_grow(&r->commands, &r->capacity, r->count + 1, sizeof *r->commands);
}

void lfuse__recorded_keep_numbers(lfuse__recorded_run *run)
{
    const int64_t groups = run->instance->groups;

    for (int i = 0; run->numbers && i < run->nnames; i++) {
        double *own = run->numbers + i * groups;
        if (!run->slots[i].numbers) continue;
        memmove(own, run->slots[i].numbers, (size_t)run->slots[i].count * sizeof *own);
        run->slots[i].numbers = own;
    }
}

lfuse_status lfuse__recording_append(lfuse_stream *s, lfuse_instance *instance, const lfuse__slot *slots)
{
    lfuse_recording *r = lfuse__stream_recording(s);
    const size_t n = (size_t)instance->plan->nnames, groups = (size_t)instance->groups;

    LFUSE__TRY(make_room(r));
    lfuse__recorded_run *run = lfuse__arena_array(&r->memory, 1, sizeof *run);
    lfuse__slot *kept = lfuse__arena_array(&r->memory, 2 * n, sizeof *kept);
    uint64_t *versions = lfuse__arena_array(&r->memory, n, sizeof *versions);
    double *numbers = groups ? lfuse__arena_array(&r->memory, n * groups, sizeof *numbers) : NULL;
    if (!run || !kept || !versions || (groups && !numbers)) return LFUSE_ERR_MEMORY;
    if (n) memcpy(kept, slots, n * sizeof *kept);
    lfuse__slots_retain(kept, (int)n);
    lfuse__instance_retain(instance);
    *run = (lfuse__recorded_run){.index = r->nruns++, .command = r->count, .instance = instance, .nnames = (int)n,
                                 .slots = kept, .versions = versions, .numbers = numbers};
    lfuse__recorded_keep_numbers(run);
    *r->end = run;
    r->end = &run->following;
    r->commands[r->count++] = (lfuse__command){.run = run};
    return LFUSE_OK;
}

static lfuse_status append_bytes(lfuse_stream *s, const lfuse__recorded_bytes *bytes)
{
    lfuse_recording *r = lfuse__stream_recording(s);

    LFUSE__TRY(make_room(r));
    lfuse__range_retain(bytes->to);
    if (bytes->from) lfuse__range_retain(bytes->from);
    r->commands[r->count++] = (lfuse__command){.bytes = *bytes};
    return LFUSE_OK;
}

lfuse_status lfuse__recording_copy(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                                   uint64_t from_offset, uint64_t bytes)
{
    lfuse__recorded_bytes b = {.to = to, .from = from, .to_offset = to_offset, .from_offset = from_offset,
                               .bytes = bytes};
    return append_bytes(s, &b);
}

lfuse_status lfuse__recording_fill(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t pattern,
                                   unsigned pattern_bytes, uint64_t bytes)
{
    lfuse__recorded_bytes b = {.to = to, .to_offset = offset, .bytes = bytes, .pattern = pattern,
                        .pattern_bytes = pattern_bytes};
    return append_bytes(s, &b);
}

lfuse_status lfuse__recording_spoil(lfuse_recording *r, lfuse_status status)
{
    if (status == LFUSE_OK || r->status != LFUSE_OK) return status;
    r->status = status;
    lfuse__error_save(&r->error);
    return status;
}

lfuse_status lfuse__recording_note(lfuse_stream *s, lfuse_status status)
{
    if (__builtin_expect(status == LFUSE_OK, 1)) return LFUSE_OK;
    lfuse_recording *r = lfuse__stream_recording(s);
    return r ? lfuse__recording_spoil(r, status) : status;
}

/* ---- begin and end ---- */

lfuse_status lfuse__record_begin(lfuse_stream *s)
{
    bool capturing;

    LFUSE__TRY(lfuse__stream_usable(s));
    if (lfuse__stream_recording(s)) return lfuse__error(LFUSE_ERR_STATE, "the stream is recording already");
    LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    if (capturing) return lfuse__error(LFUSE_ERR_STATE, "the stream is being captured: nothing can be recorded on it");
    lfuse_recording *r = calloc(1, sizeof *r);
    if (!r) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a recording");
    r->dev = lfuse__stream_device(s);
    lfuse__device_retain(r->dev);
    r->changed = true;
    r->end = &r->runs;
    lfuse__stream_set_recording(s, r);
    return LFUSE_OK;
}

void lfuse__record_abandon(lfuse_stream *s)
{
    if (!s || lfuse__forked()) return;
    lfuse__recording_destroy(lfuse__stream_recording(s));
    lfuse__stream_set_recording(s, NULL);
}

lfuse_binding lfuse__recorded_binding(const lfuse__name *name, const lfuse__slot *slot)
{
    if (slot->list) return lfuse_bind_list(name->text, slot->list);
    if (slot->tensor) return lfuse_bind_tensor(name->text, slot->tensor);
    if (slot->numbers) return lfuse_bind_scalars(name->text, slot->count, slot->numbers);
    return lfuse_bind_scalar(name->text, slot->number);
}

static bool same_strides(const lfuse_tensor *a, const lfuse_tensor *b)
{
    if (!a || !b || a == b || (a->contiguous && b->contiguous)) return true;
    return a->contiguous == b->contiguous && !memcmp(a->strides, b->strides, (size_t)a->rank * sizeof a->strides[0]);
}

/* An instance fits one set of strides at a time. */
static bool at_odds(const lfuse__recorded_run *a, const lfuse__recorded_run *b)
{
    if (a->instance != b->instance) return false;
    for (int i = 0; i < a->nnames; i++)
        if (!same_strides(a->slots[i].tensor, b->slots[i].tensor)) return true;
    return false;
}

/* Gives the run an instance of its own when an earlier run uses the same one with other strides. */
static lfuse_status separate(lfuse_recording *r, lfuse_stream *s, lfuse__recorded_run *run)
{
    lfuse_plan *plan = run->instance->plan;
    const lfuse__recorded_run *other = r->runs;
    lfuse_instance *own;

    while (other != run && !at_odds(other, run)) other = other->following;
    if (other == run) return LFUSE_OK;
    for (int i = 0; i < run->nnames; i++) r->bindings[i] = lfuse__recorded_binding(&plan->names[i], &run->slots[i]);
    const int sizes = lfuse__sizes_repeat(run->instance, run->slots, NULL, 0, r->bindings + run->nnames);
    LFUSE__TRY(lfuse__instance_make(plan, s, r->bindings, run->nnames + sizes, false, &own));
    lfuse__instance_release(run->instance);
    run->instance = own;
    return LFUSE_OK;
}

lfuse_status lfuse__recording_ready(lfuse_recording *r, lfuse_stream *s)
{
    uint64_t need = 0;

    for (lfuse__recorded_run *run = r->runs; run; run = run->following) {
        if (!r->settled) LFUSE__TRY(separate(r, s, run));
        LFUSE__TRY(lfuse__instance_ready(run->instance, run->slots, s));
        /* The plan's own runs may have had other strides meanwhile, and those here are then made once more. */
        if (run->generation != run->instance->generation) r->changed = true;
        run->generation = run->instance->generation;
        if (run->instance->scratch_bytes > need) need = run->instance->scratch_bytes;
    }
    r->settled = true;
    if (need <= (r->scratch ? r->scratch->bytes : 0)) return LFUSE_OK;
    lfuse__range *larger; /* more than before is needed by what was made anew: the graph has changed already */
    LFUSE__TRY(lfuse__range_create(r->dev, need, &larger));
    lfuse__range_release(r->scratch);
    r->scratch = larger;
    return LFUSE_OK;
}

/* Room for the bindings of any run, so that a replay allocates nothing. */
static lfuse_status get_ready(lfuse_recording *r, lfuse_stream *s)
{
    int most = 0;

    for (const lfuse__recorded_run *run = r->runs; run; run = run->following) {
        const lfuse_plan *plan = run->instance->plan;
        if (plan->nnames + plan->nsizes > most) most = plan->nnames + plan->nsizes;
    }
    r->bindings = lfuse__arena_array(&r->memory, (size_t)most, sizeof *r->bindings);
    return r->bindings ? lfuse__recording_ready(r, s) : LFUSE_ERR_MEMORY;
}

lfuse_status lfuse__record_end(lfuse_stream *s, lfuse_recording **recording)
{
    LFUSE__TRY(lfuse__check_fork());
    lfuse_recording *r = lfuse__stream_recording(s);
    if (!r) return lfuse__error(LFUSE_ERR_STATE, "the stream is not recording");
    lfuse__stream_set_recording(s, NULL);
    lfuse_status status = r->status;
    if (status != LFUSE_OK)
        lfuse__error_restore(&r->error);
    else
        status = get_ready(r, s);
    if (status != LFUSE_OK) {
        lfuse__recording_destroy(r);
        return status;
    }
    *recording = r;
    return LFUSE_OK;
}
