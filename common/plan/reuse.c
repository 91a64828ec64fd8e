/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that several kernels read: stored once and loaded by all, or recomputed where they are read. Pointwise values
 * alone have the choice; one for each row is stored, which costs next to nothing.
 *   - To store a value costs a store of each element, and a load by each of the other kernels; and what the kernel that
 *     stores it loads and computes, where it is there for nothing else.
 *   - To recompute it costs each of the other kernels the operations of the value's cone, which is what it is computed
 *     from up to what lies in memory, and the loads of the cone that the kernel does not do anyway.
 *
 * The choice is made once, when the passes have come to rest, and the passes run again with it. What turns out too
 * large, or can be walked no more, is stored after all.
 */
#include "common/plan/draft.h"


#include "common/base/costs.h"
#include "common/base/error.h"

/* ---- the rule ---- */

bool lfuse__reuse_recomputes(const lfuse__facts *facts, const lfuse__reuse *r)
{
    const double operations = r->operations / lfuse__costs_of(facts).operations_per_byte;
    const double stored = r->bytes * (1 + r->kernels) + (r->alone ? r->loads + operations : 0);

    return r->more + r->kernels * operations < stored;
}

/* ---- what a value is computed from ---- */

/* More is stored: bodies grow with it in every kernel that reads the value. */
enum { MOST_NODES = 24, MOST_LEAVES = 12, MOST_KERNELS = 8 };

typedef struct cone {
    const lfuse__draft *d;
    int32_t value;
    bool fails;
    int nnodes, nleaves;
    int32_t nodes[MOST_NODES], leaves[MOST_LEAVES];
    double operations, bytes[MOST_LEAVES]; /* of an element of the value */
} cone;

static void add_leaf(cone *c, int32_t base, const lfuse__view *walk, int32_t walker)
{
    const lfuse__node *n = lfuse__draft_node(c->d, base);
    int i;

    for (i = 0; i < c->nleaves; i++)
        if (c->leaves[i] == base) return;
    if (c->nleaves == MOST_LEAVES) c->fails = true;
    if (c->fails) return;
    c->leaves[c->nleaves] = base;
    c->bytes[c->nleaves++] =
        n->kind != LFUSE__INDEX && lfuse__draft_once(c->d, walker, walk) ? lfuse_type_size((lfuse_type)n->type) : 0;
}

/* What is computed in the value's kernel alone: elements that are nothing but functions of others. */
static bool within(const cone *c, int32_t node)
{
    const lfuse__node_kind kind = (lfuse__node_kind)lfuse__draft_node(c->d, node)->kind;
    const lfuse__planned_node *n = &c->d->nodes[node];

    if (n->copied_view || (kind != LFUSE__POINTWISE && kind != LFUSE__CAST) || n->prepared) return false;
    if (n->inlined || n->recomputed) return true;
    return !n->read_elsewhere && !n->is_result && !n->needs_memory && !n->cut &&
           n->region == c->d->nodes[c->value].region && !n->signature.row;
}

/* Whether a leaf can be read by another kernel; of inputs that are updated the old contents may be gone by then. */
static bool readable(const cone *c, int32_t base)
{
    const lfuse__draft *d = c->d;
    const lfuse__node *n = lfuse__draft_node(d, base);

    if (d->nodes[base].inlined) return false; /* a look-up, a copied view */
    if (n->name >= 0) return d->g->names[n->name].update < 0;
    if (!lfuse__draft_computes(d, base) || d->nodes[base].read_elsewhere || d->nodes[base].is_result) return true;
    return d->nodes[base].prepared || n->kind == LFUSE__REDUCE ||
           (d->nodes[base].signature.row && !d->nodes[base].copied_view);
}

static void add_node(cone *c, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(c->d, node);
    int i;

    for (i = 0; i < c->nnodes; i++)
        if (c->nodes[i] == node) return;
    if (c->nnodes == MOST_NODES) c->fails = true;
    if (c->fails) return;
    c->nodes[c->nnodes++] = node;
    c->operations += n->kind == LFUSE__POINTWISE ? lfuse__op_weight((lfuse__op)n->op) : 1;
}

/* `walk`: how `walker`, the value or who reads it, walks the node; walks of every path are tried. */
static void add(cone *c, int32_t node, const lfuse__view *walk, int32_t walker, int depth)
{
    lfuse__view own, composed;
    int i;

    add_node(c, node);
    if (depth > MOST_NODES) c->fails = true;
    for (i = 0; i < lfuse__draft_node(c->d, node)->nin && !c->fails; i++) {
        const int32_t base = lfuse__draft_operand(c->d, node, i, &own);
        if (lfuse__draft_immediate(c->d, base)) continue;
        if (!lfuse__view_compose(c->d, walk, node, &own, &composed)) c->fails = true;
        else if (within(c, base)) add(c, base, &composed, walker, depth + 1);
        else if (readable(c, base)) add_leaf(c, base, &composed, walker);
        else c->fails = true;
    }
}

