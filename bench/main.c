/* SPDX-License-Identifier: Apache-2.0 */
/* lfuse-bench: see man/lfuse-bench.1. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/first.h"
#include "bench/page/page.h"

static const bench_suite *const suites[] = {
    &bench_suite_launch, &bench_suite_pointwise, &bench_suite_gemm,    &bench_suite_dense, &bench_suite_stack,
    &bench_suite_rows,   &bench_suite_embed,     &bench_suite_foreach, &bench_suite_optim,
    &bench_suite_train,  &bench_suite_first};
enum { SUITES = sizeof suites / sizeof *suites };

enum { MOST_NAMED = 256 };

typedef struct options {
    const char *device, *suite, *variant, *json_path, *report;
    const char *named[MOST_NAMED]; /* problems, in the order given */
    int nnamed;
    bool quick, list, tune, check_choices, first;
    FILE *json;
} options;

typedef struct totals {
    int good, wrong, skipped;
} totals;

static void usage(FILE *to)
{
    fputs("usage: lfuse-bench [--device all|NAME] [--suite NAME] [--case PROBLEM]... [--variant NAME]\n"
          "                   [--quick] [--json FILE] [--list] [--help] [--version]\n"
          "       lfuse-bench --tune [--device all|NAME] [--suite NAME] [--case PROBLEM]... [--quick]\n"
          "       lfuse-bench --check-choices [--device all|NAME] [--suite NAME] [--case PROBLEM]... [--quick]\n"
          "                   [--json FILE]\n"
          "       lfuse-bench --report FOLDER FILE...\n", to);
}

static const char *const *problems_of(const options *o, const bench_suite *s)
{
    return o->quick ? s->quick : s->problems;
}

/*
 * The suite that a problem names before its first colon: by its own name, or by a word that problems of it begin with.
 */
static const bench_suite *suite_of(const char *problem)
{
    size_t length = strcspn(problem, ":");
    for (int i = 0; i < SUITES; i++) {
        if (strlen(suites[i]->name) == length && !strncmp(suites[i]->name, problem, length)) return suites[i];
        for (const char *const *p = suites[i]->problems; *p; p++)
            if (!strncmp(*p, problem, length) && (*p)[length] == ':') return suites[i];
    }
    return NULL;
}

static int list_problems(const options *o)
{
    for (int i = 0; i < SUITES; i++)
        for (const char *const *p = problems_of(o, suites[i]); *p; p++) puts(*p);
    return 0;
}

static void run_problem(const options *o, bench_device *d, const bench_suite *suite, const char *problem, totals *t)
{
    bench_case c = {.nsets = 1};
    bench_figures figures[BENCH_MAX_VARIANTS];
    snprintf(c.problem, sizeof c.problem, "%s", problem);
    lfuse_status status = suite->perform ? suite->perform(d, problem, o->variant, o->json, &t->good, &t->wrong)
                                         : suite->prepare(d, problem, &c);
    if (!status && !suite->perform) status = bench_measure(d, &c, o->variant, figures);
    if (!status) {
        bench_report_case(d, &c, o->variant, figures, o->json);
        for (int i = 0; i < c.nvariants; i++) c.variants[i].ok ? t->good++ : t->wrong++;
    } else if (bench_is_missing(status) || status == LFUSE_ERR_DEVICE_MEMORY || status == LFUSE_ERR_TYPE) {
        bench_report_skipped(d, problem, lfuse_last_error(), o->json);
        t->skipped++;
    } else {
        printf("  %-28s FAILED: %s: %s\n", problem, lfuse_status_name(status), lfuse_last_error());
        t->wrong++;
    }
    bench_case_destroy(&c);
}

static void run_suites(const options *o, bench_device *d, totals *t)
{
    for (int i = 0; i < o->nnamed; i++) run_problem(o, d, suite_of(o->named[i]), o->named[i], t);
    for (int i = 0; i < SUITES && !o->nnamed; i++) {
        if (o->suite ? strcmp(o->suite, suites[i]->name) != 0 : suites[i]->perform != NULL) continue;
        for (const char *const *p = problems_of(o, suites[i]); *p; p++) run_problem(o, d, suites[i], *p, t);
    }
}

