/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the variants of a case, interleaved so that a drifting clock meets all of them alike. This is about bursts;
 * sustained.c keeps the device busy.
 *
 * Device time: on devices with native graphs, many runs in one graph over their number; on other GPUs, many runs that
 * were enqueued behind a command that lasted until all of them were, over their number; on CPUs, wall time of many runs
 * and one synchronisation. Runs of more commands than a driver queues: between two events, at the host's pace.
 *
 * Host time: of a run that finds the device idle and, unless runs are slow, the host's caches as a run of its own has
 * left them: what was timed between (another variant's thousands of launches) is not this variant's cost.
 *
 * On CPUs threads of a variant may go on asking for work after its runs: OpenBLAS's do for 2^28 cycles, a tenth of a
 * second, and the next variant would have a core less. Which variants' do is found when they warm up, from the
 * process's CPU time; after each round of theirs nothing is measured until it stands still. Their own rounds are left
 * as they are.
 *
 * A variant's time is bounded: the rounds by a budget, and where one run is long (long_us) each of its few rounds is
 * one run that all figures are taken from, over three buffer sets at most.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/data.h"
#include "bench/native.h"
#include "bench/timer.h"
#include "common/base/error.h"
#include "common/device/device.h"

enum { MOST_ROUNDS = 31, LEAST_ROUNDS = 3, MOST_RUNS = 256, MOST_REPEATS = 4, MOST_HELD = 512 /* launches */,
       LONG_SETS = 3 };

/* Microseconds: what one variant's rounds may take; a run that is too slow to be repeated within a round. */
static const double budget_us = 300e3, quick_budget_us = 60e3, slow_us = 4e3, short_us = 300;
static const double long_us = 30e3, most_settle_us = 1e6;
static const double first_hold_us = 500, most_hold_us = 40e3;

typedef struct timed {
    const bench_variant *variant;
    lfuse__native *warm, *cold; /* graphs, where the device has them */
    int sets, warm_runs, cold_runs; /* cold_runs 0: its sets fit the cache */
    double hold_us;             /* the device is held while a batch is enqueued; < 0: that does not last */
    int repeats;                /* of host times in a round */
    bool whole;                 /* a run is long: each gives all figures */
    bool spins;                 /* threads of it keep cores busy after its runs */
    int rounds, done, samples;  /* that it takes part in, that it has, host times that it has */
    double gpu[MOST_ROUNDS], colds[MOST_ROUNDS];
    double wall[MOST_ROUNDS * MOST_REPEATS], enqueue[MOST_ROUNDS * MOST_REPEATS];
} timed;

typedef struct session {
    bench_device *d;
    bench_case *c;
    lfuse_event *first, *second;
    const bench_native_kind *kind;
    void *hold; /* NULL: none is needed */
    bool graphs, events;
} session;

static lfuse_status run_many(const bench_variant *v, int runs, int sets)
{
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < runs && !status; i++) status = v->run(v->state, sets > 1 ? i % sets : 0);
    return status;
}

static lfuse_status make_graph(const session *s, const bench_variant *v, int runs, int sets, lfuse__native **graph)
{
    LFUSE__TRY(lfuse__native_begin(s->d->stream));
    lfuse_status ran = run_many(v, runs, sets);
    lfuse_status ended = lfuse__native_end(s->d->stream, graph);
    return ran ? ran : ended;
}

/* Runs behind a command that lasts until they are all enqueued. */
static lfuse_status try_held(const session *s, const timed *t, int runs, int sets, double *us)
{
    lfuse_stream *stream = s->d->stream;
    LFUSE__TRY(s->kind->hold(s->hold, t->hold_us));
    LFUSE__TRY(lfuse_event_record(s->first, stream));
    LFUSE__TRY(run_many(t->variant, runs, sets));
    LFUSE__TRY(lfuse_event_record(s->second, stream));
    lfuse_status lasted = lfuse_event_query(s->first);
    LFUSE__TRY(lfuse_stream_synchronize(stream));
    if (lasted != LFUSE_NOT_READY) return lasted;
    LFUSE__TRY(lfuse_event_elapsed(s->first, s->second, us));
    *us /= runs;
    return LFUSE_OK;
}

/* < 0: the command does not last, however long it is, as a run waits for the device or fills the driver's queue. */
static lfuse_status time_held(const session *s, timed *t, int runs, int sets, double *us)
{
    *us = -1;
    while (t->hold_us > 0) {
        LFUSE__TRY(try_held(s, t, runs, sets, us));
        if (*us >= 0) return LFUSE_OK;
        t->hold_us = 2 * t->hold_us < most_hold_us ? 2 * t->hold_us : -1;
    }
    return LFUSE_OK;
}

