/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: runs the passes until no step is too large and every update is safe, then orders and makes the steps. */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/plan/provider.h"

void lfuse__stage_free(lfuse__stage *s)
{
    int j, k;

    for (j = 0; j < s->nalternatives; j++) {
        for (k = 0; k < s->alternatives[j].nsteps; k++) lfuse__step_free(&s->alternatives[j].steps[k]);
        free(s->alternatives[j].steps);
    }
    free(s->alternatives);
    if (s->network) lfuse__step_free(s->network);
    free(s->network);
    *s = (lfuse__stage){ 0 };
}

static void free_contents(lfuse__plan_body *p)
{
    int i;

    for (i = 0; i < p->nstages; i++) lfuse__stage_free(&p->stages[i]);
    free(p->stages);
    free(p->buffers);
    free(p->checked);
    free(p->numbers);
    free(p->choices);
    free(p->lists);
    memset(p, 0, sizeof *p);
}

void lfuse__plan_free(lfuse__plan_body *p)
{
    lfuse_graph *graph;

    if (!p) return;
    graph = p->graph;
    free_contents(p);
    lfuse_graph_destroy(graph);
    free(p);
}

static lfuse_status add_region(lfuse__draft *d, int32_t region)
{
    const lfuse__unit u = {
        .kind = LFUSE__UNIT_REGION, .level = d->level[region], .node = region, .tail = -1,
        .phase = d->prepared[region] ? LFUSE__PHASE_PREPARE
                 : lfuse__draft_late(d, region) ? LFUSE__PHASE_LATE : LFUSE__PHASE_MAIN,
    };

    return lfuse__draft_unit(d, &u);
}

/* A region is taken by one product at most: as its tail it holds nothing else, and as its prologue it is read once. */
static lfuse_status add_product(lfuse__draft *d, int32_t node, bool *taken)
{
    lfuse__unit u = { .kind = LFUSE__UNIT_PRODUCT, .level = d->level[node], .node = node,
                      .phase = d->prepared[node] ? LFUSE__PHASE_PREPARE : LFUSE__PHASE_MAIN };
    const bool whole = d->levels[node] || lfuse__draft_native(d, node); /* the region is computed in one kernel */
    int i;

    u.tail = whole ? lfuse__native_tail(d, node) : lfuse__product_tail(d, node);
    if (u.tail >= 0 && taken[u.tail]) u.tail = -1;
    if (u.tail >= 0) {
        taken[u.tail] = true;
        u.level = d->level[u.tail];
        if (u.phase == LFUSE__PHASE_MAIN && whole && lfuse__draft_late(d, u.tail))
            u.phase = LFUSE__PHASE_LATE;
    } else {
        LFUSE__TRY(lfuse__draft_house(d, node));
    }
    if (d->levels[node]) lfuse__draft_onward(d, node, u.tail);
    for (i = 0; i < 2; i++)
        if (lfuse__prologue(d, node, i) >= 0) taken[lfuse__prologue(d, node, i)] = true;
    return lfuse__draft_unit(d, &u);
}

static lfuse_status add_scatter(lfuse__draft *d, int32_t node)
{
    const lfuse__unit u = { .kind = LFUSE__UNIT_SCATTER, .level = d->level[node], .node = node, .tail = -1,
                            .phase = d->prepared[node] ? LFUSE__PHASE_PREPARE : LFUSE__PHASE_MAIN };

    LFUSE__TRY(lfuse__draft_house(d, node));
    return lfuse__draft_unit(d, &u);
}

static int by_order(const void *a, const void *b)
{
    const lfuse__unit *x = a, *y = b;

    if (x->phase != y->phase) return x->phase < y->phase ? -1 : 1;
    if (x->level != y->level) return x->level < y->level ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return x->to.index < y->to.index ? -1 : x->to.index > y->to.index;
}

/* A region of what is computed anew elsewhere may have nothing left to do. */
static bool stores(const lfuse__draft *d, int32_t region)
{
    int32_t node;

    for (node = region; node >= 0; node = d->next[node])
        if (lfuse__draft_stored(d, node)) return true;
    return false;
}

static lfuse_status make_units(lfuse__draft *d)
{
    const int32_t n = d->g->nnodes;
    bool *taken = calloc((size_t)n + 1, sizeof *taken);
    lfuse_status status = LFUSE_OK;
    int32_t i;

    if (!taken) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d nodes)", (int)n);
    for (i = 0; i < n && !status; i++)
        if (lfuse__draft_node(d, i)->kind == LFUSE__MATMUL) status = add_product(d, i, taken);
        else if (lfuse__draft_node(d, i)->kind == LFUSE__SCATTER_ADD) status = add_scatter(d, i);
    for (i = 0; i < n && !status; i++) {
        if (d->region[i] == i && !taken[i] && stores(d, i)) status = add_region(d, i);
    }
    free(taken);
    if (!status) qsort(d->units, (size_t)d->nunits, sizeof *d->units, by_order);
    return status;
}

