/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Which of the provider's algorithms a product uses: the heuristic's first, or the fastest of those it lists, timed
 * once and remembered on the device, so that equal products always get the same one.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/instance.h"

enum { CANDIDATES = 8, REPEATS = 3 };

typedef struct choice {
    struct choice *next;
    lfuse__gemm_desc desc;
    bool measured;
    lfuse__gemm_candidate candidate;
} choice;

typedef struct choices {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool busy; /* somebody chooses; the others wait, so that equal products never race */
    choice *first;
} choices;

static lfuse_status create(lfuse_device *dev, void **data)
{
    choices *all = calloc(1, sizeof *all);

    (void)dev;
    if (!all) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->done, NULL);
    *data = all;
    return LFUSE_OK;
}

static void destroy(void *data)
{
    choices *all = data;

    while (all->first) {
        choice *c = all->first;
        all->first = c->next;
        free(c);
    }
    pthread_cond_destroy(&all->done);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* Memory that the candidates are timed on. */
typedef struct bench {
    lfuse_stream *stream;
    lfuse__range *memory; /* a, b, c, bias, workspace behind each other */
    lfuse__gemm_args args;
    lfuse_event *before, *after;
} bench;

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* A pattern that is a small number other than 0 in every type. */
static uint64_t pattern_of(lfuse_type type)
{
    return type == LFUSE_F64 ? 0x3fb999999999999aull : type == LFUSE_F32 ? 0x3dcccccdull : type == LFUSE_F16 ? 0x2e66ull
                                                                                                     : 0x3dcdull;
}

static lfuse_status open_bench(lfuse_instance *in, const lfuse__gemm_desc *d, uint64_t workspace, bench *b)
{
    const uint64_t size = lfuse_type_size(d->type);
    const uint64_t a_bytes = aligned((uint64_t)(d->ta ? d->k : d->m) * (uint64_t)d->lda * size);
    const uint64_t b_bytes = aligned((uint64_t)(d->tb ? d->n : d->k) * (uint64_t)d->ldb * size);
    const uint64_t c_bytes = aligned((uint64_t)d->m * (uint64_t)d->ldc * size);
    const uint64_t bias = aligned((uint64_t)d->n * size), all = a_bytes + b_bytes + c_bytes + bias;

    b->stream = in->stream;
    LFUSE__TRY(lfuse__range_create(in->plan->dev, all + workspace, &b->memory));
    b->args.alpha = 1;
    b->args.a = b->args.b = b->args.c = b->args.bias = b->args.workspace = b->memory->mem;
    b->args.a_offset = b->memory->offset;
    b->args.b_offset = b->args.a_offset + a_bytes;
    b->args.c_offset = b->args.b_offset + b_bytes;
    b->args.bias_offset = b->args.c_offset + c_bytes;
    b->args.workspace_offset = b->args.bias_offset + bias;
    LFUSE__TRY(lfuse__fill(b->stream, b->memory, 0, pattern_of(d->type), (unsigned)size, all));
    LFUSE__TRY(lfuse__event_create(in->plan->dev, &b->before));
    return lfuse__event_create(in->plan->dev, &b->after);
}

static void close_bench(bench *b)
{
    lfuse__event_destroy(b->before);
    lfuse__event_destroy(b->after);
    lfuse__range_release(b->memory);
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* One run, by the device's clock, or by the host's where that is all there is. */
static lfuse_status time_once(bench *b, lfuse__gemm *gemm, double *us)
{
    lfuse__saved_error saved;
    lfuse_status status;
    double start;

    LFUSE__TRY(lfuse__stream_sync(b->stream));
    start = now_us();
    LFUSE__TRY(lfuse__event_record(b->before, b->stream));
    LFUSE__TRY(lfuse__gemm_run(b->stream, gemm, &b->args));
    LFUSE__TRY(lfuse__event_record(b->after, b->stream));
    LFUSE__TRY(lfuse__stream_sync(b->stream));
    *us = now_us() - start;
    lfuse__error_save(&saved);
    status = lfuse__event_elapsed(b->before, b->after, &start);
    if (!status) *us = start;
    else lfuse__error_restore(&saved);
    return status == LFUSE_ERR_UNSUPPORTED ? LFUSE_OK : status;
}

/* The median after one run that warms up. */
static lfuse_status time_candidate(lfuse_instance *in, const lfuse__gemm_desc *desc,
                                   const lfuse__gemm_candidate *candidate, bench *b, double *us)
{
    double times[REPEATS], t = 0;
    lfuse__gemm *gemm;
    lfuse_status status;
    int i, k;

    LFUSE__TRY(lfuse__gemm_prepare(in->plan->dev, desc, candidate, &gemm));
    status = lfuse__gemm_run(b->stream, gemm, &b->args);
    for (i = 0; i < REPEATS && !status; i++) {
        status = time_once(b, gemm, &t);
        for (k = i; !status && k && times[k - 1] > t; k--) times[k] = times[k - 1];
        if (!status) times[k] = t;
    }
    lfuse__gemm_destroy(gemm);
    if (!status) *us = times[REPEATS / 2];
    return status;
}

static lfuse_status measure(lfuse_instance *in, const lfuse__gemm_desc *desc, const lfuse__gemm_candidate *all,
                            int count, int *best)
{
    bench b = { 0 };
    uint64_t workspace = 0;
    double us, least = 0;
    lfuse_status status;
    int i;

    for (i = 0; i < count; i++)
        if (all[i].workspace > workspace) workspace = all[i].workspace;
    status = open_bench(in, desc, workspace, &b);
    for (*best = -1, i = 0; i < count && !status; i++) {
        status = time_candidate(in, desc, &all[i], &b, &us);
        if (status == LFUSE_ERR_UNSUPPORTED) {
            status = LFUSE_OK;
            continue;
        }
        if (status) break;
        lfuse__log(LFUSE_LOG_DEBUG, "product %lld x %lld x %lld: %s takes %.2f us", (long long)desc->m,
                   (long long)desc->n, (long long)desc->k, all[i].identity, us);
        if (*best < 0 || us < least) *best = i, least = us;
    }
    close_bench(&b);
    if (status || *best >= 0) return status;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "none of %d algorithms takes the product", count);
}

static lfuse_status choose(lfuse_instance *in, const lfuse__gemm_desc *desc, lfuse__gemm_candidate *candidate)
{
    lfuse__gemm_candidate all[CANDIDATES];
    int count, best = 0;

    LFUSE__TRY(lfuse__gemm_candidates(in->plan->dev, desc, in->plan->measure ? CANDIDATES : 1, all, &count));
    if (in->plan->measure && count > 1) LFUSE__TRY(measure(in, desc, all, count, &best));
    *candidate = all[best];
    return LFUSE_OK;
}

static choice *find(choices *all, const lfuse__gemm_desc *desc, bool measured)
{
    choice *c;

    for (c = all->first; c; c = c->next)
        if (c->measured == measured && !memcmp(&c->desc, desc, sizeof *desc)) return c;
    return NULL;
}

lfuse_status lfuse__gemm_choose(lfuse_instance *in, const lfuse__gemm_desc *desc, lfuse__gemm_candidate *candidate)
{
    choices *all;
    void *data;
    choice *c;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_attachment(in->plan->dev, LFUSE__ATTACH_GEMMS, create, destroy, &data));
    all = data;
    pthread_mutex_lock(&all->lock);
    while (all->busy) pthread_cond_wait(&all->done, &all->lock);
    c = find(all, desc, in->plan->measure);
    if (c) {
        *candidate = c->candidate;
        pthread_mutex_unlock(&all->lock);
        return LFUSE_OK;
    }
    all->busy = true;
    pthread_mutex_unlock(&all->lock);
    status = choose(in, desc, candidate);
    c = status ? NULL : malloc(sizeof *c); /* without memory it is chosen again the next time */
    if (c) {
        *c = (choice){ .measured = in->plan->measure, .candidate = *candidate };
        memcpy(&c->desc, desc, sizeof *desc);
    }
    pthread_mutex_lock(&all->lock);
    if (c) {
        c->next = all->first;
        all->first = c;
    }
    all->busy = false;
    pthread_cond_broadcast(&all->done);
    pthread_mutex_unlock(&all->lock);
    return status;
}
