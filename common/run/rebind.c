/* SPDX-License-Identifier: Apache-2.0 */
/* New bindings of a recording. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <string.h>

#include "common/run/recording.h"

static int find_name(const lfuse_plan *plan, const char *name)
{
    for (int i = 0; i < plan->nnames; i++)
        if (!strcmp(plan->names[i].text, name)) return i;
    return -1;
}

static bool is_used(const lfuse_recording *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->commands[i].is_run && find_name(lfuse__instance_plan(r->commands[i].as.run.instance), name) >= 0)
            return true;
    return false;
}

static bool binds_numbers(const lfuse_binding *b)
{
    return b->kind == LFUSE_BIND_NUMBER || b->kind == LFUSE_BIND_NUMBERS;
}

static lfuse_status check_bindings(const lfuse_recording *r, const lfuse_binding *bindings, int count)
{
    if (count < 0) return lfuse__error(LFUSE_ERR_INVALID, "%d bindings", count);
    for (int i = 0; i < count; i++) {
        const lfuse_binding *b = &bindings[i];
        if (!b->name) return lfuse__error(LFUSE_ERR_BINDING, "binding %d has no name: a replay binds by name", i);
        if (b->kind != LFUSE_BIND_TENSOR && !binds_numbers(b))
            return lfuse__error(LFUSE_ERR_BINDING, "\"%s\": a replay can bind tensors and numbers anew, nothing else",
                                b->name);
        if (b->kind == LFUSE_BIND_TENSOR && !b->as.tensor)
            return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound to no tensor (NULL)", b->name);
        for (int j = 0; j < i; j++)
            if (!strcmp(bindings[j].name, b->name))
                return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound twice, by bindings %d and %d", b->name, j, i);
        if (!is_used(r, b->name)) return lfuse__error(LFUSE_ERR_NAME, "no recorded run has the name \"%s\"", b->name);
    }
    return LFUSE_OK;
}

static lfuse_status check_replaced(const lfuse__name *name, const lfuse__slot *slot, const lfuse_binding *b)
{
    if (name->kind == LFUSE__NAME_FROZEN)
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is frozen: it was bound when its instance was made", b->name);
    if (slot->list)
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is a list: replace its members by lfuse_list_replace", b->name);
    if (binds_numbers(b) != (name->kind == LFUSE__NAME_SCALAR))
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is a %s", b->name,
                            name->kind == LFUSE__NAME_SCALAR ? "number" : "tensor");
    return LFUSE_OK;
}

/* Resolves the run with what is bound anew, into the other half of its slots; all checks are the run's own. */
static lfuse_status rebind_run(lfuse_recording *r, lfuse__recorded_run *run, const lfuse_binding *bindings, int count)
{
    const lfuse_plan *plan = lfuse__instance_plan(run->instance);
    int n = 0, replaced = 0;

    for (int i = 0; i < plan->nnames; i++) {
        const lfuse__name *name = &plan->names[i];
        const lfuse_binding *b = NULL;
        for (int j = 0; j < count && !b; j++)
            if (!strcmp(bindings[j].name, name->text)) b = &bindings[j];
        if (b) {
            LFUSE__TRY(check_replaced(name, &run->slots[i], b));
            r->bindings[n++] = *b;
            replaced++;
        } else if (name->kind != LFUSE__NAME_FROZEN) {
            r->bindings[n++] = lfuse__recorded_binding(name, &run->slots[i]);
        }
    }
    if (!replaced) return LFUSE_OK;
    LFUSE__TRY(lfuse__instance_resolve(run->instance, r->bindings, n, run->slots + run->nnames));
    run->rebound = true;
    return LFUSE_OK;
}

static bool same_slot(const lfuse__slot *a, const lfuse__slot *b)
{
    return a->tensor == b->tensor && a->list == b->list && !memcmp(&a->number, &b->number, sizeof a->number) &&
           a->count == b->count && (!a->count || !memcmp(a->numbers, b->numbers, (size_t)a->count * sizeof(double)));
}

static void take_rebound(lfuse_recording *r, lfuse__recorded_run *run)
{
    const size_t n = (size_t)run->nnames;

    for (size_t i = 0; i < n; i++) {
        if (!same_slot(&run->slots[i], &run->slots[n + i])) r->changed = true;
        if (run->slots[i].tensor != run->slots[n + i].tensor) r->settled = false;
    }
    lfuse__slots_retain(run->slots + n, run->nnames);
    lfuse__slots_release(run->slots, run->nnames);
    memcpy(run->slots, run->slots + n, n * sizeof *run->slots);
    lfuse__recorded_keep_numbers(run);
    run->rebound = false;
}

lfuse_status lfuse__recording_rebind(lfuse_recording *r, const lfuse_binding *bindings, int count)
{
    lfuse_status status = check_bindings(r, bindings, count);

    for (size_t i = 0; i < r->count && status == LFUSE_OK; i++) {
        if (!r->commands[i].is_run) continue;
        status = rebind_run(r, &r->commands[i].as.run, bindings, count);
        if (status != LFUSE_OK) status = lfuse__error_prefix(status, "recorded command %zu: ", i);
    }
    for (size_t i = 0; i < r->count; i++) {
        lfuse__recorded_run *run = &r->commands[i].as.run;
        if (!r->commands[i].is_run || !run->rebound) continue;
        if (status == LFUSE_OK)
            take_rebound(r, run);
        else
            run->rebound = false;
    }
    return status;
}
