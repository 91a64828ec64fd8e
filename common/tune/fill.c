/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of what is measured. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/half.h"
#include "common/tune/tuner.h"

static void put(lfuse_type type, void *to, int i, double x)
{
    switch (type) {
    case LFUSE_F32: ((float *)to)[i] = (float)x; break;
    case LFUSE_F64: ((double *)to)[i] = x; break;
    default: lfuse__narrow_put(type, to, i, x); break;
    }
}

/*
 * Numbers from -1 to 1 that look random: a device draws less power, and so keeps a higher clock, on constant data. The
 * period is odd, so that rows differ.
 */
lfuse_status lfuse__fill_random(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t bytes, lfuse_type type)
{
    enum { PERIOD = 4093 };
    const uint64_t period = PERIOD * (uint64_t)lfuse_type_size(type);
    uint64_t done = bytes < period ? bytes : period, piece;
    uint32_t state = 1;
    void *host = malloc(period);
    lfuse_status status;
    int i;

    if (!host) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRIu64 " bytes)", period);
    for (i = 0; i < PERIOD; i++) {
        state = state * 1664525u + 1013904223u;
        put(type, host, i, (double)state * 0x1p-31 - 1);
    }
    status = lfuse__write(s, to, offset, host, done);
    if (!status) status = lfuse__stream_sync(s);
    free(host);
    for (; done < bytes && !status; done += piece) {
        piece = bytes - done < done ? bytes - done : done;
        status = lfuse__copy(s, to, offset + done, to, offset, piece);
    }
    return status;
}
