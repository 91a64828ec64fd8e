/* SPDX-License-Identifier: Apache-2.0 */
/* Streams let go of the reports that they watch; report.c reads them. */
#include "common/device/internal.h"

#include <stdlib.h>

void lfuse__reports_release(lfuse__reports *r)
{
    if (!r || atomic_fetch_sub_explicit(&r->references, 1, memory_order_acq_rel) != 1) return;
    lfuse__range_release(r->range);
    r->owner.release(r->owner.data);
    free(r);
}

void lfuse__stream_unwatch(lfuse_stream *s, bool all)
{
    int i, kept = 0;

    for (i = 0; i < s->nwatched; i++) {
        if (s->watched[i].kept && !all) s->watched[kept++] = s->watched[i];
        else lfuse__reports_release(s->watched[i].reports);
    }
    s->nwatched = kept;
}
