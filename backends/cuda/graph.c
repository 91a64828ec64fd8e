/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native graphs, made by capturing a stream of the library's own. The capture turns the overlap that launches allow
 * into edges of the graph, which stay when the arguments of a node are patched.
 */
#include <stdlib.h>

#include "backends/cuda/internal.h"

/* What is not there is passed over. */
static void free_graph(lfuse__bgraph *g)
{
    if (g->exec != NULL) lfuse__cu_ignore(g->dev, lfuse__cu.GraphExecDestroy(g->exec), "cuGraphExecDestroy");
    if (g->graph != NULL) lfuse__cu_ignore(g->dev, lfuse__cu.GraphDestroy(g->graph), "cuGraphDestroy");
    free(g->nodes);
    free(g);
}

/* ---- capturing ---- */

/* The legacy default stream cannot be captured: another one stands in for it until the capture ends. */
static lfuse_status stand_in(lfuse__bstream *s)
{
    CUstreamCaptureMode mode = lfuse__cu_relax();
    CUstream stream;
    CUresult result = lfuse__cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING);

    lfuse__cu_unrelax(mode);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(s->dev, result, "cuStreamCreate");
    s->behind = s->stream;
    s->stream = stream;
    s->replaced = true;
    return LFUSE_OK;
}

static void stand_back(lfuse__bstream *s)
{
    CUstreamCaptureMode mode;

    if (!s->replaced) return;
    mode = lfuse__cu_relax();
    lfuse__cu_ignore(s->dev, lfuse__cu.StreamDestroy(s->stream), "cuStreamDestroy");
    lfuse__cu_unrelax(mode);
    s->stream = s->behind;
    s->replaced = false;
}

/* Thread-local: what other threads do meanwhile is none of this capture's business. */
static lfuse_status begin(lfuse__bstream *s)
{
    CUresult result;

    if (s->stream == NULL || s->stream == CU_STREAM_LEGACY) LFUSE__TRY(stand_in(s));
    result = lfuse__cu.StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (result == CUDA_SUCCESS) return LFUSE_OK;
    stand_back(s);
    return lfuse__cu_error(s->dev, result, "cuStreamBeginCapture");
}

lfuse_status lfuse__cu_graph_begin(lfuse__bstream *s)
{
    lfuse__bgraph *made = calloc(1, sizeof *made);
    lfuse_status status;
    bool pushed;

    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    made->dev = s->dev;
    status = lfuse__cu_enter(s->dev, &pushed);
    if (!status) {
        status = begin(s);
        lfuse__cu_leave(pushed);
    }
    if (status) free(made);
    else s->making = made;
    return status;
}

/* What the next command would wait for is the node of the last one. */
static CUgraphNode last_node(lfuse__bstream *s)
{
    CUstreamCaptureStatus state;
    const CUgraphNode *nodes = NULL;
    cuuint64_t id;
    CUgraph graph;
    CUresult result;
    size_t count = 0;
    bool pushed;

    if (lfuse__cu.StreamGetCaptureInfo == NULL || lfuse__cu_enter(s->dev, &pushed)) return NULL;
    result = lfuse__cu.StreamGetCaptureInfo(s->stream, &state, &id, &graph, &nodes, &count);
    lfuse__cu_leave(pushed);
    return result == CUDA_SUCCESS && count == 1 ? nodes[0] : NULL;
}

lfuse_status lfuse__cu_graph_note(lfuse__bstream *s)
{
    lfuse__bgraph *g = s->making;
    const unsigned more = g->capacity ? 2 * g->capacity : 16;
    CUgraphNode *grown;

    if (g->count == g->capacity) {
        grown = realloc(g->nodes, more * sizeof *grown);
        if (grown == NULL) return lfuse__cu_no_memory(more * sizeof *grown);
        g->nodes = grown;
        g->capacity = more;
    }
    g->nodes[g->count++] = last_node(s);
    return LFUSE_OK;
}

/* ---- what becomes of a capture ---- */

static lfuse_status instantiate(lfuse__bgraph *g)
{
    CUgraphExec exec;
    CUresult result = lfuse__cu.GraphInstantiateWithFlags(&exec, g->graph, 0);

    if (result != CUDA_SUCCESS) return lfuse__cu_error(g->dev, result, "cuGraphInstantiate");
    g->exec = exec;
    return LFUSE_OK;
}

