/* SPDX-License-Identifier: Apache-2.0 */
/* The networks that are trained: graphs of a step and of an evaluation over the same parameters. */
#ifndef EXAMPLES_TRAIN_NETWORK_H
#define EXAMPLES_TRAIN_NETWORK_H

#include <libfuse.h>

enum { BATCH = 64, HIDDEN = 128, PARAMETERS = 6 };

/* A parameter: its name in both graphs, its shape, and its first value. */
typedef struct parameter {
    const char *name;
    int rank;
    int64_t shape[2];
    double (*start)(int64_t i, int64_t j); /* of element [i, j], or [i] */
} parameter;

typedef struct network {
    const char *name;
    int goal;  /* per cent of the held-out images that it has to read */
    int count; /* of parameters */
    parameter parameters[PARAMETERS];
    /* Scores [batch, 10] of images x; t is the number of the step, or lfuse_none() in an evaluation. */
    lfuse_value (*scores)(lfuse_graph *g, lfuse_value x, const lfuse_value *parameters, lfuse_value t);
} network;

enum { NETWORKS = 2 };
extern const network networks[NETWORKS];

/*
 * One step of AdamW over a batch: inputs "x", "label", the parameters and their states "m.<name>" and "v.<name>";
 * scalars "lr" and "t", the number of the step from 1 on; output "loss", before the step.
 */
lfuse_graph *step_graph(const network *net);
/* Of any number of images: outputs "loss", its mean, and "right", how many are classified as their label says. */
lfuse_graph *evaluation_graph(const network *net, int64_t most);

#endif
