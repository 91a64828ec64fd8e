/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cases/harness.h"

#include "common/base/error.h"
#include "common/base/hash.h"
#include "tests/cases/trial.h"
#include "tests/support/main.h"

struct harness {
    trial trial;
    int launches;
    uint32_t argument_bytes; /* that the promise needs */
    bool same_bits;
    const char *word; /* of the fused plan */
    const char *first; /* results of the first way */
    lfuse_size sizes[HARNESS_MAX_SIZES]; /* as trial.sizes */
};

static uint64_t result_hash;

uint64_t harness_result_hash(void) { return result_hash; }

/* ---- describing ---- */

static int64_t actual(const harness *h, lfuse_size extent)
{
    for (int i = 0; i < h->trial.nsizes; i++)
        if (h->sizes[i] == extent) return h->trial.sizes[i].actual;
    return extent;
}

lfuse_size h_size(harness *h, const char *name, int64_t low, int64_t high, int64_t value)
{
    lfuse_size size = lfuse_size_var(h->trial.graph, name, low, high);
    h->sizes[h->trial.nsizes] = size;
    trial_add_size(&h->trial, name, value);
    return size;
}

static trial_io *add_tensor(harness *h, const char *name, trial_role role, lfuse_type type, int rank,
                            const lfuse_size *shape, harness_layout layout)
{
    int64_t extents[LFUSE_MAX_RANK];
    for (int i = 0; i < rank; i++) extents[i] = actual(h, shape[i]);
    return trial_add_tensor(&h->trial, name, role, type, rank, extents, layout);
}

static uint64_t seed(const harness *h) { return 1000u * (unsigned)h->trial.nio; }

lfuse_value h_input(harness *h, const char *name, lfuse_type type, int rank, const lfuse_size *shape,
                    harness_layout layout, harness_data data)
{
    trial_io *x = add_tensor(h, name, TRIAL_INPUT, type, rank, shape, layout);
    lfuse_value value = lfuse_input(h->trial.graph, name, type, rank, shape);
    x->id = value.id;
    trial_fill(x, data, seed(h));
    return value;
}

lfuse_value h_indices(harness *h, const char *name, lfuse_type type, int rank, const lfuse_size *shape, int64_t low,
                      int64_t high)
{
    lfuse_value value = h_input(h, name, type, rank, shape, PLAIN, INTEGERS);
    trial_fill_range(&h->trial.io[h->trial.nio - 1], low, high, seed(h));
    return value;
}

lfuse_value h_frozen(harness *h, const char *name, lfuse_type type, int rank, const lfuse_size *shape,
                     harness_data data)
{
    trial_fill(add_tensor(h, name, TRIAL_FROZEN, type, rank, shape, PLAIN), data, seed(h));
    return lfuse_frozen(h->trial.graph, name, type, rank, shape);
}

lfuse_value h_scalar(harness *h, const char *name, double number)
{
    trial_add_scalar(&h->trial, name, number);
    return lfuse_scalar(h->trial.graph, name);
}

static lfuse_value list(harness *h, trial_io *x, int rank, harness_data data)
{
    lfuse_value value = lfuse_list_input(h->trial.graph, x->name, x->type, rank);
    x->id = value.id;
    trial_fill(x, data, seed(h));
    return value;
}

lfuse_value h_lines(harness *h, const char *name, lfuse_type type, int rank, int count, const int64_t *elements,
                    harness_data data)
{
    return list(h, trial_add_list(&h->trial, name, TRIAL_LIST, type, count, elements), rank, data);
}

lfuse_value h_list(harness *h, const char *name, lfuse_type type, int count, const int64_t *elements,
                   harness_data data)
{
    return h_lines(h, name, type, LFUSE_RANK_ANY, count, elements, data);
}

lfuse_value h_matrices(harness *h, const char *name, lfuse_type type, int count, const int64_t (*shapes)[3],
                       harness_data data)
{
    return list(h, trial_add_matrices(&h->trial, name, TRIAL_LIST, type, count, shapes, PLAIN), LFUSE_RANK_MATRIX,
                data);
}

lfuse_value h_rows(harness *h, const char *name, lfuse_type type, int count, const int64_t (*shapes)[3],
                   harness_data data)
{
    return list(h, trial_add_matrices(&h->trial, name, TRIAL_LIST, type, count, shapes, ROWS), LFUSE_RANK_MATRIX,
                data);
}

