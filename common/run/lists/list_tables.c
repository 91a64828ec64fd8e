/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step over lists knows of its members: chunks, which are made when the instance is, and addresses. Where these
 * are in device tables, the address table is written again only where addresses changed, by kernels whose arguments
 * carry the words.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/error.h"
#include "common/run/lists/chunks.h"
#include "common/run/lists/list_op.h"

/* What kernels read of a member, in device memory. */
typedef struct lfuse__list_shape {
    int64_t matrices, rows, columns, elements, rank;
} lfuse__list_shape;

enum {
    LIST_ALIGNMENT = 128, /* elements between members in a buffer of the whole list */
    LEAST_CELLS = 8       /* segments of rows or columns in a chunk: each is the work of a few items or of a team */
};

int64_t lfuse__list_padded(int64_t elements)
{
    return (elements + LIST_ALIGNMENT - 1) / LIST_ALIGNMENT * LIST_ALIGNMENT;
}

/* Bytes of what kernels read of one member. */
static uint64_t shape_bytes(const lfuse__list_op *op)
{
    return lfuse__list_multiplies(op) ? lfuse__list_product_bytes(op->step) : sizeof(lfuse__list_shape);
}

static void put_shapes(const lfuse_instance *in, lfuse__list_op *op, const lfuse_list *l, char *to)
{
    int64_t m;

    for (m = 0; m < op->members; m++) {
        const lfuse__member *x = &l->members[m];
        const lfuse__list_shape shape = { x->matrices, x->rows, x->columns, x->elements, x->rank };
        if (lfuse__list_multiplies(op)) lfuse__list_put_product(in, op, m, to + shape_bytes(op) * (uint64_t)m);
        else memcpy(to + sizeof shape * (uint64_t)m, &shape, sizeof shape);
    }
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* The list that tells sizes and shapes, where the step asks for them. */
static const lfuse_list *shapes_of(const lfuse_instance *in, const lfuse__list_op *op)
{
    int i;

    for (i = 0; i < op->step->noperands; i++)
        if (op->step->operands[i].place >= LFUSE__PLACE_ELEMENTS)
            return lfuse__list_of(in, op->step->operands[i].index); /* others agree with it */
    return lfuse__list_of(in, op->step->lists.list);
}

/* Sizes of the members as this step walks them. */
static lfuse_status walked_sizes(const lfuse_instance *in, lfuse__list_op *op, const lfuse_list *shapes, int64_t *sizes,
                                 int64_t *all)
{
    int64_t m;

    *all = 0;
    if (lfuse__list_multiplies(op)) return lfuse__list_cut_products(in, op, sizes, all);
    for (m = 0; m < shapes->count; m++) {
        const lfuse__member *x = &shapes->members[m];
        sizes[m] = lfuse__list_lines(op) ? lfuse__lines_cells(&op->k, x->matrices, x->rows, x->columns)
                                         : lfuse__list_span_size(in, op->step->lists.list, op->step->lists.walked, m);
        *all += sizes[m];
    }
    return LFUSE_OK;
}

static int64_t chunk_length(const lfuse_instance *in, const lfuse__list_op *op, int64_t all)
{
    const unsigned units = in->facts->info.compute_units;

    if (lfuse__list_multiplies(op)) return 1; /* a block */
    if (lfuse__list_lines(op)) return lfuse__chunk_length(all, LEAST_CELLS, LFUSE__SEGMENT, units);
    if (lfuse__list_reduces(op)) return LFUSE__SEGMENT;
    return lfuse__chunk_length(all, LFUSE__SEGMENT, lfuse__multi_chunk(&op->k, in->facts), units);
}

/* The element of a tensor that goes with the list: not the first one of what is cut, or joined with others. */
static lfuse_status tensor_element(const lfuse_instance *in, const lfuse__operand *o, int64_t *element)
{
    const lfuse__bound *b = o->place == LFUSE__PLACE_BOUND ? &in->bound[o->index] : NULL;
    int64_t shape[LFUSE_MAX_RANK], strides[LFUSE_MAX_RANK], at;
    int m;

    for (m = 0; m < o->rank; m++)
        LFUSE__TRY(lfuse__size_evaluate(in->body->graph, o->shape[m], in->sizes, &shape[m]));
    lfuse__contiguous_strides(o->rank, shape, strides);
    if (b && !b->plain) {
        if (in->plan->graph->nodes[in->plan->names[o->index].node].rank != o->rank ||
            memcmp(b->shape, shape, (size_t)o->rank * sizeof *shape) != 0)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "\"%s\", whose element a list goes with, is not contiguous",
                                in->plan->names[o->index].text);
        memcpy(strides, b->strides, (size_t)o->rank * sizeof *strides);
    }
    for (*element = m = 0; m < o->rank; m++) {
        LFUSE__TRY(lfuse__size_evaluate(in->body->graph, o->offset[m], in->sizes, &at));
        *element += at * strides[m];
    }
    return LFUSE_OK;
}

