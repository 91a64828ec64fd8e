/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances, of common/run/ alone: a plan with sizes, lists and frozen tensors made into a list of operations. What an
 * operation needs beside addresses and numbers is fixed when the plan is instantiated for the strides of the tensors
 * that are bound (instantiate.h); a run with other strides instantiates it anew.
 */
#ifndef COMMON_RUN_INSTANCE_H
#define COMMON_RUN_INSTANCE_H

#include "common/run/body.h"

/* Memory of an operand: a bound name, or a buffer: the plan's, then those of the instance (copies for odd strides). */
typedef struct lfuse__memory {
    lfuse__place place;
    int index;
} lfuse__memory;

/* The same from its element `first` on, in bytes; in elements where it is LFUSE__PLACE_INDEX. */
typedef struct lfuse__start {
    lfuse__memory memory;
    uint64_t first;
} lfuse__start;

typedef struct lfuse__location {
    lfuse__bmem *mem;
    uint64_t offset;  /* of the first element, from the start of mem */
    uint64_t address; /* of the same on the device, or congruent to it for alignment */
} lfuse__location;

typedef struct lfuse__instance_buffer {
    lfuse__place place;
    uint64_t bytes, offset; /* offset in the scratch */
    int first, last;        /* operations that use it; last < first: none */
    lfuse__range *prepared; /* PREPARED */
    bool tickets;           /* PREPARED: of products whose parts meet; zeros before the first run */
} lfuse__instance_buffer;

/* Where a name's memory was at the last run. */
typedef struct lfuse__spot {
    lfuse__bmem *mem;
    uint64_t offset;         /* of the first element from the start of mem, bytes */
    uint64_t address;        /* of the first element */
    uint64_t space, low, high; /* bytes touched, as addresses */
} lfuse__spot;

typedef struct lfuse__bound {
    int64_t shape[LFUSE_MAX_RANK]; /* what a tensor must have */
    int64_t strides[LFUSE_MAX_RANK]; /* that the operations were made for */
    bool tensor, list, written;
    bool plain;   /* contiguous: `strides` are those of the shape */
    bool spotted; /* `spot` holds a run's */
    lfuse__spot spot;
} lfuse__bound;

/* A pointwise or row kernel. */
typedef struct lfuse__kernel_op {
    lfuse__kernel_class k;
    lfuse__geometry g;
    lfuse__packed packed;
    lfuse__kernel *kernel;
    bool is_packed;
    uint64_t version; /* of `packed` */
    lfuse__start starts[LFUSE__MAX_OPERANDS];
    lfuse__memory partials; /* of PARTIAL and FOLD, their last buffer; index -1: none */
    int nbuffers;
    lfuse__bmem *buffers[LFUSE__MAX_BUFFERS];
    const int *number_index; /* [k.body->nnumbers] in the plan's numbers */
    double numbers[32];
} lfuse__kernel_op;

typedef struct lfuse__gemm_op {
    lfuse__gemm *gemm;
    lfuse__gemm_args args;
    lfuse__start a, b, d, bias, addend; /* of the last two memory.index -1: none */
    int alpha, beta;             /* in the plan's numbers, -1 */
    int workspace;               /* buffer, -1 */
} lfuse__gemm_op;

typedef struct lfuse__list_op lfuse__list_op; /* lists.c */
typedef struct lfuse__bundle_op lfuse__bundle_op; /* bundle.c */
typedef struct lfuse__network_op lfuse__network_op; /* network.c */

struct lfuse__operation_row;
typedef struct lfuse__operation {
    const struct lfuse__operation_row *row; /* what its kind does */
    bool prepare;
    const lfuse__step *step; /* for messages */
    union {
        lfuse__kernel_op *kernel;
        lfuse__gemm_op *gemm;
        lfuse__list_op *lists;
        lfuse__bundle_op *bundle;
        lfuse__network_op *network;
    } as;
} lfuse__operation;

