/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* A step as a graph: the rule, and around it types in memory, scaling, clipping, masters, averages, zeroing. */
#include <string.h>

#include "common/optim/optimizer.h"

lfuse_type lfuse__optim_type(const lfuse__optim_form *form)
{
    return form->parameter == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
}

static void add_state(lfuse__optim_states *s, const char *name, lfuse_type type, lfuse__hyper_field initial, bool copies)
{
    s->name[s->count] = name;
    s->type[s->count] = type;
    s->initial[s->count] = initial;
    s->copies[s->count++] = copies;
}

void lfuse__optim_states_of(const lfuse__optim_form *form, lfuse__optim_states *states)
{
    const lfuse_type wide = lfuse__optim_type(form);
    const lfuse__rule_state *s;

    memset(states, 0, sizeof *states);
    for (s = form->rule->states; s->name; s++)
        if (lfuse__rule_has(s, form->switches)) {
            states->number[states->count] = s->number;
            add_state(states, s->name, s->number ? wide : form->state, s->initial, false);
        }
    if (form->switches & LFUSE_OPTIM_MASTERS) add_state(states, "master", wide, LFUSE__HYPER_END, true);
    if (form->switches & LFUSE_OPTIM_AVERAGE) add_state(states, "average", wide, LFUSE__HYPER_END, true);
}

static lfuse_value list(lfuse_graph *g, const char *name, lfuse_type type)
{
    return lfuse_list_input(g, name, type, LFUSE_RANK_ANY);
}

/* The gradient as the rule shall see it. */
static lfuse_value gradient(const lfuse__optim_form *form, lfuse_graph *g, lfuse_value stored)
{
    lfuse_value d = lfuse_cast(stored, lfuse__optim_type(form));

    if (form->switches & LFUSE_OPTIM_GRAD_SCALE) d = lfuse_div(d, lfuse_input(g, "grad_scale", LFUSE_F32, 0, NULL));
    if (form->clip == LFUSE_CLIP_VALUE) {
        const lfuse_value limit = lfuse_scalar(g, "clip_limit");
        d = lfuse_clamp(d, lfuse_neg(limit), limit);
    } else if (form->clip == LFUSE_CLIP_MEMBER_NORM) {
        const lfuse_value norm = lfuse_sqrt(lfuse_member_sum(lfuse_mul(d, d)));
        const lfuse_value scale = lfuse_div(lfuse_scalar(g, "clip_limit"), lfuse_add(norm, lfuse_constant(g, 1e-6)));
        d = lfuse_mul(d, lfuse_min(scale, lfuse_constant(g, 1)));
    }
    return form->switches & LFUSE_OPTIM_MAXIMIZE ? lfuse_neg(d) : d;
}

static void numbers(const lfuse__optim_form *form, lfuse_graph *g, lfuse__rule_step *s)
{
    const lfuse__rule_hyper *h;

    for (h = form->rule->hypers; h->field != LFUSE__HYPER_END; h++)
        s->h[h->field] = lfuse_scalar(g, lfuse__hyper_name(h->field));
    s->t = lfuse_scalar(g, "t");
    if (form->rule->step == lfuse__rule_nadam) s->product = lfuse_scalar(g, "product");
}

static void store(lfuse_value input, lfuse_value value, lfuse_type type)
{
    lfuse_update(input, lfuse_cast(value, type));
}

/* The states that are there, declared and widened, then stored: `s` counts them as the rule's row does. */
static void declare(const lfuse__optim_form *form, lfuse_value *inputs, lfuse__rule_step *s)
{
    int i;

    for (i = 0; form->rule->states[i].name; i++) {
        if (!lfuse__rule_has(&form->rule->states[i], form->switches)) continue;
        if (form->rule->states[i].number)
            inputs[i] = lfuse_list_input(s->g, form->rule->states[i].name, lfuse__optim_type(form), 0);
        else
            inputs[i] = list(s->g, form->rule->states[i].name, form->state);
        s->old[i] = lfuse_cast(inputs[i], lfuse__optim_type(form));
    }
}

lfuse_graph *lfuse__optim_graph(const lfuse__optim_form *form)
{
    const lfuse_type wide = lfuse__optim_type(form);
    lfuse_graph *g = lfuse_graph_create();
    lfuse__rule_step s = { .g = g, .switches = form->switches };
    lfuse_value p, stored, fresh, master, average, inputs[LFUSE__RULE_STATES];
    int i;

    p = list(g, "p", form->parameter);
    stored = list(g, "g", form->gradient);
    declare(form, inputs, &s);
    if (form->switches & LFUSE_OPTIM_MASTERS) master = list(g, "master", wide);
    if (form->switches & LFUSE_OPTIM_AVERAGE) average = list(g, "average", wide);
    numbers(form, g, &s);
    s.p = form->switches & LFUSE_OPTIM_MASTERS ? master : lfuse_cast(p, wide);
    s.grad = gradient(form, g, stored);
    fresh = form->rule->step(&s);
    store(p, fresh, form->parameter);
    for (i = 0; form->rule->states[i].name; i++)
        if (lfuse__rule_has(&form->rule->states[i], form->switches))
            store(inputs[i], s.fresh[i], form->rule->states[i].number ? wide : form->state);
    if (form->switches & LFUSE_OPTIM_MASTERS) lfuse_update(master, fresh);
    if (form->switches & LFUSE_OPTIM_AVERAGE)
        lfuse_update(average, lfuse__rule_moment(average, fresh, lfuse_scalar(g, "ema_decay")));
    if (form->switches & LFUSE_OPTIM_ZERO_GRADIENTS) {
        const lfuse_value none = lfuse_constant(g, 0);
        lfuse_update(stored, lfuse_where(none, stored, none)); /* lfuse_full_like reads nothing that joins it to the step */
    }
    return g;
}

lfuse_graph *lfuse__optim_copy_graph(lfuse_type from, lfuse_type to)
{
    lfuse_graph *g = lfuse_graph_create();

    lfuse_update(list(g, "to", to), lfuse_cast(list(g, "from", from), to));
    return g;
}