static int tune_suites(const options *o, bench_device *d)
{
    int failed = 0;
    for (int i = 0; i < o->nnamed; i++) {
        const char *const one[] = {o->named[i], NULL};
        failed += bench_tune(d, suite_of(o->named[i]), one);
    }
    for (int i = 0; i < SUITES && !o->nnamed; i++)
        if (!o->suite || !strcmp(o->suite, suites[i]->name))
            failed += bench_tune(d, suites[i], problems_of(o, suites[i]));
    return failed;
}

static int fail(const char *what)
{
    fprintf(stderr, "lfuse-bench: %s: %s\n", what, lfuse_last_error());
    return 1;
}

static int tune_device(const options *o, bench_device *d, totals *t)
{
    if (bench_tune_begin(d)) return fail(d->info.name);
    t->wrong += tune_suites(o, d);
    return bench_tune_end(d) ? fail(d->info.name) : 0;
}

static void check_problems(const options *o, const bench_device *d, bench_choices *count)
{
    for (int i = 0; i < o->nnamed; i++) bench_check_choices(d, suite_of(o->named[i]), o->named[i], o->json, count);
    for (int i = 0; i < SUITES && !o->nnamed; i++) {
        if (!suites[i]->choices || (o->suite && strcmp(o->suite, suites[i]->name))) continue;
        for (const char *const *p = problems_of(o, suites[i]); *p; p++)
            bench_check_choices(d, suites[i], *p, o->json, count);
    }
}

/* Each problem opens the device by itself: here it is asked for its name alone. */
static int check_device(const options *o, const char *name, totals *t)
{
    bench_device d = {.quick = o->quick, .named = o->nnamed > 0};
    bench_choices count = {0, 0, 0};
    if (lfuse_device_open(name, &d.dev)) return fail(name);
    const lfuse_status status = lfuse_device_get_info(d.dev, &d.info);
    lfuse_device_close(d.dev);
    if (status) return fail(name);
    d.machine = (bench_machine){.empty_us = -1, .copy_gbs = -1, .timer_us = -1};
    bench_choices_begin(&d, o->json);
    check_problems(o, &d, &count);
    t->good += count.within;
    t->wrong += count.beyond;
    t->skipped += count.skipped;
    return 0;
}

static int run_device(const options *o, const char *name, totals *t)
{
    if (o->check_choices) return check_device(o, name, t);
    bench_device d = {.quick = o->quick, .named = o->nnamed > 0};
    int result = 0;
    if (lfuse_device_open(name, &d.dev)) return fail(name ? name : "default device");
    if (lfuse_device_get_info(d.dev, &d.info) || lfuse_stream_create(d.dev, &d.stream)) {
        result = fail(d.info.name);
        goto close_device;
    }
    if (o->tune) result = tune_device(o, &d, t);
    else if (bench_machine_measure(&d)) result = fail(d.info.name);
    else {
        bench_report_machine(&d, o->json);
        run_suites(o, &d, t);
    }
    lfuse_stream_destroy(d.stream);
close_device:
    lfuse_device_close(d.dev);
    return result;
}

static int run_all(const options *o, totals *t)
{
    int count, result = 0;
    lfuse_device_info info;
    if (lfuse_device_count(&count)) return fail("devices");
    if (count == 0) return fail("no device");
    for (int i = 0; i < count; i++) {
        if (lfuse_device_describe(i, &info)) result |= fail("device");
        else result |= run_device(o, info.name, t);
    }
    return result;
}

static int add_case(options *o, const char *problem)
{
    if (!suite_of(problem)) {
        fprintf(stderr, "lfuse-bench: no suite makes the problem \"%s\"; --list shows some\n", problem);
        return -1;
    }
    if (o->nnamed == MOST_NAMED) {
        fprintf(stderr, "lfuse-bench: more than %d problems\n", MOST_NAMED);
        return -1;
    }
    o->named[o->nnamed++] = problem;
    return 0;
}

