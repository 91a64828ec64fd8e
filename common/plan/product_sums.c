/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of columns in a product: the gradient of a bias beside that of what it was added to. Where a region behind a
 * product of the library's own for GPUs sums its rows, once and in f32, the product's kernel does all of the region;
 * the values that are added up need not be stored. The sum has the bits of a row kernel
 * (matmul/column_sums.c). For sizes at which tiles decline to do so, the product by itself and a row kernel
 * for the region are the other alternative.
 */
#include "common/plan/draft.h"

#include <string.h>

#include "common/base/error.h"

static bool plain(const lfuse__draft *d, int32_t matmul)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    int i;

    if (d->disable & (LFUSE_NO_COLUMN_SUMS | LFUSE_NO_ROW_FUSION) || n->list || n->rank != 2 ||
        n->op == LFUSE_PRECISION_TF32 || lfuse__register_type((lfuse_type)n->type) != LFUSE_F32 ||
        d->nodes[matmul].levels || !d->advice->has_tiles(d->facts) || lfuse__draft_both(d, matmul) ||
        !lfuse__draft_native(d, matmul) || lfuse__draft_transposed(d, matmul, 0))
        return false;
    for (i = 0; i < 2; i++)
        if (lfuse__prologue(d, matmul, i) >= 0) return false;
    return true;
}

/* A sum over the rows of what has the shape of the product. */
static bool sums_rows(const lfuse__draft *d, int32_t node, const lfuse__node *product)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *of;

    if (n->kind != LFUSE__REDUCE || n->op != LFUSE__REDUCE_SUM || n->naxes != 1 || n->axes[0]) return false;
    of = lfuse__draft_node(d, n->in[0]);
    return lfuse__same_shape(of, product) && lfuse__register_type((lfuse_type)of->type) == LFUSE_F32 &&
           lfuse__register_type((lfuse_type)n->type) == LFUSE_F32;
}

/* Elements of the product's shape, or what is made of columns. */
static bool holds(const lfuse__draft *d, int32_t node, const lfuse__node *product)
{
    const lfuse__node *n = lfuse__draft_node(d, node);

    if (n->list || d->nodes[node].recomputed || d->nodes[node].scope != LFUSE__SCOPE_NONE ||
        !lfuse__draft_pointwise(d, node))
        return false;
    return d->nodes[node].signature.row || lfuse__same_shape(n, product);
}

bool lfuse__product_sums(const lfuse__draft *d, int32_t matmul, int32_t region)
{
    const lfuse__node *product = lfuse__draft_node(d, matmul);
    int32_t node;
    int sums = 0;

    if (!plain(d, matmul)) return false;
    for (node = region; node >= 0; node = d->nodes[node].next) {
        if (sums_rows(d, node, product)) sums++;
        else if (!holds(d, node, product)) return false;
    }
    return sums == 1;
}

void lfuse__product_sums_loop(const lfuse__draft *d, int32_t matmul, lfuse__unit_loop *loop)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    int i;

    memset(loop, 0, sizeof *loop);
    loop->rank = n->rank;
    for (i = 0; i < LFUSE_MAX_RANK; i++) loop->axis[i] = (int8_t)(i < n->rank ? i : -1);
    memcpy(loop->extents, n->shape, (size_t)n->rank * sizeof *n->shape);
}

bool lfuse__product_sums_fit(const lfuse__step *step)
{
    const lfuse__body *body = &step->body;
    int i, k;

    for (i = 0; i < body->nstores; i++) {
        bool needed[LFUSE__BODY_INSTRUCTIONS] = { false }, behind = false;
        needed[body->stores[i].reg] = true;
        lfuse__body_needs(body, NULL, needed);
        for (k = 0; k < body->ninstr; k++) behind = behind || (needed[k] && body->instr[k].kind == LFUSE__I_REDUCE);
        if (behind != (step->operands[body->stores[i].operand].axis[0] < 0)) return false;
    }
    return true;
}

/* ---- the other alternative ---- */

static lfuse_status row_step(lfuse__draft *d, const lfuse__unit *u, lfuse__step *step, bool *fits)
{
    lfuse__unit_loop loop;
    lfuse__builder *b;

    lfuse__draft_loop(d, u->tail, &loop);
    LFUSE__TRY(lfuse__builder_begin(d, u->tail, loop.rank, loop.extents, &b));
    lfuse__builder_loop(b, &loop);
    lfuse__region_stores(d, b, u->tail, &loop);
    *fits = !lfuse__builder_overflow(b);
    if (!*fits) return LFUSE_OK;
    LFUSE__TRY(lfuse__builder_finish(b, LFUSE__STEP_ROWS, step));
    step->naxes = loop.naxes;
    return LFUSE_OK;
}

/* The product lies in memory there, whether it does elsewhere or not. */
static lfuse_status make_separate(lfuse__draft *d, const lfuse__unit *u, lfuse__step *steps, bool *fits)
{
    const lfuse__home before = d->memory[u->node].home;
    lfuse__unit bare = *u;
    lfuse_status status = lfuse__draft_give_memory(d, u->node);

    bare.tail = -1;
    if (!status) status = lfuse__native_step(d, &bare, &steps[0], fits);
    if (!status && *fits) status = row_step(d, u, &steps[1], fits);
    d->memory[u->node].home = before;
    return status;
}

lfuse_status lfuse__make_sums(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage, bool *fits)
{
    LFUSE__TRY(lfuse__stage_add(stage, "native+rows", 2));
    stage->alternatives[0].steps[0].product.ahead = true;
    return make_separate(d, u, stage->alternatives[1].steps, fits);
}
