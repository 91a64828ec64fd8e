/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device time of products while the device is kept busy. The other figures are of bursts: milliseconds of work behind
 * pauses of the host, at a clock that a GPU cannot keep while its tensor cores are busy. Here variants take turns
 * without pauses, in a new random order each time; a turn's first part lets the clock settle for this variant and is
 * not timed.
 */
#include "bench/bench.h"
#include "bench/data.h"
#include "bench/timer.h"
#include "common/base/error.h"

enum { QUICK_TURNS = 5, LONG_TURNS = 3 };
static const double settle_us = 60e3, timed_us = 20e3;

/* Below this many operations a run is too short for the clock to be what limits it. */
static const double least_flops = 1e10;

bool bench_has_sustained(const bench_device *d, const bench_variant *v, double run_us)
{
    return d->info.kind == LFUSE_DEVICE_GPU && v->flops >= least_flops && run_us > 0;
}

/* A run that is longer than a turn differs less from the next one, and nine turns of two such runs would take long. */
static int turns_of(const bench_device *d, const bench_sustained *s)
{
    if (s->run_us > settle_us + timed_us) return LONG_TURNS;
    return d->quick ? QUICK_TURNS : BENCH_MOST_TURNS;
}

static lfuse_status run_for(const bench_variant *v, double us, double run_us, int *runs)
{
    lfuse_status status = LFUSE_OK;
    *runs = (int)(us / run_us) + 1;
    for (int i = 0; i < *runs && !status; i++) status = v->run(v->state, 0);
    return status;
}

static lfuse_status turn(bench_device *d, bench_sustained *s, lfuse_event *first, lfuse_event *second)
{
    int runs;
    LFUSE__TRY(run_for(s->variant, settle_us, s->run_us, &runs));
    LFUSE__TRY(lfuse_event_record(first, d->stream));
    LFUSE__TRY(run_for(s->variant, timed_us, s->run_us, &runs));
    LFUSE__TRY(lfuse_event_record(second, d->stream));
    LFUSE__TRY(lfuse_stream_synchronize(d->stream));
    LFUSE__TRY(lfuse_event_elapsed(first, second, &s->us[s->turns]));
    s->us[s->turns++] /= runs;
    return LFUSE_OK;
}

lfuse_status bench_measure_sustained(bench_device *d, bench_sustained *s, int n, lfuse_event *first,
                                     lfuse_event *second)
{
    int order[BENCH_MAX_VARIANTS];
    lfuse__random random;
    lfuse__random_seed(&random, 1);
    for (int t = 0; t < BENCH_MOST_TURNS; t++) {
        lfuse__random_order(&random, n, order);
        for (int i = 0; i < n; i++)
            if (t < turns_of(d, &s[order[i]])) LFUSE__TRY(turn(d, &s[order[i]], first, second));
    }
    return LFUSE_OK;
}
