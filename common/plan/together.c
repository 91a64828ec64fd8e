/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that update inputs alone and share one launch: the gradients of the weights of several layers, with the
 * optimizer's step in the epilogue. Nobody waits for them, so that they can run last, and there they are one level.
 *
 * What they multiply stays in scratch memory until then. So this pass takes those whose matrices are small: so many
 * elements as the device's work-items hold at a time. It leaves the library's own kernels as the only way to compute
 * them, as another way would be measured, or declined, for each of them alone; and early_updates.c leaves them late.
 *
 * The pass leaves alone
 *  - a single product, and products whose sizes are not known;
 *  - CPUs, whose kernels share out one product's work;
 *  - f16 and bf16, whose products on tensor cores nobody has measured so, and operands that are computed where they are
 *    read.
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

enum { WAVE = 2048, FEWEST = 2 };

static bool is_small(const lfuse__draft *d, const lfuse__node *product, lfuse_size k)
{
    const int64_t units = d->facts->info.compute_units ? d->facts->info.compute_units : 1;
    const lfuse_size *s = product->shape;

    if (!lfuse__size_is_number(s[0]) || !lfuse__size_is_number(s[1]) || !lfuse__size_is_number(k)) return false;
    return s[0] > 0 && s[1] > 0 && k > 0 &&
           (double)k * ((double)s[0] + (double)s[1]) <= (double)WAVE * (double)units;
}

/* Whether every kernel's reduction is the product itself. */
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

lfuse_status lfuse__pass_together(lfuse__draft *d)
{
    int32_t u, count = 0;

    if (d->disable & (LFUSE_NO_BUNDLES | LFUSE_NO_EPILOGUE) || !d->advice->has_tiles(d->facts)) return LFUSE_OK;
    for (u = 0; u < d->nunits; u++) count += can_be_late(d, &d->units[u]);
    for (u = 0; u < d->nunits && count >= FEWEST; u++)
        if (can_be_late(d, &d->units[u])) d->nodes[d->units[u].node].together = true;
    return LFUSE_OK;
}
