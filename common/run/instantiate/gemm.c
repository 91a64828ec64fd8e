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

static lfuse_status set_args(lfuse_instance *in, lfuse__operation *operation, const lfuse__slot *slots)
{
    lfuse__gemm_op *op = operation->as.gemm;
    const lfuse__gemm_args before = op->args;
    lfuse__location at;
    int i;

    (void)slots;
    lfuse__start_at(in, &op->a, &at);
    op->args.a = at.mem, op->args.a_offset = at.offset;
    lfuse__start_at(in, &op->b, &at);
    op->args.b = at.mem, op->args.b_offset = at.offset;
    lfuse__start_at(in, &op->d, &at);
    op->args.c = at.mem, op->args.c_offset = at.offset;
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) {
        if (op->inputs[i].memory.index < 0) continue;
        lfuse__start_at(in, &op->inputs[i], &at);
        op->args.inputs[i] = at.mem, op->args.input_offsets[i] = at.offset;
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
    .set_args = set_args, .launch = launch, .destroy = destroy
};

/* ---- instantiating ---- */

/* The matrices of one product. Along an axis that an input of the epilogue lacks its stride is 0. */
typedef struct matrices {
    lfuse__matrix a, b, d, inputs[LFUSE__EPILOGUE_INPUTS];
} matrices;

/* Vendors take plain matrices, and vectors without gaps. */
static bool is_plain(int input, lfuse__matrix *m)
{
    const int64_t *strides = lfuse__matrix_strides(m), *extents = m->extents + m->rank - 2;

    if (lfuse__epilogue_takes_matrix(input)) return lfuse__matrix_is_stored(m, false, false);
    return (!lfuse__epilogue_inputs[input].rows || extents[0] == 1 || strides[0] == 1) &&
           (!lfuse__epilogue_inputs[input].columns || extents[1] == 1 || strides[1] == 1);
}

static lfuse_status check_inputs(const lfuse__product *p, matrices *m)
{
    int i;

    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) {
        lfuse__matrix *input = &m->inputs[i];
        const bool uneven = lfuse__epilogue_takes_matrix(i) && !input->even;
        if (p->inputs[i] && !is_plain(i, input))
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s has strides %" PRId64 " and %" PRId64 "%s",
                                lfuse__epilogue_inputs[i].subject, lfuse__matrix_strides(input)[0],
                                lfuse__matrix_strides(input)[1], uneven ? ", in a batch of no single stride" : "");
    }
    return LFUSE_OK;
}

/* Whether D is more than alpha times the sums. */
static bool has_epilogue(const lfuse__product *p)
{
    bool any = p->epilogue != LFUSE__EP_NONE || p->adds;
    int i;

    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) any = any || p->inputs[i];
    return any;
}

static lfuse_status no_inner(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__matrix *d)
{
    if (has_epilogue(&step->product))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "k is 0: the product is zeros, a kernel does the rest");
    return lfuse__instantiate_copy(ctx, step, d->rank, d->extents, &d->walk, NULL);
}

static lfuse_status add_product(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__gemm_desc *desc,
                                const matrices *m, const lfuse__matrix *d)
{
    lfuse_instance *in = ctx->in;
    const lfuse__product *p = &step->product;
    lfuse__gemm_candidate candidate;
    lfuse__operation *operation;
    lfuse__gemm_op *op;
    lfuse_status status;
    int i;

    LFUSE__TRY(ctx->low_memory ? lfuse__gemm_choose_low_memory(in->plan->dev, desc, &candidate)
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
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) {
        op->inputs[i].memory.index = -1;
        if (p->inputs[i]) op->inputs[i] = lfuse__start_of(&m->inputs[i].walk);
    }
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
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++)
        if (op->inputs[i].memory.index >= 0) lfuse__use_memory(in, &op->inputs[i].memory);
    if (op->workspace >= 0) lfuse__use_memory(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->workspace });
    return lfuse__gemm_prepare(in->plan->dev, desc, &candidate, &op->gemm);
}

static void describe(const lfuse__product *p, int64_t count, const matrices *m, const lfuse__matrix *d,
                     lfuse__gemm_desc *desc)
{
    const lfuse__matrix *a = &m->a, *b = &m->b;
    const int row = d->rank - 2, column = d->rank - 1;
    int i;

    memset(desc, 0, sizeof *desc); /* compared as bytes */
    desc->type = p->type;
    desc->wide = p->wide;
    desc->tf32 = p->precision == LFUSE_PRECISION_TF32;
    desc->ta = a->transposed;
    desc->tb = b->transposed;
    desc->has_beta = p->adds;
    desc->epilogue = p->epilogue;
    desc->m = a->extents[row], desc->n = b->extents[column], desc->k = a->extents[column];
    desc->lda = a->ld, desc->ldb = b->ld, desc->ldc = d->ld;
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) {
        desc->inputs[i].taken = p->inputs[i] > 0;
        desc->inputs[i].ld = m->inputs[i].ld;
        desc->inputs[i].stride = count == 1 ? 0 : m->inputs[i].stride;
    }
    if (count == 1) return; /* the same as one that is no batch */
    desc->batch = count;
    desc->stride_a = a->stride, desc->stride_b = b->stride, desc->stride_c = d->stride;
}

/* The products of matrices that are all there; m->d is where the results belong. */
static lfuse_status instantiate_product(lfuse__instantiation *ctx, const lfuse__step *step, int64_t count, matrices *m)
{
    lfuse__gemm_desc desc;
    lfuse__matrix d = m->d;
    bool direct;

    LFUSE__TRY(check_inputs(&step->product, m));
    LFUSE__TRY(lfuse__matrix_straighten(ctx, step, false, &m->a));
    LFUSE__TRY(lfuse__matrix_straighten(ctx, step, false, &m->b));
    direct = lfuse__matrix_is_stored(&d, false, false);
    if (!direct) {
        if (step->product.adds && !step->product.inputs[LFUSE__INPUT_ADDEND])
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
    bool reads_d;
    matrices m;
    int i;

    memset(&m, 0, sizeof m);
    for (i = 0; i < rank; i++) LFUSE__TRY(lfuse__extent_of(in, step->extents[i], &e[i]));
    LFUSE__TRY(lfuse__extent_of(in, p->k, &k));
    LFUSE__TRY(lfuse__matrix_count(rank, e, &count));
    if (!count || !e[rank - 2] || !e[rank - 1]) return LFUSE_OK;
    copies.count = 0;
    LFUSE__TRY(lfuse__matrix_open(in, &step->operands[2], rank, e, e[rank - 2], e[rank - 1], &copies, &m.d));
    reads_d = p->adds && !p->inputs[LFUSE__INPUT_ADDEND];
    for (i = 0; i < copies.count && reads_d; i++) copies.of[i].in = true;
    if (k) {
        LFUSE__TRY(lfuse__matrix_open(in, &step->operands[0], rank, e, e[rank - 2], k, &copies, &m.a));
        LFUSE__TRY(lfuse__matrix_open(in, &step->operands[1], rank, e, k, e[rank - 1], &copies, &m.b));
        for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++)
            if (p->inputs[i])
                LFUSE__TRY(lfuse__matrix_open(in, &step->operands[p->inputs[i]], rank, e, e[rank - 2], e[rank - 1],
                                              &copies, &m.inputs[i]));
    }
    LFUSE__TRY(lfuse__stand_ins_fill(ctx, step, &copies));
    LFUSE__TRY(k ? instantiate_product(ctx, step, count, &m) : no_inner(ctx, step, &m.d));
    return lfuse__stand_ins_empty(ctx, step, &copies);
}
