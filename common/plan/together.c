/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that update inputs alone and share one launch: the gradients of the weights of several layers, with the
 * optimizer's step in the epilogue. Nobody waits for them, so that they can run last, and there they are one level.
 *
 * What they multiply stays in scratch memory until then. So this pass takes those whose matrices are small: so many
 * elements as a device holds at a time (LFUSE__WAVE). It leaves the library's own kernels as the only way to compute
 * them, as another way would be measured, or declined, for each of them alone; and early_updates.c leaves them late.
 *
 * The pass leaves alone
 *  - a product without another one of its sizes, whose tiles would be others, and products whose sizes are not known;
 *  - CPUs, whose kernels share out one product's work;
 *  - f16 and bf16, whose products on tensor cores nobody has measured so, and operands that are computed where they are
 *    read.
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

static bool is_small(const lfuse__draft *d, const lfuse__node *product, lfuse_size k)
{
    const lfuse_size *s = product->shape;

    if (!lfuse__size_is_number(s[0]) || !lfuse__size_is_number(s[1]) || !lfuse__size_is_number(k)) return false;
    return s[0] > 0 && s[1] > 0 && k > 0 &&
           (double)k * ((double)s[0] + (double)s[1]) <= (double)lfuse__draft_wave(d);
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
           lfuse__draft_native(d, u->node) && tail_is_pointwise(d, u->tail) &&
           is_small(d, product, left->shape[left->rank - 1]);
}

static bool same_sizes(const lfuse__draft *d, int32_t a, int32_t b)
{
    const lfuse__node *x = lfuse__draft_node(d, a), *y = lfuse__draft_node(d, b);
    const lfuse__node *left = lfuse__draft_node(d, x->in[0]), *other = lfuse__draft_node(d, y->in[0]);

    return x->shape[0] == y->shape[0] && x->shape[1] == y->shape[1] && left->shape[1] == other->shape[1];
}

/* Marks the products of unit `first` and of those behind it that are of its sizes, where there is one. */
static void mark(lfuse__draft *d, int32_t first)
{
    const int32_t node = d->units[first].node;
    int32_t u;

    for (u = first + 1; u < d->nunits; u++) {
        const lfuse__unit *unit = &d->units[u];
        if (!can_be_late(d, unit) || d->nodes[unit->node].together || !same_sizes(d, node, unit->node)) continue;
        d->nodes[node].together = d->nodes[unit->node].together = true;
    }
}

lfuse_status lfuse__pass_together(lfuse__draft *d)
{
    int32_t u;

    if (d->disable & (LFUSE_NO_BUNDLES | LFUSE_NO_EPILOGUE) || !d->advice->has_tiles(d->facts)) return LFUSE_OK;
    for (u = 0; u < d->nunits; u++)
        if (can_be_late(d, &d->units[u]) && !d->nodes[d->units[u].node].together) mark(d, u);
    return LFUSE_OK;
}
