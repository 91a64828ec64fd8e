/* SPDX-License-Identifier: Apache-2.0 */
/* Command queues and events. */
#include <sched.h>
#include <stdlib.h>

#include "backends/opencl/internal.h"

enum { QUERY_YIELDS = 64 /* a marker of an idle queue is finished by another thread of the driver, in a moment */ };

static const char *name_of(const lfuse__bdevice *dev)
{
    return dev->device.facts.info.name;
}

static lfuse_status barrier(lfuse__bstream *s)
{
    cl_int code;

    if (!s->out_of_order) return LFUSE_OK;
    code = lfuse__cl.EnqueueBarrierWithWaitList(s->queue, 0, NULL, NULL);
    if (code == CL_SUCCESS) return LFUSE_OK;
    return lfuse__cl_queue_error(s->dev, s->queue, code, "%s: clEnqueueBarrierWithWaitList", name_of(s->dev));
}

lfuse_status lfuse__cl_before(lfuse__bstream *s)
{
    return barrier(s);
}

lfuse_status lfuse__cl_after(lfuse__bstream *s)
{
    return barrier(s);
}

lfuse_status lfuse__cl_stream_create(lfuse__bdevice *dev, lfuse__bstream **s)
{
    lfuse__bstream *stream = calloc(1, sizeof *stream);
    cl_int code;

    if (stream == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a stream");
    stream->dev = dev;
    /* Time stamps are what event_elapsed reads; they cost nothing that could be measured. */
    stream->queue = lfuse__cl.CreateCommandQueue(dev->context, dev->device.id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (stream->queue == NULL) {
        free(stream);
        return lfuse__cl_error(code, "%s: clCreateCommandQueue", name_of(dev));
    }
    *s = stream;
    return LFUSE_OK;
}

static lfuse_status check_queue(lfuse__bdevice *dev, cl_command_queue queue, bool *out_of_order)
{
    cl_context context = NULL;
    cl_device_id id = NULL;
    cl_command_queue_properties properties = 0;
    cl_int code = lfuse__cl.GetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);

    if (code == CL_SUCCESS) code = lfuse__cl.GetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
    if (code == CL_SUCCESS)
        code = lfuse__cl.GetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (code != CL_SUCCESS) return lfuse__cl_error(code, "clGetCommandQueueInfo of the wrapped queue");
    if (context != dev->context || id != dev->device.id)
        return lfuse__error(LFUSE_ERR_CONTEXT, "the wrapped cl_command_queue is of another %s than %s",
                            context != dev->context ? "cl_context" : "cl_device_id", name_of(dev));
    *out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    return LFUSE_OK;
}

lfuse_status lfuse__cl_stream_wrap(lfuse__bdevice *dev, void *native, lfuse__bstream **s)
{
    lfuse__bstream *stream;
    bool out_of_order = false;
    cl_int code;

    if (native == NULL) return lfuse__error(LFUSE_ERR_INVALID, "the wrapped cl_command_queue is NULL");
    LFUSE__TRY(check_queue(dev, native, &out_of_order));
    stream = calloc(1, sizeof *stream);
    if (stream == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a stream");
    code = lfuse__cl.RetainCommandQueue(native);
    if (code != CL_SUCCESS) {
        free(stream);
        return lfuse__cl_error(code, "clRetainCommandQueue of the wrapped queue");
    }
    stream->dev = dev, stream->queue = native, stream->out_of_order = out_of_order;
    *s = stream;
    return LFUSE_OK;
}

void lfuse__cl_stream_destroy(lfuse__bstream *s)
{
    if (s->probe != NULL) lfuse__cl.ReleaseEvent(s->probe);
    lfuse__cl.Flush(s->queue);
    lfuse__cl.ReleaseCommandQueue(s->queue);
    free(s);
}

void *lfuse__cl_stream_native(lfuse__bstream *s)
{
    return s->queue;
}

lfuse_status lfuse__cl_stream_flush(lfuse__bstream *s)
{
    cl_int code = lfuse__cl.Flush(s->queue);

    if (code == CL_SUCCESS) return LFUSE_OK;
    return lfuse__cl_queue_error(s->dev, s->queue, code, "%s: clFlush", name_of(s->dev));
}

/* A marker behind everything submitted until now, flushed: other queues may wait for it. */
static lfuse_status mark(lfuse__bstream *s, cl_event *event)
{
    cl_event marker;
    cl_int code = lfuse__cl.EnqueueMarkerWithWaitList(s->queue, 0, NULL, &marker);

    if (code != CL_SUCCESS)
        return lfuse__cl_queue_error(s->dev, s->queue, code, "%s: clEnqueueMarkerWithWaitList", name_of(s->dev));
    code = lfuse__cl.Flush(s->queue);
    if (code != CL_SUCCESS) {
        lfuse__cl.ReleaseEvent(marker);
        return lfuse__cl_queue_error(s->dev, s->queue, code, "%s: clFlush", name_of(s->dev));
    }
    *event = marker;
    return LFUSE_OK;
}

/* LFUSE_OK, LFUSE_NOT_READY without a message, or the error with which the work before the event ended. */
static lfuse_status event_state(lfuse__bdevice *dev, cl_event event)
{
    cl_int state;
    cl_int code = lfuse__cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);

    if (code != CL_SUCCESS) return lfuse__cl_error(code, "%s: clGetEventInfo", name_of(dev));
    if (state < 0) return lfuse__cl_error(state, "%s: work before an event failed", name_of(dev));
    return state == CL_COMPLETE ? LFUSE_OK : LFUSE_NOT_READY;
}

static void drop_probe(lfuse__bstream *s)
{
    lfuse__cl.ReleaseEvent(s->probe);
    s->probe = NULL;
}

/* The caller may submit to a foreign queue behind our back, so only a marker made now tells. */
lfuse_status lfuse__cl_stream_query(lfuse__bstream *s)
{
    lfuse_status status;

    if (s->probe != NULL) {
        status = event_state(s->dev, s->probe);
        if (status == LFUSE_NOT_READY) return status;
        drop_probe(s);
        if (status != LFUSE_OK) return status;
    }
    LFUSE__TRY(mark(s, &s->probe));
    status = event_state(s->dev, s->probe);
    for (int i = 0; status == LFUSE_NOT_READY && i < QUERY_YIELDS; i++) {
        sched_yield();
        status = event_state(s->dev, s->probe);
    }
    if (status != LFUSE_NOT_READY) drop_probe(s);
    return status;
}

lfuse_status lfuse__cl_stream_sync(lfuse__bstream *s)
{
    cl_int code = lfuse__cl.Finish(s->queue);

    if (code == CL_SUCCESS) return LFUSE_OK;
    return lfuse__cl_queue_error(s->dev, s->queue, code, "%s: clFinish", name_of(s->dev));
}

lfuse_status lfuse__cl_stream_capturing(lfuse__bstream *s, bool *capturing)
{
    (void)s;
    *capturing = false;
    return LFUSE_OK;
}

lfuse_status lfuse__cl_event_create(lfuse__bdevice *dev, lfuse__bevent **e)
{
    lfuse__bevent *event = calloc(1, sizeof *event);

    if (event == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for an event");
    event->dev = dev;
    *e = event;
    return LFUSE_OK;
}

void lfuse__cl_event_destroy(lfuse__bevent *e)
{
    if (e->event != NULL) lfuse__cl.ReleaseEvent(e->event);
    free(e);
}

lfuse_status lfuse__cl_event_record(lfuse__bevent *e, lfuse__bstream *s)
{
    cl_event marker = NULL;

    LFUSE__TRY(mark(s, &marker));
    if (e->event != NULL) lfuse__cl.ReleaseEvent(e->event);
    e->event = marker;
    return LFUSE_OK;
}

lfuse_status lfuse__cl_event_wait(lfuse__bevent *e, lfuse__bstream *s)
{
    cl_int code;

    if (e->event == NULL) return LFUSE_OK;
    code = lfuse__cl.EnqueueBarrierWithWaitList(s->queue, 1, &e->event, NULL);
    if (code == CL_SUCCESS) return LFUSE_OK;
    return lfuse__cl_queue_error(s->dev, s->queue, code, "%s: clEnqueueBarrierWithWaitList on an event",
                                 name_of(s->dev));
}

lfuse_status lfuse__cl_event_query(lfuse__bevent *e)
{
    return e->event != NULL ? event_state(e->dev, e->event) : LFUSE_OK;
}

static lfuse_status time_of(const lfuse__bevent *e, cl_ulong *ns)
{
    cl_int code;

    if (e->event == NULL) return lfuse__error(LFUSE_ERR_STATE, "%s: the event was never recorded", name_of(e->dev));
    LFUSE__TRY(event_state(e->dev, e->event));
    code = lfuse__cl.GetEventProfilingInfo(e->event, CL_PROFILING_COMMAND_END, sizeof *ns, ns, NULL);
    if (code == CL_SUCCESS) return LFUSE_OK;
    return lfuse__cl_error(code, "%s: clGetEventProfilingInfo (a foreign queue needs CL_QUEUE_PROFILING_ENABLE)",
                           name_of(e->dev));
}

lfuse_status lfuse__cl_event_elapsed(lfuse__bevent *first, lfuse__bevent *second, double *us)
{
    cl_ulong from, to;

    LFUSE__TRY(time_of(first, &from));
    LFUSE__TRY(time_of(second, &to));
    *us = ((double)to - (double)from) * 1e-3;
    return LFUSE_OK;
}
