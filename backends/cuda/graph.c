/* SPDX-License-Identifier: Apache-2.0 */
/* Native graphs, made by capturing a stream of the library's own. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "backends/cuda/internal.h"

/* Thread-local: what other threads do meanwhile is none of this capture's business. */
lfuse_status lfuse__cu_graph_begin(lfuse__bstream *s)
{
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = lfuse__cu.StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(s->dev, result, "cuStreamBeginCapture");
    return LFUSE_OK;
}

/* Replaces the executable graph; the driver keeps one that still runs until it has finished. */
static lfuse_status instantiate(lfuse__bgraph *g, CUgraph captured)
{
    CUgraphExec exec;
    CUresult result = lfuse__cu.GraphInstantiateWithFlags(&exec, captured, 0);

    if (result != CUDA_SUCCESS) return lfuse__cu_error(g->dev, result, "cuGraphInstantiate");
    if (g->exec != NULL) lfuse__cu_ignore(g->dev, lfuse__cu.GraphExecDestroy(g->exec), "cuGraphExecDestroy");
    g->exec = exec;
    return LFUSE_OK;
}

static lfuse_status make_graph(lfuse__bdevice *dev, CUgraph captured, lfuse__bgraph **graph)
{
    lfuse__bgraph *made = calloc(1, sizeof *made);
    lfuse_status status;

    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    made->dev = dev;
    status = instantiate(made, captured);
    if (status) {
        free(made);
        return status;
    }
    *graph = made;
    return LFUSE_OK;
}

static lfuse_status take(lfuse__bdevice *dev, CUgraph captured, lfuse__bgraph **graph)
{
    CUgraphExecUpdateResultInfo info;

    if (*graph == NULL) return make_graph(dev, captured, graph);
    if (lfuse__cu.GraphExecUpdate((*graph)->exec, captured, &info) == CUDA_SUCCESS) return LFUSE_OK;
    return instantiate(*graph, captured);
}

lfuse_status lfuse__cu_graph_end(lfuse__bstream *s, lfuse__bgraph **graph)
{
    CUgraph captured = NULL;
    CUstreamCaptureMode mode;
    lfuse_status status;
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = lfuse__cu.StreamEndCapture(s->stream, &captured);
    if (result != CUDA_SUCCESS) {
        status = lfuse__cu_error(s->dev, result, "cuStreamEndCapture");
        goto leave;
    }
    if (captured == NULL) {
        status = lfuse__error(LFUSE_ERR_STATE, "cuStreamEndCapture: something that a capture forbids ended it");
        goto leave;
    }
    mode = lfuse__cu_relax();
    status = take(s->dev, captured, graph);
    lfuse__cu_ignore(s->dev, lfuse__cu.GraphDestroy(captured), "cuGraphDestroy");
    lfuse__cu_unrelax(mode);
leave:
    lfuse__cu_leave(pushed);
    return status;
}

lfuse_status lfuse__cu_graph_launch(lfuse__bstream *s, lfuse__bgraph *graph)
{
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = lfuse__cu.GraphLaunch(graph->exec, s->stream);
    lfuse__cu_leave(pushed);
    if (__builtin_expect(result != CUDA_SUCCESS, 0)) return lfuse__cu_error(s->dev, result, "cuGraphLaunch");
    return LFUSE_OK;
}

void lfuse__cu_graph_destroy(lfuse__bgraph *graph)
{
    CUstreamCaptureMode mode;
    bool pushed;

    if (graph == NULL) return;
    if (lfuse__cu_enter_quietly(graph->dev, &pushed)) {
        mode = lfuse__cu_relax();
        lfuse__cu_ignore(graph->dev, lfuse__cu.GraphExecDestroy(graph->exec), "cuGraphExecDestroy");
        lfuse__cu_unrelax(mode);
        lfuse__cu_leave(pushed);
    }
    free(graph);
}