/* After an update the nodes of the first capture stay the way in. Of graphs that run the driver keeps what it needs. */
static lfuse_status take(lfuse__bgraph *made, lfuse__bgraph **graph)
{
    CUgraphExecUpdateResultInfo info;
    lfuse_status status;

    if (*graph != NULL && (*graph)->count == made->count &&
        lfuse__cu.GraphExecUpdate((*graph)->exec, made->graph, &info) == CUDA_SUCCESS) {
        free_graph(made);
        return LFUSE_OK;
    }
    status = instantiate(made);
    if (status) {
        free_graph(made);
        return status;
    }
    if (*graph != NULL) free_graph(*graph);
    *graph = made;
    return LFUSE_OK;
}

/* Takes `made`. */
static lfuse_status finish(lfuse__bstream *s, lfuse__bgraph *made, lfuse__bgraph **graph)
{
    CUresult result = lfuse__cu.StreamEndCapture(s->stream, &made->graph);
    CUstreamCaptureMode mode;
    lfuse_status status;

    stand_back(s);
    if (result != CUDA_SUCCESS) {
        made->graph = NULL;
        status = lfuse__cu_error(s->dev, result, "cuStreamEndCapture");
    } else {
        status = made->graph ? LFUSE_OK : lfuse__error(LFUSE_ERR_STATE, "cuStreamEndCapture: something that a capture "
                                                       "forbids ended it");
    }
    mode = lfuse__cu_relax();
    if (status) free_graph(made);
    else status = take(made, graph);
    lfuse__cu_unrelax(mode);
    return status;
}

lfuse_status lfuse__cu_graph_end(lfuse__bstream *s, lfuse__bgraph **graph)
{
    lfuse__bgraph *made = s->making;
    lfuse_status status;
    bool pushed;

    if (made == NULL) return lfuse__error(LFUSE_ERR_STATE, "no graph is being made of the stream");
    s->making = NULL;
    status = lfuse__cu_enter(s->dev, &pushed);
    if (status) {
        free_graph(made);
        return status;
    }
    status = finish(s, made, graph);
    lfuse__cu_leave(pushed);
    return status;
}

/* ---- launching and patching ---- */

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

lfuse_status lfuse__cu_graph_patch(lfuse__bgraph *graph, unsigned index, lfuse__bkernel *kernel,
                                   const lfuse__launch_args *launch)
{
    CUdeviceptr addresses[LFUSE__MAX_BUFFERS];
    void *parameters[LFUSE__MAX_BUFFERS + 1];
    CUDA_KERNEL_NODE_PARAMS_v2 node = {
        .func = kernel->function,
        .gridDimX = (unsigned)launch->groups, .gridDimY = 1, .gridDimZ = 1,
        .blockDimX = launch->group, .blockDimY = 1, .blockDimZ = 1,
        .sharedMemBytes = lfuse__cu_dynamic_bytes(launch), .kernelParams = parameters,
    };
    CUstreamCaptureMode mode;
    CUresult result;
    bool pushed;

    if (index >= graph->count || graph->nodes[index] == NULL)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "the driver does not tell the node of kernel %s", kernel->name);
    LFUSE__TRY(lfuse__cu_parameters(kernel, launch, addresses, parameters));
    LFUSE__TRY(lfuse__cu_enter(graph->dev, &pushed));
    mode = lfuse__cu_relax();
    result = lfuse__cu.GraphExecKernelNodeSetParams(graph->exec, graph->nodes[index], &node);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS)
        return lfuse__cu_error(graph->dev, result, "cuGraphExecKernelNodeSetParams of kernel %s, %llu groups of %u",
                               kernel->name, (unsigned long long)launch->groups, launch->group);
    return LFUSE_OK;
}

void lfuse__cu_graph_destroy(lfuse__bgraph *graph)
{
    CUstreamCaptureMode mode;
    bool pushed;

    if (graph == NULL) return;
    if (!lfuse__cu_enter_quietly(graph->dev, &pushed)) { /* the driver took its part along */
        free(graph->nodes);
        free(graph);
        return;
    }
    mode = lfuse__cu_relax();
    free_graph(graph);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
}
