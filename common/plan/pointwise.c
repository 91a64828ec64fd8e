/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vertical fusion. Pointwise nodes and reductions that signatures let read each other inside one kernel, and that lie
 * on one level, become a region, so one kernel. A level is how many steps must have run before; edges between regions
 * go up, so there is never a cycle.
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

/* The walk by which the only reader reads the node: through a copied view, or as one of its operands. The walker. */
static int32_t reading(const lfuse__draft *d, int32_t node, lfuse__view *walk)
{
    const int32_t reader = d->nodes[node].reader;
    int i = 0;

    if (reader < 0) {
        *walk = d->memory[-2 - reader].view;
        return -2 - reader;
    }
    while (lfuse__draft_operand(d, reader, i, walk) != node) i++;
    switch ((lfuse__node_kind)lfuse__draft_node(d, reader)->kind) {
    case LFUSE__REDUCE:
    case LFUSE__MEMBER_REDUCE:
    case LFUSE__LIST_REDUCE:
    case LFUSE__LINE_REDUCE:
    case LFUSE__CONCAT: return lfuse__draft_node(d, reader)->in[i];
    default: return reader;
    }
}

/* Whether the kernel that computes the reader can compute the node too; sets how its loop walks it. */
static bool reachable(lfuse__draft *d, int32_t node, int32_t reader, const lfuse__view *walk)
{
    if (reader < 0 || !d->nodes[reader].inlined) d->memory[node].at = *walk;
    else if (!lfuse__view_compose(d, &d->memory[reader].at, reader, walk, &d->memory[node].at)) return false;
    return lfuse__draft_reaches(d, node, &d->memory[node].at);
}

/* How many operands, as large as the node, would have to be stored if the node were not computed beside them. */
static int stored_operands(const lfuse__draft *d, int32_t node)
{
    lfuse__view walk;
    int i, count = 0;

    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        const int32_t base = lfuse__draft_operand(d, node, i, &walk);
        count += d->nodes[base].reads > 1 && lfuse__draft_fuses(d, base, node, &walk) && !d->nodes[base].signature.row;
    }
    return count;
}

/*
 * Single use by something that could not be of the same kernel: computed there, no element twice. Values of rows stay
 * with their rows, and what is computed from several values that other kernels compute stays with those: storing it is
 * less.
 */
static bool joins_reader(lfuse__draft *d, int32_t node)
{
    const int32_t reader = d->nodes[node].reader;
    lfuse__view walk;
    int32_t walks;

    if (d->nodes[node].reads != 1) return false;
    if (reader >= 0 && (d->nodes[reader].prepared != d->nodes[node].prepared || lfuse__draft_alone(d, reader)))
        return false;
    walks = reading(d, node, &walk);
    if (!lfuse__draft_once(d, walks, &walk) || !reachable(d, node, reader, &walk)) return false;
    if (reader >= 0 && lfuse__draft_node(d, reader)->kind == LFUSE__CONCAT) /* else stored in its slice directly */
        return !lfuse__view_linear(d, walks, &walk);
    if (reader >= 0 && lfuse__draft_fuses(d, node, reader, &walk)) return false;
    return !d->nodes[node].signature.row && stored_operands(d, node) <= 1;
}

/*
 * A value of rank 0 is computed anew by each element that reads it, as that costs less than a launch for the value
 * alone. Values of more than MOST_OF_NUMBER operations are computed once, together, and stored: Adam's corrections of
 * its moments, 1 - beta^t in f64, are such. Kernels over lists compute these values once for each chunk, so they read
 * no stored ones.
 */
enum { MOST_OF_NUMBER = 30 /* operations, as of lfuse__op_weight */, NUMBER_DEPTH = 24, FEW_ELEMENTS = 64 };

static bool is_number(const lfuse__draft *d, int32_t node)
{
    return lfuse__draft_node(d, node)->rank == 0 && !lfuse__draft_node(d, node)->list &&
           lfuse__draft_pointwise(d, node) && !lfuse__draft_immediate(d, node) && d->nodes[node].signature.root < 0;
}

static double work_of_number(const lfuse__draft *d, int32_t node, int depth)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    double work = n->kind == LFUSE__POINTWISE ? lfuse__op_weight((lfuse__op)n->op) : 0;
    int i;

    for (i = 0; i < n->nin && depth < NUMBER_DEPTH && work <= MOST_OF_NUMBER; i++) {
        const int32_t base = lfuse__draft_base(d, node, i);
        if (is_number(d, base) && !d->nodes[base].is_result) work += work_of_number(d, base, depth + 1);
    }
    return work;
}

