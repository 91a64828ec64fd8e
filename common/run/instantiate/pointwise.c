/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise and row kernels for actual sizes and strides. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/matmul/strassen.h"
#include "common/run/instantiate/loop.h"
#include "common/run/operations/operations.h"

static bool as_declared(const lfuse_instance *in, const lfuse__step *step)
{
    int i;

    for (i = 0; i < step->noperands; i++)
        if (step->operands[i].place == LFUSE__PLACE_BOUND && !in->bound[step->operands[i].index].plain) return false;
    return true;
}

lfuse_status lfuse__kernel_op_new(lfuse_instance *in, const lfuse__step *step, const lfuse__body *body,
                                  const int *number_index, lfuse__kernel_op **made)
{
    lfuse__kernel_op *op = calloc(1, sizeof *op);
    lfuse__operation *operation;
    lfuse_status status;

    if (!op) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *op);
    status = lfuse__add_operation(in, step, &lfuse__kernel_operation, &operation);
    if (status) {
        free(op);
        return status;
    }
    operation->as.kernel = op;
    op->k.body = body;
    op->number_index = number_index;
    op->g.numbers = op->numbers;
    op->partials.index = -1;
    *made = op;
    return LFUSE_OK;
}

static lfuse_status finish_op(lfuse__instantiation *ctx, const lfuse__step *step, lfuse__kernel_op *op,
                              const lfuse__tensor_loop *l)
{
    int i;

    op->k.noperands = l->nwalks;
    for (i = 0; i < l->nwalks; i++) {
        op->starts[i] = lfuse__start_of(&l->walks[i]);
        op->g.gathered_extents[i] = l->walks[i].gathered_extent;
        op->g.gathered_strides[i] = l->walks[i].gathered_stride;
        lfuse__use_memory(ctx->in, &op->starts[i].memory);
    }
    if (op->partials.index >= 0) lfuse__use_memory(ctx->in, &op->partials);
    LFUSE__TRY(lfuse__kernel_op_reports(ctx->in, step, op));
    if (ctx->may_share_launch && op->partials.index < 0) return LFUSE_OK;
    return lfuse__kernel_op_take(ctx, op);
}

/* The kernel that makes the row's results of what `op` will leave of its segments. */
static lfuse_status add_fold(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__kernel_op *op,
                             const lfuse__tensor_loop *l)
{
    lfuse__kernel_op *fold;

    LFUSE__TRY(lfuse__kernel_op_new(ctx->in, step, op->k.body, op->number_index, &fold));
    fold->k = op->k;
    fold->k.rows.form = LFUSE__ROWS_FOLD;
    fold->g = op->g;
    fold->g.numbers = fold->numbers;
    fold->partials = op->partials;
    return finish_op(ctx, step, fold, l);
}

/* Completes an operation whose class and geometry are known. */
static lfuse_status finish(lfuse__instantiation *ctx, const lfuse__step *step, lfuse__kernel_op *op,
                           const lfuse__tensor_loop *l)
{
    if (op->k.family != LFUSE__FAMILY_ROWS || op->k.rows.form != LFUSE__ROWS_PARTIAL)
        return finish_op(ctx, step, op, l);
    LFUSE__TRY(lfuse__add_buffer(ctx->in, LFUSE__PLACE_SCRATCH,
                                 lfuse__rows_partials(&op->k, ctx->in->facts, (uint64_t)l->rows, (uint64_t)l->length),
                                 &op->partials.index));
    op->partials.place = LFUSE__PLACE_SCRATCH;
    LFUSE__TRY(finish_op(ctx, step, op, l));
    return add_fold(ctx, step, op, l);
}

