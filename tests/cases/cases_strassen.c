/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by Strassen's algorithm. Whole numbers are exact in it too, so that all ways have the same bits. */
#include "tests/cases/cases.h"

static void product_of(harness *h, int levels, lfuse_type type, int64_t m, int64_t k, int64_t n, harness_data data)
{
    lfuse_value x = h_input(h, "x", TYPED(type, m, k), PLAIN, data);
    lfuse_value w = h_frozen(h, "w", TYPED(type, k, n), data);
    h_output(h, "y", lfuse_matmul(x, w), TYPED(type, m, n), PLAIN);
    h_strassen(h, levels);
    if (data == INTEGERS) h_expect_same_bits(h);
}

CASE(strassen_one, TWO_WAYS) { product_of(h, 1, LFUSE_F32, 16, 32, 64, INTEGERS); }
CASE(strassen_two, TWO_WAYS) { product_of(h, 2, LFUSE_F32, 16, 64, 128, INTEGERS); }
CASE(strassen_odd, TWO_WAYS) { product_of(h, 1, LFUSE_F32, 19, 37, 23, NORMAL); }
CASE(strassen_two_odd, TWO_WAYS) { product_of(h, 2, LFUSE_F32, 13, 70, 67, NORMAL); }
CASE(strassen_least, TWO_WAYS) { product_of(h, 2, LFUSE_F32, 4, 4, 4, INTEGERS); }
CASE(strassen_f64, TWO_WAYS) { product_of(h, 2, LFUSE_F64, 11, 41, 18, NORMAL); }

/* Small products that devices with tensor cores for it make of split operands. */
CASE(strassen_f32x3, TWO_WAYS)
{
    lfuse_value x = h_input(h, "x", F32(300, 520), PLAIN, NORMAL);
    lfuse_value w = h_frozen(h, "w", F32(520, 600), NORMAL);
    h_output(h, "y", lfuse_matmul_as(x, w, LFUSE_F32, LFUSE_PRECISION_F32X3), F32(300, 600), PLAIN);
    h_strassen(h, 1);
}

/* Whole numbers up to 256 are exact in bf16, whose factors are sums of up to four. */
CASE(strassen_bf16, TWO_WAYS) { product_of(h, 2, LFUSE_BF16, 13, 22, 19, INTEGERS); }

/* Layers of narrow weights, a pre-activation that is kept, and a result as wide as it is added up. */
CASE(strassen_f16_network, TWO_WAYS)
{
    lfuse_value x = h_input(h, "x", F16(11, 18), OFFSET, NORMAL);
    lfuse_value u = h_frozen(h, "u", F16(18, 25), NORMAL);
    lfuse_value v = h_input(h, "v", F16(25, 9), STRIDED, NORMAL);
    const lfuse_value p = lfuse_add(lfuse_matmul(x, u), h_frozen(h, "b", F16(25), NORMAL));
    const lfuse_value y = lfuse_matmul_as(lfuse_relu(p), v, LFUSE_F32, LFUSE_PRECISION_FULL);
    h_output(h, "p", p, F16(11, 25), STRIDED);
    h_output(h, "y", y, F32(11, 9), PLAIN);
    h_strassen(h, 1);
    h_expect_text(h, "of f16 in f32 acc");
}

/* Without rows enough the product is what it is without the option. */
CASE(strassen_few_rows, TWO_WAYS)
{
    product_of(h, 2, LFUSE_F32, 3, 40, 40, INTEGERS);
    h_expect_text(h, "(levels 0 3 x 40 x 40 too few rows)");
    h_expect_launches(h, 1);
}

CASE(strassen_few_columns, TWO_WAYS)
{
    product_of(h, 1, LFUSE_F32, 30, 40, 1, INTEGERS);
}