typedef lfuse_status maker(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);
static maker *const makers[] = {
    [LFUSE__UNIT_REGION] = lfuse__make_region, [LFUSE__UNIT_PRODUCT] = lfuse__make_product,
    [LFUSE__UNIT_SCATTER] = lfuse__make_scatter, [LFUSE__UNIT_COPY] = lfuse__make_copy,
};

static lfuse_status make_stages(lfuse__draft *d)
{
    int i;

    d->out->stages = calloc((size_t)d->nunits + 1, sizeof *d->out->stages);
    if (!d->out->stages)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d steps)", d->nunits);
    d->out->nstages = d->nunits;
    for (i = 0; i < d->nunits; i++)
        LFUSE__TRY(makers[d->units[i].kind](d, &d->units[i], &d->out->stages[i]));
    return LFUSE_OK;
}

/* Everything but `cut`, `indirect`, `solid`, `apart` and `again` starts anew. */
static void reset(lfuse__draft *d)
{
    lfuse_graph *graph = d->out->graph;
    const size_t n = (size_t)d->g->nnodes, names = (size_t)d->g->nnames;

    free_contents(d->out);
    d->out->graph = graph;
    d->buffer_capacity = d->nunits = 0;
    d->changed = false;
    memset(d->reads, 0, n * sizeof *d->reads);
    memset(d->reader, 0xff, n * sizeof *d->reader);
    memset(d->reshaped, 0, n * sizeof *d->reshaped);
    memset(d->results, 0, n * sizeof *d->results);
    memset(d->needed, 0, n * sizeof *d->needed);
    memset(d->outside, 0, n * sizeof *d->outside);
    memset(d->target, 0xff, n * sizeof *d->target);
    memset(d->next_target, 0xff, names * sizeof *d->next_target);
    memset(d->region, 0xff, n * sizeof *d->region);
    memset(d->next, 0xff, n * sizeof *d->next);
    memset(d->inlined, 0, n * sizeof *d->inlined);
    memset(d->number, 0xff, n * sizeof *d->number);
    memset(d->home, 0, n * sizeof *d->home);
    memset(d->wide, 0, n * sizeof *d->wide);
    memset(d->levels, 0, n * sizeof *d->levels);
    memset(d->onward, 0xff, n * sizeof *d->onward);
    memset(d->factors, 0xff, n * sizeof *d->factors);
}

static lfuse_status round_of_passes(lfuse__draft *d)
{
    reset(d);
    lfuse__draft_views(d);
    LFUSE__TRY(lfuse__draft_lists(d));
    LFUSE__TRY(lfuse__draft_parts(d));
    lfuse__draft_frozen(d);
    LFUSE__TRY(lfuse__draft_strassen(d));
    lfuse__draft_reads(d);
    LFUSE__TRY(lfuse__draft_signatures(d));
    lfuse__draft_inline(d);
    LFUSE__TRY(lfuse__draft_levels(d));
    LFUSE__TRY(lfuse__draft_regions(d));
    LFUSE__TRY(lfuse__draft_results(d));
    if (d->weighed) LFUSE__TRY(lfuse__draft_reuse(d));
    if (d->changed) return LFUSE_OK;
    LFUSE__TRY(make_units(d));
    LFUSE__TRY(make_stages(d));
    LFUSE__TRY(lfuse_graph_check(d->out->graph)); /* there was room for new sizes */
    if (!d->changed) LFUSE__TRY(lfuse__draft_check_updates(d));
    return d->changed || d->weighed ? LFUSE_OK : lfuse__draft_reuse(d);
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

static lfuse_status check_precision(const lfuse_graph *g, const lfuse__facts *facts, lfuse_provider provider)
{
    int32_t i;

    for (i = 0; i < g->nnodes; i++)
        if (g->nodes[i].kind == LFUSE__MATMUL && g->nodes[i].op == LFUSE_PRECISION_TF32) break;
    if (i == g->nnodes) return LFUSE_OK;
    if (provider == LFUSE_PROVIDER_NATIVE)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "value %d of the graph is a product in tf32; the library's own "
                            "products, which are asked for, have none", (int)i);
    if (facts->info.tf32 && facts->products != LFUSE__PRODUCTS_NONE) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "value %d of the graph is a product in tf32, which %s (%s) does not "
                        "have; its products: %s", (int)i, facts->info.name, facts->info.product, facts->info.gemm);
}

