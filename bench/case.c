/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/bench.h"

/* Where the driver does not tell the last-level cache's size: OpenCL's answer may be that of another level. */
static const double assumed_cache = 64e6;

static double cache_bytes(const bench_device *d)
{
    return (double)d->info.cache_bytes > assumed_cache ? (double)d->info.cache_bytes : assumed_cache;
}

void bench_choose_sets(const bench_device *d, bench_case *c, double bytes, int most)
{
    /* A virtual machine may report the cache of its whole host: memory is not filled for that. */
    double room = 0.05 * (double)d->info.memory_bytes, wanted = 3 * cache_bytes(d);
    int sets = (int)((wanted < room ? wanted : room) / bytes) + 1;
    c->set_bytes = bytes;
    c->nsets = sets < 2 ? 2 : sets > most ? most : sets;
}

int bench_sets(const bench_case *c, const bench_variant *v)
{
    return v->nsets ? v->nsets : c->nsets;
}

bool bench_is_cold(const bench_device *d, const bench_case *c, int sets)
{
    return sets * c->set_bytes > 3 * cache_bytes(d);
}

bench_variant *bench_add(bench_case *c, const char *name, void *state, lfuse_status (*run)(void *, int),
                         void (*destroy)(void *))
{
    if (c->nvariants == BENCH_MAX_VARIANTS) return NULL;
    bench_variant *v = &c->variants[c->nvariants++];
    *v = (bench_variant){.name = name, .state = state, .run = run, .destroy = destroy, .first_us = -1, .scratch = -1,
                         .max_err = -1, .tol = -1, .ok = true};
    return v;
}

void bench_leave_out(bench_case *c, const char *name, const char *reason)
{
    if (c->nleft == BENCH_MAX_VARIANTS) return;
    bench_left_out *l = &c->left[c->nleft++];
    l->name = name;
    snprintf(l->reason, sizeof l->reason, "%s", reason);
}

bool bench_is_missing(lfuse_status status)
{
    return status == LFUSE_ERR_UNSUPPORTED || status == LFUSE_ERR_LIBRARY;
}

lfuse_status bench_omit(bench_case *c, const char *name, lfuse_status status)
{
    const bool made = c->nvariants && !strcmp(c->variants[c->nvariants - 1].name, name); /* but not verified */
    if (!bench_is_missing(status) || made) return status;
    bench_leave_out(c, name, lfuse_last_error());
    return LFUSE_OK;
}

void bench_case_destroy(bench_case *c)
{
    for (int i = c->nvariants - 1; i >= 0; i--)
        if (c->variants[i].destroy) c->variants[i].destroy(c->variants[i].state);
    if (c->destroy) c->destroy(c->shared);
    *c = (bench_case){.nsets = 0};
}