/* Marks the operands of a node that more than FEW_ELEMENTS elements of a tensor read. */
static void note_elements(const lfuse__draft *d, int32_t node, bool *of_elements)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    int64_t count = 1;
    int i;

    if (n->list || !lfuse__draft_pointwise(d, node) || lfuse__draft_immediate(d, node)) return;
    for (i = 0; i < n->rank && count <= FEW_ELEMENTS; i++)
        count *= lfuse__size_is_number(n->shape[i]) && n->shape[i] <= FEW_ELEMENTS ? n->shape[i] : FEW_ELEMENTS + 1;
    for (i = 0; i < n->nin && count > FEW_ELEMENTS; i++) of_elements[lfuse__draft_base(d, node, i)] = true;
}

static bool inlines(lfuse__draft *d, int32_t node, bool of_elements)
{
    if (!lfuse__draft_pointwise(d, node) || d->nodes[node].needs_memory || d->nodes[node].cut ||
        lfuse__draft_alone(d, node))
        return false;
    if (lfuse__draft_immediate(d, node)) return true;
    if (d->nodes[node].is_result || d->disable & LFUSE_NO_POINTWISE_FUSION) return false;
    if (d->nodes[node].scope >= LFUSE__SCOPE_MEMBER || lfuse__draft_repeats(d, node)) return false;
    if (lfuse__draft_node(d, node)->rank == 0 && d->nodes[node].signature.root < 0)
        return !of_elements || work_of_number(d, node, 0) <= MOST_OF_NUMBER;
    return joins_reader(d, node);
}

lfuse_status lfuse__pass_inline(lfuse__draft *d)
{
    bool *of_elements = lfuse__arena_array(&d->round, (size_t)d->g->nnodes + 1, sizeof *of_elements);
    int32_t node;

    if (!of_elements) return LFUSE_ERR_MEMORY;
    for (node = d->g->nnodes - 1; node >= 0; node--) {
        d->nodes[node].inlined = inlines(d, node, of_elements[node]);
        note_elements(d, node, of_elements);
    }
    return LFUSE_OK;
}

/* Levels between a base and the node that reads it. */
static int distance(const lfuse__draft *d, int32_t base, int32_t node, const lfuse__view *walk)
{
    return !lfuse__draft_computes(d, base) || d->nodes[base].inlined || lfuse__draft_is_piece(d, base, node) ||
           lfuse__draft_fuses(d, base, node, walk) ? 0 : 1;
}

/* The level at which another kernel than its own can have what is read. */
static int32_t ready(const lfuse__draft *d, int32_t base)
{
    return d->nodes[base].recomputed ? d->nodes[base].ready : lfuse__draft_ready(d, base);
}

static void earliest(lfuse__draft *d)
{
    lfuse__view walk;
    int32_t node;
    int i;

    for (node = 0; node < d->g->nnodes; node++) {
        d->nodes[node].level = d->nodes[node].ready = 0;
        if (!lfuse__draft_computes(d, node)) continue;
        for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
            const int32_t base = lfuse__draft_operand(d, node, i, &walk), there = ready(d, base);
            const int far = distance(d, base, node, &walk);
            const int32_t level = far ? there : d->nodes[base].level;
            if (level > d->nodes[node].level) d->nodes[node].level = level;
            if (there > d->nodes[node].ready) d->nodes[node].ready = there;
        }
    }
}

/*
 * When the readers of a node run: the first of them, and the first that can be computed in one kernel with it; of what
 * is recomputed, the first that does that.
 */
typedef struct readers {
    int32_t any, fused, recomputing;
} readers;

/* The operands of a recomputed node must be there for the kernels that compute it. */
static void note_recomputing(const lfuse__draft *d, int32_t node, readers *all)
{
    const int32_t level = all[node].recomputing;
    int i;

    for (i = 0; i < lfuse__draft_node(d, node)->nin && level < INT32_MAX; i++) {
        const int32_t base = lfuse__draft_base(d, node, i);
        const int32_t before = level - (lfuse__draft_computes(d, base) && !d->nodes[base].inlined);
        if (d->nodes[base].recomputed && level < all[base].recomputing) all[base].recomputing = level;
        if (!d->nodes[base].recomputed && before < all[base].any) all[base].any = before;
    }
}

