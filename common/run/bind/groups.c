/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of members with numbers of their own: which lists have any, and which scalars may have as many numbers. */
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/bind/bind.h"

enum { ANY = -1 };

/* Lists that nobody binds have none. */
static const lfuse_list *list_of(const lfuse_instance *in, int name)
{
    if (name >= in->plan->nnames) return NULL;
    return in->kept[name].list && in->kept[name].list->groups ? in->kept[name].list : NULL;
}

/* The name of what the step walks, or of its operand i - 1; -1: that is no list. */
static int list_name(const lfuse__step *step, int i)
{
    const lfuse__operand *o = i ? &step->operands[i - 1] : NULL;

    if (!o) return lfuse__step_list(step);
    return o->place == LFUSE__PLACE_BOUND && o->span != LFUSE__SPAN_TENSOR ? o->index : -1;
}

const lfuse_list *lfuse__step_groups(const lfuse_instance *in, const lfuse__step *step)
{
    const lfuse_list *l = NULL;
    int i;

    if (lfuse__step_list(step) < 0) return NULL;
    for (i = 0; i < step->body.ninstr; i++) /* what all members give together has one number of each scalar */
        if (step->body.instr[i].kind == LFUSE__I_TOTAL) return NULL;
    for (i = 0; i <= step->noperands && !l; i++)
        if (list_name(step, i) >= 0) l = list_of(in, list_name(step, i));
    return l;
}

static const char *name_of(const lfuse_instance *in, const lfuse_list *l)
{
    int i;

    for (i = 0; in->kept[i].list != l; i++) continue;
    return in->plan->names[i].text;
}

static lfuse_status check_step(lfuse_instance *in, const lfuse__step *step)
{
    const lfuse_list *l = lfuse__step_groups(in, step), *other;
    int i;

    for (i = 0; l && i <= step->noperands; i++) {
        other = list_name(step, i) >= 0 ? list_of(in, list_name(step, i)) : NULL;
        if (!other || (other->groups == l->groups &&
                       !memcmp(other->group_first, l->group_first, (size_t)l->groups * sizeof *l->group_first)))
            continue;
        if (other->groups != l->groups)
            return lfuse__error(LFUSE_ERR_SHAPE, "list \"%s\" has %" PRId64 " groups, \"%s\" %" PRId64,
                                name_of(in, l), l->groups, name_of(in, other), other->groups);
        return lfuse__error(LFUSE_ERR_SHAPE, "the groups of the lists \"%s\" and \"%s\" have other members",
                            name_of(in, l), name_of(in, other));
    }
    return LFUSE_OK;
}

/* Every scalar that the number is made of may have so many numbers: the step has so many groups, 0 of none. */
static void limit(lfuse_instance *in, int32_t node, int64_t groups)
{
    const lfuse__node *n = &in->body->graph->nodes[node];
    int i;

    if (n->kind == LFUSE__SCALAR) {
        int64_t *count = &in->group_counts[n->name];
        /* Where two steps differ, one number is what suits both. */
        *count = *count == ANY || *count == groups ? groups : 0;
    }
    for (i = 0; i < n->nin; i++) limit(in, n->in[i], groups);
}

static lfuse_status limit_step(lfuse_instance *in, const lfuse__step *step)
{
    const lfuse_list *l = lfuse__step_groups(in, step);
    lfuse__step *children;
    const int nchildren = lfuse__step_children(step, &children);
    int i;

    if (l && l->groups > in->groups) in->groups = l->groups;
    for (i = 0; i < step->body.nnumbers; i++)
        limit(in, in->body->numbers[step->numbers[i]], l ? l->groups : 0);
    for (i = 0; step->kind == LFUSE__STEP_GEMM && i < 2; i++) {
        const int number = i ? step->product.beta : step->product.alpha;
        if (number >= 0) limit(in, in->body->numbers[number], 0);
    }
    for (i = 0; i < nchildren; i++) LFUSE__TRY(limit_step(in, &children[i]));
    return LFUSE_OK;
}

/* Alternatives take the same numbers. */
static lfuse_status each_step(lfuse_instance *in, lfuse_status (*visit)(lfuse_instance *, const lfuse__step *))
{
    int i, k;

    for (i = 0; i < in->body->nstages; i++)
        for (k = 0; k < in->body->stages[i].alternatives[0].nsteps; k++)
            LFUSE__TRY(visit(in, &in->body->stages[i].alternatives[0].steps[k]));
    return LFUSE_OK;
}

lfuse_status lfuse__groups_find(lfuse_instance *in)
{
    const size_t names = (size_t)in->plan->nnames;
    bool any = false;
    size_t i;

    for (i = 0; i < names; i++) any = any || list_of(in, (int)i);
    if (!any) return LFUSE_OK;
    LFUSE__TRY(each_step(in, check_step));
    in->group_counts = lfuse__arena_array(&in->memory, names, sizeof *in->group_counts);
    if (!in->group_counts) return LFUSE_ERR_MEMORY;
    for (i = 0; i < names; i++) in->group_counts[i] = ANY;
    LFUSE__TRY(each_step(in, limit_step));
    if (!in->groups) return LFUSE_OK;
    in->group_scalars = lfuse__arena_array(&in->memory, (size_t)in->groups * names, sizeof *in->group_scalars);
    return in->group_scalars ? LFUSE_OK : LFUSE_ERR_MEMORY;
}

lfuse_status lfuse__groups_check(const lfuse_instance *in, lfuse__slot *slots)
{
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        const int64_t count = in->group_counts ? in->group_counts[i] : 0;
        if (count == ANY) slots[i].numbers = NULL, slots[i].count = 0;
        if (!slots[i].numbers || count == slots[i].count) continue;
        if (count)
            return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound to %" PRId64 " numbers, and its lists have %" PRId64
                                " groups", in->plan->names[i].text, slots[i].count, count);
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound to %" PRId64 " numbers, and not all that it meets are "
                            "lists with as many groups", in->plan->names[i].text, slots[i].count);
    }
    return LFUSE_OK;
}

bool lfuse__groups_take(lfuse_instance *in, const lfuse__slot *slots)
{
    bool other = false;
    int64_t g;
    int i;

    for (g = 0; g < in->groups; g++)
        for (i = 0; i < in->plan->nnames; i++) {
            const double number = slots[i].numbers && g < slots[i].count ? slots[i].numbers[g] : slots[i].number;
            double *own = &in->group_scalars[g * in->plan->nnames + i];
            other = other || memcmp(own, &number, sizeof number);
            *own = number;
        }
    return other;
}