/* ---- who reads it ---- */

typedef struct readings {
    lfuse__draft *d;
    int32_t *first, *who; /* who[first[node]] ... who[first[node + 1] - 1] */
    bool *copied;         /* read by what is no kernel of this kind: an output in another shape, a concatenation */
} readings;

static lfuse_status list_readings(lfuse__draft *d, readings *r)
{
    const int32_t n = d->g->nnodes;
    int32_t node;
    int i;

    r->d = d;
    r->first = lfuse__arena_array(&d->round, (size_t)n + 2, sizeof *r->first);
    r->who = lfuse__arena_array(&d->round, 3 * (size_t)n, sizeof *r->who);
    r->copied = lfuse__arena_array(&d->round, (size_t)n, sizeof *r->copied);
    if (!r->first || !r->who || !r->copied) return LFUSE_ERR_MEMORY;
    for (node = 0; node < n; node++)
        for (i = 0; lfuse__draft_computes(d, node) && i < lfuse__draft_node(d, node)->nin; i++)
            r->first[lfuse__draft_base(d, node, i) + 2]++;
    for (node = 0; node < n; node++) r->first[node + 1] += r->first[node];
    for (node = 0; node < n; node++)
        for (i = 0; lfuse__draft_computes(d, node) && i < lfuse__draft_node(d, node)->nin; i++) {
            const int32_t base = lfuse__draft_base(d, node, i);
            r->who[r->first[base + 1]++] = node;
            if (lfuse__draft_node(d, node)->kind == LFUSE__CONCAT) r->copied[base] = true;
        }
    for (i = 0; i < d->g->nnames; i++) {
        const lfuse__name *name = &d->g->names[i];
        if (name->kind == LFUSE__NAME_OUTPUT) r->copied[d->memory[name->node].view.base] = true;
        if (name->update >= 0) r->copied[d->memory[name->update].view.base] = true;
    }
    return LFUSE_OK;
}

/* The node whose kernel computes `reader`: itself, or the one that it is inlined in; -1: not one alone. */
static int32_t kernel_of(const lfuse__draft *d, int32_t reader)
{
    while (reader >= 0 && d->nodes[reader].inlined) reader = d->nodes[reader].reads == 1 ? d->nodes[reader].reader : -1;
    return reader;
}

/* Whether the reader's kernel reaches the value's cone, and takes each element of the value once. */
static bool reaches(const lfuse__draft *d, int32_t value, int32_t reader)
{
    const lfuse__node *n = lfuse__draft_node(d, reader);
    const bool operands = n->kind == LFUSE__REDUCE || lfuse__draft_reduces_list(d, reader);
    cone c = { .d = d, .value = value };
    lfuse__view walk, all;
    int i;

    for (i = 0; i < n->nin && !c.fails; i++) {
        const int32_t walker = operands ? n->in[i] : reader;
        if (lfuse__draft_operand(d, reader, i, &walk) != value) continue;
        if (!lfuse__draft_once(d, walker, &walk)) return false;
        all = walk;
        if (d->nodes[reader].inlined && !lfuse__view_compose(d, &d->memory[reader].at, reader, &walk, &all))
            return false;
        add(&c, value, &all, walker, 0);
    }
    return !c.fails;
}

static bool reads(const lfuse__draft *d, int32_t region, int32_t base)
{
    int32_t node;
    int i;

    for (node = region; node >= 0; node = d->nodes[node].next)
        for (i = 0; i < lfuse__draft_node(d, node)->nin; i++)
            if (lfuse__draft_base(d, node, i) == base) return true;
    return false;
}

/* ---- the choice ---- */

/* Whether nothing but the value comes from its kernel. */
static bool alone(const lfuse__draft *d, int32_t value)
{
    int32_t node;

    for (node = d->nodes[value].region; node >= 0; node = d->nodes[node].next) {
        if (node != value && (d->nodes[node].read_elsewhere || d->nodes[node].is_result)) return false;
        if (lfuse__draft_is_root(d, node) || lfuse__draft_reduces_list(d, node)) return false;
    }
    return true;
}

/* Whether what it is computed from repeats: kernels that reduce cannot read that. */
static bool repeats(const lfuse__draft *d, int32_t value)
{
    int32_t node;

    for (node = d->nodes[value].region; node >= 0; node = d->nodes[node].next)
        if (lfuse__draft_repeats(d, node)) return true;
    return false;
}

