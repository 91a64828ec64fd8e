/* SPDX-License-Identifier: Apache-2.0 */
/* What a product's descriptor has beside its shapes: types, precisions, scalars, and what follows its sums. */
#include "tests/cases/cases.h"

/* ---- types ---- */

/* Sums of 16-bit operands as they are, with a tail of f32 behind them. */
static void product_widened(harness *h, lfuse_type type)
{
    lfuse_value a = h_input(h, "a", TYPED(type, 33, 48), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", TYPED(type, 48, 24), OFFSET, NORMAL);
    lfuse_value v = h_input(h, "v", F32(24), PLAIN, NORMAL);
    const lfuse_value c = lfuse_matmul_as(a, b, LFUSE_F32, LFUSE_PRECISION_FULL);
    h_output(h, "y", lfuse_relu(lfuse_add(c, v)), F32(33, 24), PLAIN);
}

CASE(product_f16_to_f32, TWO_WAYS) { product_widened(h, LFUSE_F16); }
CASE(product_bf16_to_f32, TWO_WAYS) { product_widened(h, LFUSE_BF16); }

/* 4096 + 1/4 is an f32 and no f16: what is rounded between is seen. Both transposed; added to what is there. */
CASE(product_wide_update, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F16(2, 40, 18), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F16(2, 20, 40), PLAIN, INTEGERS);
    lfuse_value c = h_input(h, "c", F32(2, 18, 20), STRIDED, INTEGERS);
    lfuse_value r = h_input(h, "r", LFUSE_F32, 0, LFUSE_DIMS(0), PLAIN, INTEGERS);
    const lfuse_value d = lfuse_matmul_as(lfuse_transpose(a), lfuse_transpose(b), LFUSE_F32, LFUSE_PRECISION_FULL);
    const lfuse_value large = lfuse_add(lfuse_mul(d, h_scalar(h, "alpha", 4096)), r);
    h_update(h, c, lfuse_add(large, lfuse_mul(c, h_scalar(h, "beta", 0.25))));
    h_expect_same_bits(h);
}

CASE(product_f32_to_f16, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(21, 40), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(40, 32), PLAIN, NORMAL);
    h_output(h, "c", lfuse_matmul_as(a, b, LFUSE_F16, LFUSE_PRECISION_FULL), F16(21, 32), PLAIN);
}

/* Operands of two types, each way round and either transposed; one of them frozen. */
CASE(product_mixed, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(18, 40), PLAIN, INTEGERS);
    lfuse_value w = h_frozen(h, "w", F16(40, 32), INTEGERS);
    lfuse_value b = h_input(h, "b", BF16(26, 32), PLAIN, INTEGERS);
    const lfuse_value y = lfuse_matmul_as(a, w, LFUSE_TYPE_NONE, LFUSE_PRECISION_FULL);
    h_output(h, "y", y, F32(18, 32), PLAIN);
    h_output(h, "z", lfuse_matmul_as(w, lfuse_transpose(b), LFUSE_BF16, LFUSE_PRECISION_FULL), BF16(40, 26), PLAIN);
    h_expect_same_bits(h);
}

CASE(product_mixed_turned, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", BF16(40, 18), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(40, 26), OFFSET, NORMAL);
    h_output(h, "c", lfuse_matmul_as(lfuse_transpose(a), b, LFUSE_F32, LFUSE_PRECISION_FULL), F32(18, 26), PLAIN);
}

/* A constant is stored by the run: its product with a frozen matrix is not made before. */
CASE(product_of_constant, TWO_WAYS)
{
    lfuse_value w = h_frozen(h, "w", F32(7, 5), INTEGERS);
    lfuse_value two = lfuse_cast(lfuse_constant(h_graph(h), 2), LFUSE_F32);
    h_output(h, "y", lfuse_matmul(lfuse_broadcast_to(two, 2, LFUSE_DIMS(3, 7)), w), F32(3, 5), PLAIN);
    h_expect_same_bits(h);
}

/* ---- precisions ---- */

static void product_rounded(harness *h, lfuse_precision precision)
{
    lfuse_value x = h_input(h, "x", F32(19, 44), PLAIN, NORMAL);
    lfuse_value w = h_frozen(h, "w", F32(44, 24), NORMAL);
    lfuse_value b = h_input(h, "b", F32(24), PLAIN, NORMAL);
    const lfuse_value y = lfuse_matmul_as(x, w, LFUSE_TYPE_NONE, precision);
    h_output(h, "y", lfuse_relu(lfuse_add(y, b)), F32(19, 24), PLAIN);
}

