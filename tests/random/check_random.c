/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random graphs on every device and on the stub, fused and unfused, held to the oracle. A graph that fails is shrunk and
 * printed as one line. The environment says what is different from make check:
 *
 *     LFUSE_RANDOM='seed 17 sizes 5 (graph ...)'   runs that problem alone, on every device
 *     LFUSE_RANDOM_GRAPHS=N                        N graphs on each device, ten times as many on the stub
 *     LFUSE_RANDOM_SEED=N                          from that seed on
 *     LFUSE_TEST_DEVICE=NAME                       on the devices alone whose names begin like that
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/device/device.h"
#include "common/plan/plan.h"
#include "tests/random/coverage.h"
#include "tests/random/problem.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"

enum { GRAPHS = 200, MOST_DEVICES = 16, BATCH = 40, STUB_FACTOR = 10, SHRINKING = 400, MOST_REPORTS = 12 };

static const unsigned ways[] = {0, LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_EPILOGUE | LFUSE_NO_VIEW_FUSION |
                                       LFUSE_NO_ROW_FUSION | LFUSE_NO_SMALL_PRODUCTS | LFUSE_NO_GATHER_FUSION |
                                       LFUSE_NO_BUNDLES};
static const char *const way_names[] = {"fused", "unfused"};
enum { WAYS = sizeof ways / sizeof *ways, UNFUSED_EACH = 4 };

static char device_names[MOST_DEVICES][32];
static int devices;

static uint64_t environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- one problem ---- */

/* Kept apart in two steps, so that the stub can compile the kernels of many together. */
typedef struct attempt {
    problem p;
    trial t;
    int ways;
    lfuse_plan *plans[WAYS];
    lfuse_instance *instances[WAYS];
    lfuse_status status;
    char words[640];
} attempt;

/* A driver that takes a tenth of a second for a kernel is given the many kernels of an unfused plan now and then alone. */
static int ways_on(lfuse_device *device, uint64_t seed)
{
    return lfuse__device_facts(device)->compiles_at_launch && seed % UNFUSED_EACH ? 1 : WAYS;
}

static void prepare(attempt *a, lfuse_device *device)
{
    a->ways = ways_on(device, a->p.seed);
    a->t.words = a->words;
    a->t.words_size = sizeof a->words;
    a->words[0] = '\0';
    a->status = problem_bind(&a->p, &a->t);
    if (!a->status) a->status = trial_open(&a->t, device);
    for (int i = 0; i < a->ways && !a->status; i++) {
        const lfuse_plan_options options = {.effort = LFUSE_EFFORT_ESTIMATE, .disable = ways[i]};
        a->status = trial_blame(&a->t, lfuse_plan_create(device, a->p.graph, &options, &a->plans[i]), way_names[i]);
        if (!a->status) a->status = trial_instance(&a->t, a->plans[i], way_names[i], &a->instances[i]);
    }
}

/* Runs what was prepared and takes it down, but for the problem. */
static void conclude(attempt *a)
{
    char *all = malloc(trial_bytes(&a->t) + 1);
    if (!all) abort();
    for (int i = 0; i < a->ways && !a->status; i++) {
        a->status = trial_run_instance(&a->t, a->instances[i], way_names[i], all);
        if (!a->status) a->status = trial_judge(&a->t, way_names[i], all);
    }
    for (int i = 0; i < WAYS; i++) {
        lfuse_instance_destroy(a->instances[i]);
        lfuse_plan_destroy(a->plans[i]);
    }
    trial_close(&a->t);
    trial_free(&a->t);
    free(all);
}

/* A type or function that the device does not have. */
static bool declined(lfuse_status status) { return status == LFUSE_ERR_UNSUPPORTED || status == LFUSE_ERR_TYPE; }

/* What a smaller problem has to do: fail as the first one did. */
typedef struct failure {
    lfuse_device *device;
    lfuse_status status;
} failure;

static bool fails_too(const problem *p, void *context)
{
    const failure *f = context;
    attempt *a = calloc(1, sizeof *a);
    if (!a) abort();
    a->p = *p;
    prepare(a, f->device);
    conclude(a);
    const bool fails = a->status == f->status;
    free(a);
    return fails;
}

