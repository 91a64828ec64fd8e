/* SPDX-License-Identifier: Apache-2.0 */
/* Steps along the rows or columns of lists: segments, then lines, over the same chunks by the same words. */
#include "common/base/error.h"
#include "common/run/lists/list_op.h"
#include "common/run/operations/operations.h"

static lfuse_status launch(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, int batch, lfuse__kernel *kernel)
{
    const lfuse__list_batch *b = &op->batches[batch];
    const lfuse__lines_part part = { .members = op->members, .first_chunk = b->first_chunk, .chunks = b->chunks,
                                     .all_chunks = op->chunks, .length = op->length,
                                     .numbers = lfuse__list_numbers(op, batch) };
    lfuse__location scratch;

    lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->scratch }, &scratch);
    LFUSE__TRY(lfuse__lines_pack(&op->k, in->facts, &part, &op->packed));
    op->packed.words[LFUSE__MULTI_PARTIALS_OFFSET] = scratch.offset;
    return lfuse__list_launch(in, op, s, kernel, batch, LFUSE__LIST_WORKSPACE, scratch.mem);
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