CASE(product_in_f16, TWO_WAYS) { product_rounded(h, LFUSE_PRECISION_F16); }
CASE(product_in_bf16, TWO_WAYS) { product_rounded(h, LFUSE_PRECISION_BF16); }
CASE(product_in_tf32, TWO_WAYS) { product_rounded(h, LFUSE_PRECISION_TF32); }

/* What no vendor's product takes behind it; lines along k, and off every tile. */
CASE(product_in_tf32_along, TWO_WAYS)
{
    lfuse_value x = h_input(h, "x", F32(131, 76), PLAIN, NORMAL), w = h_input(h, "w", F32(270, 76), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(270), PLAIN, NORMAL);
    const lfuse_value y = lfuse_matmul_as(x, lfuse_transpose(w), LFUSE_F32, LFUSE_PRECISION_TF32);
    h_output(h, "y", lfuse_gelu(lfuse_add(y, b)), F32(131, 270), PLAIN);
}

CASE(product_in_tf32_batch, TWO_WAYS)
{
    lfuse_value x = h_input(h, "x", F32(3, 61, 37), STRIDED, NORMAL);
    lfuse_value w = h_input(h, "w", F32(3, 61, 70), OFFSET, NORMAL);
    const lfuse_value y = lfuse_matmul_as(lfuse_transpose(x), w, LFUSE_F32, LFUSE_PRECISION_TF32);
    h_output(h, "y", lfuse_tanh(y), F32(3, 37, 70), PLAIN);
}

CASE(product_in_f32x3, TWO_WAYS) { product_rounded(h, LFUSE_PRECISION_F32X3); }

/* Sizes off every tile, an operand stored by columns, and elements of very different sizes in rows and columns. */
static void product_scaled(harness *h, lfuse_precision precision, lfuse_size m, lfuse_size n, lfuse_size k)
{
    lfuse_value a = h_input(h, "a", F32(k, m), OFFSET, NORMAL);
    lfuse_value b = h_input(h, "b", F32(k, n), PLAIN, NORMAL);
    lfuse_value by_row = h_input(h, "by_row", F32(1, m), PLAIN, INTEGERS);
    lfuse_value by_column = h_input(h, "by_column", F32(n), PLAIN, INTEGERS);
    a = lfuse_mul(a, lfuse_exp2(lfuse_mul(by_row, lfuse_constant(h_graph(h), 4))));
    b = lfuse_mul(b, lfuse_exp2(lfuse_mul(by_column, lfuse_constant(h_graph(h), -4))));
    const lfuse_value c = lfuse_matmul_as(lfuse_transpose(a), b, LFUSE_TYPE_NONE, precision);
    h_output(h, "c", c, F32(m, n), PLAIN);
    h_output(h, "d", lfuse_relu(c), F32(m, n), STRIDED);
}

CASE(product_f32x3, TWO_WAYS) { product_scaled(h, LFUSE_PRECISION_F32X3, 67, 45, 141); }
CASE(product_f32x3_deep, TWO_WAYS) { product_scaled(h, LFUSE_PRECISION_F32X3, 21, 130, 1037); }
CASE(product_bf16x6_deep, TWO_WAYS) { product_scaled(h, LFUSE_PRECISION_BF16X6, 21, 130, 1037); }

static void product_frozen(harness *h, lfuse_precision precision, lfuse_size m, lfuse_size n, lfuse_size k)
{
    lfuse_value x = h_input(h, "x", F32(m, k), PLAIN, NORMAL);
    lfuse_value w = h_frozen(h, "w", F32(k, n), NORMAL);
    lfuse_value b = h_input(h, "b", F32(n), PLAIN, NORMAL);
    const lfuse_value y = lfuse_matmul_as(x, w, LFUSE_F32, precision);
    h_output(h, "y", lfuse_relu(lfuse_add(y, b)), F32(m, n), PLAIN);
}

/* As small as a product may be that Hopper's tensor cores are taken for faster at. */
CASE(product_f32x3_frozen, TWO_WAYS) { product_frozen(h, LFUSE_PRECISION_F32X3, 510, 1020, 260); }
CASE(product_bf16x6_frozen, TWO_WAYS) { product_frozen(h, LFUSE_PRECISION_BF16X6, 510, 1020, 260); }

CASE(product_f32x3_batch, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(3, 250, 260), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(3, 600, 260), STRIDED, NORMAL);
    const lfuse_value c = lfuse_matmul_as(a, lfuse_transpose(b), LFUSE_F32, LFUSE_PRECISION_F32X3);
    h_output(h, "c", c, F32(3, 250, 600), PLAIN);
}

/* ---- what follows ---- */

