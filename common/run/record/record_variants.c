/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that are replayed with other sizes. Each combination of sizes is a variant: instances of its own for the
 * runs whose sizes they are, the common ones for all others, and a native graph. The last variants are kept, so that a
 * replay with sizes that came before makes nothing and launches the graph that is there; what addresses and numbers
 * have become meanwhile is patched into it as ever. Of variants whose instances hold copies of frozen tensors, packed
 * or as Strassen's sums, one is kept besides the present one.
 */
#include <stdlib.h>
#include <string.h>

#include "common/run/record/recording.h"

enum { LITTLE = 1 << 16 /* bytes that instances prepare: counters of products whose parts meet, small weights */ };

static void free_variant(const lfuse_recording *r, lfuse__recorded_variant *v)
{
    lfuse__native_destroy(v->native);
    for (size_t i = 0; i < r->nruns; i++) lfuse__instance_release(v->instances[i]);
    free(v->instances);
}

void lfuse__variants_free(lfuse_recording *r)
{
    lfuse__variants_forget(r);
    while (r->nvariants) free_variant(r, &r->variants[--r->nvariants]);
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

lfuse_status lfuse__variants_find(lfuse_recording *r, lfuse_stream *s, lfuse__recorded_run *run, int n)
{
    bool suits;

    LFUSE__TRY(lfuse__instance_suits(run->instance, r->bindings, n, run->slots + run->nnames, &suits));
    if (suits) return LFUSE_OK;
    for (int v = 0; v < r->nvariants; v++) LFUSE__TRY(try(r, run, r->variants[v].instances[run->index], n));
    for (const lfuse__recorded_run *other = r->runs; other != run; other = other->following)
        LFUSE__TRY(try(r, run, other->next, n));
    return run->next ? LFUSE_OK : lfuse__instance_make(run->instance->plan, s, r->bindings, n, false, &run->next);
}

void lfuse__variants_forget(lfuse_recording *r)
{
    for (lfuse__recorded_run *run = r->runs; run; run = run->following) {
        lfuse__instance_release(run->next);
        run->next = NULL;
    }
}

/* ---- from one variant to another ---- */

static bool is_present(const lfuse_recording *r, const lfuse__recorded_variant *v)
{
    for (const lfuse__recorded_run *run = r->runs; run; run = run->following)
        if (run->instance != v->instances[run->index]) return false;
    return true;
}

static void drop(lfuse_recording *r, int v)
{
    free_variant(r, &r->variants[v]);
    memmove(&r->variants[v], &r->variants[v + 1], (size_t)(--r->nvariants - v) * sizeof r->variants[0]);
}

/* The graph of the present instances, out of the variant that has them. */
static lfuse__native *take_native(lfuse_recording *r)
{
    for (int v = 0; v < r->nvariants; v++) {
        lfuse__native *native = r->variants[v].native;
        if (!is_present(r, &r->variants[v])) continue;
        r->variants[v].native = NULL;
        drop(r, v);
        return native;
    }
    return NULL;
}

/* Whether the variant alone holds what was made of frozen tensors, which may be as large as these. */
static bool is_large(const lfuse_recording *r, const lfuse__recorded_variant *v)
{
    uint64_t bytes = 0;

    for (const lfuse__recorded_run *run = r->runs; run; run = run->following)
        if (v->instances[run->index] != run->instance)
            bytes += lfuse__instance_prepared_bytes(v->instances[run->index]);
    return bytes > LITTLE;
}

/* Of the large ones the last that was left: a batch of full size and a last one take turns. */
static void keep(lfuse_recording *r, const lfuse__recorded_variant *left)
{
    if (r->nvariants == LFUSE__VARIANTS) drop(r, r->nvariants - 1);
    memmove(&r->variants[1], &r->variants[0], (size_t)r->nvariants++ * sizeof r->variants[0]);
    r->variants[0] = *left;
    for (int v = r->nvariants - 1; v > 0; v--)
        if (is_large(r, &r->variants[v])) drop(r, v);
}

lfuse_status lfuse__variants_take(lfuse_recording *r)
{
    lfuse__recorded_variant left = {.native = r->native};
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