static int parse(int argc, char **argv, options *o)
{
    enum { DEVICE = 1, SUITE, CASE, VARIANT, QUICK, JSON, LIST, TUNE, CHECK_CHOICES, REPORT, FIRST, HELP,
           VERSION };
    static const struct option known[] = {
        {"device", required_argument, NULL, DEVICE}, {"suite", required_argument, NULL, SUITE},
        {"case", required_argument, NULL, CASE},     {"variant", required_argument, NULL, VARIANT},
        {"quick", no_argument, NULL, QUICK},         {"json", required_argument, NULL, JSON},
        {"list", no_argument, NULL, LIST},           {"help", no_argument, NULL, HELP},
        {"tune", no_argument, NULL, TUNE},           {"version", no_argument, NULL, VERSION},
        {"report", required_argument, NULL, REPORT}, {"first", no_argument, NULL, FIRST},
        {"check-choices", no_argument, NULL, CHECK_CHOICES},
        {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case DEVICE: o->device = optarg; break;
        case SUITE: o->suite = optarg; break;
        case CASE:
            if (add_case(o, optarg)) return -1;
            break;
        case VARIANT: o->variant = optarg; break;
        case QUICK: o->quick = true; break;
        case JSON: o->json_path = optarg; break;
        case LIST: o->list = true; break;
        case TUNE: o->tune = true; break;
        case CHECK_CHOICES: o->check_choices = true; break;
        case REPORT: o->report = optarg; break;
        case FIRST: o->first = true; break; /* the suite's own: suite_first.c */
        case HELP: usage(stdout); exit(0);
        case VERSION: printf("lfuse-bench (libfuse) %s\n", lfuse_version_string()); exit(0);
        default: usage(stderr); return -1;
        }
    }
    if (o->report ? optind == argc : optind < argc) {
        usage(stderr);
        return -1;
    }
    if (o->report && (o->suite || o->nnamed || o->variant || o->json_path || o->quick || o->list || o->tune ||
                      o->check_choices)) {
        fputs("lfuse-bench: --report measures nothing and takes no other option\n", stderr);
        return -1;
    }
    if (o->tune && (o->variant || o->json_path)) {
        fputs("lfuse-bench: --tune measures choices, not variants, and writes no figures\n", stderr);
        return -1;
    }
    if (o->check_choices && (o->variant || o->tune)) {
        fputs("lfuse-bench: --check-choices has candidates of its own, and keeps no choice\n", stderr);
        return -1;
    }
    for (int i = 0; i < o->nnamed && (o->tune || o->check_choices); i++) {
        if (suite_of(o->named[i])->choices) continue;
        fprintf(stderr, "lfuse-bench: there is nothing to %s in the problem \"%s\"\n", o->tune ? "tune" : "choose",
                o->named[i]);
        return -1;
    }
    for (int i = 0; o->suite; i++) {
        if (i == SUITES) {
            fprintf(stderr, "lfuse-bench: no suite is called \"%s\"\n", o->suite);
            return -1;
        }
        if (!strcmp(o->suite, suites[i]->name)) break;
    }
    return 0;
}

int main(int argc, char **argv)
{
    options o = {.device = "all"};
    totals t = {0, 0, 0};
    if (parse(argc, argv, &o)) return 2;
    if (o.report) return bench_page_write(o.report, argc - optind, argv + optind) ? fail("no report") : 0;
    if (o.first) return bench_first_process(o.device, o.nnamed ? o.named[0] : "");
    /* first_us is told for an empty cache, unless the user wants his own; wisdom has its place in the cache's folder */
    if (!o.tune) setenv("LFUSE_CACHE", "0", 0);
    if (o.check_choices) setenv("LFUSE_WISDOM", "0", 1); /* what was measured before is no estimate */
    if (o.list) return list_problems(&o);
    if (o.json_path && !(o.json = fopen(o.json_path, "w"))) {
        fprintf(stderr, "lfuse-bench: %s: %s\n", o.json_path, strerror(errno));
        return 2;
    }
    int result = strcmp(o.device, "all") ? run_device(&o, o.device, &t) : run_all(&o, &t);
    if (o.check_choices)
        printf("\n%d choices within 5 %% of the best, %d beyond, %d problems skipped\n", t.good, t.wrong, t.skipped);
    else if (!o.tune)
        printf("\n%d results verified, %d wrong, %d problems skipped\n", t.good, t.wrong, t.skipped);
    if (o.json && (ferror(o.json) | fclose(o.json))) {
        fprintf(stderr, "lfuse-bench: %s: %s\n", o.json_path, strerror(errno));
        result = 1;
    }
    return result || t.wrong ? 1 : 0;
}
