/* SPDX-License-Identifier: Apache-2.0 */
/* The operation of a step over lists, of this folder alone. */
#ifndef COMMON_RUN_LISTS_LIST_OP_H
#define COMMON_RUN_LISTS_LIST_OP_H

#include "common/matmul/grouped.h"
#include "common/run/lists/lists.h"

/*
 * Consecutive members that one launch computes: all of them, unless
 *  - the device has no addresses, and their memory lies in more than LFUSE__MAX_SLOTS blocks;
 *  - arguments carry the addresses, and those of more members do not fit an argument block;
 *  - members have numbers by group, and there are more groups than a launch has numbers for.
 */
typedef struct lfuse__list_batch {
    int64_t first_chunk, chunks, first_member, members;
    int64_t group; /* of the first member, where members have numbers by group */
    lfuse__bmem *blocks[LFUSE__MAX_SLOTS]; /* [nblocks] that entries refer to, where the device has no addresses */
    int nblocks;
} lfuse__list_batch;

/* Where an operand was when the entries were last made. */
typedef struct lfuse__list_trace {
    const lfuse_list *list; /* NULL: the operand is no list that is bound, but is at `at` */
    uint64_t version;       /* of the list */
    lfuse__location at;
} lfuse__list_trace;

typedef struct lfuse__list_version lfuse__list_version; /* list_unified.c: one address table in shared memory */

/* Entries that have changed: those of members [first, first + count) of one operand. */
typedef struct lfuse__list_span {
    int operand;
    int64_t first, count;
} lfuse__list_span;
enum { LFUSE__LIST_SPANS = 16 /* that are told one by one; more are as good as all */ };

/* The argument blocks that one of the kernels is launched with, where arguments carry the addresses. */
typedef struct lfuse__list_block {
    lfuse__carry carry; /* what the kernel finds in them */
    unsigned nwords;    /* of a block; 0: there is no such kernel */
    uint64_t *words;    /* [nwords] for each batch */
} lfuse__list_block;
enum { LFUSE__LIST_BLOCK, LFUSE__FOLD_BLOCK };

/*
 * An entry is two words, which tell a kernel where a member is: its address and 0, or, where the device has no
 * addresses, its offset in bytes and the number of its block in the batch.
 */
struct lfuse__list_op {
    const lfuse__step *step;
    lfuse__arena memory;       /* of the arrays whose lengths follow from the lists */
    lfuse_transport transport; /* how the entries reach the kernel; not DEFAULT */
    lfuse__kernel_class k;     /* of `kernel` */
    lfuse__kernel *kernel;     /* of the step; where elements are reduced, the one that folds segments */
    lfuse__kernel *partial;    /* that reduces elements to segments, or packs factors; NULL: there is none */
    lfuse__kernel *table;      /* that writes address tables; NULL: none is written */
    int64_t members, chunks;   /* of the list that the step walks */
    int64_t nentries;          /* of an operand: the members, and one for numbers of an empty list */
    uint64_t *first;           /* [members + 1] number of the first chunk of each member */
    uint32_t *tails;           /* [members] length of each member's last chunk */
    int64_t length;            /* of the other chunks, in what the step walks: elements, segments or blocks */
    int64_t *offsets[LFUSE__MAX_OPERANDS]; /* [members] elements before each member in a buffer of the whole list */
    /*
     * Tables in device memory: chunks, first chunks, sizes of the members, a ticket that the last work-group takes, and
     * the address table of the transport TABLE. NULL: arguments carry all that is needed.
     */
    lfuse__range *device;
    uint64_t firsts_at, elements_at, ticket_at, addresses_at; /* where the others begin in `device`, in bytes */
    lfuse__grouped_cut cut;    /* GROUPED: how the products are cut into blocks */
    uint64_t packed_bytes;     /* GROUPED: of the copies of all members */
    bool low_memory;           /* GROUPED: nothing is packed */
    int scratch;               /* buffer between the kernels of MEMBERS, or workspace of GROUPED; -1: none */
    uint64_t *entries;         /* TABLE: [noperands][nentries][2] what the device's table holds, where it is valid */
    uint64_t *fresh;           /* the same, of the present addresses */
    bool made;                 /* `fresh` and the batches are those of the traces */
    bool valid;                /* the device's table holds `entries`, or what `fresh` was at the last launch */
    bool moved;                /* `fresh` may differ from it, in `spans`; nspans -1: anywhere */
    int nspans;
    lfuse__list_span spans[LFUSE__LIST_SPANS];
    lfuse__list_block blocks[2]; /* ARGS: of the kernel over chunks, and of the fold */
    int block_capacity;          /* batches that these have room for */
    lfuse__list_version *versions; /* UNIFIED: [nversions] address tables */
    int nversions, version;        /* `version`: the table that runs read now; -1: none yet */
    lfuse__list_trace traces[LFUSE__MAX_OPERANDS];
    int nbatches;
    size_t batch_capacity;
    lfuse__list_batch *batches;
    double numbers[32];        /* [body.nnumbers] of the run */
    const lfuse_list *groups;  /* whose groups have numbers of their own in the step; NULL: all members have the same */
    double *group_numbers;     /* [groups->groups][body.nnumbers] of the run */
    lfuse__packed packed;      /* of the launch that is being made */
};

