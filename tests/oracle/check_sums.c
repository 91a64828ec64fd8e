/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle on sums and products: the canonical sum, bounds, exact integers, random vectors. */
#include "bench/oracle_internal.h"
#include "tests/oracle/rig.h"

/* ---- sums ---- */

TEST_CASE("sums and products", .setup = make, .teardown = destroy)

TEST_LOOP(sums_are_canonical, 0, 10)
{
    static const int64_t lengths[] = {0, 1, 127, 128, 129, 1023, 1024, 1025, 5000, 7777};
    const int64_t length = lengths[_i];
    float *x = malloc((size_t)(3 * length + 1) * sizeof *x), got[3];

    lfuse__data_normal(LFUSE_F32, x, 3 * length, 1, 3);
    lfuse_output(g, "y", lfuse_sum(lfuse_input(g, "x", F32(3, length)), 1, (const int[]){1}, 0));
    EVALUATE(DATA("x", x, 3, length));
    for (int i = 0; i < 3; i++) got[i] = length ? canonical(plus, -0.0f, x + i * length, length) : 0;
    ck_agrees(0, got);
    ck_assert_double_eq(report.max_bound, 0);
    ck_assert(!signbit((double)run.results[0].value[0]) || length);
    free(x);
}

TEST(sums_of_inexact_values)
{
    float x[5000], y[5000];

    lfuse__data_normal(LFUSE_F32, x, 5000, 1, 3);
    lfuse_output(g, "y", lfuse_sum(lfuse_exp(vector("x", LFUSE_F32, 5000)), 1, (const int[]){0}, 0));
    EVALUATE(DATA("x", x, 5000));
    for (int i = 0; i < 5000; i++) y[i] = expf(x[i]);
    float got = canonical(plus, -0.0f, y, 5000);
    ck_agrees(0, &got);
    ck_assert_double_lt(run.results[0].bound[0], got * 3e-6);
    got -= y[4999];
    ck_assert(!agrees(0, &got));
}

/* ---- products ---- */

static void naive(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
}

enum { M = 37, N = 29, K = 130 };
static float left[M * K], right[K * N], product[M * N];

static void make_product(lfuse_type type)
{
    const lfuse_value a = lfuse_input(g, "a", TYPED(type, M, K));
    const lfuse_value b = lfuse_input(g, "b", TYPED(type, K, N));

    lfuse_output(g, "c", lfuse_matmul(a, b));
}

TEST(products)
{
    const lfuse__oracle_input inputs[] = {DATA("a", left, M, K),
                                          DATA("b", right, K, N)};

    make_product(LFUSE_F32);
    lfuse__data_normal(LFUSE_F32, left, M * K, 1, 1);
    lfuse__data_normal(LFUSE_F32, right, K * N, 1, 2);
    evaluate(inputs, 2, NULL);
    naive(M, N, K, left, right, product);
    ck_agrees(0, product);
    ck_assert_double_gt(report.max_ratio, 0.001);
    /* A lost last product of each sum, and a value that was rounded to half precision on the way. */
    for (int i = 0; i < M * N; i++) product[i] -= left[i / N * K + K - 1] * right[(K - 1) * N + i % N];
    ck_assert(!agrees(0, product));
    ck_assert_int_gt(report.bad, M * N * 9 / 10);
    for (int i = 0; i < M * K; i++) left[i] = lfuse__f16_to_float(lfuse__double_to_f16(left[i]));
    naive(M, N, K, left, right, product);
    ck_assert(!agrees(0, product));
}

TEST(products_of_integers_are_exact)
{
    const lfuse__oracle_input inputs[] = {DATA("a", left, M, K),
                                          DATA("b", right, K, N)};

    make_product(LFUSE_F32);
    lfuse__data_integers(LFUSE_F32, left, M * K, 8, 1);
    lfuse__data_integers(LFUSE_F32, right, K * N, 8, 2);
    evaluate(inputs, 2, NULL);
    naive(M, N, K, left, right, product);
    ck_agrees(0, product);
    ck_assert_double_eq(report.max_bound, 0);
    product[M * N - 1] += 1;
    ck_assert(!agrees(0, product));
}

