/* SPDX-License-Identifier: Apache-2.0 */
/* Views and joins. Their elements are copied, so that bits are equal on every way. */
#include "tests/cases/cases.h"

static lfuse_value twice(harness *h, lfuse_value v) { return lfuse_mul(v, lfuse_constant(h_graph(h), 2)); }

static lfuse_value matrix(harness *h, const char *name, int64_t m, int64_t n)
{
    return h_input(h, name, F32(m, n), PLAIN, NORMAL);
}

/* ---- slices ---- */

CASE(slices, EXACT)
{
    lfuse_value x = matrix(h, "x", 21, 50);
    h_output(h, "rows", twice(h, lfuse_slice(x, 0, 3, 7, 1)), F32(7, 50), PLAIN);
    h_output(h, "steps", twice(h, lfuse_slice(x, 1, 1, 16, 3)), F32(21, 16), PLAIN);
    h_output(h, "back", twice(h, lfuse_slice(x, 1, -1, 25, -2)), F32(21, 25), PLAIN);
    h_output(h, "one", lfuse_slice(x, 0, 20, 1, 1), F32(1, 50), PLAIN);
    h_output(h, "none", lfuse_slice(x, 0, 20, 0, 1), F32(0, 50), PLAIN);
    h_expect_same_bits(h);
}

CASE(flips, EXACT)
{
    static const int both[2] = {0, -1};
    lfuse_value x = matrix(h, "x", 9, 33);
    h_output(h, "y", lfuse_add(x, lfuse_flip(x, 2, both)), F32(9, 33), PLAIN);
    h_output(h, "all", lfuse_flip(x, LFUSE_ALL_AXES, NULL), F32(9, 33), STRIDED);
    h_expect_same_bits(h);
}

CASE(flip_of_a_size, 0)
{
    static const int first[1] = {0};
    lfuse_size n = h_size(h, "n", 0, 40, 17);
    lfuse_value x = h_input(h, "x", F32(n, 5), PLAIN, NORMAL);
    h_output(h, "y", twice(h, lfuse_flip(x, 1, first)), F32(n, 5), PLAIN);
    h_expect_same_bits(h);
}

