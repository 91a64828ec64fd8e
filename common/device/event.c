/* SPDX-License-Identifier: Apache-2.0 */
#include "common/device/internal.h"

#include <stdlib.h>

struct lfuse_event {
    lfuse_device *dev;
    lfuse__bevent *bevent;
    atomic_bool recorded;
};

lfuse_status lfuse__event_create(lfuse_device *dev, lfuse_event **event)
{
    lfuse_event *e;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_usable(dev));
    e = calloc(1, sizeof *e);
    if (!e) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *e);
    status = lfuse__device_note(dev, dev->backend->event_create(dev->bdev, &e->bevent));
    if (status) {
        free(e);
        return status;
    }
    e->dev = dev;
    lfuse__device_retain(dev);
    *event = e;
    return LFUSE_OK;
}

void lfuse__event_destroy(lfuse_event *e)
{
    if (!e || lfuse__forked()) return;
    e->dev->backend->event_destroy(e->bevent);
    lfuse__device_release(e->dev);
    free(e);
}

static lfuse_status recorded(lfuse_event *e)
{
    LFUSE__TRY(lfuse__device_usable(e->dev));
    if (atomic_load(&e->recorded)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_STATE, "the event was never recorded");
}

lfuse_status lfuse__event_record(lfuse_event *e, lfuse_stream *s)
{
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(lfuse__stream_same_device(s, e->dev, "the event"));
    LFUSE__TRY(lfuse__stream_enter(s));
    status = e->dev->backend->event_record(e->bevent, s->bstream);
    lfuse__tail_unlock(s->tail);
    LFUSE__TRY(lfuse__device_note(e->dev, status));
    atomic_store(&e->recorded, true);
    return LFUSE_OK;
}

lfuse_status lfuse__event_wait(lfuse_event *e, lfuse_stream *s)
{
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(lfuse__stream_same_device(s, e->dev, "the event"));
    LFUSE__TRY(recorded(e));
    LFUSE__TRY(lfuse__stream_enter(s));
    status = e->dev->backend->event_wait(e->bevent, s->bstream);
    lfuse__tail_unlock(s->tail);
    return lfuse__device_note(e->dev, status);
}

lfuse_status lfuse__event_query(lfuse_event *e)
{
    LFUSE__TRY(recorded(e));
    return lfuse__device_note(e->dev, e->dev->backend->event_query(e->bevent));
}

lfuse_status lfuse__event_elapsed(lfuse_event *first, lfuse_event *second, double *us)
{
    double elapsed;

    LFUSE__TRY(recorded(first));
    LFUSE__TRY(recorded(second));
    if (first->dev != second->dev)
        return lfuse__error(LFUSE_ERR_CONTEXT, "the events are of two devices, %s and %s", first->dev->facts.info.name,
                            second->dev->facts.info.name);
    LFUSE__TRY(lfuse__device_note(first->dev,
                                  first->dev->backend->event_elapsed(first->bevent, second->bevent, &elapsed)));
    *us = elapsed;
    return LFUSE_OK;
}
