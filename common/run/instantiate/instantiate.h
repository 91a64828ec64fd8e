/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a plan made into operations of an instance. For common/run/ alone. */
#ifndef COMMON_RUN_INSTANTIATE_INSTANTIATE_H
#define COMMON_RUN_INSTANTIATE_INSTANTIATE_H

#include "common/run/instance.h"
#include "common/run/operations/operations.h"

/* The context of one instantiation. The function that begins it keeps it on its stack. */
typedef struct lfuse__instantiation {
    lfuse_instance *in;
    bool low_memory;       /* products take algorithms without workspace, as the device has no memory for one */
    bool compile_later;    /* operations get their kernels when all of them have been added */
    bool may_share_launch; /* the steps are children of a bundle: the bundle compiles their kernels, perhaps as one */
    bool has_next;         /* another alternative follows, so that this one may decline */
    const struct lfuse__matmul_candidate *candidate; /* of a native product; NULL: the cost model chooses */
    int first;             /* of a candidate that is measured: the number of its first operation; else 0 */
    int preceding;         /* of the same: the number of operations that run before it; else 0 */
    bool uses_workspace;   /* set where an operation has a workspace */
} lfuse__instantiation;

/* ---- instantiate.c ---- */
/* Makes the operations of all steps, for the strides in in->bound. */
lfuse_status lfuse__instantiate(lfuse_instance *in);
/* Destroys them, and frees their memory. */
void lfuse__clear_operations(lfuse_instance *in);
/*
 * The operations of a step, by its kind (common/plan/families.def), are added by lfuse__instantiate_<word>: the ones
 * below, and those of a product, of a step over lists, and of a network, which is in no alternative of a stage.
 */
lfuse_status lfuse__instantiate_matmul(lfuse__instantiation *ctx, const lfuse__step *step);
lfuse_status lfuse__instantiate_lists(lfuse__instantiation *ctx, const lfuse__step *step);
lfuse_status lfuse__instantiate_layers(lfuse__instantiation *ctx, const lfuse__step *step);
/* Adds the operations of an alternative. ERR_UNSUPPORTED: it declines, and some of them may have been added. */
lfuse_status lfuse__instantiate_alternative(lfuse__instantiation *ctx, const lfuse__alternative *a);
/* Adds the operations of `count` stages, each by the first of its alternatives that does not decline. */
lfuse_status lfuse__instantiate_stages(lfuse__instantiation *ctx, const lfuse__stage *stages, int count);
/*
 * Adds the operations of the stages that a network covers: each launch holds as many layers as it can. ERR_UNSUPPORTED:
 * no launch holds two.
 */
lfuse_status lfuse__instantiate_covered(lfuse__instantiation *ctx, const lfuse__stage *stage);

/* ---- pointwise.c: kernels over tensors ---- */
typedef struct lfuse__walk { /* an operand along the loop axes; all in elements */
    lfuse__memory memory;
    lfuse_type type;
    bool written, gathered;
    bool element;   /* it walks a reduced axis, be it one of extent 1 */
    int64_t offset; /* of the loop's first element from the memory's */
    int64_t strides[LFUSE_MAX_RANK];
    int64_t gathered_extent, gathered_stride;
} lfuse__walk;
/* One kernel over the step's loop, whatever its family is: sizes, strides and addresses are all that it takes. */
lfuse_status lfuse__instantiate_kernel(lfuse__instantiation *ctx, const lfuse__step *step);
/* Adds an operation that copies elements to the target, or, where source is NULL, sets them to 0. */
lfuse_status lfuse__instantiate_copy(lfuse__instantiation *ctx, const lfuse__step *step, int rank,
                                     const int64_t *extents, const lfuse__walk *target, const lfuse__walk *source);
extern const lfuse__operation_row lfuse__kernel_operation;
/* Sets the addresses and numbers of this run in the kernel's arguments. */
lfuse_status lfuse__kernel_op_set_args(lfuse_instance *in, lfuse__kernel_op *op);
/* Adds an operation, whose class and geometry the caller then sets. */
lfuse_status lfuse__kernel_op_new(lfuse_instance *in, const lfuse__step *step, const lfuse__body *body,
                                  const int *number_index, lfuse__kernel_op **made);
/* Compiles the kernel of such an operation, or leaves that to lfuse__operations_compile (ctx->compile_later). */
lfuse_status lfuse__kernel_op_take(const lfuse__instantiation *ctx, lfuse__kernel_op *op);
/*
 * together.c: compiles the kernels that operations lack, at the same time, and sets ctx->compile_later to false.
 * ERR_UNSUPPORTED: a kernel declines; instantiating once more without compile_later tells which.
 */
lfuse_status lfuse__operations_compile(lfuse__instantiation *ctx);
/* Compiles, as a hint, the kernels that operations from number `first` on lack; those do not take them yet. */
lfuse_status lfuse__operations_want(const lfuse_instance *in, int first);

/* ---- bundle.c ---- */
lfuse_status lfuse__instantiate_bundle(lfuse__instantiation *ctx, const lfuse__step *step);

/* ---- network.c: products that follow each other, in one launch ---- */
/* Sets *count to the number of layers, from `first` on, that one launch holds. ERR_UNSUPPORTED: it is less than two. */
lfuse_status lfuse__network_part(lfuse_instance *in, const lfuse__step *step, int first, int *count);
lfuse_status lfuse__instantiate_network(lfuse__instantiation *ctx, const lfuse__step *step, int first, int count);

/* ---- scatter.c ---- */
lfuse_status lfuse__instantiate_scatter(lfuse__instantiation *ctx, const lfuse__step *step);

/* ---- gemm.c ---- */
/* ERR_UNSUPPORTED where the provider declines: the next alternative is tried then. */
lfuse_status lfuse__instantiate_gemm(lfuse__instantiation *ctx, const lfuse__step *step);

/* ---- product.c ---- */
/* ERR_UNSUPPORTED where the library's own kernels decline. */
lfuse_status lfuse__instantiate_product(lfuse__instantiation *ctx, const lfuse__step *step);
/* Sets m, n, k and the number of products, 1 unless it is a batch, as the geometry of kernels has them. */
lfuse_status lfuse__product_extents(const lfuse_instance *in, const lfuse__step *step, int64_t *extents);

/* ---- strassen.c ---- */
lfuse_status lfuse__instantiate_strassen(lfuse__instantiation *ctx, const lfuse__step *step);

#endif
