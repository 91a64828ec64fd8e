/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: the user's handle of a plan body, and the instances that it keeps for each stream. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/env.h"
#include "common/base/error.h"
#include "common/run/bind/bind.h"
#include "common/run/cache.h"
#include "common/run/launch/launch.h"
#include "common/run/rates.h"

enum { KEPT = 8 /* instances of a stream */ };

/*
 * One stream's instances, that of the last run first. Only the thread that the stream belongs to touches them. Entries
 * stay in while the plan lives, so that finding one takes no lock; those of destroyed streams are used again.
 */
typedef struct lfuse__plan_stream {
    _Atomic(lfuse_stream *) stream; /* one reference, held by `held` */
    lfuse_stream *held;
    int count;
    lfuse_instance *instances[KEPT];
    struct lfuse__plan_stream *next;
} entry;

/* ---- making ---- */

static lfuse_status print(lfuse_plan *plan)
{
    lfuse__plan_print(lfuse__body_plan(plan->body), plan->graph, &plan->text);
    lfuse__replay_print(plan, &plan->text);
    return lfuse__strbuf_check(&plan->text);
}

static lfuse_status get_body(lfuse_plan *plan, const lfuse_plan_options *o)
{
    lfuse__plan_cache *cache;
    lfuse__facts facts;

    LFUSE__TRY(lfuse__plan_cache_get(plan->dev, &cache));
    LFUSE__TRY(lfuse__rates_for(plan->dev, plan->graph, o, &facts));
    return lfuse__body_get(&cache->bodies, plan->dev, plan->graph, o, &facts, &plan->body);
}

static lfuse_status complete(lfuse_plan *p, const lfuse_graph *graph, const lfuse_plan_options *o)
{
    LFUSE__TRY(lfuse__graph_canonical(graph, &p->graph));
    p->nnames = p->graph->nnames;
    p->nsizes = p->graph->nsizes;
    p->names = p->graph->names;
    LFUSE__TRY(get_body(p, o));
    return print(p);
}

lfuse_status lfuse__plan_create_settled(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *o,
                                        lfuse_plan **plan)
{
    lfuse_status status;
    lfuse_plan *p;

    LFUSE__TRY(lfuse__device_usable(dev));
    p = calloc(1, sizeof *p);
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *p);
    atomic_init(&p->references, 1);
    p->dev = dev;
    lfuse__device_retain(dev);
    p->measure = o->effort == LFUSE_EFFORT_MEASURE;
    p->transport = o->transport;
    p->replays = lfuse__device_facts(dev)->info.native_graph && !(o->disable & LFUSE_NO_REPLAY) &&
                 !lfuse__env_get()->sync; /* which is to name the step that fails */
    p->text = (lfuse__strbuf)LFUSE__STRBUF_INIT;
    pthread_mutex_init(&p->lock, NULL);
    status = complete(p, graph, o);
    if (status) lfuse__plan_release(p);
    else *plan = p;
    return status;
}

lfuse_status lfuse__plan_create(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                                lfuse_plan **plan)
{
    lfuse_plan_options o;

    LFUSE__TRY(lfuse__device_usable(dev));
    LFUSE__TRY(lfuse__options_settle(options, &o));
    return lfuse__plan_create_settled(dev, graph, &o, plan);
}

static void drop_instances(entry *e)
{
    while (e->count) lfuse__instance_release(e->instances[--e->count]);
}

/* Instances hold the plan, so those of the plan's own go with the user's handle. */
void lfuse__plan_destroy(lfuse_plan *plan)
{
    entry *e, *next;

    if (!plan || lfuse__forked()) return;
    for (e = atomic_exchange(&plan->streams, NULL); e; e = next) {
        next = e->next;
        drop_instances(e);
        lfuse__stream_release(e->held);
        free(e);
    }
    lfuse__plan_release(plan);
}

/* ---- running ---- */

static entry *find(lfuse_plan *plan, lfuse_stream *s)
{
    entry *e = atomic_load_explicit(&plan->streams, memory_order_acquire);

    while (e && atomic_load_explicit(&e->stream, memory_order_acquire) != s) e = e->next;
    return e;
}

/* Gives up what belongs to streams that the user has destroyed. */
static void sweep(lfuse_plan *plan)
{
    lfuse__saved_error saved;
    entry *e;

    lfuse__error_save(&saved);
    for (e = atomic_load(&plan->streams); e; e = e->next) {
        lfuse_stream *s = atomic_load(&e->stream);
        if (!s || lfuse__stream_usable(s) == LFUSE_OK) continue;
        drop_instances(e);
        atomic_store(&e->stream, NULL);
        lfuse__stream_release(e->held);
        e->held = NULL;
    }
    lfuse__error_restore(&saved);
}

const lfuse_instance *lfuse__plan_instance(lfuse_plan *plan, lfuse_stream *s)
{
    const entry *e = find(plan, s);

    return e && e->count ? e->instances[0] : NULL;
}

