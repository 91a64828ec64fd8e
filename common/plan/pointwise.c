/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Vertical fusion. Pointwise nodes that read each other at the same index and lie on one level become a region, so one
 * kernel. A level is how many steps must have run before; edges between regions go up, so there is never a cycle.
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* The walk by which the only reader reads the node: through a copied view, or as one of its operands. The walker. */
static int32_t reading(const lfuse__draft *d, int32_t node, lfuse__view *walk)
{
    const int32_t reader = d->reader[node];
    int i = 0;

    if (reader < 0) {
        *walk = d->views[-2 - reader];
        return -2 - reader;
    }
    while (lfuse__draft_operand(d, reader, i, walk) != node) i++;
    switch ((lfuse__node_kind)lfuse__draft_node(d, reader)->kind) {
    case LFUSE__REDUCE:
    case LFUSE__MEMBER_SUM:
    case LFUSE__CONCAT: return lfuse__draft_node(d, reader)->in[i];
    default: return reader;
    }
}

/* Whether the kernel that computes the reader can compute the node too; sets how its loop walks it. */
static bool reachable(lfuse__draft *d, int32_t node, int32_t reader, const lfuse__view *walk)
{
    if (reader < 0 || !d->inlined[reader]) d->at[node] = *walk;
    else if (!lfuse__view_compose(d, &d->at[reader], reader, walk, &d->at[node])) return false;
    return lfuse__draft_reaches(d, node, &d->at[node]);
}

/* Single use by something that could not be of the same region anyway: computed there, no element twice. */
static bool joins_reader(lfuse__draft *d, int32_t node)
{
    const int32_t reader = d->reader[node];
    lfuse__view walk;
    int32_t walks;

    if (d->reads[node] != 1 || (reader >= 0 && d->prepared[reader] != d->prepared[node])) return false;
    if (reader >= 0 && lfuse__draft_alone(d, reader)) return false;
    walks = reading(d, node, &walk);
    if (!lfuse__draft_once(d, walks, &walk) || !reachable(d, node, reader, &walk)) return false;
    if (reader >= 0 && lfuse__draft_node(d, reader)->kind == LFUSE__CONCAT) /* else stored in its part directly */
        return !lfuse__view_linear(d, walks, &walk);
    return reader < 0 || !lfuse__draft_pointwise(d, reader) || d->inlined[reader] ||
           !lfuse__draft_same_index(d, walks, &walk);
}

static bool inlines(lfuse__draft *d, int32_t node)
{
    if (!lfuse__draft_pointwise(d, node) || d->needed[node] || d->cut[node] || lfuse__draft_alone(d, node)) return false;
    if (lfuse__draft_immediate(d, node)) return true;
    if (d->results[node] || d->disable & LFUSE_NO_POINTWISE_FUSION) return false;
    return lfuse__draft_node(d, node)->rank == 0 || joins_reader(d, node);
}

void lfuse__draft_inline(lfuse__draft *d)
{
    int32_t node;

    for (node = d->g->nnodes - 1; node >= 0; node--) d->inlined[node] = inlines(d, node);
}

bool lfuse__draft_fuses(const lfuse__draft *d, int32_t producer, int32_t node, const lfuse__view *walk)
{
    return lfuse__draft_pointwise(d, producer) && lfuse__draft_pointwise(d, node) && !d->inlined[producer] &&
           !d->inlined[node] && !d->cut[producer] && !lfuse__draft_alone(d, producer) &&
           !lfuse__draft_alone(d, node) && d->prepared[producer] == d->prepared[node] &&
           !(d->disable & LFUSE_NO_POINTWISE_FUSION) && lfuse__draft_same_index(d, node, walk);
}

/* Levels between a base and the node that reads it. */
static int distance(const lfuse__draft *d, int32_t base, int32_t node, const lfuse__view *walk)
{
    return !lfuse__draft_computes(d, base) || d->inlined[base] || lfuse__draft_fuses(d, base, node, walk) ? 0 : 1;
}

static void earliest(lfuse__draft *d)
{
    lfuse__view walk;
    int32_t node;
    int i;

    for (node = 0; node < d->g->nnodes; node++) {
        d->level[node] = 0;
        if (!lfuse__draft_computes(d, node)) continue;
        for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
            const int32_t base = lfuse__draft_operand(d, node, i, &walk);
            const int32_t level = d->level[base] + distance(d, base, node, &walk);
            if (level > d->level[node]) d->level[node] = level;
        }
    }
}

/* What is read moves up to its first reader, to be computed where it is used. Results that nobody reads stay. */
lfuse_status lfuse__draft_levels(lfuse__draft *d)
{
    const int32_t unread = INT32_MAX, n = d->g->nnodes;
    int32_t *late = malloc(((size_t)n + 1) * sizeof *late), node;
    lfuse__view walk;
    int i;

    if (!late) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d nodes)", (int)n);
    earliest(d);
    for (node = 0; node < n; node++) late[node] = unread;
    for (node = n - 1; node >= 0; node--) {
        if (!lfuse__draft_computes(d, node)) continue;
        if (late[node] == unread) late[node] = d->level[node];
        for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
            const int32_t base = lfuse__draft_operand(d, node, i, &walk);
            const int32_t level = late[node] - distance(d, base, node, &walk);
            if (level < late[base]) late[base] = level;
        }
    }
    for (node = 0; node < n; node++)
        if (lfuse__draft_computes(d, node)) d->level[node] = late[node];
    free(late);
    return LFUSE_OK;
}

