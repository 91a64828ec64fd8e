/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/error.h"
#include "common/run/lists/lists.h"

lfuse_status lfuse__table_write(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__range *to, uint64_t offset,
                                const uint64_t *values, int count)
{
    lfuse__bmem *const buffer = to->mem;
    lfuse__packed packed;

    LFUSE__TRY(lfuse__table_pack(lfuse__device_facts(to->dev), to->offset + offset, values, count, &packed));
    return lfuse__launch(s, kernel, &(lfuse__launch_args){ .groups = packed.groups, .group = packed.group,
                                                           .nbuffers = 1, .buffers = &buffer,
                                                           .nwords = packed.nwords, .words = packed.words });
}
