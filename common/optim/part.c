/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* A part of a step: one plan over some members of one group. */
#include <string.h>

#include "common/base/error.h"
#include "common/optim/optimizer.h"

static lfuse_status make_plan(lfuse_optimizer *o, const lfuse__optim_form *form, const lfuse_plan_options *given,
                              lfuse_plan **plan)
{
    lfuse_plan_options options = { 0 };
    lfuse_graph *g = lfuse__optim_graph(form);
    lfuse_status status;

    if (given) options = *given;
    if (o->options.level != LFUSE_OPTIM_FUSED) options.disable |= LFUSE_NO_FUSION;
    status = lfuse__plan_create(o->dev, g, &options, plan);
    lfuse_graph_destroy(g);
    return status;
}

lfuse_status lfuse__optim_part_create(lfuse_optimizer *o, lfuse__optim_part *part, const lfuse_plan_options *options)
{
    const lfuse__optim_group *group = &o->groups[part->group];
    int i;

    LFUSE__TRY(make_plan(o, &group->form, options, &part->plan));
    for (i = 0; i < group->states.count; i++)
        LFUSE__TRY(lfuse__optim_store_list(&group->store, i, part->first, part->count, &part->states[i]));
    if (!lfuse__optim_counts(o->switches)) return LFUSE_OK;
    LFUSE__TRY(lfuse__tensor_create(o->dev, LFUSE_F64, 0, NULL, &part->steps));
    LFUSE__TRY(lfuse__tensor_create(o->dev, LFUSE_F64, 0, NULL, &part->product));
    return lfuse__optim_part_count(part, 0, 1);
}

lfuse_status lfuse__optim_part_count(const lfuse__optim_part *part, int64_t steps, double product)
{
    if (!part->steps) return LFUSE_OK;
    LFUSE__TRY(lfuse__tensor_fill(part->steps, NULL, (double)steps));
    return lfuse__tensor_fill(part->product, NULL, product);
}

void lfuse__optim_part_free(lfuse__optim_part *part)
{
    int i;

    lfuse__plan_destroy(part->plan);
    lfuse__tensor_release(part->steps);
    lfuse__tensor_release(part->product);
    lfuse__list_release(part->p);
    lfuse__list_release(part->g);
    for (i = 0; i < LFUSE__OPTIM_STATES; i++) lfuse__list_release(part->states[i]);
}

/* The whole group's part takes the lists themselves: plans know the lists of the last runs, and what was replaced. */
static lfuse_status take_all(lfuse__optim_part *part, const lfuse__optim_group *group, lfuse_list *gradients)
{
    lfuse__list_retain(gradients);
    lfuse__list_release(part->g);
    part->g = gradients;
    if (!part->p) lfuse__list_retain(group->parameters);
    part->p = group->parameters;
    return LFUSE_OK;
}

lfuse_status lfuse__optim_part_refresh(const lfuse_optimizer *o, lfuse__optim_part *part, lfuse_list *gradients)
{
    const lfuse__optim_group *group = &o->groups[part->group];
    const lfuse_list *p = group->parameters;

    if (o->options.level != LFUSE_OPTIM_LOOP) return take_all(part, group, gradients);
    if (!part->p) LFUSE__TRY(lfuse__list_slice(p, part->first, part->count, &part->p));
    else if (part->p_version != p->version) lfuse__list_mirror(part->p, p, part->first);
    part->p_version = p->version;
    if (!part->g) LFUSE__TRY(lfuse__list_slice(gradients, part->first, part->count, &part->g));
    else if (part->from != gradients || part->g_version != gradients->version)
        lfuse__list_mirror(part->g, gradients, part->first);
    part->from = gradients;
    part->g_version = gradients->version;
    return LFUSE_OK;
}

static int bind_numbers(const lfuse_optimizer *o, const lfuse__optim_group *group, lfuse_binding *b)
{
    const lfuse__optim_form *form = &group->form;
    const lfuse__rule_hyper *h;
    const int64_t t = o->steps + 1;
    int n = 0;

    for (h = form->rule->hypers; h->field != LFUSE__HYPER_END; h++)
        if (h->field != LFUSE__HYPER_lr || !(form->switches & LFUSE_OPTIM_LR_TENSOR))
            b[n++] = lfuse_bind_number(lfuse__hyper_name(h->field), lfuse__hyper_get(&group->hyper, h->field));
    if (!lfuse__optim_counts(form->switches)) {
        b[n++] = lfuse_bind_number("t", (double)t);
        if (form->rule->step == lfuse__rule_nadam) b[n++] = lfuse_bind_number("product", group->product);
    }
    if (form->clip != LFUSE_CLIP_NONE) b[n++] = lfuse_bind_number("clip_limit", o->options.clip_limit);
    if (form->switches & LFUSE_OPTIM_AVERAGE) b[n++] = lfuse_bind_number("ema_decay", group->hyper.ema_decay);
    return n;
}

/* In the order in which the graph declares its names, which is where they are looked for first. */
lfuse_status lfuse__optim_part_run(lfuse_optimizer *o, lfuse__optim_part *part, lfuse_stream *stream,
                                   const lfuse_step_inputs *inputs)
{
    const lfuse__optim_group *group = &o->groups[part->group];
    lfuse_binding b[LFUSE__OPTIM_BINDINGS];
    int i, n = 0;

    b[n++] = lfuse_bind_list("p", part->p);
    b[n++] = lfuse_bind_list("g", part->g);
    for (i = 0; i < group->states.count; i++) b[n++] = lfuse_bind_list(group->states.name[i], part->states[i]);
    n += bind_numbers(o, group, b + n);
    if (inputs && inputs->grad_scale) b[n++] = lfuse_bind_tensor("grad_scale", inputs->grad_scale);
    if (inputs && inputs->lr) b[n++] = lfuse_bind_tensor("lr", inputs->lr);
    if (inputs && inputs->found_inf) b[n++] = lfuse_bind_tensor("found_inf", inputs->found_inf);
    if (part->steps) b[n++] = lfuse_bind_tensor("steps", part->steps);
    if (part->steps && group->form.rule->step == lfuse__rule_nadam)
        b[n++] = lfuse_bind_tensor("product", part->product);
    return lfuse__plan_run(part->plan, stream, b, n);
}
