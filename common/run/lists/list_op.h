/* SPDX-License-Identifier: Apache-2.0 */
/* The operation of a step over lists, of this folder alone. */
#ifndef COMMON_RUN_LISTS_LIST_OP_H
#define COMMON_RUN_LISTS_LIST_OP_H

#include "common/matmul/grouped.h"
#include "common/run/lists/lists.h"

/*
 * Members of one launch: whose memory lies in few enough blocks, where the device has no addresses, and whose entries
 * fit the argument block, where that carries them, and of as many groups as a launch has numbers for; else all.
 */
typedef struct lfuse__list_batch {
    int64_t first_chunk, chunks, first_member, members;
    int64_t group; /* the first, where members have numbers by group */
    lfuse__bmem *blocks[LFUSE__MAX_SLOTS];
    int nblocks;
} lfuse__list_batch;

/* Where an operand was when the table was last made. */
typedef struct lfuse__list_trace {
    const lfuse_list *list;
    uint64_t version;
    lfuse__location at;
} lfuse__list_trace;

typedef struct lfuse__list_version lfuse__list_version; /* list_unified.c */

/* Entries that are not what they were: of one operand, members [first, first + count). */
typedef struct lfuse__list_span {
    int operand;
    int64_t first, count;
} lfuse__list_span;
enum { LFUSE__LIST_SPANS = 16 };

/* The argument block of one of the kernels. */
typedef struct lfuse__list_block {
    lfuse__carry carry;
    unsigned nwords; /* 0: there is no such kernel */
    uint64_t *words; /* [nwords] for each batch */
} lfuse__list_block;
enum { LFUSE__LIST_BLOCK, LFUSE__FOLD_BLOCK };

struct lfuse__list_op {
    const lfuse__step *step;
    lfuse__arena memory;      /* of the arrays whose lengths follow from the lists */
    lfuse_transport transport; /* the one that was chosen */
    lfuse__kernel_class k;
    lfuse__kernel *kernel, *table, *partial; /* kernel: of MEMBERS the fold; partial: where elements are reduced */
    int64_t members, chunks;
    int64_t nentries;         /* of an operand: the members, and one for numbers of an empty list */
    uint64_t *first;          /* [members + 1] first chunk of each member */
    uint32_t *tails;          /* [members] length of each member's last chunk */
    int64_t length;           /* of the other chunks */
    int64_t *offsets[LFUSE__MAX_OPERANDS]; /* [members] of each member in a buffer of the whole list, in elements */
    lfuse__range *device;     /* chunk table, first chunks, sizes, ticket of the last group, addresses; NULL: ARGS */
    uint64_t firsts_at, elements_at, ticket_at, addresses_at; /* bytes in `device` */
    lfuse__grouped_cut cut;   /* GROUPED */
    int scratch;              /* between the kernels of MEMBERS, the workspace of GROUPED: a buffer, -1: none */
    uint64_t *entries;        /* TABLE: [noperands][nentries][2] what the device's table holds, if it is valid */
    uint64_t *fresh;          /* the same, being made */
    bool made;                /* `fresh` and the batches are of the traces */
    bool valid;               /* the table holds `entries`, or what `fresh` was */
    bool moved;               /* `fresh` may differ, in these spans; nspans -1: anywhere */
    int nspans;
    lfuse__list_span spans[LFUSE__LIST_SPANS];
    lfuse__list_block blocks[2]; /* ARGS: of the kernel over chunks, and of the fold */
    int block_capacity;          /* batches that these have room for */
    lfuse__list_version *versions; /* UNIFIED: [nversions] address tables */
    int nversions, version;        /* the one that runs now read; -1: none yet */
    lfuse__list_trace traces[LFUSE__MAX_OPERANDS];
    int nbatches;
    size_t batch_capacity;
    lfuse__list_batch *batches;
    double numbers[32];
    const lfuse_list *groups; /* whose groups have numbers of their own; NULL: none have, or none are needed */
    double *group_numbers;    /* [groups->groups][body.nnumbers] of the run that is being made */
    lfuse__packed packed;
};

/* lists.c: the rank that a list is declared with; of products LFUSE_RANK_MATRIX. */
int lfuse__list_rank(const lfuse_instance *in, int list);

/* By its number in the plan: a name's, or one that nobody binds. */
static inline const lfuse_list *lfuse__list_of(const lfuse_instance *in, int list)
{
    return list < in->plan->nnames ? in->kept[list].list : &in->products[list - in->plan->nnames];
}

/* For messages. */
static inline const char *lfuse__list_name(const lfuse_instance *in, int list)
{
    return list < in->plan->nnames ? in->plan->names[list].text : in->product_names[list - in->plan->nnames];
}

static inline bool lfuse__list_reduces(const lfuse__list_op *op)
{
    return op->step->kind == LFUSE__STEP_MEMBERS || op->step->kind == LFUSE__STEP_LINES;
}

static inline bool lfuse__list_lines(const lfuse__list_op *op)
{
    return op->step->kind == LFUSE__STEP_LINES;
}

static inline bool lfuse__list_multiplies(const lfuse__list_op *op)
{
    return op->step->kind == LFUSE__STEP_GROUPED;
}

/* Elements of a value of this span that goes with member m of a list; -1: the list does not tell. */
int64_t lfuse__list_span_size(const lfuse_instance *in, int name, lfuse__span span, int64_t m);

