/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan bodies on a device: one for each canonical graph and set of passes, with the kernels in one program. Found in a
 * bounded cache; made once however many threads ask.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/matmul/provider.h"
#include "common/run/compile/entry.h"
#include "common/tune/wisdom.h"

enum { CACHED_BODIES = 256 };

const lfuse__plan_body *lfuse__body_plan(const lfuse__body_entry *entry)
{
    return entry->plan;
}

static void destroy_entry(lfuse__body_entry *e)
{
    lfuse__compiled_free(e->kernels);
    lfuse__plan_free(e->plan);
    pthread_mutex_destroy(&e->lock);
    lfuse__strbuf_free(&e->key);
    free(e);
}

void lfuse__body_release(lfuse__body_entry *e)
{
    if (e && atomic_fetch_sub_explicit(&e->references, 1, memory_order_acq_rel) == 1) destroy_entry(e);
}

void lfuse__body_cache_init(lfuse__body_cache *cache)
{
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->built, NULL);
}

void lfuse__body_cache_clear(lfuse__body_cache *cache)
{
    while (cache->bodies) {
        lfuse__body_entry *e = cache->bodies;
        cache->bodies = e->next;
        lfuse__body_release(e);
    }
    pthread_cond_destroy(&cache->built);
    pthread_mutex_destroy(&cache->lock);
}

bool lfuse__graph_may_split(const lfuse_graph *graph, lfuse_precision precision, lfuse_precision split)
{
    for (int i = 0; i < graph->nnodes; i++) {
        const lfuse__node *n = &graph->nodes[i];
        const lfuse_precision own = (lfuse_precision)n->op;
        if (n->kind != LFUSE__MATMUL || n->list || graph->nodes[n->in[0]].type != LFUSE_F32) continue;
        if ((own == LFUSE_PRECISION_FULL ? precision : own) == split) return true;
    }
    return false;
}

bool lfuse__graph_multiplies(const lfuse_graph *graph, lfuse_type type)
{
    for (int i = 0; i < graph->nnodes; i++) {
        const lfuse__node *n = &graph->nodes[i];
        if (n->kind == LFUSE__MATMUL && (type == LFUSE_TYPE_NONE || graph->nodes[n->in[0]].type == type)) return true;
    }
    return false;
}

/* Where somebody is to choose between providers of products, by measurement or by what is known, there is a choice. */
static lfuse_status effort_of(lfuse_device *dev, const lfuse_graph *graph, lfuse_plan_options *o)
{
    bool any = o->effort == LFUSE_EFFORT_MEASURE;

    if (o->provider == LFUSE_PROVIDER_DEFAULT && lfuse__tiles_fit(lfuse__device_facts(dev)) &&
        lfuse__graph_multiplies(graph, LFUSE_TYPE_NONE)) {
        if (!any) LFUSE__TRY(lfuse__wisdom_any(dev, &any));
    } else {
        any = false;
    }
    o->effort = any ? LFUSE_EFFORT_MEASURE : LFUSE_EFFORT_ESTIMATE;
    return LFUSE_OK;
}

static void add_rates(lfuse__strbuf *key, const lfuse__facts *facts)
{
    lfuse__strbuf_format(key, "%a %a %a %a %a", facts->product_rate, facts->product_rate64, facts->product_rate16[0],
                         facts->product_rate16[1], facts->copy_rate);
    for (int i = 0; i < LFUSE__PRECISIONS; i++)
        if (lfuse__may_split((lfuse_precision)i)) lfuse__strbuf_format(key, " %a", facts->product_rate_split[i]);
    lfuse__strbuf_format(key, "\n");
}

/* What a model decided by is part of the key: it may be known better the next time. */
static lfuse_status make_key(const lfuse_graph *graph, const lfuse_plan_options *options, const lfuse__facts *facts,
                             lfuse__strbuf *key)
{
    lfuse__strbuf_format(key, "%u %d %d %d %d %d %d\n", options->disable & ~(unsigned)LFUSE_NO_REPLAY,
                         options->exact != 0, (int)options->transport, (int)options->provider, (int)options->strassen,
                         (int)options->effort, (int)options->precision);
    if (options->strassen == LFUSE_STRASSEN_AUTO)
        add_rates(key, facts);
    lfuse__graph_print(graph, key);
    return lfuse__strbuf_check(key);
}

static lfuse__body_entry *look_up(const lfuse__body_cache *cache, const lfuse__strbuf *key, lfuse__hash hash)
{
    lfuse__body_entry *e;

    for (e = cache->bodies; e; e = e->next)
        if (e->hash.low == hash.low && e->hash.high == hash.high && e->key.length == key->length &&
            !memcmp(e->key.data, key->data, key->length))
            return e;
    return NULL;
}

static void take_out(lfuse__body_cache *cache, lfuse__body_entry *e)
{
    lfuse__body_entry **at = &cache->bodies;

    while (*at != e) at = &(*at)->next;
    *at = e->next;
    cache->nbodies--;
}

/* The one that was not asked for longest goes; plans that use it keep it alive. */
static lfuse__body_entry *evict(lfuse__body_cache *cache)
{
    lfuse__body_entry *e, *oldest = NULL;

    if (cache->nbodies <= CACHED_BODIES) return NULL;
    for (e = cache->bodies; e; e = e->next)
        if (!e->building && (!oldest || e->used < oldest->used)) oldest = e;
    if (oldest) take_out(cache, oldest);
    return oldest;
}

