/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random graphs on every device and on the stub, fused and unfused, held to the oracle. A graph that fails is shrunk
 * and printed as one line. The environment says what is different from make check:
 *
 *     LFUSE_RANDOM='seed 17 sizes 5 (graph ...)'   runs that problem alone, on every device
 *     LFUSE_RANDOM_GRAPHS=N                        N graphs on each device, 32 times as many on the stub
 *     LFUSE_RANDOM_SEED=N                          from that seed on
 *     LFUSE_TEST_DEVICE=NAME                       on the devices alone whose names begin like that
 */
#include <signal.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/device/device.h"
#include "tests/random/attempt.h"
#include "tests/random/coverage.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"

enum { GRAPHS = 40, MOST_DEVICES = 16, BATCH = 40, STUB_FACTOR = 32, MOST_REPORTS = 12 };

/* Graphs that are to show everything there is. A large device chooses some forms of rows for few graphs only. */
enum { SHOWING = 120, SHOWING_ON_STUB = STUB_FACTOR * GRAPHS };

/* Graphs of one test: so few that none is silent for long, slow as a driver's compiler may be. */
enum { DEVICE_BLOCK = 5, STUB_BLOCK = 5 * BATCH };

static uint64_t environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
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

/* What many graphs run on, block after block: opened for the first block, closed when all of them are judged. */
typedef struct target {
    char title[32], name[32]; /* of the device */
    bool stub, lanes;         /* the stub, as a CPU or as a GPU */
    uint64_t first;           /* seed */
    int count, block, batch;
    coverage *seen; /* of the stub in both forms, or of one device */
    lfuse_device *device;
    tally sum;
} target;

static target targets[MOST_DEVICES + 2];
static coverage coverages[MOST_DEVICES + 1];
static int ntargets;

/* The first failures are shrunk and printed as diagnostics; the very first is what the test fails with. */
static void take_failure(attempt *a, const char *name, lfuse_device *device, tally *sum)
{
    if (lfuse_graph_check(a->p.graph)) {
        printf("# graph %" PRIu64 ": the generator is wrong: %s\n", a->p.seed, a->words);
        if (!sum->failed++) sum->first = strdup(a->words);
        return;
    }
    if (sum->failed++ >= MOST_REPORTS) return;
    const char *text = attempt_report(a, name, device);
    if (sum->failed == 1) sum->first = strdup(text);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        printf("# %.*s\n", (int)strcspn(line, "\n"), line);
    fflush(stdout);
}

/* Graphs [first, first + count) together. */
static void run_batch(target *t, uint64_t first, int count)
{
    lfuse_device *device = t->device;
    const char *name = t->title;
    tally *sum = &t->sum;
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
        attempt_prepare(a, device);
        if (!a->status) coverage_plan(t->seen, device, a->p.graph);
        for (int w = 0; w < a->ways && !a->status; w++) coverage_instance(t->seen, a->instances[w]);
    }
    for (int i = 0; i < count; i++) {
        attempt *a = &all[i];
        now(first + (uint64_t)i, name);
        if (!lfuse_graph_check(a->p.graph)) attempt_conclude(a);
        sum->run += !a->status;
        sum->judged += a->t.judged;
        sum->open += a->t.open;
        if (attempt_declined(a->status) && sum->declined++ < 3)
            printf("# %s: graph %" PRIu64 " declined: %s\n", name, a->p.seed, a->words);
        if (a->status && !attempt_declined(a->status)) take_failure(a, name, device, sum);
        problem_free(&a->p);
    }
    free(all);
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

static bool asked_for(const target *t) { return !getenv("LFUSE_RANDOM") && wanted(t->name); }

static int blocks_of(const target *t) { return (t->count + t->block - 1) / t->block; }

/* The target whose blocks hold number `*block` of all blocks, which becomes its number among those. */
static target *target_of(int *block)
{
    target *t = targets;
    for (; *block >= blocks_of(t); t++) *block -= blocks_of(t);
    return t;
}

/* A block of graphs on one target: Check's loop index counts through the blocks of all of them. */
START_TEST(some_graphs)
{
    int block = _i;
    target *t = target_of(&block);
    if (!asked_for(t)) TEST_SKIP("another device, or one graph, is asked for");
    if (!t->device) t->device = t->stub ? open_stub(t->lanes) : open_device(t->name);
    const int64_t failed = t->sum.failed;
    const int begin = block * t->block, end = t->count - begin < t->block ? t->count : begin + t->block;
    for (int i = begin; i < end; i += t->batch)
        run_batch(t, t->first + (uint64_t)i, end - i < t->batch ? end - i : t->batch);
    ck_assert_msg(t->sum.failed == failed, "%" PRId64 " graphs of %d failed, the first on this device: %s",
                  t->sum.failed - failed, end - begin, t->sum.first);
}
END_TEST

static void say_sums(const target *t)
{
    const tally *sum = &t->sum;
    uint64_t asked, compiled;
    double seconds;
    printf("# %s: %" PRId64 " graphs, %" PRId64 " failed, %" PRId64 " declined; %" PRId64 " elements judged, %" PRId64
           " open\n", t->title, sum->run, sum->failed, sum->declined, sum->judged, sum->open);
    lfuse__stub_batch_cost(&asked, &compiled, &seconds);
    if (t->stub)
        printf("# %s: %" PRIu64 " kernels, %" PRIu64 " compiled, in %.1f s\n", t->title, asked, compiled, seconds);
    fflush(stdout);
}

