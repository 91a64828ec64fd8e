/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of biases that only update the bias. Such a gradient is the sum over the rows of a product's epilogue.
 *
 * Where other kernels read the epilogue's result too, this pass cuts the sum off it: the product stores the result, and
 * the sums of all layers run late in one launch (bundle.c). That takes one launch for all layers in place of one for
 * each, and the product need not be stored and loaded between its kernel and the sum's.
 *
 * The pass leaves alone
 *  - a single sum, which has nothing to share a launch with;
 *  - on GPUs, products that fill the device or whose sizes are not known: their tiles sum columns (product_sums.c);
 *  - f16 and bf16, whose sums take values that have not been rounded, while stored ones have.
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

/* Returns the sum over rows that is the only reduction of the region behind a product; -1: there is no such one. */
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

/* Whether what the region computes of the sum is stored in updated inputs alone, and no other kernel reads it. */
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
    return s[0] > 0 && s[1] > LFUSE__WAVE * units / s[0];
}

/* Returns the operand of the sum, which the product shall store; -1: the sum stays with the product. */
static int32_t summed(const lfuse__draft *d, int32_t matmul)
{
    const lfuse__node *product = lfuse__draft_node(d, matmul);
    const int32_t reader = d->nodes[matmul].reader, region = reader < 0 ? -1 : d->nodes[reader].region;
    int32_t sum, of;

    if (region < 0 || product->list || product->rank != 2 || product->type != LFUSE_F32 || d->nodes[matmul].levels ||
        d->nodes[matmul].reads != 1 || d->nodes[matmul].cut || !lfuse__draft_native(d, matmul) ||
        (d->advice->has_tiles(d->facts) && fills_device(d, product)))
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
