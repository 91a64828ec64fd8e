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
#include "common/run/chunks.h"
#include "common/run/instance.h"

/* Members whose memory lies in few enough blocks for one launch; all of them where a table holds addresses. */
typedef struct batch {
    int64_t first_chunk, chunks, first_member, members;
    lfuse__bmem *blocks[LFUSE__MAX_SLOTS];
    int nblocks;
} batch;

/* Where an operand was when the table was last made. */
typedef struct trace {
    const lfuse_list *list;
    uint64_t version;
    lfuse__location at;
} trace;

struct lfuse__list_op {
    const lfuse__step *step;
    lfuse__kernel_class k;
    lfuse__kernel *kernel, *table, *fold;
    int64_t members, chunks;
    uint64_t *first;          /* [members + 1] first chunk of each member */
    int64_t *offsets;         /* [members] of each member in a buffer of the whole list, in elements */
    lfuse__range *device;     /* chunk table, address table, table of first partials */
    uint64_t addresses_at, firsts_at; /* bytes in `device` */
    uint64_t *entries;        /* [noperands][members][2] what the device's table holds, or will */
    uint64_t *fresh;          /* the same, being made */
    bool valid;               /* the device's table holds `entries` */
    bool moved;               /* `fresh` may differ from them */
    trace traces[LFUSE__MAX_OPERANDS];
    int nbatches, batch_capacity;
    batch *batches;
    double numbers[32];
    lfuse__packed packed;
};

enum { LIST_ALIGNMENT = 128 /* elements between members in a buffer of the whole list */ };

static const lfuse_list *list_of(const lfuse_instance *in, int name)
{
    return in->kept[name].list;
}

static int64_t padded(int64_t elements)
{
    return (elements + LIST_ALIGNMENT - 1) / LIST_ALIGNMENT * LIST_ALIGNMENT;
}

uint64_t lfuse__list_buffer_bytes(const lfuse_instance *in, const lfuse__buffer *b)
{
    const lfuse_list *l = list_of(in, b->list);
    int64_t all = 0, m;

    if (!l) return 0;
    for (m = 0; m < l->count; m++) {
        const int64_t n = l->members[m].elements;
        if (b->partials) all += n / LFUSE__SEGMENT + (n % LFUSE__SEGMENT != 0);
        else all += b->span == LFUSE__SPAN_MEMBERS ? 1 : padded(n);
    }
    return (uint64_t)all * lfuse_type_size(b->type);
}

/* ---- checks ---- */