/* Microseconds a run, of `runs` runs over `sets` buffer sets. */
static lfuse_status time_batch(const session *s, timed *t, lfuse__native *graph, int runs, int sets, double *us)
{
    const bench_variant *v = t->variant;
    lfuse_stream *stream = s->d->stream;
    LFUSE__TRY(lfuse_stream_synchronize(stream));
    if (s->hold) {
        LFUSE__TRY(time_held(s, t, runs, sets, us));
        if (*us >= 0) return LFUSE_OK;
    }
    double start = bench_now_us();
    if (s->events) LFUSE__TRY(lfuse_event_record(s->first, stream));
    if (graph) LFUSE__TRY(lfuse__native_launch(stream, graph));
    else LFUSE__TRY(run_many(v, runs, sets));
    if (s->events) LFUSE__TRY(lfuse_event_record(s->second, stream));
    LFUSE__TRY(lfuse_stream_synchronize(stream));
    double elapsed = bench_now_us() - start;
    if (s->events) LFUSE__TRY(lfuse_event_elapsed(s->first, s->second, &elapsed));
    *us = elapsed / runs;
    return LFUSE_OK;
}

/* GPUs are asked until they have nothing to do: waiting in the driver could put the host to sleep. */
static lfuse_status wait_idle(const session *s)
{
    lfuse_status status = LFUSE_NOT_READY;
    while (s->events && status == LFUSE_NOT_READY) status = lfuse_stream_query(s->d->stream);
    if (s->events && status) return status;
    return lfuse_stream_synchronize(s->d->stream);
}

static lfuse_status time_enqueue(const session *s, const bench_variant *v, double *us)
{
    LFUSE__TRY(wait_idle(s));
    double start = bench_now_us();
    LFUSE__TRY(v->run(v->state, 0));
    *us = bench_now_us() - start;
    return wait_idle(s);
}

static lfuse_status time_wall(const session *s, const bench_variant *v, double *us)
{
    double start = bench_now_us();
    LFUSE__TRY(v->run(v->state, 0));
    LFUSE__TRY(lfuse_stream_synchronize(s->d->stream));
    *us = bench_now_us() - start;
    return LFUSE_OK;
}

static lfuse_status time_host(const session *s, timed *t)
{
    for (int i = 0; i < t->repeats; i++, t->samples++) {
        if (t->warm_runs > 1) LFUSE__TRY(time_enqueue(s, t->variant, &t->enqueue[t->samples]));
        LFUSE__TRY(time_enqueue(s, t->variant, &t->enqueue[t->samples]));
        LFUSE__TRY(time_wall(s, t->variant, &t->wall[t->samples]));
    }
    return LFUSE_OK;
}

/* One run by itself: the host's time for it, with its synchronisation, and the device's. */
static lfuse_status time_run(const session *s, const bench_variant *v, int set, double *enqueue, double *wall,
                             double *gpu)
{
    double start = bench_now_us();
    if (s->events) LFUSE__TRY(lfuse_event_record(s->first, s->d->stream));
    LFUSE__TRY(v->run(v->state, set));
    *enqueue = bench_now_us() - start;
    if (s->events) LFUSE__TRY(lfuse_event_record(s->second, s->d->stream));
    LFUSE__TRY(lfuse_stream_synchronize(s->d->stream));
    *gpu = *wall = bench_now_us() - start;
    return s->events ? lfuse_event_elapsed(s->first, s->second, gpu) : LFUSE_OK;
}

/* Of a run like all others: the first one may write tables anew, as the stream's scratch has moved since. */
static lfuse_status count_launches(const session *s, const bench_variant *v, unsigned long long *launches, double *us)
{
    lfuse_device_counters before, after;
    double enqueue, gpu;
    LFUSE__TRY(lfuse_device_get_counters(s->d->dev, &before));
    LFUSE__TRY(time_run(s, v, 0, &enqueue, us, &gpu));
    LFUSE__TRY(lfuse_device_get_counters(s->d->dev, &after));
    *launches = after.launches - before.launches;
    return LFUSE_OK;
}

/* Runs a batch: enough for some milliseconds, so that clock and event resolution vanish. */
static int batch_size(double us, bool quick)
{
    double target = quick ? 2000 : 8000;
    int runs = us > 0 ? (int)(target / us) + 1 : MOST_RUNS, least = us > slow_us ? 1 : 3;
    return runs < least ? least : runs > MOST_RUNS ? MOST_RUNS : runs;
}

/*
 * Rounds, of which one run took `us` on the device and `host_us` in all when the host submitted it. The device is held
 * for no more launches than a driver queues.
 */
