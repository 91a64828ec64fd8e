/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings: what is asked for is checked, then made. */
#include "common/optim/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/graph/build.h"

/* ---- options ---- */

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

/* ---- parameters ---- */

static const lfuse__name *name_of(const lfuse_graph *g, const char *text)
{
    int32_t i;

    for (i = 0; i < g->nnames; i++)
        if (!strcmp(g->names[i].text, text)) return &g->names[i];
    return NULL;
}

static lfuse_status check_tensor(const lfuse_training *t, const char *name, const lfuse__node *n,
                                 const lfuse_tensor *tensor)
{
    int i;

    if (tensor->range->dev != t->dev)
        return lfuse__error(LFUSE_ERR_CONTEXT, "the tensor of parameter \"%s\" is of device %s, the training of %s",
                            name, lfuse__device_facts(tensor->range->dev)->info.name,
                            lfuse__device_facts(t->dev)->info.name);
    if (n->type != tensor->type)
        return lfuse__error(LFUSE_ERR_TYPE, "the tensor of parameter \"%s\" is %s, the input %s", name,
                            lfuse_type_name(tensor->type), lfuse_type_name((lfuse_type)n->type));
    if (n->rank != tensor->rank)
        return lfuse__error(LFUSE_ERR_SHAPE, "the tensor of parameter \"%s\" has rank %d, the input %d", name,
                            tensor->rank, n->rank);
    for (i = 0; i < n->rank; i++)
        if (lfuse__size_is_number(n->shape[i]) && n->shape[i] != tensor->shape[i])
            return lfuse__error(LFUSE_ERR_SHAPE, "extent %d of parameter \"%s\" is %lld in its tensor, %lld in the "
                                "graph", i, name, (long long)tensor->shape[i], (long long)n->shape[i]);
    return LFUSE_OK;
}

static lfuse_status take_parameter(lfuse_training *t, const lfuse_graph *g, const bool *leads, int i,
                                   const lfuse_training_parameter *given)
{
    lfuse__train_parameter *p = &t->parameters[i];
    const lfuse__node *n;
    const lfuse__name *name;
    int k;

    if (!given->name || !given->tensor)
        return lfuse__error(LFUSE_ERR_INVALID, "parameter %d: its %s is NULL", i, given->name ? "tensor" : "name");
    name = name_of(g, given->name);
    if (!name) return lfuse__error(LFUSE_ERR_NAME, "the graph has no input \"%.64s\"", given->name);
    if (name->kind != LFUSE__NAME_INPUT)
        return lfuse__error(LFUSE_ERR_INVALID, "\"%s\" is no input that can be updated, but %s", name->text,
                            name->kind == LFUSE__NAME_FROZEN   ? "frozen"
                            : name->kind == LFUSE__NAME_LIST   ? "a list"
                            : name->kind == LFUSE__NAME_SCALAR ? "a scalar"
                                                               : "an output");
    n = &g->nodes[name->node];
    if (!lfuse__is_floating((lfuse_type)n->type))
        return lfuse__error(LFUSE_ERR_TYPE, "parameter \"%s\" is %s, which is not floating", name->text,
                            lfuse_type_name((lfuse_type)n->type));
    if (name->update >= 0) return lfuse__error(LFUSE_ERR_INVALID, "the graph updates \"%s\" itself", name->text);
    if (!leads[name->node]) return lfuse__error(LFUSE_ERR_INVALID, "the loss does not depend on \"%s\"", name->text);
    for (k = 0; k < i; k++)
        if (t->parameters[k].node == name->node)
            return lfuse__error(LFUSE_ERR_NAME, "parameter \"%s\" is given twice", name->text);
    LFUSE__TRY(check_tensor(t, name->text, n, given->tensor));
    memcpy(p->name, name->text, sizeof p->name);
    p->node = name->node;
    p->group = -1;
    lfuse__tensor_retain(given->tensor);
    p->tensor = given->tensor;
    return LFUSE_OK;
}

/* leads[node]: the loss is computed from it. Operands come before what is made of them. */
static void find_leads(const lfuse_graph *g, int32_t loss, bool *leads)
{
    int32_t node;
    int i;

    leads[loss] = true;
    for (node = loss; node >= 0; node--)
        for (i = 0; leads[node] && i < g->nodes[node].nin; i++) leads[g->nodes[node].in[i]] = true;
}

static lfuse_status take_parameters(lfuse_training *t, const lfuse_graph *g, lfuse_value loss, int count,
                                    const lfuse_training_parameter *parameters)
{
    bool *leads;
    lfuse_status status = LFUSE_OK;
    int i;

    if (count < 1) return lfuse__error(LFUSE_ERR_INVALID, "a training of %d parameters", count);
    t->parameters = calloc((size_t)count, sizeof *t->parameters);
    leads = calloc((size_t)g->nnodes, sizeof *leads);
    if (!t->parameters || !leads) {
        free(leads);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d parameters)", count);
    }
    find_leads(g, loss.id, leads);
    for (i = 0; i < count && !status; i++) {
        t->nparameters = i + 1;
        status = take_parameter(t, g, leads, i, &parameters[i]);
    }
    free(leads);
    return status;
}

