/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures candidates against each other.
 *
 * A small one takes longer to submit than to run. So a batch of up to MOST_RUNS is timed, on devices with native graphs
 * as one graph, which the device works through without the host. A round times one batch of each, so that a drifting
 * clock meets all of them alike: there are a few rounds with all, and more with the best. Where the list asks for it,
 * each run of a batch is preceded by a fill of other memory, whose time is measured too and taken off.
 *
 * What it costs, but for what is made ready once: about 30 ms where a run takes less than BATCH_US; above, the longer
 * of TRIED_US and LEAST_TRIED runs, each twice, then the longer of ROUNDS_US and two rounds of FINALISTS.
 */
#include <math.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/tune/tuner.h"

enum { NONE = -1 };
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

typedef struct candidate {
    int index;            /* in the list; NONE: it has no runs, and batches time what precedes these */
    lfuse__native *graph; /* of as many runs as a batch has; NULL: they are submitted one by one */
    int n;
    double us[QUICK_ROUNDS + FINAL_ROUNDS]; /* [n] of one run, ascending */
} candidate;

typedef struct measurement {
    const lfuse__candidates *list;
    lfuse_stream *stream;
    lfuse_event *before, *after;
    int runs;             /* of a batch */
    lfuse__range *evicting; /* the memory that is filled before each run of a batch; NULL: none is */
    double evict_us;      /* what that takes */
    double spent;         /* in batches, us */
    int count;
    candidate left[LFUSE__CANDIDATES]; /* [count], those that have not failed */
    lfuse_status status;  /* why the last one that failed did so */
    lfuse__saved_error why;
} measurement;

/* ---- a batch ---- */

static double now_us(void)
{
    return (double)lfuse__nanoseconds() * 1e-3;
}

static lfuse_status submit(const measurement *m, const candidate *x)
{
    int i;

    if (x->graph) return lfuse__native_launch(m->stream, x->graph);
    for (i = 0; i < m->runs; i++) {
        if (m->evicting) LFUSE__TRY(lfuse__fill(m->stream, m->evicting, 0, 0, 4, m->list->evict_bytes));
        if (x->index != NONE) LFUSE__TRY(m->list->run(m->list->context, x->index, m->stream));
    }
    return LFUSE_OK;
}

static void note(candidate *x, double us)
{
    int i;

    for (i = x->n++; i && x->us[i - 1] > us; i--) x->us[i] = x->us[i - 1];
    x->us[i] = us;
}

/* By the device's clock, or by the host's where that is all there is. */
static lfuse_status time_batch(measurement *m, candidate *x)
{
    double us, start = now_us();
    lfuse_status status;

    LFUSE__TRY(lfuse__event_record(m->before, m->stream));
    LFUSE__TRY(submit(m, x));
    LFUSE__TRY(lfuse__event_record(m->after, m->stream));
    LFUSE__TRY(lfuse__stream_sync(m->stream));
    us = now_us() - start;
    status = lfuse__event_elapsed(m->before, m->after, &start);
    if (status && status != LFUSE_ERR_UNSUPPORTED) return status;
    if (!status) us = start;
    m->spent += us;
    note(x, us / m->runs - m->evict_us);
    return LFUSE_OK;
}

static lfuse_status make_graph(measurement *m, candidate *x)
{
    lfuse__saved_error first;
    lfuse_status status, ended;
    lfuse__native *graph = NULL;

    LFUSE__TRY(lfuse__native_begin(m->stream));
    status = submit(m, x);
    lfuse__error_save(&first);
    ended = lfuse__native_end(m->stream, &graph);
    x->graph = graph;
    if (status) lfuse__error_restore(&first);
    return status ? status : ended;
}

/* ---- all of them ---- */

/* Disturbances only add, so a low sample is the truest; the lowest may come from a moment of a higher clock. */
static double time_of(const candidate *x)
{
    return x->us[x->n / 4];
}

static void release(const measurement *m, candidate *x)
{
    lfuse__native_destroy(x->graph);
    if (m->list->release) m->list->release(m->list->context, x->index);
}

static const char *name_of(const measurement *m, const candidate *x)
{
    return m->list->name(m->list->context, x->index).identity;
}

static void report(const measurement *m, const candidate *x, double *us)
{
    us[x->index] = time_of(x);
    lfuse__log(LFUSE_LOG_DEBUG, "%s: %s takes %.3f us", m->list->title, name_of(m, x), time_of(x));
}

/* Whatever one fails of, the others may work. */
static void drop(measurement *m, int i, lfuse_status status)
{
    lfuse__log(LFUSE_LOG_DEBUG, "%s: %s fails: %s", m->list->title, name_of(m, &m->left[i]), lfuse__error_message());
    m->status = status;
    lfuse__error_save(&m->why);
    release(m, &m->left[i]);
    m->count--;
    memmove(&m->left[i], &m->left[i + 1], (size_t)(m->count - i) * sizeof m->left[0]);
}

