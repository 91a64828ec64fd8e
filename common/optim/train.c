/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings: what is asked for is checked, then made. */
#include "common/optim/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

static lfuse_status take_scaling(lfuse_training *t, const lfuse_loss_scaling *given)
{
    lfuse_loss_scaling *s = &t->scaling;

    if (!given) return LFUSE_OK;
    *s = *given;
    if (s->initial == 0) s->initial = 65536;
    if (s->growth == 0) s->growth = 2;
    if (s->backoff == 0) s->backoff = 0.5;
    if (s->interval == 0) s->interval = 2000;
    if (!isfinite(s->initial) || s->initial <= 0)
        return lfuse__error(LFUSE_ERR_INVALID, "loss scaling: initial is %g, not finite and > 0", s->initial);
    if (!isfinite(s->growth) || s->growth < 1)
        return lfuse__error(LFUSE_ERR_INVALID, "loss scaling: growth is %g, not finite and >= 1", s->growth);
    if (!(s->backoff > 0 && s->backoff <= 1))
        return lfuse__error(LFUSE_ERR_INVALID, "loss scaling: backoff is %g, not in (0, 1]", s->backoff);
    if (s->interval < 0)
        return lfuse__error(LFUSE_ERR_INVALID, "loss scaling: interval is %lld, not > 0", (long long)s->interval);
    if (!t->device_counts)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "loss scaling needs f64, which %s has not",
                            lfuse__device_facts(t->dev)->info.name);
    return LFUSE_OK;
}

static lfuse_status take_options(lfuse_training *t, const lfuse_training_options *o)
{
    const unsigned common = LFUSE_OPTIM_MAXIMIZE | LFUSE_OPTIM_MASTERS | LFUSE_OPTIM_AVERAGE;

    t->rule = lfuse__rule_of(o->rule);
    if (!t->rule) return lfuse__error(LFUSE_ERR_INVALID, "%d is no rule", (int)o->rule);
    if (o->switches & ~(common | t->rule->switches))
        return lfuse__error(LFUSE_ERR_INVALID, "%s does not know the switches 0x%x here", t->rule->name,
                            o->switches & ~(common | t->rule->switches));
    LFUSE__TRY(lfuse__optim_check_clip(o->clip, o->clip_limit));
    if (o->micro_batches < 0) return lfuse__error(LFUSE_ERR_INVALID, "%d micro-batches", o->micro_batches);
    t->options = *o;
    t->options.plan = NULL;
    t->options.loss_scaling = NULL;
    t->switches = o->switches;
    return take_scaling(t, o->loss_scaling);
}

/* Which states the parameters have. */
static lfuse_status take_kinds(lfuse_training *t)
{
    int i;

    for (i = 0; i < t->nparameters; i++) {
        lfuse__train_parameter *p = &t->parameters[i];
        LFUSE__TRY(lfuse_rule_states(t->options.rule, t->switches, p->tensor->type, t->options.state_type, &p->nstates,
                                     p->kinds));
    }
    return LFUSE_OK;
}

/* ---- the object ---- */

static lfuse_status describe(lfuse_training *t)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;
    int i;

    for (i = 0; i < 2; i++)
        if (t->plans[i].plan)
            lfuse__strbuf_format(&text, "%s%s", text.length ? "\n" : "", t->plans[i].plan->text.data);
    status = lfuse__strbuf_check(&text);
    t->text = status ? NULL : strdup(text.data);
    if (!status && !t->text) status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", text.length);
    lfuse__strbuf_free(&text);
    return status;
}

static lfuse_status make(lfuse_training *t, const lfuse_graph *g, lfuse_value loss, const lfuse_plan_options *plan)
{
    LFUSE__TRY(take_kinds(t));
    LFUSE__TRY(lfuse__train_states_create(t, (lfuse_type)g->nodes[loss.id].type));
    if (t->options.micro_batches > 1) LFUSE__TRY(lfuse__train_plan_make(t, g, loss, false, plan, &t->plans[0]));
    LFUSE__TRY(lfuse__train_plan_make(t, g, loss, true, plan, &t->plans[1]));
    return describe(t);
}

lfuse_status lfuse__train_create(lfuse_device *dev, const lfuse_graph *graph, lfuse_value loss, int nparameters,
                                 const lfuse_training_parameter *parameters, int ngroups,
                                 const lfuse_training_group *groups, const lfuse_training_options *options,
                                 lfuse_training **training)
{
    lfuse_status status;
    lfuse_training *t;

    LFUSE__TRY(lfuse__device_usable(dev));
    LFUSE__TRY(lfuse__train_check_loss(graph, loss));
    t = calloc(1, sizeof *t);
    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *t);
    t->dev = dev;
    lfuse__device_retain(dev);
    t->device_counts = lfuse__device_facts(dev)->info.f64;
    status = take_options(t, options);
    if (!status) status = lfuse__train_take_parameters(t, graph, loss, nparameters, parameters);
    if (!status) status = lfuse__train_take_groups(t, ngroups, groups);
    if (!status) status = make(t, graph, loss, options->plan);
    if (status) {
        lfuse__train_destroy(t);
        return status;
    }
    *training = t;
    return LFUSE_OK;
}

void lfuse__train_destroy(lfuse_training *t)
{
    int i;

    if (!t || lfuse__forked()) return;
    for (i = 0; i < 2; i++) {
        lfuse__plan_destroy(t->plans[i].plan);
        free(t->plans[i].slots);
    }
    lfuse__train_states_free(t);
    lfuse__device_release(t->dev);
    free(t->parameters);
    free(t->groups);
    free(t->bindings);
    free(t->text);
    free(t);
}

lfuse_status lfuse__train_check_group(const lfuse_training *t, int group)
{
    if (group >= 0 && group < t->ngroups) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_INVALID, "group %d of a training of %d", group, t->ngroups);
}

lfuse_status lfuse__train_set_hyper(lfuse_training *t, int group, const lfuse_hyper *hyper)
{
    LFUSE__TRY(lfuse__train_check_group(t, group));
    LFUSE__TRY(lfuse__hyper_check(t->rule, t->switches, group, hyper));
    t->groups[group].hyper = *hyper;
    return LFUSE_OK;
}

/* All of them or none. */
lfuse_status lfuse__train_set_lr(lfuse_training *t, int group, double lr)
{
    int i;

    if (group != -1) LFUSE__TRY(lfuse__train_check_group(t, group));
    for (i = 0; i < t->ngroups; i++) {
        lfuse_hyper h = t->groups[i].hyper;
        h.lr = lr;
        if (group == -1 || group == i) LFUSE__TRY(lfuse__hyper_check(t->rule, t->switches, i, &h));
    }
    for (i = 0; i < t->ngroups; i++)
        if (group == -1 || group == i) t->groups[i].hyper.lr = lr;
    return LFUSE_OK;
}
