/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a training's step: a copy of the forward graph, then gradients, updates and counters. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/graph/build.h"
#include "common/optim/train.h"
#include "libfuse/gradient.h"

typedef struct builder {
    lfuse_training *t;
    lfuse_graph *g;
    lfuse__train_plan *plan;
    bool last;
    lfuse_value loss, steps, next, nonfinite; /* next: the number of this step */
    lfuse_value scale, tracker, found;      /* of loss scaling; found: f32, 1 where a gradient is not finite */
    lfuse_value *inputs, *gradients;        /* [parameters] */
} builder;

/* ---- names and what stands for them ---- */

/* "training.w.exp_avg"; where that is too long, by numbers. */
static const char *state_name(char *room, const char *parameter, const char *state, int i, int k)
{
    const int length = snprintf(room, LFUSE__MAX_NAME + 1, "training.%s.%s", parameter, state);

    if (length > LFUSE__MAX_NAME) snprintf(room, LFUSE__MAX_NAME + 1, "training.parameter%d.state%d", i, k);
    return room;
}

/* The name that was declared last. */
static void hold(builder *b, lfuse__train_slot slot)
{
    if (!b->g->status) b->plan->slots[b->g->nnames - 1] = slot;
}

static lfuse_value bound_tensor(builder *b, const char *name, lfuse_tensor *tensor)
{
    const lfuse_value v = lfuse_input(b->g, name, tensor->type, tensor->rank, tensor->shape);

    hold(b, (lfuse__train_slot){ .tensor = tensor });
    return v;
}

static lfuse_value bound_number(builder *b, const char *name, const double *number)
{
    const lfuse_value v = lfuse_scalar(b->g, name);

    hold(b, (lfuse__train_slot){ .number = number });
    return v;
}

static lfuse_value numbered(builder *b, const char *what, int i, const double *number)
{
    char name[LFUSE__MAX_NAME + 1];

    snprintf(name, sizeof name, "training.%s.%d", what, i);
    return bound_number(b, name, number);
}

/* ---- the loss ---- */

/* Where a step does not count, what was there. */
static lfuse_value counted(const builder *b, lfuse_value fresh, lfuse_value old)
{
    return b->found.graph ? lfuse_where(lfuse_eq(b->found, lfuse_constant(b->g, 0)), fresh, old) : fresh;
}

static void declare(builder *b)
{
    const lfuse_training *t = b->t;
    int i;

    for (i = 0; i < t->nparameters; i++) {
        b->inputs[i] = (lfuse_value){ b->g, t->parameters[i].node };
        b->plan->slots[b->g->nodes[t->parameters[i].node].name].tensor = t->parameters[i].tensor;
    }
    b->steps = bound_tensor(b, "training.steps", t->steps);
    /* Not what the count becomes, which lies in memory: what is computed of that waits for a launch. */
    b->next = lfuse_sub(b->steps, lfuse_constant(b->g, -1));
    b->nonfinite = bound_tensor(b, "training.nonfinite", t->nonfinite);
    if (!lfuse__train_scales(t)) return;
    b->scale = bound_tensor(b, "training.loss_scale", t->scale);
    if (b->last) b->tracker = bound_tensor(b, "training.growth_tracker", t->tracker);
}

static void report_loss(builder *b)
{
    const lfuse_value bad = lfuse_logical_not(lfuse_isfinite(b->loss));
    const lfuse_value first = lfuse_logical_and(bad, lfuse_eq(b->nonfinite, lfuse_constant(b->g, 0)));

    lfuse_output(b->g, "training.loss", b->loss);
    hold(b, (lfuse__train_slot){ .tensor = b->t->loss });
    lfuse_update(b->nonfinite, lfuse_where(first, b->next, b->nonfinite));
}

