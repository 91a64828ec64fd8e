/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products for actual sizes and strides. What the vendor's libraries do not take is settled here: extents of 0, and
 * operands that are neither plain nor transposed matrices, which are copied first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/instantiate/matrix.h"
#include "common/run/operations/operations.h"
#include "common/tune/tuner.h"

/* ---- the operation ---- */

static lfuse_status place(lfuse_instance *in, lfuse__operation *operation, const lfuse__slot *slots)
{
    lfuse__gemm_op *op = operation->as.gemm;
    const lfuse__gemm_args before = op->args;
    lfuse__location at;

    (void)slots;
    lfuse__start_at(in, &op->a, &at);
    op->args.a = at.mem, op->args.a_offset = at.offset;
    lfuse__start_at(in, &op->b, &at);
    op->args.b = at.mem, op->args.b_offset = at.offset;
    lfuse__start_at(in, &op->d, &at);
    op->args.c = at.mem, op->args.c_offset = at.offset;
    if (op->bias.memory.index >= 0) {
        lfuse__start_at(in, &op->bias, &at);
        op->args.bias = at.mem, op->args.bias_offset = at.offset;
    }
    if (op->addend.memory.index >= 0) {
        lfuse__start_at(in, &op->addend, &at);
        op->args.add = at.mem, op->args.add_offset = at.offset;
    }
    if (op->workspace >= 0) {
        lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->workspace }, &at);
        op->args.workspace = at.mem, op->args.workspace_offset = at.offset;
    }
    if (op->alpha >= 0) op->args.alpha = in->numbers[op->alpha];
    if (op->beta >= 0) op->args.beta = in->numbers[op->beta];
    if (memcmp(&before, &op->args, sizeof before)) in->steady = 0;
    return LFUSE_OK;
}

static lfuse_status launch(lfuse_instance *in, const lfuse__operation *op, lfuse_stream *s)
{
    (void)in;
    return lfuse__gemm_run(s, op->as.gemm->gemm, &op->as.gemm->args);
}

static void destroy(lfuse__operation *op)
{
    if (op->as.gemm) lfuse__gemm_destroy(op->as.gemm->gemm);
    free(op->as.gemm);
}

static const lfuse__operation_row gemm_operation = {
    .place = place, .launch = launch, .destroy = destroy
};

/* ---- instantiating ---- */

static lfuse_status open_bias(lfuse_instance *in, const lfuse__step *step, const int64_t *extents,
                              lfuse__stand_ins *copies, lfuse__walk *bias)
{
    const int column = step->rank - 1;

    if (!step->product.bias) return LFUSE_OK;
    LFUSE__TRY(lfuse__walk_open(in, &step->operands[step->product.bias], step->rank, extents, copies, bias));
    if (extents[column] == 1 || bias->strides[column] == 1) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "the bias has stride %" PRId64, bias->strides[column]);
}

/* What is added and lies apart; vendors take it plain. */
static lfuse_status check_addend(const lfuse__step *step, lfuse__matrix *addend)
{
    if (!step->product.addend || lfuse__matrix_is_stored(addend, false, false)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "what is added has strides %" PRId64 " and %" PRId64 "%s",
                        lfuse__matrix_strides(addend)[0], lfuse__matrix_strides(addend)[1],
                        addend->even ? "" : ", in a batch of no single stride");
}

static lfuse_status no_inner(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__matrix *d)
{
    if (step->product.epilogue != LFUSE__EP_NONE || step->product.adds)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "k is 0: the product is zeros, a kernel does the rest");
    return lfuse__instantiate_copy(ctx, step, d->rank, d->extents, &d->walk, NULL);
}

/* The matrices of one product. */
typedef struct matrices {
    lfuse__matrix a, b, d, addend;
    lfuse__walk bias;
} matrices;

static lfuse_status add_product(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__gemm_desc *desc,
                                const matrices *m, const lfuse__matrix *d)
{
    lfuse_instance *in = ctx->in;
    const lfuse__product *p = &step->product;
    lfuse__gemm_candidate candidate;
    lfuse__operation *operation;
    lfuse__gemm_op *op;
    lfuse_status status;

    LFUSE__TRY(ctx->lean ? lfuse__gemm_choose_lean(in->plan->dev, desc, &candidate)
                         : lfuse__gemm_choose(in->plan->dev, in->stream, in->plan->measure, desc, &candidate));
    op = calloc(1, sizeof *op);
    if (!op) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *op);
    status = lfuse__add_operation(in, step, &gemm_operation, &operation);
    if (status) {
        free(op);
        return status;
    }
    operation->as.gemm = op;
    op->a = lfuse__start_of(&m->a.walk);
    op->b = lfuse__start_of(&m->b.walk);
    op->d = lfuse__start_of(&d->walk);
    op->bias.memory.index = op->addend.memory.index = -1;
    if (p->bias) op->bias = lfuse__start_of(&m->bias);
    if (p->addend) op->addend = lfuse__start_of(&m->addend.walk);
    op->alpha = p->alpha;
    op->beta = p->beta;
    op->workspace = -1;
    op->args.alpha = 1;
    op->args.beta = p->adds;
    ctx->uses_workspace |= candidate.workspace > 0;
    if (candidate.workspace)
        LFUSE__TRY(lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, candidate.workspace, &op->workspace));
    lfuse__use_memory(in, &op->a.memory);
    lfuse__use_memory(in, &op->b.memory);
    lfuse__use_memory(in, &op->d.memory);
    if (op->bias.memory.index >= 0) lfuse__use_memory(in, &op->bias.memory);
    if (op->addend.memory.index >= 0) lfuse__use_memory(in, &op->addend.memory);
    if (op->workspace >= 0) lfuse__use_memory(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->workspace });
    return lfuse__gemm_prepare(in->plan->dev, desc, &candidate, &op->gemm);
}

