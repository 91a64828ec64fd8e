/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times ways to do the same against each other, such as a provider's algorithms for one product.
 *
 * A small one takes longer to submit than to run. So a batch of up to MOST_RUNS is timed, on devices with native
 * graphs as one graph, which the device works through without the host. They take turns, so that a drifting
 * clock meets all of them alike: a few rounds with all, more with the best.
 *
 * What it costs, beside what is made ready once: about 30 ms where a run takes less than BATCH_US; above, the longer of
 * TRIED_US and LEAST_TRIED runs, each twice, then the longer of ROUNDS_US and two rounds of FINALISTS.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/race.h"

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
    int index;            /* in the contest */
    lfuse__native *graph; /* of race.runs runs; NULL: they are submitted one by one */
    int n;
    double us[QUICK_ROUNDS + FINAL_ROUNDS]; /* [n] of one run, ascending */
} runner;

typedef struct race {
    const lfuse__contest *contest;
    lfuse_stream *stream;
    lfuse_event *before, *after;
    int runs;             /* of a batch */
    double spent;         /* in batches, us */
    int count;
    runner runners[LFUSE__CONTESTANTS];
    lfuse_status status;  /* why the last one that failed did so */
    lfuse__saved_error why, earlier;
} race;

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
    for (i = 0; i < r->runs; i++) LFUSE__TRY(r->contest->run(r->contest->data, x->index, r->stream));
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

static void release(const race *r, runner *x)
{
    lfuse__native_destroy(x->graph);
    r->contest->release(r->contest->data, x->index);
}

static const char *name_of(const race *r, const runner *x)
{
    return r->contest->name(r->contest->data, x->index);
}

static void report(const race *r, const runner *x, double *us)
{
    us[x->index] = time_of(x);
    lfuse__log(LFUSE_LOG_DEBUG, "%s: %s takes %.3f us", r->contest->what, name_of(r, x), time_of(x));
}

/* Whatever an algorithm fails of, the others may work. */
static void drop(race *r, int i, lfuse_status status)
{
    lfuse__log(LFUSE_LOG_DEBUG, "%s: %s fails: %s", r->contest->what, name_of(r, &r->runners[i]),
               lfuse__error_message());
    r->status = status;
    lfuse__error_save(&r->why);
    release(r, &r->runners[i]);
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

/* The fastest first; equal ones stay in the contest's order. */
static void rank(race *r)
{
    int i, k;

    for (i = 1; i < r->count; i++) {
        const runner x = r->runners[i];
        for (k = i; k && time_of(&r->runners[k - 1]) > time_of(&x); k--) r->runners[k] = r->runners[k - 1];
        r->runners[k] = x;
    }
}

/* The first run loads what is needed, the second is timed. */
static lfuse_status try_out(race *r, runner *x)
{
    LFUSE__TRY(r->contest->prepare(r->contest->data, x->index));
    LFUSE__TRY(r->contest->run(r->contest->data, x->index, r->stream));
    LFUSE__TRY(lfuse__stream_sync(r->stream));
    return time_batch(r, x);
}

static void enter(race *r, int index)
{
    runner *x = &r->runners[r->count++];
    lfuse_status status;

    memset(x, 0, sizeof *x);
    x->index = index;
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

static void run_race(race *r, bool graphs, double *us)
{
    int i;

    r->runs = 1;
    for (i = 0; i < r->contest->count && (i < LEAST_TRIED || r->spent < TRIED_US); i++) enter(r, i);
    rank(r);
    if (r->count && time_of(&r->runners[0]) < BATCH_US) run_heats(r, graphs);
    while (r->count > FINALISTS) {
        report(r, &r->runners[--r->count], us);
        release(r, &r->runners[r->count]);
    }
    run_rounds(r, FINAL_ROUNDS);
    rank(r);
    for (i = r->count; i > 0; i--) report(r, &r->runners[i - 1], us); /* the last line is the choice */
}

lfuse_status lfuse__race(const lfuse__contest *contest, lfuse_stream *stream, int *best, double *us)
{
    lfuse_device *dev = lfuse__stream_device(stream);
    race r = { .contest = contest, .stream = stream };
    lfuse_status status;
    int i;

    for (i = 0; i < contest->count; i++) us[i] = INFINITY;
    lfuse__error_save(&r.earlier);
    status = lfuse__event_create(dev, &r.before);
    if (!status) status = lfuse__event_create(dev, &r.after);
    if (!status) {
        run_race(&r, lfuse__device_facts(dev)->info.native_graph, us);
        if (r.count) {
            *best = r.runners[0].index;
            lfuse__error_restore(&r.earlier);
        } else {
            lfuse__error_restore(&r.why);
            status = lfuse__error_prefix(r.status, "none of %d algorithms works: ", contest->count);
        }
    }
    while (r.count) release(&r, &r.runners[--r.count]);
    lfuse__event_destroy(r.before);
    lfuse__event_destroy(r.after);
    return status;
}
