/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training step in double precision on the host, by code of its own: no gradient of the library's and no graph. Loss
 * and gradients come with a bound on the error that a correct device may make; the step of AdamW follows from them.
 *
 * The bounds are 8 standard deviations of roundings that are independent of each other, as in bench/oracle.h's
 * networks: worst-case bounds would let anything pass after a few layers, and a step goes through all layers twice.
 */
#ifndef BENCH_STEP_TRUTH_H
#define BENCH_STEP_TRUTH_H

#include <stdbool.h>

#include "bench/fixture.h"

/* The step that is verified: its number, and the rule's numbers, PyTorch's defaults. */
#define BENCH_STEP_LR 1e-3
#define BENCH_STEP_DEVIATIONS 8.0
enum { BENCH_STEP_NUMBER = 10, BENCH_STEP_LAYERS = 16 };

/* The gradient of one parameter, of which rows are verified. */
typedef struct bench_gradient {
    int64_t rows, width;
    int64_t *chosen;       /* [rows], of the parameter */
    double *value, *bound; /* [rows][width] */
} bench_gradient;

typedef struct bench_step {
    int count;
    bench_gradient *of;      /* [count], in the order in which the fixture declares the parameters */
    double loss, loss_bound; /* of the output "loss", if the fixture has one */
} bench_step;

/*
 * The variance of a sum's own roundings, in any order: u^2 times the sum of the squares of its partial sums (Higham,
 * Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 2.8 and 4.2). After i of k terms a partial sum is
 * taken to be i / k of `value`, the whole, and a random walk beside it, whose square is i / k of `squares`, the sum of
 * the terms' squares. With the roundings of the terms that makes u^2 (k + 2) (squares + value^2 / 3) at most. The
 * first part is nearly all of it for terms of random signs, the second is up to k / 3 times as large for terms of one
 * sign. A sum may be taken part by part: variance(k, a + b, v) is variance(k, a, 0) + variance(k, b, v).
 */
double bench_sum_variance(int64_t terms, double squares, double value);

/* ERR_MEMORY. `count` gradients, all empty. */
lfuse_status bench_step_create(int count, bench_step **step);
void bench_step_destroy(void *step);
/* Room for a gradient of `all` rows, of which as many are chosen as pays for `work` multiplications a row. */
lfuse_status bench_gradient_create(bench_gradient *g, int64_t all, int64_t width, double work);

/* Layers of linear, bias and relu, widths[l] to widths[l + 1], on `batch` rows of x, and what follows the last. */
typedef enum bench_chain_end {
    BENCH_CHAIN_MSE,     /* relu, and the mean of (y - target)^2 */
    BENCH_CHAIN_CLASSES, /* no relu, and the mean of -log_softmax(y) at `labels` */
    BENCH_CHAIN_SEED     /* no relu, and the gradient of y, `target` */
} bench_chain_end;

typedef struct bench_chain {
    int layers;
    bench_chain_end end;
    int64_t batch, widths[BENCH_STEP_LAYERS + 1];
    const float *x, *target, *w[BENCH_STEP_LAYERS], *b[BENCH_STEP_LAYERS];
    const int64_t *labels;
} bench_chain;

/* Gradients of w0, b0, w1, b1, ... Uses all cores. ERR_MEMORY. */
lfuse_status bench_chain_step(const bench_chain *chain, bench_step **step);

/*
 * A variant's set 0 after one step from the fixture's host data, against f->truth, a bench_step. The fixture's states
 * are those of each parameter in turn: itself, AdamW's first and second moment.
 */
lfuse_status bench_step_verify(fixture *f, bench_variant *v);

#endif
