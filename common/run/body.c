/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Plan bodies on a device: one for each canonical graph and set of passes, with the kernels in one program. Found in a
 * bounded cache; made once however many threads ask.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/run/body.h"
#include "common/run/bundle.h"
#include "common/run/cache.h"
#include "common/run/foreach.h"

enum { CACHED_BODIES = 256, NAME_SIZE = 16 };

/* One kernel of one program. */
typedef struct compiled {
    struct compiled *next;
    lfuse__family family;
    lfuse__kernel_class k;
    lfuse__bundle *bundle;   /* BUNDLE: its own */
    lfuse__program *program; /* of the entry's list */
    char name[NAME_SIZE];
} compiled;

typedef struct owned_program {
    struct owned_program *next;
    lfuse__program *program; /* one reference */
} owned_program;

struct lfuse__body_entry {
    atomic_int references;
    char *key;
    size_t key_length;
    lfuse__hash hash;
    lfuse__plan_body *plan;
    lfuse_transport transport;
    pthread_mutex_t lock; /* of the lists, which only grow */
    owned_program *programs;
    compiled *kernels;
    int nkernels;
    /* Of the cache, under its lock. */
    bool building;
    uint64_t used;
    lfuse__body_entry *next;
};

const lfuse__plan_body *lfuse__body_plan(const lfuse__body_entry *entry)
{
    return entry->plan;
}

static void destroy_entry(lfuse__body_entry *e)
{
    while (e->kernels) {
        compiled *c = e->kernels;
        e->kernels = c->next;
        lfuse__bundle_destroy(c->bundle);
        free(c);
    }
    while (e->programs) {
        owned_program *p = e->programs;
        e->programs = p->next;
        lfuse__program_release(p->program);
        free(p);
    }
    lfuse__plan_free(e->plan);
    pthread_mutex_destroy(&e->lock);
    free(e->key);
    free(e);
}

void lfuse__body_release(lfuse__body_entry *e)
{
    if (e && atomic_fetch_sub_explicit(&e->references, 1, memory_order_acq_rel) == 1) destroy_entry(e);
}

/* ---- kernels ---- */

static lfuse_status emit(lfuse__strbuf *out, const compiled *c, const lfuse__facts *facts)
{
    switch (c->family) {
    case LFUSE__FAMILY_POINTWISE: return lfuse__pointwise_emit(out, c->name, &c->k, facts);
    case LFUSE__FAMILY_ROWS: return lfuse__rows_emit(out, c->name, &c->k, facts);
    case LFUSE__FAMILY_MULTI: return lfuse__multi_emit(out, c->name, &c->k, facts);
    case LFUSE__FAMILY_PARTIAL: return lfuse__members_partial_emit(out, c->name, &c->k, facts);
    case LFUSE__FAMILY_FOLD: return lfuse__members_fold_emit(out, c->name, &c->k, facts);
    case LFUSE__FAMILY_SCATTER: return lfuse__scatter_emit(out, c->name, &c->k, facts);
    case LFUSE__FAMILY_BUNDLE: return lfuse__bundle_emit(out, c->name, c->bundle, facts);
    case LFUSE__FAMILY_TABLE: break;
    }
    return lfuse__table_emit(out, c->name, facts);
}

static compiled *find(const lfuse__body_entry *e, lfuse__family family, const lfuse__kernel_class *k)
{
    compiled *c;

    for (c = e->kernels; c; c = c->next)
        if (c->family == family && lfuse__class_equal(&c->k, k)) return c;
    return NULL;
}

/* Puts one more kernel in the list, not yet compiled: it has no program. */
static lfuse_status want(lfuse__body_entry *e, lfuse__family family, const lfuse__kernel_class *k, compiled **made)
{
    compiled *c = calloc(1, sizeof *c);

    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    c->family = family;
    c->k = *k;
    snprintf(c->name, sizeof c->name, "k%d", e->nkernels++);
    c->next = e->kernels;
    e->kernels = c;
    *made = c;
    return LFUSE_OK;
}

static lfuse_status want_once(lfuse__body_entry *e, lfuse__family family, const lfuse__kernel_class *k)
{
    compiled *c;

    return find(e, family, k) ? LFUSE_OK : want(e, family, k, &c);
}

static lfuse_status want_rows(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts,
                              const lfuse__kernel_class *k)
{
    lfuse__kernel_class *classes = malloc(LFUSE__ROW_CLASSES * sizeof *classes);
    lfuse_status status = LFUSE_OK;
    int i, count;

    if (!classes) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d classes)", LFUSE__ROW_CLASSES);
    count = lfuse__row_classes(e->plan, step, facts, k, classes);
    for (i = 0; i < count && !status; i++) status = want_once(e, LFUSE__FAMILY_ROWS, &classes[i]);
    free(classes);
    return status;
}

