/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Losses: compositions of reductions and pointwise functions, which the planner joins with what stands before and after
 * them. Definitions and conventions are those of torch.nn.functional, where it has the function.
 *
 * The first operand is a tensor of a floating type. f16 and bf16 are computed in f32, and the loss is f32, as under
 * PyTorch's autocast; of f32 and f64 it has the operand's type. Other floating operands have the type of the first one
 * or the one that is computed in (ERR_TYPE), and exactly the shape that is asked for (ERR_SHAPE). Lists are declined
 * with ERR_RANK.
 *
 * `reduction` says what becomes of the losses of the elements (of the rows, where a row has one loss):
 *
 *     LFUSE_LOSS_MEAN       their mean, a tensor of rank 0; of nothing NaN
 *     LFUSE_LOSS_SUM        their sum, a tensor of rank 0
 *     LFUSE_LOSS_NONE       they are the result
 *     LFUSE_LOSS_BATCHMEAN  their sum over the extent of axis 0; lfuse_kl_div alone
 *
 * ERR_INVALID: any other. lfuse_gradient takes all of them, for targets and weights too. NaN in an operand makes the
 * losses that depend on it NaN, and their mean and sum.
 */
#ifndef LIBFUSE_LOSS_H
#define LIBFUSE_LOSS_H

#include <libfuse/graph.h>
#include <libfuse/norm.h>

typedef enum lfuse_loss_reduction {
    LFUSE_LOSS_MEAN = 0,
    LFUSE_LOSS_SUM = 1,
    LFUSE_LOSS_NONE = 2,
    LFUSE_LOSS_BATCHMEAN = 3
} lfuse_loss_reduction;

/** What PyTorch takes as the index of rows that do not count, unless told otherwise. */
#define LFUSE_IGNORED_INDEX (-100)
/** No index is ignored: all rows count, and the number of them is known before they are read. */
#define LFUSE_NO_IGNORED_INDEX INT32_MIN

LFUSE_BEGIN_DECLS

/** (a - target)^2; as mse_loss. The target has the shape of a; so in the next three. */
LFUSE_API lfuse_value lfuse_mse_loss(lfuse_value a, lfuse_value target, lfuse_loss_reduction reduction);
/** |a - target|; as l1_loss. */
LFUSE_API lfuse_value lfuse_l1_loss(lfuse_value a, lfuse_value target, lfuse_loss_reduction reduction);
/**
 * With d = |a - target|: d^2 / 2 up to delta, delta (d - delta / 2) above; as huber_loss. It is computed as
 * m (d - m / 2), m = min(d, delta). ERR_INVALID: delta is not above 0.
 */
LFUSE_API lfuse_value lfuse_huber_loss(lfuse_value a, lfuse_value target, double delta,
                                       lfuse_loss_reduction reduction);
/**
 * The same over beta: d^2 / (2 beta) up to beta, d - beta / 2 above; as smooth_l1_loss. A beta of 0 gives |a - target|.
 * ERR_INVALID: beta is below 0 or not finite.
 */
LFUSE_API lfuse_value lfuse_smooth_l1_loss(lfuse_value a, lfuse_value target, double beta,
                                           lfuse_loss_reduction reduction);

/**
 * Cross entropy of logits with the index of a class: -log(softmax(logits)[target]) along an axis, whose elements are
 * the classes; as cross_entropy (which has the classes along axis 1). A row is all that has one index.
 *
 *  - `target`: i32 or i64, in the shape of the logits without the axis.
 *  - `weight`: a factor for each class, [classes]; lfuse_none(): 1.
 *  - `ignored`: rows with this index have the loss 0 and do not count (LFUSE_IGNORED_INDEX, or any other number;
 *    LFUSE_NO_IGNORED_INDEX: none).
 *  - `smoothing`, 0 ... 1: the target's probability is 1 - smoothing, and smoothing / classes more for each class.
 *    ERR_INVALID: it is outside 0 ... 1.
 *
 * The mean is the sum over the number of rows that count, or, with weights, over the sum of their targets' weights; it
 * is NaN where none counts. Any other index outside 0 ... classes - 1 makes the loss of its row NaN, and so the
 * mean and the sum; no element is read by such an index. The row's gradient is 0.
 *
 * Computed as log(sum(exp(z))) - z[target] of z = logits - max(logits). The target's element is chosen by comparing
 * indices, so nothing of the size of the logits is stored, and the gradient is (softmax(logits) - onehot(target)) times
 * what the row has of the result's. One kernel computes the losses of rows and the gradient, and a small one behind it
 * their sum; where there is an ignored index, the mean needs a small one in front, which counts.
 */
LFUSE_API lfuse_value lfuse_cross_entropy(lfuse_value logits, int axis, lfuse_value target, lfuse_value weight,
                                          int ignored, double smoothing, lfuse_loss_reduction reduction);
/**
 * The same with a probability for each class, in the shape of the logits: -sum(target weight log(softmax(logits))), the
 * target being (1 - smoothing) of what is given and smoothing / classes. Probabilities need not add up to 1. The mean
 * is over all rows, whatever the weights.
 */
LFUSE_API lfuse_value lfuse_cross_entropy_probabilities(lfuse_value logits, int axis, lfuse_value target,
                                                        lfuse_value weight, double smoothing,
                                                        lfuse_loss_reduction reduction);

/**
 * Binary cross entropy of logits, by element: -(positive target log(sigmoid(a)) + (1 - target) log(1 - sigmoid(a))); as
 * binary_cross_entropy_with_logits with pos_weight = `positive`, which is a number or a value that repeats over the
 * target's shape, or lfuse_none(): 1. The target has the shape of a. Computed of softplus, without cancellation:
 * positive target softplus(-a) + (1 - target) softplus(a).
 */
LFUSE_API lfuse_value lfuse_binary_cross_entropy_with_logits(lfuse_value a, lfuse_value target, lfuse_value positive,
                                                             lfuse_loss_reduction reduction);

/**
 * Kullback-Leibler divergence by element: target (log(target) - a), 0 where the target is 0 and a finite; as kl_div. a
 * holds logarithms of probabilities, the target probabilities or, where log_target is not 0, their logarithms:
 * exp(target) (target - a). The target has the shape of a. LFUSE_LOSS_BATCHMEAN, which the definition asks for, needs a
 * rank of 1 at least (ERR_RANK).
 */
LFUSE_API lfuse_value lfuse_kl_div(lfuse_value a, lfuse_value target, int log_target, lfuse_loss_reduction reduction);

LFUSE_END_DECLS
#endif
