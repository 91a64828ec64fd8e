/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that nobody waits for, of what is computed of a product element by element:
 *  - gradients of biases that only update the bias, which are sums over the rows;
 *  - on GPUs, losses that are nothing but a result, which are sums over all elements.
 *
 * This pass cuts such a sum off its operand. The product's epilogue computes and stores the operand, and the sums of
 * all layers run late in one launch (bundle.c). That takes one launch for all layers in place of one or two for each,
 * which the next product would wait for. Of a gradient the operand is stored anyway, as other kernels read it; that of
 * a loss is stored for the sum alone.
 *
 * The pass leaves alone
 *  - a single sum, which has nothing to share a launch with;
 *  - on GPUs, products that fill the device or whose sizes are not known: their tiles sum columns (product_sums.c);
 *  - f16 and bf16, whose sums take values that have not been rounded, while stored ones have.
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

/* Returns whether nothing of the region but this sum is a reduction. */
static bool is_only_root(const lfuse__draft *d, int32_t sum)
{
    int32_t node;

    for (node = d->nodes[sum].region; node >= 0; node = d->nodes[node].next)
        if (node != sum && lfuse__draft_is_root(d, node)) return false;
    return true;
}

/* What becomes of the values that a region computes of its sum. */
typedef struct fate {
    bool read;    /* another kernel reads one */
    bool updates; /* one updates an input */
    bool results; /* one is another result */
} fate;

static fate fate_of(const lfuse__draft *d, int32_t region)
{
    fate f = { false, false, false };
    int32_t node, name;

    for (node = region; node >= 0; node = d->nodes[node].next) {
        if (!d->nodes[node].signature.row) continue;
        f.read = f.read || d->nodes[node].read_elsewhere;
        for (name = d->nodes[node].target; name >= 0; name = d->names[name].next_target) {
            if (d->g->names[name].update >= 0) f.updates = true;
            else f.results = true;
        }
    }
    return f;
}

static bool fills_device(const lfuse__draft *d, const lfuse__node *product)
{
    const int64_t units = d->facts->info.compute_units ? d->facts->info.compute_units : 1;
    const lfuse_size *s = product->shape;

    if (!lfuse__size_is_number(s[0]) || !lfuse__size_is_number(s[1])) return true;
    return s[0] > 0 && s[1] > LFUSE__WAVE * units / s[0];
}

/* Returns whether the epilogue of a product can compute what is read of it, were no sum there. */
static bool has_epilogue(const lfuse__draft *d, int32_t matmul)
{
    const lfuse__node *product = lfuse__draft_node(d, matmul);

    return product->kind == LFUSE__MATMUL && !product->list && product->rank == 2 && product->type == LFUSE_F32 &&
           !d->nodes[matmul].levels && d->nodes[matmul].reads == 1 && d->nodes[matmul].reader >= 0 &&
           !d->nodes[matmul].cut && lfuse__draft_native(d, matmul) &&
           !(d->advice->has_tiles(d->facts) && fills_device(d, product));
}

/* heads[region]: the product whose value the region reads, whose epilogue could be of it; -1. */
static void find_heads(const lfuse__draft *d, int32_t *heads)
{
    int32_t node, region;

    for (node = 0; node < d->g->nnodes; node++) heads[node] = -1;
    for (node = 0; node < d->g->nnodes; node++) {
        if (!has_epilogue(d, node)) continue;
        region = d->nodes[d->nodes[node].reader].region;
        if (region >= 0) heads[region] = node;
    }
}

/*
 * Notes what a node of the region reads from outside of it: *head, the product of whose epilogue it is, or else *level,
 * the highest at which it is there. What is inlined is computed in the region.
 */
static void note_operands(const lfuse__draft *d, int32_t node, int32_t region, const int32_t *heads, int32_t *head,
                          int32_t *level)
{
    int i;

    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        const int32_t base = lfuse__draft_base(d, node, i), of = d->nodes[base].region;
        if (d->nodes[base].inlined) note_operands(d, base, region, heads, head, level);
        else if (of >= 0 && of != region && heads[of] >= 0) *head = heads[of];
        else if (of != region && lfuse__draft_ready(d, base) > *level) *level = lfuse__draft_ready(d, base);
    }
}

/*
 * Returns the product in whose epilogue a region's elements can be computed: the one that the region reads; or, where
 * nothing else has to be waited for, the one whose epilogue the values that the region reads are of. -1: there is none.
 */
static int32_t head_of(const lfuse__draft *d, int32_t region, const int32_t *heads)
{
    int32_t node, head = heads[region], level = -1;

    if (head >= 0) return head;
    for (node = region; node >= 0; node = d->nodes[node].next) note_operands(d, node, region, heads, &head, &level);
    return head >= 0 && level <= d->nodes[head].level ? head : -1;
}

/* Returns whether a sum over the rows, or over all elements, is one that this pass looks for. */
static bool is_late(const lfuse__draft *d, int32_t sum, int32_t of)
{
    const lfuse__node *n = lfuse__draft_node(d, sum);
    const fate f = fate_of(d, d->nodes[sum].region);

    if (f.read) return false;
    if (n->naxes == 1) return !n->axes[0] && f.updates && !f.results && d->nodes[of].read_elsewhere;
    return f.results && !f.updates && d->advice->has_tiles(d->facts);
}

/* Returns the operand of the sum, which a product shall store; -1: the sum stays with it. */
static int32_t summed(const lfuse__draft *d, int32_t sum, const int32_t *heads)
{
    const lfuse__node *n = lfuse__draft_node(d, sum);
    const int32_t region = d->nodes[sum].region;
    int32_t of, head;

    if (n->kind != LFUSE__REDUCE || n->op != LFUSE__REDUCE_SUM || region < 0 || !is_only_root(d, sum)) return -1;
    of = lfuse__draft_base(d, sum, 0);
    if (of != n->in[0] || d->nodes[of].region != region || d->nodes[of].cut || !is_late(d, sum, of)) return -1;
    head = head_of(d, region, heads);
    return head >= 0 && lfuse__same_shape(lfuse__draft_node(d, of), lfuse__draft_node(d, head)) ? of : -1;
}

lfuse_status lfuse__pass_late_sums(lfuse__draft *d)
{
    const size_t n = (size_t)d->g->nnodes;
    int32_t *sums = lfuse__arena_array(&d->round, n, sizeof *sums);
    int32_t *heads = lfuse__arena_array(&d->round, n, sizeof *heads), node;
    int i, count = 0;

    if (!sums || !heads) return LFUSE_ERR_MEMORY;
    if (d->disable & (LFUSE_NO_BUNDLES | LFUSE_NO_EPILOGUE)) return LFUSE_OK;
    find_heads(d, heads);
    for (node = 0; node < d->g->nnodes; node++)
        if (summed(d, node, heads) >= 0) sums[count++] = node;
    for (i = 0; i < count && count > 1; i++) {
        d->nodes[lfuse__draft_base(d, sums[i], 0)].cut = d->changed = true;
        d->nodes[sums[i]].late = true;
    }
    return LFUSE_OK;
}
