/* SPDX-License-Identifier: Apache-2.0 */
#include "common/device/internal.h"

#include <inttypes.h>
#include <stdlib.h>

static lfuse_status stream_error(const lfuse_stream *s)
{
    if (lfuse__forked()) return lfuse__check_fork();
    if (atomic_load(&s->closed)) return lfuse__error(LFUSE_ERR_CLOSED, "the stream was destroyed");
    return lfuse__device_usable(s->dev);
}

lfuse_status lfuse__stream_usable(lfuse_stream *s)
{
    bool bad = lfuse__forked() | atomic_load_explicit(&s->closed, memory_order_relaxed) |
               (atomic_load_explicit(&s->dev->state, memory_order_acquire) != 0);

    return __builtin_expect(bad, 0) ? stream_error(s) : LFUSE_OK;
}

lfuse_status lfuse__stream_enter(lfuse_stream *s)
{
    LFUSE__TRY(lfuse__stream_usable(s));
    lfuse__tail_lock(s->tail);
    return LFUSE_OK;
}

/*
 * Counted after the slot, and also when it failed (part of the work may be on its way): whoever reads the count before
 * and records a fence then covers at least the work that he counted.
 */
lfuse_status lfuse__stream_leave(lfuse_stream *s, lfuse_status status)
{
    lfuse__tail *t = s->tail;
    uint64_t submitted = atomic_load_explicit(&t->submitted, memory_order_relaxed);

    atomic_store_explicit(&t->submitted, submitted + 1, memory_order_release);
    lfuse__tail_unlock(t);
    return lfuse__device_note(s->dev, status);
}

/* LFUSE_SYNC. A stream that captures runs nothing that could be waited for. */
static lfuse_status settle(lfuse_stream *s, const char *what)
{
    bool capturing = false;
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    if (capturing) return LFUSE_OK;
    status = lfuse__stream_sync(s);
    return status ? lfuse__error_prefix(status, "%s: ", what) : LFUSE_OK;
}

lfuse_status lfuse__stream_leave_launch(lfuse_stream *s, lfuse_status status, uint64_t launches, const char *what)
{
    lfuse__tail *t = s->tail;
    uint64_t counted = atomic_load_explicit(&t->launches, memory_order_relaxed);

    if (!status && s->making) s->graph_launches += launches;
    else if (!status) atomic_store_explicit(&t->launches, counted + launches, memory_order_relaxed);
    status = lfuse__stream_leave(s, status);
    if (__builtin_expect(status != LFUSE_OK, 0)) return lfuse__error_prefix(status, "%s: ", what);
    return __builtin_expect(s->dev->sync, 0) ? settle(s, what) : LFUSE_OK;
}

lfuse_status lfuse__stream_same_device(const lfuse_stream *s, const lfuse_device *dev, const char *what)
{
    if (__builtin_expect(s->dev == dev, 1)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_CONTEXT, "%s is of device %s, the stream of another handle (%s)", what,
                        dev->facts.info.name, s->dev->facts.info.name);
}

/* `native` is used when `wrap` is set; it may be NULL then, CUDA's default stream. */
static lfuse_status make(lfuse_device *dev, bool wrap, void *native, lfuse_stream **stream)
{
    const lfuse__backend *backend = dev->backend;
    lfuse_stream *s;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_usable(dev));
    s = calloc(1, sizeof *s);
    if (!s) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *s);
    status = lfuse__device_note(dev, wrap ? backend->stream_wrap(dev->bdev, native, &s->bstream)
                                          : backend->stream_create(dev->bdev, &s->bstream));
    if (status) goto err_free;
    status = lfuse__tail_create(dev, s, &s->tail);
    if (status) goto err_stream;
    s->dev = dev;
    atomic_init(&s->references, 1);
    lfuse__device_retain(dev);
    *stream = s;
    return LFUSE_OK;

err_stream:
    backend->stream_destroy(s->bstream);
err_free:
    free(s);
    return status;
}

lfuse_status lfuse__stream_create(lfuse_device *dev, lfuse_stream **stream)
{
    return make(dev, false, NULL, stream);
}

lfuse_status lfuse__stream_wrap(lfuse_device *dev, void *native, lfuse_stream **stream)
{
    return make(dev, true, native, stream);
}

void lfuse__stream_retain(lfuse_stream *s)
{
    atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
}

void lfuse__stream_release(lfuse_stream *s)
{
    lfuse_device *dev;

    if (!s || lfuse__forked()) return;
    if (atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) != 1) return;
    dev = s->dev;
    if (s->tail) lfuse__tail_retire(dev, s->tail);
    dev->backend->stream_destroy(s->bstream);
    lfuse__range_release(s->scratch);
    lfuse__range_release(s->lent);
    lfuse__stream_unwatch(s, true);
    free(s->watched);
    free(s);
    lfuse__device_release(dev);
}