/* What is missing where enough graphs are run, when the last of the targets that share a coverage comes to its end. */
static const char *missing(const target *t)
{
    int64_t run = 0;
    if (t + 1 < targets + ntargets && t[1].seen == t->seen) return NULL;
    for (int i = 0; i < ntargets; i++)
        if (targets[i].seen == t->seen) run += targets[i].sum.run + targets[i].sum.declined;
    return run < (t->stub ? SHOWING_ON_STUB : SHOWING) ? NULL : coverage_missing(t->seen, t->stub);
}

/* What the blocks of a target have to show together. */
START_TEST(all_graphs)
{
    target *t = &targets[_i];
    const tally *sum = &t->sum;
    if (!asked_for(t)) TEST_SKIP("another device, or one graph, is asked for");
    say_sums(t);
    lfuse_device_close(t->device);
    t->device = NULL;
    if (t->stub) ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    ck_assert_int_eq(sum->run + sum->failed + sum->declined, t->count);
    /* What nothing is known of proves nothing. */
    ck_assert_msg(sum->open <= sum->judged / 4, "%s: %" PRId64 " elements open, %" PRId64 " judged", t->title,
                  sum->open, sum->judged);
    ck_assert_msg(sum->declined <= sum->run / 10, "%s: %" PRId64 " graphs declined of %d", t->title, sum->declined,
                  t->count);
    ck_assert_msg(!missing(t), "did not occur: %s", missing(t));
}
END_TEST

START_TEST(no_device)
{
    TEST_SKIP("no device but the stub");
}
END_TEST

/* LFUSE_RANDOM */
START_TEST(one_problem)
{
    const char *line = getenv("LFUSE_RANDOM");
    if (!line) TEST_SKIP("LFUSE_RANDOM is not set");
    for (int i = 0; i < ntargets; i++) {
        const target *t = &targets[i];
        attempt *a = calloc(1, sizeof *a);
        if (!a) abort();
        if (!wanted(t->name)) continue;
        ck_assert_msg(!problem_parse(line, &a->p), "%s", lfuse_last_error());
        lfuse_device *device = t->stub ? open_stub(t->lanes) : open_device(t->name);
        now(a->p.seed, t->title);
        attempt_prepare(a, device);
        for (int w = 0; w < a->ways && !a->status; w++)
            printf("# %s: %s\n", attempt_ways[w], lfuse_plan_text(a->plans[w]));
        fflush(stdout);
        attempt_conclude(a);
        printf("# %s: %s %s\n", t->title, a->status ? lfuse_status_name(a->status) : "fine", a->words);
        ck_assert_msg(!a->status || attempt_declined(a->status), "%s: %s", t->title, a->words);
        problem_free(&a->p);
        free(a);
        lfuse_device_close(device);
    }
}
END_TEST

static target *add_target(const char *name, const char *form, coverage *seen, int count)
{
    target *t = &targets[ntargets++];
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->title, sizeof t->title, "%.15s%s", name, form);
    t->first = environment("LFUSE_RANDOM_SEED", 1);
    t->count = count;
    t->block = DEVICE_BLOCK;
    t->batch = 1;
    t->seen = seen;
    return t;
}

/* The stub takes half of its graphs in each form. */
static void add_stub(bool lanes, int count)
{
    target *t = add_target("stub:0", lanes ? " by lanes" : " by items", &coverages[0], count);
    t->stub = true;
    t->lanes = lanes;
    t->first += lanes ? 0 : (uint64_t)count;
    t->block = STUB_BLOCK;
    t->batch = BATCH;
}

static void list_targets(void)
{
    const int graphs = (int)environment("LFUSE_RANDOM_GRAPHS", GRAPHS);
    lfuse_device_info info;
    int count = 0;
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    add_stub(true, STUB_FACTOR / 2 * graphs);
    add_stub(false, STUB_FACTOR / 2 * graphs);
    if (lfuse_device_count(&count)) return;
    for (int i = 0; i < count && ntargets < MOST_DEVICES + 2; i++)
        if (!lfuse_device_describe(i, &info) && strncmp(info.name, "stub", 4))
            add_target(info.name, "", &coverages[ntargets - 1], graphs);
}

static Suite *suite_random(void)
{
    Suite *s = suite_create("random");
    int block = 0;
    list_targets();
    for (int i = 0; i < ntargets; i++) {
        TCase *graphs = tcase_create(targets[i].title);
        tcase_set_timeout(graphs, 0);
        tcase_add_loop_test(graphs, some_graphs, block, block + blocks_of(&targets[i]));
        tcase_add_loop_test(graphs, all_graphs, i, i + 1);
        suite_add_tcase(s, graphs);
        block += blocks_of(&targets[i]);
    }
    TCase *one = tcase_create("one");
    tcase_set_timeout(one, 0);
    if (ntargets == 2) tcase_add_test(one, no_device);
    tcase_add_test(one, one_problem);
    suite_add_tcase(s, one);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_random)
