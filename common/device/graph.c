/* SPDX-License-Identifier: Apache-2.0 */
/* Native graphs. One that still runs is destroyed when its work has finished. */
#include "common/device/internal.h"

#include <stdlib.h>
#include <string.h>

struct lfuse__native {
    lfuse__pending pending;
    lfuse_device *dev;
    lfuse__bgraph *bgraph;
    lfuse__nodes nodes;
    uint64_t launches; /* of one launch of the graph */
};

static void finish_native(lfuse__pending *p)
{
    lfuse__native *g = (lfuse__native *)p;

    if (g->bgraph) g->dev->backend->graph_destroy(g->bgraph);
    lfuse__nodes_free(&g->nodes);
    free(g);
}

/* ---- making ---- */

lfuse_status lfuse__native_begin(lfuse_stream *s)
{
    lfuse__native *g;
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_usable(s));
    if (s->noting.nodes) return lfuse__error(LFUSE_ERR_STATE, "a graph is already being made on this stream");
    g = calloc(1, sizeof *g);
    if (!g) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *g);
    g->pending.finish = finish_native;
    g->dev = s->dev;
    status = lfuse__stream_enter(s);
    if (status) goto err_free;
    status = s->dev->backend->graph_begin(s->bstream);
    if (!status) {
        s->making = g;
        s->graph_launches = 0;
        s->noting = (lfuse__noting){ .nodes = &g->nodes };
    }
    lfuse__tail_unlock(s->tail);
    status = lfuse__device_note(s->dev, status);
    if (!status) return LFUSE_OK;

err_free:
    finish_native(&g->pending);
    return status;
}

/* Ends the capture whatever the stream's state: it must not stay behind. */
static lfuse_status end(lfuse_stream *s, lfuse__bgraph **bgraph)
{
    lfuse_status status;

    lfuse__tail_lock(s->tail);
    status = s->dev->backend->graph_end(s->bstream, bgraph);
    s->making = NULL;
    s->noting = (lfuse__noting){ .nodes = NULL };
    lfuse__tail_unlock(s->tail);
    return lfuse__device_note(s->dev, status);
}

/* `made` is what a graph becomes that held the same before. */
static void take_nodes(lfuse__native *g, lfuse__native *made)
{
    lfuse__nodes before = g->nodes;

    g->nodes = made->nodes;
    made->nodes = before;
    finish_native(&made->pending);
}

lfuse_status lfuse__native_end(lfuse_stream *s, lfuse__native **graph)
{
    lfuse__native *made = s->making, *g = *graph;
    lfuse_status status;

    if (lfuse__forked()) return lfuse__check_fork();
    if (!made) return lfuse__error(LFUSE_ERR_STATE, "no graph is being made on this stream");
    made->launches = s->graph_launches;
    if (g && lfuse__nodes_alike(&g->nodes, &made->nodes)) {
        status = end(s, &g->bgraph);
        if (status) finish_native(&made->pending);
        else take_nodes(g, made);
        return status;
    }
    status = end(s, &made->bgraph);
    if (status) {
        finish_native(&made->pending);
        return status;
    }
    lfuse__device_retain(s->dev);
    lfuse__native_destroy(g);
    *graph = made;
    return LFUSE_OK;
}

/* ---- patching ---- */

lfuse_status lfuse__native_follow(lfuse_stream *s, lfuse__native *graph)
{
    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(lfuse__stream_same_device(s, graph->dev, "the graph"));
    if (s->noting.nodes) return lfuse__error(LFUSE_ERR_STATE, "a graph is already being made on this stream");
    s->noting = (lfuse__noting){ .nodes = &graph->nodes, .follows = true, .fits = true };
    return LFUSE_OK;
}

lfuse_status lfuse__native_settle(lfuse_stream *s, lfuse__native *graph, bool *fits)
{
    const lfuse__noting n = s->noting;
    lfuse_status status;

    if (lfuse__forked()) return lfuse__check_fork();
    s->noting = (lfuse__noting){ .nodes = NULL };
    *fits = false;
    if (n.nodes != &graph->nodes || !n.follows)
        return lfuse__error(LFUSE_ERR_STATE, "the graph is not followed on this stream");
    if (!n.fits || n.next != graph->nodes.count) return LFUSE_OK;
    status = lfuse__nodes_patch(s->dev, graph->bgraph, &graph->nodes);
    *fits = !status;
    return status;
}

/* ---- launching ---- */

lfuse_status lfuse__native_launch(lfuse_stream *s, lfuse__native *graph)
{
    LFUSE__TRY(lfuse__stream_same_device(s, graph->dev, "the graph"));
    LFUSE__TRY(lfuse__stream_enter(s));
    return lfuse__stream_leave_launch(s, s->dev->backend->graph_launch(s->bstream, graph->bgraph), graph->launches,
                                      "native graph");
}

void lfuse__native_destroy(lfuse__native *graph)
{
    lfuse_device *dev;

    if (!graph || lfuse__forked()) return;
    dev = graph->dev;
    lfuse__defer(dev, &graph->pending);
    lfuse__device_release(dev);
}
