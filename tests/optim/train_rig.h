/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network of two layers with its loss, memory and data, for tests of trainings: h = relu(x w1 + b1), o = h w2 + b2,
 * loss = mean((o - y)^2). Parameters are w1, w2, b1, b2, in this order.
 */
#ifndef TESTS_OPTIM_TRAIN_RIG_H
#define TESTS_OPTIM_TRAIN_RIG_H

#include "tests/optim/rig.h"

enum { ROWS = 16, INS = 12, HIDDEN = 20, OUTS = 8, WEIGHTS = 4, ALL_WEIGHTS = INS * HIDDEN + HIDDEN * OUTS + HIDDEN +
       OUTS };
extern const char *const weight_names[WEIGHTS];

typedef struct network {
    lfuse_device *device;
    lfuse_stream *stream;
    lfuse_type type;
    lfuse_graph *g;
    lfuse_value loss, w[WEIGHTS];
    lfuse_tensor *weights[WEIGHTS], *x, *y;
    lfuse_training_parameter parameters[WEIGHTS];
    lfuse_training *training; /* NULL before network_train */
} network;

/* A graph, and weights with their first contents, all of one type; the loss is f32, or f64 of that type. */
network network_of(lfuse_device *device, lfuse_type type);
/* Makes the training, which the test owns. */
void network_train(network *n, int groups, const lfuse_training_group *group, const lfuse_training_options *options);
/* Writes the data of step t, times `factor`. */
void network_data(network *n, int t, double factor);
/* A step with the data of step t. */
void network_step(network *n, int t);
/* All weights, one behind the other. */
void network_weights(network *n, double *to);
double network_number(network *n, const lfuse_tensor *tensor);
/* The tensor of the training with that name. */
lfuse_tensor *network_tensor(network *n, const char *name);

#endif
