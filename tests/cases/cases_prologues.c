/* SPDX-License-Identifier: Apache-2.0 */
/* Products whose operands are pointwise work: computed where they are read, with the bits of the values' types. */
#include "tests/cases/cases.h"

/* Weights of 8 bits with a scale by column; what they multiply has one by row and a number. */
CASE(prologue_weights, EVERY_WAY)
{
    lfuse_value x = h_input(h, "x", F32(5, 150), OFFSET, INTEGERS);
    lfuse_value r = h_input(h, "r", F32(5, 1), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", I8(150, 68), PLAIN, INTEGERS);
    lfuse_value s = h_input(h, "s", F32(68), PLAIN, INTEGERS);
    lfuse_value b = h_input(h, "b", F32(68), PLAIN, INTEGERS);
    const lfuse_value left = lfuse_sub(lfuse_mul(x, h_scalar(h, "half", 0.5)), r);
    const lfuse_value right = lfuse_mul(lfuse_cast(w, LFUSE_F32), s);
    h_output(h, "y", lfuse_relu(lfuse_add(lfuse_matmul(left, right), b)), F32(5, 68), PLAIN);
    h_expect_text(h, "(right (mul (f32 w) s))");
    h_expect_same_bits(h);
}

/* Stored by columns of the result, so that both lie along k; beyond the ends of which 12/0 is nothing that counts. */
CASE(prologue_transposed, TWO_WAYS)
{
    lfuse_value x = h_input(h, "x", F32(11, 45), PLAIN, INTEGERS);
    lfuse_value w = h_indices(h, "w", I32(70, 45), 1, 4);
    lfuse_value s = h_input(h, "s", F32(70, 1), PLAIN, INTEGERS);
    const lfuse_value of = lfuse_div(lfuse_constant(h_graph(h), 12), lfuse_cast(w, LFUSE_F32));
    h_output(h, "y", lfuse_matmul(x, lfuse_transpose(lfuse_mul(of, s))), F32(11, 70), PLAIN);
    h_expect_text(h, "(right ");
    h_expect_same_bits(h);
}

/* The left operand is the wide one, once as it is and once transposed, with gaps; the right one is few columns. */
static void prologue_left(harness *h, bool turned)
{
    const lfuse_size extents[] = {turned ? 53 : 90, turned ? 90 : 53};
    lfuse_value d = h_input(h, "d", LFUSE_F32, 2, extents, PLAIN, INTEGERS);
    lfuse_value z = h_input(h, "z", LFUSE_F32, 2, extents, STRIDED, INTEGERS);
    lfuse_value w = h_input(h, "w", BF16(53, 12), STRIDED, INTEGERS);
    const lfuse_value zero = lfuse_constant(h_graph(h), 0), left = lfuse_where(lfuse_gt(z, zero), d, zero);
    const lfuse_value right = lfuse_add(lfuse_cast(w, LFUSE_F32), lfuse_constant(h_graph(h), 1));
    h_output(h, "y", lfuse_matmul(turned ? lfuse_transpose(left) : left, right), F32(90, 12), STRIDED);
    h_expect_text(h, "(right (add (f32 w) 1))"); /* on CPUs the left one has a kernel */
    h_expect_same_bits(h);
}

CASE(prologue_left_plain, TWO_WAYS) { prologue_left(h, false); }
CASE(prologue_left_turned, TWO_WAYS) { prologue_left(h, true); }

/* 2049 is no f16: what is not rounded to the operand's type is seen. Of a batch whose size is known when it runs. */
CASE(prologue_rounded, TWO_WAYS)
{
    const lfuse_size batch = h_size(h, "batch", 1, 16, 3);
    lfuse_value x = h_input(h, "x", F16(batch, 400), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F16(400, 40), PLAIN, INTEGERS);
    const lfuse_value one = lfuse_constant(h_graph(h), 1), large = lfuse_constant(h_graph(h), 2048);
    const lfuse_value right = lfuse_add(lfuse_mul(w, large), one);
    h_output(h, "y", lfuse_matmul_as(x, right, LFUSE_F32, LFUSE_PRECISION_FULL), F32(batch, 40), PLAIN);
    h_expect_text(h, "(right ");
    h_expect_same_bits(h);
}

/* What the product is made of is what its result replaces: not before all of it has been read. */
CASE(prologue_update, TWO_WAYS)
{
    lfuse_value c = h_input(h, "c", F32(16, 16), PLAIN, INTEGERS);
    lfuse_value x = h_input(h, "x", F32(16, 16), PLAIN, INTEGERS);
    h_update(h, c, lfuse_matmul(x, lfuse_abs(c)));
    h_expect_same_bits(h);
}

/* Sums of nothing, of operands that nobody makes. */
CASE(prologue_of_nothing, TWO_WAYS)
{
    const lfuse_size k = h_size(h, "k", 0, 64, 0);
    lfuse_value x = h_input(h, "x", F32(4, k), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(k, 24), PLAIN, INTEGERS);
    h_output(h, "y", lfuse_matmul(x, lfuse_abs(w)), F32(4, 24), PLAIN);
    h_expect_same_bits(h);
}

/* ---- what tensor cores multiply, where a device has them ---- */

/* Of f32; the left one is no integer of the narrow type before it is rounded. */
static void prologue_converted(harness *h, lfuse_type type, harness_layout layout)
{
    lfuse_value x = h_input(h, "x", F32(13, 128), PLAIN, INTEGERS);
    lfuse_value w = h_input(h, "w", F32(128, 136), layout, INTEGERS);
    const lfuse_value one = lfuse_constant(h_graph(h), 1), large = lfuse_constant(h_graph(h), 2048);
    const lfuse_value left = lfuse_cast(lfuse_add(lfuse_mul(x, large), one), type);
    h_output(h, "y", lfuse_matmul_as(left, lfuse_cast(w, type), LFUSE_F32, LFUSE_PRECISION_FULL), F32(13, 136), PLAIN);
    h_expect_text(h, "(right ");
    h_expect_same_bits(h);
}

CASE(prologue_converted_f16, TWO_WAYS) { prologue_converted(h, LFUSE_F16, PLAIN); }
CASE(prologue_converted_bf16, TWO_WAYS) { prologue_converted(h, LFUSE_BF16, STRIDED); }
CASE(prologue_converted_offset, TWO_WAYS) { prologue_converted(h, LFUSE_F16, OFFSET); }

/* What goes back through an activation and the weights in front of it, to few columns. */
CASE(prologue_gradient, TWO_WAYS)
{
    lfuse_value d = h_input(h, "d", F16(90, 128), PLAIN, NORMAL);
    lfuse_value z = h_input(h, "z", F16(90, 128), ROWS, NORMAL);
    lfuse_value w = h_input(h, "w", F16(12, 128), PLAIN, NORMAL);
    const lfuse_value t = lfuse_tanh(z), slope = lfuse_sub(lfuse_constant(h_graph(h), 1), lfuse_mul(t, t));
    h_output(h, "y", lfuse_matmul(lfuse_mul(d, slope), lfuse_transpose(w)), F16(90, 12), PLAIN);
}
