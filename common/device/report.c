/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors that depend on data: kernels write the first one into a buffer of their instance, and the streams that the
 * instance ran on read it when they are synchronised. Nothing is read, and so nothing waits, at any other time.
 */
#include "common/device/internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/array.h"

/* The words of a buffer, as the prelude's LOOK_UP writes them. */
enum { CLAIMED, REPORTER, ELEMENT, INDEX, EXTENT };

static lfuse_status clear(lfuse_device *dev, lfuse__range *range)
{
    lfuse_stream *s;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_stream(dev, &s));
    lfuse__device_lock_sync(dev);
    status = lfuse__fill(s, range, 0, 0, 8, range->bytes);
    if (!status) status = lfuse__stream_sync(s);
    lfuse__device_unlock_sync(dev);
    return status;
}

lfuse_status lfuse__reports_create(lfuse_device *dev, const lfuse__reports_owner *owner, lfuse__reports **reports)
{
    lfuse__reports *r = calloc(1, sizeof *r);
    lfuse_status status;

    if (!r) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *r);
    status = lfuse__range_create(dev, 8 * LFUSE__REPORT_WORDS, &r->range);
    if (status) goto err_free;
    status = clear(dev, r->range);
    if (status) goto err_release;
    atomic_init(&r->references, 1);
    r->owner = *owner;
    *reports = r;
    return LFUSE_OK;

err_release:
    lfuse__range_release(r->range);
err_free:
    free(r);
    return status;
}

const lfuse__range *lfuse__reports_range(const lfuse__reports *r)
{
    return r->range;
}

static lfuse__watched *find(lfuse_stream *s, const lfuse__reports *r)
{
    int i;

    for (i = 0; i < s->nwatched; i++)
        if (s->watched[i].reports == r) return &s->watched[i];
    return NULL;
}

static lfuse_status add(lfuse_stream *s, lfuse__reports *r, lfuse__watched **added)
{
    LFUSE__TRY(lfuse__array_grow(&s->watched, &s->watched_capacity, (size_t)s->nwatched + 1, sizeof *s->watched));
    *added = &s->watched[s->nwatched++];
    **added = (lfuse__watched){ .reports = r };
    atomic_fetch_add_explicit(&r->references, 1, memory_order_relaxed);
    return LFUSE_OK;
}

/* What is captured may run at any time later, without a word to the library. */
lfuse_status lfuse__stream_watch(lfuse_stream *s, lfuse__reports *r)
{
    lfuse__watched *w = find(s, r);
    bool capturing = false;

    if (!w) LFUSE__TRY(add(s, r, &w));
    if (!w->kept) LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    w->kept = w->kept || (capturing && !s->making);
    return LFUSE_OK;
}

static lfuse_status read_all(lfuse_stream *s)
{
    bool capturing = false;
    int i;

    for (i = 0; i < s->nwatched; i++) s->watched[i].words[CLAIMED] = 0;
    LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    for (i = 0; i < s->nwatched && !capturing; i++)
        LFUSE__TRY(lfuse__read(s, s->watched[i].reports->range, 0, s->watched[i].words, sizeof s->watched[i].words));
    return LFUSE_OK;
}

static lfuse_status error_of(const lfuse__watched *w)
{
    const lfuse__reports_owner *owner = &w->reports->owner;
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;

    owner->describe(owner->data, w->words[REPORTER], &text);
    status = lfuse__error(LFUSE_ERR_INDEX, "%s: element %" PRIu64 " looks up index %" PRId64 " of %" PRIu64,
                          text.data ? text.data : "", w->words[ELEMENT], (int64_t)w->words[INDEX], w->words[EXTENT]);
    lfuse__strbuf_free(&text);
    return status;
}

/* The first report in the order of submission; all of them are cleared. */
static lfuse_status take_reports(lfuse_stream *s)
{
    lfuse_status first = LFUSE_OK, status;
    int i;

    for (i = 0; i < s->nwatched; i++) {
        lfuse__watched *w = &s->watched[i];
        if (!(uint32_t)w->words[CLAIMED]) continue;
        status = lfuse__fill(s, w->reports->range, 0, 0, 8, w->reports->range->bytes);
        if (status) return status;
        if (!first) first = error_of(w);
    }
    lfuse__stream_unwatch(s, false);
    return first;
}

lfuse_status lfuse__stream_settle(lfuse_stream *s)
{
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_usable(s));
    if (!s->nwatched) return lfuse__stream_sync(s);
    LFUSE__TRY(read_all(s));
    status = lfuse__stream_sync(s);
    return status ? status : take_reports(s);
}

lfuse_status lfuse__stream_check(lfuse_stream *s)
{
    LFUSE__TRY(lfuse__stream_query(s));
    return s->nwatched ? lfuse__stream_settle(s) : LFUSE_OK;
}