/*
 * Lists have the numbers of their names; those that the plan makes, which nobody binds, have the numbers behind them.
 */

/* lists.c: returns the rank that a list is declared with; of a list of products LFUSE_RANK_MATRIX. */
int lfuse__list_rank(const lfuse_instance *in, int list);

static inline const lfuse_list *lfuse__list_of(const lfuse_instance *in, int list)
{
    return list < in->plan->nnames ? in->kept[list].list : &in->products[list - in->plan->nnames];
}

/* What messages call a list. */
static inline const char *lfuse__list_name(const lfuse_instance *in, int list)
{
    return list < in->plan->nnames ? in->plan->names[list].text : in->product_names[list - in->plan->nnames];
}

/* Whether elements are reduced, by one kernel to segments and by another one to results. */
static inline bool lfuse__list_reduces(const lfuse__list_op *op)
{
    return op->step->kind == LFUSE__STEP_MEMBERS || op->step->kind == LFUSE__STEP_LINES;
}

/* Whether they are reduced along rows or columns. */
static inline bool lfuse__list_lines(const lfuse__list_op *op)
{
    return op->step->kind == LFUSE__STEP_LINES;
}

/* Whether members are multiplied by each other as matrices. */
static inline bool lfuse__list_multiplies(const lfuse__list_op *op)
{
    return op->step->kind == LFUSE__STEP_GROUPED;
}

/* Returns how many elements of a value of this span go with member m of a list; -1: the list does not tell. */
int64_t lfuse__list_span_size(const lfuse_instance *in, int name, lfuse__span span, int64_t m);

/* Returns how many groups a launch has, from group `first` on. */
static inline int lfuse__list_groups(const lfuse__list_op *op, int64_t first)
{
    const int64_t left = op->groups->groups - first;
    const int most = lfuse__class_list(&op->k)->groups;

    return left < most ? (int)left : most ? most : 1;
}

/* Returns whether the kernel reads sizes of members: they are in device memory, whatever carries addresses. */
bool lfuse__list_needs_sizes(const lfuse__step *step);

/* Returns whether the step stores a value of no list, which is done once a run, of an empty list too. */
bool lfuse__list_counts(const lfuse__step *step);

/* Returns what the kernel over chunks finds in its arguments, where these carry addresses. */
static inline lfuse__carry lfuse__list_carry(const lfuse__list_op *op)
{
    return lfuse__list_reduces(op) || lfuse__list_multiplies(op) ? LFUSE__CARRY_PARTIAL : LFUSE__CARRY_CHUNKS;
}

/* Returns the elements from one member to the next in a buffer of the whole list: each begins at a multiple of 128. */
int64_t lfuse__list_padded(int64_t elements);

/* ---- list_transport.c ---- */
/* Which transport the op uses, and the classes of its kernels; logged. ERR_UNSUPPORTED: one is asked for in vain. */
lfuse_status lfuse__list_choose(lfuse_instance *in, lfuse__list_op *op, lfuse__kernel_class wanted[LFUSE__WANTED_MAX],
                                int *count);
/* Fills in the classes of the kernels that the step has for the lists of the instance; returns how many. */
int lfuse__list_classes(const lfuse_instance *in, const lfuse__step *step,
                        lfuse__kernel_class wanted[LFUSE__WANTED_MAX]);
/* Brings `fresh`, the batches and the argument blocks to where the operands of a run are. */
lfuse_status lfuse__list_follow(lfuse_instance *in, lfuse__list_op *op, const lfuse__slot *slots);

