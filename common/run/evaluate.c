/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that are run at once. Their plans, with the instances that these keep, stay in the device's cache under a key:
 * the graph's text, names included, or what else the graph would be made of; the next call finds everything made.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/run/cache.h"

/* Instances keep frozen tensors; a cache must not keep a user's memory alive. Of lists a plan keeps no memory. */
static bool may_stay(const lfuse_graph *g)
{
    int32_t i;

    for (i = 0; i < g->nnames; i++)
        if (g->names[i].kind == LFUSE__NAME_FROZEN) return false;
    return true;
}

typedef struct key {
    const void *data;
    size_t length;
    lfuse__hash hash;
} key;

static lfuse__evaluated *find(lfuse__plan_cache *cache, const key *k)
{
    int i;

    for (i = 0; i < LFUSE__EVALUATED; i++) {
        lfuse__evaluated *e = &cache->evaluated[i];
        if (e->plan && e->hash.low == k->hash.low && e->hash.high == k->hash.high && e->length == k->length &&
            !memcmp(e->key, k->data, k->length))
            return e;
    }
    return NULL;
}

/* A free place, or that of the plan that nobody runs and that was not asked for longest; NULL: all are run. */
static lfuse__evaluated *room(lfuse__plan_cache *cache)
{
    lfuse__evaluated *best = NULL;
    int i;

    for (i = 0; i < LFUSE__EVALUATED; i++) {
        lfuse__evaluated *e = &cache->evaluated[i];
        if (!e->plan) return e;
        if (!e->users && (!best || e->used < best->used)) best = e;
    }
    return best;
}

void lfuse__evaluated_clear(lfuse__evaluated *e)
{
    lfuse__plan_destroy(e->plan);
    free(e->key);
    memset(e, 0, sizeof *e);
}

/* One user more of the plan in the cache; *plan NULL: it is not there. */
static lfuse__evaluated *take(lfuse__plan_cache *cache, const key *k, lfuse_plan **plan)
{
    lfuse__evaluated *e;

    pthread_mutex_lock(&cache->lock);
    e = find(cache, k);
    if (e) {
        e->users++;
        e->used = ++cache->clock;
        *plan = e->plan;
    }
    pthread_mutex_unlock(&cache->lock);
    return e;
}

/*
 * Puts a new plan there, unless somebody was faster or there is no room (or no memory for the key): the plan is then
 * the caller's to destroy.
 */
static lfuse__evaluated *put(lfuse__plan_cache *cache, const key *k, lfuse_plan *plan)
{
    lfuse__evaluated old = { 0 }, *e = NULL;
    void *copy = malloc(k->length);

    if (!copy) return NULL;
    memcpy(copy, k->data, k->length);
    pthread_mutex_lock(&cache->lock);
    if (!find(cache, k)) e = room(cache);
    if (e) {
        old = *e;
        *e = (lfuse__evaluated){ copy, k->length, k->hash, plan, .users = 1, .used = ++cache->clock };
    }
    pthread_mutex_unlock(&cache->lock);
    if (!e) free(copy);
    lfuse__evaluated_clear(&old);
    return e;
}

static void release(lfuse__plan_cache *cache, lfuse__evaluated *e)
{
    pthread_mutex_lock(&cache->lock);
    e->users--;
    pthread_mutex_unlock(&cache->lock);
}

static lfuse_status make_plan(lfuse_device *dev, const lfuse__immediate *call, lfuse_plan **plan)
{
    lfuse_graph *g = call->make(call->data);
    const lfuse_status status = lfuse__plan_create(dev, g, NULL, plan);

    lfuse_graph_destroy(g);
    return status;
}

lfuse_status lfuse__immediate_run(lfuse_stream *stream, const lfuse__immediate *call, const lfuse_binding *bindings,
                                  int count)
{
    const key k = { call->key, call->length, lfuse__hash_bytes(call->key, call->length) };
    lfuse_device *dev = lfuse__stream_device(stream);
    lfuse__plan_cache *cache;
    lfuse__evaluated *e;
    lfuse_plan *plan = NULL;
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_usable(stream));
    LFUSE__TRY(lfuse__plan_cache_get(dev, &cache));
    e = take(cache, &k, &plan);
    if (!e) {
        LFUSE__TRY(call->graph ? lfuse__plan_create(dev, call->graph, NULL, &plan) : make_plan(dev, call, &plan));
        e = put(cache, &k, plan);
    }
    status = lfuse__plan_run_after(plan, stream, bindings, count, call->before, call->data);
    if (e) release(cache, e);
    else lfuse__plan_destroy(plan);
    return status;
}

static lfuse_status run_once(lfuse_stream *stream, const lfuse_graph *graph, const lfuse_binding *bindings, int count)
{
    lfuse_plan *plan;
    lfuse_status status;

    LFUSE__TRY(lfuse__plan_create(lfuse__stream_device(stream), graph, NULL, &plan));
    status = lfuse__plan_run(plan, stream, bindings, count);
    lfuse__plan_destroy(plan);
    return status;
}

static lfuse_status evaluate(lfuse_stream *stream, const lfuse_graph *graph, const lfuse_binding *bindings, int count)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__immediate call = { .graph = graph };
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_usable(stream));
    if (!graph || graph->status || !may_stay(graph)) return run_once(stream, graph, bindings, count);
    lfuse__graph_format(graph, &text);
    status = lfuse__strbuf_check(&text);
    call.key = text.data;
    call.length = text.length;
    if (!status) status = lfuse__immediate_run(stream, &call, bindings, count);
    lfuse__strbuf_free(&text);
    return status;
}

lfuse_status lfuse__evaluate(lfuse_stream *stream, const lfuse_graph *graph, const lfuse_binding *bindings, int count)
{
    return lfuse__recording_note(stream, evaluate(stream, graph, bindings, count));
}
