/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record and replay. A recording is a list of commands, each with references to all that it uses, and scratch memory of
 * its own. Replaying submits the list again, or launches the native graph that the list was made into once.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/run.h"

typedef struct recorded_run {
    lfuse_instance *instance;
    int nnames;
    lfuse__slot *slots; /* hold references; slots[nnames ...] is the other half, room for what a replay binds anew */
    double *numbers;    /* [nnames][groups] of scalars with a number for each group, where there are groups */
    uint64_t *versions; /* [nnames] of the lists, when the native graph was made */
    bool rebound;       /* the other half is filled */
} recorded_run;

typedef struct recorded_bytes {
    lfuse__range *to, *from; /* from NULL: a fill */
    uint64_t to_offset, from_offset, bytes, pattern;
    unsigned pattern_bytes;
} recorded_bytes;

typedef struct command {
    bool is_run;
    union {
        recorded_run run;
        recorded_bytes bytes;
    } as;
} command;

struct lfuse_recording {
    lfuse_device *dev; /* one reference */
    command *commands;
    size_t count, capacity;
    lfuse_status status; /* of the first refused run, or of what made the recording useless */
    lfuse__saved_error error;
    lfuse__range *scratch; /* NULL when no run needs any */
    lfuse_binding *bindings; /* room for those of the run with most names */
    lfuse__native *native;   /* NULL until first replayed that way */
    bool changed;            /* the native graph does not hold the present slots */
    bool settled;            /* no instance has to serve two sets of strides */
};

/* ---- making and freeing ---- */

static void retain_slots(const lfuse__slot *slots, int n)
{
    for (int i = 0; i < n; i++) {
        if (slots[i].tensor) lfuse__tensor_retain(slots[i].tensor);
        if (slots[i].list) lfuse__list_retain(slots[i].list);
    }
}

static void release_slots(const lfuse__slot *slots, int n)
{
    for (int i = 0; i < n; i++) {
        lfuse__tensor_release(slots[i].tensor);
        lfuse__list_release(slots[i].list);
    }
}

static void free_command(command *c)
{
    if (c->is_run) {
        release_slots(c->as.run.slots, c->as.run.nnames);
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
    command *grown = realloc(r->commands, capacity * sizeof *grown);
    if (!grown) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for %zu recorded commands", capacity);
    r->commands = grown;
    r->capacity = capacity;
    return LFUSE_OK;
}

/* Numbers by group are the caller's: into memory of the recording's own, where they may be already. */
static void keep_numbers(recorded_run *run)
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
    retain_slots(kept, n);
    lfuse__instance_retain(instance);
    r->commands[r->count++] =
        (command){.is_run = true, .as.run = {.instance = instance, .nnames = n, .slots = kept, .versions = versions,
                                             .numbers = numbers}};
    keep_numbers(&r->commands[r->count - 1].as.run);
    return LFUSE_OK;
}

static lfuse_status append_bytes(lfuse_stream *s, const recorded_bytes *bytes)
{
    lfuse_recording *r = lfuse__stream_recording(s);

    LFUSE__TRY(make_room(r));
    lfuse__range_retain(bytes->to);
    if (bytes->from) lfuse__range_retain(bytes->from);
    r->commands[r->count++] = (command){.is_run = false, .as.bytes = *bytes};
    return LFUSE_OK;
}

lfuse_status lfuse__recording_copy(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                                   uint64_t from_offset, uint64_t bytes)
{
    recorded_bytes b = {.to = to, .from = from, .to_offset = to_offset, .from_offset = from_offset, .bytes = bytes};
    return append_bytes(s, &b);
}

lfuse_status lfuse__recording_fill(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t pattern,
                                   unsigned pattern_bytes, uint64_t bytes)
{
    recorded_bytes b = {.to = to, .to_offset = offset, .bytes = bytes, .pattern = pattern,
                        .pattern_bytes = pattern_bytes};
    return append_bytes(s, &b);
}

static lfuse_status spoil(lfuse_recording *r, lfuse_status status)
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
    return r ? spoil(r, status) : status;
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

/* The binding that repeats what the slot holds. */
static lfuse_binding binding_of(const lfuse__name *name, const lfuse__slot *slot)
{
    if (slot->list) return lfuse_bind_list(name->text, slot->list);
    if (slot->tensor) return lfuse_bind_tensor(name->text, slot->tensor);
    if (slot->numbers) return lfuse_bind_numbers(name->text, slot->count, slot->numbers);
    return lfuse_bind_number(name->text, slot->number);
}