static void plan_rounds(const session *s, timed *t, double us, double host_us, unsigned long long launches)
{
    const int held = s->hold && launches > 0 && launches <= MOST_HELD ? (int)(MOST_HELD / launches) : MOST_RUNS;
    const double of_batch = s->graphs ? us : host_us, budget = s->d->quick ? quick_budget_us : budget_us;
    const int most = s->d->quick ? 7 : MOST_ROUNDS;
    t->warm_runs = batch_size(host_us > slow_us ? host_us : us, s->d->quick);
    if (t->warm_runs > held) t->warm_runs = held;
    t->cold_runs = bench_is_cold(s->d, s->c, t->sets) ? (t->warm_runs + t->sets - 1) / t->sets * t->sets : 0;
    t->repeats = host_us < short_us ? MOST_REPEATS : 1;
    t->rounds = (int)(budget / ((t->warm_runs + t->cold_runs) * of_batch + 3 * t->repeats * host_us));
    if (t->rounds < LEAST_ROUNDS) t->rounds = LEAST_ROUNDS;
    if (t->rounds > most) t->rounds = most;
    if (t->hold_us > 0) t->hold_us = first_hold_us / 2 + 1.5 * host_us * t->warm_runs;
}

/* What the variant's first runs tell of a run: launches, and the time until it is synchronised. */
static lfuse_status look(const session *s, timed *t, unsigned long long *launches, double *host_us)
{
    const bench_variant *v = t->variant;
    t->sets = bench_sets(s->c, v);
    LFUSE__TRY(v->run(v->state, 0));
    LFUSE__TRY(count_launches(s, v, launches, host_us));
    t->whole = !s->graphs && *host_us > long_us;
    if (t->whole && t->sets > LONG_SETS) t->sets = LONG_SETS;
    for (int set = 1; set < t->sets; set++) LFUSE__TRY(v->run(v->state, set)); /* every set has its instance now */
    return lfuse_stream_synchronize(s->d->stream);
}

static lfuse_status warm_up(const session *s, timed *t, unsigned long long *launches)
{
    enum { RUNS = 3 };
    double us = 0, start, host_us;
    int held;
    LFUSE__TRY(look(s, t, launches, &host_us));
    if (t->whole) {
        t->rounds = (int)fmax(budget_us / host_us, LEAST_ROUNDS);
        t->cold_runs = bench_is_cold(s->d, s->c, t->sets);
        return LFUSE_OK;
    }
    start = bench_now_us();
    LFUSE__TRY(run_many(t->variant, RUNS, 1));
    LFUSE__TRY(lfuse_stream_synchronize(s->d->stream));
    host_us = (bench_now_us() - start) / RUNS;
    held = *launches * RUNS <= MOST_HELD ? RUNS : 1;
    t->hold_us = *launches <= MOST_HELD ? first_hold_us : -1;
    LFUSE__TRY(time_batch(s, t, NULL, held, 1, &us));
    plan_rounds(s, t, us, host_us, *launches);
    if (!s->graphs) return LFUSE_OK;
    LFUSE__TRY(make_graph(s, t->variant, t->warm_runs, 1, &t->warm));
    return t->cold_runs ? make_graph(s, t->variant, t->cold_runs, t->sets, &t->cold) : LFUSE_OK;
}

/* A set that was not used since so many others were, and the same once more. */
static lfuse_status long_round(const session *s, timed *t)
{
    const int set = t->done % t->sets, at = t->samples++;
    double ignored;
    if (t->cold_runs) LFUSE__TRY(time_run(s, t->variant, set, &ignored, &ignored, &t->colds[t->done]));
    return time_run(s, t->variant, set, &t->enqueue[at], &t->wall[at], &t->gpu[t->done++]);
}

static lfuse_status short_round(const session *s, timed *t)
{
    LFUSE__TRY(time_batch(s, t, t->warm, t->warm_runs, 1, &t->gpu[t->done]));
    if (t->cold_runs) LFUSE__TRY(time_batch(s, t, t->cold, t->cold_runs, t->sets, &t->colds[t->done]));
    t->done++;
    return time_host(s, t);
}

static lfuse_status round_of(const session *s, timed *t)
{
    lfuse_status status = t->whole ? long_round(s, t) : short_round(s, t);
    if (t->spins) bench_settle(most_settle_us);
    return status;
}

/* The rounds of all variants, in a new random order each time; those of slow ones are spread over all. */
static lfuse_status run_rounds(const session *s, timed *t, int n)
{
    int order[BENCH_MAX_VARIANTS];
    lfuse__random random;
    lfuse__random_seed(&random, 1);
    for (int r = 0; r < MOST_ROUNDS; r++) {
        lfuse__random_order(&random, n, order);
        for (int i = 0; i < n; i++) {
            timed *x = &t[order[i]];
            if ((r + 1) * x->rounds / MOST_ROUNDS > r * x->rounds / MOST_ROUNDS) LFUSE__TRY(round_of(s, x));
        }
    }
    return LFUSE_OK;
}

