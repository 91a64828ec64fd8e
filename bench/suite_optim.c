/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RULE:SIZES: one step of an optimizer over a list of f32 tensors. RULE is sgd (with momentum), adamw, lamb or
 * clip+adamw (gradients clipped by the norm of all of them; not as a loop); SIZES <count>x<elements>, resnet50 or
 * gpt2-small (every parameter of the models, in order).
 *   loop     every function of every tensor its own launch; always over the first buffer set
 *   foreach  every function one launch over the list
 *   fused    the whole step as few launches as there can be
 * first_us is making the optimizer (states allocated and filled) and its first step.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/data.h"
#include "bench/models.h"
#include "bench/timer.h"
#include "common/base/error.h"

enum { MOST_SETS = 8, VERIFIED_STEPS = 2, VERIFIED_ELEMENTS = 1 << 22 };

typedef struct rule {
    const char *name;
    lfuse_rule rule;
    double momentum;
    int state_words; /* 4-byte words of state for each element */
    double clip;     /* norm of all gradients at most; 0: any */
} rule;

static const rule rules[] = {
    {"sgd", LFUSE_RULE_SGD, 0.9, 1, 0}, {"adamw", LFUSE_RULE_ADAMW, 0, 2, 0}, {"lamb", LFUSE_RULE_LAMB, 0, 2, 0},
    {"clip+adamw", LFUSE_RULE_ADAMW, 0, 2, 1},
};

typedef struct problem {
    const rule *r;
    bench_model model;
} problem;

typedef struct buffers {
    lfuse_list *p, *g;
} buffers;

typedef struct shared {
    bench_device *d;
    problem of;
    lfuse_hyper hyper;
    float *p, *g; /* host data, all members one behind the other */
    double scale; /* what clipping makes of the gradients */
    int nsets;
    buffers sets[MOST_SETS];
    lfuse_tensor **members; /* of the first set's parameters, to read them back */
} shared;

typedef struct stepping {
    shared *s;
    int nsets;
    lfuse_optimizer *o[MOST_SETS];
} stepping;

static lfuse_status parse(const char *text, problem *p)
{
    const char *colon = strchr(text, ':');
    p->r = NULL;
    for (size_t i = 0; colon && i < sizeof rules / sizeof *rules; i++)
        if (strlen(rules[i].name) == (size_t)(colon - text) && !strncmp(rules[i].name, text, (size_t)(colon - text)))
            p->r = &rules[i];
    if (!p->r || !bench_model_parse(colon + 1, &p->model))
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected RULE:<count>x<elements>, RULE:resnet50 or RULE:gpt2-small",
                            text);
    return LFUSE_OK;
}

/* ---- buffers ---- */

static void shared_destroy(void *pointer)
{
    shared *s = pointer;
    for (int i = 0; i < MOST_SETS; i++) {
        lfuse_list_destroy(s->sets[i].p);
        lfuse_list_destroy(s->sets[i].g);
    }
    for (int64_t m = 0; s->members && m < s->of.model.count; m++) lfuse_tensor_destroy(s->members[m]);
    free(s->members);
    free(s->p);
    free(s->g);
    bench_model_free(&s->of.model);
    free(s);
}

/* Each member in memory of its own, as a framework has it. */
static lfuse_status make_list(shared *s, const float *data, lfuse_tensor **members, lfuse_list **list)
{
    const bench_model *model = &s->of.model;
    lfuse_status status = LFUSE_OK;
    for (int64_t m = 0, at = 0; m < model->count && !status; at += model->elements[m++]) {
        status = lfuse_tensor_create(s->d->dev, LFUSE_F32, 1, &model->elements[m], &members[m]);
        if (!status) status = lfuse_tensor_write(members[m], NULL, data + at);
    }
    return status ? status : lfuse_list_create(s->d->dev, LFUSE_F32, model->count, members, list);
}

static void drop_members(lfuse_tensor **members, int64_t count)
{
    for (int64_t m = 0; members && m < count; m++) lfuse_tensor_destroy(members[m]);
    free(members);
}

static lfuse_status make_set(shared *s, int set)
{
    const size_t count = (size_t)s->of.model.count;
    lfuse_tensor **p = calloc(count, sizeof *p), **g = calloc(count, sizeof *g);
    lfuse_status status = p && g ? LFUSE_OK : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %zu members", count);
    if (!status) status = make_list(s, s->p, p, &s->sets[set].p);
    if (!status) status = make_list(s, s->g, g, &s->sets[set].g);
    drop_members(g, s->of.model.count);
    if (set == 0 && !status) s->members = p;
    else drop_members(p, s->of.model.count);
    return status;
}

