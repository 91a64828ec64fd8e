/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: made of options and groups, checked, their states given their first contents. */
#include "common/optim/optimizer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* ---- what is asked for ---- */

lfuse_status lfuse__optim_check_clip(lfuse_clip clip, double limit)
{
    if ((unsigned)clip > LFUSE_CLIP_GLOBAL_NORM)
        return lfuse__error(LFUSE_ERR_INVALID, "%d is no way to clip", (int)clip);
    if (clip ? !(isfinite(limit) && limit > 0) : limit != 0)
        return lfuse__error(LFUSE_ERR_INVALID, "clip_limit is %g, not %s", limit,
                            clip ? "finite and > 0" : "0, as nothing is clipped");
    return LFUSE_OK;
}

static lfuse_status check_options(const lfuse_optimizer_options *o, const lfuse__rule *rule)
{
    const unsigned own = o->switches & ~(unsigned)LFUSE__OPTIM_COMMON;
    const unsigned common = LFUSE_OPTIM_MAXIMIZE | LFUSE_OPTIM_MASTERS | LFUSE_OPTIM_AVERAGE |
                            LFUSE_OPTIM_ZERO_GRADIENTS | LFUSE_OPTIM_GRAD_SCALE | LFUSE_OPTIM_LR_TENSOR |
                            LFUSE_OPTIM_DEVICE_STEPS | LFUSE_OPTIM_FOUND_INF | LFUSE_OPTIM_PAGED;

    if (own & ~rule->switches)
        return lfuse__error(LFUSE_ERR_INVALID, "%s does not know the switches 0x%x", rule->name, own & ~rule->switches);
    if (o->switches & (unsigned)LFUSE__OPTIM_COMMON & ~common)
        return lfuse__error(LFUSE_ERR_INVALID, "0x%x are no switches",
                            o->switches & (unsigned)LFUSE__OPTIM_COMMON & ~common);
    if ((unsigned)o->level > LFUSE_OPTIM_LOOP) return lfuse__error(LFUSE_ERR_INVALID, "%d is no level", (int)o->level);
    return lfuse__optim_check_clip(o->clip, o->clip_limit);
}

static bool is_type(lfuse_type type, bool none)
{
    return lfuse__is_floating(type) || (none && type == LFUSE_TYPE_NONE);
}

static lfuse_status check_types(const lfuse_optimizer *o, int group)
{
    const lfuse__optim_form *form = &o->groups[group].form;

    if (!is_type(form->parameter, false))
        return lfuse__error(LFUSE_ERR_TYPE, "the parameters of group %d are %s, which is no floating type", group,
                            lfuse_type_name(form->parameter));
    if (!is_type(o->options.gradient_type, true) || !is_type(o->options.state_type, true))
        return lfuse__error(LFUSE_ERR_TYPE, "gradients of type %s and states of type %s: both have to be floating",
                            lfuse_type_name(o->options.gradient_type), lfuse_type_name(o->options.state_type));
    return LFUSE_OK;
}

/* Copies that would be of the parameters' own type are none. */
static void settle_form(const lfuse_optimizer *o, const lfuse__rule *rule, lfuse__optim_group *group)
{
    const lfuse_type p = group->parameters->type;
    lfuse__optim_form *form = &group->form;

    form->rule = rule;
    form->switches = o->switches;
    if (!lfuse__is_narrow(p)) form->switches &= ~(unsigned)LFUSE_OPTIM_MASTERS;
    form->clip = o->options.clip;
    form->parameter = p;
    form->gradient = o->options.gradient_type ? o->options.gradient_type : p;
    form->state = o->options.state_type ? o->options.state_type : lfuse__optim_type(form);
}

