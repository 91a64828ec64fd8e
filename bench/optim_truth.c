/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/optim_truth.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/error.h"

/* 2^31 multiplications are about so many elements; a task is so long where a rule takes elements one by one. */
enum { MOST_VERIFIED = 1 << 25, SLICE = 1 << 18, MOST_THREADS = 32 };

typedef struct worker {
    const bench_optim_truth *truth;
    int index, count;
    double *scratch; /* [longest task] */
    pthread_t thread;
} worker;

static bool takes_norms(const bench_optim_truth *t)
{
    return t->rule == LFUSE_RULE_LAMB;
}

static double norm_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* Adam's moments after t steps are the gradient, and its square, times 1 - beta^t: what they are divided by. */
static void directions(const bench_optim_truth *t, const float *g, int64_t n, double momentum, double *to)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = t->scale * (double)g[i];
        to[i] = t->rule == LFUSE_RULE_SGD ? momentum * x : x / (fabs(x) + t->hyper.eps);
    }
}

/* Elements of one member: all of them where the rule takes norms. */
static void follow(const bench_optim_truth *t, const float *p0, const float *g, int64_t n, double *p, double *step)
{
    const lfuse_hyper *h = &t->hyper;
    double momentum = 1;
    for (int64_t i = 0; i < n; i++) p[i] = (double)p0[i];
    for (int k = 0; k < t->steps; k++) {
        const double decay = t->rule == LFUSE_RULE_ADAMW ? h->weight_decay : 0;
        double trust = 1;
        directions(t, g, n, momentum, step);
        momentum = 1 + h->momentum * momentum;
        if (takes_norms(t)) {
            for (int64_t i = 0; i < n; i++) step[i] += h->weight_decay * p[i];
            trust = norm_of(p, n) / norm_of(step, n);
        }
        for (int64_t i = 0; i < n; i++) p[i] = p[i] * (1 - h->lr * decay) - h->lr * trust * step[i];
    }
}

/* Every worker counts the tasks of all and does those that are its own. */
static void *work(void *data)
{
    const worker *w = data;
    const bench_optim_truth *t = w->truth;
    int64_t task = 0, at = 0, out = 0;
    for (int64_t m = 0; m < t->model->count; m++) {
        const int64_t n = t->counts[m], slice = takes_norms(t) ? n : SLICE;
        for (int64_t from = 0; from < n; from += slice) {
            const int64_t length = n - from < slice ? n - from : slice;
            if (task++ % w->count == w->index)
                follow(t, t->p + at + from, t->g + at + from, length, t->want + out + from, w->scratch);
        }
        at += t->model->elements[m];
        out += n;
    }
    return NULL;
}

/* A thread that cannot be had is this one. */
static void run_workers(worker *w, int count)
{
    int started = 0;
    while (started < count - 1 && !pthread_create(&w[started].thread, NULL, work, &w[started])) started++;
    for (int i = started; i < count; i++) work(&w[i]);
    for (int i = 0; i < started; i++) pthread_join(w[i].thread, NULL);
}

static int64_t choose_counts(bench_optim_truth *t, int64_t *longest)
{
    const bench_model *model = t->model;
    const bool all = takes_norms(t) || model->all <= MOST_VERIFIED;
    int64_t sum = 0;
    *longest = 1;
    for (int64_t m = 0; m < model->count; m++) {
        const int64_t n = model->elements[m], most = MOST_VERIFIED / model->count + 1;
        t->counts[m] = all || n < most ? n : most;
        sum += t->counts[m];
        if (t->counts[m] > *longest) *longest = t->counts[m];
    }
    if (!takes_norms(t) && *longest > SLICE) *longest = SLICE;
    return sum;
}

lfuse_status bench_optim_truth_make(bench_optim_truth *t)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int count = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (int)cores;
    worker workers[MOST_THREADS];
    int64_t sum = 0, longest = 1;
    double *scratch = NULL;
    t->want = NULL;
    t->counts = malloc((size_t)t->model->count * sizeof *t->counts);
    if (t->counts) {
        sum = choose_counts(t, &longest);
        t->want = malloc((size_t)sum * sizeof *t->want);
        scratch = malloc((size_t)count * (size_t)longest * sizeof *scratch);
    }
    if (!t->want || !scratch) {
        free(scratch);
        bench_optim_truth_free(t);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory to verify %lld elements", (long long)sum);
    }
    for (int i = 0; i < count; i++) workers[i] = (worker){t, i, count, scratch + i * longest, pthread_self()};
    run_workers(workers, count);
    free(scratch);
    return LFUSE_OK;
}

void bench_optim_truth_free(bench_optim_truth *t)
{
    free(t->counts);
    free(t->want);
    t->counts = NULL;
    t->want = NULL;
}
