/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of matrices: sums of rows and columns, and what repeats beside them. */
#include "tests/cases/cases.h"

#define SOME 6
static const int64_t some[SOME][3] = {{1, 3, 5}, {2, 40, 33}, {1, 1, 2000}, {1, 0, 7}, {1, 1030, 3}, {3, 1, 1}};
static const int64_t rows[SOME] = {3, 80, 1, 0, 1030, 3}, columns[SOME] = {5, 66, 2000, 7, 3, 3};
static const int64_t matrices[SOME] = {1, 2, 1, 1, 1, 3};

static void sums(harness *h, lfuse_type type)
{
    lfuse_value a = h_matrices(h, "a", type, SOME, some, NORMAL), r = lfuse_member_row_sum(a);
    h_list_output(h, "rows", r, type, SOME, rows);
    h_list_output(h, "columns", lfuse_member_column_sum(a), type, SOME, columns);
    h_list_output(h, "matrices", lfuse_member_row_sum(r), type, SOME, matrices);
    h_expect_same_bits(h);
}

CASE(lines_f32, EXACT) { sums(h, LFUSE_F32); }
CASE(lines_f16, EXACT) { sums(h, LFUSE_F16); }

CASE(lines_integers, EXACT)
{
    lfuse_value a = h_matrices(h, "a", LFUSE_I32, SOME, some, INTEGERS);
    h_list_output(h, "rows", lfuse_member_row_sum(a), LFUSE_I64, SOME, rows);
    h_list_output(h, "columns", lfuse_member_column_sum(a), LFUSE_I64, SOME, columns);
    h_expect_same_bits(h);
}

/* Numbers of rows, of columns and of matrices in functions of matrices, and those of matrices beside the others. */
CASE(lines_beside, EXACT)
{
    lfuse_value a = h_matrices(h, "a", LFUSE_F32, SOME, some, NORMAL), r = lfuse_member_row_sum(a);
    lfuse_value c = lfuse_member_column_sum(a), m = lfuse_member_row_sum(r);
    h_matrices_output(h, "with rows", lfuse_sub(a, r), LFUSE_F32, SOME, some);
    h_matrices_output(h, "with columns", lfuse_mul(c, a), LFUSE_F32, SOME, some);
    h_matrices_output(h, "with both", lfuse_add(lfuse_add(a, r), lfuse_add(a, c)), LFUSE_F32, SOME, some);
    h_list_output(h, "rows with matrices", lfuse_sub(m, r), LFUSE_F32, SOME, rows);
    h_list_output(h, "columns with matrices", lfuse_add(c, m), LFUSE_F32, SOME, columns);
    h_expect_same_bits(h);
}

/* A factored second moment: its numbers are states, and the matrices are divided by what they give. */
CASE(lines_factored, EXACT | EVERY_WAY)
{
    lfuse_value g = h_matrices(h, "g", LFUSE_F32, SOME, some, NORMAL), one = lfuse_constant(h_graph(h), 1);
    lfuse_value r = h_lines(h, "r", LFUSE_F32, LFUSE_RANK_ROWS, SOME, rows, POSITIVE);
    lfuse_value c = h_lines(h, "c", LFUSE_F32, LFUSE_RANK_COLUMNS, SOME, columns, POSITIVE);
    lfuse_value keep = h_scalar(h, "keep", 0.75), squares = lfuse_mul(g, g), fresh_r, fresh_c;
    fresh_r = lfuse_lerp(r, lfuse_member_row_sum(squares), lfuse_sub(one, keep));
    fresh_c = lfuse_lerp(c, lfuse_member_column_sum(squares), lfuse_sub(one, keep));
    h_update(h, r, fresh_r);
    h_update(h, c, fresh_c);
    h_update(h, g, lfuse_div(lfuse_div(g, lfuse_sqrt(fresh_r)), lfuse_sqrt(fresh_c)));
    h_expect_same_bits(h);
}
