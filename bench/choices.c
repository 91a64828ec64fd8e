/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lfuse-bench --check-choices: whether what a plan takes by estimate is as fast as the best that it could have taken.
 * Each candidate is a plan of the same graph with other options; all are verified, then timed in turn.
 */
#include <string.h>

#include "bench/fixture.h"
#include "bench/json.h"
#include "common/base/error.h"

#define MOST_OVER_BEST 1.05
/* Other work of the machine may look like a wrong choice, but seldom again and again. */
enum { ATTEMPTS = 5 };

/* The estimate first; no replay, so that every candidate is launched in the same way. */
static const struct candidate {
    const char *name;
    lfuse_plan_options options;
} candidates[] = {
    {"estimate", {.disable = LFUSE_NO_REPLAY}},
    {"measured", {.effort = LFUSE_EFFORT_MEASURE, .disable = LFUSE_NO_REPLAY}},
    {"native", {.effort = LFUSE_EFFORT_MEASURE, .provider = LFUSE_PROVIDER_NATIVE, .disable = LFUSE_NO_REPLAY}},
    {"vendor", {.effort = LFUSE_EFFORT_MEASURE, .provider = LFUSE_PROVIDER_VENDOR, .disable = LFUSE_NO_REPLAY}},
    {"layers", {.effort = LFUSE_EFFORT_MEASURE, .disable = LFUSE_NO_REPLAY | LFUSE_NO_NETWORK}},
};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

lfuse_status bench_add_choices(fixture *f, bench_case *c, bool vendor)
{
    LFUSE__TRY(fixture_variant(f, c, candidates[0].name, &candidates[0].options));
    for (int i = 1; i < CANDIDATES; i++) {
        const struct candidate *x = &candidates[i];
        if (x->options.provider == LFUSE_PROVIDER_VENDOR && !vendor) continue;
        LFUSE__TRY(bench_omit(c, x->name, fixture_variant(f, c, x->name, &x->options)));
    }
    return LFUSE_OK;
}

/*
 * Device time, with cold caches where the case has enough buffer sets for that. The 20 percentile: disturbances only
 * add, and candidates that differ by nothing must not seem to.
 */
static double device_us(const bench_figures *f)
{
    return f->cold.us > 0 ? f->cold.low : f->gpu.low;
}

static int best_of(const double *us, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (us[i] < us[best]) best = i;
    return best;
}

/* The lowest of all attempts for each candidate; no further attempt where the estimate is good enough. */
static lfuse_status measure(bench_device *d, bench_case *c, double *us)
{
    bench_figures figures[BENCH_MAX_VARIANTS];
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        LFUSE__TRY(bench_measure(d, c, NULL, figures));
        for (int i = 0; i < c->nvariants; i++)
            if (!attempt || device_us(&figures[i]) < us[i]) us[i] = device_us(&figures[i]);
        if (us[0] <= MOST_OVER_BEST * us[best_of(us, c->nvariants)]) break;
    }
    return LFUSE_OK;
}

static void report(const bench_device *d, const bench_case *c, const double *us, FILE *json)
{
    const int best = best_of(us, c->nvariants);
    const bool good = us[0] <= MOST_OVER_BEST * us[best];
    printf("  %-28s %10.2f %10.2f %-9s %6.3f  %s\n", c->problem, us[0], us[best], c->variants[best].name,
           us[0] / us[best], good ? "ok" : "BEYOND");
    for (int i = 1; i < c->nvariants && !good; i++) printf("  %-28s %10.2f %s\n", "", us[i], c->variants[i].name);
    fflush(stdout);
    if (!json) return;
    fputs("{\"type\":\"choice\"", json);
    json_text(json, "case", c->problem);
    json_text(json, "device", d->info.name);
    json_text(json, "best", c->variants[best].name);
    for (int i = 0; i < c->nvariants; i++) fprintf(json, ",\"%s_us\":%.6g", c->variants[i].name, us[i]);
    fprintf(json, ",\"ok\":%s}\n", good ? "true" : "false");
    fflush(json);
}

/* One case of the problem. */
static lfuse_status check_case(bench_device *d, bench_case *c, FILE *json, bench_choices *count)
{
    double us[BENCH_MAX_VARIANTS];
    for (int i = 0; i < c->nvariants; i++) {
        if (c->variants[i].ok) continue;
        printf("  %-28s WRONG by %s\n", c->problem, c->variants[i].name);
        count->beyond++;
        return LFUSE_OK;
    }
    LFUSE__TRY(measure(d, c, us));
    report(d, c, us, json);
    if (us[0] <= MOST_OVER_BEST * us[best_of(us, c->nvariants)]) count->within++;
    else count->beyond++;
    return LFUSE_OK;
}

static lfuse_status check_problem(bench_device *d, const bench_suite *suite, const char *problem, FILE *json,
                                  bench_choices *count)
{
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < suite->choice_cases && !status; i++) {
        bench_case c = {.nsets = 1};
        snprintf(c.problem, sizeof c.problem, "%s%s", problem, i ? "+ep" : "");
        status = suite->choices(d, problem, i, &c);
        if (!status) status = check_case(d, &c, json, count);
        bench_case_destroy(&c);
    }
    return status;
}

/* On a device of its own: what was measured for one problem must not be known to the estimate of the next. */
static lfuse_status open_and_check(const bench_device *settings, const bench_suite *suite, const char *problem,
                                   FILE *json, bench_choices *count)
{
    bench_device d = *settings;
    lfuse_status status;
    LFUSE__TRY(lfuse_device_open(settings->info.name, &d.dev));
    status = lfuse_stream_create(d.dev, &d.stream);
    if (!status) {
        status = check_problem(&d, suite, problem, json, count);
        lfuse_stream_destroy(d.stream);
    }
    lfuse_device_close(d.dev);
    return status;
}

void bench_choices_begin(const bench_device *d, FILE *json)
{
    printf("\n%s  %s\n  %-28s %10s %10s %-9s %6s\n", d->info.name, d->info.product, "problem", "estimate us", "best us",
           "best", "ratio");
    if (json) bench_write_machine(d, json);
}

void bench_check_choices(const bench_device *settings, const bench_suite *suite, const char *problem, FILE *json,
                         bench_choices *count)
{
    const lfuse_status status = open_and_check(settings, suite, problem, json, count);
    if (!status) return;
    if (bench_is_missing(status) || status == LFUSE_ERR_DEVICE_MEMORY || status == LFUSE_ERR_TYPE) {
        printf("  %-28s skipped: %s\n", problem, lfuse_last_error());
        count->skipped++;
    } else {
        printf("  %-28s FAILED: %s: %s\n", problem, lfuse_status_name(status), lfuse_last_error());
        count->beyond++;
    }
    fflush(stdout);
}
