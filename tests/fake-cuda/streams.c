/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, which capture, and events of the fake driver. */
#include <stdlib.h>

#include "tests/fake-cuda/internal.h"

int fake_is_default(CUstream s)
{
    return s == NULL || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD;
}

CUresult fake_StreamCreate(CUstream *stream, unsigned flags)
{
    ENTER(StreamCreate);
    NEED_CONTEXT();
    if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = fake_current[fake_depth - 1];
    fake_live++;
    return CUDA_SUCCESS;
}

CUresult fake_StreamDestroy(CUstream stream)
{
    ENTER(StreamDestroy);
    free(stream);
    fake_live--;
    return CUDA_SUCCESS;
}

CUresult fake_StreamGetCtx(CUstream stream, CUcontext *context)
{
    ENTER(StreamGetCtx);
    *context = stream->context;
    return CUDA_SUCCESS;
}

CUresult fake_StreamQuery(CUstream stream)
{
    (void)stream;
    ENTER(StreamQuery);
    return CUDA_SUCCESS;
}

CUresult fake_StreamSynchronize(CUstream stream)
{
    ENTER(StreamSynchronize);
    NEED_CONTEXT();
    return !fake_is_default(stream) && stream->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult fake_StreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)stream, (void)event, (void)flags;
    ENTER(StreamWaitEvent);
    return CUDA_SUCCESS;
}

CUresult fake_StreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    ENTER(StreamIsCapturing);
    *status = fake_is_default(stream) ? CU_STREAM_CAPTURE_STATUS_NONE : stream->capturing;
    return CUDA_SUCCESS;
}

CUresult fake_StreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    (void)mode;
    ENTER(StreamBeginCapture);
    if (fake_is_default(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    stream->capturing = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    stream->graph = calloc(1, sizeof *stream->graph);
    fake_live++;
    return CUDA_SUCCESS;
}

CUresult fake_StreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                          CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
    static CUgraphNode node;
    ENTER(StreamGetCaptureInfo);
    *status = fake_is_default(stream) ? CU_STREAM_CAPTURE_STATUS_NONE : stream->capturing;
    if (!*status) return CUDA_SUCCESS;
    *id = 1, *graph = stream->graph, *nodes = &node, *count = stream->graph->count > 0;
    if (*count) node = &stream->graph->nodes[stream->graph->count - 1];
    return CUDA_SUCCESS;
}

CUresult fake_destroy_graph(CUgraph graph)
{
    free(graph);
    fake_live--;
    return CUDA_SUCCESS;
}

CUresult fake_StreamEndCapture(CUstream stream, CUgraph *graph)
{
    if (fake_is_default(stream) || !stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    CUgraph captured = stream->graph;
    CUresult result = fake_enter("cuStreamEndCapture");
    stream->capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    stream->graph = NULL;
    *graph = result ? NULL : captured;
    if (result) fake_destroy_graph(captured);
    return result;
}

CUresult fake_ThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static CUstreamCaptureMode mine;
    CUstreamCaptureMode before = mine;
    mine = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

CUresult fake_EventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    ENTER(EventCreate);
    NEED_CONTEXT();
    *event = calloc(1, sizeof **event);
    fake_live++;
    return CUDA_SUCCESS;
}

CUresult fake_EventDestroy(CUevent event)
{
    ENTER(EventDestroy);
    free(event);
    fake_live--;
    return CUDA_SUCCESS;
}

CUresult fake_EventRecord(CUevent event, CUstream stream)
{
    (void)stream;
    ENTER(EventRecord);
    event->recorded = 1;
    event->at = fake_clock_us;
    return CUDA_SUCCESS;
}

CUresult fake_EventQuery(CUevent event)
{
    (void)event;
    ENTER(EventQuery);
    return CUDA_SUCCESS;
}

CUresult fake_EventElapsedTime(float *ms, CUevent first, CUevent second)
{
    ENTER(EventElapsedTime);
    if (!first->recorded || !second->recorded) return CUDA_ERROR_INVALID_HANDLE;
    *ms = getenv("FAKECUDA_QUICK") ? (float)((second->at - first->at) * 1e-3) : 1.5f;
    return CUDA_SUCCESS;
}
