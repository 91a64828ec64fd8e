/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/step_graph.h"

#include <math.h>

/* [batch, tokens, width] as [batch, heads, tokens, width / heads]. */
static lfuse_value in_heads(lfuse_value x, const bench_blocks *b)
{
    static const int axes[4] = {0, 2, 1, 3};
    return lfuse_permute(lfuse_reshape(x, 4, LFUSE_DIMS(b->batch, b->tokens, b->heads, b->width / b->heads)), axes);
}

static lfuse_value attention(lfuse_graph *g, const bench_blocks *b, lfuse_value h, const lfuse_value *p)
{
    static const int last[1] = {-1}, axes[4] = {0, 2, 1, 3};
    lfuse_value q = in_heads(lfuse_matmul(h, p[BENCH_BLOCK_WQ]), b);
    lfuse_value k = in_heads(lfuse_matmul(h, p[BENCH_BLOCK_WK]), b);
    lfuse_value v = in_heads(lfuse_matmul(h, p[BENCH_BLOCK_WV]), b);
    lfuse_value scale = lfuse_constant(g, 1 / sqrt((double)b->width / (double)b->heads));
    lfuse_value shares = lfuse_softmax(lfuse_mul(lfuse_matmul(q, lfuse_transpose(k)), scale), 1, last);
    lfuse_value mixed = lfuse_permute(lfuse_matmul(shares, v), axes);
    mixed = lfuse_reshape(mixed, 3, LFUSE_DIMS(b->batch, b->tokens, b->width));
    return lfuse_add(lfuse_matmul(mixed, p[BENCH_BLOCK_WO]), p[BENCH_BLOCK_BO]);
}

lfuse_value bench_block_of(lfuse_graph *g, const bench_blocks *b, lfuse_value x, const lfuse_value *p)
{
    lfuse_value h = lfuse_layernorm(x, 1, p[BENCH_BLOCK_SCALE1], p[BENCH_BLOCK_SHIFT1], BENCH_BLOCK_EPSILON);
    x = lfuse_add(x, attention(g, b, h, p));
    h = lfuse_layernorm(x, 1, p[BENCH_BLOCK_SCALE2], p[BENCH_BLOCK_SHIFT2], BENCH_BLOCK_EPSILON);
    h = lfuse_gelu(lfuse_add(lfuse_matmul(h, p[BENCH_BLOCK_W1]), p[BENCH_BLOCK_B1]));
    return lfuse_add(x, lfuse_add(lfuse_matmul(h, p[BENCH_BLOCK_W2]), p[BENCH_BLOCK_B2]));
}