/* What the loss is multiplied by: the scale, over the number of micro-batches. */
static lfuse_value seed_of(const builder *b, lfuse_type wide)
{
    const int k = b->t->options.micro_batches;

    if (!b->scale.graph) return k > 1 ? lfuse_constant(b->g, 1.0 / k) : lfuse_none();
    return lfuse_cast(k > 1 ? lfuse_mul(b->scale, lfuse_constant(b->g, 1.0 / k)) : b->scale, wide);
}

/* Gradients of this micro-batch, and where there are several of all so far, in the type that is computed in. */
static void differentiate(builder *b)
{
    const lfuse_type wide = lfuse__wide_type((lfuse_type)b->g->nodes[b->loss.id].type);
    const lfuse_value y = lfuse_cast(b->loss, wide), seed = seed_of(b, wide);
    lfuse_value accumulate = lfuse_none(), sum;
    char name[LFUSE__MAX_NAME + 1];
    int i;

    lfuse_gradients(1, &y, &seed, LFUSE_GRADIENT_CONNECTED, b->t->nparameters, b->inputs, b->gradients);
    if (b->t->options.micro_batches < 2) return;
    accumulate = lfuse_ne(bound_number(b, "training.accumulate", &b->t->accumulate), lfuse_constant(b->g, 0));
    for (i = 0; i < b->t->nparameters; i++) {
        const lfuse__train_parameter *p = &b->t->parameters[i];
        const lfuse_value now = lfuse_cast(b->gradients[i], p->sum->type);
        sum = bound_tensor(b, state_name(name, p->name, "sum", i, LFUSE_RULE_STATES), p->sum);
        b->gradients[i] = lfuse_where(accumulate, lfuse_add(sum, now), now);
        if (!b->last) lfuse_update(sum, b->gradients[i]);
    }
}

/* ---- the update ---- */

/* Whether some gradient has an inf or NaN, as a number. */
static lfuse_value find_inf(const builder *b)
{
    const int n = b->t->nparameters;
    lfuse_value *finite = calloc((size_t)n, sizeof *finite), all;
    int i;

    if (!finite) return lfuse__graph_poison(b->g, LFUSE_ERR_MEMORY, "out of host memory (%d parameters)", n);
    for (i = 0; i < n; i++) finite[i] = lfuse_all(lfuse_isfinite(b->gradients[i]), LFUSE_ALL_AXES, NULL, 0);
    all = n > 1 ? lfuse_all(lfuse_stack(n, finite, 0), LFUSE_ALL_AXES, NULL, 0) : finite[0];
    free(finite);
    return lfuse_cast(lfuse_logical_not(all), LFUSE_F32);
}

/* torch.amp.GradScaler.update: a scale that would be infinite stays. */
static void update_scale(const builder *b)
{
    const lfuse_loss_scaling *s = &b->t->scaling;
    const lfuse_value zero = lfuse_constant(b->g, 0), tracked = lfuse_add(b->tracker, lfuse_constant(b->g, 1));
    const lfuse_value due = lfuse_eq(tracked, lfuse_constant(b->g, (double)s->interval));
    const lfuse_value larger = lfuse_mul(b->scale, lfuse_constant(b->g, s->growth));
    const lfuse_value grows = lfuse_logical_and(due, lfuse_isfinite(larger));

    lfuse_update(b->scale, counted(b, lfuse_where(grows, larger, b->scale),
                                   lfuse_mul(b->scale, lfuse_constant(b->g, s->backoff))));
    lfuse_update(b->tracker, counted(b, lfuse_where(due, zero, tracked), lfuse_mul(b->tracker, zero)));
}

