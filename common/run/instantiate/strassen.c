/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels between the small products of Strassen's algorithm, for actual sizes and strides. */
#include <string.h>

#include "common/base/error.h"
#include "common/matmul/strassen.h"
#include "common/run/instantiate/loop.h"
#include "common/run/operations/operations.h"

typedef struct matrices {
    int64_t extents[2], padded[2];
    lfuse__walk walks[LFUSE__MAX_OPERANDS];
    lfuse__stand_ins copies;
} matrices;

static bool is_blocks(const lfuse__step *step, int i)
{
    return i < LFUSE__PRODUCT_OWN && step->operands[i].place != LFUSE__PLACE_SUM;
}

/* Of products and factors only where they begin. */
static void open_blocks(const lfuse__step *step, int i, lfuse__walk *w)
{
    memset(w, 0, sizeof *w);
    w->memory = (lfuse__memory){ step->operands[i].place, step->operands[i].index };
    w->type = step->operands[i].type;
    w->written = step->operands[i].written;
}

static lfuse_status open_operands(lfuse_instance *in, const lfuse__step *step, matrices *m)
{
    int i;

    m->copies.count = 0;
    for (i = 0; i < 2; i++) LFUSE__TRY(lfuse__extent_of(in, step->extents[i], &m->extents[i]));
    LFUSE__TRY(lfuse__extent_of(in, step->strassen.rows, &m->padded[0]));
    LFUSE__TRY(lfuse__extent_of(in, step->strassen.columns, &m->padded[1]));
    for (i = 0; i < step->noperands; i++) {
        if (i < LFUSE__PRODUCT_OWN) open_blocks(step, i, &m->walks[i]);
        else LFUSE__TRY(lfuse__walk_open(in, &step->operands[i], 2, m->extents, &m->copies, &m->walks[i]));
    }
    return LFUSE_OK;
}

static lfuse__stride_class inner_class(int64_t stride)
{
    return stride == 1 ? LFUSE__STRIDE_UNIT : stride == 0 ? LFUSE__STRIDE_REPEAT : LFUSE__STRIDE_ANY;
}

static lfuse_status add_kernel(lfuse__instantiation *ctx, const lfuse__step *step, const matrices *m)
{
    lfuse_instance *in = ctx->in;
    lfuse__kernel_class wanted[LFUSE__WANTED_MAX];
    lfuse__kernel_op *op;
    int i, k;

    lfuse__step_classes(in->body, step, false, wanted);
    LFUSE__TRY(lfuse__kernel_op_new(in, step, &step->body, step->numbers, &op));
    op->k = wanted[0];
    for (i = 0; i < 2; i++) {
        op->g.extents[i] = m->extents[i];
        op->g.extents[2 + i] = m->padded[i];
    }
    for (i = 0; i < step->noperands; i++) {
        const lfuse__walk *w = &m->walks[i];
        op->starts[i] = lfuse__start_of(w);
        if (i >= LFUSE__PRODUCT_OWN) {
            if (m->extents[1] != 1) op->k.operands[i].inner = inner_class(w->strides[1]);
            for (k = 0; k < 2; k++) op->g.strides[i][k] = w->strides[k];
        }
        if (i >= LFUSE__PRODUCT_OWN || is_blocks(step, i)) lfuse__use_memory(in, &op->starts[i].memory);
    }
    LFUSE__TRY(lfuse__kernel_op_reports(in, step, op));
    return lfuse__kernel_op_take(ctx, op);
}

lfuse_status lfuse__instantiate_strassen(lfuse__instantiation *ctx, const lfuse__step *step)
{
    matrices m;

    LFUSE__TRY(open_operands(ctx->in, step, &m));
    if (!m.extents[0] || !m.extents[1]) return LFUSE_OK;
    LFUSE__TRY(lfuse__stand_ins_fill(ctx, step, &m.copies));
    LFUSE__TRY(add_kernel(ctx, step, &m));
    return lfuse__stand_ins_empty(ctx, step, &m.copies);
}
