/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a transformer block as bench/step_block.h has it. */
#ifndef BENCH_STEP_GRAPH_H
#define BENCH_STEP_GRAPH_H

#include "bench/step_block.h"

/* A block of x [batch, tokens, width] with its BENCH_BLOCK_PARAMETERS parameters. */
lfuse_value bench_block_of(lfuse_graph *g, const bench_blocks *b, lfuse_value x, const lfuse_value *p);

#endif