/* Takes the key over. */
static lfuse_status new_entry(lfuse__strbuf *key, lfuse__hash hash, lfuse__body_entry **entry)
{
    lfuse__body_entry *e = calloc(1, sizeof *e);

    if (!e) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *e);
    e->key = *key;
    *key = (lfuse__strbuf)LFUSE__STRBUF_INIT;
    e->hash = hash;
    e->building = true;
    pthread_mutex_init(&e->lock, NULL);
    atomic_init(&e->references, 2); /* the cache's and the caller's */
    *entry = e;
    return LFUSE_OK;
}

/* The vendor's library is loaded, where it was not, and is then known to be there or not. */
static lfuse_status look_for_vendor(lfuse_device *dev, lfuse__facts *facts)
{
    lfuse__facts full;

    LFUSE__TRY(lfuse__device_full_facts(dev, &full));
    facts->products = full.products;
    return LFUSE_OK;
}

/* Whether both providers of products are looked at from the start: they are measured, or compared by a model. */
static bool compares_providers(const lfuse__facts *facts, const lfuse_graph *graph, const lfuse_plan_options *options)
{
    return lfuse__tiles_fit(facts) && options->provider == LFUSE_PROVIDER_DEFAULT &&
           (options->effort == LFUSE_EFFORT_MEASURE || options->strassen != LFUSE_STRASSEN_OFF) &&
           lfuse__graph_multiplies(graph, LFUSE_TYPE_NONE);
}

/* Whether some product is the vendor's in the first place. */
static bool asks_vendor(const lfuse__plan_body *plan)
{
    int i, k;

    for (i = 0; i < plan->nstages; i++) {
        const lfuse__alternative *first = &plan->stages[i].alternatives[0];
        for (k = 0; k < first->nsteps; k++)
            if (first->steps[k].kind == LFUSE__STEP_GEMM && !first->steps[k].product.native) return true;
    }
    return false;
}

/*
 * A vendor's library may take longer to load than all else of a first result (cuBLASLt: 50 ms). So it is taken to be
 * there until a plan begins with a product of its own: where it then is not, the plan is made again.
 */
static lfuse_status make_plan(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                              lfuse__facts *facts, lfuse__plan_body **plan)
{
    const lfuse__products before = facts->products;

    if (compares_providers(facts, graph, options)) {
        LFUSE__TRY(look_for_vendor(dev, facts));
        return lfuse__plan_make(graph, facts, &lfuse__products_advice, options, plan);
    }
    LFUSE__TRY(lfuse__plan_make(graph, facts, &lfuse__products_advice, options, plan));
    if (!lfuse__tiles_fit(facts) || options->provider != LFUSE_PROVIDER_DEFAULT || !asks_vendor(*plan)) return LFUSE_OK;
    LFUSE__TRY(look_for_vendor(dev, facts));
    if (facts->products == before) return LFUSE_OK;
    lfuse__plan_free(*plan);
    *plan = NULL;
    return lfuse__plan_make(graph, facts, &lfuse__products_advice, options, plan);
}

static lfuse_status build(lfuse__body_entry *e, lfuse_device *dev, const lfuse_graph *graph,
                          const lfuse_plan_options *options, lfuse__facts *facts)
{
    e->transport = options->transport;
    LFUSE__TRY(make_plan(dev, graph, options, facts, &e->plan));
    LFUSE__TRY(lfuse__entry_want_all(e, lfuse__device_facts(dev)));
    return e->kernels ? lfuse__compiled_build(dev, e->kernels) : LFUSE_OK;
}

/* Called with the lock, which is free while the body is made. */
static lfuse_status make_entry(lfuse__body_cache *cache, lfuse_device *dev, const lfuse_graph *graph,
                               const lfuse_plan_options *options, lfuse__facts *facts, lfuse__strbuf *key,
                               lfuse__hash hash, lfuse__body_entry **entry)
{
    lfuse__body_entry *e = NULL, *old = NULL;
    lfuse_status status;

    LFUSE__TRY(new_entry(key, hash, &e));
    e->next = cache->bodies;
    cache->bodies = e;
    cache->nbodies++;
    pthread_mutex_unlock(&cache->lock);
    status = build(e, dev, graph, options, facts);
    pthread_mutex_lock(&cache->lock);
    e->building = false;
    e->used = ++cache->clock;
    if (status) take_out(cache, e);
    else old = evict(cache);
    pthread_cond_broadcast(&cache->built);
    pthread_mutex_unlock(&cache->lock);
    lfuse__body_release(status ? e : old);
    if (status) lfuse__body_release(e);
    pthread_mutex_lock(&cache->lock);
    if (!status) *entry = e;
    return status;
}

lfuse_status lfuse__body_get(lfuse__body_cache *cache, lfuse_device *dev, const lfuse_graph *graph,
                             const lfuse_plan_options *wanted, lfuse__facts *facts, lfuse__body_entry **entry)
{
    lfuse_plan_options o = *wanted;
    lfuse__strbuf key = LFUSE__STRBUF_INIT;
    lfuse__body_entry *e;
    lfuse__hash hash;
    lfuse_status status;

    LFUSE__TRY(effort_of(dev, graph, &o));
    status = make_key(graph, &o, facts, &key);
    if (status) goto err_free_key;
    hash = lfuse__hash_bytes(key.data, key.length);
    pthread_mutex_lock(&cache->lock);
    while ((e = look_up(cache, &key, hash)) && e->building) pthread_cond_wait(&cache->built, &cache->lock);
    if (e) {
        atomic_fetch_add_explicit(&e->references, 1, memory_order_relaxed);
        e->used = ++cache->clock;
        *entry = e;
    } else {
        status = make_entry(cache, dev, graph, &o, facts, &key, hash, entry);
    }
    pthread_mutex_unlock(&cache->lock);

err_free_key:
    lfuse__strbuf_free(&key);
    return status;
}
