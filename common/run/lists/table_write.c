/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/base/error.h"
#include "common/run/lists/lists.h"

static lfuse_status write_words(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__range *to, uint64_t offset,
                                const uint64_t *values, size_t count)
{
    lfuse__bmem *const buffer = to->mem;
    lfuse__packed packed;

    LFUSE__TRY(lfuse__table_pack(lfuse__device_facts(to->dev), to->offset + offset, values, (int)count, &packed));
    return lfuse__launch(s, kernel, &(lfuse__launch_args){ .groups = packed.groups, .group = packed.group,
                                                           .nbuffers = 1, .buffers = &buffer,
                                                           .nwords = packed.nwords, .words = packed.words });
}

/* What differs, in stretches that one launch can carry. */
lfuse_status lfuse__table_update(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__range *to, uint64_t offset,
                                 uint64_t *held, const uint64_t *fresh, size_t count, bool all)
{
    size_t i = 0, n;

    while (i < count) {
        if (!all && held[i] == fresh[i]) {
            i++;
            continue;
        }
        n = count - i < LFUSE__TABLE_WORDS ? count - i : LFUSE__TABLE_WORDS;
        LFUSE__TRY(write_words(s, kernel, to, offset + i * sizeof *fresh, fresh + i, n));
        memcpy(held + i, fresh + i, n * sizeof *held);
        i += n;
    }
    return LFUSE_OK;
}

lfuse_status lfuse__table_upload(lfuse_device *dev, lfuse__range *to, uint64_t offset, const void *host, uint64_t bytes)
{
    lfuse_stream *s;
    lfuse_status status;

    if (!bytes) return LFUSE_OK;
    LFUSE__TRY(lfuse__device_stream(dev, &s));
    lfuse__device_lock_sync(dev);
    status = lfuse__write(s, to, offset, host, bytes);
    if (!status) status = lfuse__stream_sync(s);
    lfuse__device_unlock_sync(dev);
    return status;
}
