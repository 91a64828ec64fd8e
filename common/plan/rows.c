/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of regions: row kernels or reductions of lists where something is reduced, else pointwise ones; and copies.
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

/* A node that has a home is stored there and under all its names, and unrounded where others read it so. */
static void store_all(lfuse__draft *d, lfuse__builder *b, int32_t node, const lfuse__unit_loop *loop)
{
    lfuse__view walk;
    int reg;

    if (!lfuse__draft_stored(d, node)) return;
    lfuse__draft_frame(d, node, loop, &walk);
    reg = lfuse__builder_value(b, node, &walk);
    if (d->memory[node].wide.set) lfuse__builder_store_wide(b, reg, node, &walk);
    if (d->memory[node].home.set) lfuse__builder_store_result(b, reg, node, &walk);
}

void lfuse__region_stores(lfuse__draft *d, lfuse__builder *b, int32_t region, const lfuse__unit_loop *loop)
{
    int32_t node;

    for (node = region; node >= 0; node = d->nodes[node].next) store_all(d, b, node, loop);
}

static lfuse_status split_region(lfuse__draft *d, int32_t region)
{
    int32_t *roots, node;
    int count = 0;

    for (node = region; node >= 0 && d->nodes[region].grouped; node = d->nodes[node].next)
        d->nodes[node].no_siblings = d->changed = true;
    if (d->nodes[region].grouped) return LFUSE_OK;
    roots = lfuse__arena_array(&d->round, (size_t)d->g->nnodes, sizeof *roots);
    if (!roots) return LFUSE_ERR_MEMORY;
    for (node = region; node >= 0; node = d->nodes[node].next) roots[count++] = node;
    return lfuse__draft_split(d, region, roots, count);
}

/* The reduction of a region of kind LINES. */
static const lfuse__node *line_of(const lfuse__draft *d, int32_t region)
{
    while (lfuse__draft_node(d, region)->kind != LFUSE__LINE_REDUCE) region = d->nodes[region].next;
    return lfuse__draft_node(d, region);
}

/* All lists of the region's nodes are congruent: the one that tells most. */
static int list_of(const lfuse__draft *d, lfuse__step_kind kind, int32_t node)
{
    int list = kind == LFUSE__STEP_MEMBERS ? lfuse__draft_members_list(d, node) : d->nodes[node].list;

    for (; node >= 0 && kind != LFUSE__STEP_MEMBERS && d->nodes[node].region >= 0; node = d->nodes[node].next)
        list = lfuse__draft_better_list(d, list, d->nodes[node].list);
    return list;
}

static lfuse__span walked(const lfuse__draft *d, lfuse__step_kind kind, int32_t node)
{
    if (kind == LFUSE__STEP_LINES) return lfuse__draft_span(lfuse__draft_node(d, line_of(d, node)->in[0]));
    if (kind == LFUSE__STEP_MEMBERS) return lfuse__draft_members_span(d, node);
    return lfuse__draft_span(lfuse__draft_node(d, node));
}

static void describe_list(const lfuse__draft *d, int32_t node, lfuse__step *step)
{
    step->lists = (lfuse__list_walk){ .list = list_of(d, step->kind, node), .walked = walked(d, step->kind, node),
                                      .columns = step->kind == LFUSE__STEP_LINES && line_of(d, node)->axes[0] };
}

/*
 * What the region is: what its roots say, or without them a pointwise kernel over the rows or over the elements. But
 * for ROWS, it can hold values of the rows and not store them: these are cut off, and the passes run again. So are
 * elements of lists that a step which reduces their members would have to store.
 */
