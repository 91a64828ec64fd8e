/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random graphs with the gradients of all their floating outputs by all their floating inputs, and by the outputs,
 * against the tape, backwards element by element and forwards along a direction. No device is needed.
 *
 *     LFUSE_RANDOM_GRAPHS=N    N graphs
 *     LFUSE_RANDOM_SEED=N      from that seed on
 *
 * Data are numbers that every floating type holds, so that casts of them are exact. A graph that fails is printed as
 * one line, which is a problem of check_random's without the gradients.
 */
#include "bench/data.h"
#include "libfuse.h"
#include "tests/random/problem.h"
#include "tests/support/main.h"
#include "tests/tape/tape.h"

/* Under the sanitizer, where each takes several times as long, fewer graphs reach the same code. */
#ifdef __SANITIZE_ADDRESS__
enum { GRAPHS = 200 };
#else
enum { GRAPHS = 1000 };
#endif
enum { BLOCK = 50, MOST_ELEMENTS = 4096, MOST_VALUES = 32 };

static uint64_t environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- one problem with its gradients ---- */

typedef struct differentiated {
    problem p;
    trial t;
    char words[512];
    int outputs, nwrt;
    int32_t forward; /* how many nodes there are before the gradients */
    lfuse_value y[MOST_VALUES], seeds[MOST_VALUES], wrt[MOST_VALUES], d[MOST_VALUES];
} differentiated;

static bool floats(const lfuse_graph *g, int32_t node) { return lfuse__is_floating((lfuse_type)g->nodes[node].type); }

/* Graphs that are large for what they have to show are left out. */
static bool is_small(const problem *p)
{
    int64_t *sizes = problem_sizes(p);
    bool small = true;
    for (int32_t i = 0; i < p->graph->nnodes && small; i++) {
        const lfuse__node *n = &p->graph->nodes[i];
        int64_t extent, count = 1;
        for (int k = 0; k < n->rank; k++)
            if (!lfuse__size_evaluate(p->graph, n->shape[k], sizes, &extent)) count *= extent;
        small = count <= MOST_ELEMENTS;
    }
    free(sizes);
    return small;
}

static void choose(differentiated *x)
{
    lfuse_graph *g = x->p.graph;
    for (int32_t i = 0; i < g->nnames; i++) {
        const lfuse__name *name = &g->names[i];
        const lfuse_value v = {g, name->node};
        if (!floats(g, name->node)) continue;
        if (name->kind == LFUSE__NAME_OUTPUT && x->outputs < MOST_VALUES) x->y[x->outputs++] = v;
        if (name->kind != LFUSE__NAME_OUTPUT && name->kind != LFUSE__NAME_SCALAR && x->nwrt < MOST_VALUES)
            x->wrt[x->nwrt++] = v;
    }
    /* An output may be on the way to others. */
    for (int i = 0; i < x->outputs && x->nwrt < MOST_VALUES; i++) x->wrt[x->nwrt++] = x->y[i];
}

/*
 * What every floating type holds: multiples of 1/64 up to 3 with as many bits as e5m2 has, the fewest, and whole
 * numbers up to 128, which indices are anyway.
 */
static double representable(lfuse_type type, double v)
{
    if (lfuse__is_floating(type)) return lfuse__narrow_round(LFUSE_E5M2, fmax(-3, fmin(3, rint(64 * v) / 64)));
    return fabs(v) <= 128 ? v : fmod(v, 8);
}

/* Nothing nasty. False: there is too much. */
static bool set_data(trial *t, uint64_t seed)
{
    static const harness_data kinds[] = {NORMAL, POSITIVE, INTEGERS, NORMAL};
    int64_t elements = 0;
    for (int i = 0; i < t->nio; i++) {
        trial_io *x = &t->io[i];
        if (x->role == TRIAL_SCALAR || x->role == TRIAL_OUTPUT || x->role == TRIAL_LIST_OUTPUT) continue;
        if (lfuse__is_floating(x->type)) trial_fill(x, kinds[seed % 4], seed + (uint64_t)i);
        for (int m = 0; m < x->count; m++) elements += x->tensors[m].elements;
        for (int m = 0; m < x->count; m++)
            for (int64_t k = 0; k < x->tensors[m].elements; k++) {
                const double v = lfuse__data_get(x->type, x->tensors[m].packed, k);
                lfuse__data_put(x->type, x->tensors[m].packed, k, representable(x->type, v));
            }
    }
    return elements <= 4 * MOST_ELEMENTS;
}

