/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds of operations, and what is the same for all of them. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/run/instance.h"

static lfuse_status kernel_place(lfuse_instance *in, lfuse__operation *op, const lfuse__slot *slots)
{
    (void)slots;
    return lfuse__kernel_op_place(in, op->as.kernel);
}

static lfuse_status kernel_launch(lfuse_instance *in, const lfuse__operation *op, lfuse_stream *s)
{
    const lfuse__kernel_op *k = op->as.kernel;
    const lfuse__launch_args args = { .groups = k->packed.groups, .group = k->packed.group,
                                      .nbuffers = (unsigned)k->nbuffers, .nwords = k->packed.nwords,
                                      .buffers = k->buffers, .words = k->packed.words };

    (void)in;
    return lfuse__launch(s, k->kernel, &args);
}

static lfuse_status gemm_launch(lfuse_instance *in, const lfuse__operation *op, lfuse_stream *s)
{
    (void)in;
    return lfuse__gemm_run(s, op->as.gemm->gemm, &op->as.gemm->args);
}

static void kernel_destroy(lfuse__operation *op)
{
    if (op->as.kernel) lfuse__kernel_destroy(op->as.kernel->kernel);
    free(op->as.kernel);
}

static void gemm_destroy(lfuse__operation *op)
{
    if (op->as.gemm) lfuse__gemm_destroy(op->as.gemm->gemm);
    free(op->as.gemm);
}

static void list_destroy(lfuse__operation *op)
{
    lfuse__list_op_destroy(op->as.lists);
}

static void bundle_destroy(lfuse__operation *op)
{
    lfuse__bundle_op_destroy(op->as.bundle);
}

static void network_destroy(lfuse__operation *op)
{
    lfuse__network_op_destroy(op->as.network);
}

static void list_forget(lfuse__operation *op)
{
    lfuse__list_op_forget(op->as.lists);
}

static bool list_settled(const lfuse__operation *op)
{
    return lfuse__list_op_settled(op->as.lists);
}

const lfuse__operation_row lfuse__operation_rows[LFUSE__RUN_KINDS] = {
    [LFUSE__RUN_KERNEL] = {kernel_place, kernel_launch, kernel_destroy, NULL, NULL, NULL, 1},
    [LFUSE__RUN_GEMM] = {lfuse__gemm_op_place, gemm_launch, gemm_destroy, NULL, NULL, NULL, 0},
    [LFUSE__RUN_LISTS] = {lfuse__list_op_place, lfuse__list_op_run, list_destroy, lfuse__list_op_prime, list_forget,
                          list_settled, 0},
    [LFUSE__RUN_BUNDLE] = {lfuse__bundle_op_place, lfuse__bundle_op_run, bundle_destroy, NULL, NULL, NULL, 1},
    [LFUSE__RUN_NETWORK] = {lfuse__network_op_place, lfuse__network_op_run, network_destroy, NULL, NULL, NULL, 0},
};

lfuse_status lfuse__operation_place(lfuse_instance *in, lfuse__operation *op, const lfuse__slot *slots)
{
    return lfuse__operation_rows[op->kind].place(in, op, slots);
}

lfuse_status lfuse__operation_launch(lfuse_instance *in, const lfuse__operation *op, lfuse_stream *s)
{
    return lfuse__operation_rows[op->kind].launch(in, op, s);
}

lfuse_status lfuse__operations_place(lfuse_instance *in, int first, int end)
{
    int i;

    for (i = first; i < end; i++)
        if (!in->operations[i].prepare) LFUSE__TRY(lfuse__operation_place(in, &in->operations[i], in->slots));
    return LFUSE_OK;
}

lfuse_status lfuse__operations_launch(lfuse_instance *in, int first, int end, lfuse_stream *s)
{
    int i;

    for (i = first; i < end; i++)
        if (!in->operations[i].prepare) LFUSE__TRY(lfuse__operation_launch(in, &in->operations[i], s));
    return LFUSE_OK;
}
