/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle on lists of matrices: numbers of rows, columns and matrices, beside matrices and by themselves. */
#include "libfuse/members.h"
#include "tests/oracle/rig.h"

/* Two matrices of 2 x 3, a row of 4, no rows of 5. */
static const float first[] = { 1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60 }, second[] = { -1, -2, -3, -4 }, none[1];
static const void *const members[] = { first, second, none };
static const int64_t elements[] = { 12, 4, 0 };
static const lfuse__matrices matrices[] = { { 2, 2, 3, 3 }, { 1, 1, 4, 1 }, { 1, 0, 5, 2 } };
static const lfuse__oracle_input w = { .name = "w", .members = members, .elements = elements, .count = 3,
                                       .matrices = matrices };

static lfuse_value list(void)
{
    return lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_MATRIX);
}

static void expect(int result, int count, const double *wanted)
{
    const lfuse__oracle_result *r = &run.results[result];

    ck_assert_int_eq(r->count, count);
    ck_assert_int_eq(r->members, 3);
    for (int i = 0; i < count; i++) {
        ck_assert_ldouble_eq(r->value[i], (long double)wanted[i]);
        ck_assert_double_eq(r->bound[i], 0);
    }
}
#define EXPECT(result, ...) \
    expect(result, (int)(sizeof(double[]){__VA_ARGS__} / sizeof(double)), (double[]){__VA_ARGS__})

TEST_CASE("lines", .setup = make, .teardown = destroy)

TEST(sums_of_lines)
{
    const lfuse_value m = list();

    lfuse_output(g, "rows", lfuse_member_row_sum(m));
    lfuse_output(g, "columns", lfuse_member_column_sum(m));
    lfuse_output(g, "matrices", lfuse_member_row_sum(lfuse_member_row_sum(m)));
    lfuse_output(g, "again", lfuse_member_row_sum(lfuse_member_column_sum(m)));
    evaluate(&w, 1, NULL);
    EXPECT(0, 6, 15, 60, 150, -10);
    ck_assert_int_eq(run.results[0].ends[0], 4);
    ck_assert_int_eq(run.results[0].ends[2], 5);
    EXPECT(1, 5, 7, 9, 50, 70, 90, -1, -2, -3, -4, 0, 0, 0, 0, 0);
    EXPECT(2, 21, 210, -10, 0);
    EXPECT(3, 21, 210, -10, 0);
}

/* Beside matrices, beside each other through them, and numbers of matrices beside those of lines. */
TEST(lines_repeat)
{
    const lfuse_value m = list(), rows = lfuse_member_row_sum(m), columns = lfuse_member_column_sum(m);

    lfuse_output(g, "by row", lfuse_add(m, rows));
    lfuse_output(g, "by column", lfuse_sub(columns, m));
    lfuse_output(g, "rows", lfuse_sub(lfuse_member_row_sum(rows), rows));
    lfuse_output(g, "columns", lfuse_sub(columns, lfuse_member_row_sum(columns)));
    lfuse_output(g, "numbers", lfuse_mul(columns, lfuse_cast(lfuse_member_rank(m), LFUSE_F32)));
    evaluate(&w, 1, NULL);
    EXPECT(0, 7, 8, 9, 19, 20, 21, 70, 80, 90, 190, 200, 210, -11, -12, -13, -14);
    EXPECT(1, 4, 5, 6, 1, 2, 3, 40, 50, 60, 10, 20, 30, 0, 0, 0, 0);
    EXPECT(2, 15, 6, 150, 60, 0);
    EXPECT(3, -16, -14, -12, -160, -140, -120, 9, 8, 7, 6, 0, 0, 0, 0, 0);
    EXPECT(4, 15, 21, 27, 150, 210, 270, -1, -2, -3, -4, 0, 0, 0, 0, 0);
}