static bool same_strides(const lfuse_tensor *a, const lfuse_tensor *b)
{
    if (!a || !b || a == b || (a->contiguous && b->contiguous)) return true;
    return a->contiguous == b->contiguous && !memcmp(a->strides, b->strides, (size_t)a->rank * sizeof a->strides[0]);
}

/* An instance fits one set of strides at a time. */
static bool at_odds(const recorded_run *a, const recorded_run *b)
{
    if (a->instance != b->instance) return false;
    for (int i = 0; i < a->nnames; i++)
        if (!same_strides(a->slots[i].tensor, b->slots[i].tensor)) return true;
    return false;
}

/* Gives the run an instance of its own when an earlier run uses the same one with other strides. */
static lfuse_status separate(lfuse_recording *r, lfuse_stream *s, size_t at)
{
    recorded_run *run = &r->commands[at].as.run;
    const lfuse_plan *plan = lfuse__instance_plan(run->instance);
    lfuse_instance *own;
    bool odd = false;

    for (size_t i = 0; i < at && !odd; i++)
        odd = r->commands[i].is_run && at_odds(&r->commands[i].as.run, run);
    if (!odd) return LFUSE_OK;
    for (int i = 0; i < run->nnames; i++) r->bindings[i] = binding_of(&plan->names[i], &run->slots[i]);
    LFUSE__TRY(lfuse__instance_create(lfuse__instance_plan(run->instance), s, r->bindings, run->nnames, &own));
    lfuse__instance_release(run->instance);
    run->instance = own;
    return LFUSE_OK;
}

/*
 * Makes everything that the runs need before one of them is submitted: instances for the strides that are bound, and
 * scratch as large as the largest need. Does nothing where nothing has changed since the last time.
 */
static lfuse_status get_ready(lfuse_recording *r, lfuse_stream *s)
{
    uint64_t need = 0;

    for (size_t i = 0; i < r->count; i++) {
        recorded_run *run = &r->commands[i].as.run;
        if (!r->commands[i].is_run) continue;
        if (!r->settled) LFUSE__TRY(separate(r, s, i));
        LFUSE__TRY(lfuse__instance_ready(run->instance, run->slots, s));
        const uint64_t bytes = lfuse__instance_scratch_bytes(run->instance);
        if (bytes > need) need = bytes;
    }
    r->settled = true;
    if (need <= (r->scratch ? r->scratch->bytes : 0)) return LFUSE_OK;
    lfuse__range *larger;
    LFUSE__TRY(lfuse__range_create(r->dev, need, &larger));
    lfuse__range_release(r->scratch);
    r->scratch = larger;
    r->changed = true;
    return LFUSE_OK;
}

/* Room for the bindings of any run, so that a replay allocates nothing. */
static lfuse_status furnish(lfuse_recording *r, lfuse_stream *s)
{
    int names = 0;

    for (size_t i = 0; i < r->count; i++)
        if (r->commands[i].is_run && r->commands[i].as.run.nnames > names) names = r->commands[i].as.run.nnames;
    r->bindings = calloc((size_t)names + 1, sizeof *r->bindings);
    if (!r->bindings) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a recording's %d bindings", names);
    return get_ready(r, s);
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
        status = furnish(r, s);
    if (status != LFUSE_OK) {
        lfuse__recording_destroy(r);
        return status;
    }
    *recording = r;
    return LFUSE_OK;
}

/* ---- new bindings ---- */

static int find_name(const lfuse_plan *plan, const char *name)
{
    for (int i = 0; i < plan->nnames; i++)
        if (!strcmp(plan->names[i].text, name)) return i;
    return -1;
}

static bool is_used(const lfuse_recording *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->commands[i].is_run && find_name(lfuse__instance_plan(r->commands[i].as.run.instance), name) >= 0)
            return true;
    return false;
}

static bool binds_numbers(const lfuse_binding *b)
{
    return b->kind == LFUSE_BIND_NUMBER || b->kind == LFUSE_BIND_NUMBERS;
}

static lfuse_status check_bindings(const lfuse_recording *r, const lfuse_binding *bindings, int count)
{
    if (count < 0) return lfuse__error(LFUSE_ERR_INVALID, "%d bindings", count);
    for (int i = 0; i < count; i++) {
        const lfuse_binding *b = &bindings[i];
        if (!b->name) return lfuse__error(LFUSE_ERR_BINDING, "binding %d has no name: a replay binds by name", i);
        if (b->kind != LFUSE_BIND_TENSOR && !binds_numbers(b))
            return lfuse__error(LFUSE_ERR_BINDING, "\"%s\": a replay can bind tensors and numbers anew, nothing else",
                                b->name);
        if (b->kind == LFUSE_BIND_TENSOR && !b->as.tensor)
            return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound to no tensor (NULL)", b->name);
        for (int j = 0; j < i; j++)
            if (!strcmp(bindings[j].name, b->name))
                return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound twice, by bindings %d and %d", b->name, j, i);
        if (!is_used(r, b->name)) return lfuse__error(LFUSE_ERR_NAME, "no recorded run has the name \"%s\"", b->name);
    }
    return LFUSE_OK;
}

