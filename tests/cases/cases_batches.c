/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of matrix products. */
#include "tests/cases/cases.h"

static void batch_of(harness *h, lfuse_type type, harness_data data)
{
    lfuse_value a = h_input(h, "a", TYPED(type, 5, 19, 33), PLAIN, data);
    lfuse_value b = h_input(h, "b", TYPED(type, 5, 33, 40), PLAIN, data);
    h_output(h, "c", lfuse_matmul(a, b), TYPED(type, 5, 19, 40), PLAIN);
    h_expect_launches(h, 1);
}

CASE(batch_f32, TWO_WAYS) { batch_of(h, LFUSE_F32, NORMAL); }
CASE(batch_f64, TWO_WAYS) { batch_of(h, LFUSE_F64, NORMAL); }
CASE(batch_exact, TWO_WAYS) { batch_of(h, LFUSE_F32, INTEGERS); }

static void batch_narrow(harness *h, lfuse_type type)
{
    lfuse_value a = h_input(h, "a", TYPED(type, 3, 16, 32), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", TYPED(type, 3, 32, 24), PLAIN, NORMAL);
    lfuse_value v = h_input(h, "v", TYPED(type, 24), PLAIN, NORMAL);
    h_output(h, "c", lfuse_matmul(a, b), TYPED(type, 3, 16, 24), PLAIN);
    h_output(h, "y", lfuse_relu(lfuse_add(lfuse_matmul(lfuse_neg(a), b), v)), TYPED(type, 3, 16, 24), PLAIN);
}

CASE(batch_f16, TWO_WAYS) { batch_narrow(h, LFUSE_F16); }
CASE(batch_e4m3, TWO_WAYS) { batch_narrow(h, LFUSE_E4M3); }
CASE(batch_bf16, TWO_WAYS) { batch_narrow(h, LFUSE_BF16); }

/* One matrix for all, on either side, whichever rank it has. */
CASE(batch_shared, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(4, 9, 20), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(1, 20, 17), PLAIN, INTEGERS);
    lfuse_value l = h_input(h, "l", F32(7, 9), PLAIN, INTEGERS);
    h_output(h, "right", lfuse_matmul(a, b), F32(4, 9, 17), PLAIN);
    h_output(h, "left", lfuse_matmul(l, a), F32(4, 7, 20), PLAIN);
    h_expect_launches(h, 2);
    h_expect_same_bits(h);
}

/* Axes that one operand lacks, or repeats: before the others, behind them, between them. */
CASE(batch_broadcast, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(2, 1, 3, 6, 10), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(4, 1, 10, 7), PLAIN, INTEGERS);
    lfuse_value c = h_input(h, "c", F32(2, 4, 3, 10, 7), PLAIN, INTEGERS);
    h_output(h, "ab", lfuse_matmul(a, b), F32(2, 4, 3, 6, 7), PLAIN);
    h_output(h, "ac", lfuse_matmul(a, c), F32(2, 4, 3, 6, 7), PLAIN);
    h_expect_same_bits(h);
}

CASE(batch_transposed, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(2, 3, 24, 31), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(2, 3, 22, 24), PLAIN, INTEGERS);
    const lfuse_value at = lfuse_transpose(a), bt = lfuse_transpose(b);
    h_output(h, "tt", lfuse_matmul(at, bt), F32(2, 3, 31, 22), PLAIN);
    h_output(h, "nn", lfuse_matmul(b, a), F32(2, 3, 22, 31), PLAIN);
    h_output(h, "nt", lfuse_matmul(b, lfuse_add(bt, bt)), F32(2, 3, 22, 22), PLAIN);
    h_expect_same_bits(h);
}

/* Tensors with gaps along every axis, and heads that lie between the rows of their matrices. */
CASE(batch_strided, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(2, 3, 11, 20), STRIDED, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(2, 3, 20, 13), OFFSET, INTEGERS);
    h_output(h, "c", lfuse_matmul(a, b), F32(2, 3, 11, 13), STRIDED);
    h_expect_same_bits(h);
}

CASE(batch_heads, TWO_WAYS)
{
    static const int heads[] = {0, 2, 1, 3};
    lfuse_value q = h_input(h, "q", F32(2, 9, 3, 16), PLAIN, INTEGERS);
    lfuse_value k = h_input(h, "k", F32(2, 12, 3, 16), PLAIN, INTEGERS);
    const lfuse_value s = lfuse_matmul(lfuse_permute(q, heads), lfuse_transpose(lfuse_permute(k, heads)));
    h_output(h, "s", s, F32(2, 3, 9, 12), PLAIN);
    h_output(h, "o", lfuse_permute(lfuse_matmul(lfuse_mul(s, s), lfuse_permute(k, heads)), heads), F32(2, 9, 3, 16),
             PLAIN);
    h_expect_same_bits(h);
}

CASE(batch_flipped, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(4, 9, 10), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(4, 10, 11), PLAIN, INTEGERS);
    const lfuse_value c = lfuse_matmul(lfuse_flip(a, 1, (const int[]){0}), b);
    h_output(h, "c", lfuse_flip(c, 1, (const int[]){0}), F32(4, 9, 11), PLAIN);
    h_expect_same_bits(h);
}

