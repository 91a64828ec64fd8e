/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over the rows of what follows a product: one launch where tiles of a GPU can do it, with the bits of two. What
 * is multiplied are small integers, so that who multiplies does not show; what is added up is not.
 */
#include "tests/cases/cases.h"

static lfuse_value summed(lfuse_value v)
{
    return lfuse_sum(v, 1, (int[]){0}, 0);
}

/* The gradient behind an activation, and that of the bias in front of it. */
CASE(sums_gradient, TWO_WAYS)
{
    lfuse_value d = h_input(h, "d", F32(1100, 18), OFFSET, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(70, 18), PLAIN, INTEGERS);
    lfuse_value z = h_input(h, "z", F32(1100, 70), STRIDED, NORMAL);
    const lfuse_value dz = lfuse_mul(lfuse_matmul(d, lfuse_transpose(w)), z);
    h_output(h, "dz", dz, F32(1100, 70), PLAIN);
    h_output(h, "db", summed(dz), F32(70), OFFSET);
    h_expect_same_bits(h);
}

/* Nobody wants the values; the bias is stepped at once; of a batch whose size is known when it runs. */
CASE(sums_step, TWO_WAYS)
{
    const lfuse_size batch = h_size(h, "batch", 1, 4096, 300);
    lfuse_value d = h_input(h, "d", F32(batch, 20), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(20, 132), PLAIN, INTEGERS);
    lfuse_value z = h_input(h, "z", F32(batch, 132), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(132), PLAIN, NORMAL);
    const lfuse_value dz = lfuse_mul(lfuse_matmul(d, w), lfuse_abs(z));
    h_update(h, b, lfuse_sub(b, lfuse_mul(summed(dz), h_scalar(h, "rate", 0.25))));
    h_expect_same_bits(h);
}

/* Of several products, each of which multiplies what the one before gives: the biases are stepped behind them all. */
CASE(sums_of_a_network, EVERY_WAY)
{
    lfuse_value d = h_input(h, "d", F32(64, 40), PLAIN, INTEGERS);
    static const char *const names[3][3] = {{"w0", "z0", "b0"}, {"w1", "z1", "b1"}, {"w2", "z2", "b2"}};
    for (int i = 0; i < 3; i++) {
        lfuse_value w = h_input(h, names[i][0], F32(40, 40), PLAIN, INTEGERS);
        lfuse_value z = h_input(h, names[i][1], F32(64, 40), PLAIN, INTEGERS);
        lfuse_value b = h_input(h, names[i][2], F32(40), PLAIN, NORMAL);
        d = lfuse_where(lfuse_gt(z, lfuse_constant(h_graph(h), 0)), lfuse_matmul(d, w), lfuse_constant(h_graph(h), 0));
        h_update(h, b, lfuse_sub(b, lfuse_mul(summed(d), h_scalar(h, names[i][0] + 1, 0.25))));
    }
    h_output(h, "dx", d, F32(64, 40), PLAIN);
    h_expect_same_bits(h);
}

/* Of halves the sum is formed in f32, and rounded once. */
CASE(sums_rounded, TWO_WAYS)
{
    lfuse_value d = h_input(h, "d", F16(513, 24), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F16(24, 72), PLAIN, INTEGERS);
    lfuse_value z = h_input(h, "z", F16(513, 72), PLAIN, NORMAL);
    const lfuse_value dz = lfuse_mul(lfuse_matmul(d, w), z);
    h_output(h, "dz", dz, F16(513, 72), PLAIN);
    h_output(h, "db", summed(dz), F16(72), PLAIN);
}

/* No rows, whose sums are 0. */
CASE(sums_of_nothing, TWO_WAYS)
{
    const lfuse_size m = h_size(h, "m", 0, 64, 0);
    lfuse_value x = h_input(h, "x", F32(m, 16), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(16, 40), PLAIN, INTEGERS);
    h_output(h, "s", summed(lfuse_matmul(x, w)), F32(40), PLAIN);
    h_expect_same_bits(h);
}
