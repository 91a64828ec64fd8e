/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Sums of whole members: what follows the partial sums of their segments. */
#include "common/base/error.h"
#include "common/run/lists.h"

lfuse_status lfuse__list_fold(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, const lfuse__list_batch *b)
{
    const uint64_t first = (uint64_t)b->first_member;
    const uint64_t entry = (uint64_t)op->step->body.stores[0].operand * (uint64_t)op->members + first;
    lfuse__bmem *buffers[3 + LFUSE__MAX_SLOTS] = { NULL };
    lfuse__launch_args args = { 0 };
    lfuse__location partials;
    lfuse__packed packed;

    lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->step->partials }, &partials);
    LFUSE__TRY(lfuse__member_fold_pack(in->facts, b->members, partials.offset,
                                       op->device->offset + op->firsts_at + 8 * first,
                                       op->device->offset + op->addresses_at + 16 * entry, &packed));
    buffers[0] = op->chunks ? partials.mem : op->device->mem;
    buffers[1] = buffers[2] = op->device->mem;
    args.groups = packed.groups;
    args.group = packed.group;
    args.nbuffers = 3 + lfuse__list_blocks(in, b, buffers + 3);
    args.buffers = buffers;
    args.nwords = packed.nwords;
    args.words = packed.words;
    return lfuse__launch(s, op->fold, &args);
}
