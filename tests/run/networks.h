/* SPDX-License-Identifier: Apache-2.0 */
/* Dense networks for the tests of tests/run/: graphs, tensors, runs, and results held to double precision. */
#ifndef TESTS_RUN_NETWORKS_H
#define TESTS_RUN_NETWORKS_H

#include "tests/run/rig.h"

enum { MOST_LAYERS = 8, GROUPS = 8, NETWORK_BINDINGS = 3 * MOST_LAYERS + 4 };

/*
 * A network of widths[0] x ... x widths[layers], and what stands for its tensors. Its layers' ends by letters, the last
 * for all that follow: of the product p, r: relu(p + b), g: gelu(p + b), l: p + b, n: p, s: p s + b; by numbers
 * of a run k: max(p + b, slope (p + b)), m: scale (p + b).
 */
typedef struct network {
    int layers;
    int64_t rows, widths[MOST_LAYERS + 1];
    const char *ends;
    bool transposed; /* weights are stored [out, in] */
    double slope, scale;
    bool halved; /* half of them is multiplied with, which is computed once where they are frozen */
    lfuse_tensor *x, *y, *w[MOST_LAYERS], *b[MOST_LAYERS], *s[MOST_LAYERS];
} network;

/* Between -1 and 1. */
double network_next(void);
lfuse_tensor *network_noise(int rank, const int64_t *shape, double scale);
/* `g` is made anew, for any number of rows. */
void network_graph(const network *n, bool frozen);
void network_tensors(network *n);
void network_free(network *n);
int network_bind(const network *n, lfuse_binding *bind);
void network_run(const network *n, lfuse_plan *plan, lfuse_stream *s);
/* The tensor's numbers; the caller frees them. */
float *network_copy(const lfuse_tensor *t, int64_t count);
/* The result within what products of this length may differ by, times what the layers behind make of it. */
void network_check(const network *n);
/* The stub as a device that runs GROUPS groups at the same time. */
void network_begin(void);

#endif
