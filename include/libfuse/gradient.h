/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Gradients: reverse-mode differentiation as a function from graph to graph.
 *
 * lfuse_gradient appends values to the graph and has no other effect: there is no tape and no state. Whatever takes
 * values of a graph (outputs, updates, further functions, a further lfuse_gradient) takes gradients.
 *
 * Every function of ops.h, views.h, reduce.h, members.h, norm.h and random.h has a rule, or passes no gradient because
 * its result is of an integer type or bool. At kinks and ties the rules are those of PyTorch:
 *  - a kink has its subgradient of least magnitude: relu, relu6 and abs have 0 at 0, clamp between numbers has 0 at its
 *    bounds;
 *  - min and max give each operand a half where both are equal; clamp does so where a bound is a tensor;
 *  - amax, amin and norms of order inf share the gradient evenly among the elements that attain the result;
 *  - prod and cumprod have exact gradients, and exact gradients of these, wherever factors are 0; where two or more of
 *    them are, derivatives of a higher order than the second lack terms;
 *  - norms have the gradient 0 where the norm is 0; pow(0, 0) has 0 for both operands;
 *  - a cast between floating types counts as the identity, whatever it rounds; floor, ceil, trunc and round have 0;
 *  - where(c, a, b) passes nothing, 0, to the operand that is not chosen. An infinite derivative inside that operand
 *    still makes 0 times infinity, NaN: apply where to its argument as well.
 *
 * Contributions to a value that is used several times are added one after the other, those of the function that was
 * built last first, and those of one function in the order of its operands. Gradients of f16 and bf16 values are
 * computed and added in f32 and rounded once, where they are results. A product of two f16 or bf16 operands rounds the
 * gradient that it is multiplied with to the type of its operands, and sums in f32. A product of e4m3 or e5m2 operands
 * keeps that gradient in f32.
 */
#ifndef LIBFUSE_GRADIENT_H
#define LIBFUSE_GRADIENT_H

#include <libfuse/graph.h>

/** Switches of lfuse_gradients. */
enum {
    LFUSE_GRADIENT_CONNECTED = 1 /**< ERR_INVALID: an element of `wrt` that no output depends on */
};

LFUSE_BEGIN_DECLS

/**
 * Sets gradients[i] to the derivative of sum(seed * y) with respect to wrt[i], for i = 0 ... count - 1.
 *
 *  - `y` is a tensor or list of a floating type.
 *  - `seed` has the type and shape of y, or is a number (a constant, a scalar, a value of rank 0 of y's type), which
 *    stands for itself at every element; lfuse_none(): 1.
 *  - `wrt` are tensors or lists of floating types: inputs, frozen inputs, or any other values of the graph.
 *  - gradients[i] has the type and shape of wrt[i]. It is 0 where y does not depend on wrt[i].
 *  - Values that an lfuse_update stores are no operands: gradients are those of the old contents.
 *
 * A mistake poisons all gradients. ERR_TYPE: y, the seed or an element of wrt has the wrong type. ERR_SHAPE: the seed
 * does not fit. ERR_INVALID: NULL, a negative count, or values of several graphs. ERR_UNSUPPORTED: a function on the
 * way has no rule; the message names it.
 */
LFUSE_API void lfuse_gradient(lfuse_value y, lfuse_value seed, int count, const lfuse_value *wrt,
                              lfuse_value *gradients);
/**
 * The same of the sum of sum(seeds[k] * y[k]) over k = 0 ... outputs - 1, in one walk. `seeds` may be NULL: 1 for every
 * output. `switches` are LFUSE_GRADIENT_... or-ed.
 */
LFUSE_API void lfuse_gradients(int outputs, const lfuse_value *y, const lfuse_value *seeds, unsigned switches,
                               int count, const lfuse_value *wrt, lfuse_value *gradients);

/** The value `a`, through which no gradient flows: a constant for lfuse_gradient. Free when it is run. */
LFUSE_API lfuse_value lfuse_stop(lfuse_value a);
/**
 * The value `a`, with the derivatives of `surrogate`, which has its type and shape: for straight-through
 * estimators and custom derivatives. The surrogate is not computed unless its derivatives need it.
 * ERR_TYPE, ERR_SHAPE: they differ.
 */
LFUSE_API lfuse_value lfuse_surrogate(lfuse_value a, lfuse_value surrogate);
/**
 * The value `a`, marked as a checkpoint: gradients keep it in memory between the forward and the backward pass, and
 * compute anew whatever leads from inputs and earlier checkpoints to it. Values that lead to no checkpoint are kept or
 * computed anew as lfuse(7) says. Less memory for more work; the results are the same.
 */
LFUSE_API lfuse_value lfuse_checkpoint(lfuse_value a);

LFUSE_END_DECLS
#endif
