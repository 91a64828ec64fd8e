/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes until no step is too large and every update is safe. */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

typedef lfuse_status pass(lfuse__draft *d);
#define PASS(name) lfuse__pass_##name,
static pass *const round_passes[] = { LFUSE__ROUND_PASSES(PASS) };
static pass *const last_passes[] = { LFUSE__LAST_PASSES(PASS) };
#undef PASS
enum { ROUND_PASSES = sizeof round_passes / sizeof *round_passes,
       LAST_PASSES = sizeof last_passes / sizeof *last_passes };

/* Nothing is known but what has been decided. */
static void begin_round(lfuse__draft *d)
{
    lfuse_graph *graph = d->out->graph;
    int32_t i;

    lfuse__arena_free(&d->round);
    lfuse__plan_clear(d->out);
    d->out->graph = graph;
    d->buffer_capacity = d->nunits = 0;
    d->changed = false;
    for (i = 0; i < d->g->nnodes; i++) {
        d->memory[i].home = d->memory[i].wide = (lfuse__home){ .set = false };
        const lfuse__planned_node *n = &d->nodes[i];
        d->nodes[i] = (lfuse__planned_node){ .cut = n->cut, .copied_view = n->copied_view,
                                             .no_siblings = n->no_siblings, .recomputed = n->recomputed,
                                             .late = n->late,
                                             .reader = -1, .target = -1, .region = -1, .next = -1, .number = -1,
                                             .next_product = -1, .factors = -1 };
    }
    for (i = 0; i < d->g->nnames; i++) d->names[i].next_target = -1;
}

static lfuse_status run_passes(lfuse__draft *d)
{
    int i;

    d->nodes = lfuse__arena_array(&d->arena, (size_t)d->g->nnodes, sizeof *d->nodes);
    d->memory = lfuse__arena_array(&d->arena, (size_t)d->g->nnodes, sizeof *d->memory);
    d->names = lfuse__arena_array(&d->arena, (size_t)d->g->nnames, sizeof *d->names);
    if (!d->nodes || !d->memory || !d->names) return LFUSE_ERR_MEMORY;
    do {
        begin_round(d);
        for (i = 0; i < ROUND_PASSES && !d->changed; i++) LFUSE__TRY(round_passes[i](d));
    } while (d->changed); /* each round cuts a node or turns an update that was not so before */
    for (i = 0; i < LAST_PASSES; i++) LFUSE__TRY(last_passes[i](d));
    return LFUSE_OK;
}

static void release(lfuse__draft *d)
{
    lfuse__arena_free(&d->round);
    lfuse__arena_free(&d->arena);
    free(d->units);
}

static lfuse_status check_types(const lfuse_graph *g, const lfuse__facts *facts)
{
    int32_t i;

    for (i = 0; i < g->nnodes && !facts->info.f64; i++)
        if (g->nodes[i].type == LFUSE_F64)
            return lfuse__error(LFUSE_ERR_TYPE, "value %d of the graph is f64, which %s (%s) does not have", (int)i,
                                facts->info.name, facts->info.product);
    return LFUSE_OK;
}

/* Whether nobody that the caller admits rounds the operands of such a product to tf32. */
static lfuse_status check_tf32(const lfuse__facts *facts, const lfuse__matmul_advice *advice, lfuse_provider provider,
                               int32_t value, bool batched)
{
    const lfuse__matmul_desc desc = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32, .batched = batched,
                                      .precision = LFUSE_PRECISION_TF32, .provider = provider };
    const char *vendor = advice->declines(facts, LFUSE__SOLVER_VENDOR, &desc);
    const char *native = advice->declines(facts, LFUSE__SOLVER_NATIVE, &desc);

    if (provider == LFUSE_PROVIDER_NATIVE && native)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "value %d of the graph is a product in tf32; the library's own "
                            "products, which are asked for, have none on %s (%s): %s", (int)value, facts->info.name,
                            facts->info.product, native);
    if (!vendor || (!native && provider != LFUSE_PROVIDER_VENDOR)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "value %d of the graph is a product in tf32, which %s (%s) does not "
                        "have; its products: %s", (int)value, facts->info.name, facts->info.product,
                        facts->info.gemm);
}

static lfuse_status check_precision(const lfuse_graph *g, const lfuse__facts *facts,
                                    const lfuse__matmul_advice *advice, lfuse_provider provider)
{
    for (int32_t i = 0; i < g->nnodes; i++)
        if (g->nodes[i].kind == LFUSE__MATMUL && g->nodes[i].op == LFUSE_PRECISION_TF32)
            LFUSE__TRY(check_tf32(facts, advice, provider, i, g->nodes[i].rank > 2));
    return LFUSE_OK;
}

lfuse_status lfuse__plan_make(const lfuse_graph *canonical, const lfuse__facts *facts,
                              const lfuse__matmul_advice *advice, const lfuse_plan_options *options,
                              lfuse__plan_body **body)
{
    lfuse__draft d;
    lfuse_status status;

    if (options && options->exact && !facts->info.exact)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "an exact plan is asked for, and %s (%s) does not compute exactly",
                            facts->info.name, facts->info.product);
    LFUSE__TRY(check_types(canonical, facts));
    LFUSE__TRY(check_precision(canonical, facts, advice, options ? options->provider : LFUSE_PROVIDER_DEFAULT));
    memset(&d, 0, sizeof d);
    d.facts = facts;
    d.advice = advice;
    d.disable = options ? options->disable : 0;
    d.provider = options ? options->provider : LFUSE_PROVIDER_DEFAULT;
    d.strassen = options ? options->strassen : LFUSE_STRASSEN_OFF;
    d.precision = options ? options->precision : LFUSE_PRECISION_FULL;
    d.both = options && options->effort == LFUSE_EFFORT_MEASURE && d.provider == LFUSE_PROVIDER_DEFAULT &&
             advice->compete(facts);
    d.out = calloc(1, sizeof *d.out);
    if (!d.out) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *d.out);
    status = lfuse__graph_lower(canonical, d.disable, &d.out->graph);
    if (status) goto err_free_plan;
    d.g = d.out->graph;
    status = run_passes(&d);
    release(&d);
    if (status) goto err_free_plan;
    *body = d.out;
    return LFUSE_OK;

err_free_plan:
    lfuse__plan_free(d.out);
    return status;
}
