/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's memory as a stream's scratch. */
#include "common/base/error.h"
#include "common/run/instance.h"

static lfuse_status not_captured(lfuse_stream *s)
{
    bool capturing = false;

    LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    if (!capturing) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_STATE, "the stream is being captured: its scratch memory cannot be changed now");
}

lfuse_status lfuse__scratch_set(lfuse_stream *stream, const lfuse_tensor *memory)
{
    LFUSE__TRY(lfuse__stream_usable(stream));
    if (lfuse__stream_recording(stream))
        return lfuse__error(LFUSE_ERR_STATE, "the stream records: its scratch memory cannot be changed now");
    LFUSE__TRY(not_captured(stream));
    if (!memory) return lfuse__stream_lend(stream, NULL, 0, 0);
    LFUSE__TRY(lfuse__stream_same_device(stream, memory->range->dev, "the scratch memory"));
    if (!memory->contiguous)
        return lfuse__error(LFUSE_ERR_INVALID, "scratch memory is a contiguous tensor: this one has other strides");
    return lfuse__stream_lend(stream, memory->range, memory->low, memory->high - memory->low);
}
