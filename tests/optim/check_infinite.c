/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rule on parameters that are infinite, NaN or the largest numbers, with and without a decay: against the
 * formulas of torch.optim (single-tensor forms; of the papers where it has none) written down in f32, which leave out
 * what a number is 0 for. A number of the run decides that: nothing is compiled for it.
 *
 * The bound is that of check_trajectories.c: STEPS steps of at most OPERATIONS operations, each erring by u times what
 * passes through it.
 */
#include <float.h>

#include "tests/optim/rig.h"

enum { STEPS = 6, OPERATIONS = 64, N = 3, KINDS = 7, STATES = 3 };

/* The first element of each member; the others are ordinary. */
static const float kinds[KINDS] = { INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX, 1e30f, 0.5f };

typedef struct variant {
    const char *name;
    lfuse_rule rule;
    unsigned switches;
    double momentum;
} variant;

typedef struct reference {
    const variant *v;
    lfuse_hyper h;
    double product; /* nadam */
    float p[N], state[STATES][N];
} reference;

/* ---- PyTorch's words ---- */

static float lerp(float a, float b, float weight)
{
    return fabsf(weight) < 0.5f ? a + weight * (b - a) : b - (b - a) * (1 - weight);
}

static float larger(float a, float b)
{
    return a > b || a != a ? a : b;
}

static float decayed(const reference *r, float x, float p)
{
    return r->h.weight_decay != 0 ? x + (float)r->h.weight_decay * p : x;
}

static float squares(const float *x)
{
    return x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
}

static float square(float old, float g, double beta)
{
    return old * (float)beta + (float)(1 - beta) * g * g;
}

/* ---- rules of single elements: the new parameter; s are the states of the element ---- */

static float sgd(reference *r, int t, float p, float g, float *s)
{
    const bool last = r->v->switches & LFUSE_OPTIM_DECAY_LAST;
    float d = last ? g : decayed(r, g, p);

    if (r->h.momentum != 0) {
        s[0] = t == 1 ? d : s[0] * (float)r->h.momentum + (float)(1 - r->h.dampening) * d;
        d = r->v->switches & LFUSE_OPTIM_NESTEROV ? d + (float)r->h.momentum * s[0] : s[0];
    }
    if (last) d = decayed(r, d, p);
    return p - (float)r->h.lr * d;
}

static void decay(const reference *r, float *p, float *g)
{
    if (r->h.weight_decay == 0) return;
    if (r->v->rule == LFUSE_RULE_ADAMW || r->v->switches & LFUSE_OPTIM_DECOUPLED)
        *p *= (float)(1 - r->h.lr * r->h.weight_decay);
    else
        *g = decayed(r, *g, *p);
}

static float adam(reference *r, int t, float p, float g, float *s)
{
    const double first = 1 - pow(r->h.beta1, t), second = 1 - pow(r->h.beta2, t);

    decay(r, &p, &g);
    s[0] = lerp(s[0], g, (float)(1 - r->h.beta1));
    float v = s[1] = square(s[1], g, r->h.beta2);
    if (r->v->switches & LFUSE_OPTIM_AMSGRAD) v = s[2] = larger(s[2], v);
    return p - (float)(r->h.lr / first) * (s[0] / (sqrtf(v) / (float)sqrt(second) + (float)r->h.eps));
}

static float adagrad(reference *r, int t, float p, float g, float *s)
{
    g = decayed(r, g, p);
    s[0] += g * g;
    return p - (float)(r->h.lr / (1 + (t - 1) * r->h.lr_decay)) * (g / (sqrtf(s[0]) + (float)r->h.eps));
}

static float rmsprop(reference *r, int t, float p, float g, float *s)
{
    (void)t;
    g = decayed(r, g, p);
    float v = s[0] = square(s[0], g, r->h.alpha);
    if (r->v->switches & LFUSE_OPTIM_CENTERED) {
        s[2] = lerp(s[2], g, (float)(1 - r->h.alpha));
        v -= s[2] * s[2];
    }
    float step = g / (sqrtf(v) + (float)r->h.eps);
    if (r->h.momentum > 0) step = s[1] = s[1] * (float)r->h.momentum + step;
    return p - (float)r->h.lr * step;
}

