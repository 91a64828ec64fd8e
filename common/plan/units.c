/* SPDX-License-Identifier: Apache-2.0 */
/* The units of a plan, each of which is a launch or a product; then their order, and the stage that each becomes. */
#include "common/plan/draft.h"

#include <stdlib.h>

#include "common/base/error.h"

static lfuse_status add_region(lfuse__draft *d, int32_t region)
{
    const lfuse__unit u = {
        .kind = LFUSE__UNIT_REGION, .level = d->nodes[region].level, .node = region, .tail = -1,
        .phase = d->nodes[region].prepared ? LFUSE__PHASE_PREPARE
                 : lfuse__draft_late(d, region) ? LFUSE__PHASE_LATE : LFUSE__PHASE_MAIN,
    };

    return lfuse__draft_unit(d, &u);
}

/* A region is taken by one product at most: as its tail it holds nothing else, and as its prologue it is read once. */
static lfuse_status add_product(lfuse__draft *d, int32_t node, bool *taken)
{
    lfuse__unit u = { .kind = LFUSE__UNIT_PRODUCT, .level = d->nodes[node].level, .node = node,
                      .phase = d->nodes[node].prepared ? LFUSE__PHASE_PREPARE : LFUSE__PHASE_MAIN };
    const bool whole = d->nodes[node].levels || lfuse__draft_native(d, node); /* the region is computed in one kernel */
    int i;

    u.tail = whole ? lfuse__native_tail(d, node) : lfuse__product_tail(d, node);
    if (u.tail >= 0 && taken[u.tail]) u.tail = -1;
    if (u.tail >= 0) {
        taken[u.tail] = true;
        u.level = d->nodes[u.tail].level;
        if (u.phase == LFUSE__PHASE_MAIN && whole && lfuse__draft_late(d, u.tail))
            u.phase = LFUSE__PHASE_LATE;
    } else {
        LFUSE__TRY(lfuse__draft_give_memory(d, node));
    }
    if (d->nodes[node].levels) lfuse__draft_make_next_factors(d, node, u.tail);
    for (i = 0; i < 2; i++)
        if (lfuse__prologue(d, node, i) >= 0) taken[lfuse__prologue(d, node, i)] = true;
    return lfuse__draft_unit(d, &u);
}

static lfuse_status add_scatter(lfuse__draft *d, int32_t node)
{
    const lfuse__unit u = { .kind = LFUSE__UNIT_SCATTER, .level = d->nodes[node].level, .node = node, .tail = -1,
                            .phase = d->nodes[node].prepared ? LFUSE__PHASE_PREPARE : LFUSE__PHASE_MAIN };

    LFUSE__TRY(lfuse__draft_give_memory(d, node));
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

/* A region of nodes that other kernels recompute may have nothing left to do. */
static bool stores(const lfuse__draft *d, int32_t region)
{
    int32_t node;

    for (node = region; node >= 0; node = d->nodes[node].next)
        if (lfuse__draft_stored(d, node)) return true;
    return false;
}

lfuse_status lfuse__pass_units(lfuse__draft *d)
{
    const int32_t n = d->g->nnodes;
    bool *taken = lfuse__arena_array(&d->round, (size_t)n, sizeof *taken);
    int32_t i;

    if (!taken) return LFUSE_ERR_MEMORY;
    for (i = 0; i < n; i++)
        if (lfuse__draft_node(d, i)->kind == LFUSE__MATMUL) LFUSE__TRY(add_product(d, i, taken));
        else if (lfuse__draft_node(d, i)->kind == LFUSE__SCATTER_ADD) LFUSE__TRY(add_scatter(d, i));
    for (i = 0; i < n; i++)
        if (d->nodes[i].region == i && !taken[i] && stores(d, i)) LFUSE__TRY(add_region(d, i));
    return LFUSE_OK;
}

typedef lfuse_status maker(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);
static maker *const makers[] = {
    [LFUSE__UNIT_REGION] = lfuse__make_region, [LFUSE__UNIT_PRODUCT] = lfuse__make_product,
    [LFUSE__UNIT_SCATTER] = lfuse__make_scatter, [LFUSE__UNIT_COPY] = lfuse__make_copy,
};

lfuse_status lfuse__pass_stages(lfuse__draft *d)
{
    int i;

    if (d->nunits) qsort(d->units, (size_t)d->nunits, sizeof *d->units, by_order);
    d->out->stages = calloc((size_t)d->nunits + 1, sizeof *d->out->stages);
    if (!d->out->stages)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d steps)", d->nunits);
    d->out->nstages = d->nunits;
    for (i = 0; i < d->nunits; i++)
        LFUSE__TRY(makers[d->units[i].kind](d, &d->units[i], &d->out->stages[i]));
    return lfuse_graph_check(d->out->graph); /* there was room for new sizes */
}