/* Kernels of each transport that an instance may choose. */
static lfuse_status want_lists(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts)
{
    lfuse__wanted wanted[LFUSE__WANTED_MAX];
    const int count = lfuse__step_classes(e->plan, step, true, wanted);
    int i;

    for (i = 0; i < count && e->transport != LFUSE_TRANSPORT_ARGS; i++)
        LFUSE__TRY(want_once(e, wanted[i].family, &wanted[i].k));
    if (!lfuse__list_carried(facts, e->transport, count, wanted)) return LFUSE_OK;
    for (i = 0; i < count; i++)
        if (wanted[i].k.carried) LFUSE__TRY(want_once(e, wanted[i].family, &wanted[i].k));
    return LFUSE_OK;
}

static lfuse_status want_step(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts, bool index64)
{
    lfuse__wanted wanted[LFUSE__WANTED_MAX];
    const int count = lfuse__step_classes(e->plan, step, index64, wanted);
    int i;

    for (i = 0; i < count; i++)
        LFUSE__TRY(wanted[i].family == LFUSE__FAMILY_ROWS ? want_rows(e, step, facts, &wanted[i].k)
                                                          : want_once(e, wanted[i].family, &wanted[i].k));
    return LFUSE_OK;
}

static compiled *find_bundle(const lfuse__body_entry *e, const lfuse__bundle *b)
{
    compiled *c;

    for (c = e->kernels; c; c = c->next)
        if (c->family == LFUSE__FAMILY_BUNDLE && lfuse__bundle_equal(c->bundle, b)) return c;
    return NULL;
}

/* Takes the bundle over. */
static lfuse_status want_launch(lfuse__body_entry *e, lfuse__bundle *b)
{
    static const lfuse__kernel_class nothing;
    lfuse_status status;
    compiled *c;

    if (find_bundle(e, b)) {
        lfuse__bundle_destroy(b);
        return LFUSE_OK;
    }
    status = want(e, LFUSE__FAMILY_BUNDLE, &nothing, &c);
    if (status) lfuse__bundle_destroy(b);
    else c->bundle = b;
    return status;
}

/* The launches of the children, each with class number `index` of its own. */
static lfuse_status want_launches(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts, int index,
                                  lfuse__sharer *sharers, lfuse__kernel_class *classes, int *most)
{
    lfuse__bundle *b;
    int i, k, launches, n;

    for (i = 0; i < step->nchildren; i++) {
        n = lfuse__child_class(e->plan, &step->children[i], facts, index, &sharers[i], &classes[i]);
        if (!n) return LFUSE_OK; /* long rows alone: nothing that shares */
        if (n > *most) *most = n;
    }
    LFUSE__TRY(lfuse__bundle_share(facts, sharers, step->nchildren, &launches));
    for (i = 0; i < launches; i++) {
        LFUSE__TRY(lfuse__bundle_of(sharers, step->nchildren, i, &b));
        for (k = 0; k < step->nchildren && !b; k++)
            if (sharers[k].launch == i) LFUSE__TRY(want_once(e, sharers[k].family, sharers[k].k));
        if (b) LFUSE__TRY(want_launch(e, b));
    }
    return LFUSE_OK;
}

/* Long rows of children have launches of their own. */
static lfuse_status want_staged(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts, bool index64)
{
    lfuse__kernel_class *classes = malloc(LFUSE__ROW_CLASSES * sizeof *classes);
    lfuse__wanted wanted[LFUSE__WANTED_MAX];
    lfuse_status status = LFUSE_OK;
    int i, count;

    if (!classes) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d classes)", LFUSE__ROW_CLASSES);
    lfuse__step_classes(e->plan, step, index64, wanted);
    count = lfuse__row_classes(e->plan, step, facts, &wanted[0].k, classes);
    for (i = 0; i < count && !status; i++)
        if (classes[i].form == LFUSE__ROWS_PARTIAL || classes[i].form == LFUSE__ROWS_FOLD)
            status = want_once(e, LFUSE__FAMILY_ROWS, &classes[i]);
    free(classes);
    return status;
}