void lfuse__stream_destroy(lfuse_stream *s)
{
    if (!s || lfuse__forked()) return;
    if (atomic_exchange(&s->closed, true)) return;
    /* Plans keep a destroyed stream for a while, the caller may end a wrapped one at once: nothing asks it any more. */
    lfuse__tail_retire(s->dev, s->tail);
    s->tail = NULL;
    lfuse__stream_release(s);
}

lfuse_device *lfuse__stream_device(const lfuse_stream *s)
{
    return s->dev;
}

void *lfuse__stream_native(const lfuse_stream *s)
{
    if (lfuse__forked() || atomic_load(&s->closed) || lfuse__device_open_still(s->dev)) return NULL;
    return s->dev->backend->stream_native(s->bstream);
}

static lfuse_status idle_now(lfuse_stream *s, lfuse_status (*slot)(lfuse__bstream *))
{
    lfuse__tail *t = s->tail;
    uint64_t submitted;
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_enter(s));
    submitted = atomic_load_explicit(&t->submitted, memory_order_relaxed);
    status = slot(s->bstream);
    if (!status) atomic_store_explicit(&t->finished, submitted, memory_order_release);
    lfuse__tail_unlock(t);
    status = lfuse__device_note(s->dev, status);
    lfuse__reap(s->dev);
    return status;
}

lfuse_status lfuse__stream_sync(lfuse_stream *s)
{
    return idle_now(s, s->dev->backend->stream_sync);
}

lfuse_status lfuse__stream_query(lfuse_stream *s)
{
    return idle_now(s, s->dev->backend->stream_query);
}

lfuse_status lfuse__stream_capturing(lfuse_stream *s, bool *capturing)
{
    lfuse_status status;
    bool now = false;

    if (!s->dev->facts.capture) {
        *capturing = false;
        return LFUSE_OK;
    }
    LFUSE__TRY(lfuse__stream_enter(s));
    status = s->dev->backend->stream_capturing(s->bstream, &now);
    lfuse__tail_unlock(s->tail);
    LFUSE__TRY(lfuse__device_note(s->dev, status));
    *capturing = now;
    return LFUSE_OK;
}

lfuse_status lfuse__stream_reserve(lfuse_stream *s, uint64_t bytes)
{
    lfuse__range *larger;

    LFUSE__TRY(lfuse__stream_usable(s));
    if (!bytes || (lfuse__stream_scratch(s) && lfuse__stream_scratch(s)->bytes >= bytes)) return LFUSE_OK;
    if (s->lent)
        return lfuse__error(LFUSE_ERR_SHAPE, "the scratch memory that the stream was given has %" PRIu64 " bytes, %"
                            PRIu64 " are needed", s->lent_part.bytes, bytes);
    LFUSE__TRY(lfuse__range_create(s->dev, bytes, &larger));
    lfuse__range_release(s->scratch);
    s->scratch = larger;
    return LFUSE_OK;
}

lfuse__range *lfuse__stream_scratch(lfuse_stream *s)
{
    return s->lent ? &s->lent_part : s->scratch;
}

static void lend(lfuse_stream *s, lfuse__range *range, uint64_t offset, uint64_t bytes)
{
    lfuse__range *part = &s->lent_part;

    lfuse__range_retain(range);
    lfuse__range_release(s->lent);
    lfuse__range_release(s->scratch);
    s->scratch = NULL;
    s->lent = range;
    part->dev = range->dev;
    part->mem = range->mem;
    part->offset = range->offset + offset;
    part->bytes = bytes;
    part->space = range->space;
    part->address = range->address + offset;
}

lfuse_status lfuse__stream_lend(lfuse_stream *s, lfuse__range *range, uint64_t offset, uint64_t bytes)
{
    const uint64_t address = range ? range->address + offset : 0;
    const unsigned alignment = s->dev->facts.vector_lanes ? LFUSE__LANES_ALIGNMENT : LFUSE__SCRATCH_ALIGNMENT;

    LFUSE__TRY(lfuse__stream_usable(s));
    if (bytes && address % alignment)
        return lfuse__error(LFUSE_ERR_INVALID, "scratch memory from 0x%" PRIx64 " on: %u bytes behind a multiple of %u",
                            address, (unsigned)(address % alignment), alignment);
    if (range) {
        lend(s, range, offset, bytes);
    } else {
        lfuse__range_release(s->lent);
        s->lent = NULL;
    }
    return LFUSE_OK;
}

bool lfuse__stream_is_lent(const lfuse_stream *s)
{
    return s->lent != NULL;
}

void *lfuse__stream_recording(const lfuse_stream *s)
{
    return s->recording;
}

void lfuse__stream_set_recording(lfuse_stream *s, void *recording)
{
    s->recording = recording;
}