static lfuse__step_kind kind_of(lfuse__draft *d, int32_t region, int32_t *over)
{
    lfuse__step_kind kind = lfuse__draft_node(d, region)->list ? LFUSE__STEP_MULTI : LFUSE__STEP_POINTWISE;
    bool elements = false, members = false, lines = false;
    int32_t node;

    *over = region;
    for (node = region; node >= 0; node = d->nodes[node].next) {
        if (lfuse__draft_is_root(d, node)) kind = lfuse__draft_root_step(d, node);
        members = members || lfuse__draft_reduces_list(d, node);
        lines = lines || lfuse__draft_node(d, node)->kind == LFUSE__LINE_REDUCE;
        if (!d->nodes[node].signature.row && !elements) *over = node;
        elements = elements || !d->nodes[node].signature.row;
    }
    for (node = region; node >= 0 && members; node = d->nodes[node].next) {
        if (d->nodes[node].scope != LFUSE__SCOPE_ELEMENT || !lfuse__draft_stored(d, node)) continue;
        d->nodes[node].cut = d->changed = true;
    }
    if (members) return lines ? LFUSE__STEP_LINES : LFUSE__STEP_MEMBERS;
    if (kind == LFUSE__STEP_ROWS) return kind;
    for (node = region; node >= 0 && elements; node = d->nodes[node].next) {
        if (!d->nodes[node].signature.row || !lfuse__draft_stored(d, node) || d->nodes[node].cut) continue;
        d->nodes[node].cut = d->changed = true;
    }
    return kind;
}

/* Over the rows alone, the loop is the kept axes. */
static void loop_of(const lfuse__draft *d, int32_t over, lfuse__step_kind kind, lfuse__unit_loop *loop)
{
    lfuse__draft_loop(d, over, loop);
    if (lfuse__kind_over(kind) == LFUSE__OVER_ROWS) return;
    if (d->nodes[over].signature.row) loop->rank -= loop->naxes;
    loop->naxes = 0;
}

lfuse_status lfuse__make_region(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    int32_t over;
    lfuse__step_kind kind = kind_of(d, u->node, &over);
    lfuse__unit_loop loop;
    lfuse__step *step;
    lfuse__builder *b;

    loop_of(d, over, kind, &loop);
    LFUSE__TRY(lfuse__builder_begin(d, u->node, loop.rank, loop.extents, &b));
    lfuse__builder_loop(b, &loop);
    lfuse__region_stores(d, b, u->node, &loop);
    /* full_like reads a scan for its shape alone: the body then has no instruction that scans. */
    if (kind == LFUSE__STEP_SCAN && !lfuse__builder_reduces(b)) kind = LFUSE__STEP_ROWS;
    if (kind == LFUSE__STEP_MULTI || kind == LFUSE__STEP_LINES)
        lfuse__builder_shape(b, kind, walked(d, kind, u->node), list_of(d, kind, u->node));
    if (lfuse__builder_overflow(b)) return split_region(d, u->node);
    LFUSE__TRY(lfuse__stage_add(stage, "kernel", 1));
    step = stage->alternatives[0].steps;
    LFUSE__TRY(lfuse__builder_finish(b, kind, step));
    describe_list(d, u->node, step);
    step->naxes = loop.naxes;
    step->prepare = u->phase == LFUSE__PHASE_PREPARE;
    return kind == LFUSE__STEP_ROWS ? lfuse__draft_phases(d, u->node, stage) : LFUSE_OK;
}

lfuse_status lfuse__make_copy(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    lfuse__builder *b;
    lfuse__step *step;
    int reg;

    LFUSE__TRY(lfuse__builder_begin(d, -1, n->rank, n->shape, &b));
    reg = u->from.set ? lfuse__builder_load_home(b, &u->from, u->node) : lfuse__builder_value(b, u->node, NULL);
    lfuse__builder_store(b, reg, &u->to, u->node, NULL);
    if (lfuse__builder_overflow(b)) return lfuse__draft_split(d, -1, &u->node, 1);
    LFUSE__TRY(lfuse__stage_add(stage, "kernel", 1));
    step = stage->alternatives[0].steps;
    LFUSE__TRY(lfuse__builder_finish(b, n->list ? LFUSE__STEP_MULTI : LFUSE__STEP_POINTWISE, step));
    describe_list(d, u->node, step);
    step->prepare = u->phase == LFUSE__PHASE_PREPARE;
    return LFUSE_OK;
}
