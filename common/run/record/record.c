/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording. A recording is a list of commands, each with references to all that it uses, and scratch memory of its
 * own. Replaying (record_replay.c) submits the list again, or launches the native graph that the list was made into.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void free_command(lfuse__command *c)
{
    if (c->is_run) {
        lfuse__slots_release(c->as.run.slots, c->as.run.nnames);
        free(c->as.run.slots);
        free(c->as.run.versions);
        free(c->as.run.numbers);
        lfuse__instance_release(c->as.run.instance);
    } else {
        lfuse__range_release(c->as.bytes.to);
        lfuse__range_release(c->as.bytes.from);
    }
}

void lfuse__recording_destroy(lfuse_recording *r)
{
    if (!r || lfuse__forked()) return;
    lfuse__forms_free(r);
    lfuse__native_destroy(r->native);
    for (size_t i = 0; i < r->count; i++) free_command(&r->commands[i]);
    lfuse__range_release(r->scratch);
    lfuse__device_release(r->dev);
    free(r->bindings);
    free(r->commands);
    free(r);
}

static lfuse_status make_room(lfuse_recording *r)
{
    if (r->count < r->capacity) return LFUSE_OK;
    size_t capacity = r->capacity ? 2 * r->capacity : 16;
    lfuse__command *grown = realloc(r->commands, capacity * sizeof *grown);
    if (!grown) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for %zu recorded commands", capacity);
    r->commands = grown;
    r->capacity = capacity;
    return LFUSE_OK;
}

void lfuse__recorded_keep_numbers(lfuse__recorded_run *run)
{
    const int64_t groups = lfuse__instance_groups(run->instance);

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
    const int n = lfuse__instance_plan(instance)->nnames;

    LFUSE__TRY(make_room(r));
    lfuse__slot *kept = calloc(2 * (size_t)n + 1, sizeof *kept);
    uint64_t *versions = calloc((size_t)n + 1, sizeof *versions);
    const size_t groups = (size_t)lfuse__instance_groups(instance);
    double *numbers = groups ? calloc((size_t)n * groups + 1, sizeof *numbers) : NULL;
    if (!kept || !versions || (groups && !numbers)) {
        free(numbers);
        free(versions);
        free(kept);
        return lfuse__error(LFUSE_ERR_MEMORY, "no memory to record a run with %d names", n);
    }
    if (n) memcpy(kept, slots, (size_t)n * sizeof *kept);
    lfuse__slots_retain(kept, n);
    lfuse__instance_retain(instance);
    r->commands[r->count++] =
        (lfuse__command){.is_run = true, .as.run = {.instance = instance, .nnames = n, .slots = kept,
                                                    .versions = versions, .numbers = numbers}};
    lfuse__recorded_keep_numbers(&r->commands[r->count - 1].as.run);
    return LFUSE_OK;
}

static lfuse_status append_bytes(lfuse_stream *s, const lfuse__recorded_bytes *bytes)
{
    lfuse_recording *r = lfuse__stream_recording(s);

    LFUSE__TRY(make_room(r));
    lfuse__range_retain(bytes->to);
    if (bytes->from) lfuse__range_retain(bytes->from);
    r->commands[r->count++] = (lfuse__command){.is_run = false, .as.bytes = *bytes};
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
static lfuse_status separate(lfuse_recording *r, lfuse_stream *s, size_t at)
{
    lfuse__recorded_run *run = &r->commands[at].as.run;
    const lfuse_plan *plan = lfuse__instance_plan(run->instance);
    lfuse_instance *own;
    bool odd = false;

    for (size_t i = 0; i < at && !odd; i++)
        odd = r->commands[i].is_run && at_odds(&r->commands[i].as.run, run);
    if (!odd) return LFUSE_OK;
    for (int i = 0; i < run->nnames; i++) r->bindings[i] = lfuse__recorded_binding(&plan->names[i], &run->slots[i]);
    const int sizes = lfuse__sizes_repeat(run->instance, run->slots, NULL, 0, r->bindings + run->nnames);
    LFUSE__TRY(lfuse__instance_create(lfuse__instance_plan(run->instance), s, r->bindings, run->nnames + sizes, &own));
    lfuse__instance_release(run->instance);
    run->instance = own;
    return LFUSE_OK;
}

lfuse_status lfuse__recording_ready(lfuse_recording *r, lfuse_stream *s)
{
    uint64_t need = 0;

    for (size_t i = 0; i < r->count; i++) {
        lfuse__recorded_run *run = &r->commands[i].as.run;
        if (!r->commands[i].is_run) continue;
        if (!r->settled) LFUSE__TRY(separate(r, s, i));
        LFUSE__TRY(lfuse__instance_ready(run->instance, run->slots, s));
        /* The plan's own runs may have had other strides meanwhile, and those here are then made once more. */
        if (run->generation != lfuse__instance_generation(run->instance)) r->changed = true;
        run->generation = lfuse__instance_generation(run->instance);
        const uint64_t bytes = lfuse__instance_scratch_bytes(run->instance);
        if (bytes > need) need = bytes;
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

    for (size_t i = 0; i < r->count; i++) {
        if (!r->commands[i].is_run) continue;
        const lfuse_plan *plan = lfuse__instance_plan(r->commands[i].as.run.instance);
        if (plan->nnames + plan->nsizes > most) most = plan->nnames + plan->nsizes;
    }
    r->bindings = calloc((size_t)most + 1, sizeof *r->bindings);
    if (!r->bindings) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a recording's %d bindings", most);
    return lfuse__recording_ready(r, s);
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