/* The class that was compiled with the plan, with the axes merged as it was. */
static lfuse_status instantiate_declared(lfuse__instantiation *ctx, const lfuse__step *step,
                                         const lfuse__tensor_loop *l, bool large)
{
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    lfuse__kernel_op *op;
    lfuse__loop merged;
    int i, k, m;

    lfuse__step_classes(ctx->in->body, step, large, wanted);
    lfuse__plan_loop(ctx->in->body, step, l->naxes ? l->rank - l->naxes : -1, &merged);
    LFUSE__TRY(lfuse__kernel_op_new(ctx->in, step, &step->body, step->numbers, &op));
    op->k = wanted[0];
    LFUSE__TRY(lfuse__row_choose(ctx, step, l, &op->k));
    for (m = 0; m < merged.rank; m++) {
        op->g.extents[m] = 1;
        for (k = merged.first[m]; k < merged.first[m + 1]; k++) {
            op->g.extents[m] *= l->extents[k];
            if (step->extents[k] == 1) continue;
            for (i = 0; i < l->nwalks; i++) op->g.strides[i][m] = l->walks[i].strides[k];
        }
    }
    for (i = 0; i < l->nwalks; i++) /* also where the loop is one element, along which nothing is stepped */
        if (op->k.operands[i].inner == LFUSE__STRIDE_UNIT) op->g.strides[i][merged.rank - 1] = 1;
    return finish(ctx, step, op, l);
}

static lfuse__stride_class stride_class(int64_t stride)
{
    return stride == 0 ? LFUSE__STRIDE_REPEAT : stride == 1 ? LFUSE__STRIDE_UNIT : LFUSE__STRIDE_ANY;
}

/* `rows`: the family is one over rows. */
static lfuse_status instantiate_merged(lfuse__instantiation *ctx, const lfuse__step *step, lfuse__family family,
                                       bool rows, const lfuse__body *body, const int *number_index,
                                       const lfuse__tensor_loop *l, bool large)
{
    lfuse__kernel_op *op;
    int i, k;

    LFUSE__TRY(lfuse__kernel_op_new(ctx->in, step, body, number_index, &op));
    op->k.family = family;
    op->k.rank = l->rank;
    op->k.index64 = large;
    for (k = 0; k < l->rank; k++) op->g.extents[k] = l->extents[k];
    for (i = 0; i < l->nwalks; i++) {
        op->k.operands[i].type = l->walks[i].type;
        op->k.operands[i].written = l->walks[i].written;
        op->k.operands[i].index = l->walks[i].memory.place == LFUSE__PLACE_INDEX;
        op->k.operands[i].gathered = l->walks[i].gathered;
        op->k.operands[i].inner = stride_class(l->walks[i].strides[l->rank - 1]);
        if (rows) lfuse__row_operand(l, &l->walks[i], &op->k.operands[i]);
        for (k = 0; k < l->rank; k++) op->g.strides[i][k] = l->walks[i].strides[k];
    }
    op->k.noperands = l->nwalks;
    op->k.naxes = rows ? l->naxes : 0;
    if (rows) LFUSE__TRY(lfuse__row_choose(ctx, step, l, &op->k));
    return finish(ctx, step, op, l);
}

lfuse_status lfuse__instantiate_copy(lfuse__instantiation *ctx, const lfuse__step *step, int rank,
                                     const int64_t *extents, const lfuse__walk *target, const lfuse__walk *source)
{
    const lfuse__body *body = source ? lfuse__body_copy(target->type) : lfuse__body_zero(target->type);
    lfuse__tensor_loop l;

    memset(&l, 0, sizeof l);
    l.rank = rank;
    memcpy(l.extents, extents, (size_t)rank * sizeof *extents);
    if (source) l.walks[l.nwalks++] = *source;
    l.walks[l.nwalks++] = *target;
    LFUSE__TRY(lfuse__loop_count(&l));
    if (!l.all) return LFUSE_OK;
    lfuse__loop_tidy(&l);
    lfuse__loop_merge(&l);
    return instantiate_merged(ctx, step, LFUSE__FAMILY_POINTWISE, false, body, NULL, &l, lfuse__loop_is_large(&l));
}

static lfuse_status instantiate_loop(lfuse__instantiation *ctx, const lfuse__step *step, lfuse__tensor_loop *l)
{
    const bool rows = lfuse__step_over(step) == LFUSE__OVER_ROWS;
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    const bool large = lfuse__loop_is_large(l);

    if (as_declared(ctx->in, step)) return instantiate_declared(ctx, step, l, large);
    lfuse__loop_tidy(l);
    lfuse__loop_merge(l);
    lfuse__step_classes(ctx->in->body, step, large, wanted);
    return instantiate_merged(ctx, step, wanted[0].family, rows, &step->body, step->numbers, l, large);
}