static void note_reading(const lfuse__draft *d, int32_t node, readers *all)
{
    lfuse__view walk;
    int i;

    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        const int32_t base = lfuse__draft_operand(d, node, i, &walk);
        const int32_t far = distance(d, base, node, &walk), level = d->nodes[node].level - far;
        if (far && d->nodes[base].recomputed) {
            if (d->nodes[node].level < all[base].recomputing) all[base].recomputing = d->nodes[node].level;
            continue;
        }
        if (level < all[base].any) all[base].any = level;
        if (!far && level < all[base].fused) all[base].fused = level;
    }
}

/* What is read moves up to its first reader, to be computed where it is used, if it can be computed in one kernel. */
lfuse_status lfuse__pass_levels(lfuse__draft *d)
{
    const int32_t n = d->g->nnodes;
    readers *all = lfuse__arena_array(&d->round, (size_t)n, sizeof *all);
    int32_t node;

    if (!all) return LFUSE_ERR_MEMORY;
    earliest(d);
    for (node = 0; node < n; node++) all[node] = (readers){ INT32_MAX, INT32_MAX, INT32_MAX };
    for (node = n - 1; node >= 0; node--) {
        if (!lfuse__draft_computes(d, node)) continue;
        if (all[node].any < INT32_MAX && all[node].fused == all[node].any) d->nodes[node].level = all[node].any;
        note_reading(d, node, all);
        if (d->nodes[node].recomputed) note_recomputing(d, node, all);
    }
    return LFUSE_OK;
}

static void join(lfuse__draft *d, int32_t *parent, int32_t node)
{
    lfuse__view walk;
    int32_t a, b;
    int i;

    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        const int32_t base = lfuse__draft_operand(d, node, i, &walk);
        if (d->nodes[base].level != d->nodes[node].level || !lfuse__draft_fuses(d, base, node, &walk)) continue;
        a = lfuse__set_of(parent, base);
        b = lfuse__set_of(parent, node);
        if (a < b) parent[b] = a;
        else parent[a] = b;
    }
}

static bool in_region(const lfuse__draft *d, int32_t node)
{
    return lfuse__draft_is_root(d, node) || lfuse__draft_reduces_list(d, node) ||
           (lfuse__draft_pointwise(d, node) && !d->nodes[node].inlined);
}

/* Whether the region's nodes have the loop of a reduction or scan that is not in the region. */
static bool lacks_its_root(const lfuse__draft *d, int32_t region)
{
    int32_t node;

    for (node = region; node >= 0; node = d->nodes[node].next)
        if (lfuse__draft_is_root(d, node) || d->nodes[node].signature.row) return false;
    return d->nodes[region].signature.root >= 0;
}

/*
 * Gives a region that lacks its root the loop of its own shape. A product whose epilogue the region is runs over that
 * shape too, so the two can share a kernel.
 */
static void sign_by_shape(lfuse__draft *d, int32_t region)
{
    int32_t node;

    for (node = region; node >= 0; node = d->nodes[node].next) lfuse__draft_sign_own(d, node);
}

lfuse_status lfuse__pass_regions(lfuse__draft *d)
{
    const int32_t n = d->g->nnodes;
    int32_t *parent = lfuse__arena_array(&d->round, (size_t)n, sizeof *parent), node;

    if (!parent) return LFUSE_ERR_MEMORY;
    for (node = 0; node < n; node++) parent[node] = node;
    for (node = 0; node < n; node++)
        if (in_region(d, node)) join(d, parent, node);
    LFUSE__TRY(lfuse__draft_siblings(d, parent));
    LFUSE__TRY(lfuse__draft_join_members(d, parent));
    for (node = 0; node < n; node++) d->nodes[node].region = in_region(d, node) ? lfuse__set_of(parent, node) : -1;
    /* Chains in ascending order: walked backwards, each node is put in front of its region's chain. */
    for (node = 0; node < n; node++) parent[node] = -1;
    for (node = n - 1; node >= 0; node--) {
        if (d->nodes[node].region < 0) continue;
        d->nodes[node].next = parent[d->nodes[node].region];
        parent[d->nodes[node].region] = node;
    }
    for (node = 0; node < n; node++)
        if (d->nodes[node].region == node && lacks_its_root(d, node)) sign_by_shape(d, node);
    return LFUSE_OK;
}