struct lfuse_instance {
    atomic_int references;
    lfuse_plan *plan;     /* one reference, so the next */
    lfuse_stream *stream;
    const lfuse__plan_body *body;
    const lfuse__facts *facts;
    bool watches;         /* its lists are bound again by every run: the instance keeps their records alone */
    int64_t *sizes;       /* [body->graph->nsizes] of variables and expressions; LFUSE__SIZE_NONE: too large */
    lfuse__bound *bound;  /* [nnames] */
    lfuse__slot *kept;    /* [nnames] lists and frozen tensors, one reference each */
    lfuse__slot *slots;   /* [nnames] of the run that is being made */
    lfuse__spot *spots;   /* [nnames] of the same */
    uint64_t *versions;   /* [nnames] of the lists at the last run */
    uint64_t *bound_mark; /* [nnames] of the last call that bound it */
    uint64_t mark;
    double *scalars;      /* [nnames] of the last run */
    double *numbers;      /* [body->nnumbers] */
    bool numbered;        /* `scalars` and `numbers` hold a run's */
    struct lfuse__overlaps *overlaps; /* overlap.c: what the last check found; NULL: no lists */
    lfuse_list *products; /* [body->nlists] lists.c: of the plan's lists that nobody binds, sizes without memory */
    int64_t groups;       /* the most that any of its steps has; 0: no list has any */
    double *group_scalars; /* [groups][nnames] of the last run */
    int64_t *group_counts; /* [nnames] how many numbers a scalar may have but one; 0: no more, -1: any number */

    int noperations, operation_capacity;
    lfuse__operation *operations;
    int nbuffers, buffer_capacity;
    lfuse__instance_buffer *buffers;
    uint64_t scratch_bytes, prepare_bytes; /* `prepare_bytes`: what the operations that prepare need of that */
    lfuse__reports *reports; /* of its kernels' look-ups; NULL: none */
    lfuse__range *lent;   /* the run's scratch, where that is a recording's own and not the stream's */
    lfuse__location scratch; /* that the operations' arguments name */
    bool instantiated;    /* operations fit `bound[].strides` */
    uint64_t generation; /* how often the operations have been released, with their memory */
    bool placed;          /* operations' arguments hold the last run's addresses */
    lfuse__native *native; /* replay.c: the operations of a run as one graph, NULL: none; what follows is about it */
    bool replays;         /* there may be one */
    bool followed, held;  /* `held`: it holds the operations' present arguments; known where `followed` */
    int steady;           /* runs since a product took other arguments than before */
    bool prepared;        /* the prepare operations have been submitted */
    lfuse_status status;  /* not OK: a submit failed half-way; nothing can be run any more */
    lfuse__saved_error error;
};

/* ---- instance.c ---- */
/* As lfuse__instance_create, of an instance that does not keep the memory of its lists: for lfuse__plan_run. */
lfuse_status lfuse__instance_create_kept(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings,
                                         int count, lfuse_instance **instance);
/*
 * lfuse__instance_run in two parts, for lfuse__plan_run: all checks, then the launches. `matched`: in->slots hold the
 * bindings already, which fit.
 */
lfuse_status lfuse__instance_match(lfuse_instance *in, const lfuse_binding *bindings, int count, bool matched);
lfuse_status lfuse__instance_run_matched(lfuse_instance *in);
/* launch.c: of what is matched, what its launches ask for and may not get: kernels for the strides, scratch memory. */
lfuse_status lfuse__instance_reserve(lfuse_instance *in);

/* ---- operations.c ---- */
typedef lfuse_status lfuse__place_function(lfuse_instance *in, lfuse__operation *op, const lfuse__slot *slots);
typedef lfuse_status lfuse__launch_function(lfuse_instance *in, const lfuse__operation *op, lfuse_stream *s);

