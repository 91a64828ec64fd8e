/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/step_truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sample.h"
#include "common/base/error.h"

enum { SEED = 64, PARTS = 3 /* of a parameter: itself and its moments */ };
static const double unit = 0x1p-24, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0.01;

double bench_sum_variance(int64_t terms, double squares, double value)
{
    return unit * unit * ((double)terms + 2) * (squares + value * value / 3);
}

lfuse_status bench_step_create(int count, bench_step **step)
{
    bench_step *s = calloc(1, sizeof *s);
    if (s) s->of = calloc((size_t)count, sizeof *s->of);
    if (!s || !s->of) {
        free(s);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %d gradients", count);
    }
    s->count = count;
    *step = s;
    return LFUSE_OK;
}

void bench_step_destroy(void *pointer)
{
    bench_step *s = pointer;
    for (int i = 0; s && i < s->count; i++) {
        free(s->of[i].chosen);
        free(s->of[i].value);
        free(s->of[i].bound);
    }
    if (s) free(s->of);
    free(s);
}

lfuse_status bench_gradient_create(bench_gradient *g, int64_t all, int64_t width, double work)
{
    g->rows = bench_sample_count(all, work);
    g->width = width;
    g->chosen = malloc((size_t)g->rows * sizeof *g->chosen);
    g->value = calloc((size_t)(g->rows * width), sizeof *g->value);
    g->bound = calloc((size_t)(g->rows * width), sizeof *g->bound);
    if (!g->chosen || !g->value || !g->bound)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a gradient of %lld rows", (long long)g->rows);
    bench_sample_rows(all, g->rows, SEED, g->chosen);
    return LFUSE_OK;
}

/* ---- the step of AdamW ---- */

/* An element of a parameter and its moments, or how far they may be off. */
typedef struct element {
    double part[PARTS];
} element;

/*
 * torch.optim.AdamW's step with the gradient g, which may be off by e. Each line rounds a few times; what divides may
 * be smaller by its error.
 */
static element take_step(const element *from, double g, double e, element *bound)
{
    const double p = from->part[0], m0 = from->part[1], v0 = from->part[2];
    const double correction1 = 1 - pow(beta1, BENCH_STEP_NUMBER), correction2 = 1 - pow(beta2, BENCH_STEP_NUMBER);
    const double m = beta1 * m0 + (1 - beta1) * g, v = beta2 * v0 + (1 - beta2) * g * g;
    const double off_m = (1 - beta1) * e + 4 * unit * (fabs(m0) + fabs((1 - beta1) * g));
    const double off_v = (1 - beta2) * (2 * fabs(g) + e) * e + 6 * unit * v;
    const double root = sqrt(v / correction2), divisor = root + eps, rate = BENCH_STEP_LR / correction1;
    const double least = fmax(sqrt(fmax(v - off_v, 0) / correction2) + eps - 6 * unit * divisor, eps);
    const double change = rate * m / divisor;
    const double off_change = rate * ((fabs(m) + off_m) / least - fabs(m) / divisor) + 8 * unit * fabs(change);
    *bound = (element){{off_change + 4 * unit * (fabs(p) + fabs(change)), off_m, off_v}};
    return (element){{p * (1 - BENCH_STEP_LR * decay) - change, m, v}};
}

/* ---- verification ---- */

/* The largest error as error and bound, and where it was. */
typedef struct verdict {
    double ratio, error, bound;
    int64_t bad;
    const char *name;
} verdict;

static void judge(verdict *worst, const char *name, double got, double want, double bound)
{
    const double error = fabs(got - want), ratio = error / bound;
    if (!(error <= bound)) worst->bad++;
    if (ratio <= worst->ratio) return;
    *worst = (verdict){isnan(ratio) ? INFINITY : ratio, error, bound, worst->bad, name};
}

static lfuse_status read_part(const fixture_io *io, float **got)
{
    *got = malloc((size_t)io->elements * sizeof **got);
    if (!*got) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory to verify %s", io->name);
    return lfuse_tensor_read(io->tensors[0], NULL, *got);
}

static void judge_parameter(const fixture_io *const *io, float *const *got, const bench_gradient *g, verdict *worst)
{
    for (int64_t i = 0; i < g->rows * g->width; i++) {
        const int64_t at = g->chosen[i / g->width] * g->width + i % g->width;
        element from, bound;
        for (int k = 0; k < PARTS; k++) from.part[k] = (double)((const float *)io[k]->host)[at];
        const element want = take_step(&from, g->value[i], g->bound[i], &bound);
        for (int k = 0; k < PARTS; k++) judge(worst, io[k]->name, (double)got[k][at], want.part[k], bound.part[k]);
    }
}

static lfuse_status verify_parameter(const fixture_io *const *io, const bench_gradient *g, verdict *worst)
{
    float *got[PARTS] = {NULL};
    lfuse_status status = LFUSE_OK;
    for (int k = 0; k < PARTS && !status; k++) status = read_part(io[k], &got[k]);
    if (!status) judge_parameter(io, got, g, worst);
    for (int k = 0; k < PARTS; k++) free(got[k]);
    return status;
}

static lfuse_status verify_all(const fixture *f, const bench_step *s, verdict *worst)
{
    const fixture_io *parts[PARTS];
    int states = 0;
    for (int i = 0; i < f->nio; i++) {
        const fixture_io *io = &f->io[i];
        float loss;
        if (io->role == FIXTURE_OUTPUT) {
            LFUSE__TRY(lfuse_tensor_read(io->tensors[0], NULL, &loss));
            judge(worst, io->name, (double)loss, s->loss, s->loss_bound);
        }
        if (io->role != FIXTURE_STATE) continue;
        parts[states++ % PARTS] = io;
        if (states % PARTS == 0) LFUSE__TRY(verify_parameter(parts, &s->of[states / PARTS - 1], worst));
    }
    return LFUSE_OK;
}

lfuse_status bench_step_verify(fixture *f, bench_variant *v)
{
    verdict worst = {-1, 0, 1, 0, ""};
    LFUSE__TRY(lfuse_stream_synchronize(f->d->stream));
    LFUSE__TRY(verify_all(f, f->truth, &worst));
    if (worst.bad) v->ok = false;
    if (v->tol < 0 || worst.error / worst.bound > v->max_err / v->tol) {
        v->max_err = worst.error;
        v->tol = worst.bound;
    }
    if (worst.bad)
        fprintf(stderr, "lfuse-bench: %s: %lld elements are out of bound, worst of %s: error %g, bound %g\n", v->name,
                (long long)worst.bad, worst.name, worst.error, worst.bound);
    return LFUSE_OK;
}
