/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transformer blocks, and a training step of them in double precision. Of x [batch, tokens, width]:
 *
 *   h = layernorm(x) * scale1 + shift1
 *   q, k, v = h wq, h wk, h wv, each cut into heads of width / heads columns
 *   x = x + concat over heads of (softmax(q k^T / sqrt(width / heads)) v) wo + bo
 *   h = layernorm(x) * scale2 + shift2
 *   x = x + gelu(h w1 + b1) w2 + b2, w1 of 4 width columns, gelu by erf
 */
#ifndef BENCH_STEP_BLOCK_H
#define BENCH_STEP_BLOCK_H

#include "bench/step_truth.h"

#define BENCH_BLOCK_EPSILON 1e-5
enum { BENCH_MOST_BLOCKS = 4 };

typedef enum bench_block_parameter {
    BENCH_BLOCK_SCALE1,
    BENCH_BLOCK_SHIFT1,
    BENCH_BLOCK_WQ,
    BENCH_BLOCK_WK,
    BENCH_BLOCK_WV,
    BENCH_BLOCK_WO,
    BENCH_BLOCK_BO,
    BENCH_BLOCK_SCALE2,
    BENCH_BLOCK_SHIFT2,
    BENCH_BLOCK_W1,
    BENCH_BLOCK_B1,
    BENCH_BLOCK_W2,
    BENCH_BLOCK_B2,
    BENCH_BLOCK_PARAMETERS
} bench_block_parameter;

/* The blocks, and a step's data: the loss is the mean of (result - target)^2. */
typedef struct bench_blocks {
    int64_t width, heads, tokens, batch;
    int count;
    const float *x, *target, *parameters[BENCH_MOST_BLOCKS][BENCH_BLOCK_PARAMETERS];
} bench_blocks;

/* Name and shape of a parameter, and what it starts from: uniform from low to high. */
typedef struct bench_block_shape {
    const char *name;
    int rank;
    int64_t shape[2];
    double low, high;
} bench_block_shape;
bench_block_shape bench_block_shape_of(const bench_blocks *b, bench_block_parameter which);

/*
 * Gradients of all parameters, block by block. The step is computed once as it is and three times with random
 * roundings where f32 has them, each of a normal number with the deviation that it has there. What that changes gives
 * the deviation of every result, as the root of the mean square over its row or its column, whichever is larger.
 * Uses all cores. ERR_MEMORY.
 */
lfuse_status bench_blocks_step(const bench_blocks *blocks, bench_step **step);

#endif
