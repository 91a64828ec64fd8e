/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that update inputs alone and share one launch: the gradients of the weights of several layers, with the
 * optimizer's step in the epilogue. Nobody waits for them, so that they can run last, and there they are one level.
 * A product without another one of its sizes can share the launch of small steps that run late, as those of biases.
 *
 * What they multiply stays in scratch memory until then. So this pass takes those whose matrices are small: so many
 * elements as a device holds at a time (LFUSE__WAVE). It leaves the library's own kernels as the only way to compute
 * them, as another way would be measured, or declined, for each of them alone; and early_updates.c leaves them late.
 *
 * The pass leaves alone
 *  - products of other sizes than all others, whose tiles would be others, where there are no small late steps or the
 *    product is too large for these (LFUSE__SHARED_WAVES);
 *  - products whose sizes are not known;
 *  - CPUs, whose kernels share out one product's work;
 *  - f16 and bf16, whose products on tensor cores nobody has measured so, and operands that are computed where they are
 *    read.
 */
#include "common/plan/draft.h"

#include <math.h>

#include "common/base/error.h"

/* Returns how many elements a tensor of this shape has; infinity where that is not known. */
static double elements(int rank, const lfuse_size *shape)
{
    double count = 1;
    for (int i = 0; i < rank; i++) {
        if (!lfuse__size_is_number(shape[i])) return INFINITY;
        count *= (double)shape[i];
    }
    return count;
}

/* Returns whether the matrices that the node multiplies are small. */
static bool has_small_operands(const lfuse__draft *d, const lfuse__node *product)
{
    double count = 0;
    for (int i = 0; i < 2; i++) {
        const lfuse__node *operand = lfuse__draft_node(d, product->in[i]);
        count += elements(operand->rank, operand->shape);
    }
    return count > 0 && count <= (double)lfuse__draft_wave(d) && elements(2, product->shape) > 0;
}

/* Returns whether nothing of the region is a reduction. */
static bool tail_is_pointwise(const lfuse__draft *d, int32_t node)
{
    for (; node >= 0; node = d->nodes[node].next)
        if (lfuse__draft_is_root(d, node)) return false;
    return true;
}

static bool can_be_late(const lfuse__draft *d, const lfuse__unit *u)
{
    const lfuse__node *product, *left;

    if (u->kind != LFUSE__UNIT_PRODUCT || u->phase != LFUSE__PHASE_LATE || u->tail < 0) return false;
    product = lfuse__draft_node(d, u->node);
    left = lfuse__draft_node(d, product->in[0]);
    return !product->list && product->rank == 2 && product->type == LFUSE_F32 && left->type == LFUSE_F32 &&
           product->op != LFUSE_PRECISION_TF32 && !d->nodes[u->node].levels &&
           lfuse__prologue(d, u->node, 0) < 0 && lfuse__prologue(d, u->node, 1) < 0 &&
           lfuse__draft_native(d, u->node) && tail_is_pointwise(d, u->tail) && has_small_operands(d, product);
}

static bool same_sizes(const lfuse__draft *d, int32_t a, int32_t b)
{
    const lfuse__node *x = lfuse__draft_node(d, a), *y = lfuse__draft_node(d, b);
    const lfuse__node *left = lfuse__draft_node(d, x->in[0]), *other = lfuse__draft_node(d, y->in[0]);

    return x->shape[0] == y->shape[0] && x->shape[1] == y->shape[1] && left->shape[1] == other->shape[1];
}

/* Returns whether the unit is a late region that leaves part of the device without work. */
static bool is_small_step(const lfuse__draft *d, const lfuse__unit *u)
{
    double most = 0;

    if (u->kind != LFUSE__UNIT_REGION || u->phase != LFUSE__PHASE_LATE) return false;
    for (int32_t node = u->node; node >= 0; node = d->nodes[node].next) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        most = fmax(most, n->list ? INFINITY : elements(n->rank, n->shape));
        for (int i = 0; i < n->nin; i++) {
            const lfuse__node *of = lfuse__draft_node(d, n->in[i]);
            most = fmax(most, of->list ? INFINITY : elements(of->rank, of->shape));
        }
    }
    return most <= (double)lfuse__draft_wave(d);
}

static bool any_small_step(const lfuse__draft *d)
{
    for (int32_t u = 0; u < d->nunits; u++)
        if (is_small_step(d, &d->units[u])) return true;
    return false;
}

/* Returns whether the product can share a launch with small steps. */
static bool shares_with_small(const lfuse__draft *d, int32_t product)
{
    return elements(2, lfuse__draft_node(d, product)->shape) <= LFUSE__SHARED_WAVES * (double)lfuse__draft_wave(d);
}

/* Marks the products of unit `first` and of those behind it that are of its sizes, where there is one. */
static void mark(lfuse__draft *d, int32_t first, bool small_steps)
{
    const int32_t node = d->units[first].node;

    d->nodes[node].together = small_steps && shares_with_small(d, node);
    for (int32_t u = first + 1; u < d->nunits; u++) {
        const lfuse__unit *unit = &d->units[u];
        if (!can_be_late(d, unit) || d->nodes[unit->node].together || !same_sizes(d, node, unit->node)) continue;
        d->nodes[node].together = d->nodes[unit->node].together = true;
    }
}

lfuse_status lfuse__pass_together(lfuse__draft *d)
{
    if (d->disable & (LFUSE_NO_BUNDLES | LFUSE_NO_EPILOGUE) || !d->advice->has_tiles(d->facts)) return LFUSE_OK;
    const bool small_steps = any_small_step(d);
    for (int32_t u = 0; u < d->nunits; u++)
        if (can_be_late(d, &d->units[u]) && !d->nodes[d->units[u].node].together) mark(d, u, small_steps);
    return LFUSE_OK;
}