lfuse_status lfuse__instantiate_kernel(lfuse__instantiation *ctx, const lfuse__step *step)
{
    lfuse__tensor_loop l;

    LFUSE__TRY(lfuse__loop_open(ctx->in, step, &l));
    LFUSE__TRY(lfuse__loop_count(&l));
    if (!l.rows || (!l.all && step->kind != LFUSE__STEP_ROWS)) return LFUSE_OK;
    LFUSE__TRY(lfuse__stand_ins_fill(ctx, step, &l.copies));
    LFUSE__TRY(instantiate_loop(ctx, step, &l));
    return lfuse__stand_ins_empty(ctx, step, &l.copies);
}

static bool move_operands(lfuse_instance *in, lfuse__kernel_op *op)
{
    lfuse__location at;
    bool moved = false;
    int i;

    for (i = 0; i < op->k.noperands; i++) {
        lfuse__start_at(in, &op->starts[i], &at);
        moved = moved || op->buffers[i] != at.mem || op->g.offsets[i] != at.offset || op->g.addresses[i] != at.address;
        op->buffers[i] = at.mem;
        op->g.offsets[i] = at.offset;
        op->g.addresses[i] = at.address;
    }
    if (op->partials.index < 0) return moved;
    lfuse__memory_at(in, &op->partials, &at);
    moved = moved || op->buffers[op->nbuffers - 1] != at.mem || op->g.partials != at.offset;
    op->g.partials = at.offset;
    op->buffers[op->nbuffers - 1] = at.mem;
    return moved;
}

static bool renumber(lfuse_instance *in, lfuse__kernel_op *op)
{
    bool other = false;
    int i;

    for (i = 0; i < op->k.body->nnumbers; i++) {
        const double number = in->numbers[op->number_index[i]];
        other = other || memcmp(&op->numbers[i], &number, sizeof number);
        op->numbers[i] = number;
    }
    return other;
}

lfuse_status lfuse__kernel_op_set_args(lfuse_instance *in, lfuse__kernel_op *op)
{
    const lfuse__kernel_family *f = lfuse__family_of(&op->k);
    const bool moved = move_operands(in, op), other = renumber(in, op);

    if (op->is_packed && !moved && !other) return LFUSE_OK;
    op->version++;
    if (op->is_packed && f->rebind) {
        f->rebind(&op->k, in->facts, &op->g, &op->packed);
        return LFUSE_OK;
    }
    LFUSE__TRY(f->pack(&op->k, in->facts, &op->g, &op->packed));
    op->local_bytes = lfuse__family_local_bytes(&op->k);
    op->is_packed = true;
    return LFUSE_OK;
}

static lfuse_status kernel_set_args(lfuse_instance *in, lfuse__operation *op, const lfuse__slot *slots)
{
    (void)slots;
    return lfuse__kernel_op_set_args(in, op->as.kernel);
}

static lfuse_status kernel_launch(lfuse_instance *in, const lfuse__operation *op, lfuse_stream *s)
{
    const lfuse__kernel_op *k = op->as.kernel;
    const lfuse__launch_args args = { .groups = k->packed.groups, .group = k->packed.group,
                                      .local_bytes = k->local_bytes, .nbuffers = (unsigned)k->nbuffers,
                                      .nwords = k->packed.nwords, .buffers = k->buffers, .words = k->packed.words };

    (void)in;
    return lfuse__launch(s, k->kernel, &args);
}

static void kernel_destroy(lfuse__operation *op)
{
    if (op->as.kernel) lfuse__kernel_destroy(op->as.kernel->kernel);
    free(op->as.kernel);
}

const lfuse__operation_row lfuse__kernel_operation = {
    .set_args = kernel_set_args, .launch = kernel_launch, .destroy = kernel_destroy, .launches = 1
};
