/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Sums of whole members: what follows the partial sums of their segments. */
#include "common/base/error.h"
#include "common/run/lists.h"

/* Tables of first partials and of where sums go: offsets in the words, buffers 1 and 2. */
static lfuse_status pack(lfuse_instance *in, lfuse__list_op *op, int batch, uint64_t partials, lfuse__bmem **buffers,
                         lfuse__packed *packed)
{
    const lfuse__list_batch *b = &op->batches[batch];
    const uint64_t first = (uint64_t)b->first_member;
    const uint64_t entry = (uint64_t)op->step->body.stores[0].operand * (uint64_t)op->members + first;
    const lfuse__range *addresses;
    uint64_t offset;

    if (op->transport == LFUSE_TRANSPORT_ARGS)
        return lfuse__member_fold_pack(in->facts, b->members, partials, 0, 0, packed);
    addresses = lfuse__list_addresses(op, &offset);
    buffers[1] = op->device->mem;
    buffers[2] = addresses->mem;
    return lfuse__member_fold_pack(in->facts, b->members, partials, op->device->offset + op->firsts_at + 8 * first,
                                   offset + 16 * entry, packed);
}

lfuse_status lfuse__list_fold(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, int batch)
{
    lfuse__bmem *buffers[3 + LFUSE__MAX_SLOTS] = { NULL };
    lfuse__launch_args args = { 0 };
    lfuse__location partials;
    lfuse__packed packed;

    lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->step->partials }, &partials);
    if (!op->chunks) partials = (lfuse__location){ NULL, 0, 0 }; /* nothing is summed */
    LFUSE__TRY(pack(in, op, batch, partials.offset, buffers, &packed));
    buffers[0] = partials.mem;
    args.groups = packed.groups;
    args.group = packed.group;
    args.nbuffers = 3 + lfuse__list_blocks(in, &op->batches[batch], buffers + 3);
    args.buffers = buffers;
    args.nwords = packed.nwords;
    args.words = packed.words;
    if (op->transport == LFUSE_TRANSPORT_ARGS) {
        args.nwords = op->fold_nwords;
        args.words = lfuse__list_args_fold_words(op, batch, &packed);
    }
    return lfuse__launch(s, op->fold, &args);
}
