/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RULE:SIZES: one step of an optimizer over a list of f32 tensors. RULE is sgd (with momentum), adamw, lamb or
 * clip+adamw (gradients clipped by the norm of all of them; not as a loop); SIZES <count>x<elements>, resnet50 or
 * gpt2-small (every parameter of the models, in order).
 *   loop     every function of every tensor its own launch; always over the first buffer set
 *   foreach  every function one launch over the list
 *   fused    the whole step as few launches as there can be
 *   args, table, unified   the same with the members' addresses reaching the kernel so, where the device can; left out
 *            where there is no memory for so many variants' states
 *   add      a += b in two tensors of so many elements that as many bytes are moved: what a step can reach at best
 * first_us is making the optimizer (states allocated and filled) and its first step; kernels that a variant before has
 * compiled are there then.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/data.h"
#include "bench/models.h"
#include "bench/optim_truth.h"
#include "bench/timer.h"
#include "common/base/error.h"

/* RANDOM elements are repeated in what is longer: a prime, so that members' contents are shifted. */
enum { MOST_SETS = 16, VERIFIED_STEPS = 2, RANDOM = 4194301, TRANSPORTS = 3 };

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
    bench_optim_truth truth;
    float *p, *g; /* host data, all members one behind the other */
    int nsets;
    buffers sets[MOST_SETS];
    lfuse_tensor **members[2]; /* parameters of the first set, and of the second: as they were before any step */
} shared;

typedef struct stepping {
    shared *s;
    int nsets;
    lfuse_plan_options plan;
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

static void drop_members(lfuse_tensor **members, int64_t count)
{
    for (int64_t m = 0; members && m < count; m++) lfuse_tensor_destroy(members[m]);
    free(members);
}

static void shared_destroy(void *pointer)
{
    shared *s = pointer;
    for (int i = 0; i < MOST_SETS; i++) {
        lfuse_list_destroy(s->sets[i].p);
        lfuse_list_destroy(s->sets[i].g);
    }
    for (int i = 0; i < 2; i++) drop_members(s->members[i], s->of.model.count);
    bench_optim_truth_free(&s->truth);
    free(s->p);
    free(s->g);
    bench_model_free(&s->of.model);
    free(s);
}

/* Each member in memory of its own, as a framework has it; with the contents of another list's where there is one. */
static lfuse_status make_list(shared *s, const float *data, lfuse_tensor *const *like, lfuse_tensor **members,
                              lfuse_list **list)
{
    const bench_model *model = &s->of.model;
    for (int64_t m = 0, at = 0; m < model->count; at += model->elements[m++]) {
        LFUSE__TRY(lfuse_tensor_create(s->d->dev, LFUSE_F32, 1, &model->elements[m], &members[m]));
        if (like) LFUSE__TRY(lfuse_tensor_copy(members[m], like[m], s->d->stream));
        else LFUSE__TRY(lfuse_tensor_write(members[m], NULL, data + at));
    }
    return lfuse_list_create(s->d->dev, LFUSE_F32, model->count, members, list);
}

/* `gradients` are the members of the first set's. */
static lfuse_status make_set(shared *s, int set, lfuse_tensor **gradients)
{
    const int64_t count = s->of.model.count;
    lfuse_tensor **p = calloc((size_t)count, sizeof *p), **g = set ? calloc((size_t)count, sizeof *g) : gradients;
    lfuse_status status = p && g ? LFUSE_OK
                                 : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld members", (long long)count);
    if (!status) status = make_list(s, s->p, s->members[0], p, &s->sets[set].p);
    if (!status) status = make_list(s, s->g, set ? gradients : NULL, g, &s->sets[set].g);
    if (set) drop_members(g, count);
    if (set < 2) s->members[set] = p;
    else drop_members(p, count);
    return status;
}

static lfuse_status make_sets(shared *s, int nsets)
{
    const int64_t count = s->of.model.count;
    lfuse_tensor **gradients = calloc((size_t)count, sizeof *gradients);
    lfuse_status status = LFUSE_OK;
    if (!gradients) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld members", (long long)count);
    for (; s->nsets < nsets && !status; s->nsets++) status = make_set(s, s->nsets, gradients);
    drop_members(gradients, count);
    return status ? status : lfuse_stream_synchronize(s->d->stream);
}

static void fill(float *x, int64_t n, uint64_t seed)
{
    const int64_t fresh = n < RANDOM ? n : RANDOM;
    lfuse__data_uniform(LFUSE_F32, x, fresh, -1, 1, seed);
    for (int64_t i = fresh; i < n; i += fresh)
        memcpy(x + i, x, (size_t)(n - i < fresh ? n - i : fresh) * sizeof *x);
}

static lfuse_status make_data(shared *s)
{
    const int64_t all = s->of.model.all;
    double sum = 0;
    s->p = malloc((size_t)all * sizeof *s->p);
    s->g = malloc((size_t)all * sizeof *s->g);
    if (!s->p || !s->g) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %lld elements", (long long)all);
    fill(s->p, all, 1);
    fill(s->g, all, 2);
    for (int64_t i = 0; i < all && s->of.r->clip > 0; i++) sum += (double)s->g[i] * (double)s->g[i];
    s->truth.scale = s->of.r->clip > 0 ? fmin(1, s->of.r->clip / (sqrt(sum) + 1e-6)) : 1;
    s->truth.p = s->p;
    s->truth.g = s->g;
    s->truth.model = &s->of.model;
    return bench_optim_truth_make(&s->truth);
}

static double bytes_of_step(const problem *p)
{
    return 4.0 * (double)p->model.all * (3 + 2 * p->r->state_words + (p->r->clip > 0));
}

/* Elements of the tensors of `add`, which moves three words for each. */
static int64_t elements_of_add(const problem *p)
{
    return (int64_t)(bytes_of_step(p) / 12);
}

/* What all variants hold at once; foreach and loop keep a few values of every element between their launches. */
static double bytes_of_all(const problem *p, int nsets, int variants)
{
    const double words = nsets * (2 + variants * p->r->state_words) + p->r->state_words + 8;
    return 4 * (double)p->model.all * words + 8 * nsets * (double)elements_of_add(p);
}

/* Whether there is room for the forced transports too. */
static lfuse_status check_room(bench_device *d, const problem *p, int nsets, bool *transports)
{
    const double least = bytes_of_all(p, nsets, 2), most = bytes_of_all(p, nsets, 2 + TRANSPORTS);
    const double piece = 4 * (double)elements_of_add(p);
    uint64_t free_bytes, total_bytes;
    LFUSE__TRY(lfuse_device_memory(d->dev, &free_bytes, &total_bytes));
    if (least > 0.7 * (double)free_bytes || piece > (double)d->info.max_alloc_bytes)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%.1f GB of lists and states, %.1f GB in one piece, for %.1f GB of "
                            "free memory (%.1f GB in one piece)", least / 1e9, piece / 1e9, (double)free_bytes / 1e9,
                            (double)d->info.max_alloc_bytes / 1e9);
    *transports = most <= 0.7 * (double)free_bytes;
    return LFUSE_OK;
}

