/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups along any axis, slices by their ends, edges and mirrors, powers of integers, activations with parameters. */
#include "tests/cases/cases.h"

static lfuse_value matrix(harness *h, const char *name, int64_t m, int64_t n)
{
    return h_input(h, name, F32(m, n), PLAIN, NORMAL);
}

/* ---- element by element ---- */

static void take_of(harness *h, lfuse_type type, lfuse_type index, int axis, harness_layout layout, int64_t low,
                    int64_t high)
{
    lfuse_size shape[3] = {7, 9, 18};
    lfuse_value table = h_input(h, "table", type, 3, shape, layout, NASTY), at;
    shape[axis] = 11;
    at = h_indices(h, "at", index, 3, shape, low, high);
    h_output(h, "y", lfuse_take_along(table, axis, at, LFUSE_INDEX_PLAIN), type, 3, shape, PLAIN);
    h_output(h, "z", lfuse_take_along(table, axis - 3, at, LFUSE_INDEX_FROM_END), type, 3, shape, layout);
    h_expect_same_bits(h); /* one launch or two, as the device's argument block takes both kernels or does not */
}

CASE(take_first, EXACT) { take_of(h, LFUSE_F32, LFUSE_I32, 0, PLAIN, -7, 6); }
CASE(take_middle, EVERY_WAY) { take_of(h, LFUSE_F32, LFUSE_I64, 1, STRIDED, 0, 8); }
CASE(take_last, EXACT) { take_of(h, LFUSE_F32, LFUSE_I32, 2, OFFSET, -18, 17); }
CASE(take_f16, 0) { take_of(h, LFUSE_F16, LFUSE_I64, 2, PLAIN, -18, 17); }
CASE(take_f64, 0) { take_of(h, LFUSE_F64, LFUSE_I32, 0, PLAIN, 0, 6); }
CASE(take_i8, EXACT) { take_of(h, LFUSE_I8, LFUSE_I32, 1, PLAIN, -9, 8); }
CASE(take_bool, 0) { take_of(h, LFUSE_BOOL, LFUSE_I32, 2, PLAIN, -18, 17); }
CASE(take_out_of_range, EXACT) { take_of(h, LFUSE_F32, LFUSE_I64, 1, PLAIN, -13, 12); }

