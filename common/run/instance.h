/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances, of common/run/ alone: a plan with sizes, lists and frozen tensors made into a list of operations. What an
 * operation needs beside addresses and numbers is fixed when the plan is instantiated for the strides of the tensors
 * that are bound (instantiate/); a run with other strides instantiates it anew.
 */
#ifndef COMMON_RUN_INSTANCE_H
#define COMMON_RUN_INSTANCE_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/run/compile/body.h"

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
    bool spotted; /* `spot` and `version` hold a run's */
    lfuse__spot spot;
    uint64_t version; /* of a list at the last run */
    uint64_t mark;    /* of the last call that bound it */
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
    lfuse__start a, b, d, inputs[LFUSE__EPILOGUE_INPUTS]; /* of the last memory.index -1: it is not taken */
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
    lfuse__arena memory;  /* of the arrays that are made with the instance */
    bool watches;         /* its lists are bound again by every run: the instance keeps their records alone */
    int64_t *sizes;       /* [body->graph->nsizes] of variables and expressions; LFUSE__SIZE_NONE: too large */
    lfuse__bound *bound;  /* [nnames] */
    lfuse__slot *kept;    /* [nnames] lists and frozen tensors, one reference each */
    lfuse__slot *slots;   /* [nnames] of the run that is being made */
    lfuse__spot *spots;   /* [nnames] of the same */
    uint64_t mark;        /* of the last call that bound anything */
    double *scalars;      /* [nnames] of the last run */
    double *numbers;      /* [body->nnumbers] */
    bool numbered;        /* `scalars` and `numbers` hold a run's */
    struct lfuse__overlaps *overlaps; /* overlap.c: what the last check found; NULL: no lists */
    lfuse_list *products; /* [body->nlists] lists.c: of the plan's lists that nobody binds, sizes without memory */
    const char **product_names; /* [body->nlists] "(a x b)" */
    int64_t groups;       /* the most that any of its steps has; 0: no list has any */
    double *group_scalars; /* [groups][nnames] of the last run */
    int64_t *group_counts; /* [nnames] how many numbers a scalar may have but one; 0: no more, -1: any number */

    int noperations, nbuffers;
    lfuse__operation *operations;
    lfuse__instance_buffer *buffers;
    size_t operation_capacity, buffer_capacity;
    uint64_t scratch_bytes, prepare_bytes; /* `prepare_bytes`: what the operations that prepare need of that */
    lfuse__reports *reports; /* of its kernels' look-ups; NULL: none */
    lfuse__range *lent;   /* the run's scratch, where that is a recording's own and not the stream's */
    lfuse__location scratch; /* that the operations' arguments name */
    bool instantiated;    /* operations fit `bound[].strides` */
    uint64_t generation; /* how often the operations have been released, with their memory */
    bool args_set;        /* operations' arguments hold the last run's addresses */
    lfuse__native *native; /* replay.c: the operations of a run as one graph, NULL: none; what follows is about it */
    bool replays;         /* there may be one */
    bool followed, held;  /* `held`: it holds the operations' present arguments; known where `followed` */
    int steady;           /* runs since a product took other arguments than before */
    lfuse_status status;  /* not OK: a submit failed half-way; nothing can be run any more */
    lfuse__saved_error error;
};

#endif
