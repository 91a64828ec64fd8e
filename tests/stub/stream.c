/* SPDX-License-Identifier: Apache-2.0 */
/* The stub's streams: a command is done before the call returns, or kept while the stream captures. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "tests/stub/internal.h"

typedef struct commands {
    command *items;
    size_t count, capacity;
} commands;

struct lfuse__bgraph {
    commands list;
};

/* Outlives its stream while events name it. All of it under queue_lock: events are asked for by any thread. */
struct queue {
    commands list;
    size_t done;
    int references;
};

struct lfuse__bstream {
    lfuse__bdevice *dev;
    lfuse__stub_native *native; /* the caller's; NULL for our own */
    queue *queue;               /* NULL unless lazy */
    lfuse__bgraph *capture;     /* our own capture, NULL when there is none */
    bool broken;                /* something forbidden was done while capturing */
    double us;                  /* what its commands took so far, by the device's clock: see cost_us */
};

struct lfuse__bevent {
    bool recorded;
    double at;    /* the stream's clock */
    queue *queue; /* done when so many of its commands are; NULL: done */
    size_t count;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- commands ---- */

static void fill_memory(const command *c)
{
    unsigned char *to = c->to;
    for (uint64_t at = 0; at < c->bytes; at += c->pattern_bytes) memcpy(to + at, &c->pattern, c->pattern_bytes);
}

static void launch_kernel(const command *c)
{
    const unsigned long edge = lfuse__stub.edge_groups;
    const bool whole = !edge || c->groups <= 2 * edge;
    c->function(c->buffers, c->words, c->groups, 0, whole ? c->groups : edge);
    if (!whole) c->function(c->buffers, c->words, c->groups, c->groups - edge, c->groups);
    lfuse__stub_add(&lfuse__stub_count.groups, whole ? c->groups : 2 * edge);
}

static void queue_advance(queue *q, size_t until);
static void queue_release(queue *q);

static void perform(const command *c)
{
    switch (c->kind) {
    case COMMAND_COPY: memcpy(c->to, c->from, c->bytes); break;
    case COMMAND_FILL: fill_memory(c); break;
    case COMMAND_LAUNCH: launch_kernel(c); break;
    case COMMAND_GEMM: lfuse__stub_gemm_do(c); break;
    case COMMAND_WAIT:
        queue_advance(c->awaited, c->awaited_count);
        queue_release(c->awaited);
        break;
    }
}

static lfuse_status append(commands *list, const command *c)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        command *grown = realloc(list->items, capacity * sizeof *grown);
        if (!grown) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for %zu commands", capacity);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = *c;
    return LFUSE_OK;
}

/* ---- lazy streams ---- */

/* The functions of this part are called under the lock. A wait is for what was submitted before it: no cycles. */
static void queue_advance(queue *q, size_t until)
{
    while (q->done < until) {
        command c = q->list.items[q->done++];
        perform(&c);
    }
}

static void queue_release(queue *q)
{
    if (--q->references) return;
    free(q->list.items);
    free(q);
}

static lfuse_status queue_ready(queue *q, size_t count)
{
    if (q->done >= count) return LFUSE_OK;
    queue_advance(q, q->done + 1);
    return LFUSE_NOT_READY;
}

static lfuse_status queue_append(queue *q, const command *c)
{
    pthread_mutex_lock(&queue_lock);
    lfuse_status status = append(&q->list, c);
    pthread_mutex_unlock(&queue_lock);
    return status;
}

/* ---- submitting ---- */

static lfuse_status graph_new(lfuse__bgraph **graph)
{
    lfuse__bgraph *g = calloc(1, sizeof *g);
    if (!g) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a graph");
    lfuse__stub_live_add(&lfuse__stub_alive.graphs, 1);
    *graph = g;
    return LFUSE_OK;
}

/* Events tell times that do not depend on what else the machine does: 1 us a command, slow products more. */
static double cost_us(const command *c)
{
    return c->slow ? 1 + LFUSE__STUB_SLOW_US : 1;
}

static lfuse_status execute(lfuse__bstream *s, const command *c)
{
    s->us += cost_us(c);
    if (s->queue) return queue_append(s->queue, c);
    perform(c);
    return LFUSE_OK;
}

static lfuse_status submit_graph(lfuse__bstream *s, const lfuse__bgraph *g)
{
    for (size_t i = 0; i < g->list.count; i++) LFUSE__TRY(execute(s, &g->list.items[i]));
    lfuse__stub_add(&lfuse__stub_count.graph_commands, g->list.count);
    return LFUSE_OK;
}