static lfuse_status check_pair(const lfuse_instance *in, int first, int other, bool one_each)
{
    const lfuse_list *a = list_of(in, first), *b = list_of(in, other);
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

static bool is_sum(const lfuse__list_op *op)
{
    return op->step->kind == LFUSE__STEP_MEMBER_SUM;
}

/* Tables are uploaded on the device's own stream, which waits for nothing but the copy. */
static lfuse_status upload(lfuse_device *dev, lfuse__range *to, uint64_t offset, const void *host, uint64_t bytes)
{
    lfuse_stream *s;
    lfuse_status status;

    if (!bytes) return LFUSE_OK;
    LFUSE__TRY(lfuse__device_stream(dev, &s));
    lfuse__device_lock_sync(dev);
    status = lfuse__write(s, to, offset, host, bytes);
    if (!status) status = lfuse__stream_sync(s);
    lfuse__device_unlock_sync(dev);
    return status;
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Sizes of the members as this step walks them. */
static int64_t *walked_sizes(const lfuse_list *l, bool each_member, int64_t *all)
{
    int64_t *sizes = malloc(((size_t)l->count + 1) * sizeof *sizes), m;

    *all = 0;
    for (m = 0; sizes && m < l->count; m++) {
        sizes[m] = each_member ? 1 : l->members[m].elements;
        *all += sizes[m];
    }
    return sizes;
}

static lfuse_status make_tables(lfuse_instance *in, lfuse__list_op *op, const lfuse_list *l)
{
    const size_t n = (size_t)l->count, table = 2 * n * (size_t)op->step->noperands;
    int64_t all, length, m, at, *sizes = walked_sizes(l, op->step->each_member, &all);
    lfuse_status status = LFUSE_ERR_MEMORY;
    char *host = NULL;
    uint64_t bytes;

    op->members = l->count;
    op->first = malloc((n + 1) * sizeof *op->first);
    op->offsets = malloc((n + 1) * sizeof *op->offsets);
    op->entries = calloc(table + 1, sizeof *op->entries);
    op->fresh = calloc(table + 1, sizeof *op->fresh);
    if (!sizes || !op->first || !op->offsets || !op->entries || !op->fresh) goto err_free_all;
    length = is_sum(op) ? LFUSE__SEGMENT : lfuse__chunk_length(all, in->facts->info.compute_units);
    op->chunks = lfuse__chunk_count(l->count, sizes, length);
    op->addresses_at = aligned((uint64_t)op->chunks * sizeof(lfuse__chunk));
    op->firsts_at = aligned(op->addresses_at + table * sizeof *op->entries);
    bytes = op->firsts_at + (n + 1) * sizeof *op->first;
    host = calloc(1, bytes);
    if (!host) goto err_free_all;
    lfuse__chunk_fill(l->count, sizes, length, (lfuse__chunk *)(void *)host, op->first);
    memcpy(host + op->firsts_at, op->first, (n + 1) * sizeof *op->first);
    for (at = 0, m = 0; m < l->count; m++) {
        op->offsets[m] = at;
        at += padded(l->members[m].elements);
    }
    status = lfuse__range_create(in->plan->dev, bytes, &op->device);
    if (!status) status = upload(in->plan->dev, op->device, 0, host, bytes);

err_free_all:
    free(host);
    free(sizes);
    if (status == LFUSE_ERR_MEMORY && !op->device)
        return lfuse__error(status, "out of host memory (a list of %zu members)", n);
    return status;
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
    const lfuse_list *l = list_of(in, step->list);
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
    LFUSE__TRY(make_tables(in, op, l));
    return make_kernels(in, op);
}

void lfuse__list_op_forget(lfuse__list_op *op)
{
    op->valid = false;
    op->moved = true;
}

/* ---- addresses ---- */

/* Whether every operand is where it was. */
static bool unmoved(lfuse_instance *in, lfuse__list_op *op, const lfuse__slot *slots)
{
    bool same = true;
    int i;

    for (i = 0; i < op->step->noperands; i++) {
        const lfuse__operand *o = &op->step->operands[i];
        const lfuse_list *l = o->place == LFUSE__PLACE_BOUND && o->span != LFUSE__SPAN_TENSOR ? slots[o->index].list
                                                                                              : NULL;
        trace now = { l, l ? l->version : 0, { NULL, 0, 0 } };
        if (!l) lfuse__memory_at(in, &(lfuse__memory){ o->place, o->index }, &now.at);
        same = same && now.list == op->traces[i].list && now.version == op->traces[i].version &&
               now.at.mem == op->traces[i].at.mem && now.at.offset == op->traces[i].at.offset &&
               now.at.address == op->traces[i].at.address;
        op->traces[i] = now;
    }
    return same;
}

static void member_at(const lfuse__list_op *op, int operand, int64_t m, lfuse__location *at)
{
    const lfuse__operand *o = &op->step->operands[operand];
    const trace *t = &op->traces[operand];
    uint64_t beyond = 0;

    if (t->list) {
        const lfuse__member *x = &t->list->members[m];
        *at = (lfuse__location){ x->range->mem, x->range->offset + x->offset, x->range->address + x->offset };
        return;
    }
    if (o->span == LFUSE__SPAN_LIST) beyond = (uint64_t)op->offsets[m] * lfuse_type_size(o->type);
    if (o->span == LFUSE__SPAN_MEMBERS) beyond = (uint64_t)m * lfuse_type_size(o->type);
    *at = (lfuse__location){ t->at.mem, t->at.offset + beyond, t->at.address + beyond };
}

static int slot_in(batch *b, lfuse__bmem *mem)
{
    int i;

    for (i = 0; i < b->nblocks; i++)
        if (b->blocks[i] == mem) return i;
    if (b->nblocks == LFUSE__MAX_SLOTS) return -1;
    b->blocks[b->nblocks] = mem;
    return b->nblocks++;
}

static lfuse_status open_batch(lfuse__list_op *op, int64_t m, batch **made)
{
    if (op->nbatches == op->batch_capacity) {
        const int more = op->batch_capacity ? 2 * op->batch_capacity : 1;
        batch *p = realloc(op->batches, (size_t)more * sizeof *p);
        if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d launches over a list)", more);
        op->batches = p;
        op->batch_capacity = more;
    }
    *made = &op->batches[op->nbatches++];
    memset(*made, 0, sizeof **made);
    (*made)->first_chunk = (int64_t)op->first[m];
    (*made)->first_member = m;
    return LFUSE_OK;
}

/* Gives each operand's block of the member a slot of the batch; false: too many blocks. */
static bool take_slots(lfuse_instance *in, lfuse__list_op *op, int64_t m, batch *b)
{
    const int before = b->nblocks;
    lfuse__location at;
    int i, slot;

    for (i = 0; i < op->step->noperands; i++) {
        uint64_t *entry = op->fresh + 2 * (i * op->members + m);
        member_at(op, i, m, &at);
        if (in->facts->addresses) {
            entry[0] = at.address;
            entry[1] = 0;
            continue;
        }
        slot = slot_in(b, at.mem);
        if (slot < 0) {
            b->nblocks = before;
            return false;
        }
        entry[0] = at.offset;
        entry[1] = (uint64_t)slot;
    }
    return true;
}

static lfuse_status make_entries(lfuse_instance *in, lfuse__list_op *op)
{
    batch *b = NULL;
    int64_t m;

    op->nbatches = 0;
    for (m = 0; m < op->members; m++) {
        /* An empty member has no chunk, and its entries are not read but for where its sum goes. */
        if (op->first[m] == op->first[m + 1] && !is_sum(op)) continue;
        if (!b) LFUSE__TRY(open_batch(op, m, &b));
        if (!take_slots(in, op, m, b)) {
            LFUSE__TRY(open_batch(op, m, &b));
            if (!take_slots(in, op, m, b))
                return lfuse__error(LFUSE_ERR_UNSUPPORTED, "the operands of one member lie in more than %d blocks",
                                    LFUSE__MAX_SLOTS);
        }
        b->chunks = (int64_t)op->first[m + 1] - b->first_chunk;
        b->members = m + 1 - b->first_member;
    }
    return LFUSE_OK;
}

static lfuse_status write_words(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, int64_t from, int64_t count)
{
    lfuse__bmem *const buffer = op->device->mem;
    lfuse__launch_args args = { 0 };
    lfuse__packed packed;

    LFUSE__TRY(lfuse__table_pack(in->facts, op->device->offset + op->addresses_at + (uint64_t)from * 8,
                                 op->entries + from, (int)count, &packed));
    args.groups = packed.groups;
    args.group = packed.group;
    args.nbuffers = 1;
    args.buffers = &buffer;
    args.nwords = packed.nwords;
    args.words = packed.words;
    return lfuse__launch(s, op->table, &args);
}

/* Writes what differs from what the device holds, in stretches that one launch can carry. */
static lfuse_status update_table(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s)
{
    const int64_t total = 2 * op->members * op->step->noperands;
    const bool all = !op->valid;
    int64_t i = 0, n;

    while (i < total) {
        if (!all && op->entries[i] == op->fresh[i]) {
            i++;
            continue;
        }
        n = total - i < LFUSE__TABLE_WORDS ? total - i : LFUSE__TABLE_WORDS;
        memcpy(op->entries + i, op->fresh + i, (size_t)n * sizeof *op->entries);
        op->valid = false; /* until all is submitted */
        LFUSE__TRY(write_words(in, op, s, i, n));
        i += n;
    }
    op->valid = true;
    return LFUSE_OK;
}

/* ---- running ---- */

/* Returns how many buffers the kernel has for them. */
static unsigned put_blocks(const lfuse_instance *in, const batch *b, lfuse__bmem **buffers)
{
    if (in->facts->addresses) return 0;
    memcpy(buffers, b->blocks, (size_t)b->nblocks * sizeof *buffers);
    return LFUSE__MAX_SLOTS;
}

static lfuse_status launch_batch(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, const batch *b)
{
    const bool sums = is_sum(op);
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
    n += put_blocks(in, b, buffers + n);
    args.groups = p->groups;
    args.group = p->group;
    args.nbuffers = n;
    args.buffers = buffers;
    args.nwords = p->nwords;
    args.words = p->words;
    return lfuse__launch(s, op->kernel, &args);
}

static lfuse_status fold_batch(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, const batch *b)
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
    args.nbuffers = 3 + put_blocks(in, b, buffers + 3);
    args.buffers = buffers;
    args.nwords = packed.nwords;
    args.words = packed.words;
    return lfuse__launch(s, op->fold, &args);
}