static lfuse_status make_entry(lfuse_plan *plan, lfuse_stream *s, entry **made)
{
    entry *e, *fresh;

    pthread_mutex_lock(&plan->lock);
    sweep(plan);
    e = atomic_load(&plan->streams);
    while (e && atomic_load(&e->stream)) e = e->next;
    fresh = e ? NULL : calloc(1, sizeof *fresh);
    if (fresh) {
        fresh->next = atomic_load(&plan->streams);
        e = fresh;
    }
    if (e) {
        lfuse__stream_retain(s);
        e->held = s;
        atomic_store(&e->stream, s);
    }
    if (fresh) atomic_store_explicit(&plan->streams, fresh, memory_order_release);
    pthread_mutex_unlock(&plan->lock);
    if (!e) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *e);
    *made = e;
    return LFUSE_OK;
}

/* Takes instance `at` to the front. */
static void to_front(entry *e, int at)
{
    lfuse_instance *in = e->instances[at];

    memmove(e->instances + 1, e->instances, (size_t)at * sizeof *e->instances);
    e->instances[0] = in;
}

/*
 * Whether the first instance does for these bindings, or another one, which is then the first; its slots are matched.
 */
static lfuse_status fits(entry *e, const lfuse_binding *bindings, int count, bool *good)
{
    lfuse_instance *in = e->count ? e->instances[0] : NULL;
    int i;

    *good = false;
    if (!in) return LFUSE_OK;
    LFUSE__TRY(lfuse__bind_match(in, bindings, count, in->slots));
    *good = !in->status && lfuse__bind_fits(in, in->slots, bindings, count);
    for (i = 1; !*good && i < e->count; i++)
        *good = !e->instances[i]->status && lfuse__bind_fits(e->instances[i], in->slots, bindings, count);
    if (!*good || i == 1) return LFUSE_OK;
    to_front(e, i - 1);
    in = e->instances[0];
    return lfuse__bind_match(in, bindings, count, in->slots);
}

/*
 * Whether the instance is of no more use, or keeps memory that a plan should not keep for a run that may never come
 * again: frozen tensors other than those in `slots`, or what was made of them.
 */
static bool is_spent(const lfuse_instance *in, const lfuse__slot *slots)
{
    int i;

    if (in->status || lfuse__instance_prepared_bytes(in)) return true;
    for (i = 0; i < in->plan->nnames; i++) {
        if (in->kept[i].list && lfuse__list_gone(in->kept[i].list)) return true;
        if (in->kept[i].tensor && in->kept[i].tensor != slots[i].tensor) return true;
    }
    return false;
}

/* Makes room for one more: at least one place. */
static void weed(entry *e)
{
    const lfuse__slot *slots = e->count ? e->instances[0]->slots : NULL;
    lfuse_instance *spent[KEPT];
    int i, kept = 0, n = 0;

    for (i = 0; i < e->count; i++) {
        if (kept == KEPT - 1 || is_spent(e->instances[i], slots)) spent[n++] = e->instances[i];
        else e->instances[kept++] = e->instances[i];
    }
    e->count = kept;
    for (i = 0; i < n; i++) lfuse__instance_release(spent[i]); /* `slots` may be of one of them */
}

static lfuse_status renew(lfuse_plan *plan, entry *e, const lfuse_binding *bindings, int count)
{
    lfuse_instance *fresh;

    LFUSE__TRY(lfuse__instance_make(plan, e->held, bindings, count, true, &fresh));
    weed(e);
    e->instances[e->count++] = fresh;
    to_front(e, e->count - 1);
    return LFUSE_OK;
}

/* The stream's entry, whose first instance has been found to do for the bindings. */
static lfuse_status match(lfuse_plan *plan, lfuse_stream *s, const lfuse_binding *bindings, int count, entry **found)
{
    entry *e;
    bool good;

    LFUSE__TRY(lfuse__stream_usable(s));
    e = find(plan, s);
    if (__builtin_expect(!e, 0)) {
        LFUSE__TRY(lfuse__stream_same_device(s, plan->dev, "the plan"));
        LFUSE__TRY(make_entry(plan, s, &e));
    }
    LFUSE__TRY(fits(e, bindings, count, &good));
    if (!good) LFUSE__TRY(renew(plan, e, bindings, count));
    LFUSE__TRY(lfuse__instance_match(e->instances[0], bindings, count, good));
    *found = e;
    return LFUSE_OK;
}

lfuse_status lfuse__plan_run_after(lfuse_plan *plan, lfuse_stream *s, const lfuse_binding *bindings, int count,
                                   lfuse_status (*before)(const void *data, lfuse_stream *s), const void *data)
{
    entry *e;

    LFUSE__TRY(match(plan, s, bindings, count, &e));
    if (before) LFUSE__TRY(before(data, s));
    return lfuse__instance_run_matched(e->instances[0]);
}

lfuse_status lfuse__plan_match(lfuse_plan *plan, lfuse_stream *s, const lfuse_binding *bindings, int count)
{
    entry *e;

    LFUSE__TRY(match(plan, s, bindings, count, &e));
    return lfuse__stream_recording(s) ? LFUSE_OK : lfuse__instance_reserve(e->instances[0]);
}

lfuse_status lfuse__plan_run_matched(lfuse_plan *plan, lfuse_stream *s)
{
    return lfuse__instance_run_matched(find(plan, s)->instances[0]);
}

lfuse_status lfuse__plan_run(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count)
{
    return lfuse__recording_note(stream, lfuse__plan_run_after(plan, stream, bindings, count, NULL, NULL));
}
