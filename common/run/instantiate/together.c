/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of an instance's operations. Most were compiled with the plan; the others (of products whose sizes decide
 * between kernels, of strides that are not the declared ones) are compiled side by side, when all are known.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/run/instantiate/instantiate.h"

lfuse_status lfuse__kernel_op_take(const lfuse__instantiation *ctx, lfuse__kernel_op *op)
{
    const lfuse_plan *plan = ctx->in->plan;

    if (ctx->compile_later || op->kernel) return LFUSE_OK;
    return lfuse__body_kernel(plan->body, plan->dev, &op->k, &op->kernel);
}

static lfuse__kernel_op *lacking(const lfuse__operation *o)
{
    return o->row == &lfuse__kernel_operation && o->as.kernel && !o->as.kernel->kernel ? o->as.kernel : NULL;
}

static int list(const lfuse_instance *in, int first, lfuse__kernel_class *wanted)
{
    lfuse__kernel_op *op;
    int i, count = 0;

    for (i = first; i < in->noperations; i++)
        if ((op = lacking(&in->operations[i])))
            wanted[count++] = op->k;
    return count;
}

lfuse_status lfuse__operations_want(const lfuse_instance *in, int first)
{
    lfuse__kernel_class *wanted = malloc(((size_t)(in->noperations - first) + 1) * sizeof *wanted);
    lfuse_status status = LFUSE_OK;
    int count;

    if (!wanted) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d operations)", in->noperations);
    count = list(in, first, wanted);
    if (count) status = lfuse__body_want(in->plan->body, in->plan->dev, count, wanted);
    free(wanted);
    return status;
}

lfuse_status lfuse__operations_compile(lfuse__instantiation *ctx)
{
    lfuse_instance *in = ctx->in;
    lfuse__kernel_op *op;
    int i;

    ctx->compile_later = false;
    LFUSE__TRY(lfuse__operations_want(in, 0));
    for (i = 0; i < in->noperations; i++)
        if ((op = lacking(&in->operations[i]))) LFUSE__TRY(lfuse__kernel_op_take(ctx, op));
    return LFUSE_OK;
}
