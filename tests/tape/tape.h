/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Wengert list: a graph written out as scalar functions of single elements, one entry each, in long double and
 * without any rounding between them. Walked backwards it gives gradients, forwards derivatives along a direction. It is
 * what lfuse_gradient is judged by, so it shares no code with its rules:
 *  - views, joins, look-ups and casts between floating types make no entries: their elements are those of the operand;
 *  - every other function has its partial derivatives here (partials.c), from mathematics, with PyTorch's choices at
 *    kinks and ties;
 *  - functions that have a rule of their own in the library (softmax, layernorm) are taken apart.
 */
#ifndef TESTS_TAPE_TAPE_H
#define TESTS_TAPE_TAPE_H

#include "bench/oracle.h"

typedef struct tape tape;

/*
 * Writes the whole graph out over these inputs. The values `wrt` get entries that nothing else has, so that their
 * derivatives are those along the paths through them alone. A mistake of the caller ends the process.
 */
tape *tape_record(const lfuse_graph *g, const lfuse__oracle_input *inputs, int ninputs, int nwrt,
                  const lfuse_value *wrt);
void tape_free(tape *t);

/* Elements of a value; of a list those of all members, one after the other. */
int64_t tape_count(const tape *t, lfuse_value v);
long double tape_value(const tape *t, lfuse_value v, int64_t i);

/* Whether all elements of the first `nodes` nodes are finite. */
bool tape_is_finite(const tape *t, int32_t nodes);

/* Derivatives of the sum of seeds[k][i] times element i of y[k], for all values at once. */
void tape_reverse(tape *t, int outputs, const lfuse_value *y, const long double *const *seeds);
/* What the last tape_reverse found for element i of a value of `wrt`. */
long double tape_derivative(const tape *t, lfuse_value wrt, int64_t i);

/* Two numbers that are equal, but for rounding, and a bound on what that makes. */
typedef struct tape_pair {
    long double left, right, tolerance;
} tape_pair;

/*
 * <u, J v>, where J v are the derivatives of y along a direction v of `wrt`, found by a walk forwards, and <d, v>,
 * where d are the gradients that the seeds u[k] of y[k] give. These should be J^T u, and then both are equal. The
 * direction is drawn by lot, number `draw`: elements between -1/2 and 1/2.
 */
tape_pair tape_duality(const tape *t, int outputs, const lfuse_value *y, const lfuse_value *u, int nwrt,
                       const lfuse_value *wrt, const lfuse__oracle_result *const *d, uint64_t draw);

#endif