static lfuse_status make_data(shared *s)
{
    const int64_t all = s->of.model.all;
    s->p = malloc((size_t)all * sizeof *s->p);
    s->g = malloc((size_t)all * sizeof *s->g);
    if (!s->p || !s->g) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld elements", (long long)all);
    lfuse__data_uniform(LFUSE_F32, s->p, all, -1, 1, 1);
    lfuse__data_uniform(LFUSE_F32, s->g, all, -1, 1, 2);
    double sum = 0;
    for (int64_t i = 0; i < all; i++) sum += (double)s->g[i] * (double)s->g[i];
    s->scale = s->of.r->clip > 0 ? fmin(1, s->of.r->clip / (sqrt(sum) + 1e-6)) : 1;
    return LFUSE_OK;
}

/* What all variants hold at once; foreach and loop keep a few values of every element between their launches. */
static lfuse_status check_room(bench_device *d, const problem *p, int nsets)
{
    const double word = 4.0 * (double)p->model.all, most = word * (nsets * (2 + 2 * p->r->state_words) +
                                                                    p->r->state_words + 8);
    uint64_t free_bytes, total_bytes;
    LFUSE__TRY(lfuse_device_memory(d->dev, &free_bytes, &total_bytes));
    if (most > 0.7 * (double)free_bytes || word > (double)d->info.max_alloc_bytes)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%.1f GB of lists and states for %.1f GB of free memory (%.1f GB in "
                            "one piece)", most / 1e9, (double)free_bytes / 1e9, (double)d->info.max_alloc_bytes / 1e9);
    return LFUSE_OK;
}

/* ---- verification ---- */

static double norm_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* The moments of Adam after t steps with one gradient, and the direction that they give. */
static double direction(const lfuse_hyper *h, double g, int t)
{
    double m = 0, v = 0;
    for (int i = 0; i < t; i++) {
        m = h->beta1 * m + (1 - h->beta1) * g;
        v = h->beta2 * v + (1 - h->beta2) * g * g;
    }
    m /= 1 - pow(h->beta1, t);
    v /= 1 - pow(h->beta2, t);
    return m / (sqrt(v) + h->eps);
}

/* One member after the verified steps, in double, from the formulas. `scratch`: n doubles. */
static void reference(const shared *s, const float *p0, const float *g, int64_t n, double *p, double *scratch)
{
    const lfuse_hyper *h = &s->hyper;
    double momentum = 1;
    for (int64_t i = 0; i < n; i++) p[i] = (double)p0[i];
    for (int t = 1; t <= VERIFIED_STEPS; t++) {
        double trust = 1, decay = 0;
        for (int64_t i = 0; i < n; i++)
            scratch[i] = s->of.r->rule == LFUSE_RULE_SGD ? momentum * (double)g[i]
                                                        : direction(h, s->scale * (double)g[i], t);
        momentum = 1 + h->momentum * momentum;
        if (s->of.r->rule == LFUSE_RULE_ADAMW) decay = h->weight_decay;
        if (s->of.r->rule == LFUSE_RULE_LAMB) {
            for (int64_t i = 0; i < n; i++) scratch[i] += h->weight_decay * p[i];
            trust = norm_of(p, n) / norm_of(scratch, n);
        }
        for (int64_t i = 0; i < n; i++) p[i] = p[i] * (1 - h->lr * decay) - h->lr * trust * scratch[i];
    }
}

/*
 * Of large lists the leading elements of each member alone, where the rule has no norm. The bound: 64 operations a
 * step, each erring by half a unit of numbers below 2.
 */
static lfuse_status verify(const shared *s, bench_variant *v)
{
    const bench_model *model = &s->of.model;
    const bool norms = s->of.r->rule == LFUSE_RULE_LAMB;
    int64_t longest = 0;
    for (int64_t m = 0; m < model->count; m++)
        if (model->elements[m] > longest) longest = model->elements[m];
    float *got = malloc((size_t)longest * sizeof *got);
    double *want = malloc(2 * (size_t)longest * sizeof *want);
    lfuse_status status = got && want ? LFUSE_OK : lfuse__error(LFUSE_ERR_MEMORY, "out of memory to verify");
    v->tol = VERIFIED_STEPS * 64 * 0x1p-24 * 2;
    v->max_err = 0;
    for (int64_t m = 0, at = 0; m < model->count && !status; at += model->elements[m++]) {
        int64_t n = model->elements[m];
        status = lfuse_tensor_read(s->members[m], NULL, got);
        if (!norms && model->all > VERIFIED_ELEMENTS && n > VERIFIED_ELEMENTS / model->count)
            n = VERIFIED_ELEMENTS / model->count + 1;
        reference(s, s->p + at, s->g + at, n, want, want + longest);
        for (int64_t i = 0; i < n; i++)
            if (!(fabs((double)got[i] - want[i]) <= v->max_err)) v->max_err = fabs((double)got[i] - want[i]);
    }
    v->ok = v->max_err <= v->tol;
    free(want);
    free(got);
    return status;
}

/* ---- variants ---- */

static void stepping_destroy(void *pointer)
{
    stepping *p = pointer;
    for (int i = 0; i < p->nsets; i++) lfuse_optimizer_destroy(p->o[i]);
    free(p);
}

static lfuse_status stepping_run(void *pointer, int set)
{
    stepping *p = pointer;
    const int own = set % p->nsets;
    return lfuse_optimizer_step(p->o[own], p->s->d->stream, 1, &p->s->sets[own].g, NULL);
}

