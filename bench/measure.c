/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the variants of a case, interleaved so that a drifting clock meets all of them alike.
 *
 * Device time: on devices with native graphs, many runs in one graph over their number; on other GPUs, the sum of the
 * times of all commands, or, where a vendor's library hides them, many runs between two events; on CPUs, wall time of
 * many runs and one synchronisation.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/native.h"
#include "bench/timer.h"
#include "common/base/error.h"
#include "common/device/device.h"

enum { MOST_ROUNDS = 31, MOST_RUNS = 256 };

typedef struct timed {
    const bench_variant *variant;
    lfuse__native *warm, *cold; /* graphs, where the device has them */
    int warm_runs, cold_runs;
    double gpu[MOST_ROUNDS], colds[MOST_ROUNDS], wall[MOST_ROUNDS], enqueue[MOST_ROUNDS];
} timed;

typedef struct session {
    bench_device *d;
    bench_case *c;
    lfuse_event *first, *second;
    const bench_native_kind *kind;
    bool graphs, events, profile, cold;
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

/* The sum of the commands' times; < 0: not to be had. */
static lfuse_status time_commands(const session *s, const bench_variant *v, int runs, int sets, double *us)
{
    double sum = -1;
    s->kind->profile_begin();
    lfuse_status ran = run_many(v, runs, sets);
    lfuse_status ended = s->kind->profile_end(s->d, &sum);
    *us = sum < 0 ? -1 : sum / runs;
    return ran ? ran : ended;
}

/* Microseconds a run, of `runs` runs over `sets` buffer sets. */
static lfuse_status time_batch(const session *s, const bench_variant *v, lfuse__native *graph, int runs, int sets,
                               double *us)
{
    lfuse_stream *stream = s->d->stream;
    LFUSE__TRY(lfuse_stream_synchronize(stream));
    if (s->profile) {
        LFUSE__TRY(time_commands(s, v, runs, sets, us));
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

static lfuse_status time_one(const session *s, const bench_variant *v, double *wall, double *enqueue)
{
    LFUSE__TRY(lfuse_stream_synchronize(s->d->stream));
    double start = bench_now_us();
    LFUSE__TRY(v->run(v->state, 0));
    double enqueued = bench_now_us();
    LFUSE__TRY(lfuse_stream_synchronize(s->d->stream));
    *wall = bench_now_us() - start;
    *enqueue = enqueued - start;
    return LFUSE_OK;
}

static lfuse_status count_launches(const session *s, const bench_variant *v, unsigned long long *launches)
{
    lfuse_device_counters before, after;
    LFUSE__TRY(lfuse_device_get_counters(s->d->dev, &before));
    LFUSE__TRY(v->run(v->state, 0));
    LFUSE__TRY(lfuse_device_get_counters(s->d->dev, &after));
    *launches = after.launches - before.launches;
    return lfuse_stream_synchronize(s->d->stream);
}

/* Runs a batch: enough for some milliseconds, so that clock and event resolution vanish. */
static int batch_size(double us, bool quick)
{
    double target = quick ? 2000 : 8000;
    int runs = us > 0 ? (int)(target / us) + 1 : MOST_RUNS;
    return runs < 3 ? 3 : runs > MOST_RUNS ? MOST_RUNS : runs;
}

static lfuse_status warm_up(const session *s, timed *t)
{
    double us = 0;
    LFUSE__TRY(run_many(t->variant, s->c->nsets, s->c->nsets)); /* every set has its instance now */
    LFUSE__TRY(time_batch(s, t->variant, NULL, 3, 1, &us));
    t->warm_runs = batch_size(us, s->d->quick);
    t->cold_runs = (t->warm_runs + s->c->nsets - 1) / s->c->nsets * s->c->nsets;
    if (!s->graphs) return LFUSE_OK;
    LFUSE__TRY(make_graph(s, t->variant, t->warm_runs, 1, &t->warm));
    if (!s->cold) return LFUSE_OK;
    return make_graph(s, t->variant, t->cold_runs, s->c->nsets, &t->cold);
}

static lfuse_status round_of(const session *s, timed *t, int round)
{
    LFUSE__TRY(time_batch(s, t->variant, t->warm, t->warm_runs, 1, &t->gpu[round]));
    if (s->cold) LFUSE__TRY(time_batch(s, t->variant, t->cold, t->cold_runs, s->c->nsets, &t->colds[round]));
    return time_one(s, t->variant, &t->wall[round], &t->enqueue[round]);
}

static double floor_us(const bench_device *d, const bench_variant *v)
{
    double move = d->machine.copy_gbs > 0 ? v->bytes / (1e3 * d->machine.copy_gbs) : 0;
    double compute = d->machine.gemm_gflops > 0 ? v->flops / (1e3 * d->machine.gemm_gflops) : 0;
    return move > compute ? move : compute;
}

static lfuse_status measure(session *s, timed *t, int n, bench_figures *figures)
{
    int rounds = s->d->quick ? 7 : MOST_ROUNDS;
    for (int i = 0; i < n; i++) {
        LFUSE__TRY(count_launches(s, t[i].variant, &figures[i].launches));
        LFUSE__TRY(warm_up(s, &t[i]));
    }
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < n; i++) LFUSE__TRY(round_of(s, &t[i], r));
    for (int i = 0; i < n; i++) {
        bench_figures *f = &figures[i];
        f->gpu_us = bench_quantile(t[i].gpu, rounds, 0.5);
        f->gpu_low = bench_quantile(t[i].gpu, rounds, 0.2);
        f->gpu_high = bench_quantile(t[i].gpu, rounds, 0.8);
        f->cold_us = s->cold ? bench_quantile(t[i].colds, rounds, 0.5) : -1;
        f->wall_us = bench_quantile(t[i].wall, rounds, 0.5);
        f->enqueue_us = bench_quantile(t[i].enqueue, rounds, 0.5);
        f->floor_us = floor_us(s->d, t[i].variant);
    }
    return LFUSE_OK;
}

lfuse_status bench_measure(bench_device *d, bench_case *c, const char *only, bench_figures *figures)
{
    session s = {.d = d, .c = c, .graphs = d->info.native_graph, .events = d->info.kind == LFUSE_DEVICE_GPU,
                 .cold = bench_is_cold(d, c)};
    bench_figures chosen[BENCH_MAX_VARIANTS];
    int index[BENCH_MAX_VARIANTS], n = 0;
    LFUSE__TRY(bench_native_find(d, &s.kind));
    s.profile = s.events && !s.graphs && s.kind->profile_begin;
    timed *t = calloc(BENCH_MAX_VARIANTS, sizeof *t);
    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the samples");

    lfuse_status status = lfuse_event_create(d->dev, &s.first);
    if (status) goto free_samples;
    status = lfuse_event_create(d->dev, &s.second);
    if (status) goto destroy_first;
    for (int i = 0; i < c->nvariants; i++) {
        figures[i] = (bench_figures){.wall_us = -1, .gpu_us = -1, .cold_us = -1, .enqueue_us = -1};
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
    lfuse_event_destroy(s.second);
destroy_first:
    lfuse_event_destroy(s.first);
free_samples:
    free(t);
    return status;
}
