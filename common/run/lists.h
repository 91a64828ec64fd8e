/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over lists, of common/run/lists.c and its parts alone. */
#ifndef COMMON_RUN_LISTS_H
#define COMMON_RUN_LISTS_H

#include "common/run/instance.h"

/* Members whose memory lies in few enough blocks for one launch; all of them where a table holds addresses. */
typedef struct lfuse__list_batch {
    int64_t first_chunk, chunks, first_member, members;
    lfuse__bmem *blocks[LFUSE__MAX_SLOTS];
    int nblocks;
} lfuse__list_batch;

/* Where an operand was when the table was last made. */
typedef struct lfuse__list_trace {
    const lfuse_list *list;
    uint64_t version;
    lfuse__location at;
} lfuse__list_trace;

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
    lfuse__list_trace traces[LFUSE__MAX_OPERANDS];
    int nbatches, batch_capacity;
    lfuse__list_batch *batches;
    double numbers[32];
    lfuse__packed packed;
};

static inline const lfuse_list *lfuse__list_of(const lfuse_instance *in, int name)
{
    return in->kept[name].list;
}

static inline bool lfuse__list_sums(const lfuse__list_op *op)
{
    return op->step->kind == LFUSE__STEP_MEMBER_SUM;
}

/* Elements of a member in a buffer of the whole list: members are apart by whole lines. */
int64_t lfuse__list_padded(int64_t elements);

/* ---- list_tables.c ---- */
lfuse_status lfuse__list_make_tables(lfuse_instance *in, lfuse__list_op *op, const lfuse_list *l);
/* Waits for the copy, on the device's own stream, and for nothing else. */
lfuse_status lfuse__list_upload(lfuse_device *dev, lfuse__range *to, uint64_t offset, const void *host,
                                uint64_t bytes);
/* Whether every operand is where it was. */
bool lfuse__list_unmoved(lfuse_instance *in, lfuse__list_op *op, const lfuse__slot *slots);
/* `fresh` and the batches, from where the operands are now. */
lfuse_status lfuse__list_make_entries(lfuse_instance *in, lfuse__list_op *op);
/* Writes what differs from what the device holds, in stretches that one launch can carry. */
lfuse_status lfuse__list_update_table(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s);
/* The batch's blocks as buffers; returns how many the kernel has for them. */
unsigned lfuse__list_blocks(const lfuse_instance *in, const lfuse__list_batch *b, lfuse__bmem **buffers);

/* ---- list_sums.c ---- */
lfuse_status lfuse__list_fold(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, const lfuse__list_batch *b);

#endif
