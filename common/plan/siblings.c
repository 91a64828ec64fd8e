/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of one loop and one level that read the same memory at the same index become one, which reads it once, as
 * long as it stays small enough. Such kernels do not read each other, and the level stays, so that there is no cycle.
 * Elements by themselves join rows of that shape, but no sum of everything, which many small kernels do better. Kernels
 * over lists join where they read elements of one list: all their lists are congruent with it.
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* One node reading memory element by element. */
typedef struct reading {
    const lfuse__draft *d;
    int32_t node;
    const lfuse__node *loop;
    lfuse__view walk; /* by the loop's axes */
} reading;

/* What a region has so far, as counted from its nodes. */
typedef struct load {
    int operands, instructions;
    int32_t root; /* of its signatures, -1 */
} load;

static const lfuse__node *loop_of(const lfuse__draft *d, int32_t node)
{
    const int32_t root = d->nodes[node].signature.root;

    return lfuse__draft_node(d, root < 0 ? node : lfuse__draft_node(d, root)->in[0]);
}

static int by_shape(const lfuse__node *a, const lfuse__node *b)
{
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->rank <= 0 ? 0 : memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

static int by_walk(const lfuse__view *a, const lfuse__view *b)
{
    int order;

    if (a->base != b->base) return a->base < b->base ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    order = memcmp(a->axis, b->axis, sizeof a->axis);
    if (!order) order = memcmp(a->shape, b->shape, sizeof a->shape);
    if (!order) order = memcmp(a->offset, b->offset, sizeof a->offset);
    return order ? order : memcmp(a->step, b->step, sizeof a->step);
}

static int by_kernel(const reading *x, const reading *y)
{
    const int32_t s = x->d->nodes[x->node].level, t = y->d->nodes[y->node].level;

    if (s != t) return s < t ? -1 : 1;
    if (x->d->nodes[x->node].prepared != y->d->nodes[y->node].prepared) return x->d->nodes[x->node].prepared ? -1 : 1;
    return by_shape(x->loop, y->loop);
}

static int by_reading(const void *a, const void *b)
{
    const reading *x = a, *y = b;
    int order = by_kernel(x, y);

    if (!order) order = by_walk(&x->walk, &y->walk);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

/* Operand i of the node, where that is memory as large as the loop. */
static bool reads_elements(const lfuse__draft *d, int32_t node, int i, reading *r)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    const int32_t base = lfuse__draft_operand(d, node, i, &r->walk);
    int k;

    if (d->nodes[base].inlined || lfuse__draft_immediate(d, base) || r->walk.gathered >= 0) return false;
    if (d->nodes[base].level == d->nodes[node].level && lfuse__draft_fuses(d, base, node, &r->walk)) return false;
    if (d->nodes[base].recomputed || (d->nodes[node].signature.row && n->kind != LFUSE__REDUCE)) return false;
    *r = (reading){ d, node, loop_of(d, node), r->walk };
    if (n->list) return n->rank && lfuse__draft_node(d, base)->list && lfuse__draft_node(d, base)->rank == n->rank;
    for (k = 0; k < r->loop->rank; k++)
        if (r->walk.axis[k] < 0 && r->loop->shape[k] != 1) return false;
    return r->loop->rank > 0;
}

/* Whether the kernel that computes the node loads its operand i, whose base is *base. */
static bool loads_operand(const lfuse__draft *d, int32_t node, int i, int32_t *base)
{
    lfuse__view walk;

    *base = lfuse__draft_operand(d, node, i, &walk);
    return !lfuse__draft_immediate(d, *base) &&
           (d->nodes[*base].level != d->nodes[node].level || !lfuse__draft_fuses(d, *base, node, &walk));
}

static void weigh(const lfuse__draft *d, int32_t *parent, load *loads)
{
    int32_t node, base;
    int i;

    for (node = 0; node < d->g->nnodes; node++) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        load *of = &loads[lfuse__set_of(parent, node)];
        if (!lfuse__draft_is_root(d, node) && (!lfuse__draft_pointwise(d, node) || d->nodes[node].inlined)) continue;
        of->instructions++;
        of->operands += d->nodes[node].is_result || d->nodes[node].needs_memory;
        for (i = 0; i < n->nin; i++) of->operands += loads_operand(d, node, i, &base);
    }
}

/* Adds a memory to a set; false: there is no room. What updates a list in place lies in the list's memory. */
static bool add(int32_t *set, int *count, int most, int32_t memory)
{
    int i;

    for (i = 0; i < *count; i++)
        if (set[i] == memory) return true;
    if (*count == most) return false;
    set[(*count)++] = memory;
    return true;
}

static bool add_result(const lfuse__draft *d, int32_t node, int32_t *set, int *count, int most)
{
    bool updates = false;
    int32_t i;

    for (i = 0; i < d->g->nnames; i++) {
        if (d->g->names[i].update != node) continue;
        if (!add(set, count, most, d->g->names[i].node)) return false;
        updates = true;
    }
    return updates || add(set, count, most, node);
}