static lfuse_status take_group(lfuse_optimizer *o, const lfuse__rule *rule, int i, const lfuse_group *given)
{
    lfuse__optim_group *group = &o->groups[i];

    if (!given->parameters) return lfuse__error(LFUSE_ERR_INVALID, "the parameters of group %d are NULL", i);
    if (given->parameters->dev != o->dev)
        return lfuse__error(LFUSE_ERR_CONTEXT, "the parameters of group %d are of device %s, the optimizer of %s", i,
                            lfuse__device_facts(given->parameters->dev)->info.name,
                            lfuse__device_facts(o->dev)->info.name);
    LFUSE__TRY(lfuse__list_flat(given->parameters, "parameters"));
    LFUSE__TRY(lfuse__hyper_check(rule, o->switches, i, &given->hyper));
    lfuse__list_retain(given->parameters);
    group->parameters = given->parameters;
    group->hyper = given->hyper;
    group->product = 1;
    settle_form(o, rule, group);
    LFUSE__TRY(check_types(o, i));
    lfuse__optim_states_of(&group->form, &group->states);
    return LFUSE_OK;
}

/* ---- states ---- */

static lfuse_status copy_parameters(const lfuse__optim_group *group, int state, lfuse_stream *s)
{
    lfuse_graph *g = lfuse__optim_copy_graph(group->form.parameter, group->states.state[state].type);
    lfuse_list *to = NULL;
    lfuse_status status;

    status = lfuse__optim_store_list(&group->store, state, 0, group->parameters->count, &to);
    if (!status) {
        const lfuse_binding b[] = { lfuse_bind_list("to", to), lfuse_bind_list("from", group->parameters) };
        status = g ? lfuse__evaluate(s, g, b, 2) : lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (a graph)");
    }
    lfuse__list_release(to);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status fill_states(lfuse__optim_group *group, lfuse_stream *s)
{
    int64_t k;
    int i;

    for (i = 0; i < group->states.count; i++) {
        const lfuse__optim_state *state = &group->states.state[i];
        const double first = state->initial < 0 ? 0 : lfuse__hyper_get(&group->hyper, state->initial);
        if (state->copies) LFUSE__TRY(copy_parameters(group, i, s));
        for (k = 0; k < lfuse__optim_store_arenas(&group->store, i) && first != 0; k++)
            if (group->store.tensors[i][k]) LFUSE__TRY(lfuse__tensor_fill(group->store.tensors[i][k], NULL, first));
    }
    return LFUSE_OK;
}

static lfuse_status make_states(lfuse_optimizer *o)
{
    lfuse_stream *s;
    lfuse_status status = LFUSE_OK;
    int i;

    LFUSE__TRY(lfuse__stream_create(o->dev, &s));
    for (i = 0; i < o->ngroups && !status; i++) {
        lfuse__optim_group *group = &o->groups[i];
        status = lfuse__optim_store_create(o->dev, group->parameters, &group->states, o->switches & LFUSE_OPTIM_PAGED,
                                           &group->store);
        if (!status) status = fill_states(group, s);
    }
    if (!status) status = lfuse__stream_sync(s);
    lfuse__stream_destroy(s);
    return status;
}

/* ---- parts ---- */

/* Whether a norm of all gradients is one of several plans, which do not make it then. */
static bool shares_norm(const lfuse_optimizer *o)
{
    return o->options.clip == LFUSE_CLIP_GLOBAL_NORM && (o->ngroups > 1 || o->options.level == LFUSE_OPTIM_LOOP);
}

/*
 * Whether a group is stepped over together with the one before it: not where a rule, or clipping, looks at whole
 * members by launches that know no groups, nor where numbers in device memory are a group's own (NADAM's product).
 */
static bool together(const lfuse_optimizer *o, int i)
{
    const lfuse__optim_form *a = &o->groups[i - 1].form, *b = &o->groups[i].form;
    const bool own = o->options.rule == LFUSE_RULE_NADAM && lfuse__optim_counts(o->switches);

    return a->parameter == b->parameter && !own && o->options.clip != LFUSE_CLIP_MEMBER_NORM &&
           o->options.rule < LFUSE_RULE_LAMB;
}

static lfuse_status add_part(lfuse_optimizer *o, int group, int ngroups, int64_t first, int64_t count,
                             const lfuse_plan_options *options)
{
    lfuse__optim_part *part = &o->parts[o->nparts++];

    part->group = group;
    part->ngroups = ngroups;
    part->first = first;
    part->count = count;
    return lfuse__optim_part_create(o, part, options);
}

static lfuse_status make_parts(lfuse_optimizer *o, const lfuse_plan_options *options)
{
    const bool loop = o->options.level == LFUSE_OPTIM_LOOP;
    int64_t count = 0, m;
    int i, n;

    for (i = 0; i < o->ngroups; i++) count += loop ? o->groups[i].parameters->count : 1;
    if (count > INT32_MAX)
        return lfuse__error(LFUSE_ERR_OVERFLOW, "a loop over %" PRId64 " members", count);
    o->parts = calloc((size_t)count + 1, sizeof *o->parts);
    if (!o->parts) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRId64 " parts of a step)", count);
    if (shares_norm(o)) LFUSE__TRY(lfuse__optim_norms_create(o, options));
    for (i = 0; i < o->ngroups; i += n) {
        const int64_t all = o->groups[i].parameters->count;
        for (n = 1; !loop && n < LFUSE__OPTIM_TOGETHER && i + n < o->ngroups && together(o, i + n); n++) continue;
        if (!loop) LFUSE__TRY(add_part(o, i, n, 0, all, options));
        for (m = 0; loop && m < all; m++) LFUSE__TRY(add_part(o, i, 1, m, 1, options));
    }
    return LFUSE_OK;
}

