/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances: a plan with sizes, lists and frozen tensors made into a list of operations. What an operation needs but
 * addresses and numbers is fixed when the plan is instantiated for the strides of the tensors that are bound
 * (instantiate/); a run with other strides instantiates it anew. For common/run/ alone.
 */
#ifndef COMMON_RUN_INSTANCE_H
#define COMMON_RUN_INSTANCE_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/run/compile/body.h"

/* The memory of an operand. */
typedef struct lfuse__memory {
    lfuse__place place;
    int index; /* BOUND: the name; SCRATCH, PREPARED: the buffer, the plan's first, then those that the instance adds */
} lfuse__memory;

/* The same from byte `first` on; where it is LFUSE__PLACE_INDEX, from that index on. */
typedef struct lfuse__start {
    lfuse__memory memory;
    uint64_t first;
} lfuse__start;

/* Where that is in one run. */
typedef struct lfuse__location {
    lfuse__bmem *mem;
    uint64_t offset;  /* of the first element, from the start of mem */
    uint64_t address; /* of the same on the device, or congruent to it for alignment */
} lfuse__location;

/* Memory between operations. */
typedef struct lfuse__instance_buffer {
    lfuse__place place;     /* SCRATCH: while a run needs it; PREPARED: as long as the instance has its operations */
    uint64_t bytes, offset; /* `offset` in the scratch */
    int first, last;        /* the operations that use it are numbers `first` to `last`; last < first: none */
    lfuse__range *prepared; /* PREPARED: its memory */
    bool tickets;           /* PREPARED: counters of products whose parts meet, which are 0 between runs */
} lfuse__instance_buffer;

/* Where the tensor of a name is. */
typedef struct lfuse__spot {
    lfuse__bmem *mem;
    uint64_t offset;         /* of the first element from the start of mem, bytes */
    uint64_t address;        /* of the first element */
    uint64_t space, low, high; /* the bytes [low, high) of an address space that the elements touch */
} lfuse__spot;

/* What a name of the plan has to be bound to, and what the last run has bound it to. */
typedef struct lfuse__bound {
    int64_t shape[LFUSE_MAX_RANK];   /* that a tensor must have */
    int64_t strides[LFUSE_MAX_RANK]; /* that the operations were made for */
    bool tensor, list, written; /* none of the first two: a scalar. `written`: by operations */
    bool plain;   /* contiguous: `strides` are those of the shape */
    bool spotted; /* `spot` and `version` hold a run's */
    lfuse__spot spot;
    uint64_t version; /* of a list at the last run */
    uint64_t mark;    /* of the last call that bound it */
} lfuse__bound;

/* The launch of a kernel over tensors, or of one of a product's phases. */
typedef struct lfuse__kernel_op {
    lfuse__kernel_class k;
    lfuse__geometry g;
    lfuse__packed packed;    /* the arguments of the launch, made of the class and the geometry */
    bool is_packed;
    uint64_t version;        /* grows when `packed` changes */
    unsigned local_bytes;    /* dynamic local memory of the launch */
    lfuse__kernel *kernel;
    lfuse__start starts[LFUSE__MAX_OPERANDS]; /* [k.noperands] */
    lfuse__memory partials;  /* what several kernels pass on, their last buffer; index -1: nothing */
    int nbuffers;
    lfuse__bmem *buffers[LFUSE__MAX_BUFFERS]; /* [nbuffers] */
    const int *number_index; /* [k.body->nnumbers] which of the instance's numbers the body takes */
    double numbers[32];      /* these, in the last run */
} lfuse__kernel_op;

/* A product by the vendor's library. */
typedef struct lfuse__gemm_op {
    lfuse__gemm *gemm;
    lfuse__gemm_args args;
    lfuse__start a, b, d, inputs[LFUSE__EPILOGUE_INPUTS]; /* of an input memory.index may be -1: it is not taken */
    int alpha, beta;             /* which of the instance's numbers; -1: the constant that `args` has */
    int workspace;               /* its buffer; -1: there is none */
} lfuse__gemm_op;

typedef struct lfuse__list_op lfuse__list_op; /* lists.c */
typedef struct lfuse__bundle_op lfuse__bundle_op; /* bundle.c */
typedef struct lfuse__network_op lfuse__network_op; /* network.c */

struct lfuse__operation_row;
typedef struct lfuse__operation {
    const struct lfuse__operation_row *row; /* what its kind does */
    bool prepare;            /* it is submitted when the instance is made or refreshed, not by runs */
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
    lfuse__arena memory;  /* of the arrays that are made with the instance */
    bool watches;         /* its lists are bound again by every run: it watches them, and does not hold their memory */
    int64_t *sizes;       /* [body->graph->nsizes] of variables and expressions; LFUSE__SIZE_NONE: too large */
    lfuse__bound *bound;  /* [nnames] of the plan */
    lfuse__slot *kept;    /* [nnames] lists and frozen tensors, one reference each; else empty */
    lfuse__slot *slots;   /* [nnames] of the run that is being made */
    lfuse__spot *spots;   /* [nnames] where its tensors are */
    uint64_t mark;        /* of the last call that bound anything */
    double *scalars;      /* [nnames] of the last run */
    double *numbers;      /* [body->nnumbers] that bodies take, computed of these */
    bool numbered;        /* `scalars` and `numbers` are those of a run */
    struct lfuse__overlaps *overlaps; /* overlap.c: what the last check found; NULL: no lists */
    lfuse_list *products; /* [body->nlists] lists.c: of the plan's lists that nobody binds, sizes without memory */
    const char **product_names; /* [body->nlists] "(a x b)" */
    int64_t groups;       /* the most that any of its steps has; 0: no list has any */
    double *group_scalars; /* [groups][nnames] of the last run */
    int64_t *group_counts; /* [nnames] numbers that a scalar may have in place of one; 0: one alone, -1: any count */

    int noperations, nbuffers;
    lfuse__operation *operations;
    lfuse__instance_buffer *buffers;
    size_t operation_capacity, buffer_capacity;
    uint64_t scratch_bytes, prepare_bytes; /* scratch that runs need, and that the operations that prepare need */
    lfuse__reports *reports; /* where kernels report indices that are out of range; NULL: none looks up anything */
    lfuse__range *lent;   /* the run's scratch, where that is a recording's own and not the stream's; else NULL */
    lfuse__location scratch; /* that the operations' arguments name */
    bool instantiated;    /* the operations are for `bound[].strides` */
    uint64_t generation;  /* how often operations were destroyed, with memory that a native graph may name */
    bool args_set;        /* the operations' arguments are those of the last run */
    /* replay.c: the operations of a run as one native graph. */
    lfuse__native *native; /* NULL: there is none */
    bool replays;         /* there may be one */
    bool followed, held;  /* `held`: it holds the operations' present arguments; known where `followed` */
    int steady;           /* runs since a product took other arguments than before */
    lfuse_status status;  /* not OK: a launch failed half-way, and nothing can be run any more */
    lfuse__saved_error error; /* the message of `status` */
};

#endif
