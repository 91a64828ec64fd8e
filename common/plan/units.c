/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to be done, one unit a launch or a product, in order; and the steps that do it. */
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

/*
 * ---- products that update an input ----
 * Nobody waits for such a product: it could come last. But it reads matrices, as the gradient of a layer, which
 * scratch memory then has to hold until the end. So it comes as soon as nobody reads the old contents of the input.
 */

enum { NOBODY = -1, SEVERAL = -2 };

/* Who computes a node, or reads an input: the level of the last of the units that others wait for, and the late one. */
typedef struct when {
    int32_t level; /* NOBODY */
    int32_t late;  /* index of the unit; NOBODY, SEVERAL */
} when;

static void note(when *w, const when *also)
{
    if (also->level > w->level) w->level = also->level;
    if (also->late == NOBODY) return;
    w->late = w->late == NOBODY || w->late == also->late ? also->late : SEVERAL;
}

static void note_unit(const lfuse__draft *d, int32_t unit, when *w)
{
    const lfuse__unit *u = &d->units[unit];
    const when own = u->phase == LFUSE__PHASE_LATE ? (when){ NOBODY, unit } : (when){ u->level, NOBODY };

    note(w, &own);
}

static void note_region(const lfuse__draft *d, int32_t unit, int32_t region, when *all)
{
    for (; region >= 0; region = d->nodes[region].next) note_unit(d, unit, &all[region]);
}

/* Sets readers[name] for inputs; all[] has room for the nodes. Operands come before what is computed of them. */
static void find_readers(const lfuse__draft *d, when *all, when *readers)
{
    int32_t node, u;
    int i;

    for (node = 0; node < d->g->nnodes; node++) all[node] = (when){ NOBODY, NOBODY };
    for (i = 0; i < d->g->nnames; i++) readers[i] = (when){ NOBODY, NOBODY };
    for (u = 0; u < d->nunits; u++) {
        const lfuse__unit *unit = &d->units[u];
        if (unit->kind == LFUSE__UNIT_REGION) note_region(d, u, unit->node, all);
        else note_unit(d, u, &all[unit->node]);
        note_region(d, u, unit->tail, all);
        for (i = 0; i < 2 && unit->kind == LFUSE__UNIT_PRODUCT; i++)
            note_region(d, u, lfuse__prologue(d, unit->node, i), all);
    }
    for (node = d->g->nnodes - 1; node >= 0; node--)
        for (i = 0; i < lfuse__draft_node(d, node)->nin && lfuse__draft_computes(d, node); i++) {
            const int32_t base = lfuse__draft_base(d, node, i), name = lfuse__draft_node(d, base)->name;
            if (name >= 0) note(&readers[name], &all[node]);
            else if (d->nodes[base].inlined || d->nodes[base].recomputed) note(&all[base], &all[node]);
        }
}

/* Returns the level behind all others that read what the unit updates; -1: another unit that is late does. */
static int32_t level_behind_readers(const lfuse__draft *d, int32_t unit, const when *readers)
{
    const lfuse__unit *u = &d->units[unit];
    int32_t level = u->level, node, name;

    for (node = u->tail; node >= 0; node = d->nodes[node].next)
        for (name = d->nodes[node].target; name >= 0; name = d->names[name].next_target) {
            if (readers[name].late != NOBODY && readers[name].late != unit) return -1;
            if (readers[name].level >= level) level = readers[name].level + 1;
        }
    return level;
}

/* Where nothing else comes behind it, it stays what is last. */
static lfuse_status hasten(lfuse__draft *d)
{
    when *all = lfuse__arena_array(&d->round, (size_t)d->g->nnodes, sizeof *all);
    when *readers = lfuse__arena_array(&d->round, (size_t)d->g->nnames, sizeof *readers);
    int32_t u, level, last = -1;

    if (!all || !readers) return LFUSE_ERR_MEMORY;
    find_readers(d, all, readers);
    for (u = 0; u < d->nunits; u++)
        if (d->units[u].phase == LFUSE__PHASE_MAIN && d->units[u].level > last) last = d->units[u].level;
    for (u = 0; u < d->nunits; u++) {
        lfuse__unit *unit = &d->units[u];
        if (unit->kind != LFUSE__UNIT_PRODUCT || unit->phase != LFUSE__PHASE_LATE || d->nodes[unit->node].levels ||
            lfuse__draft_node(d, unit->node)->list)
            continue;
        level = level_behind_readers(d, u, readers);
        if (level < 0 || level > last) continue;
        unit->phase = LFUSE__PHASE_MAIN;
        unit->level = level;
    }
    return LFUSE_OK;
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
    LFUSE__TRY(hasten(d));
    if (d->nunits) qsort(d->units, (size_t)d->nunits, sizeof *d->units, by_order);
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

    d->out->stages = calloc((size_t)d->nunits + 1, sizeof *d->out->stages);
    if (!d->out->stages)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d steps)", d->nunits);
    d->out->nstages = d->nunits;
    for (i = 0; i < d->nunits; i++)
        LFUSE__TRY(makers[d->units[i].kind](d, &d->units[i], &d->out->stages[i]));
    return lfuse_graph_check(d->out->graph); /* there was room for new sizes */
}