void h_rows_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int count,
                   const int64_t (*shapes)[3])
{
    trial_add_matrices(&h->trial, name, TRIAL_LIST_OUTPUT, type, count, shapes, ROWS);
    lfuse_output(h->trial.graph, name, value);
}

void h_matrices_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int count,
                       const int64_t (*shapes)[3])
{
    trial_add_matrices(&h->trial, name, TRIAL_LIST_OUTPUT, type, count, shapes, PLAIN);
    lfuse_output(h->trial.graph, name, value);
}

void h_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int rank, const lfuse_size *shape,
              harness_layout layout)
{
    add_tensor(h, name, TRIAL_OUTPUT, type, rank, shape, layout);
    lfuse_output(h->trial.graph, name, value);
}

void h_list_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int count,
                   const int64_t *elements)
{
    trial_add_list(&h->trial, name, TRIAL_LIST_OUTPUT, type, count, elements);
    lfuse_output(h->trial.graph, name, value);
}

void h_update(harness *h, lfuse_value target, lfuse_value value)
{
    for (int i = 0; i < h->trial.nio; i++) {
        trial_io *x = &h->trial.io[i];
        if ((x->role == TRIAL_INPUT || x->role == TRIAL_LIST) && x->id == target.id) x->updated = true;
    }
    lfuse_update(target, value);
}

lfuse_graph *h_graph(harness *h) { return h->trial.graph; }
void h_expect_same_bits(harness *h) { h->same_bits = true; }
void h_expect_launches(harness *h, int launches) { h->launches = launches; }

void h_expect_launches_within(harness *h, int launches, uint32_t argument_bytes)
{
    h->launches = launches;
    h->argument_bytes = argument_bytes;
}

void h_strassen(harness *h, int levels) { h->trial.levels = levels; }
void h_expect_text(harness *h, const char *word) { h->word = word; }

/* ---- running ---- */

/* The ways to plan: all passes, none, and all but one. The last ones are for cases and devices that ask for them. */
static const struct way {
    const char *name;
    unsigned disable;
} ways[] = {
    {"fused", 0},
    {"unfused", LFUSE_NO_FUSION},
    {"without pointwise", LFUSE_NO_POINTWISE_FUSION},
    {"without epilogues", LFUSE_NO_EPILOGUE},
    {"without views", LFUSE_NO_VIEW_FUSION},
    {"without rows", LFUSE_NO_ROW_FUSION},
    {"without small products", LFUSE_NO_SMALL_PRODUCTS},
    {"without gathers", LFUSE_NO_GATHER_FUSION},
    {"without bundles", LFUSE_NO_BUNDLES},
    {"without recomputing", LFUSE_NO_RECOMPUTE},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* A way's plan, and an instance that is never run: with it, the stub compiles the kernels of all ways together. */
typedef struct planned {
    lfuse_plan *plan;
    lfuse_instance *instance;
    bool as_first; /* it plans as the first way does, and is not run */
} planned;

static lfuse_status make_planned(harness *h, const struct way *way, const planned *first, planned *made)
{
    static const lfuse_strassen levels[] = {LFUSE_STRASSEN_OFF, LFUSE_STRASSEN_ONE, LFUSE_STRASSEN_TWO};
    trial *t = &h->trial;
    const lfuse_plan_options options = {
        .effort = LFUSE_EFFORT_ESTIMATE, .disable = way->disable, .strassen = levels[t->levels]};
    LFUSE__TRY(trial_blame(t, lfuse_plan_create(t->device, t->graph, &options, &made->plan), way->name));
    if (h->word && !way->disable && !strstr(lfuse_plan_text(made->plan), h->word))
        return trial_say(t, LFUSE_ERR_STATE, "no \"%s\" in %s", h->word, lfuse_plan_text(made->plan));
    made->as_first = way > &ways[1] && !strcmp(lfuse_plan_text(first->plan), lfuse_plan_text(made->plan));
    return made->as_first ? LFUSE_OK : trial_instance(t, made->plan, way->name, &made->instance);
}

/* Runs the way's plan twice, compares the two runs and the oracle. */
static lfuse_status run_planned(harness *h, const struct way *way, lfuse_plan *plan, char *all, char *again)
{
    lfuse_device_counters before, after;
    lfuse_device_info info;
    trial *t = &h->trial;
    lfuse_status status = trial_run(t, plan, way->name, all);
    if (!status && way > ways && h->same_bits && t->exact && memcmp(h->first, all, trial_bytes(t)))
        status = trial_say(t, LFUSE_ERR_STATE, "fused and %s: the results differ in their bits", way->name);
    if (!status) status = trial_judge(t, way->name, all);
    if (!status) status = trial_blame(t, lfuse_device_get_counters(t->device, &before), "counters");
    if (!status) status = trial_run(t, plan, way->name, again);
    if (!status) status = trial_blame(t, lfuse_device_get_counters(t->device, &after), "counters");
    if (!status) status = trial_blame(t, lfuse_device_get_info(t->device, &info), "device");
    if (!status && memcmp(all, again, trial_bytes(t)))
        status = trial_say(t, LFUSE_ERR_STATE, "%s: a second run gives other bits", way->name);
    if (!status && after.compiles != before.compiles)
        status = trial_say(t, LFUSE_ERR_STATE, "%s: the second run compiled", way->name);
    long long launches = status ? 0 : (long long)(after.launches - before.launches);
    if (!status && !way->disable && h->launches >= 0 && info.max_argument_bytes >= h->argument_bytes &&
        launches != h->launches)
        status = trial_say(t, LFUSE_ERR_STATE, "%lld launches instead of %d: %s", launches, h->launches,
                           lfuse_plan_text(plan));
    return status;
}

static lfuse_status make_ways(harness *h, int count, bool exact, planned *made)
{
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < count && !status; i++) {
        test_without_optimisation(i > 0 || !exact);
        status = make_planned(h, &ways[i], &made[0], &made[i]);
    }
    test_without_optimisation(false);
    return status;
}