static lfuse_status check_replaced(const lfuse__name *name, const lfuse__slot *slot, const lfuse_binding *b)
{
    if (name->kind == LFUSE__NAME_FROZEN)
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is frozen: it was bound when its instance was made", b->name);
    if (slot->list)
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is a list: replace its members by lfuse_list_replace", b->name);
    if (binds_numbers(b) != (name->kind == LFUSE__NAME_SCALAR))
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is a %s", b->name,
                            name->kind == LFUSE__NAME_SCALAR ? "number" : "tensor");
    return LFUSE_OK;
}

/* Resolves the run with what is bound anew, into the other half of its slots; all checks are the run's own. */
static lfuse_status rebind_run(lfuse_recording *r, recorded_run *run, const lfuse_binding *bindings, int count)
{
    const lfuse_plan *plan = lfuse__instance_plan(run->instance);
    int n = 0, replaced = 0;

    for (int i = 0; i < plan->nnames; i++) {
        const lfuse__name *name = &plan->names[i];
        const lfuse_binding *b = NULL;
        for (int j = 0; j < count && !b; j++)
            if (!strcmp(bindings[j].name, name->text)) b = &bindings[j];
        if (b) {
            LFUSE__TRY(check_replaced(name, &run->slots[i], b));
            r->bindings[n++] = *b;
            replaced++;
        } else if (name->kind != LFUSE__NAME_FROZEN) {
            r->bindings[n++] = binding_of(name, &run->slots[i]);
        }
    }
    if (!replaced) return LFUSE_OK;
    LFUSE__TRY(lfuse__instance_resolve(run->instance, r->bindings, n, run->slots + run->nnames));
    run->rebound = true;
    return LFUSE_OK;
}

static bool same_slot(const lfuse__slot *a, const lfuse__slot *b)
{
    return a->tensor == b->tensor && a->list == b->list && !memcmp(&a->number, &b->number, sizeof a->number) &&
           a->count == b->count && (!a->count || !memcmp(a->numbers, b->numbers, (size_t)a->count * sizeof(double)));
}

static void take_rebound(lfuse_recording *r, recorded_run *run)
{
    const size_t n = (size_t)run->nnames;

    for (size_t i = 0; i < n; i++) {
        if (!same_slot(&run->slots[i], &run->slots[n + i])) r->changed = true;
        if (run->slots[i].tensor != run->slots[n + i].tensor) r->settled = false;
    }
    retain_slots(run->slots + n, run->nnames);
    release_slots(run->slots, run->nnames);
    memcpy(run->slots, run->slots + n, n * sizeof *run->slots);
    keep_numbers(run);
    run->rebound = false;
}

/* All runs take the new bindings, or none does. */
static lfuse_status rebind(lfuse_recording *r, const lfuse_binding *bindings, int count)
{
    lfuse_status status = check_bindings(r, bindings, count);

    for (size_t i = 0; i < r->count && status == LFUSE_OK; i++) {
        if (!r->commands[i].is_run) continue;
        status = rebind_run(r, &r->commands[i].as.run, bindings, count);
        if (status != LFUSE_OK) status = lfuse__error_prefix(status, "recorded command %zu: ", i);
    }
    for (size_t i = 0; i < r->count; i++) {
        recorded_run *run = &r->commands[i].as.run;
        if (!r->commands[i].is_run || !run->rebound) continue;
        if (status == LFUSE_OK)
            take_rebound(r, run);
        else
            run->rebound = false;
    }
    return status;
}

/* ---- replay ---- */

static lfuse_status submit_bytes(lfuse_stream *s, const recorded_bytes *b)
{
    if (b->from) return lfuse__copy(s, b->to, b->to_offset, b->from, b->from_offset, b->bytes);
    return lfuse__fill(s, b->to, b->to_offset, b->pattern, b->pattern_bytes, b->bytes);
}

static lfuse_status submit_all(lfuse_recording *r, lfuse_stream *s)
{
    for (size_t i = 0; i < r->count; i++) {
        const command *c = &r->commands[i];
        lfuse_status status = c->is_run ? lfuse__instance_submit(c->as.run.instance, c->as.run.slots, s, r->scratch)
                                        : submit_bytes(s, &c->as.bytes);
        if (status != LFUSE_OK) return lfuse__error_prefix(status, "recorded command %zu: ", i);
    }
    return LFUSE_OK;
}