/* ---- verification ---- */

static lfuse_status read_leading(const shared *s, int64_t m, int64_t n, float *to)
{
    lfuse_tensor *view;
    if (n == s->of.model.elements[m]) return lfuse_tensor_read(s->members[0][m], NULL, to);
    LFUSE__TRY(lfuse_tensor_view(s->members[0][m], 1, &n, NULL, 0, &view));
    lfuse_status status = lfuse_tensor_read(view, NULL, to);
    lfuse_tensor_destroy(view);
    return status;
}

/* The bound: 64 operations a step, each erring by half a unit of numbers below 2. */
static lfuse_status verify(const shared *s, bench_variant *v)
{
    const bench_optim_truth *truth = &s->truth;
    const double *want = truth->want;
    int64_t longest = 0;
    for (int64_t m = 0; m < s->of.model.count; m++)
        if (truth->counts[m] > longest) longest = truth->counts[m];
    float *got = malloc((size_t)longest * sizeof *got);
    if (!got) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory to verify");
    lfuse_status status = LFUSE_OK;
    v->tol = VERIFIED_STEPS * 64 * 0x1p-24 * 2;
    v->max_err = 0;
    for (int64_t m = 0; m < s->of.model.count && !status; want += truth->counts[m++]) {
        status = read_leading(s, m, truth->counts[m], got);
        for (int64_t i = 0; i < truth->counts[m] && !status; i++)
            if (!(fabs((double)got[i] - want[i]) <= v->max_err)) v->max_err = fabs((double)got[i] - want[i]);
    }
    v->ok = v->max_err <= v->tol;
    free(got);
    return status;
}

/* ---- steps ---- */

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

static lfuse_status make_optimizer(stepping *p, lfuse_optimizer_level level)
{
    const double clip = p->s->of.r->clip;
    const lfuse_optimizer_options options = {.rule = p->s->of.r->rule, .level = level, .plan = &p->plan,
                                             .clip = clip > 0 ? LFUSE_CLIP_GLOBAL_NORM : LFUSE_CLIP_NONE,
                                             .clip_limit = clip};
    const lfuse_group group = {p->s->sets[p->nsets].p, p->s->truth.hyper};
    LFUSE__TRY(lfuse_optimizer_create(p->s->d->dev, &options, 1, &group, &p->o[p->nsets]));
    p->nsets++;
    return LFUSE_OK;
}

static lfuse_status first_step(stepping *p, lfuse_optimizer_level level, double *us)
{
    const shared *s = p->s;
    for (int64_t m = 0; m < s->of.model.count; m++)
        LFUSE__TRY(lfuse_tensor_copy(s->members[0][m], s->members[1][m], s->d->stream));
    LFUSE__TRY(lfuse_stream_synchronize(s->d->stream));
    const double start = bench_now_us();
    LFUSE__TRY(make_optimizer(p, level));
    LFUSE__TRY(stepping_run(p, 0));
    LFUSE__TRY(lfuse_stream_synchronize(s->d->stream));
    *us = bench_now_us() - start;
    return LFUSE_OK;
}