/* What a kind of operation does; the file that adds operations of the kind has its row. NULL: nothing. */
typedef struct lfuse__operation_row {
    lfuse__place_function *place; /* takes addresses and numbers of this run: nothing is launched yet */
    lfuse__launch_function *launch;
    void (*destroy)(lfuse__operation *op);
    lfuse_status (*prime)(lfuse_instance *in, lfuse__operation *op); /* fills tables for the lists of the instance */
    void (*forget)(lfuse__operation *op); /* what others may have written since the last run */
    bool (*settled)(const lfuse__operation *op); /* whether a run launches what the last one did; NULL: always */
    int launches; /* host time to launch it, in launches of one of the library's kernels; 0: as its step's */
} lfuse__operation_row;

/* Takes all but the first `count` away. */
void lfuse__drop_operations(lfuse_instance *in, int count);
lfuse_status lfuse__add_operation(lfuse_instance *in, const lfuse__step *step, const lfuse__operation_row *row,
                                  lfuse__operation **operation);
/* A buffer of the instance's own. */
lfuse_status lfuse__add_buffer(lfuse_instance *in, lfuse__place place, uint64_t bytes, int *index);
/* Notes that the operation that is being added uses the memory. */
void lfuse__use_memory(lfuse_instance *in, const lfuse__memory *m);
/* Where the memory of an operand is in this run. */
void lfuse__memory_at(const lfuse_instance *in, const lfuse__memory *m, lfuse__location *at);
void lfuse__start_at(const lfuse_instance *in, const lfuse__start *p, lfuse__location *at);
bool lfuse__is_scratch(const lfuse_instance *in, const lfuse__range *r);
/* From now on operands in scratch lie in this range; true when they lay elsewhere. */
bool lfuse__use_scratch(lfuse_instance *in, const lfuse__range *scratch);
/* Operations `first` to `end` - 1 but those that prepare, at the places and with the numbers that `in` has now. */
lfuse_status lfuse__operations_place(lfuse_instance *in, int first, int end);
lfuse_status lfuse__operations_launch(lfuse_instance *in, int first, int end, lfuse_stream *s);

/* ---- sizes.c ---- */
#define LFUSE__SIZE_NONE INT64_MIN
/*
 * Size variables from the shapes that are bound, and from sizes given by name; slots[i] stands for names[i]. Then what
 * is made of them, which may be negative.
 */
lfuse_status lfuse__sizes_solve(const lfuse_plan *plan, const lfuse__slot *slots, const lfuse_binding *bindings,
                                int count, int64_t *sizes);
lfuse_status lfuse__sizes_shape(const lfuse_plan *plan, int name, const int64_t *sizes, int64_t *shape);

/* ---- bind.c ---- */
/*
 * Which binding stands for which name: fills slots[0 ... nnames - 1], empty where nothing is bound. `marks` and `mark`
 * tell bindings of this call from earlier ones.
 */
lfuse_status lfuse__bind_match(const lfuse_plan *plan, const lfuse_binding *bindings, int count, lfuse__slot *slots,
                               uint64_t *marks, uint64_t mark);
/* Kind, type, rank, device of one tensor or list; `shape` NULL: not checked. */
lfuse_status lfuse__bind_check(const lfuse_plan *plan, int name, const lfuse__slot *slot, const int64_t *shape);
lfuse_status lfuse__bind_missing(const lfuse_plan *plan, int name);
/* All slots against what the instance was made for. */
lfuse_status lfuse__bind_check_all(const lfuse_instance *in, const lfuse__slot *slots);
/* Whether the slots have the sizes, lists and frozen tensors of the instance. */
bool lfuse__bind_fits(const lfuse_instance *in, const lfuse__slot *slots, const lfuse_binding *bindings, int count);