/* ---- list_args.c ---- */
/* Fills the argument blocks of all batches. */
lfuse_status lfuse__list_args_fill(lfuse__list_op *op);
/* Fills in the entries of members [first, first + count), which have moved. */
void lfuse__list_args_change(lfuse__list_op *op, int64_t first, int64_t count);
/* Returns the words of a batch in op->blocks[block], with what this launch has packed in front. */
uint64_t *lfuse__list_args_words(lfuse__list_op *op, int block, int batch, const lfuse__packed *p);

/* ---- list_unified.c ---- */
/* Adds an address table, which nobody reads yet. */
lfuse_status lfuse__list_version_add(lfuse_instance *in, lfuse__list_op *op);
void lfuse__list_versions_destroy(lfuse__list_op *op);
/* Writes the present entries to an address table that no run reads, if they have changed. Runs on `s` read it then. */
lfuse_status lfuse__list_publish(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s);
/* Returns the memory of the table that runs read now. */
const lfuse__range *lfuse__list_version_range(const lfuse__list_op *op);

/* ---- list_tables.c ---- */
/* Makes what follows from the sizes of the members: chunks, offsets, and the tables on the device. */
lfuse_status lfuse__list_make_tables(lfuse_instance *in, lfuse__list_op *op, const lfuse_list *l);
/* Makes `fresh` and the batches of where the operands are now. */
lfuse_status lfuse__list_make_entries(lfuse_instance *in, lfuse__list_op *op);
/* Makes the entry of one member, where the device has addresses. */
void lfuse__list_make_entry(lfuse__list_op *op, int operand, int64_t m);
/* Returns the range that the address table lies in; *offset: where it begins in the range's block, in bytes. */
const lfuse__range *lfuse__list_addresses(const lfuse__list_op *op, uint64_t *offset);
/* TABLE: writes the entries that differ from those that the device's table holds. */
lfuse_status lfuse__list_update_table(lfuse__list_op *op, lfuse_stream *s);
/* Fills in the batch's blocks as buffers of a launch; returns how many buffers the kernel has for them. */
unsigned lfuse__list_blocks(const lfuse_instance *in, const lfuse__list_batch *b, lfuse__bmem **buffers);

/* ---- list_launch.c ---- */
/* Returns the numbers of the run for a batch: those of its first group, or those of all members. */
const double *lfuse__list_numbers(const lfuse__list_op *op, int batch);
/* How many buffers of a kernel come before the blocks: those of the two tables, and one more, its workspace. */
typedef enum lfuse__list_own { LFUSE__LIST_TABLES = 2, LFUSE__LIST_WORKSPACE = 3 } lfuse__list_own;
/* Launches a kernel over the chunks of a batch; op->packed has all of its words but those about the tables. */
lfuse_status lfuse__list_launch(const lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, lfuse__kernel *kernel,
                                int batch, lfuse__list_own own, lfuse__bmem *workspace);

/* ---- list_members.c ---- */
/* Checks that a step that reduces has elements to choose from, where its reduction has no identity. ERR_SHAPE. */
lfuse_status lfuse__list_check_members(const lfuse_instance *in, const lfuse__step *step);
/* Adds the buffer between the kernels, or the workspace of products: op->scratch. */
lfuse_status lfuse__list_make_scratch(lfuse_instance *in, lfuse__list_op *op);
/* Launches both kernels for each batch. */
lfuse_status lfuse__list_run_members(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s);
/* list_lines.c: the same of steps along rows or columns. */
lfuse_status lfuse__list_run_lines(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s);

/* ---- list_products.c ---- */
/* Chooses the tiles of the kernel for the products of the step's lists; completes the class. */
lfuse_status lfuse__list_choose_product(const lfuse_instance *in, const lfuse__step *step, lfuse__kernel_class *k);
/* Cuts the products into blocks: op->cut. Writes how many each member has into `sizes`, and adds them to *all. */
lfuse_status lfuse__list_cut_products(const lfuse_instance *in, lfuse__list_op *op, int64_t *sizes, int64_t *all);
/* Returns whether some member is packed, by a kernel of the class's phase PACK, while there is memory for that. */
bool lfuse__list_packs(const lfuse_instance *in, const lfuse__step *step, const lfuse__kernel_class *k);
/*
 * product_bytes returns how many bytes kernels read of each member in device memory. put_product writes those of member
 * m. The copies of its factors get their places in the workspace then, and op->packed_bytes grow by them: it is called
 * once for each member.
 */
uint64_t lfuse__list_product_bytes(const lfuse__step *step);
void lfuse__list_put_product(const lfuse_instance *in, lfuse__list_op *op, int64_t m, void *to);
/* Launches the kernels for each batch. */
lfuse_status lfuse__list_run_products(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s);

#endif
