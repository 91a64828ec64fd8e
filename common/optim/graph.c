/* SPDX-License-Identifier: Apache-2.0 */
/* A step as a graph: the rule, and around it types in memory, scaling, clipping, masters, averages, zeroing. */
#include "common/optim/optimizer.h"

lfuse_type lfuse__optim_type(const lfuse__optim_form *form)
{
    return form->parameter == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
}

/* The type in which a state of the rule is stored. */
static lfuse_type state_type(const lfuse__optim_form *form, const lfuse__rule_state *s)
{
    return s->number ? lfuse__optim_type(form) : form->state;
}

/* A copy of the parameters, at first. */
static lfuse__optim_state copy_of_parameters(const lfuse__optim_form *form, const char *name)
{
    return (lfuse__optim_state){ .name = name, .type = lfuse__optim_type(form), .copies = true,
                                 .initial = LFUSE__HYPER_END };
}

void lfuse__optim_states_of(const lfuse__optim_form *form, lfuse__optim_states *states)
{
    const lfuse__rule_state *s;

    states->count = 0;
    for (s = form->rule->states; s->name; s++)
        if (lfuse__rule_has(s, form->switches))
            states->state[states->count++] = (lfuse__optim_state){ .name = s->name, .type = state_type(form, s),
                                                                   .number = s->number, .lines = s->lines,
                                                                   .initial = s->initial };
    if (form->switches & LFUSE_OPTIM_MASTERS) states->state[states->count++] = copy_of_parameters(form, "master");
    if (form->switches & LFUSE_OPTIM_AVERAGE) states->state[states->count++] = copy_of_parameters(form, "average");
}

/* Of elements: flat, but for rules that look at matrices. */
static lfuse_value list(const lfuse__optim_form *form, lfuse_graph *g, const char *name, lfuse_type type)
{
    return lfuse_list_input(g, name, type, form->rule->matrices ? LFUSE_RANK_MATRIX : LFUSE_RANK_ANY);
}

static lfuse_value on_device(lfuse_graph *g, const char *name, lfuse_type type)
{
    return lfuse_input(g, name, type, 0, NULL);
}