static float adadelta(reference *r, int t, float p, float g, float *s)
{
    const float eps = (float)r->h.eps;

    (void)t;
    g = decayed(r, g, p);
    s[0] = square(s[0], g, r->h.rho);
    float delta = sqrtf(s[1] + eps) / sqrtf(s[0] + eps) * g;
    s[1] = square(s[1], delta, r->h.rho);
    return p - (float)r->h.lr * delta;
}

static float adamax(reference *r, int t, float p, float g, float *s)
{
    g = decayed(r, g, p);
    s[0] = lerp(s[0], g, (float)(1 - r->h.beta1));
    s[1] = larger(s[1] * (float)r->h.beta2, fabsf(g) + (float)r->h.eps);
    return p - (float)(r->h.lr / (1 - pow(r->h.beta1, t))) * (s[0] / s[1]);
}

static double momentum_of(const reference *r, int t)
{
    return r->h.beta1 * (1 - 0.5 * pow(0.96, t * r->h.momentum_decay));
}

static float nadam(reference *r, int t, float p, float g, float *s)
{
    const double mu = momentum_of(r, t), next = momentum_of(r, t + 1), product = r->product * mu;

    decay(r, &p, &g);
    s[0] = lerp(s[0], g, (float)(1 - r->h.beta1));
    s[1] = square(s[1], g, r->h.beta2);
    float root = sqrtf(s[1] / (float)(1 - pow(r->h.beta2, t))) + (float)r->h.eps;
    p -= (float)(r->h.lr * (1 - mu) / (1 - product)) * (g / root);
    return p - (float)(r->h.lr * next / (1 - product * next)) * (s[0] / root);
}

static float radam(reference *r, int t, float p, float g, float *s)
{
    const double power = pow(r->h.beta2, t), limit = 2 / (1 - r->h.beta2) - 1;
    const double length = limit - 2 * t * power / (1 - power);
    const double rate = r->h.lr / (1 - pow(r->h.beta1, t));

    decay(r, &p, &g);
    s[0] = lerp(s[0], g, (float)(1 - r->h.beta1));
    s[1] = square(s[1], g, r->h.beta2);
    if (length <= 5) return p - (float)rate * s[0];
    double rectified = sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length));
    return p - (float)(rate * rectified * sqrt(1 - power)) * (s[0] / (sqrtf(s[1]) + (float)r->h.eps));
}

static float asgd(reference *r, int t, float p, float g, float *s)
{
    const double eta = r->h.lr / pow(1 + r->h.lambd * r->h.lr * (t - 1), r->h.alpha);
    const double mu = 1 / fmax(1, t - 1 - r->h.t0);

    g = decayed(r, g, p);
    p = p * (float)(1 - r->h.lambd * eta) - (float)eta * g;
    s[0] = mu != 1 ? s[0] + (p - s[0]) * (float)mu : p;
    return p;
}

static float lion(reference *r, int t, float p, float g, float *s)
{
    const float ahead = lerp(s[0], g, (float)(1 - r->h.beta1));

    (void)t;
    s[0] = lerp(s[0], g, (float)(1 - r->h.beta2));
    if (r->h.weight_decay != 0) p *= (float)(1 - r->h.lr * r->h.weight_decay);
    return p - (float)r->h.lr * (ahead > 0 ? 1 : ahead < 0 ? -1 : ahead);
}

static float rprop(reference *r, int t, float p, float g, float *s)
{
    float size = t == 1 ? (float)r->h.lr : s[1];

    if (g * s[0] > 0) size *= (float)r->h.eta_plus;
    if (g * s[0] < 0) size *= (float)r->h.eta_minus;
    s[0] = g * s[0] < 0 ? 0 : g;
    s[1] = fminf(fmaxf(size, (float)r->h.step_min), (float)r->h.step_max);
    return p - (float)(s[0] > 0 ? 1 : s[0] < 0 ? -1 : 0) * s[1];
}