/* ---- overlap.c ---- */
lfuse_status lfuse__overlap_create(lfuse_instance *in);
void lfuse__overlap_destroy(lfuse_instance *in);
lfuse_status lfuse__overlap_check(lfuse_instance *in, const lfuse__slot *slots);
/* That many bytes of a stream's scratch, where it is the caller's, against all that is bound. */
lfuse_status lfuse__overlap_scratch(const lfuse_instance *in, const lfuse__slot *slots, const lfuse__range *scratch,
                                    uint64_t bytes);

/* ---- instantiate.c ---- */
/* Steps into operations, for the strides in in->bound; and these away, with their memory. */
lfuse_status lfuse__instantiate(lfuse_instance *in);
void lfuse__clear_operations(lfuse_instance *in);

/* ---- groups.c: numbers by group of members ---- */
/* What the lists that are kept say. ERR_SHAPE where those of one step disagree, or where scalars cannot suit all. */
lfuse_status lfuse__groups_find(lfuse_instance *in);
void lfuse__groups_free(lfuse_instance *in);
/* Whether scalars have as many numbers as there are groups. Of scalars that nobody needs, one is kept. */
lfuse_status lfuse__groups_check(const lfuse_instance *in, lfuse__slot *slots);
/* The list whose groups those of the step are; NULL: none. */
const lfuse_list *lfuse__step_groups(const lfuse_instance *in, const lfuse__step *step);
/* Takes the scalars of a run; true when they are others than those of the last. */
bool lfuse__groups_take(lfuse_instance *in, const lfuse__slot *slots);

/* ---- lists.c ---- */
/* The operation of a step over lists, where there is something to do. */
lfuse_status lfuse__add_lists(lfuse_instance *in, const lfuse__step *step);
/* list_products.c: the sizes of the lists that nobody binds. ERR_SHAPE where two cannot be multiplied. */
lfuse_status lfuse__list_products_size(lfuse_instance *in);
void lfuse__list_products_free(lfuse_instance *in);
/* What steps over lists need for these lists and the plan lacks, compiled together. */
lfuse_status lfuse__lists_compile(lfuse_instance *in);
/* Members of the list that a step or buffer refers to, and what the step's lists must agree on. */
lfuse_status lfuse__lists_check(lfuse_instance *in, const lfuse__slot *slots);
/* Bytes of a buffer that is sized by a list. */
uint64_t lfuse__list_buffer_bytes(const lfuse_instance *in, const lfuse__buffer *b);

/* ---- launch.c ---- */
/* The addresses of a run's tensors, into in->spots; true when they are not those of the last run. */
bool lfuse__locate(lfuse_instance *in, const lfuse__slot *slots);
/* Operations for the strides that are taken, in the place of what there is. */
lfuse_status lfuse__make_operations(lfuse_instance *in);
/* Submits the prepare operations to the instance's stream. */
lfuse_status lfuse__submit_prepare(lfuse_instance *in);
/* Submits the operations of a run, which are placed; *failed: the one that could not be. */
lfuse_status lfuse__submit_operations(lfuse_instance *in, bool prepare, lfuse_stream *s, int *failed);
/* After such a failure: the instance is of no more use, and says why. `operation` -1: all of them. */
lfuse_status lfuse__poison(lfuse_instance *in, int operation, lfuse_status status);
/* Takes the strides of what is bound; true when the operations were made for others. */
bool lfuse__take_strides(lfuse_instance *in, const lfuse__slot *slots);
/* ERR_STATE when the stream is being captured, so that `what` cannot be done now. */
lfuse_status lfuse__not_capturing(lfuse_stream *s, const char *what);

/* ---- replay.c: the operations of a run as one native graph ---- */
/* Of operations that have just been made: whether a graph pays for them. */
void lfuse__replay_consider(lfuse_instance *in);
void lfuse__replay_drop(lfuse_instance *in);
/*
 * Of operations that are placed: true where the run has been submitted, or has failed, as a graph; else it is to be
 * submitted one by one.
 */
bool lfuse__replay_run(lfuse_instance *in, lfuse_stream *s, lfuse_status *status);

#endif
