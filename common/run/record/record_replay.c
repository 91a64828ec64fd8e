/* SPDX-License-Identifier: Apache-2.0 */
/* Replaying recordings: the list of commands again, or one native graph. */
#include "common/base/log.h"
#include "common/run/record/recording.h"

static lfuse_status submit_bytes(lfuse_stream *s, const lfuse__recorded_bytes *b)
{
    if (b->from) return lfuse__copy(s, b->to, b->to_offset, b->from, b->from_offset, b->bytes);
    return lfuse__fill(s, b->to, b->to_offset, b->pattern, b->pattern_bytes, b->bytes);
}

static lfuse_status submit_all(lfuse_recording *r, lfuse_stream *s)
{
    for (size_t i = 0; i < r->count; i++) {
        const lfuse__command *c = &r->commands[i];
        lfuse_status status = c->run ? lfuse__instance_submit(c->run->instance, c->run->slots, s, r->scratch)
                                     : submit_bytes(s, &c->bytes);
        if (status != LFUSE_OK) return lfuse__error_prefix(status, "recorded command %zu: ", i);
    }
    return LFUSE_OK;
}

/* The list's members may have been replaced since the native graph was made. */
static bool lists_changed(const lfuse_recording *r)
{
    for (const lfuse__recorded_run *run = r->runs; run; run = run->following)
        for (int k = 0; k < run->nnames; k++)
            if (run->slots[k].list && run->slots[k].list->version != run->versions[k]) return true;
    return false;
}

static void remember_lists(lfuse_recording *r)
{
    for (lfuse__recorded_run *run = r->runs; run; run = run->following)
        for (int k = 0; k < run->nnames; k++)
            if (run->slots[k].list) run->versions[k] = run->slots[k].list->version;
}

static void forget_tables(lfuse_recording *r)
{
    for (lfuse__recorded_run *run = r->runs; run; run = run->following) lfuse__instance_forget(run->instance);
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

/*
 * Gives the native graph other arguments of launches, if nothing else has changed. An error may have come from a run
 * that believes itself half done.
 */
static lfuse_status patch(lfuse_recording *r, lfuse_stream *s, bool *fits)
{
    lfuse__saved_error before;
    lfuse_status status, settled;

    LFUSE__TRY(lfuse__native_follow(s, r->native));
    forget_tables(r);
    status = submit_all(r, s);
    if (status != LFUSE_OK) {
        lfuse__error_save(&before);
        (void)lfuse__native_settle(s, r->native, fits);
        lfuse__error_restore(&before);
        return status;
    }
    lfuse__error_save(&before);
    settled = lfuse__native_settle(s, r->native, fits);
    if (settled == LFUSE_ERR_UNSUPPORTED) {
        lfuse__error_restore(&before);
        return LFUSE_OK;
    }
    if (settled != LFUSE_OK || !*fits) return settled;
    remember_lists(r);
    r->changed = false;
    return LFUSE_OK;
}

static lfuse_status replay_list(lfuse_recording *r, lfuse_stream *s)
{
    return lfuse__recording_spoil(r, submit_all(r, s));
}

/* Reports of a native graph's kernels belong to the stream that it is launched on. */
static lfuse_status watch(lfuse_recording *r, lfuse_stream *s)
{
    for (lfuse__recorded_run *run = r->runs; run; run = run->following)
        LFUSE__TRY(lfuse__instance_watch(run->instance, s));
    return LFUSE_OK;
}

static bool has_unified(const lfuse_recording *r)
{
    for (const lfuse__recorded_run *run = r->runs; run; run = run->following)
        if (lfuse__instance_unified(run->instance)) return true;
    return false;
}

static lfuse_status replay_native(lfuse_recording *r, lfuse_stream *s)
{
    if (has_unified(r)) return replay_list(r, s);
    bool fits = r->native && !r->changed && !lists_changed(r);
    if (!fits && r->native) {
        r->changed = true;
        LFUSE__TRY(lfuse__recording_spoil(r, patch(r, s, &fits)));
    }
    if (!fits) {
        bool begun;
        r->changed = true;
        lfuse_status status = capture(r, s, &begun);
        if (!begun && status == LFUSE_ERR_UNSUPPORTED) {
            lfuse__log(LFUSE_LOG_INFO, "replaying as a list of launches: %s", lfuse__error_message());
            return replay_list(r, s);
        }
        if (status != LFUSE_OK) return begun ? lfuse__recording_spoil(r, status) : status;
    }
    LFUSE__TRY(watch(r, s));
    lfuse_status status = lfuse__native_launch(s, r->native);
    forget_tables(r);
    return lfuse__recording_spoil(r, status);
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
    if (count) LFUSE__TRY(lfuse__recording_rebind(r, s, bindings, count));
    if (!r->count) return LFUSE_OK;
    LFUSE__TRY(lfuse__recording_ready(r, s));
    LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    if (capturing) return replay_captured(r, s);
    return lfuse__device_facts(r->dev)->info.native_graph ? replay_native(r, s) : replay_list(r, s);
}