static lfuse_status floor_us(bench_device *d, const bench_variant *v, double *us)
{
    double move = d->machine.copy_gbs > 0 ? v->bytes / (1e3 * d->machine.copy_gbs) : 0, rate = 0;
    if (v->operands) LFUSE__TRY(bench_machine_product_rate(d, v->operands, &rate));
    double compute = rate > 0 ? v->flops / (1e3 * rate) : 0;
    *us = move > compute ? move : compute;
    return LFUSE_OK;
}

static const bench_time not_measured = {-1, -1, -1};

static bench_time time_of(double *us, int count)
{
    return (bench_time){bench_quantile(us, count, 0.5), bench_quantile(us, count, 0.2), bench_quantile(us, count, 0.8)};
}

static lfuse_status measure_sustained(const session *s, timed *t, int n, bench_figures *figures)
{
    bench_sustained all[BENCH_MAX_VARIANTS];
    int at[BENCH_MAX_VARIANTS], count = 0;
    for (int i = 0; i < n; i++) {
        figures[i].sustained = not_measured;
        if (!bench_has_sustained(s->d, t[i].variant, figures[i].gpu.us)) continue;
        at[count] = i;
        all[count++] = (bench_sustained){.variant = t[i].variant, .run_us = figures[i].gpu.us};
    }
    LFUSE__TRY(bench_measure_sustained(s->d, all, count, s->first, s->second));
    for (int i = 0; i < count; i++) figures[at[i]].sustained = time_of(all[i].us, all[i].turns);
    return LFUSE_OK;
}

static lfuse_status measure(session *s, timed *t, int n, bench_figures *figures)
{
    const bool shared = s->d->info.kind == LFUSE_DEVICE_CPU; /* the cores are those of every variant */
    if (shared) bench_settle(most_settle_us);
    for (int i = 0; i < n; i++) {
        LFUSE__TRY(warm_up(s, &t[i], &figures[i].launches));
        t[i].spins = shared && bench_settle(most_settle_us);
    }
    LFUSE__TRY(run_rounds(s, t, n));
    for (int i = 0; i < n; i++) {
        bench_figures *f = &figures[i];
        f->gpu = time_of(t[i].gpu, t[i].done);
        f->cold = t[i].cold_runs ? time_of(t[i].colds, t[i].done) : not_measured;
        f->wall = time_of(t[i].wall, t[i].samples);
        f->enqueue = time_of(t[i].enqueue, t[i].samples);
        LFUSE__TRY(floor_us(s->d, t[i].variant, &f->floor_us));
    }
    return measure_sustained(s, t, n, figures);
}

lfuse_status bench_measure(bench_device *d, bench_case *c, const char *only, bench_figures *figures)
{
    session s = {.d = d, .c = c, .graphs = d->info.native_graph, .events = d->info.kind == LFUSE_DEVICE_GPU};
    bench_figures chosen[BENCH_MAX_VARIANTS];
    int index[BENCH_MAX_VARIANTS], n = 0;
    LFUSE__TRY(bench_native_find(d, &s.kind));
    timed *t = calloc(BENCH_MAX_VARIANTS, sizeof *t);
    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the samples");

    lfuse_status status = lfuse_event_create(d->dev, &s.first);
    if (status) goto free_samples;
    status = lfuse_event_create(d->dev, &s.second);
    if (status) goto destroy_first;
    if (s.events && !s.graphs && s.kind->hold_create) status = s.kind->hold_create(d, &s.hold);
    if (status) goto destroy_second;
    for (int i = 0; i < c->nvariants; i++) {
        figures[i] = (bench_figures){not_measured, not_measured, not_measured, not_measured, not_measured, 0, 0};
        if ((only && strcmp(only, c->variants[i].name)) || !c->variants[i].ok) continue;
        index[n] = i;
        t[n++].variant = &c->variants[i];
    }
    status = measure(&s, t, n, chosen);
    for (int i = 0; i < n; i++) {
        if (!status) figures[index[i]] = chosen[i];
        lfuse__native_destroy(t[i].warm);
        lfuse__native_destroy(t[i].cold);
    }
    if (s.hold) s.kind->hold_destroy(s.hold);
destroy_second:
    lfuse_event_destroy(s.second);
destroy_first:
    lfuse_event_destroy(s.first);
free_samples:
    free(t);
    return status;
}