static void drop_ways(planned *made)
{
    for (int i = 0; i < WAYS; i++) {
        lfuse_instance_destroy(made[i].instance);
        lfuse_plan_destroy(made[i].plan);
    }
}

static int count_ways(harness_ways asked) { return asked == AND_EACH ? WAYS : (int)asked; }

/* Of what is compiled as users have it: the first way of the cases whose bits are the same everywhere. */
static lfuse_status run_on(harness *h, lfuse_device *device, harness_ways asked, bool exact)
{
    const int count = count_ways(asked);
    trial *t = &h->trial;
    size_t bytes = trial_bytes(t);
    char *results = calloc(3, bytes + 1);
    if (!results) abort();
    char *second = results + bytes, *again = second + bytes;
    planned made[WAYS] = {{NULL, NULL, false}};
    lfuse_status status = trial_open(t, device);
    h->first = results;
    if (!status) status = make_ways(h, count, exact, made);
    for (int i = 0; i < count && !status; i++)
        if (!made[i].as_first) status = run_planned(h, &ways[i], made[i].plan, i ? second : results, again);
    drop_ways(made);
    result_hash = status ? 0 : lfuse__hash_bytes(results, bytes).low;
    trial_close(t);
    free(results);
    return status;
}

harness_case *harness_cases;

void harness_register(harness_case *c)
{
    harness_case **at = &harness_cases;
    for (; *at; at = &(*at)->next) {
        const int order = strcmp((*at)->file, c->file);
        if (order > 0 || (!order && (*at)->line > c->line)) break;
    }
    c->next = *at;
    *at = c;
}

static harness *describe(const harness_case *c, char *words, size_t size)
{
    harness *h = calloc(1, sizeof *h);
    if (!h) abort();
    h->launches = -1;
    h->trial.words = words;
    h->trial.words_size = size;
    words[0] = '\0';
    h->trial.graph = lfuse_graph_create();
    c->describe(h);
    return h;
}

static void forget(harness *h)
{
    trial_free(&h->trial);
    lfuse_graph_destroy(h->trial.graph);
    free(h);
}

lfuse_status harness_run(const harness_case *c, lfuse_device *device, harness_ways asked, char *words, size_t size)
{
    harness *h = describe(c, words, size);
    lfuse_status status = trial_blame(&h->trial, lfuse_graph_check(h->trial.graph), "graph");
    if (!status) status = run_on(h, device, asked, c->flags & EXACT);
    forget(h);
    return status;
}

void harness_foresee(const harness_case *c, lfuse_device *device, harness_ways asked)
{
    char words[512];
    planned made[WAYS] = {{NULL, NULL, false}};
    harness *h = describe(c, words, sizeof words);
    if (!lfuse_graph_check(h->trial.graph) && !trial_open(&h->trial, device))
        make_ways(h, count_ways(asked), c->flags & EXACT, made); /* what is wrong the case's own run will say */
    drop_ways(made);
    trial_close(&h->trial);
    forget(h);
}
