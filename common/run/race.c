/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Times the provider's algorithms for one product against each other.
 *
 * A small product takes longer to submit than to run. So a batch of up to MOST_RUNS is timed, on devices with native
 * graphs as one graph, which the device works through without the host. The algorithms take turns, so that a drifting
 * clock meets all of them alike: a few rounds with all, more with the best.
 *
 * What it costs, beside loading each algorithm's code: about 30 ms where a product takes less than BATCH_US; above, the
 * longer of TRIED_US and LEAST_TRIED products, each twice, then the longer of ROUNDS_US and two rounds of FINALISTS.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/half.h"
#include "common/base/log.h"
#include "common/run/instance.h"

enum {
    MOST_RUNS = 20,
    LEAST_TRIED = 8, /* of a long list, whatever they take */
    FINALISTS = 4,
    LEAST_ROUNDS = 2, /* a graph's first launch also brings it to the device */
    QUICK_ROUNDS = 3,
    FINAL_ROUNDS = 9
};
#define BATCH_US 200.0
#define TRIED_US 20e3
#define ROUNDS_US 10e3

typedef struct runner {
    const lfuse__gemm_candidate *candidate;
    lfuse__gemm *gemm;
    lfuse__native *graph; /* of race.runs products; NULL: they are submitted one by one */
    int n;
    double us[QUICK_ROUNDS + FINAL_ROUNDS]; /* [n] of one product, ascending */
} runner;

typedef struct race {
    const lfuse__gemm_desc *desc;
    lfuse_stream *stream; /* of its own: the user's may be one that cannot be captured */
    lfuse__range *memory; /* a, b, c, bias, workspace behind each other */
    lfuse__gemm_args args;
    lfuse_event *before, *after;
    int runs;             /* of a batch */
    double spent;         /* in batches, us */
    int count;
    runner runners[LFUSE__GEMM_CANDIDATES];
    lfuse_status status;  /* why the last one that failed did so */
    lfuse__saved_error why, earlier;
} race;

/* ---- the operands ---- */

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static void put(lfuse_type type, void *to, int i, double x)
{
    switch (type) {
    case LFUSE_F32: ((float *)to)[i] = (float)x; break;
    case LFUSE_F64: ((double *)to)[i] = x; break;
    case LFUSE_F16: ((uint16_t *)to)[i] = lfuse__double_to_f16(x); break;
    default: ((uint16_t *)to)[i] = lfuse__double_to_bf16(x); break;
    }
}

/*
 * Numbers from -1 to 1 that look random: a device draws less power, and so keeps a higher clock, on constant data. The
 * period is odd, so that rows differ.
 */
static lfuse_status fill(const race *r, lfuse_type type, uint64_t bytes)
{
    enum { PERIOD = 4093 };
    const uint64_t period = PERIOD * (uint64_t)lfuse_type_size(type);
    uint64_t done = bytes < period ? bytes : period, piece;
    uint32_t state = 1;
    void *host = malloc(period);
    lfuse_status status;
    int i;

    if (!host) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRIu64 " bytes)", period);
    for (i = 0; i < PERIOD; i++) {
        state = state * 1664525u + 1013904223u;
        put(type, host, i, (double)state * 0x1p-31 - 1);
    }
    status = lfuse__write(r->stream, r->memory, 0, host, done);
    if (!status) status = lfuse__stream_sync(r->stream);
    free(host);
    for (; done < bytes && !status; done += piece) {
        piece = bytes - done < done ? bytes - done : done;
        status = lfuse__copy(r->stream, r->memory, done, r->memory, 0, piece);
    }
    return status;
}