/* Layers of any sizes: bias by column, pre-activations kept, a residual; one batch and one kernel for each. */
static void network(harness *h, int levels, harness_data data)
{
    lfuse_value x = h_input(h, "x", F32(21, 18), PLAIN, data);
    lfuse_value w0 = h_frozen(h, "w0", F32(18, 35), data);
    lfuse_value w1 = h_frozen(h, "w1", F32(35, 35), data);
    lfuse_value w2 = h_frozen(h, "w2", F32(35, 9), data);
    lfuse_value b0 = h_frozen(h, "b0", F32(35), data);
    lfuse_value b1 = h_frozen(h, "b1", F32(21, 1), data);
    const lfuse_value p0 = lfuse_add(lfuse_matmul(x, w0), b0), a0 = lfuse_relu(p0);
    const lfuse_value a1 = lfuse_relu(lfuse_add(lfuse_add(lfuse_matmul(a0, w1), b1), a0));
    h_output(h, "p0", p0, F32(21, 35), STRIDED);
    h_output(h, "y", lfuse_matmul(a1, w2), F32(21, 9), PLAIN);
    h_strassen(h, levels);
    h_expect_launches(h, 7); /* factors of x, then a batch and what is behind it, three times */
}

CASE(strassen_network, TWO_WAYS) { network(h, 1, NORMAL); }
CASE(strassen_two_network, TWO_WAYS) { network(h, 2, NORMAL); }
CASE(strassen_network_exact, TWO_WAYS)
{
    network(h, 1, INTEGERS);
    h_expect_same_bits(h);
}

/* One value for two products, which share its factors, beside a sum of both; and both operands variable. */
CASE(strassen_gate, TWO_WAYS)
{
    lfuse_value x = h_input(h, "x", F32(14, 24), OFFSET, INTEGERS);
    lfuse_value u = h_frozen(h, "u", F32(24, 22), INTEGERS);
    lfuse_value v = h_input(h, "v", F32(24, 22), STRIDED, INTEGERS);
    h_output(h, "y", lfuse_mul(lfuse_relu(lfuse_matmul(x, u)), lfuse_matmul(x, v)), F32(14, 22), PLAIN);
    h_strassen(h, 1);
    h_expect_same_bits(h);
}

/* Transposed operands, on both sides, frozen and not. */
CASE(strassen_transposed, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(26, 15), PLAIN, INTEGERS);
    lfuse_value w = h_frozen(h, "w", F32(20, 26), INTEGERS);
    h_output(h, "y", lfuse_matmul(lfuse_transpose(a), lfuse_transpose(w)), F32(15, 20), STRIDED);
    h_output(h, "z", lfuse_matmul(w, lfuse_neg(a)), F32(20, 15), PLAIN);
    h_strassen(h, 1);
    h_expect_same_bits(h);
}

/* What is updated in place by what follows the product, with numbers. */
CASE(strassen_update, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(17, 20), PLAIN, INTEGERS);
    lfuse_value w = h_frozen(h, "w", F32(20, 20), INTEGERS);
    lfuse_value c = h_input(h, "c", F32(17, 20), STRIDED, INTEGERS);
    const lfuse_value scaled = lfuse_mul(lfuse_matmul(a, w), h_scalar(h, "alpha", 2));
    h_update(h, c, lfuse_add(scaled, lfuse_mul(c, h_scalar(h, "beta", -3))));
    h_update(h, a, lfuse_matmul(a, w));
    h_strassen(h, 1);
    h_expect_same_bits(h);
}

/* Sizes that vary are padded when they are known. */
CASE(strassen_sizes, TWO_WAYS)
{
    const lfuse_size m = h_size(h, "m", 4, 64, 27), k = h_size(h, "k", 4, 64, 33);
    lfuse_value x = h_input(h, "x", F32(m, k), PLAIN, INTEGERS);
    lfuse_value w = h_frozen(h, "w", F32(k, m), INTEGERS);
    h_output(h, "y", lfuse_relu(lfuse_matmul(lfuse_relu(lfuse_matmul(x, w)), x)), F32(m, k), PLAIN);
    h_strassen(h, 2);
    h_expect_same_bits(h);
}
