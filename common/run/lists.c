/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Steps over lists: one launch for any number of members. The chunk table is made when the instance is; the address
 * table is written again only where addresses changed, by kernels whose arguments carry the words.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/lists.h"

uint64_t lfuse__list_buffer_bytes(const lfuse_instance *in, const lfuse__buffer *b)
{
    const lfuse_list *l = lfuse__list_of(in, b->list);
    int64_t all = 0, m;

    if (!l) return 0;
    for (m = 0; m < l->count; m++) {
        const int64_t n = l->members[m].elements;
        if (b->partials) all += n / LFUSE__SEGMENT + (n % LFUSE__SEGMENT != 0);
        else all += b->span == LFUSE__SPAN_MEMBERS ? 1 : lfuse__list_padded(n);
    }
    return (uint64_t)all * lfuse_type_size(b->type);
}

/* ---- checks ---- */

static lfuse_status check_pair(const lfuse_instance *in, int first, int other, bool one_each)
{
    const lfuse_list *a = lfuse__list_of(in, first), *b = lfuse__list_of(in, other);
    const char *x = in->plan->names[first].text, *y = in->plan->names[other].text;
    int64_t m;

    if (a->count != b->count)
        return lfuse__error(LFUSE_ERR_SHAPE, "list \"%s\" has %" PRId64 " members, \"%s\" %" PRId64, x, a->count, y,
                            b->count);
    for (m = 0; m < a->count; m++) {
        const int64_t wanted = one_each ? 1 : a->members[m].elements;
        if (b->members[m].elements != wanted)
            return lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 " of list \"%s\" has %" PRId64 " elements, not %"
                                PRId64 "%s%s", m, y, b->members[m].elements, wanted, one_each ? "" : " as of ",
                                one_each ? "" : x);
    }
    return LFUSE_OK;
}

static lfuse_status check_step(const lfuse_instance *in, const lfuse__step *step)
{
    int i;

    for (i = 0; step->list >= 0 && i < step->noperands; i++) {
        const lfuse__operand *o = &step->operands[i];
        if (o->place != LFUSE__PLACE_BOUND || o->span == LFUSE__SPAN_TENSOR || o->index == step->list) continue;
        LFUSE__TRY(check_pair(in, step->list, o->index, o->span == LFUSE__SPAN_MEMBERS));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__lists_check(const lfuse_instance *in, const lfuse__slot *slots)
{
    int i, k;

    for (i = 0; i < in->plan->nnames; i++)
        if (slots[i].list && slots[i].list->count > UINT32_MAX)
            return lfuse__error(LFUSE_ERR_OVERFLOW, "list \"%s\" has %" PRId64 " members, more than 2^32 - 1",
                                in->plan->names[i].text, slots[i].list->count);
    for (i = 0; i < in->body->nstages; i++)
        for (k = 0; k < in->body->stages[i].alternatives[0].nsteps; k++)
            LFUSE__TRY(check_step(in, &in->body->stages[i].alternatives[0].steps[k]));
    return LFUSE_OK;
}

/* ---- making ---- */

void lfuse__list_op_destroy(lfuse__list_op *op)
{
    if (!op) return;
    lfuse__kernel_destroy(op->kernel);
    lfuse__kernel_destroy(op->table);
    lfuse__kernel_destroy(op->fold);
    lfuse__range_release(op->device);
    free(op->first);
    free(op->offsets);
    free(op->entries);
    free(op->fresh);
    free(op->batches);
    free(op);
}

static lfuse_status make_kernels(lfuse_instance *in, lfuse__list_op *op)
{
    lfuse__wanted wanted[LFUSE__WANTED_MAX];
    const int count = lfuse__step_classes(in->body, op->step, true, wanted);
    lfuse__kernel **at[LFUSE__WANTED_MAX] = { &op->kernel, &op->table, &op->fold };
    int i;

    op->k = wanted[0].k;
    for (i = 0; i < count; i++)
        LFUSE__TRY(lfuse__body_kernel(in->plan->body, in->plan->dev, wanted[i].family, &wanted[i].k, at[i]));
    return LFUSE_OK;
}

lfuse_status lfuse__furnish_lists(lfuse_instance *in, const lfuse__step *step)
{
    const lfuse_list *l = lfuse__list_of(in, step->list);
    lfuse__operation *operation;
    lfuse__list_op *op;
    lfuse_status status;
    int i;

    if (!l->count) return LFUSE_OK;
    op = calloc(1, sizeof *op);
    if (!op) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *op);
    op->step = step;
    status = lfuse__add_operation(in, step, LFUSE__RUN_LISTS, &operation);
    if (status) {
        free(op);
        return status;
    }
    operation->as.lists = op;
    for (i = 0; i < step->noperands; i++) {
        const lfuse__memory memory = { step->operands[i].place, step->operands[i].index };
        lfuse__use_memory(in, &memory);
    }
    if (step->partials >= 0) lfuse__use_memory(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, step->partials });
    LFUSE__TRY(lfuse__list_make_tables(in, op, l));
    return make_kernels(in, op);
}