/* The list's members may have been replaced since the native graph was made. */
static bool lists_changed(const lfuse_recording *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (!r->commands[i].is_run) continue;
        const recorded_run *run = &r->commands[i].as.run;
        for (int k = 0; k < run->nnames; k++)
            if (run->slots[k].list && run->slots[k].list->version != run->versions[k]) return true;
    }
    return false;
}

static void remember_lists(lfuse_recording *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (!r->commands[i].is_run) continue;
        recorded_run *run = &r->commands[i].as.run;
        for (int k = 0; k < run->nnames; k++)
            if (run->slots[k].list) run->versions[k] = run->slots[k].list->version;
    }
}

static void forget_tables(lfuse_recording *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->commands[i].is_run) lfuse__instance_forget(r->commands[i].as.run.instance);
}

/*
 * Makes the list into a native graph, or the one that is there into the present list's. The capture is ended whatever
 * happens in it. `begun` tells whether instances may believe things that a failed capture never did.
 */
static lfuse_status capture(lfuse_recording *r, lfuse_stream *s, bool *begun)
{
    lfuse__native *unfinished = NULL;
    lfuse__saved_error first;

    *begun = false;
    LFUSE__TRY(lfuse__native_begin(s));
    *begun = true;
    forget_tables(r);
    lfuse_status status = submit_all(r, s);
    if (status != LFUSE_OK) {
        lfuse__error_save(&first);
        if (lfuse__native_end(s, &unfinished) == LFUSE_OK) lfuse__native_destroy(unfinished);
        lfuse__error_restore(&first);
        return status;
    }
    LFUSE__TRY(lfuse__native_end(s, &r->native));
    remember_lists(r);
    r->changed = false;
    return LFUSE_OK;
}

static lfuse_status replay_list(lfuse_recording *r, lfuse_stream *s)
{
    return spoil(r, submit_all(r, s));
}

/* Reports of a native graph's kernels belong to the stream that it is launched on. */
static lfuse_status watch(lfuse_recording *r, lfuse_stream *s)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->commands[i].is_run) LFUSE__TRY(lfuse__instance_watch(r->commands[i].as.run.instance, s));
    return LFUSE_OK;
}

static bool has_unified(const lfuse_recording *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->commands[i].is_run && lfuse__instance_unified(r->commands[i].as.run.instance)) return true;
    return false;
}

static lfuse_status replay_native(lfuse_recording *r, lfuse_stream *s)
{
    if (has_unified(r)) return replay_list(r, s);
    if (r->changed || !r->native || lists_changed(r)) {
        bool begun;
        r->changed = true;
        lfuse_status status = capture(r, s, &begun);
        if (!begun && status == LFUSE_ERR_UNSUPPORTED) {
            lfuse__log(LFUSE_LOG_INFO, "replaying as a list of launches: %s", lfuse__error_message());
            return replay_list(r, s);
        }
        if (status != LFUSE_OK) return begun ? spoil(r, status) : status;
    }
    LFUSE__TRY(watch(r, s));
    lfuse_status status = lfuse__native_launch(s, r->native);
    forget_tables(r);
    return spoil(r, status);
}

/* Into the caller's own capture, which takes up launches but no graph. */
static lfuse_status replay_captured(lfuse_recording *r, lfuse_stream *s)
{
    forget_tables(r);
    lfuse_status status = replay_list(r, s);
    forget_tables(r);
    return status;
}

static lfuse_status check_replay(const lfuse_recording *r, lfuse_stream *s)
{
    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(lfuse__stream_same_device(s, r->dev, "the recording"));
    if (lfuse__stream_recording(s))
        return lfuse__recording_note(s, lfuse__error(LFUSE_ERR_STATE, "a replay cannot be recorded"));
    if (r->status != LFUSE_OK)
        return lfuse__error(LFUSE_ERR_STATE, "the recording is of no more use, an earlier replay failed: %s",
                            r->error.text);
    return LFUSE_OK;
}

lfuse_status lfuse__recording_replay(lfuse_recording *r, lfuse_stream *s, const lfuse_binding *bindings, int count)
{
    bool capturing = false;

    LFUSE__TRY(check_replay(r, s));
    if (count) LFUSE__TRY(rebind(r, bindings, count));
    if (!r->count) return LFUSE_OK;
    LFUSE__TRY(get_ready(r, s));
    const lfuse__facts *facts = lfuse__device_facts(r->dev);
    if (facts->capture) LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    if (capturing) return replay_captured(r, s);
    return facts->info.native_graph ? replay_native(r, s) : replay_list(r, s);
}