/* What repeats is neither copied nor stored. */
CASE(take_with_repetitions, EVERY_WAY)
{
    lfuse_value table = h_input(h, "table", F32(1, 9, 18), PLAIN, NORMAL);
    lfuse_value at = h_indices(h, "at", I32(5, 4, 1), 0, 8);
    h_output(h, "y", lfuse_take_along(table, 1, at, LFUSE_INDEX_PLAIN), F32(5, 4, 18), PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

/* Sorting by a permutation, and back: the table is computed, the indices too, and rows are made of the result. */
CASE(take_then_work, EVERY_WAY)
{
    lfuse_value x = matrix(h, "x", 33, 64), at = h_indices(h, "at", I32(33, 40), 0, 63);
    lfuse_value y = lfuse_take_along(x, 1, at, LFUSE_INDEX_PLAIN);
    h_output(h, "y", lfuse_softmax(y, 1, (const int[]){1}), F32(33, 40), PLAIN);
    h_output(h, "sum", lfuse_sum(y, 1, (const int[]){0}, 0), F32(40), PLAIN);
}

CASE(take_what_is_computed, EVERY_WAY)
{
    lfuse_value x = matrix(h, "x", 20, 31), last = lfuse_argmax(x, 1, (const int[]){1}, 1);
    lfuse_value turned = lfuse_mul(lfuse_transpose(x), lfuse_constant(h_graph(h), 2));
    h_output(h, "most", lfuse_take_along(x, 1, last, LFUSE_INDEX_PLAIN), F32(20, 1), PLAIN);
    h_output(h, "turned", lfuse_take_along(turned, 0, lfuse_transpose(last), LFUSE_INDEX_PLAIN), F32(1, 20), PLAIN);
    h_output(h, "view", lfuse_take_along(lfuse_flip(x, 1, (const int[]){1}), 1, last, LFUSE_INDEX_PLAIN), F32(20, 1),
             PLAIN);
    h_expect_same_bits(h);
}

/* Indices that are joined, along the axis and along another one; the result in another shape. */
CASE(take_by_parts, EVERY_WAY)
{
    lfuse_value x = matrix(h, "x", 12, 15), i = h_indices(h, "i", I32(12, 4), 0, 14);
    lfuse_value k = h_indices(h, "k", I32(12, 5), 0, 14), along[2] = {i, k};
    lfuse_value a = h_indices(h, "a", I32(5, 6), 0, 14);
    lfuse_value b = h_indices(h, "b", I32(7, 6), 0, 14), across[2] = {a, b};
    lfuse_value y = lfuse_take_along(x, 1, lfuse_concat(2, along, 1), LFUSE_INDEX_PLAIN);
    lfuse_value z = lfuse_take_along(x, 1, lfuse_concat(2, across, 0), LFUSE_INDEX_PLAIN);
    h_output(h, "y", lfuse_reshape(lfuse_neg(y), SHAPE(4, 3, 9)), F32(4, 3, 9), PLAIN);
    h_output(h, "z", lfuse_transpose(z), F32(6, 12), PLAIN);
    h_expect_same_bits(h);
}

CASE(take_of_sizes, EXACT)
{
    lfuse_size n = h_size(h, "n", 1, 60, 23), m = h_size(h, "m", 0, INT64_C(1) << 40, 13);
    lfuse_value x = h_input(h, "x", F32(n, m), PLAIN, NORMAL);
    lfuse_value i = h_indices(h, "i", I32(n, 8), -13, 12);
    lfuse_value k = h_indices(h, "k", I32(6), -13, 12);
    h_output(h, "y", lfuse_take_along(x, 1, i, LFUSE_INDEX_FROM_END), F32(n, 8), PLAIN);
    h_output(h, "z", lfuse_index_select(x, 1, k, LFUSE_INDEX_FROM_END), F32(n, 6), PLAIN);
    h_expect_same_bits(h);
}

/* ---- rows of any axis ---- */

static void select_of(harness *h, int axis, harness_layout layout)
{
    const lfuse_size extents[3] = {7, 9, 18};
    lfuse_value table = h_input(h, "table", LFUSE_F32, 3, extents, layout, NASTY);
    lfuse_value at = h_indices(h, "at", I32(4, 3), -1, extents[axis] - 1);
    lfuse_size shape[4];
    for (int i = 0, own = 0; i < 4; i++) {
        shape[i] = i == axis ? 4 : i == axis + 1 ? 3 : extents[own];
        own += i != axis;
    }
    h_output(h, "y", lfuse_index_select(table, axis, at, LFUSE_INDEX_PLAIN), LFUSE_F32, 4, shape, PLAIN);
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

CASE(select_from_end, EXACT)
{
    lfuse_value x = matrix(h, "x", 12, 31), at = h_indices(h, "at", I64(20), -33, 32);
    h_output(h, "y", lfuse_index_select(x, 1, at, LFUSE_INDEX_FROM_END), F32(12, 20), PLAIN);
    h_expect_same_bits(h);
}

CASE(select_first, EXACT) { select_of(h, 0, PLAIN); }
CASE(select_middle, EVERY_WAY) { select_of(h, 1, STRIDED); }
CASE(select_last, EXACT) { select_of(h, 2, OFFSET); }

/* ---- slices and padding ---- */

CASE(slices_by_their_ends, 0)
{
    lfuse_value x = matrix(h, "x", 21, 50);
    h_output(h, "a", lfuse_neg(lfuse_slice_range(x, 0, -5, 100, 1)), F32(5, 50), PLAIN);
    h_output(h, "b", lfuse_neg(lfuse_slice_range(x, 1, LFUSE_OPEN, LFUSE_OPEN, -3)), F32(21, 17), PLAIN);
    h_output(h, "c", lfuse_slice_range(x, 1, 7, 3, 1), F32(21, 0), PLAIN);
    h_expect_same_bits(h);
}

static void edges_of(harness *h, lfuse_type type)
{
    lfuse_value x = h_input(h, "x", TYPED(type, 5, 8), PLAIN, NASTY);
    h_output(h, "edge", lfuse_pad_edge(x, LFUSE_DIMS(2, 3), LFUSE_DIMS(1, 0)), TYPED(type, 8, 11), PLAIN);
    h_output(h, "mirror", lfuse_pad_reflect(x, LFUSE_DIMS(4, 3), LFUSE_DIMS(1, 7)), TYPED(type, 10, 18), STRIDED);
    h_output(h, "far", lfuse_pad_reflect(x, LFUSE_DIMS(13, 0), LFUSE_DIMS(6, 0)), TYPED(type, 24, 8), PLAIN);
    h_expect_same_bits(h);
}

CASE(edges_f32, EVERY_WAY) { edges_of(h, LFUSE_F32); }
CASE(edges_bf16, 0) { edges_of(h, LFUSE_BF16); }
CASE(edges_u8, EXACT) { edges_of(h, LFUSE_U8); }

CASE(edges_of_sizes, 0)
{
    lfuse_size n = h_size(h, "n", 1, 60, 5), m = h_size(h, "m", 0, 20, 4);
    lfuse_value x = h_input(h, "x", LFUSE_F32, 1, &n, PLAIN, NORMAL);
    h_output(h, "edge", lfuse_pad_edge(x, &m, LFUSE_DIMS(3)), F32(5 + 4 + 3), PLAIN);
    h_output(h, "mirror", lfuse_exp(lfuse_pad_reflect(x, &m, LFUSE_DIMS(3))), F32(5 + 4 + 3), PLAIN);
}

/* ---- functions ---- */

static void powers_of(harness *h, lfuse_type type)
{
    lfuse_value a = h_input(h, "a", TYPED(type, 1003), PLAIN, NASTY);
    lfuse_value n = h_input(h, "n", TYPED(type, 1003), PLAIN, INTEGERS);
    lfuse_graph *g = h_graph(h);
    h_output(h, "y", lfuse_pow(a, n), TYPED(type, 1003), PLAIN);
    h_output(h, "z", lfuse_powi(n, a), TYPED(type, 1003), PLAIN);
    h_output(h, "cube", lfuse_add(lfuse_pow(a, lfuse_constant(g, 3)), n), TYPED(type, 1003), PLAIN);
    h_output(h, "of", lfuse_pow(n, h_scalar(h, "e", type == LFUSE_U8 ? 5 : -3)), TYPED(type, 1003), PLAIN);
    h_expect_same_bits(h);
}

CASE(powers_i8, EXACT) { powers_of(h, LFUSE_I8); }
CASE(powers_u8, EXACT) { powers_of(h, LFUSE_U8); }
CASE(powers_i32, EXACT) { powers_of(h, LFUSE_I32); }
CASE(powers_i64, EXACT) { powers_of(h, LFUSE_I64); }

/* In a row kernel, and of one element a row. */
CASE(powers_in_rows, EXACT)
{
    lfuse_value a = h_input(h, "a", I32(9, 70), PLAIN, INTEGERS);
    lfuse_value top = lfuse_amax(a, 1, (const int[]){1}, 1);
    h_output(h, "y", lfuse_sum(lfuse_pow(a, top), 1, (const int[]){1}, 0), I64(9), PLAIN);
    h_expect_same_bits(h);
}

static void activations_of(harness *h, lfuse_type type)
{
    lfuse_value x = h_input(h, "x", TYPED(type, 2003), PLAIN, NASTY);
    lfuse_value slope = h_input(h, "slope", TYPED(type, 2003), PLAIN, POSITIVE);
    lfuse_graph *g = h_graph(h);
    h_output(h, "s", lfuse_hardsigmoid_with(x, lfuse_constant(g, 0.2), lfuse_constant(g, 0.5)), TYPED(type, 2003),
             PLAIN);
    h_output(h, "e", lfuse_selu_with(x, slope, h_scalar(h, "gamma", 1.25)), TYPED(type, 2003), PLAIN);
}

CASE(activations_f32, 0) { activations_of(h, LFUSE_F32); }
CASE(activations_f16, 0) { activations_of(h, LFUSE_F16); }
CASE(activations_f64, 0) { activations_of(h, LFUSE_F64); }
