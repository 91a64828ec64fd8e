/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/record.h"

#include "common/api/need.h"
#include "common/run/run.h"

lfuse_status lfuse_record_begin(lfuse_stream *stream)
{
    NEED(stream);
    return lfuse__record_begin(stream);
}

lfuse_status lfuse_record_end(lfuse_stream *stream, lfuse_recording **recording)
{
    NEED(stream);
    NEED(recording);
    return lfuse__record_end(stream, recording);
}

lfuse_status lfuse_recording_replay(lfuse_recording *recording, lfuse_stream *stream, const lfuse_binding *bindings,
                                    int count)
{
    NEED(recording);
    NEED(stream);
    if (count > 0) NEED(bindings);
    return lfuse__recording_replay(recording, stream, bindings, count);
}

void lfuse_recording_destroy(lfuse_recording *recording)
{
    lfuse__recording_destroy(recording);
}
