/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's reductions, views and look-ups against loops over indices. */
#include "tests/oracle/rig.h"

/* ---- reductions ---- */

enum { A = 3, B = 700, C = 5 }; /* two segments in a row of B C elements, and in one of A B */

static float times(float a, float b) { return a * b; }
static float larger(float a, float b) { return a > b || a != a ? a : b; }
static float smaller(float a, float b) { return a < b || a != a ? a : b; }

static const struct {
    lfuse_value (*build)(lfuse_value a, int count, const int *axes, int keepdims);
    fold *f;
    float identity;
} folds[] = {{lfuse_sum, plus, -0.0f}, {lfuse_prod, times, 1}, {lfuse_amax, larger, -INFINITY},
             {lfuse_amin, smaller, INFINITY}};

TEST_CASE("nodes", .setup = make, .teardown = destroy)

/* Every set of axes of [A, B, C]: bit i for axis i. */
TEST_LOOP(reductions_are_canonical, 0, 7 * 4)
{
    static float x[A * B * C], row[A * B * C], got[A * B * C];
    const int set = _i % 7 + 1, which = _i / 7;
    const int extents[3] = {A, B, C};
    int axes[3], count = 0, i, j, k, at[3], results = 0;

    for (i = 0; i < 3; i++)
        if (set >> i & 1) axes[count++] = i;
    if (which == 1) lfuse__data_uniform(LFUSE_F32, x, A * B * C, 0.97, 1.03, 7);
    else lfuse__data_normal(LFUSE_F32, x, A * B * C, 3, 7);
    lfuse_output(g, "y", folds[which].build(lfuse_input(g, "x", F32(A, B, C)), count, axes, 0));
    EVALUATE(DATA("x", x, A, B, C));
    for (i = 0; i < A * B * C; i++) { /* the first element of each row, then the row */
        int length = 0;
        at[0] = i / (B * C), at[1] = i / C % B, at[2] = i % C;
        for (j = 0, k = 0; j < 3; j++) k += set >> j & 1 && at[j];
        if (k) continue;
        for (j = 0; j < A * B * C; j++) {
            const int of[3] = {j / (B * C), j / C % B, j % C};
            bool same = true;
            for (k = 0; k < 3; k++) same = same && (set >> k & 1 || of[k] == at[k]);
            if (same) row[length++] = x[j];
        }
        got[results++] = canonical(folds[which].f, folds[which].identity, row, length);
    }
    ck_assert_int_eq(run.results[0].count, results);
    for (i = 0, k = 1; i < 3; i++) k *= set >> i & 1 ? 1 : extents[i];
    ck_assert_int_eq(results, k);
    ck_exact(0, got);
    got[results / 2] = nextafterf(got[results / 2], 1e9f);
    ck_assert(!agrees(0, got));
}

TEST(integers_are_summed_in_i64)
{
    const int8_t x[6] = {127, 127, 127, -128, 5, 2};
    const int64_t sum[2] = {381, -121}, product[2] = {127 * 127 * 127, -1280};
    const lfuse_value v = lfuse_input(g, "x", I8(2, 3));

    lfuse_output(g, "s", lfuse_sum(v, 1, (const int[]){1}, 0));
    lfuse_output(g, "p", lfuse_prod(v, 1, (const int[]){1}, 0));
    EVALUATE(DATA("x", x, 2, 3));
    ck_exact(0, sum);
    ck_exact(1, product);
}

TEST(integers_wrap)
{
    const int64_t x[2] = {INT64_MAX, 2}, sum[1] = {INT64_MIN + 1}, product[1] = {-2};
    const lfuse_value v = lfuse_input(g, "x", I64(2));

    lfuse_output(g, "s", lfuse_sum(v, 1, (const int[]){0}, 0));
    lfuse_output(g, "p", lfuse_prod(v, 1, (const int[]){0}, 0));
    EVALUATE(DATA("x", x, 2));
    ck_exact(0, sum);
    ck_exact(1, product);
}

TEST(of_nothing)
{
    const float sum[2] = {0, 0}, product[2] = {1, 1};
    const lfuse_value v = lfuse_input(g, "x", F32(2, 0));

    lfuse_output(g, "s", lfuse_sum(v, 1, (const int[]){1}, 0));
    lfuse_output(g, "p", lfuse_prod(v, 1, (const int[]){1}, 0));
    EVALUATE(DATA("x", NULL, 2, 0));
    ck_exact(0, sum);
    ck_exact(1, product);
}