/*
 * The other sets, none of which is stepped over before all variants are proven; the steps change next to nothing then.
 */
static lfuse_status prove(stepping *p, lfuse_optimizer_level level, int nsets, bench_variant *v)
{
    for (int t = 1; t < VERIFIED_STEPS; t++) LFUSE__TRY(stepping_run(p, 0));
    LFUSE__TRY(lfuse_stream_synchronize(p->s->d->stream));
    LFUSE__TRY(verify(p->s, v));
    while (p->nsets < nsets) LFUSE__TRY(make_optimizer(p, level));
    for (int i = 0; i < p->nsets; i++) LFUSE__TRY(lfuse_optimizer_set_lr(p->o[i], -1, 1e-9));
    return LFUSE_OK;
}

static lfuse_status add_steps(bench_case *c, shared *s, const char *name, lfuse_optimizer_level level,
                              lfuse_transport transport)
{
    stepping *p = calloc(1, sizeof *p);
    double first_us;
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for variant %s", name);
    p->s = s;
    p->plan.transport = transport;
    lfuse_status status = first_step(p, level, &first_us);
    bench_variant *v = status ? NULL : bench_add(c, name, p, stepping_run, stepping_destroy);
    if (!v) {
        stepping_destroy(p);
        if (status == LFUSE_ERR_UNSUPPORTED && transport) return LFUSE_OK; /* the device cannot: one variant less */
        return status ? status : lfuse__error(LFUSE_ERR_INVALID, "a case has at most %d variants", BENCH_MAX_VARIANTS);
    }
    v->first_us = first_us;
    v->bytes = bytes_of_step(&s->of);
    v->nsets = level == LFUSE_OPTIM_LOOP ? 1 : c->nsets;
    return prove(p, level, v->nsets, v);
}

static lfuse_status add_transports(bench_case *c, shared *s)
{
    LFUSE__TRY(add_steps(c, s, "args", LFUSE_OPTIM_FUSED, LFUSE_TRANSPORT_ARGS));
    LFUSE__TRY(add_steps(c, s, "table", LFUSE_OPTIM_FUSED, LFUSE_TRANSPORT_TABLE));
    return add_steps(c, s, "unified", LFUSE_OPTIM_FUSED, LFUSE_TRANSPORT_UNIFIED);
}

static lfuse_status prepare(bench_device *d, const char *text, bench_case *c)
{
    bool transports;
    problem of = {0};
    LFUSE__TRY(parse(text, &of));
    shared *s = calloc(1, sizeof *s);
    if (!s) {
        bench_model_free(&of.model);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %s", text);
    }
    *s = (shared){.d = d, .of = of, .truth = {.rule = of.r->rule, .steps = VERIFIED_STEPS}};
    c->shared = s;
    c->destroy = shared_destroy;
    LFUSE__TRY(lfuse_hyper_defaults(of.r->rule, &s->truth.hyper));
    s->truth.hyper.momentum = of.r->momentum;
    bench_choose_sets(d, c, 4.0 * (double)of.model.all * (2 + of.r->state_words), MOST_SETS);
    LFUSE__TRY(check_room(d, &of, c->nsets, &transports));
    LFUSE__TRY(make_data(s));
    LFUSE__TRY(make_sets(s, c->nsets));
    if (!(of.r->clip > 0)) LFUSE__TRY(add_steps(c, s, "loop", LFUSE_OPTIM_LOOP, LFUSE_TRANSPORT_DEFAULT));
    LFUSE__TRY(add_steps(c, s, "foreach", LFUSE_OPTIM_FOREACH, LFUSE_TRANSPORT_DEFAULT));
    LFUSE__TRY(add_steps(c, s, "fused", LFUSE_OPTIM_FUSED, LFUSE_TRANSPORT_DEFAULT));
    if (transports) LFUSE__TRY(add_transports(c, s));
    return bench_add_accumulation(d, c, elements_of_add(&of), s->p, s->g,
                                  of.model.all < RANDOM ? of.model.all : RANDOM);
}

static const char *const problems[] = {"adamw:1000x1024", "adamw:resnet50", "adamw:gpt2-small", "adamw:10x1048576",
                                       "adamw:1x268435456", "sgd:1000x1024", "sgd:resnet50", "lamb:1000x1024",
                                       "lamb:resnet50", "clip+adamw:gpt2-small", NULL};
static const char *const quick[] = {"adamw:100x1024", "sgd:100x1024", "lamb:10x1024", "clip+adamw:100x1024", NULL};
const bench_suite bench_suite_optim = {"optim", problems, quick, prepare, NULL, NULL, NULL, 0};
