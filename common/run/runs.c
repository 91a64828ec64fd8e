/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of instances, at once or into the recording of their stream. */
#include "common/base/error.h"
#include "common/run/launch/launch.h"

/* Submits what is resolved, or records it. */
static lfuse_status submit(lfuse_instance *in)
{
    if (__builtin_expect(lfuse__stream_recording(in->stream) != NULL, 0))
        return lfuse__recording_append(in->stream, in, in->slots);
    return lfuse__instance_submit(in, in->slots, NULL, NULL);
}

static lfuse_status run(lfuse_instance *in, const lfuse_binding *bindings, int count)
{
    LFUSE__TRY(lfuse__stream_usable(in->stream));
    LFUSE__TRY(lfuse__instance_resolve(in, bindings, count, in->slots));
    return submit(in);
}

lfuse_status lfuse__instance_run(lfuse_instance *in, const lfuse_binding *bindings, int count)
{
    return lfuse__recording_note(in->stream, run(in, bindings, count));
}

lfuse_status lfuse__instance_run_matched(lfuse_instance *in)
{
    return submit(in);
}

lfuse_status lfuse__instance_refresh(lfuse_instance *in)
{
    LFUSE__TRY(lfuse__stream_usable(in->stream));
    if (in->status) return lfuse__error(LFUSE_ERR_STATE, "an earlier run of the instance failed: %s", in->error.text);
    if (lfuse__stream_recording(in->stream))
        return lfuse__recording_note(in->stream, lfuse__error(LFUSE_ERR_STATE, "a refresh cannot be recorded"));
    return lfuse__submit_prepare(in);
}