static lfuse_status check_loss(const lfuse_graph *g, lfuse_value loss)
{
    const lfuse__node *n;

    LFUSE__TRY(lfuse_graph_check(g));
    if (loss.graph != g || loss.id < 0 || loss.id >= g->nnodes)
        return lfuse__error(LFUSE_ERR_INVALID, "the loss is no value of the graph");
    n = &g->nodes[loss.id];
    if (n->list || n->rank)
        return lfuse__error(LFUSE_ERR_SHAPE, "the loss is no scalar, but %s", lfuse__describe(g, loss.id).text);
    if (!lfuse__is_floating((lfuse_type)n->type))
        return lfuse__error(LFUSE_ERR_TYPE, "the loss is %s, which is not floating", lfuse__describe(g, loss.id).text);
    return LFUSE_OK;
}

/* ---- groups ---- */

static lfuse_status join(lfuse__train_parameter *p, int group)
{
    if (p->group >= 0)
        return lfuse__error(LFUSE_ERR_INVALID, "parameter \"%s\" is in the groups %d and %d", p->name, p->group, group);
    p->group = group;
    return LFUSE_OK;
}

static lfuse_status join_named(lfuse_training *t, int group, const lfuse_training_group *given)
{
    int i, k;

    if (given->count < 0 || !given->names || given->lowest_rank || given->highest_rank)
        return lfuse__error(LFUSE_ERR_INVALID, "group %d: %d names%s, ranks %d to %d", group, given->count,
                            given->names ? "" : " (NULL)", given->lowest_rank, given->highest_rank);
    for (i = 0; i < given->count; i++) {
        if (!given->names[i]) return lfuse__error(LFUSE_ERR_INVALID, "group %d: name %d is NULL", group, i);
        for (k = 0; k < t->nparameters && strcmp(t->parameters[k].name, given->names[i]); k++) continue;
        if (k == t->nparameters)
            return lfuse__error(LFUSE_ERR_NAME, "group %d: \"%.64s\" is no parameter", group, given->names[i]);
        LFUSE__TRY(join(&t->parameters[k], group));
    }
    return LFUSE_OK;
}

static lfuse_status join_ranks(lfuse_training *t, int group, const lfuse_training_group *given, const bool *named)
{
    const int highest = given->highest_rank ? given->highest_rank : LFUSE_MAX_RANK;
    int k;

    if (given->lowest_rank < 0 || given->highest_rank < 0 || given->lowest_rank > highest)
        return lfuse__error(LFUSE_ERR_INVALID, "group %d: ranks %d to %d", group, given->lowest_rank,
                            given->highest_rank);
    for (k = 0; k < t->nparameters; k++) {
        const int rank = t->parameters[k].tensor->rank;
        if (!named[k] && rank >= given->lowest_rank && rank <= highest) LFUSE__TRY(join(&t->parameters[k], group));
    }
    return LFUSE_OK;
}

/* Names first, wherever their groups are. */
static lfuse_status join_all(lfuse_training *t, int count, const lfuse_training_group *groups, bool *named)
{
    int i;

    for (i = 0; i < count; i++)
        if (groups[i].count) LFUSE__TRY(join_named(t, i, &groups[i]));
    for (i = 0; i < t->nparameters; i++) named[i] = t->parameters[i].group >= 0;
    for (i = 0; i < count; i++)
        if (!groups[i].count) LFUSE__TRY(join_ranks(t, i, &groups[i], named));
    for (i = 0; i < t->nparameters; i++)
        if (t->parameters[i].group < 0)
            return lfuse__error(LFUSE_ERR_INVALID, "parameter \"%s\" is in no group", t->parameters[i].name);
    return LFUSE_OK;
}

static lfuse_status take_groups(lfuse_training *t, int count, const lfuse_training_group *groups)
{
    lfuse_training_group all = { .count = 0 };
    lfuse_status status;
    bool *named;
    int i;

    if (count < 0 || (count && !groups)) return lfuse__error(LFUSE_ERR_INVALID, "%d groups%s", count,
                                                             groups ? "" : " (NULL)");
    if (!count) {
        LFUSE__TRY(lfuse_hyper_defaults(t->options.rule, &all.hyper));
        groups = &all;
        count = 1;
    }
    t->groups = calloc((size_t)count, sizeof *t->groups);
    named = calloc((size_t)t->nparameters, sizeof *named);
    status = t->groups && named ? LFUSE_OK : lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d groups)", count);
    if (!status) {
        t->ngroups = count;
        status = join_all(t, count, groups, named);
    }
    free(named);
    for (i = 0; i < count && !status; i++)
        if (groups[i].hyper.momentum != 0) t->switches |= LFUSE_OPTIM_MOMENTUM;
    for (i = 0; i < count && !status; i++) {
        t->groups[i].hyper = groups[i].hyper;
        t->groups[i].product_before = 1;
        status = lfuse__hyper_check(t->rule, t->switches, i, &groups[i].hyper);
    }
    return status;
}

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
    LFUSE__TRY(check_loss(graph, loss));
    t = calloc(1, sizeof *t);
    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *t);
    t->dev = dev;
    lfuse__device_retain(dev);
    t->device_counts = lfuse__device_facts(dev)->info.f64;
    status = take_options(t, options);
    if (!status) status = take_parameters(t, graph, loss, nparameters, parameters);
    if (!status) status = take_groups(t, ngroups, groups);
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
