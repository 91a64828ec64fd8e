/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Softmax and normalisations: compositions of reductions and pointwise functions, which the planner joins with what
 * stands before and after them.
 *
 * They take floating types and give the operand's type and shape. f16 and bf16 are computed in f32 and rounded once, at
 * the end. Axes are named as in reduce.h, with the same errors.
 *
 * A weight or a bias has exactly the shape that is asked for (ERR_SHAPE), and the operand's type or the one that is
 * computed in (ERR_TYPE); lfuse_none() in its place leaves it out. `eps` is rounded to the type that is computed in.
 */
#ifndef LIBFUSE_NORM_H
#define LIBFUSE_NORM_H

#include <libfuse/graph.h>

LFUSE_BEGIN_DECLS

/** In place of an operand that may be left out. */
LFUSE_API lfuse_value lfuse_none(void);

/**
 * exp(a - max(a)) / sum(exp(a - max(a))), the sums over the axes; as torch.nn.functional.softmax. The quotient is a
 * product with the reciprocal. No axis may be empty. A row of -inf alone gives NaN.
 */
LFUSE_API lfuse_value lfuse_softmax(lfuse_value a, int count, const int *axes);
/** a - max(a) - log(sum(exp(a - max(a)))); as torch.nn.functional.log_softmax. No axis may be empty. */
LFUSE_API lfuse_value lfuse_log_softmax(lfuse_value a, int count, const int *axes);

/**
 * (a - mean(a)) / sqrt(var(a) + eps) * weight + bias over the last `count` axes, whose shape weight and bias have; as
 * torch.nn.functional.layer_norm. The variance is that of the elements (no correction), in two passes; the quotient is
 * a product with 1 / sqrt. Arithmetic and roots alone: the same bits on every device that is `exact`.
 */
LFUSE_API lfuse_value lfuse_layernorm(lfuse_value a, int count, lfuse_value weight, lfuse_value bias, double eps);
/** a / sqrt(mean(a^2) + eps) * weight over the last `count` axes; as torch.nn.functional.rms_norm. */
LFUSE_API lfuse_value lfuse_rmsnorm(lfuse_value a, int count, lfuse_value weight, double eps);
/**
 * Of a [batch, channels, rest ...], rank 2 to 7: the channels fall into `groups` equal groups (ERR_SHAPE if they do
 * not), each of which, with the rest, is normalised as by lfuse_layernorm. Weight and bias are [channels]. As
 * torch.nn.functional.group_norm.
 */
LFUSE_API lfuse_value lfuse_groupnorm(lfuse_value a, int groups, lfuse_value weight, lfuse_value bias, double eps);
/** a / max(sqrt(sum(a^2)), eps), the sum over the axes; as torch.nn.functional.normalize. */
LFUSE_API lfuse_value lfuse_l2_normalize(lfuse_value a, int count, const int *axes, double eps);

LFUSE_END_DECLS
#endif