/* One block a pass array; freed in reverse. */
static bool allocate(lfuse__draft *d)
{
    const size_t n = (size_t)d->g->nnodes + 1, names = (size_t)d->g->nnames + 1;

    d->cut = calloc(n, sizeof *d->cut);
    d->indirect = calloc(names, sizeof *d->indirect);
    d->solid = calloc(n, sizeof *d->solid);
    d->apart = calloc(n, sizeof *d->apart);
    d->again = calloc(n, sizeof *d->again);
    d->views = calloc(n, sizeof *d->views);
    d->at = calloc(n, sizeof *d->at);
    d->list = calloc(n, sizeof *d->list);
    d->part = calloc(n, sizeof *d->part);
    d->kin = calloc(n, sizeof *d->kin);
    d->reads = calloc(n, sizeof *d->reads);
    d->reader = calloc(n, sizeof *d->reader);
    d->reshaped = calloc(n, sizeof *d->reshaped);
    d->results = calloc(n, sizeof *d->results);
    d->needed = calloc(n, sizeof *d->needed);
    d->outside = calloc(n, sizeof *d->outside);
    d->target = calloc(n, sizeof *d->target);
    d->next_target = calloc(names, sizeof *d->next_target);
    d->prepared = calloc(n, sizeof *d->prepared);
    d->inlined = calloc(n, sizeof *d->inlined);
    d->signatures = calloc(n, sizeof *d->signatures);
    d->level = calloc(n, sizeof *d->level);
    d->ready = calloc(n, sizeof *d->ready);
    d->region = calloc(n, sizeof *d->region);
    d->next = calloc(n, sizeof *d->next);
    d->grouped = calloc(n, sizeof *d->grouped);
    d->number = calloc(n, sizeof *d->number);
    d->home = calloc(n, sizeof *d->home);
    d->wide = calloc(n, sizeof *d->wide);
    d->levels = calloc(n, sizeof *d->levels);
    d->onward = calloc(n, sizeof *d->onward);
    d->factors = calloc(n, sizeof *d->factors);
    d->factor_levels = calloc(n, sizeof *d->factor_levels);
    return d->cut && d->indirect && d->solid && d->apart && d->again && d->views && d->at && d->list &&
           d->part && d->kin && d->reads &&
           d->reader && d->reshaped && d->ready &&
           d->results && d->needed && d->outside && d->target && d->next_target && d->prepared && d->inlined &&
           d->signatures && d->level && d->region && d->next && d->grouped && d->number && d->home && d->wide &&
           d->levels && d->onward && d->factors && d->factor_levels;
}

static void release(lfuse__draft *d)
{
    free(d->units);
    free(d->factor_levels);
    free(d->factors);
    free(d->onward);
    free(d->levels);
    free(d->wide);
    free(d->home);
    free(d->number);
    free(d->grouped);
    free(d->next);
    free(d->region);
    free(d->ready);
    free(d->level);
    free(d->signatures);
    free(d->inlined);
    free(d->prepared);
    free(d->next_target);
    free(d->target);
    free(d->outside);
    free(d->needed);
    free(d->results);
    free(d->reshaped);
    free(d->reader);
    free(d->reads);
    free(d->kin);
    free(d->part);
    free(d->list);
    free(d->at);
    free(d->views);
    free(d->again);
    free(d->apart);
    free(d->solid);
    free(d->indirect);
    free(d->cut);
}

static lfuse_status run_passes(lfuse__draft *d)
{
    do LFUSE__TRY(round_of_passes(d));
    while (d->changed); /* each round cuts a node or turns an update that was not so before */
    LFUSE__TRY(lfuse__draft_counts(d));
    LFUSE__TRY(lfuse__draft_networks(d));
    return lfuse__draft_bundles(d);
}

lfuse_status lfuse__plan_make(const lfuse_graph *canonical, const lfuse__facts *facts,
                              const lfuse_plan_options *options, lfuse__plan_body **body)
{
    lfuse__draft d;
    lfuse_status status;

    if (options && options->exact && !facts->info.exact)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "an exact plan is asked for, and %s (%s) does not compute exactly",
                            facts->info.name, facts->info.product);
    LFUSE__TRY(check_types(canonical, facts));
    LFUSE__TRY(check_precision(canonical, facts, options ? options->provider : LFUSE_PROVIDER_DEFAULT));
    memset(&d, 0, sizeof d);
    d.facts = facts;
    d.disable = options ? options->disable : 0;
    d.provider = options ? options->provider : LFUSE_PROVIDER_DEFAULT;
    d.strassen = options ? options->strassen : LFUSE_STRASSEN_OFF;
    d.both = options && options->effort == LFUSE_EFFORT_MEASURE && d.provider == LFUSE_PROVIDER_DEFAULT &&
             lfuse__products_compete(facts);
    d.out = calloc(1, sizeof *d.out);
    if (!d.out) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *d.out);
    status = lfuse__graph_lower(canonical, d.disable, &d.out->graph);
    if (status) goto err_free_plan;
    d.g = d.out->graph;
    status = allocate(&d) ? run_passes(&d) : lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made "
                                                          "(%d nodes)", (int)d.g->nnodes);
    if (!status) status = lfuse__draft_checked(&d);
    release(&d);
    if (status) goto err_free_plan;
    *body = d.out;
    return LFUSE_OK;

err_free_plan:
    lfuse__plan_free(d.out);
    return status;
}
