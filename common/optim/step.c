/* SPDX-License-Identifier: Apache-2.0 */
/* One step: everything that can be refused is refused before the first launch. */
#include <inttypes.h>

#include "common/base/error.h"
#include "common/optim/optimizer.h"

static lfuse_status check_gradients(const lfuse_optimizer *o, int group, const lfuse_list *g)
{
    const lfuse_list *p = o->groups[group].parameters;
    int64_t m;

    if (!g) return lfuse__error(LFUSE_ERR_INVALID, "the gradients of group %d are NULL", group);
    if (g->dev != o->dev)
        return lfuse__error(LFUSE_ERR_CONTEXT, "the gradients of group %d are of device %s, the optimizer of %s", group,
                            lfuse__device_facts(g->dev)->info.name, lfuse__device_facts(o->dev)->info.name);
    if (g->type != o->groups[group].form.gradient)
        return lfuse__error(LFUSE_ERR_TYPE, "the gradients of group %d are %s, not %s", group, lfuse_type_name(g->type),
                            lfuse_type_name(o->groups[group].form.gradient));
    if (g->count != p->count)
        return lfuse__error(LFUSE_ERR_SHAPE, "group %d has %" PRId64 " parameters and %" PRId64 " gradients", group,
                            p->count, g->count);
    if (g == o->groups[group].gradients) return LFUSE_OK; /* sizes stay */
    LFUSE__TRY(lfuse__list_flat(g, "gradients"));
    for (m = 0; m < p->count; m++)
        if (g->members[m].elements != p->members[m].elements)
            return lfuse__error(LFUSE_ERR_SHAPE, "group %d: parameter %" PRId64 " has %" PRId64 " elements, its "
                                "gradient %" PRId64, group, m, p->members[m].elements, g->members[m].elements);
    for (m = 0; m < p->count && o->groups[group].form.rule->matrices; m++) {
        const lfuse__member *a = &p->members[m], *b = &g->members[m];
        if (a->matrices != b->matrices || a->rows != b->rows || a->columns != b->columns)
            return lfuse__error(LFUSE_ERR_SHAPE, "group %d: parameter %" PRId64 " is %" PRId64 " matrices of %" PRId64
                                " x %" PRId64 ", its gradient %" PRId64 " of %" PRId64 " x %" PRId64, group, m,
                                a->matrices, a->rows, a->columns, b->matrices, b->rows, b->columns);
    }
    return LFUSE_OK;
}

static lfuse_status check_input(const lfuse_optimizer *o, const char *name, unsigned asked, const lfuse_tensor *t)
{
    if (!t && o->switches & asked)
        return lfuse__error(LFUSE_ERR_INVALID, "the optimizer was made for a %s, and none is given", name);
    if (t && !(o->switches & asked))
        return lfuse__error(LFUSE_ERR_INVALID, "a %s for an optimizer that was made without", name);
    if (!t) return LFUSE_OK;
    if (t->range->dev != o->dev)
        return lfuse__error(LFUSE_ERR_CONTEXT, "%s is of device %s, the optimizer of %s", name,
                            lfuse__device_facts(t->range->dev)->info.name, lfuse__device_facts(o->dev)->info.name);
    if (t->type != LFUSE_F32 || t->rank)
        return lfuse__error(LFUSE_ERR_TYPE, "%s is %s of rank %d, not f32 of rank 0", name, lfuse_type_name(t->type),
                            t->rank);
    return LFUSE_OK;
}

static lfuse_status check_inputs(const lfuse_optimizer *o, const lfuse_step_inputs *inputs)
{
    const lfuse_step_inputs none = { 0 }, *in = inputs ? inputs : &none;

    LFUSE__TRY(check_input(o, "grad_scale", LFUSE_OPTIM_GRAD_SCALE, in->grad_scale));
    LFUSE__TRY(check_input(o, "lr", LFUSE_OPTIM_LR_TENSOR, in->lr));
    return check_input(o, "found_inf", LFUSE_OPTIM_FOUND_INF, in->found_inf);
}

static void hold(lfuse__optim_group *group, lfuse_list *gradients)
{
    if (group->gradients == gradients) return;
    lfuse__list_retain(gradients);
    lfuse__list_release(group->gradients);
    group->gradients = gradients;
}

static lfuse_status step(lfuse_optimizer *o, lfuse_stream *stream, int count, lfuse_list *const *gradients,
                         const lfuse_step_inputs *inputs)
{
    int i;

    LFUSE__TRY(lfuse__stream_usable(stream));
    LFUSE__TRY(lfuse__stream_same_device(stream, o->dev, "the optimizer"));
    if (count != o->ngroups)
        return lfuse__error(LFUSE_ERR_INVALID, "gradients of %d groups for an optimizer of %d", count, o->ngroups);
    LFUSE__TRY(check_inputs(o, inputs));
    for (i = 0; i < count; i++) LFUSE__TRY(check_gradients(o, i, gradients[i]));
    for (i = 0; i < count; i++) hold(&o->groups[i], gradients[i]);
    for (i = 0; i < o->nnorms; i++) LFUSE__TRY(lfuse__optim_norm_refresh(o, &o->norms[i], gradients));
    for (i = 0; i < o->nparts; i++)
        LFUSE__TRY(lfuse__optim_part_refresh(o, &o->parts[i], gradients));
    for (i = 0; i < o->nnorms; i++) LFUSE__TRY(lfuse__optim_norm_match(&o->norms[i], stream, inputs));
    for (i = 0; i < o->nparts; i++) LFUSE__TRY(lfuse__optim_part_match(o, &o->parts[i], stream, inputs));
    for (i = 0; i < o->nnorms; i++) LFUSE__TRY(lfuse__plan_run_matched(o->norms[i].plan, stream));
    for (i = 0; i < o->nparts; i++) LFUSE__TRY(lfuse__plan_run_matched(o->parts[i].plan, stream));
    o->steps++;
    for (i = 0; i < count && o->options.rule == LFUSE_RULE_NADAM; i++)
        o->groups[i].product *= lfuse__nadam_momentum(&o->groups[i].hyper, o->steps);
    return LFUSE_OK;
}

lfuse_status lfuse__optimizer_step(lfuse_optimizer *o, lfuse_stream *stream, int count, lfuse_list *const *gradients,
                                   const lfuse_step_inputs *inputs)
{
    return lfuse__recording_note(stream, step(o, stream, count, gradients, inputs));
}