static bool candidate(const readings *r, int32_t node)
{
    const lfuse__draft *d = r->d;
    const lfuse__node *n = lfuse__draft_node(d, node);
    const lfuse__planned_node *p = &d->nodes[node];

    return (n->kind == LFUSE__POINTWISE || n->kind == LFUSE__CAST) && lfuse__draft_pointwise(d, node) &&
           !p->copied_view && p->read_elsewhere && !p->inlined && !p->is_result && !p->needs_memory && !p->cut &&
           !repeats(d, node) && !p->prepared && !r->copied[node] && !p->signature.row && n->rank != 0;
}

/* Counts one kernel that reads the value from another's, and what it would have to load. False: too much to tell. */
static bool count_kernel(const lfuse__draft *d, int32_t kernel, const cone *c, int32_t *seen, lfuse__reuse *of)
{
    const int32_t region = d->nodes[kernel].region;
    int i;

    for (i = 0; i < of->kernels; i++)
        if (seen[i] == (region < 0 ? kernel : region)) return true;
    if (of->kernels == MOST_KERNELS) return false;
    seen[of->kernels++] = region < 0 ? kernel : region;
    for (i = 0; i < c->nleaves; i++)
        if (region < 0 || !reads(d, region, c->leaves[i])) of->more += c->bytes[i];
    return true;
}

static bool recomputes(const readings *r, int32_t value)
{
    const lfuse__draft *d = r->d;
    lfuse__reuse of = { .bytes = lfuse_type_size((lfuse_type)lfuse__draft_node(d, value)->type) };
    cone c = { .d = d, .value = value };
    int32_t seen[MOST_KERNELS];
    lfuse__view own;
    int32_t i;

    lfuse__view_identity(d, value, &own);
    add(&c, value, &own, value, 0);
    for (i = 0; i < c.nleaves; i++) of.loads += c.bytes[i];
    of.operations = c.operations;
    of.alone = alone(d, value);
    for (i = r->first[value]; i < r->first[value + 1] && !c.fails; i++) {
        const int32_t kernel = kernel_of(d, r->who[i]);
        if (kernel < 0 || lfuse__draft_alone(d, kernel) || !reaches(d, value, r->who[i])) return false;
        if (d->nodes[kernel].region == d->nodes[value].region) continue;
        if (!count_kernel(d, kernel, &c, seen, &of)) return false;
    }
    return !c.fails && of.kernels && lfuse__reuse_recomputes(d->facts, &of);
}

/* The cone is computed with it, by whoever needs it. */
static void choose(lfuse__draft *d, int32_t value)
{
    cone c = { .d = d, .value = value };
    lfuse__view own;
    int i;

    lfuse__view_identity(d, value, &own);
    add(&c, value, &own, value, 0);
    for (i = 0; i < c.nnodes; i++)
        if (!d->nodes[c.nodes[i]].inlined) d->nodes[c.nodes[i]].recomputed = true;
    d->changed = true;
}

/* In a later round the cone may have changed. */
static void check(const readings *r, int32_t value)
{
    lfuse__draft *d = r->d;
    int32_t i;

    for (i = r->first[value]; i < r->first[value + 1]; i++) {
        const int32_t who = r->who[i];
        if (!d->nodes[who].inlined && d->nodes[who].region == d->nodes[value].region) continue;
        if (kernel_of(d, who) >= 0 && reaches(d, value, who)) continue;
        d->nodes[value].recomputed = false;
        d->changed = true;
        return;
    }
}

static bool is_off(const lfuse__draft *d)
{
    return d->disable & (LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_RECOMPUTE);
}

lfuse_status lfuse__pass_keep_recomputed(lfuse__draft *d)
{
    readings r;
    int32_t node;

    if (is_off(d) || !d->any_recomputed) return LFUSE_OK;
    LFUSE__TRY(list_readings(d, &r));
    for (node = 0; node < d->g->nnodes; node++)
        if (d->nodes[node].recomputed) check(&r, node);
    return LFUSE_OK;
}

lfuse_status lfuse__pass_recompute(lfuse__draft *d)
{
    readings r;
    int32_t node;

    if (is_off(d) || d->recompute_decided) return LFUSE_OK;
    LFUSE__TRY(list_readings(d, &r));
    for (node = 0; node < d->g->nnodes; node++) {
        if (!candidate(&r, node) || !recomputes(&r, node)) continue;
        choose(d, node);
        d->any_recomputed = true;
    }
    d->recompute_decided = true;
    return LFUSE_OK;
}