/* Bound as they are, as an optimizer's states. */
TEST(lines_as_inputs)
{
    static const float a[] = { 1, 2, 3, 4 }, b[] = { 5 };
    static const void *const of[] = { a, b, none };
    static const int64_t lengths[] = { 4, 1, 0 }, wrong[] = { 4, 1, 1 };
    const lfuse_value m = list(), r = lfuse_list_input(g, "r", LFUSE_F32, LFUSE_RANK_ROWS);
    lfuse__oracle_input inputs[] = { w, { .name = "r", .members = of, .elements = lengths, .count = 3 } };

    lfuse_update(r, lfuse_add(r, lfuse_member_row_mean(m)));
    lfuse_output(g, "beside", lfuse_mul(m, r));
    evaluate(inputs, 2, NULL);
    EXPECT(0, 3, 7, 23, 54, 2.5);
    EXPECT(1, 1, 2, 3, 8, 10, 12, 30, 60, 90, 160, 200, 240, -5, -10, -15, -20);
    lfuse__oracle_free(&run);
    inputs[1].elements = wrong;
    ck_assert_int_eq(lfuse__oracle_run_graph(g, inputs, 2, NULL, &run), LFUSE_ERR_SHAPE);
    inputs[1].elements = lengths;
    inputs[0].matrices = NULL; /* one row each */
    ck_assert_int_eq(lfuse__oracle_run_graph(g, inputs, 2, NULL, &run), LFUSE_ERR_SHAPE);
    memset(&run, 0, sizeof run);
}

/* One number a member, bound as it is, beside matrices, lines and flat lists. */
TEST(numbers_as_inputs)
{
    static const float a[] = { 2 }, b[] = { 3 }, c[] = { 5 };
    static const void *const of[] = { a, b, c };
    static const int64_t ones[] = { 1, 1, 1 };
    const lfuse_value m = list(), n = lfuse_list_input(g, "n", LFUSE_F32, 0);
    const lfuse_value f = lfuse_list_input(g, "f", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse__oracle_input inputs[] = {
        w, { .name = "n", .members = of, .elements = ones, .count = 3 },
        { .name = "f", .members = members, .elements = elements, .count = 3 }
    };

    lfuse_output(g, "matrices", lfuse_mul(m, n));
    lfuse_output(g, "rows", lfuse_mul(lfuse_member_row_sum(m), n));
    lfuse_output(g, "flat", lfuse_mul(n, f));
    lfuse_update(n, lfuse_add(n, n));
    evaluate(inputs, 3, NULL);
    EXPECT(0, 4, 6, 10);
    EXPECT(1, 2, 4, 6, 8, 10, 12, 20, 40, 60, 80, 100, 120, -3, -6, -9, -12);
    EXPECT(2, 12, 30, 120, 300, -30);
    EXPECT(3, 2, 4, 6, 8, 10, 12, 20, 40, 60, 80, 100, 120, -3, -6, -9, -12);
}

TEST(matrices_of_other_sizes)
{
    static const lfuse__matrices wrong[] = { { 2, 2, 3, 3 }, { 1, 1, 5, 1 }, { 1, 0, 5, 2 } };
    lfuse__oracle_input input = w;

    input.matrices = wrong;
    lfuse_output(g, "y", lfuse_member_row_sum(list()));
    SAYS(LFUSE_ERR_SHAPE, lfuse__oracle_run_graph(g, &input, 1, NULL, &run), "member 1");
}

/* A line's sum is the canonical one: the same as of a tensor's axis. */
TEST(bits_of_an_axis)
{
    enum { ROWS = 1500, COLUMNS = 3 };
    static float data[ROWS * COLUMNS];
    static const void *const one[] = { data };
    static const int64_t count[] = { ROWS * COLUMNS };
    static const lfuse__matrices shape[] = { { 1, ROWS, COLUMNS, 2 } };
    const lfuse_value x = lfuse_input(g, "x", F32(ROWS, COLUMNS));

    for (int i = 0; i < ROWS * COLUMNS; i++) data[i] = (float)(1 / (1.0 + i % 977));
    lfuse_output(g, "list", lfuse_member_column_sum(list()));
    lfuse_output(g, "tensor", lfuse_sum(x, 1, (const int[]){ 0 }, 0));
    EVALUATE({ .name = "w", .members = one, .elements = count, .count = 1,
             .matrices = shape },
             DATA("x", data, ROWS, COLUMNS));
    for (int i = 0; i < COLUMNS; i++) {
        ck_assert_ldouble_eq(run.results[0].value[i], run.results[1].value[i]);
        ck_assert_double_eq(run.results[0].bound[i], 0);
    }
}

TEST_SUITE("oracle", CK_FORK)
