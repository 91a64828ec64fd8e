/* SPDX-License-Identifier: Apache-2.0 */
/* A launch over the chunks of a batch, whatever a list step does with them. */
#include "common/base/error.h"
#include "common/run/lists/list_op.h"

const double *lfuse__list_numbers(const lfuse__list_op *op, int batch)
{
    return op->groups ? op->group_numbers + op->batches[batch].group * op->step->body.nnumbers : op->numbers;
}

/* The buffers of the tables, or the words of the batch. */
static void place_tables(lfuse__list_op *op, int batch, lfuse__bmem **buffers, lfuse__launch_args *args)
{
    lfuse__packed *p = &op->packed;
    const lfuse__range *addresses;
    uint64_t offset;

    args->nwords = p->nwords;
    args->words = p->words;
    if (op->transport == LFUSE_TRANSPORT_ARGS) {
        if (op->device) buffers[0] = op->device->mem;
        args->words = lfuse__list_args_words(op, LFUSE__LIST_BLOCK, batch, p);
        args->nwords = op->blocks[LFUSE__LIST_BLOCK].nwords;
        return;
    }
    addresses = lfuse__list_addresses(op, &offset);
    buffers[0] = op->device->mem;
    buffers[1] = addresses->mem;
    p->words[LFUSE__MULTI_CHUNKS_OFFSET] = op->device->offset;
    p->words[LFUSE__MULTI_ADDRESSES_OFFSET] = offset;
}

lfuse_status lfuse__list_launch(const lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, lfuse__kernel *kernel,
                                int batch, lfuse__list_own own, lfuse__bmem *workspace)
{
    lfuse__bmem *buffers[LFUSE__LIST_WORKSPACE + LFUSE__MAX_SLOTS] = { NULL };
    lfuse__launch_args args = { .groups = op->packed.groups, .group = op->packed.group, .buffers = buffers,
                                .local_bytes = kernel == op->kernel ? lfuse__family_local_bytes(&op->k) : 0 };

    place_tables(op, batch, buffers, &args);
    if (own == LFUSE__LIST_WORKSPACE) buffers[2] = workspace;
    args.nbuffers = (unsigned)own + lfuse__list_blocks(in, &op->batches[batch], buffers + own);
    return lfuse__launch(s, kernel, &args);
}
