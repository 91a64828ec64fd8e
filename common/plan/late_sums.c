/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that nobody waits for, over values that are computed from a product element by element:
 *  - gradients of biases that only update the bias: sums over the rows;
 *  - on GPUs, losses that are only stored in an output: sums over all elements.
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

/* How the values are used that a region computes from its sum. */
typedef struct uses {
    bool read;    /* another kernel reads one */
    bool updates; /* one is stored in an input */
    bool outputs; /* one is stored in an output */
} uses;

static uses uses_of(const lfuse__draft *d, int32_t region)
{
    uses found = { false, false, false };
    int32_t node, name;

    for (node = region; node >= 0; node = d->nodes[node].next) {
        if (!d->nodes[node].signature.row) continue;
        found.read = found.read || d->nodes[node].read_elsewhere;
        for (name = d->nodes[node].target; name >= 0; name = d->names[name].next_target) {
            if (d->g->names[name].update >= 0) found.updates = true;
            else found.outputs = true;
        }
    }
    return found;
}

static bool fills_device(const lfuse__draft *d, const lfuse__node *product)
{
    const lfuse_size *s = product->shape;

    if (!lfuse__size_is_number(s[0]) || !lfuse__size_is_number(s[1])) return true;
    return s[0] > 0 && s[1] > lfuse__draft_wave(d) / s[0];
}

/* Returns whether the node is a product that can have an epilogue of its own kernel. */
static bool can_have_epilogue(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    return n->kind == LFUSE__MATMUL && !n->list && n->rank == 2 && n->type == LFUSE_F32 && !d->nodes[node].levels &&
           d->nodes[node].reads == 1 && d->nodes[node].reader >= 0 && !d->nodes[node].cut &&
           lfuse__draft_native(d, node) && !(d->advice->has_tiles(d->facts) && fills_device(d, n));
}

/* Sets products[region] to the product that the region reads and could be the epilogue of; -1: there is none. */
static void find_products(const lfuse__draft *d, int32_t *products)
{
    int32_t node, region;

    for (node = 0; node < d->g->nnodes; node++) products[node] = -1;
    for (node = 0; node < d->g->nnodes; node++) {
        if (!can_have_epilogue(d, node)) continue;
        region = d->nodes[d->nodes[node].reader].region;
        if (region >= 0) products[region] = node;
    }
}

/*
 * Looks at the operands that a node of `region` has outside of it. Sets *product where one is computed by a region of
 * products[]. Raises *level to the level at which all others are there. Inlined operands are computed in the region
 * itself, so that their operands count instead.
 */
static void note_operands(const lfuse__draft *d, int32_t node, int32_t region, const int32_t *products,
                          int32_t *product, int32_t *level)
{
    int i;

    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        const int32_t base = lfuse__draft_base(d, node, i), of = d->nodes[base].region;
        if (d->nodes[base].inlined) note_operands(d, base, region, products, product, level);
        else if (of >= 0 && of != region && products[of] >= 0) *product = products[of];
        else if (of != region && lfuse__draft_ready(d, base) > *level) *level = lfuse__draft_ready(d, base);
    }
}

/*
 * Returns the product whose epilogue can compute the elements of a region; -1: there is none. Either the region reads
 * the product itself, or it reads values of the product's epilogue, and all else that it reads is there when the
 * product runs.
 */
static int32_t product_of(const lfuse__draft *d, int32_t region, const int32_t *products)
{
    int32_t node, product = products[region], level = -1;

    if (product >= 0) return product;
    for (node = region; node >= 0; node = d->nodes[node].next)
        note_operands(d, node, region, products, &product, &level);
    return product >= 0 && level <= d->nodes[product].level ? product : -1;
}

/* Returns whether the sum of `of` is the gradient of a bias, or a loss, that nobody waits for. */
static bool can_be_late(const lfuse__draft *d, int32_t sum, int32_t of)
{
    const lfuse__node *n = lfuse__draft_node(d, sum);
    const uses found = uses_of(d, d->nodes[sum].region);

    if (found.read) return false;
    if (n->naxes == 1) return !n->axes[0] && found.updates && !found.outputs && d->nodes[of].read_elsewhere;
    return found.outputs && !found.updates && d->advice->has_tiles(d->facts);
}

/* Returns whether a product shall store the operand of the sum, which then runs late. */
static bool is_cut_off(const lfuse__draft *d, int32_t sum, const int32_t *products)
{
    const lfuse__node *n = lfuse__draft_node(d, sum);
    const int32_t region = d->nodes[sum].region;
    int32_t of, product;

    if (n->kind != LFUSE__REDUCE || n->op != LFUSE__REDUCE_SUM || region < 0 || !is_only_root(d, sum)) return false;
    of = lfuse__draft_base(d, sum, 0);
    if (of != n->in[0] || d->nodes[of].region != region || d->nodes[of].cut || !can_be_late(d, sum, of)) return false;
    product = product_of(d, region, products);
    return product >= 0 && lfuse__same_shape(lfuse__draft_node(d, of), lfuse__draft_node(d, product));
}

lfuse_status lfuse__pass_late_sums(lfuse__draft *d)
{
    const size_t n = (size_t)d->g->nnodes;
    int32_t *sums = lfuse__arena_array(&d->round, n, sizeof *sums);
    int32_t *products = lfuse__arena_array(&d->round, n, sizeof *products), node;
    int i, count = 0;

    if (!sums || !products) return LFUSE_ERR_MEMORY;
    if (d->disable & (LFUSE_NO_BUNDLES | LFUSE_NO_EPILOGUE)) return LFUSE_OK;
    find_products(d, products);
    for (node = 0; node < d->g->nnodes; node++)
        if (is_cut_off(d, node, products)) sums[count++] = node;
    for (i = 0; i < count && count > 1; i++) {
        d->nodes[lfuse__draft_base(d, sums[i], 0)].cut = d->changed = true;
        d->nodes[sums[i]].late = true;
    }
    return LFUSE_OK;
}