static lfuse_status want_children(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts)
{
    bool small, large;
    int i;

    for (i = 0; i < step->nchildren; i++) {
        if (step->children[i].kind != LFUSE__STEP_ROWS) continue;
        lfuse__step_indexing(e->plan, &step->children[i], &small, &large);
        if (small) LFUSE__TRY(want_staged(e, &step->children[i], facts, false));
        if (large) LFUSE__TRY(want_staged(e, &step->children[i], facts, true));
    }
    return LFUSE_OK;
}

/* Children whose sizes differ in class are met by compiling late; those of one kind are not. */
static lfuse_status want_bundle(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts)
{
    const size_t n = (size_t)step->nchildren + 1;
    lfuse__sharer *sharers = calloc(n, sizeof *sharers);
    lfuse__kernel_class *classes = calloc(n, sizeof *classes);
    lfuse_status status = LFUSE_OK;
    int i, most = 1;

    if (!sharers || !classes) status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu kernels)", n);
    else status = want_children(e, step, facts);
    for (i = 0; i < most && !status; i++) status = want_launches(e, step, facts, i, sharers, classes, &most);
    free(classes);
    free(sharers);
    return status;
}

static lfuse_status want_all(lfuse__body_entry *e, const lfuse__facts *facts)
{
    bool small, large;
    int i, j, k;

    for (i = 0; i < e->plan->nstages; i++)
        for (j = 0; j < e->plan->stages[i].nalternatives; j++)
            for (k = 0; k < e->plan->stages[i].alternatives[j].nsteps; k++) {
                const lfuse__step *step = &e->plan->stages[i].alternatives[j].steps[k];
                if (step->kind == LFUSE__STEP_BUNDLE) {
                    LFUSE__TRY(want_bundle(e, step, facts));
                    continue;
                }
                if (step->kind == LFUSE__STEP_MULTI || step->kind == LFUSE__STEP_MEMBERS) {
                    LFUSE__TRY(want_lists(e, step, facts));
                    continue;
                }
                lfuse__step_indexing(e->plan, step, &small, &large);
                if (small) LFUSE__TRY(want_step(e, step, facts, false));
                if (large) LFUSE__TRY(want_step(e, step, facts, true));
            }
    return LFUSE_OK;
}

/* Devices that compile at the first launch of a kernel (PoCL) do so now: a launch that does nothing. */
static lfuse_status touch(lfuse_device *dev, const compiled *c)
{
    static const uint64_t nothing[4096]; /* more than any argument block has */
    lfuse__bmem *none[LFUSE__MAX_BUFFERS] = { NULL };
    lfuse__launch_args args = { 0 };
    lfuse__kernel *kernel;
    lfuse_stream *s;
    lfuse_status status;

    LFUSE__TRY(c->bundle ? lfuse__bundle_idle(c->bundle, lfuse__device_facts(dev), &args)
                         : lfuse__kernels_idle(c->family, &c->k, lfuse__device_facts(dev), &args));
    args.words = nothing;
    args.buffers = none;
    LFUSE__TRY(lfuse__device_stream(dev, &s));
    LFUSE__TRY(lfuse__kernel_create(c->program, c->name, &kernel));
    lfuse__device_lock_sync(dev);
    status = lfuse__launch(s, kernel, &args);
    if (!status) status = lfuse__stream_sync(s);
    lfuse__device_unlock_sync(dev);
    lfuse__kernel_destroy(kernel);
    return status;
}

static lfuse_status build_program(lfuse__body_entry *e, lfuse_device *dev, const char *text, lfuse__program **program)
{
    owned_program *p = calloc(1, sizeof *p);
    lfuse_status status;

    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *p);
    status = lfuse__program_get(dev, text, &p->program);
    if (status) {
        free(p);
        return status;
    }
    pthread_mutex_lock(&e->lock);
    p->next = e->programs;
    e->programs = p;
    pthread_mutex_unlock(&e->lock);
    *program = p->program;
    return LFUSE_OK;
}

/* Puts the kernels from `first` to the end of the list into one program. */
static lfuse_status compile(lfuse__body_entry *e, lfuse_device *dev, compiled *first, const compiled *end)
{
    const lfuse__facts *facts = lfuse__device_facts(dev);
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__program *program = NULL;
    lfuse_status status = LFUSE_OK;
    compiled *c;

    for (c = first; c != end && !status; c = c->next) status = emit(&text, c, facts);
    if (!status) status = lfuse__strbuf_check(&text);
    if (!status) status = build_program(e, dev, text.data, &program);
    for (c = first; c != end && !status; c = c->next) c->program = program;
    for (c = first; c != end && !status && facts->compiles_at_launch; c = c->next) status = touch(dev, c);
    lfuse__strbuf_free(&text);
    return status;
}

