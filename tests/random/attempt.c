/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/random/attempt.h"

#include "common/device/device.h"
#include "tests/support/main.h"

enum { UNFUSED_EACH = 8, SHRINKING = 400 };

static const unsigned ways[ATTEMPT_WAYS] = {0, LFUSE_NO_FUSION};
const char *const attempt_ways[ATTEMPT_WAYS] = {"fused", "unfused"};

/*
 * A driver that takes a tenth of a second for a kernel is given the many kernels of an unfused plan now and then alone.
 */
static int ways_on(lfuse_device *device, uint64_t seed)
{
    return lfuse__device_facts(device)->compiles_at_launch && seed % UNFUSED_EACH ? 1 : ATTEMPT_WAYS;
}

/*
 * The stub's kernels are compiled by the host's compiler, those of products for a good part of a second: three graphs
 * in four leave products to the stub's own loops. On a GPU whose vendor's library is tuned one in four asks for it.
 */
static lfuse_provider provider_on(lfuse_device *device, uint64_t seed)
{
    const lfuse__facts *facts = lfuse__device_facts(device);
    const bool stub = !strncmp(facts->info.name, "stub", 4), tuned = facts->products == LFUSE__PRODUCTS_TUNED;
    const bool vendor = stub ? seed % 4 && !test_all() : tuned && seed % 4 == 2;
    return vendor ? LFUSE_PROVIDER_VENDOR : LFUSE_PROVIDER_DEFAULT;
}

void attempt_prepare(attempt *a, lfuse_device *device)
{
    a->ways = ways_on(device, a->p.seed);
    test_without_optimisation(a->p.seed % 4 != 1);
    a->t.words = a->words;
    a->t.words_size = sizeof a->words;
    a->words[0] = '\0';
    a->status = problem_bind(&a->p, &a->t);
    if (!a->status) a->status = trial_open(&a->t, device);
    for (int i = 0; i < a->ways && !a->status; i++) {
        const lfuse_plan_options options = {.effort = LFUSE_EFFORT_ESTIMATE, .disable = ways[i],
                                            .provider = provider_on(device, a->p.seed)};
        a->status = trial_blame(&a->t, lfuse_plan_create(device, a->p.graph, &options, &a->plans[i]), attempt_ways[i]);
        if (!a->status) a->status = trial_instance(&a->t, a->plans[i], attempt_ways[i], &a->instances[i]);
    }
}

void attempt_conclude(attempt *a)
{
    char *all = malloc(trial_bytes(&a->t) + 1);
    if (!all) abort();
    for (int i = 0; i < a->ways && !a->status; i++) {
        a->status = trial_run_instance(&a->t, a->instances[i], attempt_ways[i], all);
        if (!a->status) a->status = trial_judge(&a->t, attempt_ways[i], all);
    }
    for (int i = 0; i < ATTEMPT_WAYS; i++) {
        lfuse_instance_destroy(a->instances[i]);
        lfuse_plan_destroy(a->plans[i]);
    }
    trial_close(&a->t);
    trial_free(&a->t);
    free(all);
}

bool attempt_declined(lfuse_status status) { return status == LFUSE_ERR_UNSUPPORTED || status == LFUSE_ERR_TYPE; }

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
    attempt_prepare(a, f->device);
    attempt_conclude(a);
    const bool fails = a->status == f->status;
    free(a);
    return fails;
}

const char *attempt_report(attempt *a, const char *on, lfuse_device *device)
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
    attempt_prepare(last, device);
    attempt_conclude(last);
    char *line = problem_print(&a->p);
    snprintf(text, sizeof text, "graph %" PRIu64 " on %s: %s\nshrunk: %s\nrun it again with\nLFUSE_RANDOM='%s'", seed,
             on, was, last->words, line ? line : "out of memory");
    free(line);
    free(last);
    return text;
}
