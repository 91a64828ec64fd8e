/* SPDX-License-Identifier: Apache-2.0 */
/* What the graphs of training steps have in common: losses, and transformer blocks (bench/step_block.h). */
#ifndef BENCH_STEP_GRAPH_H
#define BENCH_STEP_GRAPH_H

#include "bench/step_block.h"

lfuse_value bench_mean_square(lfuse_value y, lfuse_value target);
/* The mean of -log_softmax(y) at each row's label: y is [batch, classes], labels i64 [batch]. */
lfuse_value bench_cross_entropy(lfuse_graph *g, lfuse_value y, lfuse_value labels, int64_t batch, int64_t classes);
/* A block of x [batch, tokens, width] with its BENCH_BLOCK_PARAMETERS parameters. */
lfuse_value bench_block_of(lfuse_graph *g, const bench_blocks *b, lfuse_value x, const lfuse_value *p);

#endif