/* alpha and beta in the device's memory. */
CASE(product_device_scalars, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(18, 40), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(26, 40), PLAIN, INTEGERS);
    lfuse_value c = h_input(h, "c", F32(18, 26), STRIDED, INTEGERS);
    lfuse_value alpha = h_input(h, "alpha", LFUSE_F32, 0, LFUSE_DIMS(0), PLAIN, INTEGERS);
    lfuse_value beta = h_input(h, "beta", LFUSE_F32, 0, LFUSE_DIMS(0), PLAIN, INTEGERS);
    h_update(h, c, lfuse_add(lfuse_mul(lfuse_matmul(a, lfuse_transpose(b)), alpha), lfuse_mul(c, beta)));
    h_expect_same_bits(h);
}

/* Losses and weights are scaled so: the products of a batch by one number, before a bias. Integers, also of f64. */
static void product_scale(harness *h, lfuse_type type, lfuse_type result)
{
    lfuse_value x = h_input(h, "x", type, 3, LFUSE_DIMS(2, 18, 24), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", type, 2, LFUSE_DIMS(24, 20), PLAIN, INTEGERS);
    lfuse_value s = h_input(h, "s", result, 0, LFUSE_DIMS(0), OFFSET, INTEGERS);
    lfuse_value v = h_input(h, "v", result, 1, LFUSE_DIMS(20), PLAIN, INTEGERS);
    const lfuse_value y = lfuse_mul(lfuse_matmul_as(x, w, result, LFUSE_PRECISION_FULL), s);
    h_output(h, "y", lfuse_relu(lfuse_add(y, v)), result, 3, LFUSE_DIMS(2, 18, 20), PLAIN);
    h_expect_same_bits(h);
}

CASE(product_scale_f32, EVERY_WAY) { product_scale(h, LFUSE_F32, LFUSE_F32); }
CASE(product_scale_f64, TWO_WAYS) { product_scale(h, LFUSE_F64, LFUSE_F64); }
CASE(product_scale_wide, TWO_WAYS) { product_scale(h, LFUSE_BF16, LFUSE_F32); }

/*
 * Operands of 8 bits with scales: of the tensors (rank 0), or of rows and columns. What follows is stored in 8 bits by
 * another scale, saturated, and in f32. Neither k nor n fills a vector where `odd` is not 0.
 */
static void product_fp8(harness *h, lfuse_type a, lfuse_type b, bool by_row, int odd)
{
    const lfuse_size m = 34, k = 64 + odd, n = 48 + odd;
    lfuse_value x = h_input(h, "x", TYPED(a, m, k), PLAIN, NORMAL);
    lfuse_value w = h_frozen(h, "w", TYPED(b, n, k), NORMAL);
    lfuse_value sx = h_input(h, "sx", LFUSE_F32, by_row ? 2 : 0, LFUSE_DIMS(m, 1), PLAIN, NORMAL);
    lfuse_value sw = h_input(h, "sw", LFUSE_F32, by_row ? 1 : 0, LFUSE_DIMS(n), PLAIN, NORMAL);
    lfuse_value to = h_input(h, "to", LFUSE_F32, 0, LFUSE_DIMS(0), PLAIN, POSITIVE);
    lfuse_value y = lfuse_matmul_as(x, lfuse_transpose(w), LFUSE_F32, LFUSE_PRECISION_FULL);
    y = lfuse_relu(lfuse_mul(lfuse_mul(y, sx), sw));
    h_output(h, "y", y, F32(m, n), PLAIN);
    h_output(h, "z", lfuse_cast_saturated(lfuse_mul(y, to), a), TYPED(a, m, n), PLAIN);
}

CASE(product_fp8_by_tensor, TWO_WAYS) { product_fp8(h, LFUSE_E4M3, LFUSE_E4M3, false, 0); }
CASE(product_fp8_by_row, EVERY_WAY) { product_fp8(h, LFUSE_E4M3, LFUSE_E4M3, true, 0); }
CASE(product_fp8_mixed, TWO_WAYS) { product_fp8(h, LFUSE_E5M2, LFUSE_E4M3, true, 0); }
CASE(product_fp8_odd, TWO_WAYS) { product_fp8(h, LFUSE_E5M2, LFUSE_E5M2, false, 3); }

/* Lines of either operand that do not run along k, in whole chunks of 16 bytes, with a scale; of one product or two. */
static void product_fp8_across(harness *h, bool left, lfuse_size count)
{
    const lfuse_size m = 48, k = 80, n = 64;
    const int rank = count > 1 ? 3 : 2;
    const lfuse_size x_shape[] = {count, left ? k : m, left ? m : k};
    const lfuse_size w_shape[] = {count, k, n}, shape[] = {count, m, n};
    lfuse_value x = h_input(h, "x", LFUSE_E4M3, rank, x_shape + 3 - rank, PLAIN, NORMAL);
    lfuse_value w = count > 1 ? h_input(h, "w", LFUSE_E5M2, rank, w_shape + 3 - rank, PLAIN, NORMAL)
                              : h_frozen(h, "w", LFUSE_E5M2, rank, w_shape + 3 - rank, NORMAL);
    lfuse_value s = h_input(h, "s", LFUSE_F32, 0, LFUSE_DIMS(0), PLAIN, NORMAL);
    if (left) x = lfuse_transpose(x);
    h_output(h, "y", lfuse_mul(lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_FULL), s), LFUSE_F32, rank,
             shape + 3 - rank, PLAIN);
}