/* Where members are in the operand, if that is a buffer of the whole list, and where the number of all of them is. */
static lfuse_status make_offsets(const lfuse_instance *in, lfuse__list_op *op, int operand)
{
    const lfuse__operand *o = &op->step->operands[operand];
    int64_t at = 0, m;

    if (o->span == LFUSE__SPAN_TENSOR && o->place < LFUSE__PLACE_INDEX) {
        LFUSE__TRY(tensor_element(in, o, &at));
        if (!at) return LFUSE_OK;
        op->offsets[operand] = lfuse__arena_array(&op->memory, (size_t)op->members + 1, sizeof *op->offsets[operand]);
        if (!op->offsets[operand]) return LFUSE_ERR_MEMORY;
        for (m = 0; m <= op->members; m++) op->offsets[operand][m] = at;
        return LFUSE_OK;
    }
    if (o->place != LFUSE__PLACE_SCRATCH && o->place != LFUSE__PLACE_PREPARED) return LFUSE_OK;
    if (o->span == LFUSE__SPAN_TENSOR || o->span == LFUSE__SPAN_MEMBERS) return LFUSE_OK;
    op->offsets[operand] = lfuse__arena_array(&op->memory, (size_t)op->members, sizeof *op->offsets[operand]);
    if (!op->offsets[operand]) return LFUSE_ERR_MEMORY;
    for (m = 0; m < op->members; m++) {
        op->offsets[operand][m] = at;
        at += lfuse__list_padded(lfuse__list_span_size(in, in->body->buffers[o->index].list, o->span, m));
    }
    return LFUSE_OK;
}

/*
 * Chunk table and first chunks, unless arguments carry them; sizes and the ticket, which is 0; then room for the
 * address table where the device writes it.
 */
static lfuse_status make_device_tables(lfuse_instance *in, lfuse__list_op *op, const lfuse_list *l,
                                       const int64_t *sizes)
{
    const bool unified = op->transport == LFUSE_TRANSPORT_UNIFIED, args = op->transport == LFUSE_TRANSPORT_ARGS;
    const uint64_t firsts = args ? 0 : ((uint64_t)op->members + 1) * sizeof *op->first;
    const uint64_t entries = (uint64_t)op->nentries * (uint64_t)op->step->noperands;
    const uint64_t addresses = args ? 0 : 2 * entries * sizeof *op->fresh;
    lfuse_device *dev = in->plan->dev;
    lfuse_status status;
    uint64_t bytes;
    char *host;

    op->firsts_at = args ? 0 : aligned((uint64_t)op->chunks * sizeof(lfuse__chunk));
    op->elements_at = aligned(op->firsts_at + firsts);
    op->ticket_at = aligned(op->elements_at +
                            (lfuse__list_needs_sizes(op->step) ? (uint64_t)op->members * shape_bytes(op) : 0));
    op->addresses_at = aligned(op->ticket_at + sizeof(uint64_t));
    bytes = op->ticket_at + sizeof(uint64_t);
    host = calloc(1, bytes);
    if (!host) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRIu64 " bytes of tables)", bytes);
    if (!args) lfuse__chunk_fill(op->members, sizes, op->length, (lfuse__chunk *)(void *)host, op->first);
    memcpy(host + op->firsts_at, op->first, firsts);
    if (lfuse__list_needs_sizes(op->step)) put_shapes(in, op, l, host + op->elements_at);
    status = unified ? lfuse__range_create_unified(dev, bytes, &op->device)
                     : lfuse__range_create(dev, op->addresses_at + addresses, &op->device);
    if (!status) status = lfuse__table_upload(dev, op->device, 0, host, bytes);
    free(host);
    return status;
}

static void make_block(lfuse__list_op *op, int block, lfuse__carry carry)
{
    op->blocks[block] = (lfuse__list_block){ .carry = carry, .nwords = lfuse__carried_words(&op->k, carry) };
}

static lfuse_status make_transport(lfuse_instance *in, lfuse__list_op *op, const lfuse_list *l, const int64_t *sizes)
{
    if (op->transport == LFUSE_TRANSPORT_ARGS) {
        lfuse__chunk_firsts(op->members, sizes, op->length, op->first);
        make_block(op, LFUSE__LIST_BLOCK, lfuse__list_carry(op));
        if (lfuse__list_reduces(op) && !lfuse__list_lines(op)) make_block(op, LFUSE__FOLD_BLOCK, LFUSE__CARRY_FOLD);
        return lfuse__list_reduces(op) || lfuse__list_needs_sizes(op->step) || lfuse__list_counts(op->step)
                   ? make_device_tables(in, op, l, sizes)
                   : LFUSE_OK;
    }
    LFUSE__TRY(make_device_tables(in, op, l, sizes));
    return op->transport == LFUSE_TRANSPORT_UNIFIED ? lfuse__list_version_add(in, op) : LFUSE_OK;
}

