/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that are replayed with other sizes. Each combination of sizes is a form: instances of its own for the runs
 * whose sizes they are, the common ones for all others, and a native graph. The last forms are kept, so that a replay
 * with sizes that came before makes nothing and launches the graph that is there; what addresses and numbers have
 * become meanwhile is patched into it as ever. Where instances hold frozen tensors in another form (packed, with
 * Strassen's sums), one form is kept beside the present one.
 */
#include <stdlib.h>
#include <string.h>

#include "common/run/record/recording.h"

enum { LITTLE = 1 << 16 /* bytes that instances prepare: counters of products whose parts meet, small weights */ };

static void free_form(const lfuse_recording *r, lfuse__recorded_form *f)
{
    lfuse__native_destroy(f->native);
    for (size_t i = 0; i < r->nruns; i++) lfuse__instance_release(f->instances[i]);
    free(f->instances);
}

void lfuse__forms_free(lfuse_recording *r)
{
    lfuse__forms_forget(r);
    while (r->nforms) free_form(r, &r->forms[--r->nforms]);
}

/* ---- finding an instance ---- */

/* One that serves the same plan and these bindings, into run.next. */
static lfuse_status try(lfuse_recording *r, lfuse__recorded_run *run, lfuse_instance *instance, int n)
{
    bool suits;

    if (run->next || !instance || instance->plan != run->instance->plan) return LFUSE_OK;
    LFUSE__TRY(lfuse__instance_suits(instance, r->bindings, n, run->slots + run->nnames, &suits));
    if (!suits) return LFUSE_OK;
    lfuse__instance_retain(instance);
    run->next = instance;
    return LFUSE_OK;
}

lfuse_status lfuse__forms_find(lfuse_recording *r, lfuse_stream *s, lfuse__recorded_run *run, int n)
{
    bool suits;

    LFUSE__TRY(lfuse__instance_suits(run->instance, r->bindings, n, run->slots + run->nnames, &suits));
    if (suits) return LFUSE_OK;
    for (int f = 0; f < r->nforms; f++) LFUSE__TRY(try(r, run, r->forms[f].instances[run->index], n));
    for (const lfuse__recorded_run *other = r->runs; other != run; other = other->following)
        LFUSE__TRY(try(r, run, other->next, n));
    return run->next ? LFUSE_OK : lfuse__instance_make(run->instance->plan, s, r->bindings, n, false, &run->next);
}

void lfuse__forms_forget(lfuse_recording *r)
{
    for (lfuse__recorded_run *run = r->runs; run; run = run->following) {
        lfuse__instance_release(run->next);
        run->next = NULL;
    }
}

/* ---- from one form to another ---- */

static bool is_present(const lfuse_recording *r, const lfuse__recorded_form *f)
{
    for (const lfuse__recorded_run *run = r->runs; run; run = run->following)
        if (run->instance != f->instances[run->index]) return false;
    return true;
}

static void drop(lfuse_recording *r, int f)
{
    free_form(r, &r->forms[f]);
    memmove(&r->forms[f], &r->forms[f + 1], (size_t)(--r->nforms - f) * sizeof r->forms[0]);
}

/* The graph of the present instances, out of the form that has them. */
static lfuse__native *take_native(lfuse_recording *r)
{
    for (int f = 0; f < r->nforms; f++) {
        lfuse__native *native = r->forms[f].native;
        if (!is_present(r, &r->forms[f])) continue;
        r->forms[f].native = NULL;
        drop(r, f);
        return native;
    }
    return NULL;
}

/* Whether the form alone holds what was made of frozen tensors, which may be as large as these. */
static bool is_large(const lfuse_recording *r, const lfuse__recorded_form *f)
{
    uint64_t bytes = 0;

    for (const lfuse__recorded_run *run = r->runs; run; run = run->following)
        if (f->instances[run->index] != run->instance)
            bytes += lfuse__instance_prepared_bytes(f->instances[run->index]);
    return bytes > LITTLE;
}

/* Of the large ones the last that was left: a batch of full size and a last one take turns. */
static void keep(lfuse_recording *r, const lfuse__recorded_form *left)
{
    if (r->nforms == LFUSE__FORMS) drop(r, r->nforms - 1);
    memmove(&r->forms[1], &r->forms[0], (size_t)r->nforms++ * sizeof r->forms[0]);
    r->forms[0] = *left;
    for (int f = r->nforms - 1; f > 0; f--)
        if (is_large(r, &r->forms[f])) drop(r, f);
}

lfuse_status lfuse__forms_take(lfuse_recording *r)
{
    lfuse__recorded_form left = {.native = r->native};
    bool other = false;

    for (const lfuse__recorded_run *run = r->runs; run; run = run->following) other = other || run->next;
    if (!other) return LFUSE_OK;
    left.instances = calloc(r->nruns, sizeof *left.instances);
    if (!left.instances) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a recording of %zu runs", r->nruns);
    for (lfuse__recorded_run *run = r->runs; run; run = run->following) {
        left.instances[run->index] = run->instance;
        if (run->next) run->instance = run->next;
        else lfuse__instance_retain(run->instance);
        run->next = NULL;
    }
    r->native = take_native(r);
    keep(r, &left);
    r->changed = true;
    r->settled = false;
    return LFUSE_OK;
}