lfuse_status lfuse__list_op_place(lfuse_instance *in, lfuse__list_op *op, const lfuse__slot *slots)
{
    int i;

    for (i = 0; i < op->step->body.nnumbers; i++) op->numbers[i] = in->numbers[op->step->numbers[i]];
    if (unmoved(in, op, slots)) return LFUSE_OK;
    op->moved = true;
    return make_entries(in, op);
}

lfuse_status lfuse__list_op_prime(lfuse_instance *in, lfuse__list_op *op)
{
    const size_t bytes = 2 * (size_t)op->members * (size_t)op->step->noperands * sizeof *op->entries;

    LFUSE__TRY(lfuse__list_op_place(in, op, in->kept));
    memcpy(op->entries, op->fresh, bytes);
    LFUSE__TRY(upload(in->plan->dev, op->device, op->addresses_at, op->entries, bytes));
    op->valid = true;
    op->moved = false;
    return LFUSE_OK;
}

lfuse_status lfuse__list_op_run(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s)
{
    int i;

    if (op->moved || !op->valid) LFUSE__TRY(update_table(in, op, s));
    op->moved = false;
    for (i = 0; i < op->nbatches; i++)
        if (op->batches[i].chunks) LFUSE__TRY(launch_batch(in, op, s, &op->batches[i]));
    for (i = 0; i < op->nbatches && is_sum(op); i++) LFUSE__TRY(fold_batch(in, op, s, &op->batches[i]));
    return LFUSE_OK;
}