static lfuse_status describe(lfuse_optimizer *o)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;
    int i;

    for (i = 0; i < o->nnorms; i++) lfuse__strbuf_format(&text, "%s\n", o->norms[i].plan->text.data);
    for (i = 0; i < o->nparts; i++) {
        if (i && o->parts[i].group == o->parts[i - 1].group) continue;
        lfuse__strbuf_format(&text, "%s%s", i ? "\n" : "", o->parts[i].plan->text.data);
    }
    status = lfuse__strbuf_check(&text);
    if (!status) {
        o->text = malloc(text.length + 1);
        if (o->text) memcpy(o->text, text.length ? text.data : "", text.length + 1);
        else status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", text.length + 1);
    }
    lfuse__strbuf_free(&text);
    return status;
}

/* ---- the object ---- */

static unsigned own_switches(int count, const lfuse_group *groups)
{
    int i;

    for (i = 0; i < count; i++)
        if (groups[i].hyper.momentum != 0) return LFUSE_OPTIM_MOMENTUM;
    return 0;
}

/* The names of all states that a group can have. */
static void name_states(lfuse_optimizer *o, const lfuse__rule *rule)
{
    const lfuse__optim_form form = { .rule = rule, .switches = o->switches };

    lfuse__optim_states_of(&form, &o->states);
}

lfuse_status lfuse__optimizer_create(lfuse_device *dev, const lfuse_optimizer_options *options, int count,
                                     const lfuse_group *groups, lfuse_optimizer **optimizer)
{
    const lfuse__rule *rule = lfuse__rule_of(options->rule);
    lfuse_status status = LFUSE_OK;
    lfuse_optimizer *o;
    int i;

    LFUSE__TRY(lfuse__device_usable(dev));
    if (!rule) return lfuse__error(LFUSE_ERR_INVALID, "%d is no rule", (int)options->rule);
    if (count < 1) return lfuse__error(LFUSE_ERR_INVALID, "an optimizer of %d groups", count);
    LFUSE__TRY(check_options(options, rule));
    o = calloc(1, sizeof *o);
    if (!o) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *o);
    o->dev = dev;
    lfuse__device_retain(dev);
    o->options = *options;
    o->options.plan = NULL;
    o->switches = options->switches | own_switches(count, groups);
    name_states(o, rule);
    o->ngroups = count;
    o->groups = calloc((size_t)count, sizeof *o->groups);
    if (!o->groups) status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d groups)", count);
    for (i = 0; i < count && !status; i++) status = take_group(o, rule, i, &groups[i]);
    if (!status) status = make_states(o);
    if (!status) status = make_parts(o, options->plan);
    if (!status) status = describe(o);
    if (status) {
        lfuse__optimizer_destroy(o);
        return status;
    }
    *optimizer = o;
    return LFUSE_OK;
}

