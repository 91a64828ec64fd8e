/* SPDX-License-Identifier: Apache-2.0 */
/* New bindings of a recording: tensors, numbers, and with them sizes. */
#include <string.h>

#include "common/run/bind/bind.h"
#include "common/run/record/recording.h"

static bool is_used(const lfuse_recording *r, const lfuse_binding *b)
{
    for (const lfuse__recorded_run *run = r->runs; run; run = run->following) {
        const lfuse_plan *plan = run->instance->plan;
        if (b->kind == LFUSE_BIND_SIZE ? lfuse__bind_size(plan, b->name) >= 0 : lfuse__bind_name(plan, b->name, 0) >= 0)
            return true;
    }
    return false;
}

/* A size may be called like a tensor. */
static bool same_name(const lfuse_binding *a, const lfuse_binding *b)
{
    return (a->kind == LFUSE_BIND_SIZE) == (b->kind == LFUSE_BIND_SIZE) && !strcmp(a->name, b->name);
}

static bool binds_numbers(const lfuse_binding *b)
{
    return b->kind == LFUSE_BIND_SCALAR || b->kind == LFUSE_BIND_SCALARS;
}

static lfuse_status check_bindings(const lfuse_recording *r, const lfuse_binding *bindings, int count)
{
    if (count < 0) return lfuse__error(LFUSE_ERR_INVALID, "%d bindings", count);
    for (int i = 0; i < count; i++) {
        const lfuse_binding *b = &bindings[i];
        if (!b->name) return lfuse__error(LFUSE_ERR_BINDING, "binding %d has no name: a replay binds by name", i);
        if (b->kind != LFUSE_BIND_TENSOR && b->kind != LFUSE_BIND_SIZE && !binds_numbers(b))
            return lfuse__error(LFUSE_ERR_BINDING, "\"%s\": a replay can bind tensors, numbers and sizes anew, nothing "
                                "else", b->name);
        if (b->kind == LFUSE_BIND_TENSOR && !b->as.tensor)
            return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound to no tensor (NULL)", b->name);
        for (int j = 0; j < i; j++)
            if (same_name(&bindings[j], b))
                return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound twice, by bindings %d and %d", b->name, j, i);
        if (!is_used(r, b))
            return lfuse__error(LFUSE_ERR_NAME, "no recorded run has the %s \"%s\"",
                                b->kind == LFUSE_BIND_SIZE ? "size" : "name", b->name);
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

/* The binding of the name that is given, or NULL. */
static const lfuse_binding *given(const lfuse_binding *bindings, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (bindings[i].kind != LFUSE_BIND_SIZE && !strcmp(bindings[i].name, name)) return &bindings[i];
    return NULL;
}

/* All that the run is bound to now, into r->bindings. `replaced`: some of it is given. */
static lfuse_status gather(lfuse_recording *r, const lfuse__recorded_run *run, const lfuse_binding *bindings, int count,
                           int *n, bool *replaced)
{
    const lfuse_plan *plan = run->instance->plan;

    *replaced = false;
    for (int i = 0; i < plan->nnames; i++) {
        const lfuse_binding *b = given(bindings, count, plan->names[i].text);
        if (b) LFUSE__TRY(check_replaced(&plan->names[i], &run->slots[i], b));
        r->bindings[i] = b ? *b : lfuse__recorded_binding(&plan->names[i], &run->slots[i]);
        *replaced = *replaced || b;
    }
    for (int i = 0; i < count; i++)
        *replaced = *replaced || (bindings[i].kind == LFUSE_BIND_SIZE && lfuse__bind_size(plan, bindings[i].name) >= 0);
    *n = plan->nnames + lfuse__sizes_repeat(run->instance, run->slots, bindings, count, r->bindings + plan->nnames);
    return LFUSE_OK;
}

/* Resolves the run with what is bound anew, into the other half of its slots; all checks are the run's own. */
static lfuse_status rebind_run(lfuse_recording *r, lfuse_stream *s, lfuse__recorded_run *run,
                               const lfuse_binding *bindings, int count)
{
    bool replaced;
    int n;

    LFUSE__TRY(gather(r, run, bindings, count, &n, &replaced));
    if (!replaced) return LFUSE_OK;
    LFUSE__TRY(lfuse__variants_find(r, s, run, n));
    lfuse_instance *instance = run->next ? run->next : run->instance;
    LFUSE__TRY(lfuse__instance_resolve(instance, r->bindings, n, run->slots + run->nnames));
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
}

lfuse_status lfuse__recording_rebind(lfuse_recording *r, lfuse_stream *s, const lfuse_binding *bindings, int count)
{
    lfuse_status status = check_bindings(r, bindings, count);

    for (lfuse__recorded_run *run = r->runs; run && status == LFUSE_OK; run = run->following) {
        status = rebind_run(r, s, run, bindings, count);
        if (status != LFUSE_OK) status = lfuse__error_prefix(status, "recorded command %zu: ", run->command);
    }
    if (status == LFUSE_OK) status = lfuse__variants_take(r);
    if (status != LFUSE_OK) lfuse__variants_forget(r);
    for (lfuse__recorded_run *run = r->runs; run; run = run->following) {
        if (run->rebound && status == LFUSE_OK) take_rebound(r, run);
        run->rebound = false;
    }
    return status;
}