TEST(largest_of_a_size_that_is_zero)
{
    const lfuse_size n = lfuse_size_var(g, "n", 0, 4);

    lfuse_output(g, "y", lfuse_amax(lfuse_input(g, "x", LFUSE_F32, 1, &n), 1, (const int[]){0}, 0));
    ck_assert_int_eq(lfuse__oracle_run_graph(g, &(lfuse__oracle_input){.name = "x"}, 1, NULL, &run), LFUSE_ERR_SHAPE);
}

TEST(winners)
{
    const float x[4][4] = {{1, 3, 3, 2}, {-1, NAN, 5, NAN}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY},
                           {0, -0.0f, 0, 0}};
    const int64_t largest[4] = {1, 1, 0, 0}, smallest[4] = {0, 1, 0, 0};
    const lfuse_value v = lfuse_input(g, "x", F32(4, 4));

    lfuse_output(g, "a", lfuse_argmax(v, 1, (const int[]){1}, 0));
    lfuse_output(g, "b", lfuse_argmin(v, 1, (const int[]){1}, 0));
    EVALUATE(DATA("x", x, 4, 4));
    ck_exact(0, largest);
    ck_exact(1, smallest);
}

/* Where errors leave open which one is the largest, each of those is right, and no other. */
TEST(open_winners)
{
    const float x[5] = {-3, 1, 1.00000012f, 1, 0};

    lfuse_output(g, "a", lfuse_argmax(lfuse_exp(lfuse_input(g, "x", F32(5))), 1, (const int[]){0}, 0));
    EVALUATE(DATA("x", x, 5));
    for (int64_t i = 0; i < 5; i++) ck_assert_int_eq(agrees(0, &i), i >= 1 && i <= 3);
}

/* Errors of the elements go into the result, and not more than they have to. */
TEST(errors_of_elements)
{
    static float x[3000];
    double sum = 0, product = 1, largest = 0;
    float got[3];

    lfuse__data_uniform(LFUSE_F32, x, 3000, -0.01, 0.01, 3);
    const lfuse_value e = lfuse_exp(lfuse_input(g, "x", F32(3000)));
    lfuse_output(g, "s", lfuse_sum(e, 1, (const int[]){0}, 0));
    lfuse_output(g, "p", lfuse_prod(e, 1, (const int[]){0}, 0));
    lfuse_output(g, "m", lfuse_amax(e, 1, (const int[]){0}, 0));
    EVALUATE(DATA("x", x, 3000));
    for (int i = 0; i < 3000; i++) {
        sum += exp(x[i]);
        product *= exp(x[i]);
        if (exp(x[i]) > largest) largest = exp(x[i]);
    }
    got[0] = (float)sum, got[1] = (float)product, got[2] = (float)largest;
    for (int i = 0; i < 3; i++) {
        ck_agrees(i, &got[i]);
        ck_assert_double_gt(report.max_bound, 0);
        ck_assert_int_eq(report.open, 0);
    }
    ck_assert_double_le(run.results[0].bound[0], 40 * 0x1p-24 * sum);
    ck_assert_double_le(run.results[1].bound[0], 3000 * 10 * 0x1p-24 * product);
    ck_assert_double_le(run.results[2].bound[0], 10 * 0x1p-24 * largest);
    got[0] *= 1 + 1e-5f, got[1] *= 1.01f, got[2] *= 1 + 1e-6f;
    for (int i = 0; i < 3; i++) ck_assert(!agrees(i, &got[i]));
}

TEST(zero_times_what_may_be_infinite)
{
    const float x[2] = {-800, 89};

    lfuse_output(g, "p", lfuse_prod(lfuse_exp(lfuse_input(g, "x", F32(2))), 1, (const int[]){0}, 0));
    EVALUATE(DATA("x", x, 2));
    ck_assert(isinf(run.results[0].bound[0]));
}

/* Products of the finite elements may add up to an infinity of the other sign: NaN is then as right as infinity. */
TEST(infinities_that_may_meet)
{
    const float a[2][2] = {{-INFINITY, 3e38f}, {-INFINITY, 3}}, b[2] = {1, 2}, got[2] = {NAN, -INFINITY};

    lfuse_output(g, "y", lfuse_matmul(lfuse_input(g, "a", F32(2, 2)), lfuse_input(g, "b", F32(2, 1))));
    EVALUATE(DATA("a", a, 2, 2), DATA("b", b, 2, 1));
    ck_agrees(0, got);
}

/* ---- views ---- */

/* f of an index of the result, row-major, against the view of 0, 1, 2 ... */
static void ck_view(int result, int count, int64_t (*f)(int64_t i))
{
    int64_t got[200];

    ck_assert_int_le(count, 200);
    ck_assert_int_eq(run.results[result].count, count);
    for (int i = 0; i < count; i++) got[i] = f(i);
    ck_exact(result, got);
}