lfuse_status lfuse__stub_submit(lfuse__bstream *s, const command *c)
{
    if (s->capture) return append(&s->capture->list, c);
    if (s->native && s->native->capturing) {
        if (!s->native->captured) LFUSE__TRY(graph_new(&s->native->captured));
        return append(&s->native->captured->list, c);
    }
    return execute(s, c);
}

void lfuse__stub_native_run(lfuse__stub_native *native)
{
    if (!native->captured) return;
    for (size_t i = 0; i < native->captured->list.count; i++) perform(&native->captured->list.items[i]);
}

void lfuse__stub_native_clear(lfuse__stub_native *native)
{
    if (native->captured) lfuse__stub_graph_destroy(native->captured);
    native->captured = NULL;
}

/* ---- copies ---- */

static lfuse_status submit_copy(lfuse__bstream *s, void *to, const void *from, uint64_t bytes)
{
    command c = {.kind = COMMAND_COPY, .to = to, .from = from, .bytes = bytes};
    return lfuse__stub_submit(s, &c);
}

lfuse_status lfuse__stub_write(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, const void *host, uint64_t bytes)
{
    void *address;
    ENTER(write);
    LFUSE__TRY(lfuse__stub_address(to, offset, bytes, &address));
    return submit_copy(s, address, host, bytes);
}

lfuse_status lfuse__stub_read(lfuse__bstream *s, lfuse__bmem *from, uint64_t offset, void *host, uint64_t bytes)
{
    void *address;
    ENTER(read);
    LFUSE__TRY(lfuse__stub_address(from, offset, bytes, &address));
    return submit_copy(s, host, address, bytes);
}

lfuse_status lfuse__stub_copy(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bmem *from,
                              uint64_t from_offset, uint64_t bytes)
{
    void *target, *source;
    ENTER(copy);
    LFUSE__TRY(lfuse__stub_address(to, to_offset, bytes, &target));
    LFUSE__TRY(lfuse__stub_address(from, from_offset, bytes, &source));
    return submit_copy(s, target, source, bytes);
}

lfuse_status lfuse__stub_copy_peer(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bdevice *from_dev,
                                   lfuse__bmem *from, uint64_t from_offset, uint64_t bytes)
{
    void *target, *source;
    (void)from_dev;
    ENTER(copy_peer);
    if (!lfuse__stub.peer) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "stub: no direct way between the devices");
    LFUSE__TRY(lfuse__stub_address(to, to_offset, bytes, &target));
    LFUSE__TRY(lfuse__stub_address(from, from_offset, bytes, &source));
    return submit_copy(s, target, source, bytes);
}

lfuse_status lfuse__stub_fill(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, uint64_t pattern,
                              unsigned pattern_bytes, uint64_t bytes)
{
    command c = {.kind = COMMAND_FILL, .bytes = bytes, .pattern = pattern, .pattern_bytes = pattern_bytes};
    ENTER(fill);
    if (!pattern_bytes || bytes % pattern_bytes || offset % pattern_bytes)
        return lfuse__error(LFUSE_ERR_INVALID, "stub: a fill of %llu bytes by a pattern of %u",
                            (unsigned long long)bytes, pattern_bytes);
    LFUSE__TRY(lfuse__stub_address(to, offset, bytes, &c.to));
    return lfuse__stub_submit(s, &c);
}

/* ---- streams ---- */

static lfuse_status make_stream(lfuse__bdevice *dev, lfuse__stub_native *native, lfuse__bstream **s)
{
    lfuse__bstream *made = calloc(1, sizeof *made);
    if (!made) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a stream");
    made->dev = dev;
    made->native = native;
    if (lfuse__stub.lazy && !(made->queue = calloc(1, sizeof *made->queue))) {
        free(made);
        return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a queue");
    }
    if (made->queue) made->queue->references = 1;
    lfuse__stub_live_add(&lfuse__stub_alive.streams, 1);
    *s = made;
    return LFUSE_OK;
}

lfuse_status lfuse__stub_stream_create(lfuse__bdevice *dev, lfuse__bstream **s)
{
    ENTER(stream_create);
    return make_stream(dev, NULL, s);
}

lfuse_status lfuse__stub_stream_wrap(lfuse__bdevice *dev, void *native, lfuse__bstream **s)
{
    lfuse__stub_native *n = native;
    ENTER(stream_wrap);
    if (n && n->foreign) return lfuse__error(LFUSE_ERR_CONTEXT, "stub: the stream belongs to another context");
    return make_stream(dev, n, s);
}