/* The gradient in the type that is computed in, and without its scale. */
static lfuse_value unscaled(const lfuse__optim_form *form, lfuse_graph *g, lfuse_value stored)
{
    const lfuse_value d = lfuse_cast(stored, lfuse__optim_type(form));

    return form->switches & LFUSE_OPTIM_GRAD_SCALE ? lfuse_div(d, on_device(g, "grad_scale", LFUSE_F32)) : d;
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

static lfuse_value norm_of(const lfuse__optim_form *form, lfuse_graph *g, lfuse_value d)
{
    if (form->clip == LFUSE_CLIP_MEMBER_NORM) return lfuse_member_norm_l2(d);
    return form->sums.count ? norm_of_sums(form, g) : lfuse_list_norm_l2(d);
}

/* The gradient as the rule shall see it. */
static lfuse_value gradient(const lfuse__optim_form *form, lfuse_graph *g, lfuse_value stored)
{
    lfuse_value d = unscaled(form, g, stored);

    if (form->clip == LFUSE_CLIP_VALUE) {
        const lfuse_value limit = lfuse_scalar(g, "clip_limit");
        d = lfuse_clamp(d, lfuse_neg(limit), limit);
    } else if (form->clip != LFUSE_CLIP_NONE) {
        const lfuse_value norm = norm_of(form, g, d);
        const lfuse_value scale = lfuse_div(lfuse_scalar(g, "clip_limit"), lfuse_add(norm, lfuse_constant(g, 1e-6)));
        d = lfuse_mul(d, lfuse_min(scale, lfuse_constant(g, 1)));
    }
    return form->switches & LFUSE_OPTIM_MAXIMIZE ? lfuse_neg(d) : d;
}

/* A step's number, and NAdam's product, from the host or from the device; whether the step counts, with FOUND_INF. */
typedef struct counters {
    lfuse_value steps, product, counts;
} counters;

static void numbers(const lfuse__optim_form *form, lfuse_graph *g, lfuse__rule_step *s, counters *c)
{
    const bool nadam = form->rule->product;
    const lfuse__rule_hyper *h;

    for (h = form->rule->hypers; h->field != LFUSE__HYPER_END; h++)
        if (h->field != LFUSE__HYPER_lr || !(form->switches & LFUSE_OPTIM_LR_TENSOR))
            s->h[h->field] = lfuse_scalar(g, lfuse__hyper_name(h->field));
    if (form->switches & LFUSE_OPTIM_LR_TENSOR)
        s->h[LFUSE__HYPER_lr] = lfuse_cast(on_device(g, "lr", LFUSE_F32), LFUSE_F64);
    if (form->switches & LFUSE_OPTIM_FOUND_INF)
        c->counts = lfuse_eq(on_device(g, "found_inf", LFUSE_F32), lfuse_constant(g, 0));
    if (!lfuse__optim_counts(form->switches)) {
        s->t = lfuse_scalar(g, "t");
        if (nadam) s->product = lfuse_scalar(g, "product");
        return;
    }
    c->steps = on_device(g, "steps", LFUSE_F64);
    s->t = lfuse_add(c->steps, lfuse_constant(g, 1));
    if (nadam) s->product = c->product = on_device(g, "product", LFUSE_F64);
}

/* Where a step may not count, what is stored then is what was there. */
static void store(const lfuse__optim_form *form, const counters *c, lfuse_value input, lfuse_value value,
                  lfuse_type type)
{
    value = lfuse_cast(value, type);
    lfuse_update(input, form->switches & LFUSE_OPTIM_FOUND_INF ? lfuse_where(c->counts, value, input) : value);
}

static void count(const lfuse__optim_form *form, const counters *c, const lfuse__rule_step *s)
{
    if (!lfuse__optim_counts(form->switches)) return;
    /* Not s->t itself, which would have to lie in memory for the lists' launch, after a launch of its own. */
    store(form, c, c->steps, lfuse_sub(c->steps, lfuse_constant(s->g, -1)), LFUSE_F64);
    if (form->rule->product) store(form, c, c->product, s->fresh_product, LFUSE_F64);
}

/* The states that are there, declared and widened, then stored: `s` counts them as the rule's row does. */
static void declare(const lfuse__optim_form *form, lfuse_value *inputs, lfuse__rule_step *s)
{
    int i;

    for (i = 0; form->rule->states[i].name; i++) {
        const lfuse__rule_state *state = &form->rule->states[i];
        if (!lfuse__rule_has(state, form->switches)) continue;
        inputs[i] = state->number || state->lines
                        ? lfuse_list_input(s->g, state->name, state_type(form, state), state->lines)
                        : list(form, s->g, state->name, form->state);
        s->old[i] = lfuse_cast(inputs[i], lfuse__optim_type(form));
    }
}

lfuse_graph *lfuse__optim_graph(const lfuse__optim_form *form)
{
    const lfuse_type wide = lfuse__optim_type(form);
    lfuse_graph *g = lfuse_graph_create();
    lfuse__rule_step s = { .g = g, .switches = form->switches, .type = wide };
    lfuse_value p, stored, fresh, master, average, inputs[LFUSE__RULE_STATES];
    counters c;
    int i;

    p = s.list = list(form, g, "p", form->parameter);
    stored = list(form, g, "g", form->gradient);
    declare(form, inputs, &s);
    if (form->switches & LFUSE_OPTIM_MASTERS) master = list(form, g, "master", wide);
    if (form->switches & LFUSE_OPTIM_AVERAGE) average = list(form, g, "average", wide);
    numbers(form, g, &s, &c);
    s.p = form->switches & LFUSE_OPTIM_MASTERS ? master : lfuse_cast(p, wide);
    s.grad = gradient(form, g, stored);
    fresh = form->rule->step(&s);
    store(form, &c, p, fresh, form->parameter);
    for (i = 0; form->rule->states[i].name; i++)
        if (lfuse__rule_has(&form->rule->states[i], form->switches))
            store(form, &c, inputs[i], s.fresh[i], state_type(form, &form->rule->states[i]));
    if (form->switches & LFUSE_OPTIM_MASTERS) store(form, &c, master, fresh, wide);
    if (form->switches & LFUSE_OPTIM_AVERAGE)
        store(form, &c, average, lfuse__rule_moment(average, fresh, lfuse_scalar(g, "ema_decay")), wide);
    if (form->switches & LFUSE_OPTIM_ZERO_GRADIENTS) {
        const lfuse_value none = lfuse_constant(g, 0);
        /* Not lfuse_full_like, which reads nothing that would join it to the step. */
        lfuse_update(stored, lfuse_where(none, stored, none));
    }
    count(form, &c, &s);
    return g;
}

lfuse_graph *lfuse__optim_norm_graph(const lfuse__optim_form *form)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value d = unscaled(form, g, lfuse_list_input(g, "g", form->gradient, LFUSE_RANK_ANY));

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