/* False: there is nothing to differentiate, or too much. */
static bool make(differentiated *x, uint64_t seed)
{
    memset(x, 0, sizeof *x);
    problem_generate(seed, &x->p);
    if (lfuse_graph_check(x->p.graph) || !is_small(&x->p)) return false;
    choose(x);
    if (!x->outputs || !x->nwrt) return false;
    x->t.words = x->words;
    x->t.words_size = sizeof x->words;
    ck_assert_msg(!problem_bind(&x->p, &x->t), "graph %" PRIu64 ": %s", seed, x->words);
    if (!set_data(&x->t, seed)) return false;
    x->forward = x->p.graph->nnodes;
    for (int i = 0; i < x->outputs; i++) x->seeds[i] = lfuse_stop(lfuse_cos(x->y[i]));
    lfuse_gradients(x->outputs, x->y, x->seeds, 0, x->nwrt, x->wrt, x->d);
    for (int i = 0; i < x->nwrt; i++) {
        char name[24];
        snprintf(name, sizeof name, "gradient %d", i);
        lfuse_output(x->p.graph, name, x->d[i]);
    }
    return true;
}

static void drop(differentiated *x)
{
    trial_free(&x->t);
    problem_free(&x->p);
}

/* ---- judging ---- */

typedef struct tally {
    int graphs, told; /* that have gradients, and of which most elements could be judged */
    int dual;         /* whose derivatives along a direction could be judged */
    int64_t judged, open;
} tally;

static tape *record(const differentiated *x, const lfuse__oracle_input *inputs, int n)
{
    tape *t = tape_record(x->p.graph, inputs, n, x->nwrt, x->wrt);
    long double *seeds[MOST_VALUES];
    for (int k = 0; k < x->outputs; k++) {
        const int64_t count = tape_count(t, x->seeds[k]);
        seeds[k] = malloc((size_t)(count + 1) * sizeof **seeds);
        if (!seeds[k]) abort();
        for (int64_t i = 0; i < count; i++) seeds[k][i] = tape_value(t, x->seeds[k], i);
    }
    tape_reverse(t, x->outputs, x->y, (const long double *const *)seeds);
    for (int k = 0; k < x->outputs; k++) free(seeds[k]);
    return t;
}

static const char *line_of(const differentiated *x)
{
    static char line[4096];
    problem bare;
    problem_generate(x->p.seed, &bare);
    char *text = problem_print(&bare);
    snprintf(line, sizeof line, "%s", text ? text : "");
    free(text);
    problem_free(&bare);
    return line;
}

/*
 * Whether an output is NaN or infinite, as where a narrow type overflows, which the tape does not. There, and where
 * anything of the graph is infinite, a gradient may be NaN: 0 times infinity.
 */
static bool is_wild(const differentiated *x, const lfuse__oracle_run *run)
{
    for (int k = 0; k < run->nresults - x->nwrt; k++)
        for (int64_t i = 0; i < run->results[k].count; i++)
            if (!isfinite(run->results[k].value[i])) return true;
    return false;
}

static const lfuse__oracle_result *gradient(const lfuse__oracle_run *run, int k)
{
    char name[24];
    snprintf(name, sizeof name, "gradient %d", k);
    return lfuse__oracle_find(run, name);
}

static void hold(const differentiated *x, const tape *t, const lfuse__oracle_run *run, int k, bool wild, tally *sum)
{
    const lfuse__oracle_result *r = gradient(run, k);
    ck_assert_int_eq(r->count, tape_count(t, x->wrt[k]));
    for (int64_t i = 0; i < r->count; i++) {
        const long double e = tape_derivative(t, x->wrt[k], i);
        if (!isfinite(r->bound[i]) || !isfinite(e) || (isnan(r->value[i]) && wild)) {
            sum->open++;
            continue;
        }
        sum->judged++;
        ck_assert_msg(fabsl(r->value[i] - e) <= r->bound[i] + 1e-16L * fabsl(e),
                      "graph %" PRIu64 ": gradient %d (%%%d), element %lld of %lld: %.12Lg, the tape has %.12Lg +- %g"
                      "\n%s",
                      x->p.seed, k, (int)x->wrt[k].id, (long long)i, (long long)r->count, r->value[i], e, r->bound[i],
                      line_of(x));
    }
}