void lfuse__stub_stream_destroy(lfuse__bstream *s)
{
    if (s->capture) lfuse__stub_graph_destroy(s->capture);
    if (s->queue) { /* work already submitted goes on */
        pthread_mutex_lock(&queue_lock);
        queue_advance(s->queue, s->queue->list.count);
        queue_release(s->queue);
        pthread_mutex_unlock(&queue_lock);
    }
    lfuse__stub_live_add(&lfuse__stub_alive.streams, -1);
    free(s);
}

void *lfuse__stub_stream_native(lfuse__bstream *s)
{
    return s->native ? (void *)s->native : (void *)s;
}

static bool is_capturing(const lfuse__bstream *s)
{
    return s->capture || (s->native && s->native->capturing);
}

/* Waiting for a stream that captures is an error of the caller and spoils the capture. */
static lfuse_status check_wait(lfuse__bstream *s, const char *what)
{
    if (!is_capturing(s)) return LFUSE_OK;
    s->broken = true;
    lfuse__stub_add(&lfuse__stub_count.misuse, 1);
    return lfuse__error(LFUSE_ERR_DEVICE, "stub: %s of a stream that captures", what);
}

lfuse_status lfuse__stub_stream_flush(lfuse__bstream *s)
{
    (void)s;
    ENTER(stream_flush);
    return LFUSE_OK;
}

lfuse_status lfuse__stub_stream_query(lfuse__bstream *s)
{
    ENTER(stream_query);
    LFUSE__TRY(check_wait(s, "query"));
    if (!s->queue) return LFUSE_OK;
    pthread_mutex_lock(&queue_lock);
    lfuse_status status = queue_ready(s->queue, s->queue->list.count);
    pthread_mutex_unlock(&queue_lock);
    return status;
}

lfuse_status lfuse__stub_stream_sync(lfuse__bstream *s)
{
    lfuse_status status = lfuse__stub_enter(LFUSE__STUB_stream_sync);
    if (status == LFUSE_OK) status = check_wait(s, "synchronisation");
    if (!s->queue) return status;
    /* Also when it fails: an error that a driver reports here belongs to work that is over. */
    pthread_mutex_lock(&queue_lock);
    queue_advance(s->queue, s->queue->list.count);
    pthread_mutex_unlock(&queue_lock);
    return status;
}

lfuse_status lfuse__stub_stream_capturing(lfuse__bstream *s, bool *capturing)
{
    ENTER(stream_capturing);
    *capturing = is_capturing(s);
    return LFUSE_OK;
}

/* ---- native graphs ---- */

lfuse_status lfuse__stub_graph_begin(lfuse__bstream *s)
{
    ENTER(graph_begin);
    if (!s->dev->native_graph) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "stub: it was told to have no native graphs");
    if (is_capturing(s)) return lfuse__error(LFUSE_ERR_STATE, "stub: the stream captures already");
    s->broken = false;
    return graph_new(&s->capture);
}

lfuse_status lfuse__stub_graph_end(lfuse__bstream *s, lfuse__bgraph **graph)
{
    lfuse__bgraph *captured = s->capture;
    s->capture = NULL; /* the capture ends also on failure */
    lfuse_status status = lfuse__stub_enter(LFUSE__STUB_graph_end);
    if (status == LFUSE_OK && !captured) status = lfuse__error(LFUSE_ERR_STATE, "stub: the stream does not capture");
    if (status == LFUSE_OK && s->broken) status = lfuse__error(LFUSE_ERR_DEVICE, "stub: the capture was spoilt");
    if (status != LFUSE_OK) {
        if (captured) lfuse__stub_graph_destroy(captured);
        return status;
    }
    lfuse__stub_add(*graph ? &lfuse__stub_count.graph_updates : &lfuse__stub_count.graph_captures, 1);
    if (*graph) lfuse__stub_graph_destroy(*graph);
    *graph = captured;
    return LFUSE_OK;
}

lfuse_status lfuse__stub_graph_launch(lfuse__bstream *s, lfuse__bgraph *graph)
{
    ENTER(graph_launch);
    if (is_capturing(s)) {
        lfuse__stub_add(&lfuse__stub_count.misuse, 1);
        return lfuse__error(LFUSE_ERR_STATE, "stub: a graph launch on a stream that captures");
    }
    return submit_graph(s, graph);
}

