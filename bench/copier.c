/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/copier.h"

#include <stdlib.h>

#include "common/base/error.h"

typedef struct pair {
    lfuse_tensor *to, *from; /* flat views */
    lfuse_instance *instance;
    lfuse_binding bindings[2];
} pair;

struct bench_copier {
    lfuse_plan *plan;
    int count;
    pair *pairs;
};

static lfuse_status plan_copy(bench_device *d, const lfuse_tensor *like, lfuse_plan **plan)
{
    const lfuse_size elements = lfuse_tensor_elements(like);
    lfuse_graph *g = lfuse_graph_create();
    lfuse_output(g, "to", lfuse_input(g, "from", lfuse_tensor_type(like), 1, &elements));
    lfuse_status status = lfuse_plan_create(d->dev, g, NULL, plan);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status flatten(const lfuse_tensor *t, lfuse_tensor **flat)
{
    const int64_t elements = lfuse_tensor_elements(t);
    return lfuse_tensor_view(t, 1, &elements, NULL, 0, flat);
}

static lfuse_status bind(bench_copier *c, bench_device *d, pair *p, lfuse_tensor *to, lfuse_tensor *from)
{
    LFUSE__TRY(flatten(to, &p->to));
    LFUSE__TRY(flatten(from, &p->from));
    p->bindings[0] = lfuse_bind_tensor("to", p->to);
    p->bindings[1] = lfuse_bind_tensor("from", p->from);
    return lfuse_instance_create(c->plan, d->stream, p->bindings, 2, &p->instance);
}

lfuse_status bench_copier_create(bench_device *d, int count, lfuse_tensor *const *to, lfuse_tensor *const *from,
                                 bench_copier **copier)
{
    bench_copier *c = calloc(1, sizeof *c);
    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the copy kernel");
    c->count = count;
    c->pairs = calloc((size_t)count, sizeof *c->pairs);
    lfuse_status status = c->pairs ? plan_copy(d, to[0], &c->plan)
                                   : lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %d copies", count);
    for (int i = 0; i < count && !status; i++) status = bind(c, d, &c->pairs[i], to[i], from[i]);
    if (status) bench_copier_destroy(c);
    else *copier = c;
    return status;
}

lfuse_status bench_copier_run(bench_copier *c, int i)
{
    return lfuse_instance_run(c->pairs[i].instance, c->pairs[i].bindings, 2);
}

void bench_copier_destroy(bench_copier *c)
{
    if (!c) return;
    for (int i = 0; c->pairs && i < c->count; i++) {
        lfuse_instance_destroy(c->pairs[i].instance);
        lfuse_tensor_destroy(c->pairs[i].from);
        lfuse_tensor_destroy(c->pairs[i].to);
    }
    free(c->pairs);
    lfuse_plan_destroy(c->plan);
    free(c);
}

static lfuse_status run_variant(void *state, int set)
{
    return bench_copier_run(state, set);
}

static void destroy_variant(void *state)
{
    bench_copier_destroy(state);
}

lfuse_status bench_add_copy(bench_device *d, bench_case *c, lfuse_tensor *const *to, lfuse_tensor *const *from)
{
    bench_copier *copier;
    LFUSE__TRY(bench_copier_create(d, c->nsets, to, from, &copier));
    bench_add(c, "kernel-copy", copier, run_variant, destroy_variant)->bytes =
        2 * (double)lfuse_type_size(lfuse_tensor_type(to[0])) * (double)lfuse_tensor_elements(to[0]);
    return LFUSE_OK;
}
