/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of parameters: by name, or by rank those that are left. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/optim/train.h"

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

lfuse_status lfuse__train_take_groups(lfuse_training *t, int count, const lfuse_training_group *groups)
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