/* `sizes` has room for them. */
static lfuse_status make_tables(lfuse_instance *in, lfuse__list_op *op, const lfuse_list *shapes, int64_t *sizes)
{
    const size_t n = (size_t)op->members, table = 2 * (size_t)op->nentries * (size_t)op->step->noperands;
    const bool written = op->transport == LFUSE_TRANSPORT_TABLE;
    int64_t all, m;
    int i;

    LFUSE__TRY(walked_sizes(in, op, shapes, sizes, &all));
    op->first = lfuse__arena_array(&op->memory, n + 1, sizeof *op->first);
    op->tails = lfuse__arena_array(&op->memory, n + 1, sizeof *op->tails);
    op->entries = written ? lfuse__arena_array(&op->memory, table, sizeof *op->entries) : NULL;
    op->fresh = lfuse__arena_array(&op->memory, table, sizeof *op->fresh);
    if (!op->first || !op->tails || !op->fresh || (written && !op->entries)) return LFUSE_ERR_MEMORY;
    op->length = chunk_length(in, op, all);
    op->chunks = lfuse__chunk_count(op->members, sizes, op->length);
    for (i = 0; i < op->step->noperands; i++) LFUSE__TRY(make_offsets(in, op, i));
    for (m = 0; m < op->members; m++) {
        const int64_t beyond = sizes[m] % op->length;
        op->tails[m] = (uint32_t)(beyond ? beyond : op->length);
    }
    return make_transport(in, op, shapes, sizes);
}

lfuse_status lfuse__list_make_tables(lfuse_instance *in, lfuse__list_op *op, const lfuse_list *l)
{
    const lfuse_list *shapes = shapes_of(in, op);
    int64_t *sizes = malloc(((size_t)shapes->count + 1) * sizeof *sizes);
    lfuse_status status;

    if (!sizes) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (a list of %" PRId64 " members)", l->count);
    op->members = l->count;
    op->nentries = l->count ? l->count : 1;
    status = make_tables(in, op, shapes, sizes);
    free(sizes);
    return status;
}

/* ---- addresses ---- */

static uint64_t within_shape(lfuse__place place)
{
    switch (place) {
    case LFUSE__PLACE_ROWS: return offsetof(lfuse__list_shape, rows);
    case LFUSE__PLACE_COLUMNS: return offsetof(lfuse__list_shape, columns);
    case LFUSE__PLACE_ELEMENTS: return offsetof(lfuse__list_shape, elements);
    case LFUSE__PLACE_RANK: return offsetof(lfuse__list_shape, rank);
    default: return 0;
    }
}

static void member_at(const lfuse__list_op *op, int operand, int64_t m, lfuse__location *at)
{
    const lfuse__operand *o = &op->step->operands[operand];
    const lfuse__list_trace *t = &op->traces[operand];
    uint64_t beyond = 0;

    if (o->place >= LFUSE__PLACE_ELEMENTS) {
        beyond = op->elements_at + shape_bytes(op) * (uint64_t)m + within_shape(o->place);
        *at = (lfuse__location){ op->device->mem, op->device->offset + beyond, op->device->address + beyond };
        return;
    }
    if (t->list) {
        const lfuse__member *x = &t->list->members[m];
        *at = (lfuse__location){ x->range->mem, x->range->offset + x->offset, x->range->address + x->offset };
        return;
    }
    if (op->offsets[operand]) beyond = (uint64_t)op->offsets[operand][m] * lfuse_type_size(o->type);
    if (o->span == LFUSE__SPAN_MEMBERS) beyond = (uint64_t)m * lfuse_type_size(o->type);
    *at = (lfuse__location){ t->at.mem, t->at.offset + beyond, t->at.address + beyond };
}

static int slot_in(lfuse__list_batch *b, lfuse__bmem *mem)
{
    int i;

    for (i = 0; i < b->nblocks; i++)
        if (b->blocks[i] == mem) return i;
    if (b->nblocks == LFUSE__MAX_SLOTS) return -1;
    b->blocks[b->nblocks] = mem;
    return b->nblocks++;
}

