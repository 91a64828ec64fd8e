/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a plan made into operations of an instance. For common/run/ alone. */
#ifndef COMMON_RUN_INSTANTIATE_INSTANTIATE_H
#define COMMON_RUN_INSTANTIATE_INSTANTIATE_H

#include "common/run/instance.h"
#include "common/run/operations/operations.h"

/* What one instantiation needs and notes. The function that begins it has it on its stack. */
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

/*
 * Functions that add operations return ERR_UNSUPPORTED where a kernel or a library declines: some operations may have
 * been added then, which the caller drops before it tries another alternative.
 */

/* ---- instantiate.c ---- */
/* Makes the operations of all steps, for the strides in in->bound, in place of those that there are. */
lfuse_status lfuse__instantiate(lfuse_instance *in);
/* Destroys all operations, and frees the memory of their buffers. */
void lfuse__clear_operations(lfuse_instance *in);
/*
 * The operations of a step, by its kind (common/plan/families.def), are added by lfuse__instantiate_<word>: by those
 * below, and by these, of a product, of a step over lists, and of a network, which is in no alternative of a stage.
 */
lfuse_status lfuse__instantiate_matmul(lfuse__instantiation *ctx, const lfuse__step *step);
lfuse_status lfuse__instantiate_lists(lfuse__instantiation *ctx, const lfuse__step *step);
lfuse_status lfuse__instantiate_layers(lfuse__instantiation *ctx, const lfuse__step *step);
/* Adds the operations of a step, whatever its kind. ERR_UNSUPPORTED: it declines. */
lfuse_status lfuse__instantiate_step(lfuse__instantiation *ctx, const lfuse__step *step);
/* Adds the operations of an alternative. ERR_UNSUPPORTED: it declines. */
lfuse_status lfuse__instantiate_alternative(lfuse__instantiation *ctx, const lfuse__alternative *a);
/* Adds the operations of `count` stages, each by the first of its alternatives that does not decline. */
lfuse_status lfuse__instantiate_stages(lfuse__instantiation *ctx, const lfuse__stage *stages, int count);
/*
 * Adds the operations of the stages that a network covers: each launch holds as many layers as it can. ERR_UNSUPPORTED:
 * no launch holds two.
 */
lfuse_status lfuse__instantiate_covered(lfuse__instantiation *ctx, const lfuse__stage *stage);

/* ---- pointwise.c: kernels over tensors ---- */
/* How an operand is walked along the axes of a loop; offsets and strides in elements. */
typedef struct lfuse__walk {
    lfuse__memory memory;
    lfuse_type type;
    bool written, gathered; /* `gathered`: one axis is walked by indices that the kernel reads */
    bool element;   /* it has one of the reduced axes, be it one of extent 1: it is read for each element of a row */
    int64_t offset; /* of the loop's first element from the memory's */
    int64_t strides[LFUSE_MAX_RANK];
    int64_t gathered_extent, gathered_stride; /* of the axis that is walked by indices */
} lfuse__walk;
/* Adds the kernel over the step's loop, whatever its family is: sizes, strides and addresses are all that it takes. */
lfuse_status lfuse__instantiate_kernel(lfuse__instantiation *ctx, const lfuse__step *step);
/* Adds a kernel that copies the elements of a loop from `source` to `target`; source NULL: that sets them to 0. */
lfuse_status lfuse__instantiate_copy(lfuse__instantiation *ctx, const lfuse__step *step, int rank,
                                     const int64_t *extents, const lfuse__walk *target, const lfuse__walk *source);
/* The row of kernels' operations. */
extern const lfuse__operation_row lfuse__kernel_operation;
/*
 * Sets the addresses and numbers of a run in the kernel's arguments; op->version grows where any of them has changed.
 */
lfuse_status lfuse__kernel_op_set_args(lfuse_instance *in, lfuse__kernel_op *op);
/* Adds a kernel's operation, whose class and geometry are the caller's to set. */
lfuse_status lfuse__kernel_op_new(lfuse_instance *in, const lfuse__step *step, const lfuse__body *body,
                                  const int *number_index, lfuse__kernel_op **made);
/* Compiles the kernel of such an operation, or, with ctx->compile_later, leaves that to lfuse__operations_compile. */
lfuse_status lfuse__kernel_op_take(const lfuse__instantiation *ctx, lfuse__kernel_op *op);
/*
 * together.c: compiles the kernels that operations lack, at the same time, and sets ctx->compile_later to false.
 * ERR_UNSUPPORTED: a kernel declines; instantiating once more without compile_later tells which.
 */
lfuse_status lfuse__operations_compile(lfuse__instantiation *ctx);
/* Compiles the kernels that operations from number `first` on lack, together. The operations do not take them yet. */
lfuse_status lfuse__operations_want(const lfuse_instance *in, int first);

/* ---- bundle.c: steps whose kernels share launches ---- */
lfuse_status lfuse__instantiate_bundle(lfuse__instantiation *ctx, const lfuse__step *step);

/* ---- network.c: products that follow each other, in one launch ---- */
/* Finds how many layers, from number `first` on, one launch can hold: *count. ERR_UNSUPPORTED: less than two. */
lfuse_status lfuse__network_part(lfuse_instance *in, const lfuse__step *step, int first, int *count);
/* Adds the launch of `count` layers from number `first` on. */
lfuse_status lfuse__instantiate_network(lfuse__instantiation *ctx, const lfuse__step *step, int first, int count);

/* ---- scatter.c: rows that are summed where indices say ---- */
lfuse_status lfuse__instantiate_scatter(lfuse__instantiation *ctx, const lfuse__step *step);

/* ---- gemm.c: products by the vendor's library ---- */
lfuse_status lfuse__instantiate_gemm(lfuse__instantiation *ctx, const lfuse__step *step);

/* ---- product.c: products by the library's own kernels ---- */
lfuse_status lfuse__instantiate_product(lfuse__instantiation *ctx, const lfuse__step *step);
/* Computes extents[LFUSE__PRODUCT_EXTENTS]: m, n, k and the number of products, which is 1 unless it is a batch. */
lfuse_status lfuse__product_extents(const lfuse_instance *in, const lfuse__step *step, int64_t *extents);

/* ---- strassen.c: the kernels between the small products of Strassen's algorithm ---- */
lfuse_status lfuse__instantiate_strassen(lfuse__instantiation *ctx, const lfuse__step *step);

#endif