void lfuse__list_op_forget(lfuse__list_op *op)
{
    op->valid = false;
    op->moved = true;
}

/* ---- running ---- */

static lfuse_status launch_batch(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, const lfuse__list_batch *b)
{
    const bool sums = lfuse__list_sums(op);
    lfuse__bmem *buffers[3 + LFUSE__MAX_SLOTS] = { op->device->mem, op->device->mem };
    lfuse__launch_args args = { 0 };
    lfuse__packed *p = &op->packed;
    lfuse__location at;
    unsigned n = 2;

    LFUSE__TRY(sums ? lfuse__member_partial_pack(&op->k, in->facts, op->members, b->first_chunk, b->chunks, op->numbers,
                                                 p)
                    : lfuse__multi_pack(&op->k, in->facts, op->members, b->first_chunk, b->chunks, op->numbers, p));
    p->words[LFUSE__MULTI_CHUNKS_OFFSET] = op->device->offset;
    p->words[LFUSE__MULTI_ADDRESSES_OFFSET] = op->device->offset + op->addresses_at;
    if (sums) {
        lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->step->partials }, &at);
        buffers[n++] = at.mem;
        p->words[LFUSE__MULTI_PARTIALS_OFFSET] = at.offset;
    }
    n += lfuse__list_blocks(in, b, buffers + n);
    args.groups = p->groups;
    args.group = p->group;
    args.nbuffers = n;
    args.buffers = buffers;
    args.nwords = p->nwords;
    args.words = p->words;
    return lfuse__launch(s, op->kernel, &args);
}

lfuse_status lfuse__list_op_place(lfuse_instance *in, lfuse__list_op *op, const lfuse__slot *slots)
{
    int i;

    for (i = 0; i < op->step->body.nnumbers; i++) op->numbers[i] = in->numbers[op->step->numbers[i]];
    if (lfuse__list_unmoved(in, op, slots)) return LFUSE_OK;
    op->moved = true;
    return lfuse__list_make_entries(in, op);
}

lfuse_status lfuse__list_op_prime(lfuse_instance *in, lfuse__list_op *op)
{
    const size_t bytes = 2 * (size_t)op->members * (size_t)op->step->noperands * sizeof *op->entries;

    LFUSE__TRY(lfuse__list_op_place(in, op, in->kept));
    memcpy(op->entries, op->fresh, bytes);
    LFUSE__TRY(lfuse__list_upload(in->plan->dev, op->device, op->addresses_at, op->entries, bytes));
    op->valid = true;
    op->moved = false;
    return LFUSE_OK;
}

lfuse_status lfuse__list_op_run(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s)
{
    int i;

    if (op->moved || !op->valid) LFUSE__TRY(lfuse__list_update_table(in, op, s));
    op->moved = false;
    for (i = 0; i < op->nbatches; i++)
        if (op->batches[i].chunks) LFUSE__TRY(launch_batch(in, op, s, &op->batches[i]));
    for (i = 0; i < op->nbatches && lfuse__list_sums(op); i++) LFUSE__TRY(lfuse__list_fold(in, op, s, &op->batches[i]));
    return LFUSE_OK;
}