void lfuse__list_make_entry(lfuse__list_op *op, int operand, int64_t m)
{
    uint64_t *entry = op->fresh + 2 * (operand * op->nentries + m);
    lfuse__location at;

    member_at(op, operand, m, &at);
    entry[0] = at.address;
    entry[1] = 0;
}

static lfuse_status open_batch(lfuse__list_op *op, int64_t m, int64_t group, lfuse__list_batch **made)
{
    LFUSE__TRY(lfuse__array_grow(&op->batches, &op->batch_capacity, (size_t)op->nbatches + 1, sizeof *op->batches));
    *made = &op->batches[op->nbatches++];
    **made = (lfuse__list_batch){ .first_chunk = (int64_t)op->first[m], .first_member = m, .group = group };
    return LFUSE_OK;
}

/* Gives each operand's block of the member a slot of the batch; false: too many blocks. */
static bool take_slots(lfuse_instance *in, lfuse__list_op *op, int64_t m, lfuse__list_batch *b)
{
    const int before = b->nblocks;
    lfuse__location at;
    int i, slot;

    for (i = 0; i < op->step->noperands; i++) {
        uint64_t *entry = op->fresh + 2 * (i * op->nentries + m);
        if (op->step->operands[i].place == LFUSE__PLACE_SUM) continue; /* no memory */
        if (m >= op->members && op->step->operands[i].span != LFUSE__SPAN_TENSOR) continue;
        if (in->facts->addresses) {
            lfuse__list_make_entry(op, i, m);
            continue;
        }
        member_at(op, i, m, &at);
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

/* Whether there are no elements, and the one launch is that of the first place. */
static bool counts_alone(const lfuse__list_op *op, int64_t m)
{
    return m == 0 && !op->chunks && lfuse__list_counts(op->step);
}

lfuse_status lfuse__list_make_entries(lfuse_instance *in, lfuse__list_op *op)
{
    const int carried = lfuse__class_list(&op->k)->carried;
    lfuse__list_batch *b = NULL;
    int64_t m, group = 0;

    op->nbatches = 0;
    for (m = 0; m < op->nentries; m++) {
        const bool member = m < op->members;
        /* An empty member has no chunk, and its entries are not read but for where its numbers go. */
        const bool empty = !member || op->first[m] == op->first[m + 1];
        if (!lfuse__list_reduces(op) && empty && !counts_alone(op, m)) continue;
        while (op->groups && member && m >= op->groups->group_first[group + lfuse__list_groups(op, group)])
            group += lfuse__list_groups(op, group);
        if (!b || b->group != group || (carried && m - b->first_member >= carried))
            LFUSE__TRY(open_batch(op, m, group, &b));
        if (!take_slots(in, op, m, b)) {
            LFUSE__TRY(open_batch(op, m, group, &b));
            if (!take_slots(in, op, m, b))
                return lfuse__error(LFUSE_ERR_UNSUPPORTED, "the operands of one member lie in more than %d blocks",
                                    LFUSE__MAX_SLOTS);
        }
        if (!member) continue;
        b->chunks = (int64_t)op->first[m + 1] - b->first_chunk;
        b->members = m + 1 - b->first_member;
    }
    return LFUSE_OK;
}

static lfuse_status update_words(lfuse__list_op *op, lfuse_stream *s, bool all, int64_t first, int64_t count)
{
    return lfuse__table_update(s, op->table, op->device, op->addresses_at + 8 * (uint64_t)first, op->entries + first,
                               op->fresh + first, (size_t)count, all);
}

lfuse_status lfuse__list_update_table(lfuse__list_op *op, lfuse_stream *s)
{
    const bool all = !op->valid;
    int i;

    if (all || op->nspans < 0) LFUSE__TRY(update_words(op, s, all, 0, 2 * op->nentries * op->step->noperands));
    for (i = 0; i < op->nspans && !all; i++) {
        const lfuse__list_span *span = &op->spans[i];
        LFUSE__TRY(update_words(op, s, false, 2 * (span->operand * op->nentries + span->first), 2 * span->count));
    }
    op->valid = true;
    return LFUSE_OK;
}

const lfuse__range *lfuse__list_addresses(const lfuse__list_op *op, uint64_t *offset)
{
    const lfuse__range *r = op->transport == LFUSE_TRANSPORT_UNIFIED ? lfuse__list_version_range(op) : op->device;

    *offset = r->offset + (r == op->device ? op->addresses_at : 0);
    return r;
}

/* Returns how many buffers the kernel has for them. */
unsigned lfuse__list_blocks(const lfuse_instance *in, const lfuse__list_batch *b, lfuse__bmem **buffers)
{
    if (in->facts->addresses) return 0;
    memcpy(buffers, b->blocks, (size_t)b->nblocks * sizeof *buffers);
    return LFUSE__MAX_SLOTS;
}