/* ---- rules of members ---- */

static bool is_size(float norm)
{
    return norm > 0 && isfinite(norm);
}

static void lamb(reference *r, int t, const float *g)
{
    float step[N], trust = 1;

    for (int i = 0; i < N; i++) {
        r->state[0][i] = lerp(r->state[0][i], g[i], (float)(1 - r->h.beta1));
        r->state[1][i] = square(r->state[1][i], g[i], r->h.beta2);
        step[i] = r->state[0][i] / (float)(1 - pow(r->h.beta1, t)) /
                  (sqrtf(r->state[1][i] / (float)(1 - pow(r->h.beta2, t))) + (float)r->h.eps);
        step[i] = decayed(r, step[i], r->p[i]);
    }
    float of_p = sqrtf(squares(r->p));
    float of_step = sqrtf(squares(step));
    if (is_size(of_p) && is_size(of_step)) trust = of_p / of_step;
    for (int i = 0; i < N; i++) r->p[i] -= (float)r->h.lr * trust * step[i];
}

static void novograd(reference *r, int t, const float *g)
{
    const float now = squares(g);

    r->state[1][0] = t == 1 ? now : lerp(r->state[1][0], now, (float)(1 - r->h.beta2));
    for (int i = 0; i < N; i++) {
        float step = decayed(r, g[i] / (sqrtf(r->state[1][0]) + (float)r->h.eps), r->p[i]);
        if (r->v->switches & LFUSE_OPTIM_GRAD_AVERAGING) step *= (float)(1 - r->h.beta1);
        r->state[0][i] = r->state[0][i] * (float)r->h.beta1 + step;
        r->p[i] -= (float)r->h.lr * r->state[0][i];
    }
}

static void adafactor(reference *r, int t, const float *g)
{
    const float root = sqrtf(squares(r->p) / N), eps = (float)(r->h.eps * r->h.eps);
    const float alpha = (root > (float)r->h.eps2 ? root : (float)r->h.eps2) * (float)fmin(r->h.lr, 1 / sqrt(t));
    float step[N];

    for (int i = 0; i < N; i++) {
        if (r->h.weight_decay != 0) r->p[i] *= (float)(1 - r->h.lr * r->h.weight_decay);
        r->state[1][i] = lerp(r->state[1][i], g[i] * g[i], (float)pow(t, r->h.beta2));
        step[i] = g[i] / sqrtf(larger(r->state[1][i], eps));
    }
    float excess = sqrtf(squares(step) / N) / (float)r->h.clip_threshold;
    for (int i = 0; i < N; i++) r->p[i] -= alpha / (excess > 1 ? excess : 1) * step[i];
}

typedef float of_element(reference *r, int t, float p, float g, float *s);
typedef void of_member(reference *r, int t, const float *g);
static of_element *const elements[] = {
    [LFUSE_RULE_SGD] = sgd, [LFUSE_RULE_ADAM] = adam, [LFUSE_RULE_ADAMW] = adam, [LFUSE_RULE_ADAGRAD] = adagrad,
    [LFUSE_RULE_RMSPROP] = rmsprop, [LFUSE_RULE_ADADELTA] = adadelta, [LFUSE_RULE_ADAMAX] = adamax,
    [LFUSE_RULE_NADAM] = nadam, [LFUSE_RULE_RADAM] = radam, [LFUSE_RULE_ASGD] = asgd, [LFUSE_RULE_RPROP] = rprop,
    [LFUSE_RULE_LION] = lion, [LFUSE_RULE_ADAFACTOR] = NULL,
};
static of_member *const members[] = {
    [LFUSE_RULE_LAMB] = lamb, [LFUSE_RULE_NOVOGRAD] = novograd, [LFUSE_RULE_ADAFACTOR] = adafactor,
};