static void each(measurement *m, lfuse_status (*work)(measurement *, candidate *))
{
    lfuse_status status;
    int i = 0;

    while (i < m->count) {
        status = work(m, &m->left[i]);
        if (status) drop(m, i, status);
        else i++;
    }
}

static void run_rounds(measurement *m, int most)
{
    const double start = now_us();
    int i;

    for (i = 0; i < most && (i < LEAST_ROUNDS || now_us() - start < ROUNDS_US); i++) each(m, time_batch);
}

/* The fastest first; equal ones stay in the list's order. */
static void rank(measurement *m)
{
    int i, k;

    for (i = 1; i < m->count; i++) {
        const candidate x = m->left[i];
        for (k = i; k && time_of(&m->left[k - 1]) > time_of(&x); k--) m->left[k] = m->left[k - 1];
        m->left[k] = x;
    }
}

/* The first run loads what is needed, the second is timed. */
static lfuse_status try_out(measurement *m, candidate *x)
{
    if (m->list->prepare) LFUSE__TRY(m->list->prepare(m->list->context, x->index));
    LFUSE__TRY(m->list->run(m->list->context, x->index, m->stream));
    LFUSE__TRY(lfuse__stream_sync(m->stream));
    return time_batch(m, x);
}

static void enter(measurement *m, int index)
{
    candidate *x = &m->left[m->count++];
    lfuse_status status;

    memset(x, 0, sizeof *x);
    x->index = index;
    status = try_out(m, x);
    if (status) drop(m, m->count - 1, status);
}

static lfuse_status time_evicting(measurement *m, candidate *none, bool graphs)
{
    int i;

    if (graphs) LFUSE__TRY(make_graph(m, none));
    for (i = 0; i < QUICK_ROUNDS + LEAST_ROUNDS; i++) LFUSE__TRY(time_batch(m, none));
    return LFUSE_OK;
}

/* Without the memory for it, runs find the cache as the runs before left it. */
static void begin_evicting(measurement *m, bool graphs)
{
    candidate none = { .index = NONE };
    lfuse_status status;

    if (!m->list->evict_bytes) return;
    status = lfuse__range_create(lfuse__stream_device(m->stream), m->list->evict_bytes, &m->evicting);
    if (!status) status = time_evicting(m, &none, graphs);
    lfuse__native_destroy(none.graph);
    if (!status) {
        m->evict_us = time_of(&none);
        return;
    }
    lfuse__log(LFUSE_LOG_INFO, "%s is measured with the cache as it is: %s", m->list->title, lfuse__error_message());
    lfuse__range_release(m->evicting);
    m->evicting = NULL;
}

/* All of them in batches; what was timed before with the host's share in it does not count. */
static void measure_batches(measurement *m, bool graphs)
{
    const double us = time_of(&m->left[0]);
    int i;

    m->runs = us * MOST_RUNS < BATCH_US ? MOST_RUNS : (int)(BATCH_US / us);
    for (i = 0; i < m->count; i++) m->left[i].n = 0;
    begin_evicting(m, graphs);
    if (graphs) each(m, make_graph);
    run_rounds(m, QUICK_ROUNDS);
    rank(m);
}

static void measure_all(measurement *m, int count, bool graphs, double *us)
{
    int i;

    m->runs = 1;
    for (i = 0; i < count && (i < LEAST_TRIED || m->spent < TRIED_US); i++) enter(m, i);
    rank(m);
    if (m->count && time_of(&m->left[0]) < BATCH_US) measure_batches(m, graphs);
    while (m->count > FINALISTS) {
        report(m, &m->left[--m->count], us);
        release(m, &m->left[m->count]);
    }
    run_rounds(m, FINAL_ROUNDS);
    rank(m);
    for (i = m->count; i > 0; i--) report(m, &m->left[i - 1], us); /* the last line is the choice */
}

lfuse_status lfuse__measure(const lfuse__candidates *c, int count, lfuse_stream *stream, int *best, double *us)
{
    lfuse_device *dev = lfuse__stream_device(stream);
    measurement m = { .list = c, .stream = stream };
    lfuse_status status;
    int i;

    for (i = 0; i < count; i++) us[i] = INFINITY;
    status = lfuse__event_create(dev, &m.before);
    if (!status) status = lfuse__event_create(dev, &m.after);
    if (!status) {
        measure_all(&m, count, lfuse__device_facts(dev)->info.native_graph, us);
        if (m.count) {
            *best = m.left[0].index;
        } else {
            lfuse__error_restore(&m.why);
            status = lfuse__error_prefix(m.status, "none of %d algorithms works: ", count);
        }
    }
    while (m.count) release(&m, &m.left[--m.count]);
    lfuse__range_release(m.evicting);
    lfuse__event_destroy(m.before);
    lfuse__event_destroy(m.after);
    return status;
}
