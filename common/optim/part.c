/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a step: one plan over groups of one form, or in loops over one member. */

#include "common/base/error.h"
#include "common/optim/optimizer.h"

lfuse_status lfuse__optim_plan(lfuse_optimizer *o, lfuse_graph *g, const lfuse_plan_options *given, lfuse_plan **plan)
{
    lfuse_plan_options options = { 0 };
    lfuse_status status;

    if (!g) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (a graph)");
    if (given) options = *given;
    if (o->options.level != LFUSE_OPTIM_FUSED) options.disable |= LFUSE_NO_FUSION;
    status = lfuse__plan_create(o->dev, g, &options, plan);
    lfuse_graph_destroy(g);
    return status;
}

/*
 * Lists of several groups behind each other, divided as the groups are: all of a part's are, because a plan that is not
 * fused has steps that meet one of them alone.
 */
static lfuse_status join_groups(const lfuse_optimizer *o, const lfuse__optim_part *part, lfuse_list *const *of,
                                lfuse_list **list)
{
    int64_t first[LFUSE__OPTIM_TOGETHER], at = 0;
    lfuse_list *joined;
    lfuse_status status;
    int k;

    for (k = 0; k < part->ngroups; k++) {
        first[k] = at;
        at += o->groups[part->group + k].parameters->count;
    }
    LFUSE__TRY(lfuse__list_join(part->ngroups, of, &joined));
    status = lfuse__list_set_groups(joined, part->ngroups, first);
    if (status) lfuse__list_release(joined);
    else *list = joined;
    return status;
}

/* A state of all members that the part steps over. */
static lfuse_status join_states(const lfuse_optimizer *o, const lfuse__optim_part *part, int state, lfuse_list **list)
{
    lfuse_list *of[LFUSE__OPTIM_TOGETHER] = { NULL };
    lfuse_status status = LFUSE_OK;
    int k;

    if (part->ngroups == 1)
        return lfuse__optim_store_list(&o->groups[part->group].store, state, part->first, part->count, list);
    for (k = 0; k < part->ngroups && !status; k++) {
        const lfuse__optim_group *group = &o->groups[part->group + k];
        status = lfuse__optim_store_list(&group->store, state, 0, group->parameters->count, &of[k]);
    }
    if (!status) status = join_groups(o, part, of, list);
    for (k = 0; k < part->ngroups; k++) lfuse__list_release(of[k]);
    return status;
}

