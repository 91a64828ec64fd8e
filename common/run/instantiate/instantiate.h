/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a plan made into operations of an instance. For common/run/ alone. */
#ifndef COMMON_RUN_INSTANTIATE_INSTANTIATE_H
#define COMMON_RUN_INSTANTIATE_INSTANTIATE_H

#include "common/run/instance.h"
#include "common/run/operations/operations.h"

/* What holds while operations are made and is forgotten afterwards: whoever begins keeps it on the stack. */
typedef struct lfuse__instantiation {
    lfuse_instance *in;
    bool lean;             /* products are to do without workspace, or with the least: the device had no memory */
    bool compile_later;    /* kernels that operations lack are compiled when all operations are there */
    bool may_share_launch; /* kernels have none of their own yet: they are a bundle's, and may share a launch */
    bool has_next;         /* the alternative has another one behind it, for which it may decline */
    const struct lfuse__product_tiling *tiling; /* of the library's own product; NULL: the estimate's */
    int first, behind;     /* of a candidate: its operations begin with number `first`, and run behind so many; of
                              anything else 0 */
    bool uses_workspace;   /* the answer: some product has one */
} lfuse__instantiation;

/* ---- instantiate.c ---- */
/* Steps into operations, for the strides in in->bound; and these away, with their memory. */
lfuse_status lfuse__instantiate(lfuse_instance *in);
void lfuse__clear_operations(lfuse_instance *in);
/* Adds the operations of an alternative. ERR_UNSUPPORTED: it declines; some of them may be there. */
lfuse_status lfuse__instantiate_alternative(lfuse__instantiation *ctx, const lfuse__alternative *a);
/* So many stages, each in the best way that there is for it. */
lfuse_status lfuse__instantiate_stages(lfuse__instantiation *ctx, const lfuse__stage *stages, int count);
/* The stages that a network covers, as many of its layers at a time as share a launch; ERR_UNSUPPORTED: no two do. */
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
lfuse_status lfuse__instantiate_kernel(lfuse__instantiation *ctx, const lfuse__step *step);
/* Copies (source not NULL) or zeroes elements: an operation of its own. */
lfuse_status lfuse__instantiate_copy(lfuse__instantiation *ctx, const lfuse__step *step, int rank,
                                     const int64_t *extents, const lfuse__walk *target, const lfuse__walk *source);
extern const lfuse__operation_row lfuse__kernel_operation;
/* Puts this run's addresses and numbers into the arguments. */
lfuse_status lfuse__kernel_op_place(lfuse_instance *in, lfuse__kernel_op *op);
/* An operation whose class and geometry the caller completes. */
lfuse_status lfuse__kernel_op_new(lfuse_instance *in, const lfuse__step *step, const lfuse__body *body,
                                  const int *number_index, lfuse__kernel_op **made);
/* The kernel of an operation that is complete: now, or, where ctx->compile_later, for lfuse__operations_compile. */
lfuse_status lfuse__kernel_op_take(const lfuse__instantiation *ctx, lfuse__kernel_op *op);
/*
 * together.c: what the operations lack, compiled side by side. Afterwards ctx->compile_later is false.
 * ERR_UNSUPPORTED: some operation should have declined, which one is told where each has its kernel at once.
 */
lfuse_status lfuse__operations_compile(lfuse__instantiation *ctx);
/* Compiles them for those from `first` on, which lack them still. */
lfuse_status lfuse__operations_want(const lfuse_instance *in, int first);

/* ---- bundle.c ---- */
lfuse_status lfuse__instantiate_bundle(lfuse__instantiation *ctx, const lfuse__step *step);

/* ---- network.c: products that follow each other, in one launch ---- */
/* How many of its layers, from number `first` on, a launch holds; ERR_UNSUPPORTED: by sizes or strides not even two. */
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
/* Of a product as its kernels' geometry has them: m, n, k, and how many products, 1 but of a batch. */
lfuse_status lfuse__product_extents(const lfuse_instance *in, const lfuse__step *step, int64_t *extents);

/* ---- strassen.c ---- */
lfuse_status lfuse__instantiate_strassen(lfuse__instantiation *ctx, const lfuse__step *step);

#endif