CASE(slice_of_slices, EVERY_WAY)
{
    static const int axes[2] = {1, 0};
    lfuse_value x = h_input(h, "x", F32(40, 30), OFFSET, NORMAL);
    lfuse_value y = lfuse_slice(lfuse_permute(lfuse_slice(x, 0, 38, 19, -2), axes), 1, 1, 6, 3);
    h_output(h, "y", twice(h, y), F32(30, 6), PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

/* ---- shapes ---- */

CASE(reshapes, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(4, 6, 10), PLAIN, NORMAL);
    h_output(h, "merged", twice(h, lfuse_flatten(x, 0, 1)), F32(24, 10), PLAIN);
    h_output(h, "split", twice(h, lfuse_reshape(x, SHAPE(4, 2, 3, LFUSE_REST))), F32(4, 2, 3, 10), PLAIN);
    h_output(h, "odd", twice(h, lfuse_reshape(x, SHAPE(15, 16))), F32(15, 16), PLAIN);
    h_output(h, "squeezed", lfuse_squeeze(lfuse_unsqueeze(x, 1), 1), F32(4, 6, 10), PLAIN);
    h_expect_same_bits(h);
}

/* No walk of the memory shows these: they are copied first. */
CASE(reshapes_that_copy, EVERY_WAY)
{
    lfuse_value x = matrix(h, "x", 12, 18);
    lfuse_value sum = lfuse_add(lfuse_reshape(lfuse_transpose(x), SHAPE(12, 18)), x);
    h_output(h, "y", sum, F32(12, 18), PLAIN);
    h_output(h, "z", lfuse_flatten(lfuse_slice(x, 1, 0, 7, 2), 0, 1), F32(84), PLAIN);
    h_expect_same_bits(h);
}

CASE(reshape_of_strides, EXACT)
{
    lfuse_value x = h_input(h, "x", F32(8, 15), STRIDED, NORMAL);
    h_output(h, "split", twice(h, lfuse_reshape(x, SHAPE(8, 3, 5))), F32(8, 3, 5), PLAIN);
    h_output(h, "flat", twice(h, lfuse_flatten(x, 0, 1)), F32(120), PLAIN);
    h_expect_same_bits(h);
}

CASE(reshape_of_sizes, 0)
{
    lfuse_size m = h_size(h, "m", 1, 9, 5), n = h_size(h, "n", 0, 50, 11);
    lfuse_value x = h_input(h, "x", F32(m, n, 4), PLAIN, NORMAL);
    lfuse_value y = lfuse_exp(lfuse_flatten(x, 0, 1));
    h_output(h, "y", lfuse_reshape(y, SHAPE(m, n, 4)), F32(m, n, 4), PLAIN);
}

/* ---- joins ---- */

CASE(concats, EVERY_WAY)
{
    lfuse_value a = matrix(h, "a", 5, 20), b = matrix(h, "b", 8, 20), none = matrix(h, "none", 0, 20);
    lfuse_value parts[4] = {a, none, lfuse_exp(b), a};
    lfuse_value wide[2] = {lfuse_transpose(a), lfuse_transpose(twice(h, b))};
    h_output(h, "tall", lfuse_concat(4, parts, 0), F32(18, 20), PLAIN);
    h_output(h, "wide", lfuse_concat(2, wide, -1), F32(20, 13), PLAIN);
}

CASE(concat_then_work, EVERY_WAY)
{
    lfuse_value a = matrix(h, "a", 6, 7), b = matrix(h, "b", 6, 12), c = matrix(h, "c", 6, 19);
    lfuse_value parts[2] = {a, lfuse_neg(b)};
    h_output(h, "y", lfuse_mul(lfuse_add(lfuse_concat(2, parts, 1), c), c), F32(6, 19), PLAIN);
    h_expect_same_bits(h);
}

CASE(concat_into_strides, 0)
{
    lfuse_value a = matrix(h, "a", 6, 7), b = matrix(h, "b", 3, 7);
    lfuse_value parts[2] = {twice(h, a), lfuse_abs(b)};
    h_output(h, "y", lfuse_concat(2, parts, 0), F32(9, 7), STRIDED);
    h_output(h, "part", parts[0], F32(6, 7), OFFSET);
    h_expect_same_bits(h);
}

CASE(concat_of_sizes, EXACT)
{
    lfuse_size m = h_size(h, "m", 0, 9, 0), n = h_size(h, "n", 1, 50, 23);
    lfuse_value a = h_input(h, "a", F32(m, 6), PLAIN, NORMAL);
    lfuse_value b = h_input(h, "b", F32(n, 6), PLAIN, NORMAL);
    lfuse_value parts[3] = {b, twice(h, a), twice(h, b)};
    lfuse_value both = lfuse_concat(3, parts, 0);
    lfuse_size rows = lfuse_size_add(h_graph(h), lfuse_size_add(h_graph(h), n, m), n);
    h_output(h, "y", lfuse_slice(both, 0, lfuse_size_add(h_graph(h), n, m), n, 1), F32(n, 6), PLAIN);
    h_output(h, "sum", lfuse_sum(both, 1, (const int[]){0}, 0), F32(6), PLAIN);
    (void)rows;
    h_expect_same_bits(h);
}

CASE(splits_and_stacks, EVERY_WAY)
{
    lfuse_value x = matrix(h, "x", 10, 24), parts[4], others[2];
    lfuse_chunk(x, 1, 4, parts);
    for (int i = 0; i < 4; i++) parts[i] = i % 2 ? twice(h, parts[i]) : lfuse_neg(parts[i]);
    h_output(h, "first", lfuse_stack(4, parts, 0), F32(4, 10, 6), PLAIN);
    h_output(h, "last", lfuse_stack(4, parts, -1), F32(10, 6, 4), PLAIN);
    lfuse_split(x, 0, 2, LFUSE_DIMS(3, 7), others);
    h_output(h, "low", others[0], F32(3, 24), PLAIN);
    h_output(h, "high", twice(h, others[1]), F32(7, 24), PLAIN);
    h_expect_same_bits(h);
}

CASE(chunks_with_a_rest, EXACT)
{
    lfuse_value x = matrix(h, "x", 10, 23), parts[4];
    if (lfuse_chunk(x, 1, 4, parts) != 4) return; /* 6 6 6 5: without outputs the case fails */
    h_output(h, "sum", lfuse_add(parts[0], parts[2]), F32(10, 6), PLAIN);
    h_output(h, "rest", twice(h, parts[3]), F32(10, 5), PLAIN);
    h_expect_same_bits(h);
}

CASE(pads, 0)
{
    lfuse_value x = matrix(h, "x", 7, 9);
    h_output(h, "y", lfuse_pad(twice(h, x), LFUSE_DIMS(1, 0), LFUSE_DIMS(2, 5), -3), F32(10, 14), PLAIN);
    h_output(h, "z", lfuse_abs(lfuse_pad(x, NULL, LFUSE_DIMS(0, 1), -1)), F32(7, 10), PLAIN);
    h_expect_same_bits(h);
}

static void shuffle(harness *h, lfuse_type type)
{
    lfuse_value x = h_input(h, "x", TYPED(type, 11, 14), PLAIN, NASTY), parts[2];
    lfuse_chunk(x, 1, 2, parts);
    lfuse_value swapped[2] = {parts[1], lfuse_flip(parts[0], 1, (const int[]){1})};
    h_output(h, "y", lfuse_reshape(lfuse_concat(2, swapped, 1), SHAPE(22, 7)), TYPED(type, 22, 7), OFFSET);
    h_output(h, "padded", lfuse_pad(x, LFUSE_DIMS(1, 1), NULL, 1), TYPED(type, 12, 15), PLAIN);
    h_expect_same_bits(h);
}

CASE(shuffle_f16, EXACT) { shuffle(h, LFUSE_F16); }
CASE(shuffle_e4m3, 0) { shuffle(h, LFUSE_E4M3); }
CASE(shuffle_bf16, 0) { shuffle(h, LFUSE_BF16); }
CASE(shuffle_f64, 0) { shuffle(h, LFUSE_F64); }
CASE(shuffle_i8, 0) { shuffle(h, LFUSE_I8); }
CASE(shuffle_u8, 0) { shuffle(h, LFUSE_U8); }
CASE(shuffle_i32, 0) { shuffle(h, LFUSE_I32); }
CASE(shuffle_i64, EXACT) { shuffle(h, LFUSE_I64); }
CASE(shuffle_bool, 0) { shuffle(h, LFUSE_BOOL); }

/* What is read through a view is the old contents. */
CASE(update_through_views, EVERY_WAY)
{
    lfuse_value x = matrix(h, "x", 12, 8), parts[2];
    lfuse_chunk(x, 0, 2, parts);
    lfuse_value swapped[2] = {twice(h, parts[1]), parts[0]};
    h_update(h, x, lfuse_concat(2, swapped, 0));
    h_output(h, "before", lfuse_flip(x, 1, (const int[]){0}), F32(12, 8), PLAIN);
    h_expect_same_bits(h);
}

CASE(frozen_views, 0)
{
    lfuse_value w = h_frozen(h, "w", F32(6, 20), NORMAL), x = matrix(h, "x", 3, 20);
    lfuse_value parts[2] = {lfuse_slice(w, 0, 5, 2, -3), lfuse_slice(w, 0, 1, 1, 1)};
    h_output(h, "y", lfuse_add(x, twice(h, lfuse_concat(2, parts, 0))), F32(3, 20), PLAIN);
    h_expect_same_bits(h);
}

CASE(indices, 0)
{
    lfuse_value i = lfuse_index(h_graph(h), SHAPE(9, 31)), x = matrix(h, "x", 31, 9);
    h_output(h, "i", i, I64(9, 31), PLAIN);
    h_output(h, "y", lfuse_mul(lfuse_cast(lfuse_transpose(i), LFUSE_F32), x), F32(31, 9), PLAIN);
    h_expect_same_bits(h);
}

CASE(extents, 0)
{
    lfuse_size n = h_size(h, "n", 1, 50, 23);
    lfuse_value x = h_input(h, "x", LFUSE_F32, 1, &n, PLAIN, NORMAL);
    h_output(h, "y", lfuse_div(x, lfuse_extent(h_graph(h), n)), LFUSE_F32, 1, &n, PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}
