/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events. */
#include <stdlib.h>

#include "backends/cuda/internal.h"

static lfuse_status make_stream(lfuse__bdevice *dev, CUstream stream, bool own, lfuse__bstream **s)
{
    lfuse__bstream *made = malloc(sizeof *made);

    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    *made = (lfuse__bstream){ .dev = dev, .stream = stream, .own = own };
    *s = made;
    return LFUSE_OK;
}

static void destroy_native(lfuse__bdevice *dev, CUstream stream)
{
    bool pushed;

    if (!lfuse__cu_enter_quietly(dev, &pushed)) return;
    lfuse__cu_ignore(dev, lfuse__cu.StreamDestroy(stream), "cuStreamDestroy");
    lfuse__cu_leave(pushed);
}

/* Non-blocking: it does not synchronise with the legacy default stream. */
lfuse_status lfuse__cu_stream_create(lfuse__bdevice *dev, lfuse__bstream **s)
{
    CUstreamCaptureMode mode;
    lfuse_status status;
    CUstream stream;
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(dev, &pushed));
    mode = lfuse__cu_relax();
    result = lfuse__cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(dev, result, "cuStreamCreate");
    status = make_stream(dev, stream, true, s);
    if (status) destroy_native(dev, stream);
    return status;
}

/* The three default streams are of whatever context is current, which is ours whenever they are used. */
static bool is_default(CUstream stream)
{
    return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

lfuse_status lfuse__cu_stream_wrap(lfuse__bdevice *dev, void *native, lfuse__bstream **s)
{
    CUstream stream = native;
    CUcontext context = NULL;
    CUresult result;
    bool pushed;

    if (!is_default(stream)) {
        LFUSE__TRY(lfuse__cu_enter(dev, &pushed));
        result = lfuse__cu.StreamGetCtx(stream, &context);
        lfuse__cu_leave(pushed);
        if (result != CUDA_SUCCESS) return lfuse__cu_error(dev, result, "cuStreamGetCtx of stream %p", native);
        if (context != dev->context)
            return lfuse__error(LFUSE_ERR_CONTEXT, "stream %p belongs to another CUDA context than device %s", native,
                                dev->device.facts.info.name);
    }
    return make_stream(dev, stream, false, s);
}

void lfuse__cu_stream_destroy(lfuse__bstream *s)
{
    if (s == NULL) return;
    if (s->own) destroy_native(s->dev, s->stream);
    free(s);
}

void *lfuse__cu_stream_native(lfuse__bstream *s)
{
    return s->stream;
}

/* The driver submits by itself. */
lfuse_status lfuse__cu_stream_flush(lfuse__bstream *s)
{
    (void)s;
    return LFUSE_OK;
}

lfuse_status lfuse__cu_stream_query(lfuse__bstream *s)
{
    CUstreamCaptureMode mode;
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    mode = lfuse__cu_relax();
    result = lfuse__cu.StreamQuery(s->stream);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (result == CUDA_SUCCESS) return LFUSE_OK;
    if (result == CUDA_ERROR_NOT_READY) return LFUSE_NOT_READY;
    return lfuse__cu_error(s->dev, result, "cuStreamQuery");
}

lfuse_status lfuse__cu_stream_sync(lfuse__bstream *s)
{
    CUstreamCaptureMode mode;
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    mode = lfuse__cu_relax();
    result = lfuse__cu.StreamSynchronize(s->stream);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(s->dev, result, "cuStreamSynchronize");
    return LFUSE_OK;
}

lfuse_status lfuse__cu_stream_capturing(lfuse__bstream *s, bool *capturing)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = lfuse__cu.StreamIsCapturing(s->stream, &state);
    lfuse__cu_leave(pushed);
    if (__builtin_expect(result != CUDA_SUCCESS, 0)) return lfuse__cu_error(s->dev, result, "cuStreamIsCapturing");
    *capturing = state != CU_STREAM_CAPTURE_STATUS_NONE;
    return LFUSE_OK;
}

lfuse_status lfuse__cu_event_create(lfuse__bdevice *dev, lfuse__bevent **e)
{
    lfuse__bevent *made = malloc(sizeof *made);
    CUstreamCaptureMode mode;
    lfuse_status status;
    CUresult result;
    bool pushed;

    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    made->dev = dev;
    status = lfuse__cu_enter(dev, &pushed);
    if (status) goto err_free;
    mode = lfuse__cu_relax();
    result = lfuse__cu.EventCreate(&made->event, CU_EVENT_DEFAULT);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS) {
        status = lfuse__cu_error(dev, result, "cuEventCreate");
        goto err_free;
    }
    *e = made;
    return LFUSE_OK;

err_free:
    free(made);
    return status;
}

void lfuse__cu_event_destroy(lfuse__bevent *e)
{
    CUstreamCaptureMode mode;
    bool pushed;

    if (e == NULL) return;
    if (lfuse__cu_enter_quietly(e->dev, &pushed)) {
        mode = lfuse__cu_relax();
        lfuse__cu_ignore(e->dev, lfuse__cu.EventDestroy(e->event), "cuEventDestroy");
        lfuse__cu_unrelax(mode);
        lfuse__cu_leave(pushed);
    }
    free(e);
}

lfuse_status lfuse__cu_event_record(lfuse__bevent *e, lfuse__bstream *s)
{
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = lfuse__cu.EventRecord(e->event, s->stream);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(s->dev, result, "cuEventRecord");
    return LFUSE_OK;
}

lfuse_status lfuse__cu_event_wait(lfuse__bevent *e, lfuse__bstream *s)
{
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = lfuse__cu.StreamWaitEvent(s->stream, e->event, 0);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(s->dev, result, "cuStreamWaitEvent");
    return LFUSE_OK;
}

lfuse_status lfuse__cu_event_query(lfuse__bevent *e)
{
    CUstreamCaptureMode mode;
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(e->dev, &pushed));
    mode = lfuse__cu_relax();
    result = lfuse__cu.EventQuery(e->event);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (result == CUDA_SUCCESS) return LFUSE_OK;
    if (result == CUDA_ERROR_NOT_READY) return LFUSE_NOT_READY;
    return lfuse__cu_error(e->dev, result, "cuEventQuery");
}

lfuse_status lfuse__cu_event_elapsed(lfuse__bevent *first, lfuse__bevent *second, double *us)
{
    CUstreamCaptureMode mode;
    CUresult result;
    float ms = 0;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(first->dev, &pushed));
    mode = lfuse__cu_relax();
    result = lfuse__cu.EventElapsedTime(&ms, first->event, second->event);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (result == CUDA_ERROR_NOT_READY) return LFUSE_NOT_READY;
    if (result == CUDA_ERROR_INVALID_HANDLE)
        return lfuse__error(LFUSE_ERR_STATE, "an event between which time is asked for was not recorded");
    if (result != CUDA_SUCCESS) return lfuse__cu_error(first->dev, result, "cuEventElapsedTime");
    *us = (double)ms * 1e3;
    return LFUSE_OK;
}