/* The numbers of a group as scalars. */
static void declare_group(builder *b, int i, lfuse_rule_values *v)
{
    lfuse__train_group *group = &b->t->groups[i];
    lfuse_value *to = (lfuse_value *)&v->hyper;
    char name[LFUSE__MAX_NAME + 1];
    int field;

    for (field = 0; field < LFUSE__HYPER_COUNT; field++) {
        const lfuse__hyper_field f = (lfuse__hyper_field)field;
        if (lfuse__hyper_known(b->t->rule, b->t->switches, f) && f != LFUSE__HYPER_initial_accumulator)
            to[field] = numbered(b, lfuse__hyper_name(f), i, lfuse__hyper_at(&group->hyper, f));
    }
    if (!b->t->rule->product) return;
    if (!group->product) {
        v->product = numbered(b, "product", i, &group->product_before);
        return;
    }
    snprintf(name, sizeof name, "training.product.%d", i);
    v->product = bound_tensor(b, name, group->product);
    lfuse_update(v->product, counted(b, lfuse_nadam_product(v->product, v->t, v->hyper.beta1, v->hyper.momentum_decay),
                                     v->product));
}

static void update_parameter(builder *b, int i, lfuse_rule_values v)
{
    const unsigned scaling = b->scale.graph ? LFUSE_OPTIM_GRAD_SCALE | LFUSE_OPTIM_FOUND_INF : 0;
    const lfuse__train_parameter *p = &b->t->parameters[i];
    lfuse_value states[LFUSE_RULE_STATES];
    char name[LFUSE__MAX_NAME + 1];
    int k;

    for (k = 0; k < p->nstates; k++)
        states[k] = bound_tensor(b, state_name(name, p->name, p->kinds[k].name, i, k), p->states[k]);
    v.parameter = b->inputs[i];
    v.gradient = b->gradients[i];
    v.state_count = p->nstates;
    v.states = states;
    lfuse_rule_update(b->t->options.rule, b->t->switches | scaling, &v);
}

static void update(builder *b)
{
    lfuse_training *t = b->t;
    lfuse_rule_values all = { .clip = t->options.clip }, v;
    int group, i;

    if (b->scale.graph) all.found_inf = b->found = find_inf(b);
    all.grad_scale = b->scale;
    if (t->device_counts) all.t = lfuse_cast(b->next, LFUSE_F64);
    else all.t = bound_number(b, "training.t", &t->t);
    if (all.clip) all.clip_limit = lfuse_constant(b->g, t->options.clip_limit);
    if (all.clip == LFUSE_CLIP_GLOBAL_NORM) all.norm = lfuse_gradient_norm(t->nparameters, b->gradients, b->scale);
    for (group = 0; group < t->ngroups; group++) {
        v = all;
        declare_group(b, group, &v);
        for (i = 0; i < t->nparameters; i++)
            if (t->parameters[i].group == group) update_parameter(b, i, v);
    }
    lfuse_update(b->steps, counted(b, lfuse_add(b->steps, lfuse_constant(b->g, 1)), b->steps));
    if (b->scale.graph) update_scale(b);
}

/* ---- the plan ---- */

lfuse_status lfuse__train_plan_make(lfuse_training *t, const lfuse_graph *given, lfuse_value loss, bool last,
                                    const lfuse_plan_options *options, lfuse__train_plan *plan)
{
    const size_t n = (size_t)t->nparameters;
    const size_t names = (size_t)given->nnames + n * (LFUSE_RULE_STATES + 1) +
                         (size_t)t->ngroups * (LFUSE__HYPER_COUNT + 1) + 8;
    builder b = { .t = t, .g = lfuse__graph_copy(given), .plan = plan, .last = last };
    lfuse_status status = LFUSE_OK;

    b.inputs = calloc(n, sizeof *b.inputs);
    b.gradients = calloc(n, sizeof *b.gradients);
    plan->slots = calloc(names, sizeof *plan->slots);
    if (!b.g || !b.inputs || !b.gradients || !plan->slots)
        status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (a step of %d parameters)", t->nparameters);
    if (!status) {
        b.loss = (lfuse_value){ b.g, loss.id };
        declare(&b);
        report_loss(&b);
        differentiate(&b);
        if (last) update(&b);
        plan->nslots = b.g->nnames;
        status = lfuse__plan_create(t->dev, b.g, options, &plan->plan);
    }
    lfuse_graph_destroy(b.g);
    free(b.gradients);
    free(b.inputs);
    return status;
}
