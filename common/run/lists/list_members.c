/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that reduce lists: segments of the members, then members and lists. */
#include <inttypes.h>

#include "common/base/error.h"
#include "common/run/lists/list_op.h"
#include "common/run/operations/operations.h"

/* Of the list, or of its member. */
static lfuse_status nothing(const lfuse_instance *in, int list, int64_t member)
{
    lfuse__strbuf name = LFUSE__STRBUF_INIT;
    lfuse_status status;

    lfuse__list_print(in->body, list, in->plan->graph, &name);
    status = lfuse__strbuf_check(&name);
    if (!status && member < 0)
        status = lfuse__error(LFUSE_ERR_SHAPE, "list \"%s\" has no members: there is nothing to choose from",
                              name.data);
    else if (!status)
        status = lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 " of list \"%s\" has no elements: there is nothing "
                              "to choose from", member, name.data);
    lfuse__strbuf_free(&name);
    return status;
}

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
            return nothing(in, step->lists.list, -1);
        for (m = 0; m < l->count && instr->kind == LFUSE__I_REDUCE; m++)
            if (!l->members[m].elements)
                return nothing(in, step->lists.list, m);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__list_make_scratch(lfuse_instance *in, lfuse__list_op *op)
{
    uint64_t totals, bytes;

    op->scratch = -1;
    if (lfuse__list_multiplies(op)) {
        bytes = op->cut.space * (uint64_t)op->cut.groups;
        if (!op->cut.space || !op->chunks) return LFUSE_OK;
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
    *part = (lfuse__members_part){ .all = op->members, .all_chunks = op->chunks, .stride = op->places,
                                   .scratch = at.offset, .ticket = op->device->offset + op->ticket_at };
    for (i = 0; i < op->nbatches; i++) part->arrivals += lfuse__members_groups(in->facts, op->batches[i].members);
    return at.mem;
}

static lfuse_status launch(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__packed *p, unsigned nbuffers,
                           lfuse__bmem *const *buffers, unsigned nwords, const uint64_t *words)
{
    const lfuse__launch_args args = { .groups = p->groups, .group = p->group, .nbuffers = nbuffers,
                                      .buffers = buffers, .nwords = nwords, .words = words };

    return lfuse__launch(s, kernel, &args);
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
    lfuse__bmem *buffers[3 + LFUSE__MAX_SLOTS] = { scratch, op->device->mem };
    const unsigned nbuffers = 3 + lfuse__list_blocks(in, b, buffers + 3);
    lfuse__packed *p = &op->packed;
    uint64_t addresses;

    part->numbers = lfuse__list_numbers(op, batch);
    part->members = b->members;
    part->first_member = b->first_member;
    part->table = (uint64_t)b->first_chunk;
    part->entries = 0;
    if (op->transport == LFUSE_TRANSPORT_ARGS) {
        LFUSE__TRY(lfuse__members_fold_pack(&op->k, in->facts, part, p));
        return launch(s, op->kernel, p, nbuffers, buffers, op->fold_nwords, lfuse__list_args_fold_words(op, batch, p));
    }
    buffers[2] = lfuse__list_addresses(op, &addresses)->mem;
    part->table = op->device->offset + op->firsts_at + 8 * (uint64_t)b->first_member;
    part->entries = addresses + 16 * (uint64_t)b->first_member;
    LFUSE__TRY(lfuse__members_fold_pack(&op->k, in->facts, part, p));
    return launch(s, op->kernel, p, nbuffers, buffers, p->nwords, p->words);
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
