/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Native graphs. One that still runs is destroyed when its work has finished. */
#include "common/device/internal.h"

#include <stdlib.h>

struct lfuse__native {
    lfuse__pending pending;
    lfuse_device *dev;
    lfuse__bgraph *bgraph;
    uint64_t launches; /* of one launch of the graph */
};

lfuse_status lfuse__native_begin(lfuse_stream *s)
{
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_usable(s));
    if (s->graph_open) return lfuse__error(LFUSE_ERR_STATE, "a graph is already being made on this stream");
    LFUSE__TRY(lfuse__stream_enter(s));
    status = s->dev->backend->graph_begin(s->bstream);
    if (!status) {
        s->graph_open = true;
        s->graph_launches = 0;
    }
    lfuse__tail_unlock(s->tail);
    return lfuse__device_note(s->dev, status);
}

static void finish_native(lfuse__pending *p)
{
    lfuse__native *g = (lfuse__native *)p;

    g->dev->backend->graph_destroy(g->bgraph);
    free(g);
}

static lfuse_status new_native(lfuse_device *dev, lfuse__native **graph)
{
    lfuse__native *g = calloc(1, sizeof *g);

    if (!g) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *g);
    g->pending.finish = finish_native;
    g->dev = dev;
    *graph = g;
    return LFUSE_OK;
}

/* Ends the capture whatever the stream's state: it must not stay behind. */
static lfuse_status end(lfuse_stream *s, lfuse__bgraph **bgraph)
{
    lfuse_status status;

    lfuse__tail_lock(s->tail);
    status = s->dev->backend->graph_end(s->bstream, bgraph);
    s->graph_open = false;
    lfuse__tail_unlock(s->tail);
    return lfuse__device_note(s->dev, status);
}

lfuse_status lfuse__native_end(lfuse_stream *s, lfuse__native **graph)
{
    lfuse__native *g = *graph;
    lfuse_status made = LFUSE_OK, status;
    lfuse__bgraph *unwanted = NULL;

    if (lfuse__forked()) return lfuse__check_fork();
    if (!s->graph_open) return lfuse__error(LFUSE_ERR_STATE, "no graph is being made on this stream");
    if (!g) made = new_native(s->dev, &g);
    if (made) {
        if (!end(s, &unwanted)) s->dev->backend->graph_destroy(unwanted);
        return made;
    }
    status = end(s, &g->bgraph);
    if (status) {
        if (!*graph) free(g);
        return status;
    }
    g->launches = s->graph_launches;
    if (!*graph) lfuse__device_retain(s->dev);
    *graph = g;
    return LFUSE_OK;
}

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
