/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the members of lists: every member its own sizes, and what follows in the same kernel. */
#include "tests/cases/cases.h"

/* One of several blocks, several matrices, no rows, no columns, nothing to add up, one element. */
#define SOME 7
static const int64_t left[SOME][3] = {{1, 70, 33}, {2, 5, 9}, {1, 0, 4}, {1, 3, 4}, {1, 4, 0}, {1, 1, 1}, {1, 13, 64}};
static const int64_t right[SOME][3] = {{1, 33, 140}, {2, 9, 7}, {1, 4, 5}, {1, 4, 0}, {1, 0, 6}, {1, 1, 1},
                                       {1, 64, 36}};
static const int64_t both[SOME][3] = {{1, 70, 140}, {2, 5, 7}, {1, 0, 5}, {1, 3, 0}, {1, 4, 6}, {1, 1, 1},
                                      {1, 13, 36}};
static const int64_t inner[SOME][3] = {{1, 140, 140}, {2, 7, 7}, {1, 5, 5}, {1, 0, 0}, {1, 6, 6}, {1, 1, 1},
                                       {1, 36, 36}};
static const int64_t rows[SOME] = {70, 10, 0, 3, 4, 1, 13}, columns[SOME] = {140, 14, 5, 0, 6, 1, 36};

static void grouped_of(harness *h, lfuse_type type, harness_data data)
{
    lfuse_value a = h_matrices(h, "a", type, SOME, left, data), b = h_matrices(h, "b", type, SOME, right, data);
    h_matrices_output(h, "c", lfuse_matmul(a, b), type, SOME, both);
    h_expect_launches(h, 1);
}

CASE(grouped_f32, 0) { grouped_of(h, LFUSE_F32, NORMAL); }
CASE(grouped_f64, TWO_WAYS) { grouped_of(h, LFUSE_F64, NORMAL); }

/* Bias by column and by row, a residual that is updated, a number of each member, the sums beside the result. */
CASE(grouped_epilogue, EXACT | EVERY_WAY)
{
    lfuse_value a = h_matrices(h, "a", LFUSE_F32, SOME, left, INTEGERS);
    lfuse_value b = h_matrices(h, "b", LFUSE_F32, SOME, right, INTEGERS);
    lfuse_value bias = h_lines(h, "bias", LFUSE_F32, LFUSE_RANK_COLUMNS, SOME, columns, INTEGERS);
    lfuse_value shift = h_lines(h, "shift", LFUSE_F32, LFUSE_RANK_ROWS, SOME, rows, INTEGERS);
    lfuse_value r = h_matrices(h, "r", LFUSE_F32, SOME, both, INTEGERS), c = lfuse_matmul(a, b);
    h_matrices_output(h, "sums", c, LFUSE_F32, SOME, both);
    h_update(h, r, lfuse_add(lfuse_relu(lfuse_add(lfuse_mul(c, h_scalar(h, "scale", 0.5)), bias)),
                             lfuse_mul(shift, r)));
    h_expect_same_bits(h);
    h_expect_launches(h, 1);
}

CASE(grouped_f16, TWO_WAYS)
{
    lfuse_value a = h_matrices(h, "a", LFUSE_F16, SOME, left, NORMAL);
    lfuse_value b = h_matrices(h, "b", LFUSE_F16, SOME, right, NORMAL);
    lfuse_value bias = h_lines(h, "bias", LFUSE_F16, LFUSE_RANK_COLUMNS, SOME, columns, NORMAL);
    h_matrices_output(h, "y", lfuse_relu(lfuse_add(lfuse_matmul(a, b), bias)), LFUSE_F16, SOME, both);
}

/* The sums as they are formed, with what follows in f32; and of two types, the second one's matrices as [n, k]. */
CASE(grouped_wide, TWO_WAYS)
{
    lfuse_value a = h_matrices(h, "a", LFUSE_F16, SOME, left, NORMAL);
    lfuse_value b = h_matrices(h, "b", LFUSE_F16, SOME, right, NORMAL);
    lfuse_value bias = h_lines(h, "bias", LFUSE_F32, LFUSE_RANK_COLUMNS, SOME, columns, NORMAL);
    lfuse_value c = lfuse_matmul_as(a, b, LFUSE_F32, LFUSE_PRECISION_FULL);
    h_matrices_output(h, "y", lfuse_relu(lfuse_add(c, bias)), LFUSE_F32, SOME, both);
}

CASE(grouped_mixed, TWO_WAYS)
{
    lfuse_value a = h_matrices(h, "a", LFUSE_F32, SOME, both, NORMAL);
    lfuse_value b = h_matrices(h, "b", LFUSE_BF16, SOME, right, NORMAL);
    h_matrices_output(h, "c", lfuse_member_matmul_as(a, 0, b, 1, LFUSE_F16, LFUSE_PRECISION_FULL), LFUSE_F16, SOME,
                      left);
    h_expect_launches(h, 1);
}

CASE(grouped_fp8, TWO_WAYS)
{
    lfuse_value a = h_matrices(h, "a", LFUSE_E5M2, SOME, both, NORMAL);
    lfuse_value b = h_matrices(h, "b", LFUSE_E4M3, SOME, right, NORMAL);
    h_matrices_output(h, "c", lfuse_member_matmul_as(a, 0, b, 1, LFUSE_F32, LFUSE_PRECISION_FULL), LFUSE_F32, SOME,
                      left);
}

