/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Graphs that are run at once. Their plans, with the instances that these keep, stay in the device's cache under the
 * graph's text, names included, so that the next call finds everything made.
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

static lfuse__evaluated *find(lfuse__plan_cache *cache, const lfuse__strbuf *text, lfuse__hash hash)
{
    int i;

    for (i = 0; i < LFUSE__EVALUATED; i++) {
        lfuse__evaluated *e = &cache->evaluated[i];
        if (e->plan && e->hash.low == hash.low && e->hash.high == hash.high && e->length == text->length &&
            !memcmp(e->text, text->data, text->length))
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

/* Takes the plan and the text over; what had their place before is left in *old. */
static void settle(lfuse__plan_cache *cache, lfuse__evaluated *e, lfuse__strbuf *text, lfuse__hash hash,
                   lfuse_plan *plan, lfuse__evaluated *old)
{
    *old = *e;
    e->text = text->data;
    e->length = text->length;
    e->hash = hash;
    e->plan = plan;
    e->users = 1;
    e->used = ++cache->clock;
    *text = (lfuse__strbuf)LFUSE__STRBUF_INIT;
}

void lfuse__evaluated_clear(lfuse__evaluated *e)
{
    lfuse__plan_destroy(e->plan);
    free(e->text);
    memset(e, 0, sizeof *e);
}

/* One user more of the plan in the cache; *plan NULL: it is not there. */
static lfuse__evaluated *take(lfuse__plan_cache *cache, const lfuse__strbuf *text, lfuse__hash hash, lfuse_plan **plan)
{
    lfuse__evaluated *e;

    pthread_mutex_lock(&cache->lock);
    e = find(cache, text, hash);
    if (e) {
        e->users++;
        e->used = ++cache->clock;
        *plan = e->plan;
    }
    pthread_mutex_unlock(&cache->lock);
    return e;
}

/* Puts a new plan there, unless somebody was faster or there is no room: the plan is then the caller's to destroy. */
static lfuse__evaluated *put(lfuse__plan_cache *cache, lfuse__strbuf *text, lfuse__hash hash, lfuse_plan *plan)
{
    lfuse__evaluated old = { 0 }, *e = NULL;

    pthread_mutex_lock(&cache->lock);
    if (!find(cache, text, hash)) e = room(cache);
    if (e) settle(cache, e, text, hash, plan, &old);
    pthread_mutex_unlock(&cache->lock);
    lfuse__evaluated_clear(&old);
    return e;
}

static void release(lfuse__plan_cache *cache, lfuse__evaluated *e)
{
    pthread_mutex_lock(&cache->lock);
    e->users--;
    pthread_mutex_unlock(&cache->lock);
}

static lfuse_status run_cached(lfuse_stream *stream, const lfuse_graph *graph, const lfuse_binding *bindings,
                               int count, lfuse__strbuf *text)
{
    const lfuse__hash hash = lfuse__hash_bytes(text->data, text->length);
    lfuse_device *dev = lfuse__stream_device(stream);
    lfuse__plan_cache *cache;
    lfuse__evaluated *e;
    lfuse_plan *plan = NULL;
    lfuse_status status;

    LFUSE__TRY(lfuse__plan_cache_get(dev, &cache));
    e = take(cache, text, hash, &plan);
    if (!e) {
        LFUSE__TRY(lfuse__plan_create(dev, graph, NULL, &plan));
        e = put(cache, text, hash, plan);
    }
    status = lfuse__plan_run(plan, stream, bindings, count);
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
    lfuse_status status;

    LFUSE__TRY(lfuse__stream_usable(stream));
    if (graph->status || !may_stay(graph)) return run_once(stream, graph, bindings, count);
    lfuse__graph_format(graph, &text);
    status = lfuse__strbuf_check(&text);
    if (!status) status = run_cached(stream, graph, bindings, count, &text);
    lfuse__strbuf_free(&text);
    return status;
}

lfuse_status lfuse__evaluate(lfuse_stream *stream, const lfuse_graph *graph, const lfuse_binding *bindings, int count)
{
    return lfuse__recording_note(stream, evaluate(stream, graph, bindings, count));
}