static command *find_launch(lfuse__bgraph *g, unsigned index)
{
    for (size_t i = 0; i < g->list.count; i++)
        if (g->list.items[i].kind == COMMAND_LAUNCH && !index--) return &g->list.items[i];
    return NULL;
}

/* A lazy stream has copies of the commands: what was launched before keeps its own. */
lfuse_status lfuse__stub_graph_patch(lfuse__bgraph *graph, unsigned index, lfuse__bkernel *kernel,
                                     const lfuse__launch_args *launch)
{
    command *c = find_launch(graph, index);
    ENTER(graph_patch);
    if (!lfuse__stub.patches) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "stub: it was told to patch no graphs");
    if (!c || c->function != kernel->function || !launch->groups || launch->nwords > sizeof c->words / 8 ||
        launch->nbuffers > LFUSE__MAX_BUFFERS) {
        lfuse__stub_add(&lfuse__stub_count.misuse, 1);
        return lfuse__error(LFUSE_ERR_INVALID, "stub: launch %u is not of kernel %s", index, kernel->name);
    }
    c->groups = launch->groups;
    for (unsigned i = 0; i < launch->nbuffers; i++)
        c->buffers[i] = launch->buffers[i] ? launch->buffers[i]->base : NULL;
    if (launch->nwords) memcpy(c->words, launch->words, launch->nwords * sizeof c->words[0]);
    return LFUSE_OK;
}

void lfuse__stub_graph_destroy(lfuse__bgraph *graph)
{
    lfuse__stub_live_add(&lfuse__stub_alive.graphs, -1);
    free(graph->list.items);
    free(graph);
}

/* ---- events ---- */

lfuse_status lfuse__stub_event_create(lfuse__bdevice *dev, lfuse__bevent **e)
{
    (void)dev;
    ENTER(event_create);
    lfuse__bevent *made = calloc(1, sizeof *made);
    if (!made) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for an event");
    lfuse__stub_live_add(&lfuse__stub_alive.events, 1);
    *e = made;
    return LFUSE_OK;
}

/* The event says that so much of the queue is done. Under the lock. */
static void event_set(lfuse__bevent *e, queue *q, size_t count)
{
    if (q) q->references++;
    if (e->queue) queue_release(e->queue);
    e->queue = q;
    e->count = count;
}

void lfuse__stub_event_destroy(lfuse__bevent *e)
{
    pthread_mutex_lock(&queue_lock);
    event_set(e, NULL, 0);
    pthread_mutex_unlock(&queue_lock);
    lfuse__stub_live_add(&lfuse__stub_alive.events, -1);
    free(e);
}

lfuse_status lfuse__stub_event_record(lfuse__bevent *e, lfuse__bstream *s)
{
    ENTER(event_record);
    if (is_capturing(s)) { /* it would become part of the caller's graph */
        lfuse__stub_add(&lfuse__stub_count.misuse, 1);
        s->broken = true;
        return LFUSE_OK;
    }
    pthread_mutex_lock(&queue_lock);
    event_set(e, s->queue, s->queue ? s->queue->list.count : 0);
    e->recorded = true;
    e->at = s->us;
    pthread_mutex_unlock(&queue_lock);
    return LFUSE_OK;
}

lfuse_status lfuse__stub_event_wait(lfuse__bevent *e, lfuse__bstream *s)
{
    lfuse_status status = LFUSE_OK;
    ENTER(event_wait);
    pthread_mutex_lock(&queue_lock);
    command c = {.kind = COMMAND_WAIT, .awaited = e->queue, .awaited_count = e->count};
    if (e->queue && s->queue) {
        status = append(&s->queue->list, &c);
        if (status == LFUSE_OK) e->queue->references++;
    } else if (e->queue) {
        queue_advance(e->queue, e->count);
    }
    pthread_mutex_unlock(&queue_lock);
    return status;
}

lfuse_status lfuse__stub_event_query(lfuse__bevent *e)
{
    ENTER(event_query);
    pthread_mutex_lock(&queue_lock);
    lfuse_status status = e->queue ? queue_ready(e->queue, e->count) : LFUSE_OK;
    pthread_mutex_unlock(&queue_lock);
    return status;
}

lfuse_status lfuse__stub_event_elapsed(lfuse__bevent *first, lfuse__bevent *second, double *us)
{
    ENTER(event_elapsed);
    if (!lfuse__stub.elapsed) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "stub: it was told to tell no times");
    if (!first->recorded || !second->recorded) return lfuse__error(LFUSE_ERR_STATE, "stub: an event was not recorded");
    *us = second->at - first->at;
    return LFUSE_OK;
}
