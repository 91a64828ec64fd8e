/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/device.h"

#include "common/api/need.h"
#include "common/device/device.h"
#include "common/run/run.h"

lfuse_status lfuse_device_count(int *count)
{
    NEED(count);
    return lfuse__device_count(count);
}

lfuse_status lfuse_device_describe(int index, lfuse_device_info *info)
{
    NEED(info);
    return lfuse__device_describe(index, info);
}

lfuse_status lfuse_device_open(const char *name, lfuse_device **device)
{
    NEED(device);
    return lfuse__device_open(name, device);
}

lfuse_status lfuse_device_adopt(const char *backend, void *context, void *native_device, lfuse_device **device)
{
    NEED(backend);
    NEED(context);
    NEED(device);
    return lfuse__device_adopt(backend, context, native_device, device);
}

void lfuse_device_close(lfuse_device *device)
{
    lfuse__device_close(device);
}

lfuse_status lfuse_device_get_info(const lfuse_device *device, lfuse_device_info *info)
{
    NEED(device);
    NEED(info);
    LFUSE__TRY(lfuse__device_open_still(device));
    *info = lfuse__device_facts(device)->info;
    return LFUSE_OK;
}

lfuse_status lfuse_device_memory(lfuse_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    NEED(device);
    NEED(free_bytes);
    NEED(total_bytes);
    return lfuse__device_memory(device, free_bytes, total_bytes);
}

lfuse_status lfuse_device_get_counters(const lfuse_device *device, lfuse_device_counters *counters)
{
    NEED(device);
    NEED(counters);
    LFUSE__TRY(lfuse__device_open_still(device));
    lfuse__device_counters(device, counters);
    return LFUSE_OK;
}

lfuse_status lfuse_stream_create(lfuse_device *device, lfuse_stream **stream)
{
    NEED(device);
    NEED(stream);
    return lfuse__stream_create(device, stream);
}

lfuse_status lfuse_stream_wrap(lfuse_device *device, void *native, lfuse_stream **stream)
{
    NEED(device);
    NEED(stream); /* not `native`: NULL is CUDA's default stream */
    return lfuse__stream_wrap(device, native, stream);
}

void lfuse_stream_destroy(lfuse_stream *stream)
{
    lfuse__record_abandon(stream);
    lfuse__stream_destroy(stream);
}

lfuse_status lfuse_stream_synchronize(lfuse_stream *stream)
{
    NEED(stream);
    return lfuse__stream_settle(stream);
}

lfuse_status lfuse_stream_check(lfuse_stream *stream)
{
    NEED(stream);
    return lfuse__stream_check(stream);
}

lfuse_status lfuse_stream_query(lfuse_stream *stream)
{
    NEED(stream);
    return lfuse__stream_query(stream);
}

void *lfuse_stream_native(const lfuse_stream *stream)
{
    return stream ? lfuse__stream_native(stream) : NULL;
}

lfuse_status lfuse_event_create(lfuse_device *device, lfuse_event **event)
{
    NEED(device);
    NEED(event);
    return lfuse__event_create(device, event);
}

void lfuse_event_destroy(lfuse_event *event)
{
    lfuse__event_destroy(event);
}

lfuse_status lfuse_event_record(lfuse_event *event, lfuse_stream *stream)
{
    NEED(event);
    NEED(stream);
    return lfuse__event_record(event, stream);
}

lfuse_status lfuse_event_wait(lfuse_event *event, lfuse_stream *stream)
{
    NEED(event);
    NEED(stream);
    return lfuse__event_wait(event, stream);
}

lfuse_status lfuse_event_query(lfuse_event *event)
{
    NEED(event);
    return lfuse__event_query(event);
}

lfuse_status lfuse_event_elapsed(lfuse_event *first, lfuse_event *second, double *us)
{
    NEED(first);
    NEED(second);
    NEED(us);
    return lfuse__event_elapsed(first, second, us);
}
