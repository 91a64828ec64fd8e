/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clicks that a known model made: a factorization machine (Rendle, ICDM 2010) over three categorical features. The
 * logit of a row is
 *
 *     bias + sum over features f of weight[f][i_f] + sum over pairs f < h of <embedding[f][i_f], embedding[h][i_h]>
 *
 * All numbers are functions of their place, so that everybody has the same rows.
 */
#ifndef EXAMPLES_RECOMMEND_CLICKS_H
#define EXAMPLES_RECOMMEND_CLICKS_H

#include <stdint.h>

enum { FEATURES = 3, HIGHEST = 64, WIDTH = 4, TRAIN_ROWS = 65536, HELD_ROWS = 16384 };

/* How many values each feature has: users, items, hours. */
extern const int64_t heights[FEATURES];

/* The parameters. Of feature f the first heights[f] rows count. */
typedef struct machine {
    float bias, weight[FEATURES][HIGHEST], embedding[FEATURES][HIGHEST][WIDTH];
} machine;

typedef struct clicks {
    machine truth;
    int32_t train[FEATURES][TRAIN_ROWS], held[FEATURES][HELD_ROWS];
    float clicked[TRAIN_ROWS];    /* 1 or 0: one trial with the true probability */
    float probability[HELD_ROWS]; /* the true one */
} clicks;

/* The number of parameters. */
int machine_parameters(void);
/* A small first value that differs from row to row: embeddings of equal rows would stay equal. */
void machine_start(machine *m);
void clicks_make(clicks *c);
/* The expected loss of a model on the held-out rows, in double. No model has a lower one than the true model. */
double expected_loss(const clicks *c, const machine *m);
/* The same of the best model that knows no feature, only how often there is a click. */
double loss_of_mean(const clicks *c);
/*
 * How much more than the least a model may have that was fitted to the training rows. Twice the number of rows times
 * the excess of the best fit is, for many rows, distributed as chi squared (Wilks, 1938). Its degrees of freedom are
 * the parameters, less those that others can stand in for (embeddings can be rotated together, for one). The bound is
 * the mean of that distribution and four of its standard deviations, with all parameters counted.
 */
double excess_bound(void);

#endif