static void describe(const lfuse__product *p, int64_t count, const matrices *m, const lfuse__matrix *d,
                     lfuse__gemm_desc *desc)
{
    const lfuse__matrix *a = &m->a, *b = &m->b;
    const int row = d->rank - 2, column = d->rank - 1;

    memset(desc, 0, sizeof *desc); /* compared as bytes */
    desc->type = p->type;
    desc->wide = p->wide;
    desc->tf32 = p->tf32;
    desc->ta = a->transposed;
    desc->tb = b->transposed;
    desc->has_beta = p->adds;
    desc->apart = p->addend > 0;
    desc->epilogue = p->epilogue;
    desc->m = a->extents[row], desc->n = b->extents[column], desc->k = a->extents[column];
    desc->lda = a->ld, desc->ldb = b->ld, desc->ldc = d->ld, desc->ld_add = p->addend ? m->addend.ld : 0;
    if (count == 1) return; /* the same as one that is no batch */
    desc->batch = count;
    desc->stride_a = a->stride, desc->stride_b = b->stride, desc->stride_c = d->stride;
    desc->stride_add = p->addend ? m->addend.stride : 0;
}

/* The products of matrices that are all there; m->d is where the results belong. */
static lfuse_status instantiate_product(lfuse__instantiation *ctx, const lfuse__step *step, int64_t count, matrices *m)
{
    lfuse__gemm_desc desc;
    lfuse__matrix d = m->d;
    bool direct;

    LFUSE__TRY(check_addend(step, &m->addend));
    LFUSE__TRY(lfuse__matrix_straighten(ctx, step, false, &m->a));
    LFUSE__TRY(lfuse__matrix_straighten(ctx, step, false, &m->b));
    direct = lfuse__matrix_is_stored(&d, false, false);
    if (!direct) {
        if (step->product.adds && !step->product.addend)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "what is added to has strides %" PRId64 " and %" PRId64,
                                lfuse__matrix_strides(&d)[0], lfuse__matrix_strides(&d)[1]);
        LFUSE__TRY(lfuse__matrix_like(ctx->in, &m->d, &d));
    }
    describe(&step->product, count, m, &d, &desc);
    LFUSE__TRY(add_product(ctx, step, &desc, m, &d));
    return direct ? LFUSE_OK : lfuse__matrix_copy(ctx, step, &m->d, &d);
}

lfuse_status lfuse__instantiate_gemm(lfuse__instantiation *ctx, const lfuse__step *step)
{
    lfuse_instance *in = ctx->in;
    const lfuse__product *p = &step->product;
    const int rank = step->rank;
    int64_t e[LFUSE_MAX_RANK], k, count;
    lfuse__stand_ins copies;
    matrices m;
    int i;

    memset(&m, 0, sizeof m);
    for (i = 0; i < rank; i++) LFUSE__TRY(lfuse__extent_of(in, step->extents[i], &e[i]));
    LFUSE__TRY(lfuse__extent_of(in, p->k, &k));
    LFUSE__TRY(lfuse__matrix_count(rank, e, &count));
    if (!count || !e[rank - 2] || !e[rank - 1]) return LFUSE_OK;
    copies.count = 0;
    LFUSE__TRY(lfuse__matrix_open(in, &step->operands[2], rank, e, e[rank - 2], e[rank - 1], &copies, &m.d));
    for (i = 0; i < copies.count && p->adds && !p->addend; i++) copies.of[i].in = true; /* it is read too */
    if (k) {
        LFUSE__TRY(open_bias(in, step, e, &copies, &m.bias));
        LFUSE__TRY(lfuse__matrix_open(in, &step->operands[0], rank, e, e[rank - 2], k, &copies, &m.a));
        LFUSE__TRY(lfuse__matrix_open(in, &step->operands[1], rank, e, k, e[rank - 1], &copies, &m.b));
        if (p->addend)
            LFUSE__TRY(lfuse__matrix_open(in, &step->operands[p->addend], rank, e, e[rank - 2], e[rank - 1], &copies,
                                          &m.addend));
    }
    LFUSE__TRY(lfuse__stand_ins_fill(ctx, step, &copies));
    LFUSE__TRY(k ? instantiate_product(ctx, step, count, &m) : no_inner(ctx, step, &m.d));
    return lfuse__stand_ins_empty(ctx, step, &copies);
}
