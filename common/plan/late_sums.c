/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of biases, of which nothing but an update is made: the sums of the columns of what stands behind a product.
 * Where other kernels read what is summed, so that it is stored anyway, the product's epilogue stores it, and the sums
 * of all layers run late and share a launch (bundle.c). That saves a launch for each layer but one, and one store and
 * one load of the product, which would go to a kernel of both.
 *
 * Not so where there is one such sum alone, nor on GPUs for products that are large enough to fill the device, or may
 * be: their tiles sum columns where they are (product_sums.c). Nor of f16 and bf16: sums take what is not rounded yet.
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

enum { WAVE = 2048 }; /* elements for each compute unit, as in bundle.c */

/* Elements of the product are computed in its region, and the sum of their columns: that REDUCE; -1. */
static int32_t sum_of(const lfuse__draft *d, int32_t matmul, int32_t region)
{
    const lfuse__node *product = lfuse__draft_node(d, matmul);
    int32_t node, sum = -1;

    for (node = region; node >= 0; node = d->nodes[node].next) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        if (!lfuse__draft_is_root(d, node)) continue;
        if (sum >= 0 || n->kind != LFUSE__REDUCE || n->op != LFUSE__REDUCE_SUM || n->naxes != 1 || n->axes[0])
            return -1;
        sum = node;
    }
    if (sum < 0 || !lfuse__same_shape(lfuse__draft_node(d, lfuse__draft_node(d, sum)->in[0]), product)) return -1;
    return sum;
}

/* What is made of the sum is stored in updated inputs alone, and nobody else reads it. */
static bool updates_alone(const lfuse__draft *d, int32_t region)
{
    int32_t node, name;
    bool updates = false;

    for (node = region; node >= 0; node = d->nodes[node].next) {
        if (!d->nodes[node].signature.row) continue;
        if (d->nodes[node].read_elsewhere) return false;
        for (name = d->nodes[node].target; name >= 0; name = d->names[name].next_target) {
            if (d->g->names[name].update < 0) return false;
            updates = true;
        }
    }
    return updates;
}

static bool fills_device(const lfuse__draft *d, const lfuse__node *product)
{
    const int64_t units = d->facts->info.compute_units ? d->facts->info.compute_units : 1;
    const lfuse_size *s = product->shape;

    if (!lfuse__size_is_number(s[0]) || !lfuse__size_is_number(s[1])) return true;
    return s[0] > 0 && s[1] > WAVE * units / s[0];
}

/* Returns the value that is summed, which is to be stored by the product; -1: the sum stays where it is. */
static int32_t summed(const lfuse__draft *d, int32_t matmul)
{
    const lfuse__node *product = lfuse__draft_node(d, matmul);
    const int32_t reader = d->nodes[matmul].reader, region = reader < 0 ? -1 : d->nodes[reader].region;
    int32_t sum, of;

    if (region < 0 || product->list || product->rank != 2 || product->type != LFUSE_F32 || d->nodes[matmul].levels ||
        d->nodes[matmul].reads != 1 || d->nodes[matmul].cut || !lfuse__draft_native(d, matmul) ||
        lfuse__draft_both(d, matmul) || (d->advice->has_tiles(d->facts) && fills_device(d, product)))
        return -1;
    sum = sum_of(d, matmul, region);
    of = sum < 0 ? -1 : lfuse__draft_base(d, sum, 0);
    if (of < 0 || of != lfuse__draft_node(d, sum)->in[0] || d->nodes[of].region != region || d->nodes[of].cut ||
        !d->nodes[of].read_elsewhere || !updates_alone(d, region))
        return -1;
    return of;
}

lfuse_status lfuse__pass_late_sums(lfuse__draft *d)
{
    int32_t *found = lfuse__arena_array(&d->round, (size_t)d->g->nnodes, sizeof *found), node;
    int i, count = 0;

    if (!found) return LFUSE_ERR_MEMORY;
    if (d->disable & (LFUSE_NO_BUNDLES | LFUSE_NO_EPILOGUE)) return LFUSE_OK;
    for (node = 0; node < d->g->nnodes; node++) {
        if (lfuse__draft_node(d, node)->kind != LFUSE__MATMUL) continue;
        found[count] = summed(d, node);
        count += found[count] >= 0;
    }
    for (i = 0; i < count && count > 1; i++) d->nodes[found[i]].cut = d->changed = true;
    return LFUSE_OK;
}