static int32_t find(int32_t *parent, int32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static void join(lfuse__draft *d, int32_t *parent, int32_t node)
{
    lfuse__view walk;
    int32_t a, b;
    int i;

    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        const int32_t base = lfuse__draft_operand(d, node, i, &walk);
        if (d->level[base] != d->level[node] || !lfuse__draft_fuses(d, base, node, &walk)) continue;
        a = find(parent, base);
        b = find(parent, node);
        if (a < b) parent[b] = a;
        else parent[a] = b;
    }
}

lfuse_status lfuse__draft_regions(lfuse__draft *d)
{
    const int32_t n = d->g->nnodes;
    int32_t *parent = malloc(((size_t)n + 1) * sizeof *parent), *last = d->next, node;

    if (!parent) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d nodes)", (int)n);
    for (node = 0; node < n; node++) parent[node] = node;
    for (node = 0; node < n; node++)
        if (lfuse__draft_pointwise(d, node) && !d->inlined[node]) join(d, parent, node);
    for (node = 0; node < n; node++)
        d->region[node] = lfuse__draft_pointwise(d, node) && !d->inlined[node] ? find(parent, node) : -1;
    /* Chains in ascending order: walked backwards, each node is put in front of its region's chain. */
    for (node = 0; node < n; node++) parent[node] = -1;
    for (node = n - 1; node >= 0; node--) {
        if (d->region[node] < 0) continue;
        last[node] = parent[d->region[node]];
        parent[d->region[node]] = node;
    }
    free(parent);
    return LFUSE_OK;
}

/* Whether a node of the region is stored: it has a home. */
static void store_all(lfuse__draft *d, lfuse__builder *b, int32_t node)
{
    const lfuse__home *home = &d->home[node];
    int32_t name;
    int reg;

    if (!home->set) return;
    reg = lfuse__builder_value(b, node, NULL);
    lfuse__builder_store(b, reg, home, node, NULL);
    for (name = d->target[node]; name >= 0; name = d->next_target[name]) {
        const lfuse__home also = { .set = true, .place = LFUSE__PLACE_BOUND, .index = name };
        if (home->place != LFUSE__PLACE_BOUND || home->index != name) lfuse__builder_store(b, reg, &also, node, NULL);
    }
}

static lfuse_status split_region(lfuse__draft *d, int32_t region)
{
    int32_t *roots, node;
    lfuse_status status;
    int count = 0;

    for (node = region; node >= 0; node = d->next[node]) count++;
    roots = malloc((size_t)count * sizeof *roots);
    if (!roots) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d nodes)", count);
    for (count = 0, node = region; node >= 0; node = d->next[node]) roots[count++] = node;
    status = lfuse__draft_split(d, region, roots, count);
    free(roots);
    return status;
}

static void describe_list(const lfuse__draft *d, int32_t node, lfuse__step *step)
{
    step->list = d->list[node];
    step->each_member = lfuse__draft_node(d, node)->rank == 0;
}

static lfuse__step_kind kind_of(const lfuse__node *n)
{
    return n->list ? LFUSE__STEP_MULTI : LFUSE__STEP_POINTWISE;
}

lfuse_status lfuse__make_region(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    lfuse__builder *b;
    lfuse_status status;
    int32_t node;

    LFUSE__TRY(lfuse__builder_create(d, u->node, n->rank, n->shape, &b));
    for (node = u->node; node >= 0; node = d->next[node]) store_all(d, b, node);
    if (lfuse__builder_overflow(b)) {
        status = split_region(d, u->node);
    } else {
        status = lfuse__stage_create(stage, 1, (const int[]){ 1 });
        if (!status) status = lfuse__builder_finish(b, kind_of(n), stage->alternatives[0].steps);
        if (!status) describe_list(d, u->node, stage->alternatives[0].steps);
        if (!status) stage->alternatives[0].steps->prepare = u->phase == LFUSE__PHASE_PREPARE;
        if (!status) stage->alternatives[0].name = "kernel";
    }
    lfuse__builder_destroy(b);
    return status;
}

lfuse_status lfuse__make_copy(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    lfuse__builder *b;
    lfuse_status status;
    int reg;

    LFUSE__TRY(lfuse__builder_create(d, -1, n->rank, n->shape, &b));
    reg = u->from.set ? lfuse__builder_load_home(b, &u->from, u->node) : lfuse__builder_value(b, u->node, NULL);
    lfuse__builder_store(b, reg, &u->to, u->node, NULL);
    if (lfuse__builder_overflow(b)) {
        status = lfuse__draft_split(d, -1, &u->node, 1);
    } else {
        status = lfuse__stage_create(stage, 1, (const int[]){ 1 });
        if (!status) status = lfuse__builder_finish(b, kind_of(n), stage->alternatives[0].steps);
        if (!status) describe_list(d, u->node, stage->alternatives[0].steps);
        if (!status) stage->alternatives[0].steps->prepare = u->phase == LFUSE__PHASE_PREPARE;
        if (!status) stage->alternatives[0].name = "kernel";
    }
    lfuse__builder_destroy(b);
    return status;
}