CASE(product_fp8_across_right, TWO_WAYS) { product_fp8_across(h, false, 1); }
CASE(product_fp8_across_both, TWO_WAYS) { product_fp8_across(h, true, 1); }
CASE(product_fp8_across_batch, TWO_WAYS) { product_fp8_across(h, true, 2); }

/* The scale is computed in the plan, and the product stored over another tensor. */
CASE(product_scale_made, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", LFUSE_F32, 2, LFUSE_DIMS(18, 40), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", LFUSE_F32, 2, LFUSE_DIMS(40, 26), PLAIN, NORMAL);
    lfuse_value c = h_input(h, "c", LFUSE_F32, 2, LFUSE_DIMS(18, 26), STRIDED, NORMAL);
    const lfuse_value s = lfuse_exp(h_input(h, "log_s", LFUSE_F32, 0, LFUSE_DIMS(0), PLAIN, NORMAL));
    h_output(h, "s", s, LFUSE_F32, 0, LFUSE_DIMS(0), PLAIN);
    h_update(h, c, lfuse_mul(lfuse_matmul(a, b), s));
}

/* A matrix that is added once and one that is added by a number, neither where the result goes; in batches too. */
CASE(product_residual, TWO_WAYS)
{
    lfuse_value x = h_input(h, "x", F32(2, 18, 24), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(24, 20), PLAIN, INTEGERS);
    lfuse_value r = h_input(h, "r", F32(2, 18, 20), OFFSET, INTEGERS);
    lfuse_value v = h_input(h, "v", F32(20), PLAIN, INTEGERS);
    const lfuse_value y = lfuse_mul(lfuse_matmul(x, w), h_scalar(h, "alpha", 3));
    const lfuse_value z = lfuse_add(y, lfuse_mul(r, h_scalar(h, "beta", -2)));
    h_output(h, "z", lfuse_relu(lfuse_add(z, v)), F32(2, 18, 20), PLAIN);
    h_expect_same_bits(h);
}

/* Biases by row and by column, a residual, the value before the activation and another one beside the result. */
CASE(product_auxiliary, EVERY_WAY)
{
    lfuse_value x = h_input(h, "x", F32(22, 40), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(40, 28), PLAIN, INTEGERS);
    lfuse_value column = h_input(h, "column", F32(28), PLAIN, INTEGERS);
    lfuse_value row = h_input(h, "row", F32(22, 1), PLAIN, INTEGERS);
    lfuse_value residual = h_input(h, "residual", F32(22, 28), STRIDED, INTEGERS);
    const lfuse_value before = lfuse_add(lfuse_add(lfuse_matmul(x, w), column), row), y = lfuse_relu(before);
    h_output(h, "before", before, F32(22, 28), PLAIN);
    h_output(h, "sign", lfuse_cast(lfuse_gt(before, lfuse_constant(h_graph(h), 0)), LFUSE_U8), U8(22, 28), PLAIN);
    h_output(h, "y", lfuse_add(y, residual), F32(22, 28), PLAIN);
    h_expect_same_bits(h);
}

/* The gradient of a dense layer: what goes on to the layer before, and that of its bias. */
CASE(product_bias_gradient, EVERY_WAY)
{
    static const int rows[] = {0}, columns[] = {1};
    lfuse_value dy = h_input(h, "dy", F32(150, 20), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(36, 20), PLAIN, INTEGERS);
    lfuse_value z = h_input(h, "z", F32(150, 36), PLAIN, INTEGERS);
    const lfuse_value d = lfuse_matmul(dy, lfuse_transpose(w)), zero = lfuse_constant(h_graph(h), 0);
    const lfuse_value dz = lfuse_where(lfuse_gt(z, zero), d, zero);
    h_output(h, "dz", dz, F32(150, 36), PLAIN);
    h_output(h, "db", lfuse_sum(dz, 1, rows, false), F32(36), PLAIN);
    h_output(h, "by_row", lfuse_sum(dz, 1, columns, false), F32(150), PLAIN);
    h_expect_same_bits(h);
}