/* A class that the plan did not foresee. Compiled without a lock; whoever comes second finds the program made. */
static lfuse_status compile_late(lfuse__body_entry *e, lfuse_device *dev, lfuse__family family,
                                 const lfuse__kernel_class *k, compiled **made)
{
    compiled *c = calloc(1, sizeof *c), *other;
    lfuse_status status;

    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    lfuse__log(LFUSE_LOG_INFO, "%s: compiling a kernel for strides or sizes that are not the declared ones "
               "(%d operands, rank %d, %d-bit indices)", lfuse__device_facts(dev)->info.name, k->noperands, k->rank,
               k->index64 ? 64 : 32);
    c->family = family;
    c->k = *k;
    strcpy(c->name, "late");
    status = compile(e, dev, c, NULL);
    if (status) {
        free(c);
        return status;
    }
    pthread_mutex_lock(&e->lock);
    other = find(e, family, k);
    if (!other) {
        c->next = e->kernels;
        e->kernels = c;
    }
    pthread_mutex_unlock(&e->lock);
    *made = other ? other : c;
    if (other) free(c);
    return LFUSE_OK;
}

static lfuse_status bundle_late(lfuse__body_entry *e, lfuse_device *dev, const lfuse__bundle *wanted, compiled **made)
{
    const lfuse__bundle_part *parts;
    const int n = lfuse__bundle_parts(wanted, &parts);
    compiled *c = calloc(1, sizeof *c), *other;
    lfuse_status status;

    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    lfuse__log(LFUSE_LOG_INFO, "%s: compiling a kernel of %d kernels for strides or sizes that are not the declared "
               "ones", lfuse__device_facts(dev)->info.name, n);
    c->family = LFUSE__FAMILY_BUNDLE;
    strcpy(c->name, "late");
    status = lfuse__bundle_create(n, parts, &c->bundle);
    if (!status) status = compile(e, dev, c, NULL);
    if (status) {
        lfuse__bundle_destroy(c->bundle);
        free(c);
        return status;
    }
    pthread_mutex_lock(&e->lock);
    other = find_bundle(e, wanted);
    if (!other) {
        c->next = e->kernels;
        e->kernels = c;
    }
    pthread_mutex_unlock(&e->lock);
    *made = other ? other : c;
    if (other) {
        lfuse__bundle_destroy(c->bundle);
        free(c);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__body_bundle(lfuse__body_entry *e, lfuse_device *dev, const lfuse__bundle *wanted,
                                lfuse__kernel **kernel, const lfuse__bundle **bundle)
{
    compiled *c;

    pthread_mutex_lock(&e->lock);
    c = find_bundle(e, wanted);
    pthread_mutex_unlock(&e->lock);
    if (!c) LFUSE__TRY(bundle_late(e, dev, wanted, &c));
    LFUSE__TRY(lfuse__kernel_create(c->program, c->name, kernel));
    *bundle = c->bundle;
    return LFUSE_OK;
}

lfuse_status lfuse__body_kernel(lfuse__body_entry *e, lfuse_device *dev, lfuse__family family,
                                const lfuse__kernel_class *k, lfuse__kernel **kernel)
{
    compiled *c;

    pthread_mutex_lock(&e->lock);
    c = find(e, family, k);
    pthread_mutex_unlock(&e->lock);
    if (!c) LFUSE__TRY(compile_late(e, dev, family, k, &c));
    return lfuse__kernel_create(c->program, c->name, kernel);
}

/* ---- the cache ---- */

static lfuse_status create_cache(lfuse_device *dev, void **data)
{
    lfuse__plan_cache *cache = calloc(1, sizeof *cache);

    (void)dev;
    if (!cache) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *cache);
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->built, NULL);
    *data = cache;
    return LFUSE_OK;
}