lfuse_status lfuse__optim_part_create(lfuse_optimizer *o, lfuse__optim_part *part, const lfuse_plan_options *options)
{
    const lfuse__optim_group *group = &o->groups[part->group];
    int i;

    LFUSE__TRY(lfuse__optim_plan(o, lfuse__optim_graph(&group->form), options, &part->plan));
    for (i = 0; i < group->states.count; i++) LFUSE__TRY(join_states(o, part, i, &part->states[i]));
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

static lfuse_status join_lists(const lfuse_optimizer *o, lfuse__optim_part *part, lfuse_list *const *gradients)
{
    lfuse_list *parameters[LFUSE__OPTIM_TOGETHER], *p = NULL, *g = NULL;
    lfuse_status status;
    int k;

    for (k = 0; k < part->ngroups; k++) parameters[k] = o->groups[part->group + k].parameters;
    status = join_groups(o, part, parameters, &p);
    if (!status) status = join_groups(o, part, gradients + part->group, &g);
    if (status) {
        lfuse__list_release(p);
        return status;
    }
    part->p = p;
    part->g = g;
    return LFUSE_OK;
}

void lfuse__optim_follow(lfuse_list *to, int64_t at, const lfuse_list *from, int64_t first, int64_t count,
                         lfuse__optim_trace *trace)
{
    if (trace->list == from && trace->version == from->version) return;
    if (trace->list) lfuse__list_mirror(to, at, from, first, count);
    *trace = (lfuse__optim_trace){ from, from->version };
}

lfuse_status lfuse__optim_part_refresh(const lfuse_optimizer *o, lfuse__optim_part *part,
                                       lfuse_list *const *gradients)
{
    const bool loop = o->options.level == LFUSE_OPTIM_LOOP;
    int64_t at = 0;
    int k;

    if (!loop && part->ngroups == 1) return take_all(part, &o->groups[part->group], gradients[part->group]);
    if (!part->p && loop)
        LFUSE__TRY(lfuse__list_slice(o->groups[part->group].parameters, part->first, part->count, &part->p));
    if (!part->g && loop) LFUSE__TRY(lfuse__list_slice(gradients[part->group], part->first, part->count, &part->g));
    if (!part->p) LFUSE__TRY(join_lists(o, part, gradients));
    for (k = 0; k < part->ngroups; k++) {
        const lfuse_list *p = o->groups[part->group + k].parameters;
        const int64_t count = loop ? part->count : p->count;
        lfuse__optim_follow(part->p, at, p, part->first, count, &part->p_from[k]);
        lfuse__optim_follow(part->g, at, gradients[part->group + k], part->first, count, &part->g_from[k]);
        at += count;
    }
    return LFUSE_OK;
}

/* A scalar, of each group that the part steps over; END stands for NAdam's product. */
static lfuse_binding bind_number(const lfuse_optimizer *o, lfuse__optim_part *part, const char *name, int slot,
                                 lfuse__hyper_field field)
{
    double *values = part->numbers[slot];
    int k;

    for (k = 0; k < part->ngroups; k++) {
        const lfuse__optim_group *group = &o->groups[part->group + k];
        values[k] = field == LFUSE__HYPER_END ? group->product : lfuse__hyper_get(&group->hyper, field);
    }
    return part->ngroups == 1 ? lfuse_bind_scalar(name, values[0]) : lfuse_bind_scalars(name, part->ngroups, values);
}

static int bind_numbers(const lfuse_optimizer *o, lfuse__optim_part *part, lfuse_binding *b)
{
    const lfuse__optim_form *form = &o->groups[part->group].form;
    const lfuse__rule_hyper *h;
    int n = 0, slot = 0;

    for (h = form->rule->hypers; h->field != LFUSE__HYPER_END; h++)
        if (h->field != LFUSE__HYPER_lr || !(form->switches & LFUSE_OPTIM_LR_TENSOR))
            b[n++] = bind_number(o, part, lfuse__hyper_name(h->field), slot++, h->field);
    if (!lfuse__optim_counts(form->switches)) {
        b[n++] = lfuse_bind_scalar("t", (double)(o->steps + 1));
        if (form->rule->product) b[n++] = bind_number(o, part, "product", slot++, LFUSE__HYPER_END);
    }
    if (form->clip != LFUSE_CLIP_NONE) b[n++] = lfuse_bind_scalar("clip_limit", o->options.clip_limit);
    if (form->switches & LFUSE_OPTIM_AVERAGE)
        b[n++] = bind_number(o, part, "ema_decay", slot++, LFUSE__HYPER_ema_decay);
    return n;
}

/* In the order in which the graph declares its names, which is where they are looked for first. */
lfuse_status lfuse__optim_part_match(lfuse_optimizer *o, lfuse__optim_part *part, lfuse_stream *stream,
                                     const lfuse_step_inputs *inputs)
{
    const lfuse__optim_group *group = &o->groups[part->group];
    lfuse_binding b[LFUSE__OPTIM_BINDINGS];
    int i, n = 0;

    b[n++] = lfuse_bind_list("p", part->p);
    b[n++] = lfuse_bind_list("g", part->g);
    for (i = 0; i < group->states.count; i++) b[n++] = lfuse_bind_list(group->states.state[i].name, part->states[i]);
    n += bind_numbers(o, part, b + n);
    if (inputs && inputs->grad_scale) b[n++] = lfuse_bind_tensor("grad_scale", inputs->grad_scale);
    for (i = 0; i < o->nnorms; i++) b[n++] = lfuse_bind_tensor(lfuse__optim_sum_name(i), o->norms[i].sum);
    if (inputs && inputs->lr) b[n++] = lfuse_bind_tensor("lr", inputs->lr);
    if (inputs && inputs->found_inf) b[n++] = lfuse_bind_tensor("found_inf", inputs->found_inf);
    if (part->steps) b[n++] = lfuse_bind_tensor("steps", part->steps);
    if (part->steps && group->form.rule->product)
        b[n++] = lfuse_bind_tensor("product", part->product);
    return lfuse__plan_match(part->plan, stream, b, n);
}