void lfuse__optimizer_destroy(lfuse_optimizer *o)
{
    int i;

    if (!o || lfuse__forked()) return;
    /* The newest first: PoCL looks for a kernel that goes among all of its program, and a loop has thousands. */
    for (i = o->nparts - 1; i >= 0; i--) lfuse__optim_part_free(&o->parts[i]);
    lfuse__optim_norms_free(o);
    for (i = 0; i < o->ngroups && o->groups; i++) {
        lfuse__optim_store_free(&o->groups[i].store);
        lfuse__list_release(o->groups[i].parameters);
        lfuse__list_release(o->groups[i].gradients);
    }
    lfuse__device_release(o->dev);
    free(o->parts);
    free(o->groups);
    free(o->text);
    free(o);
}

lfuse_status lfuse__optimizer_check_group(const lfuse_optimizer *o, int group)
{
    if (group >= 0 && group < o->ngroups) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_INVALID, "group %d of an optimizer of %d", group, o->ngroups);
}

lfuse_status lfuse__optimizer_set_hyper(lfuse_optimizer *o, int group, const lfuse_hyper *hyper)
{
    LFUSE__TRY(lfuse__optimizer_check_group(o, group));
    LFUSE__TRY(lfuse__hyper_check(o->groups[group].form.rule, o->switches, group, hyper));
    o->groups[group].hyper = *hyper;
    return LFUSE_OK;
}

/* All of them or none. */
lfuse_status lfuse__optimizer_set_lr(lfuse_optimizer *o, int group, double lr)
{
    int i;

    if (group != -1) LFUSE__TRY(lfuse__optimizer_check_group(o, group));
    for (i = 0; i < o->ngroups; i++) {
        lfuse_hyper h = o->groups[i].hyper;
        h.lr = lr;
        if (group == -1 || group == i) LFUSE__TRY(lfuse__hyper_check(o->groups[i].form.rule, o->switches, i, &h));
    }
    for (i = 0; i < o->ngroups; i++)
        if (group == -1 || group == i) o->groups[i].hyper.lr = lr;
    return LFUSE_OK;
}

lfuse_status lfuse__optimizer_get_steps(const lfuse_optimizer *o, int64_t *steps)
{
    double counted;

    if (!o->nparts || !o->parts[0].steps) {
        *steps = o->steps;
        return LFUSE_OK;
    }
    LFUSE__TRY(lfuse__tensor_read(o->parts[0].steps, NULL, &counted));
    *steps = (int64_t)counted;
    return LFUSE_OK;
}

lfuse_status lfuse__optimizer_set_steps(lfuse_optimizer *o, int64_t steps)
{
    int i;

    if (steps < 0 || steps > INT64_C(1) << 53)
        return lfuse__error(LFUSE_ERR_INVALID, "%" PRId64 " steps are not in 0 ... 2^53", steps);
    o->steps = steps;
    for (i = 0; i < o->ngroups && o->options.rule == LFUSE_RULE_NADAM; i++)
        o->groups[i].product = lfuse__nadam_product(&o->groups[i].hyper, steps);
    for (i = 0; i < o->nparts; i++)
        LFUSE__TRY(lfuse__optim_part_count(&o->parts[i], steps, o->groups[o->parts[i].group].product));
    return LFUSE_OK;
}

lfuse_status lfuse__optimizer_state(lfuse_optimizer *o, int state, int group, int64_t member, lfuse_tensor **tensor)
{
    const lfuse__optim_group *of;
    int i;

    LFUSE__TRY(lfuse__optimizer_check_group(o, group));
    if (state < 0 || state >= o->states.count)
        return lfuse__error(LFUSE_ERR_INVALID, "state %d of an optimizer that has %d", state, o->states.count);
    of = &o->groups[group];
    if (member < 0 || member >= of->parameters->count)
        return lfuse__error(LFUSE_ERR_INVALID, "member %" PRId64 " of group %d, which has %" PRId64, member, group,
                            of->parameters->count);
    for (i = 0; i < of->states.count; i++)
        if (!strcmp(of->states.state[i].name, o->states.state[state].name))
            return lfuse__optim_store_view(&of->store, i, member, tensor);
    return lfuse__error(LFUSE_ERR_INVALID, "group %d, of type %s, has no state \"%s\"", group,
                        lfuse_type_name(of->form.parameter), o->states.state[state].name);
}