static void reference_step(reference *r, int t, const float *g)
{
    float s[STATES];

    for (int i = 0; i < N && elements[r->v->rule]; i++) {
        for (int k = 0; k < STATES; k++) s[k] = r->state[k][i];
        r->p[i] = elements[r->v->rule](r, t, r->p[i], g[i], s);
        for (int k = 0; k < STATES; k++) r->state[k][i] = s[k];
    }
    if (!elements[r->v->rule]) members[r->v->rule](r, t, g);
    r->product *= momentum_of(r, t);
}

/* ---- beside the library ---- */

static const variant variants[] = {
    { "sgd", LFUSE_RULE_SGD, 0, 0 },
    { "sgd with a momentum", LFUSE_RULE_SGD, 0, 0.875 },
    { "sgd, Nesterov", LFUSE_RULE_SGD, LFUSE_OPTIM_NESTEROV, 0.875 },
    { "sgd, decay last", LFUSE_RULE_SGD, LFUSE_OPTIM_DECAY_LAST, 0.875 },
    { "adam", LFUSE_RULE_ADAM, 0, 0 },
    { "adam, amsgrad", LFUSE_RULE_ADAM, LFUSE_OPTIM_AMSGRAD, 0 },
    { "adam, decoupled", LFUSE_RULE_ADAM, LFUSE_OPTIM_DECOUPLED, 0 },
    { "adamw", LFUSE_RULE_ADAMW, 0, 0 },
    { "adagrad", LFUSE_RULE_ADAGRAD, 0, 0 },
    { "rmsprop", LFUSE_RULE_RMSPROP, 0, 0 },
    { "rmsprop, centered, with a momentum", LFUSE_RULE_RMSPROP, LFUSE_OPTIM_CENTERED, 0.5 },
    { "adadelta", LFUSE_RULE_ADADELTA, 0, 0 },
    { "adamax", LFUSE_RULE_ADAMAX, 0, 0 },
    { "nadam", LFUSE_RULE_NADAM, 0, 0 },
    { "nadam, decoupled", LFUSE_RULE_NADAM, LFUSE_OPTIM_DECOUPLED, 0 },
    { "radam", LFUSE_RULE_RADAM, 0, 0 },
    { "radam, decoupled", LFUSE_RULE_RADAM, LFUSE_OPTIM_DECOUPLED, 0 },
    { "asgd", LFUSE_RULE_ASGD, 0, 0 },
    { "rprop", LFUSE_RULE_RPROP, 0, 0 },
    { "lion", LFUSE_RULE_LION, 0, 0 },
    { "lamb", LFUSE_RULE_LAMB, 0, 0 },
    { "novograd", LFUSE_RULE_NOVOGRAD, 0, 0 },
    { "novograd, averaging", LFUSE_RULE_NOVOGRAD, LFUSE_OPTIM_GRAD_AVERAGING, 0 },
    { "adafactor", LFUSE_RULE_ADAFACTOR, 0, 0 },
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static bool agrees(double got, float want, double scale)
{
    if (isnan(want) || isinf(want)) return isnan(want) ? isnan(got) : got == (double)want;
    return fabs(got - (double)want) <= STEPS * OPERATIONS * 0x1p-24 * fmax(scale, fabs((double)want));
}

static void compare(const reference *r, int t, const double *got)
{
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < N; i++)
            ck_assert_msg(agrees(got[k * N + i], r[k].p[i], 4), "%s, %s, decay %g, step %d: element %d beside %g is "
                          "%.9g, not %.9g", device_name, r[k].v->name, r[k].h.weight_decay, t, i, (double)kinds[k],
                          got[k * N + i], (double)r[k].p[i]);
}