static lfuse_status make_operands(lfuse_device *dev, uint64_t workspace, race *r)
{
    const lfuse__gemm_desc *d = r->desc;
    const uint64_t size = lfuse_type_size(d->type);
    const uint64_t a_bytes = aligned((uint64_t)(d->ta ? d->k : d->m) * (uint64_t)d->lda * size);
    const uint64_t b_bytes = aligned((uint64_t)(d->tb ? d->n : d->k) * (uint64_t)d->ldb * size);
    const uint64_t c_bytes = aligned((uint64_t)d->m * (uint64_t)d->ldc * size);
    const uint64_t bias = aligned((uint64_t)d->n * size), all = a_bytes + b_bytes + c_bytes + bias;

    LFUSE__TRY(lfuse__range_create(dev, all + workspace, &r->memory));
    r->args.alpha = 1;
    r->args.beta = d->has_beta ? 0.5 : 0; /* what is added to stays small */
    r->args.a = r->args.b = r->args.c = r->args.bias = r->args.workspace = r->memory->mem;
    r->args.a_offset = r->memory->offset;
    r->args.b_offset = r->args.a_offset + a_bytes;
    r->args.c_offset = r->args.b_offset + b_bytes;
    r->args.bias_offset = r->args.c_offset + c_bytes;
    r->args.workspace_offset = r->args.bias_offset + bias;
    return fill(r, d->type, all);
}

/* ---- a batch ---- */

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static lfuse_status submit(const race *r, const runner *x)
{
    int i;

    if (x->graph) return lfuse__native_launch(r->stream, x->graph);
    for (i = 0; i < r->runs; i++) LFUSE__TRY(lfuse__gemm_run(r->stream, x->gemm, &r->args));
    return LFUSE_OK;
}

static void note(runner *x, double us)
{
    int i;

    for (i = x->n++; i && x->us[i - 1] > us; i--) x->us[i] = x->us[i - 1];
    x->us[i] = us;
}

/* By the device's clock, or by the host's where that is all there is. */
static lfuse_status time_batch(race *r, runner *x)
{
    double us, start = now_us();
    lfuse_status status;

    LFUSE__TRY(lfuse__event_record(r->before, r->stream));
    LFUSE__TRY(submit(r, x));
    LFUSE__TRY(lfuse__event_record(r->after, r->stream));
    LFUSE__TRY(lfuse__stream_sync(r->stream));
    us = now_us() - start;
    status = lfuse__event_elapsed(r->before, r->after, &start);
    if (status && status != LFUSE_ERR_UNSUPPORTED) return status;
    if (!status) us = start;
    r->spent += us;
    note(x, us / r->runs);
    return LFUSE_OK;
}

static lfuse_status make_graph(race *r, runner *x)
{
    lfuse__saved_error first;
    lfuse_status status, ended;
    lfuse__native *graph = NULL;

    LFUSE__TRY(lfuse__native_begin(r->stream));
    status = submit(r, x);
    lfuse__error_save(&first);
    ended = lfuse__native_end(r->stream, &graph);
    x->graph = graph;
    if (status) lfuse__error_restore(&first);
    return status ? status : ended;
}

/* ---- the race ---- */

/* Disturbances only add, so a low sample is the truest; the lowest may come from a moment of a higher clock. */
static double time_of(const runner *x)
{
    return x->us[x->n / 4];
}

static void release(runner *x)
{
    lfuse__native_destroy(x->graph);
    lfuse__gemm_destroy(x->gemm);
}

static void report(const race *r, const runner *x)
{
    lfuse__log(LFUSE_LOG_DEBUG, "product %" PRId64 " x %" PRId64 " x %" PRId64 ": %s takes %.3f us", r->desc->m,
               r->desc->n, r->desc->k, x->candidate->identity, time_of(x));
}

/* Whatever an algorithm fails of, the others may work. */
static void drop(race *r, int i, lfuse_status status)
{
    lfuse__log(LFUSE_LOG_DEBUG, "product %" PRId64 " x %" PRId64 " x %" PRId64 ": %s fails: %s", r->desc->m,
               r->desc->n, r->desc->k, r->runners[i].candidate->identity, lfuse__error_message());
    r->status = status;
    lfuse__error_save(&r->why);
    release(&r->runners[i]);
    r->count--;
    memmove(&r->runners[i], &r->runners[i + 1], (size_t)(r->count - i) * sizeof r->runners[0]);
}

static void each(race *r, lfuse_status (*work)(race *, runner *))
{
    lfuse_status status;
    int i = 0;

    while (i < r->count) {
        status = work(r, &r->runners[i]);
        if (status) drop(r, i, status);
        else i++;
    }
}

static void run_rounds(race *r, int most)
{
    const double start = now_us();
    int i;

    for (i = 0; i < most && (i < LEAST_ROUNDS || now_us() - start < ROUNDS_US); i++) each(r, time_batch);
}