static lfuse_status make_optimizer(stepping *p, lfuse_optimizer_level level, int set)
{
    const lfuse_optimizer_options options = {.rule = p->s->of.r->rule, .level = level,
                                             .clip = p->s->of.r->clip > 0 ? LFUSE_CLIP_GLOBAL_NORM : LFUSE_CLIP_NONE,
                                             .clip_limit = p->s->of.r->clip};
    const lfuse_group group = {p->s->sets[set].p, p->s->hyper};
    return lfuse_optimizer_create(p->s->d->dev, &options, 1, &group, &p->o[set]);
}

/* The parameters of the first set as they were, two steps, and from then on steps that change next to nothing. */
static lfuse_status prove(stepping *p, bench_variant *v)
{
    const shared *s = p->s;
    for (int64_t m = 0, at = 0; m < s->of.model.count; at += s->of.model.elements[m++])
        LFUSE__TRY(lfuse_tensor_write(s->members[m], NULL, s->p + at));
    LFUSE__TRY(lfuse_optimizer_set_steps(p->o[0], 0));
    for (int k = 0; k < lfuse_optimizer_state_count(p->o[0]); k++) {
        for (int64_t m = 0; m < s->of.model.count; m++) {
            lfuse_tensor *state;
            LFUSE__TRY(lfuse_optimizer_state(p->o[0], k, 0, m, &state));
            lfuse_status status = lfuse_tensor_fill(state, NULL, 0);
            lfuse_tensor_destroy(state);
            LFUSE__TRY(status);
        }
    }
    for (int t = 0; t < VERIFIED_STEPS; t++) LFUSE__TRY(stepping_run(p, 0));
    LFUSE__TRY(lfuse_stream_synchronize(s->d->stream));
    LFUSE__TRY(verify(s, v));
    for (int i = 0; i < p->nsets; i++) LFUSE__TRY(lfuse_optimizer_set_lr(p->o[i], -1, 1e-9));
    return LFUSE_OK;
}

static lfuse_status add(bench_case *c, shared *s, const char *name, lfuse_optimizer_level level)
{
    stepping *p = calloc(1, sizeof *p);
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for variant %s", name);
    p->s = s;
    bench_variant *v = bench_add(c, name, p, stepping_run, stepping_destroy);
    if (!v) {
        free(p);
        return lfuse__error(LFUSE_ERR_INVALID, "a case has at most %d variants", BENCH_MAX_VARIANTS);
    }
    const double start = bench_now_us();
    p->nsets = 1;
    LFUSE__TRY(make_optimizer(p, level, 0));
    LFUSE__TRY(stepping_run(p, 0));
    LFUSE__TRY(lfuse_stream_synchronize(s->d->stream));
    v->first_us = bench_now_us() - start;
    v->bytes = 4.0 * (double)s->of.model.all * (3 + 2 * s->of.r->state_words + (s->of.r->clip > 0));
    for (int i = 1; i < c->nsets && level != LFUSE_OPTIM_LOOP; i++) {
        LFUSE__TRY(make_optimizer(p, level, i));
        p->nsets++;
    }
    return prove(p, v);
}

static lfuse_status prepare(bench_device *d, const char *text, bench_case *c)
{
    problem of = {0};
    LFUSE__TRY(parse(text, &of));
    shared *s = calloc(1, sizeof *s);
    if (!s) {
        bench_model_free(&of.model);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", text);
    }
    *s = (shared){.d = d, .of = of};
    c->shared = s;
    c->destroy = shared_destroy;
    LFUSE__TRY(lfuse_hyper_defaults(of.r->rule, &s->hyper));
    s->hyper.momentum = of.r->momentum;
    bench_choose_sets(d, c, 4.0 * (double)of.model.all * (2 + of.r->state_words), MOST_SETS);
    LFUSE__TRY(check_room(d, &of, c->nsets));
    LFUSE__TRY(make_data(s));
    for (; s->nsets < c->nsets; s->nsets++) LFUSE__TRY(make_set(s, s->nsets));
    if (!(of.r->clip > 0)) LFUSE__TRY(add(c, s, "loop", LFUSE_OPTIM_LOOP));
    LFUSE__TRY(add(c, s, "foreach", LFUSE_OPTIM_FOREACH));
    return add(c, s, "fused", LFUSE_OPTIM_FUSED);
}

static const char *const problems[] = {"adamw:1000x1024", "adamw:resnet50", "adamw:gpt2-small", "adamw:10x1048576",
                                       "adamw:1x268435456", "sgd:1000x1024", "sgd:resnet50", "lamb:1000x1024",
                                       "lamb:resnet50", "clip+adamw:gpt2-small", NULL};
static const char *const quick[] = {"adamw:100x1024", "sgd:100x1024", "lamb:10x1024", "clip+adamw:100x1024", NULL};
const bench_suite bench_suite_optim = {"optim", problems, quick, prepare};