/* Of [4, 6]. */
static int64_t reshaped(int64_t i) { return i; }
static int64_t every_second_back(int64_t i) { return i / 3 * 6 + 5 - 2 * (i % 3); }
static int64_t flipped(int64_t i) { return (3 - i / 6) * 6 + i % 6; }
static int64_t joined(int64_t i) { return i % 9 < 6 ? i / 9 * 6 + i % 9 : i / 9 * 6 + (i % 9 - 6); }
static int64_t padded(int64_t i)
{
    const int64_t row = i / 7, column = i % 7 - 1;

    return row >= 4 || column < 0 ? 9 : row * 6 + column;
}

TEST(views)
{
    const lfuse_value x = lfuse_index(g, SHAPE(4, 6));
    const lfuse_value parts[2] = {x, lfuse_slice(x, 1, 0, 3, 1)};

    lfuse_output(g, "reshape", lfuse_reshape(x, SHAPE(2, 3, 4)));
    lfuse_output(g, "slice", lfuse_slice(x, 1, -1, 3, -2));
    lfuse_output(g, "flip", lfuse_flip(x, 1, (const int[]){0}));
    lfuse_output(g, "concat", lfuse_concat(2, parts, 1));
    lfuse_output(g, "pad", lfuse_pad(x, LFUSE_DIMS(0, 1), LFUSE_DIMS(2, 0), 9));
    evaluate(NULL, 0, NULL);
    ck_view(0, 24, reshaped);
    ck_view(1, 12, every_second_back);
    ck_view(2, 24, flipped);
    ck_view(3, 36, joined);
    ck_view(4, 42, padded);
}

TEST(sizes_are_followed)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, 9);
    const float x[5] = {1, 2, 3, 4, 5}, got[5] = {5, 4, 3, 2, 1}, mean[1] = {3};
    const lfuse_value v = lfuse_input(g, "x", LFUSE_F32, 1, &n);

    lfuse_output(g, "back", lfuse_flip(v, 1, (const int[]){0}));
    lfuse_output(g, "mean", lfuse_mean(v, 1, (const int[]){0}, 0));
    EVALUATE(DATA("x", x, 5));
    ck_exact(0, got);
    ck_exact(1, mean);
}

/* ---- look-ups ---- */

TEST(rows_by_index)
{
    const float table[3][2] = {{1, 2}, {3, 4}, {5, 6}}, got[4][2] = {{5, 6}, {0, 0}, {1, 2}, {0, 0}};
    const int32_t at[4] = {2, 3, 0, -1};

    lfuse_output(g, "y", lfuse_gather(lfuse_input(g, "t", F32(3, 2)), lfuse_input(g, "i", I32(2, 2))));
    EVALUATE(DATA("t", table, 3, 2), DATA("i", at, 2, 2));
    ck_exact(0, got);
    ck_assert(run.out_of_range);
}

/* By positions, in the order of the canonical sum: in another one these sums are others. */
TEST(scattered_rows_add_in_order)
{
    const float x[6] = {1, 0x1p-24f, 0x1p-24f, 0x1p-24f, 1, 7}, got[3] = {1, 1 + 0x1p-23f, 0};
    const int64_t at[6] = {0, 1, 0, 1, 1, 5};

    lfuse_output(g, "y", lfuse_scatter_add(lfuse_input(g, "x", F32(6)), lfuse_input(g, "i", I64(6)), 3));
    EVALUATE(DATA("x", x, 6), DATA("i", at, 6));
    ck_exact(0, got);
    ck_assert(run.out_of_range);
}

TEST(certain_indices_are_in_range)
{
    const float table[3] = {1, 3, 5}, got[2] = {5, 1};
    const int64_t at[2] = {2, 0};

    lfuse_output(g, "y", lfuse_gather(lfuse_input(g, "t", F32(3)), lfuse_input(g, "i", I64(2))));
    EVALUATE(DATA("t", table, 3), DATA("i", at, 2));
    ck_exact(0, got);
    ck_assert(!run.out_of_range);
}

/* An index that errors leave open: nothing is known of the row. */
TEST(open_indices)
{
    const float table[3] = {1, 3, 5}, x[2] = {1, 1};

    const lfuse_value at = lfuse_argmax(lfuse_exp(lfuse_input(g, "x", F32(2))), 1, (const int[]){0}, 1);
    lfuse_output(g, "y", lfuse_gather(lfuse_input(g, "t", F32(3)), at));
    EVALUATE(DATA("t", table, 3), DATA("x", x, 2));
    ck_assert(isinf(run.results[0].bound[0]));
}

TEST_SUITE("oracle nodes", CK_FORK_GETENV)
