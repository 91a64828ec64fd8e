/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reductions over any axes of a tensor, and scans along one.
 *
 * `axes` names `count` axes, each once, negative ones counted from the end; LFUSE_ALL_AXES as the count means all of
 * them (`axes` is not read then), 0 none. With keepdims reduced axes stay, with the extent 1; else they go. The order
 * in which elements are put together is fixed (the canonical sum of lfuse(7), over the reduced axes in row-major
 * order), so the bits are the same on every device that is `exact`, whatever the planner does.
 *
 * f16 and bf16 are computed in f32 and rounded once, at the end. ERR_RANK: too many axes, or a list, whose members are
 * flat (see libfuse/members.h); ERR_SHAPE: an axis that is not there or is named twice; ERR_TYPE: a type that the
 * function does not take. What has no identity needs elements: ERR_SHAPE when the graph is made if an extent is a
 * literal 0, when it is run if a size variable is.
 */
#ifndef LIBFUSE_REDUCE_H
#define LIBFUSE_REDUCE_H

#include <libfuse/graph.h>

LFUSE_BEGIN_DECLS

/**
 * Sum and product; those of nothing are 0 and 1. Floating types give their own type. Integers and bool (0 and 1) give
 * i64, and wrap.
 */
LFUSE_API lfuse_value lfuse_sum(lfuse_value a, int count, const int *axes, int keepdims);
LFUSE_API lfuse_value lfuse_prod(lfuse_value a, int count, const int *axes, int keepdims);
/** As lfuse_sum, NaN counting as 0; as torch.nansum. */
LFUSE_API lfuse_value lfuse_nansum(lfuse_value a, int count, const int *axes, int keepdims);

/** Largest and smallest by the rules of lfuse_max and lfuse_min: NaN wins. All types but bool; needs elements. */
LFUSE_API lfuse_value lfuse_amax(lfuse_value a, int count, const int *axes, int keepdims);
LFUSE_API lfuse_value lfuse_amin(lfuse_value a, int count, const int *axes, int keepdims);
/**
 * i64: where the largest or smallest is, the first of equal ones, a NaN being larger (smaller) than everything. Over
 * one axis, or over all, then by row-major index; of a tensor of rank 0 it is 0. All types but bool; needs elements.
 */
LFUSE_API lfuse_value lfuse_argmax(lfuse_value a, int count, const int *axes, int keepdims);
LFUSE_API lfuse_value lfuse_argmin(lfuse_value a, int count, const int *axes, int keepdims);

/** bool: whether any element, or every one, is not 0 (NaN is not). Of nothing: false and true. Every type. */
LFUSE_API lfuse_value lfuse_any(lfuse_value a, int count, const int *axes, int keepdims);
LFUSE_API lfuse_value lfuse_all(lfuse_value a, int count, const int *axes, int keepdims);
/** i64: how many elements are not 0 (NaN is not). Every type; as torch.count_nonzero. */
LFUSE_API lfuse_value lfuse_count_nonzero(lfuse_value a, int count, const int *axes, int keepdims);

/* The rest takes floating types. */

/** The sum divided by the number of elements; of nothing NaN. */
LFUSE_API lfuse_value lfuse_mean(lfuse_value a, int count, const int *axes, int keepdims);
/**
 * sum((a - mean(a))^2) / max(n - correction, 0) for n elements, in two passes; as torch.var. A correction of 0 gives
 * the variance of the elements, of 1 the unbiased estimate.
 */
LFUSE_API lfuse_value lfuse_var(lfuse_value a, int count, const int *axes, double correction, int keepdims);

/** sum |a|, sqrt(sum a^2) and max |a|; the last needs elements. As torch.linalg.vector_norm with ord 1, 2 and inf. */
LFUSE_API lfuse_value lfuse_norm_l1(lfuse_value a, int count, const int *axes, int keepdims);
LFUSE_API lfuse_value lfuse_norm_l2(lfuse_value a, int count, const int *axes, int keepdims);
LFUSE_API lfuse_value lfuse_norm_inf(lfuse_value a, int count, const int *axes, int keepdims);
/**
 * The vector norm of any order, as torch.linalg.vector_norm. The order is part of the graph.
 *
 *     1, 2, INFINITY   as the three above, with their bits
 *     -INFINITY        the smallest |a|; needs elements
 *     0                how many elements are not 0
 *     any other        (sum |a|^order)^(1 / order), by lfuse_pow; of a negative order, of nothing or with a zero: 0 or
 *                      infinite as the powers are
 *
 * Powers and squares are not scaled: they overflow and underflow where |a|^order does. ERR_INVALID: NaN.
 */
LFUSE_API lfuse_value lfuse_norm(lfuse_value a, int count, const int *axes, double order, int keepdims);

/** log(sum(exp(a))), the maximum being taken out first (unless it is infinite); as torch.logsumexp. Needs elements. */
LFUSE_API lfuse_value lfuse_logsumexp(lfuse_value a, int count, const int *axes, int keepdims);

/*
 * Scans along one axis: element i of the result is what elements 0 ... i of the operand give together. The shape stays;
 * an empty axis is fine.
 *
 * The order is fixed, so that the bits are the same on every device that is `exact` (but for logcumsumexp, whose
 * functions may differ) and for every length: quads of 4 elements are put together one after the other; of the 32 quads
 * of a block of 128, the 32 blocks of a chunk of 4096 and all chunks those before a quad are put together as
 *
 *     ((chunks . blocks) . quads) . element
 *
 * where chunks are put together one after the other, from the first, and blocks, as quads, in aligned groups of 16, 8,
 * 4, 2 and 1 as the binary number of those before says: 7 blocks as 4 . (2 . 1), each group in halves.
 */

/** Running sum and product. Floating types give their own type, integers and bool (0 and 1) i64, and wrap. */
LFUSE_API lfuse_value lfuse_cumsum(lfuse_value a, int axis);
LFUSE_API lfuse_value lfuse_cumprod(lfuse_value a, int axis);
/** Largest and smallest so far, by the rules of lfuse_max and lfuse_min: behind a NaN all are NaN. Not of bool. */
LFUSE_API lfuse_value lfuse_cummax(lfuse_value a, int axis);
LFUSE_API lfuse_value lfuse_cummin(lfuse_value a, int axis);
/** log of the running sum of exp(a), put together by lfuse_logaddexp; as torch.logcumsumexp. Floating types. */
LFUSE_API lfuse_value lfuse_logcumsumexp(lfuse_value a, int axis);

LFUSE_END_DECLS
#endif