/*
 * What tensor cores multiply, where a device has them: members whose rows are whole chunks of 16 bytes beside others
 * whose are not, which are packed by a launch in front; several matrices, no rows, nothing to add up. Rows of more than
 * one tile.
 */
#define UNITS 6
static const int64_t wide_left[UNITS][3] = {{1, 200, 136}, {2, 40, 72}, {1, 33, 131}, {1, 0, 8}, {1, 16, 0},
                                            {1, 136, 64}};
static const int64_t wide_right[UNITS][3] = {{1, 136, 264}, {2, 72, 48}, {1, 131, 65}, {1, 8, 8}, {1, 0, 24},
                                             {1, 64, 8}};
static const int64_t wide_both[UNITS][3] = {{1, 200, 264}, {2, 40, 48}, {1, 33, 65}, {1, 0, 8}, {1, 16, 24},
                                            {1, 136, 8}};
static const int64_t wide_turned[UNITS][3] = {{1, 264, 200}, {2, 48, 40}, {1, 65, 33}, {1, 8, 0}, {1, 24, 16},
                                              {1, 8, 136}};
static const int64_t wide_columns[UNITS] = {264, 96, 65, 8, 24, 8};

static void grouped_units(harness *h, lfuse_type type)
{
    lfuse_value a = h_matrices(h, "a", type, UNITS, wide_left, NORMAL);
    lfuse_value b = h_matrices(h, "b", type, UNITS, wide_right, NORMAL);
    lfuse_value bias = h_lines(h, "bias", type, LFUSE_RANK_COLUMNS, UNITS, wide_columns, NORMAL);
    h_matrices_output(h, "y", lfuse_gelu(lfuse_add(lfuse_matmul(a, b), bias)), type, UNITS, wide_both);
}

CASE(grouped_units_f16, TWO_WAYS) { grouped_units(h, LFUSE_F16); }
CASE(grouped_units_bf16, 0) { grouped_units(h, LFUSE_BF16); }

/* The products of a backward pass: every way of lying in memory but the one above. */
CASE(grouped_units_turned, EXACT)
{
    lfuse_value a = h_matrices(h, "a", LFUSE_F16, UNITS, wide_left, INTEGERS);
    lfuse_value b = h_matrices(h, "b", LFUSE_F16, UNITS, wide_right, INTEGERS);
    lfuse_value dc = h_matrices(h, "dc", LFUSE_F16, UNITS, wide_both, INTEGERS);
    h_matrices_output(h, "da", lfuse_member_matmul_as(dc, 0, b, 1, LFUSE_F32, LFUSE_PRECISION_FULL), LFUSE_F32, UNITS,
                      wide_left);
    h_matrices_output(h, "db", lfuse_member_matmul_as(a, 1, dc, 0, LFUSE_F32, LFUSE_PRECISION_FULL), LFUSE_F32, UNITS,
                      wide_right);
    h_matrices_output(h, "ct", lfuse_member_matmul_as(b, 1, a, 1, LFUSE_F32, LFUSE_PRECISION_FULL), LFUSE_F32, UNITS,
                      wide_turned);
    h_expect_same_bits(h);
}

/* Whole chunks alone: nothing is packed. */
CASE(grouped_units_whole, 0)
{
    enum { WHOLE = 2 /* the first members */ };
    lfuse_value a = h_matrices(h, "a", LFUSE_F16, WHOLE, wide_left, NORMAL);
    lfuse_value b = h_matrices(h, "b", LFUSE_F16, WHOLE, wide_right, NORMAL);
    h_matrices_output(h, "y", lfuse_relu(lfuse_matmul(a, b)), LFUSE_F16, WHOLE, wide_both);
    h_expect_launches(h, 1);
}

/* Parts of larger matrices: leading dimensions, of every second member, on both sides and of the result. */
CASE(grouped_rows, EXACT)
{
    lfuse_value a = h_rows(h, "a", LFUSE_F32, SOME, left, INTEGERS),
                b = h_rows(h, "b", LFUSE_F32, SOME, right, INTEGERS);
    h_rows_output(h, "c", lfuse_matmul(a, b), LFUSE_F32, SOME, both);
    h_rows_output(h, "d", lfuse_member_matmul(b, 1, b, 0), LFUSE_F32, SOME, inner);
    h_expect_same_bits(h);
    h_expect_launches(h, 2);
}

/* The products of a backward pass, of what is computed on the way, and reduced: sizes that no list tells. */
CASE(grouped_turned, EXACT)
{
    lfuse_value a = h_matrices(h, "a", LFUSE_F32, SOME, left, INTEGERS);
    lfuse_value b = h_matrices(h, "b", LFUSE_F32, SOME, right, INTEGERS), c = lfuse_relu(lfuse_matmul(lfuse_neg(a), b));
    h_matrices_output(h, "da", lfuse_member_matmul(c, 0, b, 1), LFUSE_F32, SOME, left);
    h_matrices_output(h, "db", lfuse_member_matmul(a, 1, c, 0), LFUSE_F32, SOME, right);
    h_list_output(h, "dbias", lfuse_member_column_sum(c), LFUSE_F32, SOME, columns);
    h_expect_same_bits(h);
}