/* <u, J v> = <J^T u, v> for a direction v that is drawn by lot. False: it cannot be judged. */
static bool hold_duality(const differentiated *x, const tape *t, const lfuse__oracle_run *run)
{
    const lfuse__oracle_result *d[MOST_VALUES];
    for (int k = 0; k < x->nwrt; k++) d[k] = gradient(run, k);
    const tape_pair p = tape_duality(t, x->outputs, x->y, x->seeds, x->nwrt, x->wrt, d, x->p.seed);
    if (!isfinite(p.left) || !isfinite(p.right) || !isfinite(p.tolerance)) return false;
    ck_assert_msg(fabsl(p.left - p.right) <= p.tolerance,
                  "graph %" PRIu64 ": forwards %.12Lg, backwards %.12Lg, apart by more than %.2Lg\n%s", x->p.seed,
                  p.left, p.right, p.tolerance, line_of(x));
    return true;
}

/* False: the oracle declines the graph, without its gradients as well. */
static bool evaluate(const differentiated *x, const lfuse__oracle_input *inputs, int n, lfuse__oracle_run *run)
{
    const lfuse__oracle_options options = {.inexact = true};
    problem p;
    if (!lfuse__oracle_run_graph(x->p.graph, inputs, n, &options, run)) return true;
    problem_generate(x->p.seed, &p);
    const lfuse_status bare = lfuse__oracle_run_graph(p.graph, inputs, n, &options, run);
    if (!bare) lfuse__oracle_free(run);
    problem_free(&p);
    ck_assert_msg(bare == LFUSE_ERR_UNSUPPORTED, "graph %" PRIu64 ": %s\n%s", x->p.seed, lfuse_last_error(),
                  line_of(x));
    return false;
}

static void run(uint64_t seed, tally *sum)
{
    static differentiated x;
    const lfuse__oracle_input *inputs;
    lfuse__oracle_run run;
    if (make(&x, seed)) {
        const int n = trial_oracle_inputs(&x.t, &inputs);
        if (evaluate(&x, inputs, n, &run)) {
            tape *t = record(&x, inputs, n);
            tally own = {1, 0, 0, 0, 0};
            const bool wild = is_wild(&x, &run) || !tape_is_finite(t, x.forward);
            for (int k = 0; k < x.nwrt; k++) hold(&x, t, &run, k, wild, &own);
            sum->dual += !wild && hold_duality(&x, t, &run);
            sum->graphs++;
            sum->told += own.judged > own.open;
            sum->judged += own.judged;
            sum->open += own.open;
            tape_free(t);
            lfuse__oracle_free(&run);
        }
    }
    drop(&x);
}

TEST_CASE("random gradients", .limit = TEST_NO_LIMIT)

static int blocks(void) { return (int)(environment("LFUSE_RANDOM_GRAPHS", GRAPHS) + BLOCK - 1) / BLOCK; }

TEST_LOOP(random_gradients, 0, blocks())
{
    const uint64_t first = environment("LFUSE_RANDOM_SEED", 1) + (uint64_t)_i * BLOCK;
    tally sum = {0, 0, 0, 0, 0};
    for (uint64_t seed = first; seed < first + BLOCK; seed++) run(seed, &sum);
    printf("# graphs %" PRIu64 " ...: %d with gradients, %d are told, %d are dual; ", first, sum.graphs, sum.told,
           sum.dual);
    printf("%" PRId64 " elements judged, %" PRId64 " open\n", sum.judged, sum.open);
    fflush(stdout);
    ck_assert_msg(sum.graphs >= BLOCK / 4, "%d graphs of %d have gradients", sum.graphs, BLOCK);
    ck_assert_msg(2 * sum.told >= sum.graphs, "%d graphs of %d could be judged", sum.told, sum.graphs);
    ck_assert_msg(2 * sum.dual >= sum.graphs, "%d graphs of %d could be judged along a direction", sum.dual,
                  sum.graphs);
}

TEST_SUITE("random gradients", CK_FORK_GETENV)