/* Shrinks the problem and says what is left, in words that are freed by nobody: the test ends. */
static const char *report(attempt *a, const char *device_name, lfuse_device *device)
{
    static char text[16384];
    const uint64_t seed = a->p.seed;
    char was[640];
    snprintf(was, sizeof was, "%s", a->words);
    failure f = {device, a->status};
    problem_shrink(&a->p, fails_too, &f, SHRINKING);
    attempt *last = calloc(1, sizeof *last);
    if (!last) abort();
    last->p = a->p;
    prepare(last, device);
    conclude(last);
    char *line = problem_print(&a->p);
    snprintf(text, sizeof text, "graph %" PRIu64 " on %s: %s\nshrunk: %s\nrun it again with\nLFUSE_RANDOM='%s'", seed,
             device_name, was, last->words, line ? line : "out of memory");
    free(line);
    free(last);
    return text;
}

/* ---- many ---- */

/* A crash says where. */
static volatile sig_atomic_t installed;
static char crash_text[96];

static void crashed(int number)
{
    ssize_t ignored = write(STDERR_FILENO, crash_text, strlen(crash_text));
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static void now(uint64_t seed, const char *device)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    snprintf(crash_text, sizeof crash_text, "random: graph %" PRIu64 " on %.30s crashed\n", seed, device);
    for (size_t i = 0; !installed && i < sizeof signals / sizeof *signals; i++) signal(signals[i], crashed);
    installed = 1;
}

typedef struct tally {
    int64_t run, failed, declined, judged, open;
    char *first; /* failure */
} tally;

/* The first failures are shrunk and printed as diagnostics; the very first is what the test fails with. */
static void take_failure(attempt *a, const char *name, lfuse_device *device, tally *sum)
{
    if (lfuse_graph_check(a->p.graph)) {
        printf("# graph %" PRIu64 ": the generator is wrong: %s\n", a->p.seed, a->words);
        if (!sum->failed++) sum->first = strdup(a->words);
        return;
    }
    if (sum->failed++ >= MOST_REPORTS) return;
    const char *text = report(a, name, device);
    if (sum->failed == 1) sum->first = strdup(text);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        printf("# %.*s\n", (int)strcspn(line, "\n"), line);
    fflush(stdout);
}

/* Graphs [first, first + count) together. */
static void run_batch(lfuse_device *device, const char *name, uint64_t first, int count, coverage *seen, tally *sum)
{
    attempt *all = calloc((size_t)count, sizeof *all);
    if (!all) abort();
    for (int i = 0; i < count; i++) {
        attempt *a = &all[i];
        now(first + (uint64_t)i, name);
        problem_generate(first + (uint64_t)i, &a->p);
        a->status = lfuse_graph_check(a->p.graph);
        if (a->status) {
            snprintf(a->words, sizeof a->words, "%s", lfuse_last_error());
            continue;
        }
        prepare(a, device);
        if (!a->status) coverage_plan(seen, device, a->p.graph);
        for (int w = 0; w < a->ways && !a->status; w++) coverage_instance(seen, a->instances[w]);
    }
    for (int i = 0; i < count; i++) {
        attempt *a = &all[i];
        now(first + (uint64_t)i, name);
        if (!lfuse_graph_check(a->p.graph)) conclude(a);
        sum->run += !a->status;
        sum->judged += a->t.judged;
        sum->open += a->t.open;
        if (declined(a->status) && sum->declined++ < 3)
            printf("# %s: graph %" PRIu64 " declined: %s\n", name, a->p.seed, a->words);
        if (a->status && !declined(a->status)) take_failure(a, name, device, sum);
        problem_free(&a->p);
    }
    free(all);
}

static void run_many(lfuse_device *device, const char *name, uint64_t first, int count, int batch, coverage *seen)
{
    tally sum = {0, 0, 0, 0, 0, NULL};
    uint64_t asked, compiled;
    double seconds;
    for (int i = 0; i < count; i += batch)
        run_batch(device, name, first + (uint64_t)i, count - i < batch ? count - i : batch, seen, &sum);
    printf("# %s: %" PRId64 " graphs, %" PRId64 " failed, %" PRId64 " declined; %" PRId64 " elements judged, %" PRId64
           " open\n", name, sum.run, sum.failed, sum.declined, sum.judged, sum.open);
    lfuse__stub_batch_cost(&asked, &compiled, &seconds);
    if (batch > 1)
        printf("# %s: %" PRIu64 " kernels, %" PRIu64 " compiled, in %.1f s\n", name, asked, compiled, seconds);
    fflush(stdout);
    ck_assert_msg(!sum.failed, "%" PRId64 " graphs failed, the first: %s", sum.failed, sum.first);
    /* What nothing is known of proves nothing. */
    ck_assert_msg(sum.open <= sum.judged / 4, "%s: %" PRId64 " elements open, %" PRId64 " judged", name, sum.open,
                  sum.judged);
    ck_assert_msg(sum.declined <= sum.run / 10, "%s: %" PRId64 " graphs declined of %" PRId64, name, sum.declined,
                  sum.run + sum.declined);
}