TEST(products_of_f64)
{
    static double a[M * K], b[K * N], c[M * N];
    const lfuse__oracle_input inputs[] = {DATA("a", a, M, K),
                                          DATA("b", b, K, N)};
    int p;

    make_product(LFUSE_F64);
    lfuse__data_normal(LFUSE_F64, a, M * K, 1, 1);
    lfuse__data_normal(LFUSE_F64, b, K * N, 1, 2);
    evaluate(inputs, 2, NULL);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            for (c[i * N + j] = 0, p = 0; p < K; p++) c[i * N + j] += a[i * K + p] * b[p * N + j];
    ck_agrees(0, c);
    ck_assert_double_gt(report.max_ratio, 0.001);
    c[5] += 1e-11;
    ck_assert(!agrees(0, c));
}

TEST(products_with_infinities)
{
    const lfuse__oracle_input inputs[] = {DATA("a", left, M, K),
                                          DATA("b", right, K, N)};

    make_product(LFUSE_F32);
    lfuse__data_normal(LFUSE_F32, left, M * K, 1, 1);
    lfuse__data_normal(LFUSE_F32, right, K * N, 1, 2);
    left[0] = INFINITY;
    right[3] = NAN;
    evaluate(inputs, 2, NULL);
    naive(M, N, K, left, right, product);
    ck_agrees(0, product);
    ck_assert_int_eq(report.open, 0);
    product[0] = 1;
    ck_assert(!agrees(0, product));
}

TEST(chains_of_products)
{
    float b[N], hidden[M * N], second[N * N], result[M * N];
    const lfuse_value x = lfuse_input(g, "x", F32(M, K));
    const lfuse_value w = lfuse_input(g, "w", F32(K, N));
    const lfuse_value bias = lfuse_input(g, "bias", F32(N));
    const lfuse_value v = lfuse_input(g, "v", F32(N, N));

    lfuse_output(g, "y", lfuse_tanh(lfuse_matmul(lfuse_relu(lfuse_add(lfuse_matmul(x, w), bias)), v)));
    lfuse__data_normal(LFUSE_F32, left, M * K, 1, 1);
    lfuse__data_normal(LFUSE_F32, right, K * N, 0.1, 2);
    lfuse__data_normal(LFUSE_F32, b, N, 1, 3);
    lfuse__data_normal(LFUSE_F32, second, N * N, 0.2, 4);
    EVALUATE(DATA("x", left, M, K), DATA("w", right, K, N), DATA("bias", b, N), DATA("v", second, N, N));
    naive(M, N, K, left, right, hidden);
    for (int i = 0; i < M * N; i++) hidden[i] = fmaxf(hidden[i] + b[i % N], 0);
    naive(M, N, N, hidden, second, result);
    for (int i = 0; i < M * N; i++) result[i] = tanhf(result[i]);
    ck_agrees(0, result);
    ck_assert_int_eq(report.open, 0);
    ck_assert_double_lt(report.max_bound, 1e-3);
    for (int i = 0; i < M * N; i++) result[i] *= 0.999f;
    ck_assert(!agrees(0, result));
}