/* The fastest first; equal ones stay in the provider's order. */
static void rank(race *r)
{
    int i, k;

    for (i = 1; i < r->count; i++) {
        const runner x = r->runners[i];
        for (k = i; k && time_of(&r->runners[k - 1]) > time_of(&x); k--) r->runners[k] = r->runners[k - 1];
        r->runners[k] = x;
    }
}

/* The first run loads what the algorithm needs, the second is timed. */
static lfuse_status try_out(race *r, runner *x)
{
    LFUSE__TRY(lfuse__gemm_prepare(lfuse__stream_device(r->stream), r->desc, x->candidate, &x->gemm));
    LFUSE__TRY(lfuse__gemm_run(r->stream, x->gemm, &r->args));
    LFUSE__TRY(lfuse__stream_sync(r->stream));
    return time_batch(r, x);
}

static void enter(race *r, const lfuse__gemm_candidate *candidate)
{
    runner *x = &r->runners[r->count++];
    lfuse_status status;

    memset(x, 0, sizeof *x);
    x->candidate = candidate;
    status = try_out(r, x);
    if (status) drop(r, r->count - 1, status);
}

/* All of them in batches; what was timed before with the host's share in it does not count. */
static void run_heats(race *r, bool graphs)
{
    const double us = time_of(&r->runners[0]);
    int i;

    r->runs = us * MOST_RUNS < BATCH_US ? MOST_RUNS : (int)(BATCH_US / us);
    for (i = 0; i < r->count; i++) r->runners[i].n = 0;
    if (graphs) each(r, make_graph);
    run_rounds(r, QUICK_ROUNDS);
    rank(r);
}

static void run_race(race *r, bool graphs, const lfuse__gemm_candidate *candidates, int count)
{
    int i;

    r->runs = 1;
    for (i = 0; i < count && (i < LEAST_TRIED || r->spent < TRIED_US); i++) enter(r, &candidates[i]);
    rank(r);
    if (r->count && time_of(&r->runners[0]) < BATCH_US) run_heats(r, graphs);
    while (r->count > FINALISTS) {
        report(r, &r->runners[--r->count]);
        release(&r->runners[r->count]);
    }
    run_rounds(r, FINAL_ROUNDS);
    rank(r);
    for (i = r->count; i > 0; i--) report(r, &r->runners[i - 1]); /* the last line is the choice */
}

static lfuse_status open_race(lfuse_instance *in, const lfuse__gemm_candidate *candidates, int count, race *r)
{
    lfuse_device *dev = in->plan->dev;
    uint64_t workspace = 0;
    int i;

    for (i = 0; i < count; i++)
        if (candidates[i].workspace > workspace) workspace = candidates[i].workspace;
    LFUSE__TRY(lfuse__stream_sync(in->stream)); /* what it has to do would run beside the race */
    LFUSE__TRY(lfuse__stream_create(dev, &r->stream));
    LFUSE__TRY(lfuse__event_create(dev, &r->before));
    LFUSE__TRY(lfuse__event_create(dev, &r->after));
    return make_operands(dev, workspace, r);
}

static void close_race(race *r)
{
    while (r->count) release(&r->runners[--r->count]);
    lfuse__event_destroy(r->before);
    lfuse__event_destroy(r->after);
    lfuse__stream_destroy(r->stream);
    lfuse__range_release(r->memory);
}

lfuse_status lfuse__gemm_race(lfuse_instance *in, const lfuse__gemm_desc *desc,
                              const lfuse__gemm_candidate *candidates, int count, int *best, double *us)
{
    race r = { .desc = desc };
    lfuse_status status;

    lfuse__error_save(&r.earlier);
    status = open_race(in, candidates, count, &r);
    if (!status) {
        run_race(&r, in->facts->info.native_graph, candidates, count);
        if (r.count) {
            *best = (int)(r.runners[0].candidate - candidates);
            *us = time_of(&r.runners[0]);
            lfuse__error_restore(&r.earlier);
        } else {
            lfuse__error_restore(&r.why);
            status = lfuse__error_prefix(r.status, "none of %d algorithms works: ", count);
        }
    }
    close_race(&r);
    return status;
}