/* Whether the lists of two regions are few enough together: without addresses a member's lie in as many blocks. */
static bool lists_fit(const lfuse__draft *d, int32_t *parent, int32_t a, int32_t b)
{
    const int most = d->facts->addresses ? LFUSE__BODY_OPERANDS - 3 : LFUSE__MAX_SLOTS;
    int32_t set[LFUSE__BODY_OPERANDS], node, base;
    int i, count = 0;

    for (node = 0; node < d->g->nnodes; node++) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        if (!lfuse__draft_pointwise(d, node) || d->nodes[node].inlined) continue;
        if (lfuse__set_of(parent, node) != a && lfuse__set_of(parent, node) != b) continue;
        if ((d->nodes[node].is_result || d->nodes[node].needs_memory) && !add_result(d, node, set, &count, most))
            return false;
        for (i = 0; i < n->nin; i++)
            if (loads_operand(d, node, i, &base) && !add(set, &count, most, base)) return false;
    }
    return true;
}

static bool whole(const lfuse__draft *d, int32_t root)
{
    const lfuse__node *r = lfuse__draft_node(d, root);

    return r->naxes == lfuse__draft_node(d, r->in[0])->rank;
}

/* Whether one loop does for both, and both fit in it. */
static bool fits(const lfuse__draft *d, const load *a, const load *b, const lfuse__node *loop)
{
    const int rank = loop->list ? 0 : loop->rank;

    if (d->disable & LFUSE_NO_POINTWISE_FUSION) return false;
    if (loop->list) return a->instructions + b->instructions <= LFUSE__BODY_INSTRUCTIONS / 2;
    if ((a->root >= 0 || b->root >= 0) && d->disable & LFUSE_NO_ROW_FUSION) return false;
    if (a->root != b->root && ((a->root >= 0 && b->root >= 0) || whole(d, a->root >= 0 ? a->root : b->root)))
        return false;
    return a->operands + b->operands - 1 <= lfuse__most_operands(rank) - 3 &&
           a->instructions + b->instructions <= LFUSE__BODY_INSTRUCTIONS / 2;
}

static void unite(lfuse__draft *d, int32_t *parent, const reading *x, const reading *y, load *loads)
{
    const int32_t a = lfuse__set_of(parent, x->node), b = lfuse__set_of(parent, y->node);
    const int32_t low = a < b ? a : b, high = a < b ? b : a;

    if (a == b || d->nodes[x->node].no_siblings || d->nodes[y->node].no_siblings || lfuse__draft_alone(d, x->node) ||
        lfuse__draft_alone(d, y->node) || !fits(d, &loads[a], &loads[b], x->loop) ||
        (x->loop->list && !lists_fit(d, parent, a, b)))
        return;
    parent[high] = low;
    loads[low].operands += loads[high].operands - 1;
    loads[low].instructions += loads[high].instructions;
    if (loads[low].root < 0) loads[low].root = loads[high].root;
    d->nodes[low].grouped = true;
}

/* All readings, in an order in which those that go together are neighbours. */
static int collect(const lfuse__draft *d, reading *all)
{
    int32_t node;
    int i, count = 0;

    for (node = 0; node < d->g->nnodes; node++) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        if (!lfuse__draft_is_root(d, node) && (!lfuse__draft_pointwise(d, node) || d->nodes[node].inlined)) continue;
        if (d->nodes[node].scope != LFUSE__SCOPE_NONE) continue; /* members.c has a say in these */
        for (i = 0; i < n->nin; i++) count += reads_elements(d, node, i, &all[count]);
    }
    qsort(all, (size_t)count, sizeof *all, by_reading);
    return count;
}

lfuse_status lfuse__draft_siblings(lfuse__draft *d, int32_t *parent)
{
    const int32_t n = d->g->nnodes;
    reading *all = lfuse__arena_array(&d->round, 3 * (size_t)n, sizeof *all);
    load *loads = lfuse__arena_array(&d->round, (size_t)n, sizeof *loads);
    int32_t node;
    int i, count;

    if (!all || !loads) return LFUSE_ERR_MEMORY;
    for (node = 0; node < n; node++) {
        d->nodes[node].grouped = false;
        loads[node].root = d->nodes[lfuse__set_of(parent, node)].signature.root;
    }
    weigh(d, parent, loads);
    count = collect(d, all);
    for (i = 1; i < count; i++)
        if (!by_kernel(&all[i - 1], &all[i]) && !by_walk(&all[i - 1].walk, &all[i].walk))
            unite(d, parent, &all[i - 1], &all[i], loads);
    for (node = 0; node < n; node++) /* elements by themselves that joined rows */
        if (d->nodes[node].signature.root < 0) d->nodes[node].signature.root = loads[lfuse__set_of(parent, node)].root;
    return LFUSE_OK;
}
