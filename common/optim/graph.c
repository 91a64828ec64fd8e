/* SPDX-License-Identifier: Apache-2.0 */
/* A step over lists as a graph, with the names by which lists and numbers are bound. */
#include "common/optim/optimizer.h"

/* Of elements: flat, but for rules that look at matrices. */
static lfuse_value list(const lfuse__optim_form *form, lfuse_graph *g, const char *name, lfuse_type type)
{
    return lfuse_list_input(g, name, type, form->rule->matrices ? LFUSE_RANK_MATRIX : LFUSE_RANK_ANY);
}

static lfuse_value on_device(lfuse_graph *g, const char *name, lfuse_type type)
{
    return lfuse_input(g, name, type, 0, NULL);
}

const char *lfuse__optim_sum_name(int sum)
{
    static const char *const names[LFUSE__OPTIM_SUMS] = { "sum0", "sum1", "sum2", "sum3",
                                                          "sum4", "sum5", "sum6", "sum7" };

    return names[sum];
}

/* The root of all sums together, which are added in their order, in f64 where one is. */
static lfuse_value norm_of_sums(const lfuse__optim_form *form, lfuse_graph *g)
{
    const lfuse__optim_sums *sums = &form->sums;
    lfuse_type type = LFUSE_F32;
    lfuse_value all = { NULL, -1 };
    int i;

    for (i = 0; i < sums->count; i++)
        if (sums->types[i] == LFUSE_F64) type = LFUSE_F64;
    for (i = 0; i < sums->count; i++) {
        const lfuse_value sum = lfuse_cast(on_device(g, lfuse__optim_sum_name(i), sums->types[i]), type);
        all = i ? lfuse_add(all, sum) : sum;
    }
    return lfuse_cast(lfuse_sqrt(all), lfuse__optim_type(form));
}

/* The numbers of the rule, from the host or, of the learning rate, from the device; what scales and clips. */
static void numbers(const lfuse__optim_form *form, lfuse_graph *g, lfuse__optim_values *v)
{
    const lfuse__rule_hyper *h;

    for (h = form->rule->hypers; h->field != LFUSE__HYPER_END; h++)
        if (h->field != LFUSE__HYPER_lr || !(form->switches & LFUSE_OPTIM_LR_TENSOR))
            v->h[h->field] = lfuse_scalar(g, lfuse__hyper_name(h->field));
    if (form->switches & LFUSE_OPTIM_LR_TENSOR)
        v->h[LFUSE__HYPER_lr] = lfuse_cast(on_device(g, "lr", LFUSE_F32), LFUSE_F64);
    if (form->switches & LFUSE_OPTIM_AVERAGE) v->h[LFUSE__HYPER_ema_decay] = lfuse_scalar(g, "ema_decay");
    if (form->switches & LFUSE_OPTIM_FOUND_INF)
        v->counts = lfuse_eq(on_device(g, "found_inf", LFUSE_F32), lfuse_constant(g, 0));
    if (form->switches & LFUSE_OPTIM_GRAD_SCALE) v->grad_scale = on_device(g, "grad_scale", LFUSE_F32);
    if (form->clip != LFUSE_CLIP_NONE) v->clip_limit = lfuse_scalar(g, "clip_limit");
    if (form->clip == LFUSE_CLIP_GLOBAL_NORM && form->sums.count) v->norm = norm_of_sums(form, g);
}

/* A step's number, and NAdam's product, from the host or from the device; the latter is *steps then. */
static void counters(const lfuse__optim_form *form, lfuse_graph *g, lfuse__optim_values *v, lfuse_value *steps)
{
    const bool nadam = form->rule->product;

    if (!lfuse__optim_counts(form->switches)) {
        v->t = lfuse_scalar(g, "t");
        if (nadam) v->product = lfuse_scalar(g, "product");
        return;
    }
    *steps = on_device(g, "steps", LFUSE_F64);
    v->t = lfuse_add(*steps, lfuse_constant(g, 1));
    if (nadam) v->product = on_device(g, "product", LFUSE_F64);
}

lfuse_graph *lfuse__optim_graph(const lfuse__optim_form *form)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse__optim_values v = { .tensor = false };
    lfuse_value steps = { NULL, -1 }, product = steps;
    lfuse__optim_states states;
    int i;

    v.p = list(form, g, "p", form->parameter);
    v.g = list(form, g, "g", form->gradient);
    lfuse__optim_states_of(form, &states);
    for (i = 0; i < states.count; i++) {
        const lfuse__optim_state *state = &states.state[i];
        v.states[i] = state->number || state->lines ? lfuse_list_input(g, state->name, state->type, state->lines)
                                                    : list(form, g, state->name, state->type);
        v.state_types[i] = state->type;
    }
    numbers(form, g, &v);
    counters(form, g, &v, &steps);
    lfuse__optim_apply(form, &v, &product);
    if (form->switches & LFUSE_OPTIM_ZERO_GRADIENTS) {
        const lfuse_value none = lfuse_constant(g, 0);
        /* Not lfuse_full_like, which reads nothing that would join it to the step. */
        lfuse_update(v.g, lfuse_where(none, v.g, none));
    }
    if (!lfuse__optim_counts(form->switches)) return g;
    /* Not v.t itself, which would have to lie in memory for the lists' launch, after a launch of its own. */
    lfuse__optim_store_value(form, v.counts, steps, lfuse_sub(steps, lfuse_constant(g, -1)), LFUSE_F64);
    if (form->rule->product) lfuse__optim_store_value(form, v.counts, v.product, product, LFUSE_F64);
    return g;
}

lfuse_graph *lfuse__optim_norm_graph(const lfuse__optim_form *form)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value stored = lfuse_list_input(g, "g", form->gradient, LFUSE_RANK_ANY);
    lfuse_value scale = { NULL, -1 }, d;

    if (form->switches & LFUSE_OPTIM_GRAD_SCALE) scale = on_device(g, "grad_scale", LFUSE_F32);
    d = lfuse__optim_unscaled(form, stored, scale);
    lfuse_output(g, "sum", lfuse_list_sum(lfuse_mul(d, d)));
    return g;
}

lfuse_graph *lfuse__optim_copy_graph(lfuse_type from, lfuse_type to)
{
    lfuse_graph *g = lfuse_graph_create();

    lfuse_update(lfuse_list_input(g, "to", to, LFUSE_RANK_ANY),
                 lfuse_cast(lfuse_list_input(g, "from", from, LFUSE_RANK_ANY), to));
    return g;
}
