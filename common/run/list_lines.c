/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Steps along the rows or columns of lists: segments, then lines, over the same chunks by the same words. */
#include "common/base/error.h"
#include "common/run/lists.h"

static lfuse_status launch(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, int batch, lfuse__kernel *kernel)
{
    const lfuse__list_batch *b = &op->batches[batch];
    lfuse__location scratch;
    lfuse__bmem *buffers[3 + LFUSE__MAX_SLOTS] = { NULL };
    const unsigned nbuffers = 3 + lfuse__list_blocks(in, b, buffers + 3);
    lfuse__packed *p = &op->packed;
    lfuse__launch_args args = { .nbuffers = nbuffers, .buffers = buffers };
    const lfuse__lines_part part = { .members = op->members, .first_chunk = b->first_chunk, .chunks = b->chunks,
                                     .all_chunks = op->chunks, .length = op->length,
                                     .numbers = op->groups ? op->group_numbers + b->group * op->step->body.nnumbers
                                                           : op->numbers };
    uint64_t addresses;

    lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->scratch }, &scratch);
    LFUSE__TRY(lfuse__lines_pack(&op->k, in->facts, &part, p));
    buffers[2] = scratch.mem;
    p->words[LFUSE__MULTI_PARTIALS_OFFSET] = scratch.offset;
    args.nwords = p->nwords;
    args.words = p->words;
    if (op->transport == LFUSE_TRANSPORT_ARGS) {
        args.words = lfuse__list_args_words(op, batch, p);
        args.nwords = op->nwords;
    } else {
        buffers[0] = op->device->mem;
        buffers[1] = lfuse__list_addresses(op, &addresses)->mem;
        p->words[LFUSE__MULTI_CHUNKS_OFFSET] = op->device->offset;
        p->words[LFUSE__MULTI_ADDRESSES_OFFSET] = addresses;
    }
    args.groups = p->groups;
    args.group = p->group;
    return lfuse__launch(s, kernel, &args);
}

lfuse_status lfuse__list_run_lines(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s)
{
    int i;

    for (i = 0; i < op->nbatches; i++)
        if (op->batches[i].chunks) LFUSE__TRY(launch(in, op, s, i, op->partial));
    for (i = 0; i < op->nbatches; i++)
        if (op->batches[i].chunks) LFUSE__TRY(launch(in, op, s, i, op->kernel));
    return LFUSE_OK;
}