static void destroy_cache(void *data)
{
    lfuse__plan_cache *cache = data;
    int i;

    for (i = 0; i < LFUSE__GEMM_PLANS; i++) lfuse__plan_destroy(cache->gemms[i]);
    for (i = 0; i < LFUSE__EVALUATED; i++) lfuse__evaluated_clear(&cache->evaluated[i]);
    lfuse__numbers_clear(cache->numbers);
    while (cache->bodies) {
        lfuse__body_entry *e = cache->bodies;
        cache->bodies = e->next;
        lfuse__body_release(e);
    }
    pthread_cond_destroy(&cache->built);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

lfuse_status lfuse__plan_cache_get(lfuse_device *dev, lfuse__plan_cache **cache)
{
    void *data;

    LFUSE__TRY(lfuse__device_attachment(dev, LFUSE__ATTACH_PLANS, create_cache, destroy_cache, &data));
    *cache = data;
    return LFUSE_OK;
}

static lfuse_status make_key(const lfuse_graph *graph, const lfuse_plan_options *options, lfuse__strbuf *key)
{
    lfuse__strbuf_format(key, "%u %d %d\n", options->disable, options->exact != 0, (int)options->transport);
    lfuse__graph_print(graph, key);
    return lfuse__strbuf_check(key);
}

static lfuse__body_entry *look_up(const lfuse__plan_cache *cache, const lfuse__strbuf *key, lfuse__hash hash)
{
    lfuse__body_entry *e;

    for (e = cache->bodies; e; e = e->next)
        if (e->hash.low == hash.low && e->hash.high == hash.high && e->key_length == key->length &&
            !memcmp(e->key, key->data, key->length))
            return e;
    return NULL;
}

static void take_out(lfuse__plan_cache *cache, lfuse__body_entry *e)
{
    lfuse__body_entry **at = &cache->bodies;

    while (*at != e) at = &(*at)->next;
    *at = e->next;
    cache->nbodies--;
}

/* The one that was not asked for longest goes; plans that use it keep it alive. */
static lfuse__body_entry *evict(lfuse__plan_cache *cache)
{
    lfuse__body_entry *e, *oldest = NULL;

    if (cache->nbodies <= CACHED_BODIES) return NULL;
    for (e = cache->bodies; e; e = e->next)
        if (!e->building && (!oldest || e->used < oldest->used)) oldest = e;
    if (oldest) take_out(cache, oldest);
    return oldest;
}

static lfuse_status new_entry(lfuse__strbuf *key, lfuse__hash hash, lfuse__body_entry **entry)
{
    lfuse__body_entry *e = calloc(1, sizeof *e);

    if (!e) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *e);
    e->key = malloc(key->length + 1);
    if (!e->key) {
        free(e);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", key->length + 1);
    }
    memcpy(e->key, key->data, key->length + 1);
    e->key_length = key->length;
    e->hash = hash;
    e->building = true;
    pthread_mutex_init(&e->lock, NULL);
    atomic_init(&e->references, 2); /* the cache's and the caller's */
    *entry = e;
    return LFUSE_OK;
}

static lfuse_status build(lfuse__body_entry *e, lfuse_device *dev, const lfuse_graph *graph,
                          const lfuse_plan_options *options)
{
    e->transport = options->transport;
    LFUSE__TRY(lfuse__plan_make(graph, lfuse__device_facts(dev), options, &e->plan));
    LFUSE__TRY(want_all(e, lfuse__device_facts(dev)));
    return e->kernels ? compile(e, dev, e->kernels, NULL) : LFUSE_OK;
}

/* Called with the lock, which is free while the body is made. */
static lfuse_status make_entry(lfuse__plan_cache *cache, lfuse_device *dev, const lfuse_graph *graph,
                               const lfuse_plan_options *options, lfuse__strbuf *key, lfuse__hash hash,
                               lfuse__body_entry **entry)
{
    lfuse__body_entry *e = NULL, *old = NULL;
    lfuse_status status;

    LFUSE__TRY(new_entry(key, hash, &e));
    e->next = cache->bodies;
    cache->bodies = e;
    cache->nbodies++;
    pthread_mutex_unlock(&cache->lock);
    status = build(e, dev, graph, options);
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

lfuse_status lfuse__body_get(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                             lfuse__body_entry **entry)
{
    lfuse__strbuf key = LFUSE__STRBUF_INIT;
    lfuse__plan_cache *cache;
    lfuse__body_entry *e;
    lfuse__hash hash;
    lfuse_status status;

    LFUSE__TRY(lfuse__plan_cache_get(dev, &cache));
    status = make_key(graph, options, &key);
    if (status) goto err_free_key;
    hash = lfuse__hash_bytes(key.data, key.length);
    pthread_mutex_lock(&cache->lock);
    while ((e = look_up(cache, &key, hash)) && e->building) pthread_cond_wait(&cache->built, &cache->lock);
    if (e) {
        atomic_fetch_add_explicit(&e->references, 1, memory_order_relaxed);
        e->used = ++cache->clock;
        *entry = e;
    } else {
        status = make_entry(cache, dev, graph, options, &key, hash, entry);
    }
    pthread_mutex_unlock(&cache->lock);

err_free_key:
    lfuse__strbuf_free(&key);
    return status;
}