static bool wanted(const char *name)
{
    const char *prefix = getenv("LFUSE_TEST_DEVICE");
    return !prefix || !strncmp(name, prefix, strlen(prefix));
}

static lfuse_device *open_device(const char *name)
{
    lfuse_device *device;
    ck_assert_msg(lfuse_device_open(name, &device) == LFUSE_OK, "%s", lfuse_last_error());
    return device;
}

/* The stub as a CPU and as a GPU. */
static lfuse_device *open_stub(bool lanes)
{
    lfuse__stub_reset();
    lfuse__stub.batched = true;
    lfuse__stub.vector_lanes = lanes;
    return open_device("stub:0");
}

static bool alone(void) { return getenv("LFUSE_RANDOM") != NULL; }

START_TEST(on_stub)
{
    const int count = STUB_FACTOR * (int)environment("LFUSE_RANDOM_GRAPHS", GRAPHS);
    const uint64_t first = environment("LFUSE_RANDOM_SEED", 1);
    coverage seen;
    if (alone() || !wanted("stub:0")) TEST_SKIP("another device, or one graph, is asked for");
    coverage_clear(&seen);
    for (int form = 0; form < 2; form++) {
        lfuse_device *device = open_stub(form == 0);
        run_many(device, form ? "stub:0 by items" : "stub:0 by lanes", first + (uint64_t)(form * (count / 2)), count / 2,
                 BATCH, &seen);
        lfuse_device_close(device);
    }
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    if (count >= STUB_FACTOR * GRAPHS) {
        const char *missing = coverage_missing(&seen, true);
        ck_assert_msg(!missing, "did not occur: %s", missing);
    }
}
END_TEST

/* One test for each device: Check's loop index. */
START_TEST(on_device)
{
    const int count = (int)environment("LFUSE_RANDOM_GRAPHS", GRAPHS);
    coverage seen;
    if (_i >= devices) TEST_SKIP("%s", "no device but the stub");
    if (alone() || !wanted(device_names[_i])) TEST_SKIP("another device, or one graph, is asked for");
    lfuse_device *device = open_device(device_names[_i]);
    coverage_clear(&seen);
    run_many(device, device_names[_i], environment("LFUSE_RANDOM_SEED", 1), count, 1, &seen);
    lfuse_device_close(device);
    if (count >= GRAPHS) {
        const char *missing = coverage_missing(&seen, false);
        ck_assert_msg(!missing, "did not occur: %s", missing);
    }
}
END_TEST

/* LFUSE_RANDOM */
START_TEST(one_problem)
{
    const char *line = getenv("LFUSE_RANDOM");
    if (!line) TEST_SKIP("LFUSE_RANDOM is not set");
    for (int i = -2; i < devices; i++) {
        const char *name = i < 0 ? "stub:0" : device_names[i];
        attempt *a = calloc(1, sizeof *a);
        if (!a) abort();
        if (!wanted(name)) continue;
        ck_assert_msg(!problem_parse(line, &a->p), "%s", lfuse_last_error());
        lfuse_device *device = i < 0 ? open_stub(i == -2) : open_device(name);
        now(a->p.seed, name);
        prepare(a, device);
        for (int w = 0; w < a->ways && !a->status; w++) printf("# %s: %s\n", way_names[w], lfuse_plan_text(a->plans[w]));
        fflush(stdout);
        conclude(a);
        printf("# %s: %s %s\n", name, a->status ? lfuse_status_name(a->status) : "fine", a->words);
        ck_assert_msg(!a->status || declined(a->status), "%s: %s", name, a->words);
        problem_free(&a->p);
        free(a);
        lfuse_device_close(device);
    }
}
END_TEST

static void list_devices(void)
{
    lfuse_device_info info;
    int count = 0;
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    if (lfuse_device_count(&count)) return;
    for (int i = 0; i < count && devices < MOST_DEVICES; i++) {
        if (lfuse_device_describe(i, &info) || !strncmp(info.name, "stub", 4)) continue;
        snprintf(device_names[devices++], sizeof device_names[0], "%s", info.name);
    }
}

static Suite *suite_random(void)
{
    Suite *s = suite_create("random");
    TCase *many = tcase_create("graphs"), *one = tcase_create("one");
    list_devices();
    tcase_set_timeout(many, 0);
    tcase_set_timeout(one, 0);
    tcase_add_test(many, on_stub);
    tcase_add_loop_test(many, on_device, 0, devices ? devices : 1);
    tcase_add_test(one, one_problem);
    suite_add_tcase(s, many);
    suite_add_tcase(s, one);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_random)