static void begin(const variant *v, double decay, const model *m, lfuse_hyper *h, reference *r)
{
    OK(lfuse_hyper_defaults(v->rule, h));
    h->weight_decay = decay;
    h->momentum = v->momentum;
    if (v->rule == LFUSE_RULE_ASGD) h->t0 = 1;
    for (int k = 0; k < KINDS; k++) {
        r[k] = (reference){ .v = v, .h = *h, .product = 1 };
        r[k].p[0] = kinds[k];
        for (int i = 1; i < N; i++) r[k].p[i] = (float)rig_parameter(k, i);
        OK(lfuse_tensor_write(m->p[k], NULL, r[k].p));
    }
}

static void steps(lfuse_device *device, const variant *v, double decay)
{
    static const int64_t lengths[KINDS] = { N, N, N, N, N, N, N };
    const lfuse_optimizer_options options = options_of(v->rule, v->switches);
    double got[KINDS * N];
    reference r[KINDS];
    lfuse_group group;
    float g[N];

    model m = model_of(device, LFUSE_F32, LFUSE_F32, KINDS, lengths);
    group.parameters = m.parameters;
    begin(v, decay, &m, &group.hyper, r);
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    for (int t = 1; t <= STEPS; t++) {
        model_step(&m, o, t);
        for (int k = 0; k < KINDS; k++) {
            for (int i = 0; i < N; i++) g[i] = (float)rig_gradient(k, i, t);
            reference_step(&r[k], t, g);
        }
        model_parameters(&m, got);
        compare(r, t, got);
    }
}

TEST_CASE("infinite", .before = open_devices, .after = close_devices)

TEST_ON_DEVICES(infinite_parameters, lfuse_device *device)
{
    for (int i = 0; i < VARIANTS; i++) {
        steps(device, &variants[i], 0);
        uint64_t compiles = counters_of(device).compiles;
        if (variants[i].rule == LFUSE_RULE_RPROP) continue;
        steps(device, &variants[i], 0.125);
        ck_assert_msg(counters_of(device).compiles == compiles, "%s, %s: a decay compiles something", device_name,
                      variants[i].name);
    }
}

/* Of two groups one has no momentum: that the step before was infinite is nothing to it. */
TEST_ON_DEVICES(infinite_gradients_without_momentum, lfuse_device *device)
{
    static const struct {
        lfuse_rule rule;
        float first; /* gradient that makes the first step infinite: RMSprop divides by the root of its square */
    } cases[] = { { LFUSE_RULE_SGD, INFINITY }, { LFUSE_RULE_RMSPROP, 1e-30f } };
    static const int64_t few[1] = { N };
    const float one[N] = { 1, 1, 1 };
    lfuse_list *gradients[2];
    lfuse_group group[2];
    double got[N];
    model m[2];

    for (int k = 0; k < 4; k++) {
        const lfuse_optimizer_options options = options_of(cases[k / 2].rule, 0);
        const int without = k % 2;
        for (int i = 0; i < 2; i++) {
            m[i] = model_of(device, LFUSE_F32, LFUSE_F32, 1, few);
            group[i] = group_of(&m[i], cases[k / 2].rule);
            group[i].hyper.eps = 0;
            group[i].hyper.momentum = i == without ? 0 : 0.5;
            gradients[i] = m[i].gradients;
        }
        lfuse_optimizer *o = new_optimizer(device, &options, 2, group);
        for (int t = 1; t <= 3; t++) {
            const float g[N] = { t == 1 ? cases[k / 2].first : 1, 1, 1 };
            for (int i = 0; i < 2; i++) OK(lfuse_tensor_write(m[i].g[0], NULL, i == without ? g : one));
            OK(lfuse_optimizer_step(o, m[0].stream, 2, gradients, NULL));
            OK(lfuse_stream_synchronize(m[0].stream));
        }
        model_parameters(&m[without], got);
        ck_assert_double_eq(got[0], -INFINITY);
        for (int i = 1; i < N; i++) ck_assert(isfinite(got[i]));
    }
}

TEST_SUITE("optim", CK_NOFORK)