/* ---- what follows ---- */

CASE(batch_dense, EVERY_WAY)
{
    lfuse_value x = h_input(h, "x", F32(3, 14, 48), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(3, 48, 20), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(20), PLAIN, INTEGERS);
    h_output(h, "y", lfuse_relu(lfuse_add(lfuse_matmul(x, w), b)), F32(3, 14, 20), PLAIN);
    h_expect_same_bits(h);
}

/* A bias for each product is no row vector of a vendor's. */
CASE(batch_biases, TWO_WAYS)
{
    lfuse_value x = h_input(h, "x", F32(3, 14, 18), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(3, 18, 20), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(3, 1, 20), PLAIN, INTEGERS);
    lfuse_value c = h_input(h, "c", F32(3, 14, 1), PLAIN, INTEGERS);
    const lfuse_value y = lfuse_add(lfuse_matmul(x, w), b);
    h_output(h, "y", lfuse_relu(y), F32(3, 14, 20), PLAIN);
    h_output(h, "z", lfuse_mul(y, c), F32(3, 14, 20), STRIDED);
    h_expect_same_bits(h);
}

/* Scores with a mask that repeats between the axes of the batch, and their softmax. */
CASE(batch_scores, EVERY_WAY)
{
    static const int last[] = {-1};
    lfuse_value q = h_input(h, "q", F32(2, 3, 10, 16), PLAIN, NORMAL);
    lfuse_value k = h_input(h, "k", F32(2, 3, 12, 16), PLAIN, NORMAL);
    lfuse_value v = h_input(h, "v", F32(2, 3, 12, 16), PLAIN, NORMAL);
    lfuse_value mask = h_input(h, "mask", F32(2, 1, 10, 12), PLAIN, NORMAL);
    lfuse_value s = lfuse_mul(lfuse_matmul(q, lfuse_transpose(k)), lfuse_constant(h_graph(h), 0.25));
    s = lfuse_add(s, mask);
    h_output(h, "s", s, F32(2, 3, 10, 12), PLAIN);
    h_output(h, "o", lfuse_matmul(lfuse_softmax(s, 1, last), v), F32(2, 3, 10, 16), PLAIN);
}

CASE(batch_update, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(3, 8, 12), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(3, 12, 16), PLAIN, INTEGERS);
    lfuse_value c = h_input(h, "c", F32(3, 8, 16), STRIDED, INTEGERS);
    const lfuse_value scaled = lfuse_mul(lfuse_matmul(a, b), h_scalar(h, "alpha", 2));
    h_update(h, c, lfuse_add(scaled, lfuse_mul(c, h_scalar(h, "beta", -3))));
    h_expect_same_bits(h);
}

/* An index among what follows the product. */
CASE(batch_index, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(3, 6, 12), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(3, 12, 9), PLAIN, INTEGERS);
    const lfuse_value i = lfuse_cast(lfuse_index(h_graph(h), SHAPE(3, 6, 9)), LFUSE_F32);
    h_output(h, "c", lfuse_add(lfuse_matmul(a, b), i), F32(3, 6, 9), PLAIN);
    h_expect_same_bits(h);
}

/* ---- sizes ---- */

CASE(batch_sizes, TWO_WAYS)
{
    const lfuse_size n = h_size(h, "n", 0, 64, 6), m = h_size(h, "m", 1, 64, 23);
    lfuse_value a = h_input(h, "a", F32(n, m, 30), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(n, 30, m), PLAIN, NORMAL);
    lfuse_value w = h_frozen(h, "w", F32(1, 30, 18), NORMAL);
    h_output(h, "ab", lfuse_tanh(lfuse_matmul(a, b)), F32(n, m, m), PLAIN);
    h_output(h, "aw", lfuse_relu(lfuse_matmul(a, w)), F32(n, m, 18), PLAIN);
}

static void batch_sized(harness *h, int64_t batch, int64_t m, int64_t k, int64_t n)
{
    lfuse_value a = h_input(h, "a", F32(batch, m, k), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(batch, k, n), PLAIN, INTEGERS);
    h_output(h, "c", lfuse_neg(lfuse_matmul(a, b)), F32(batch, m, n), PLAIN);
    h_expect_same_bits(h);
}

CASE(batch_of_none, TWO_WAYS) { batch_sized(h, 0, 8, 9, 10); }
CASE(batch_of_one, TWO_WAYS) { batch_sized(h, 1, 8, 9, 10); }
CASE(batch_no_inner, TWO_WAYS) { batch_sized(h, 3, 5, 0, 7); }
CASE(batch_no_rows, TWO_WAYS) { batch_sized(h, 3, 0, 4, 7); }
CASE(batch_rows, TWO_WAYS) { batch_sized(h, 7, 1, 130, 90); }
CASE(batch_columns, TWO_WAYS) { batch_sized(h, 7, 90, 130, 1); }
CASE(batch_deep, TWO_WAYS) { batch_sized(h, 2, 30, 900, 40); }
CASE(batch_large, TWO_WAYS) { batch_sized(h, 2, 130, 64, 700); }
CASE(batch_many, TWO_WAYS) { batch_sized(h, 300, 4, 5, 6); }