/* Groups of a launch from group `first` on. */
static inline int lfuse__list_groups(const lfuse__list_op *op, int64_t first)
{
    const int64_t left = op->groups->groups - first;
    const int most = lfuse__class_list(&op->k)->groups;

    return left < most ? (int)left : most ? most : 1;
}

/* Whether the members' numbers of elements are read: they stand in device memory, whatever carries addresses. */
bool lfuse__list_needs_sizes(const lfuse__step *step);

/* Whether it stores numbers of no list: once a run, of an empty list too. */
bool lfuse__list_counts(const lfuse__step *step);

/* What its first kernel finds in the arguments. */
static inline lfuse__carry lfuse__list_carry(const lfuse__list_op *op)
{
    return lfuse__list_reduces(op) || lfuse__list_multiplies(op) ? LFUSE__CARRY_PARTIAL : LFUSE__CARRY_CHUNKS;
}

/* Elements of a member in a buffer of the whole list: members are apart by whole lines. */
int64_t lfuse__list_padded(int64_t elements);

/* ---- list_transport.c ---- */
/* Which transport the op uses, and the classes of its kernels; logged. ERR_UNSUPPORTED: one is asked for in vain. */
lfuse_status lfuse__list_choose(lfuse_instance *in, lfuse__list_op *op, lfuse__kernel_class wanted[LFUSE__WANTED_MAX],
                                int *count);
/* The kernels that the step then has, for the lists of the instance; returns how many. */
int lfuse__list_classes(const lfuse_instance *in, const lfuse__step *step,
                        lfuse__kernel_class wanted[LFUSE__WANTED_MAX]);
/* Follows the operands to where they are now: `fresh`, batches and what each transport makes of them. */
lfuse_status lfuse__list_follow(lfuse_instance *in, lfuse__list_op *op, const lfuse__slot *slots);

/* ---- list_args.c ---- */
/* The words of all batches. */
lfuse_status lfuse__list_args_fill(lfuse__list_op *op);
/* Those of members that moved. */
void lfuse__list_args_change(lfuse__list_op *op, int64_t first, int64_t count);
/* A batch's words in one of op->blocks, with what this launch has packed. */
uint64_t *lfuse__list_args_words(lfuse__list_op *op, int block, int batch, const lfuse__packed *p);

/* ---- list_unified.c ---- */
lfuse_status lfuse__list_version_add(lfuse_instance *in, lfuse__list_op *op);
void lfuse__list_versions_destroy(lfuse__list_op *op);
/* The present addresses in a version of the table, which runs on `s` may read from now on; NULL: none does yet. */
lfuse_status lfuse__list_publish(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s);
const lfuse__range *lfuse__list_version_range(const lfuse__list_op *op);

/* ---- list_tables.c ---- */
lfuse_status lfuse__list_make_tables(lfuse_instance *in, lfuse__list_op *op, const lfuse_list *l);
/* `fresh` and the batches, from where the operands are now. */
lfuse_status lfuse__list_make_entries(lfuse_instance *in, lfuse__list_op *op);
/* The entry of one member, which needs no slot. */
void lfuse__list_make_entry(lfuse__list_op *op, int operand, int64_t m);
/* Where the address table is. */
const lfuse__range *lfuse__list_addresses(const lfuse__list_op *op, uint64_t *offset);
/* TABLE: writes what differs from what the device holds, in stretches that one launch can carry. */
lfuse_status lfuse__list_update_table(lfuse__list_op *op, lfuse_stream *s);
/* The batch's blocks as buffers; returns how many the kernel has for them. */
unsigned lfuse__list_blocks(const lfuse_instance *in, const lfuse__list_batch *b, lfuse__bmem **buffers);

/* ---- list_launch.c ---- */
/* Those of the batch's group, or of all. */
const double *lfuse__list_numbers(const lfuse__list_op *op, int batch);
/* Buffers of a kernel in front of the blocks: those of the tables, and one more. */
typedef enum lfuse__list_own { LFUSE__LIST_TABLES = 2, LFUSE__LIST_WORKSPACE = 3 } lfuse__list_own;
/* A kernel over the chunks of a batch, packed in op->packed but for its tables. */
lfuse_status lfuse__list_launch(const lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, lfuse__kernel *kernel,
                                int batch, lfuse__list_own own, lfuse__bmem *workspace);

/* ---- list_members.c ---- */
/* What a step that reduces asks of its list: elements where there is no identity. ERR_SHAPE. */
lfuse_status lfuse__list_check_members(const lfuse_instance *in, const lfuse__step *step);
lfuse_status lfuse__list_make_scratch(lfuse_instance *in, lfuse__list_op *op);
/* Both launches, of each batch. */
lfuse_status lfuse__list_run_members(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s);
/* list_lines.c: the same of steps along rows or columns. */
lfuse_status lfuse__list_run_lines(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s);

/* ---- list_products.c ---- */
/* Completes the class for the step's lists. */
lfuse_status lfuse__list_choose_product(const lfuse_instance *in, const lfuse__step *step, lfuse__kernel_class *k);
/* How the lists are cut; blocks of each member into sizes, which has room for all; returns how many. */
lfuse_status lfuse__list_cut_products(const lfuse_instance *in, lfuse__list_op *op, int64_t *sizes, int64_t *all);
/* What kernels read of a member in device memory: how many bytes, and these of member m. */
uint64_t lfuse__list_product_bytes(const lfuse__step *step);
void lfuse__list_put_product(const lfuse_instance *in, const lfuse__step *step, int64_t m, void *to);
lfuse_status lfuse__list_run_products(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s);

#endif