TEST(rows_are_rows_of_the_whole)
{
    const int64_t rows[] = {36, 0, 17, 17};
    const lfuse__oracle_options options = {.rows = rows, .nrows = 4};
    const lfuse_size batch = lfuse_size_var(g, "batch", 1, 100);
    const lfuse_value x = lfuse_input(g, "x", F32(batch, K));
    const lfuse_value w = lfuse_input(g, "w", F32(K, N));
    const lfuse_value h = lfuse_matmul(x, w);
    lfuse__oracle_input inputs[] = {{.name = "x", .data = left, .shape = {M, K}, .rows = true},
                                    DATA("w", right, K, N)};

    lfuse_output(g, "y", lfuse_sub(h, lfuse_sum(h, 1, (const int[]){1}, 1)));
    lfuse_output(g, "z", lfuse_transpose(lfuse_transpose(h)));
    lfuse__data_normal(LFUSE_F32, left, M * K, 1, 1);
    lfuse__data_normal(LFUSE_F32, right, K * N, 1, 2);
    evaluate(inputs, 2, NULL);
    ck_assert_int_eq(run.results[0].shape[0], M);
    lfuse__oracle_run whole = run;
    ck_assert_int_eq(lfuse__oracle_run_graph(g, inputs, 2, &options, &run), LFUSE_ERR_UNSUPPORTED);
    lfuse_graph_destroy(g);
    g = lfuse_graph_create();
    {
        const lfuse_size b = lfuse_size_var(g, "batch", 1, 100);
        const lfuse_value p = lfuse_matmul(lfuse_input(g, "x", F32(b, K)), lfuse_input(g, "w", F32(K, N)));
        lfuse_output(g, "y", lfuse_sub(p, lfuse_sum(p, 1, (const int[]){1}, 1)));
    }
    evaluate(inputs, 2, &options);
    ck_assert_int_eq(run.results[0].shape[0], 4);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < N; k++) {
            ck_assert(run.results[0].value[i * N + k] == whole.results[0].value[rows[i] * N + k]);
            ck_assert(run.results[0].bound[i * N + k] == whole.results[0].bound[rows[i] * N + k]);
        }
    lfuse__oracle_free(&whole);
}

static lfuse_status check_product(int transposed, const float *a, const float *b, const float *c)
{
    const lfuse__oracle_whole whole = { .m = M, .n = N, .k = K, .type = LFUSE_F32, .result = LFUSE_F32,
                                        .transpose_a = transposed & 1, .transpose_b = transposed & 2 };

    return lfuse__oracle_product(&whole, a, b, c, 99, &report);
}

TEST(random_vector_finds_wrong_products)
{
    static float c[M * N];

    for (int transposed = 0; transposed < 4; transposed++) {
        static float a[M * K], b[K * N];
        lfuse__data_normal(LFUSE_F32, left, M * K, 1, 1);
        lfuse__data_normal(LFUSE_F32, right, K * N, 1, 2);
        naive(M, N, K, left, right, c);
        for (int i = 0; i < M * K; i++) a[transposed & 1 ? i % K * M + i / K : i] = left[i];
        for (int i = 0; i < K * N; i++) b[transposed & 2 ? i % N * K + i / N : i] = right[i];
        ck_assert_int_eq(check_product(transposed, a, b, c), LFUSE_OK);
        ck_assert_msg(!report.bad, "%s", report.text);
        c[4 * N + 7] += 0.1f;
        ck_assert_int_eq(check_product(transposed, a, b, c), LFUSE_OK);
        ck_assert_int_eq(report.bad, 1);
        ck_assert_int_eq(report.first_bad, 4);
    }
}

/* What a product of tf32, by Strassen's algorithm or rounded to f16 may be off by, one of f32 may not. */
TEST(random_vector_knows_wider_bounds)
{
    static const struct { lfuse_type result; bool tf32; int levels; double scale; } cases[] = {
        { LFUSE_F32, true, 0, 5e-4 }, { LFUSE_F32, false, 2, 1e-3 }, { LFUSE_F16, false, 0, 1e-3 },
    };
    static float c[M * N], off[M * N];
    static uint16_t narrow[M * N];

    lfuse__data_normal(LFUSE_F32, left, M * K, 1, 1);
    lfuse__data_normal(LFUSE_F32, right, K * N, 1, 2);
    naive(M, N, K, left, right, c);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        lfuse__oracle_whole whole = { .m = M, .n = N, .k = K, .type = LFUSE_F32, .result = cases[n].result,
                                      .tf32 = cases[n].tf32, .levels = cases[n].levels };
        for (int i = 0; i < M * N; i++) off[i] = c[i] * (float)(1 + cases[n].scale * (i % 2 ? 1 : -1));
        for (int i = 0; i < M * N; i++) lfuse__data_put(LFUSE_F16, narrow, i, off[i]);
        OK(lfuse__oracle_product(&whole, left, right, cases[n].result == LFUSE_F16 ? (void *)narrow : off, 99,
                                 &report));
        ck_assert_msg(!report.bad, "case %zu: %s", n, report.text);
        whole = (lfuse__oracle_whole){ .m = M, .n = N, .k = K, .type = LFUSE_F32, .result = LFUSE_F32 };
        OK(lfuse__oracle_product(&whole, left, right, off, 99, &report));
        ck_assert_msg(report.bad > 0, "case %zu", n);
    }
}

