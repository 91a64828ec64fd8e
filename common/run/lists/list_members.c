/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that reduce lists: segments of the members, then members and lists. */
#include <inttypes.h>

#include "common/base/error.h"
#include "common/run/lists/list_op.h"
#include "common/run/operations/operations.h"

lfuse_status lfuse__list_check_members(const lfuse_instance *in, const lfuse__step *step)
{
    const lfuse_list *l = lfuse__list_of(in, step->lists.list);
    int64_t m;
    int i;

    for (i = 0; i < step->body.ninstr; i++) {
        const lfuse__instr *instr = &step->body.instr[i];
        if (instr->kind != LFUSE__I_REDUCE && instr->kind != LFUSE__I_TOTAL) continue;
        if (!lfuse__reduce_needs_elements((lfuse__reduce)instr->op)) continue;
        if (instr->kind == LFUSE__I_TOTAL && !l->count)
            return lfuse__error(LFUSE_ERR_SHAPE, "list \"%s\" has no members: there is nothing to choose from",
                                lfuse__list_name(in, step->lists.list));
        for (m = 0; m < l->count && instr->kind == LFUSE__I_REDUCE; m++)
            if (!l->members[m].elements)
                return lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 " of list \"%s\" has no elements: there is "
                                    "nothing to choose from", m, lfuse__list_name(in, step->lists.list));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__list_make_scratch(lfuse_instance *in, lfuse__list_op *op)
{
    uint64_t totals, bytes;

    op->scratch = -1;
    if (lfuse__list_multiplies(op)) {
        /* Both would begin at 0. No solver has groups with space of their own and packs, too. */
        bytes = op->cut.space * (uint64_t)op->cut.groups + op->packed_bytes;
        if (!bytes || !op->chunks) return LFUSE_OK;
        LFUSE__TRY(lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, bytes, &op->scratch));
        lfuse__use_memory(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->scratch });
        return LFUSE_OK;
    }
    if (!lfuse__list_reduces(op)) return LFUSE_OK;
    bytes = lfuse__list_lines(op) ? lfuse__lines_scratch(&op->k, op->chunks, op->length)
                                  : lfuse__members_scratch(&op->k, op->members, op->chunks, &totals);
    if (!bytes) return LFUSE_OK;
    LFUSE__TRY(lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, bytes, &op->scratch));
    lfuse__use_memory(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->scratch });
    return LFUSE_OK;
}

/* What both kernels of all batches have in common. */
static lfuse__bmem *describe(const lfuse_instance *in, const lfuse__list_op *op, lfuse__members_part *part)
{
    lfuse__location at = { op->device->mem, 0, 0 };
    int i;

    if (op->scratch >= 0) lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->scratch }, &at);
    *part = (lfuse__members_part){ .all = op->members, .all_chunks = op->chunks, .stride = op->nentries,
                                   .scratch = at.offset, .ticket = op->device->offset + op->ticket_at };
    for (i = 0; i < op->nbatches; i++) part->arrivals += lfuse__members_groups(in->facts, op->batches[i].members);
    return at.mem;
}

static lfuse_status launch_partial(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, int batch,
                                   lfuse__members_part *part, lfuse__bmem *scratch)
{
    part->numbers = lfuse__list_numbers(op, batch);
    part->first_chunk = op->batches[batch].first_chunk;
    part->chunks = op->batches[batch].chunks;
    LFUSE__TRY(lfuse__members_partial_pack(&op->k, in->facts, part, &op->packed));
    return lfuse__list_launch(in, op, s, op->partial, batch, LFUSE__LIST_WORKSPACE, scratch);
}

static lfuse_status launch_fold(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, int batch,
                                lfuse__members_part *part, lfuse__bmem *scratch)
{
    const lfuse__list_batch *b = &op->batches[batch];
    const bool carried = op->transport == LFUSE_TRANSPORT_ARGS;
    lfuse__bmem *buffers[3 + LFUSE__MAX_SLOTS] = { scratch, op->device->mem };
    lfuse__launch_args args = { .nbuffers = 3 + lfuse__list_blocks(in, b, buffers + 3), .buffers = buffers };
    lfuse__packed *p = &op->packed;
    uint64_t addresses;

    part->numbers = lfuse__list_numbers(op, batch);
    part->members = b->members;
    part->first_member = b->first_member;
    part->table = (uint64_t)b->first_chunk;
    part->entries = 0;
    if (!carried) {
        buffers[2] = lfuse__list_addresses(op, &addresses)->mem;
        part->table = op->device->offset + op->firsts_at + 8 * (uint64_t)b->first_member;
        part->entries = addresses + 16 * (uint64_t)b->first_member;
    }
    LFUSE__TRY(lfuse__members_fold_pack(&op->k, in->facts, part, p));
    args.groups = p->groups;
    args.group = p->group;
    args.nwords = carried ? op->blocks[LFUSE__FOLD_BLOCK].nwords : p->nwords;
    args.words = carried ? lfuse__list_args_words(op, LFUSE__FOLD_BLOCK, batch, p) : p->words;
    return lfuse__launch(s, op->kernel, &args);
}

lfuse_status lfuse__list_run_members(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s)
{
    lfuse__members_part part;
    lfuse__bmem *scratch = describe(in, op, &part);
    int i;

    for (i = 0; i < op->nbatches && op->partial; i++)
        if (op->batches[i].chunks) LFUSE__TRY(launch_partial(in, op, s, i, &part, scratch));
    for (i = 0; i < op->nbatches; i++) LFUSE__TRY(launch_fold(in, op, s, i, &part, scratch));
    return LFUSE_OK;
}
