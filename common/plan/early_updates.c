/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When products run whose epilogue updates an input and stores nothing else.
 *
 * No unit waits for such a product, so it could run last (LFUSE__PHASE_LATE). But a product reads matrices, such as the
 * gradient of a layer, which scratch memory would hold until then. This pass moves the product to the first level at
 * which every other unit that reads the old contents of the input has run, and scratch memory is freed there. A product
 * stays late where that level comes behind the last one, where another late unit reads the input, or where it shares a
 * launch (together.c).
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

enum { NONE = -1, SEVERAL = -2 };

/* The last units that compute a node, or that read an input. */
typedef struct last_use {
    int32_t level; /* the highest level of those that run in a level; NONE */
    int32_t late;  /* the index of the one that runs late; NONE, SEVERAL */
} last_use;

static void merge(last_use *into, const last_use *other)
{
    if (other->level > into->level) into->level = other->level;
    if (other->late == NONE) return;
    into->late = into->late == NONE || into->late == other->late ? other->late : SEVERAL;
}

static void merge_unit(const lfuse__draft *d, int32_t unit, last_use *into)
{
    const lfuse__unit *u = &d->units[unit];
    const last_use own = u->phase == LFUSE__PHASE_LATE ? (last_use){ NONE, unit } : (last_use){ u->level, NONE };

    merge(into, &own);
}

static void merge_region(const lfuse__draft *d, int32_t unit, int32_t region, last_use *nodes)
{
    for (; region >= 0; region = d->nodes[region].next) merge_unit(d, unit, &nodes[region]);
}

/* Sets nodes[] to the units that compute each node in their own kernels. */
static void find_computing_units(const lfuse__draft *d, last_use *nodes)
{
    int32_t node, u;
    int i;

    for (node = 0; node < d->g->nnodes; node++) nodes[node] = (last_use){ NONE, NONE };
    for (u = 0; u < d->nunits; u++) {
        const lfuse__unit *unit = &d->units[u];
        if (unit->kind == LFUSE__UNIT_REGION) merge_region(d, u, unit->node, nodes);
        else merge_unit(d, u, &nodes[unit->node]);
        merge_region(d, u, unit->tail, nodes);
        for (i = 0; i < 2 && unit->kind == LFUSE__UNIT_PRODUCT; i++)
            merge_region(d, u, lfuse__prologue(d, unit->node, i), nodes);
    }
}

/*
 * Sets inputs[name] to the units that read each input. Nodes that have no memory are computed where they are read, so
 * their readers read their operands too; readers come behind operands, hence the order of the loop.
 */
static void find_reading_units(const lfuse__draft *d, last_use *nodes, last_use *inputs)
{
    int32_t node;
    int i;

    for (i = 0; i < d->g->nnames; i++) inputs[i] = (last_use){ NONE, NONE };
    for (node = d->g->nnodes - 1; node >= 0; node--)
        for (i = 0; i < lfuse__draft_node(d, node)->nin && lfuse__draft_computes(d, node); i++) {
            const int32_t base = lfuse__draft_base(d, node, i), name = lfuse__draft_node(d, base)->name;
            if (name >= 0) merge(&inputs[name], &nodes[node]);
            else if (d->nodes[base].inlined || d->nodes[base].recomputed) merge(&nodes[base], &nodes[node]);
        }
}

/* Returns the level behind all other units that read what the unit updates; -1: another late unit reads it. */
static int32_t level_behind_readers(const lfuse__draft *d, int32_t unit, const last_use *inputs)
{
    const lfuse__unit *u = &d->units[unit];
    int32_t level = u->level, node, name;

    for (node = u->tail; node >= 0; node = d->nodes[node].next)
        for (name = d->nodes[node].target; name >= 0; name = d->names[name].next_target) {
            if (inputs[name].late != NONE && inputs[name].late != unit) return -1;
            if (inputs[name].level >= level) level = inputs[name].level + 1;
        }
    return level;
}

static int32_t last_level(const lfuse__draft *d)
{
    int32_t u, last = -1;

    for (u = 0; u < d->nunits; u++)
        if (d->units[u].phase == LFUSE__PHASE_MAIN && d->units[u].level > last) last = d->units[u].level;
    return last;
}

lfuse_status lfuse__pass_early_updates(lfuse__draft *d)
{
    last_use *nodes = lfuse__arena_array(&d->round, (size_t)d->g->nnodes, sizeof *nodes);
    last_use *inputs = lfuse__arena_array(&d->round, (size_t)d->g->nnames, sizeof *inputs);
    const int32_t last = last_level(d);
    int32_t u, level;

    if (!nodes || !inputs) return LFUSE_ERR_MEMORY;
    find_computing_units(d, nodes);
    find_reading_units(d, nodes, inputs);
    for (u = 0; u < d->nunits; u++) {
        lfuse__unit *unit = &d->units[u];
        if (unit->kind != LFUSE__UNIT_PRODUCT || unit->phase != LFUSE__PHASE_LATE || d->nodes[unit->node].levels ||
            d->nodes[unit->node].together || lfuse__draft_node(d, unit->node)->list)
            continue;
        level = level_behind_readers(d, u, inputs);
        if (level < 0 || level > last) continue;
        unit->phase = LFUSE__PHASE_MAIN;
        unit->level = level;
    }
    return LFUSE_OK;
}