/* Of operands of 8 bits tensor cores keep 14 bits of a sum: a product may be off by 2^-8 |A||B| more than of f16. */
TEST(fp8_may_be_cut)
{
    static uint8_t a8[M * K], b8[K * N];
    static uint16_t a16[M * K], b16[K * N];
    static float c[M * N];
    lfuse__oracle_whole whole = { .m = M, .n = N, .k = K, .type = LFUSE_E4M3, .result = LFUSE_F32 };

    lfuse__data_normal(LFUSE_E4M3, a8, M * K, 1, 1);
    lfuse__data_normal(LFUSE_E4M3, b8, K * N, 1, 2);
    for (int i = 0; i < M * K; i++) lfuse__data_put(LFUSE_F16, a16, i, left[i] = lfuse__narrow_get(LFUSE_E4M3, a8, i));
    for (int i = 0; i < K * N; i++) lfuse__data_put(LFUSE_F16, b16, i, right[i] = lfuse__narrow_get(LFUSE_E4M3, b8, i));
    naive(M, N, K, left, right, c);
    for (int i = 0; i < M * N; i++) c[i] *= (float)(1 + 1e-3 * (i % 2 ? 1 : -1));
    OK(lfuse__oracle_product(&whole, a8, b8, c, 99, &report));
    ck_assert_msg(!report.bad, "%s", report.text);
    whole.type = LFUSE_F16;
    OK(lfuse__oracle_product(&whole, a16, b16, c, 99, &report));
    ck_assert_int_gt(report.bad, 0);
}

/* Both types of 8 bits are multiplied there, whichever stands on the left; of other two types products are in f32. */
TEST(products_of_two_types)
{
    ck_assert_int_eq(lfuse__oracle_matmul_type(LFUSE_E4M3, LFUSE_E5M2), LFUSE_E4M3);
    ck_assert_int_eq(lfuse__oracle_matmul_type(LFUSE_E5M2, LFUSE_E4M3), LFUSE_E5M2);
    ck_assert_int_eq(lfuse__oracle_matmul_type(LFUSE_BF16, LFUSE_BF16), LFUSE_BF16);
    ck_assert_int_eq(lfuse__oracle_matmul_type(LFUSE_F16, LFUSE_BF16), LFUSE_F32);
    ck_assert_int_eq(lfuse__oracle_matmul_type(LFUSE_E4M3, LFUSE_F32), LFUSE_F32);
}

/* Sums of integers of 8 bits are exact up to 2^13, 64 times 8 times 16; those of f16 up to 2^24. */
TEST_LOOP(whole_sums_of_narrow_types, 0, 4)
{
    const lfuse_type type = _i & 1 ? LFUSE_F16 : LFUSE_E4M3;
    const int64_t k = 64 + _i / 2;
    uint16_t a[65], b[65];

    for (int i = 0; i < k; i++) lfuse__data_put(type, a, i, 8), lfuse__data_put(type, b, i, 16);
    lfuse_output(g, "c", lfuse_matmul_as(lfuse_input(g, "a", TYPED(type, 1, k)), lfuse_input(g, "b", TYPED(type, k, 1)),
                                         LFUSE_F32, LFUSE_PRECISION_FULL));
    EVALUATE({.name = "a", .data = a, .shape = {1, k}}, {.name = "b", .data = b, .shape = {k, 1}});
    ck_assert(run.results[0].value[0] == 128 * k);
    ck_assert_int_eq(run.results[0].bound[0] > 0, type == LFUSE_E4M3 && k > 64);
}

TEST_SUITE("sums", CK_FORK_GETENV)
