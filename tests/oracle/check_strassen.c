/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds of products by Strassen's algorithm whose factors are rounded to f16 or bf16: what a host makes so holds
 * them and not those of plain products; with one factor's sign wrong it does not.
 */
#include "bench/data.h"
#include "bench/oracle.h"
#include "libfuse.h"
#include "tests/support/main.h"

enum { M = 16, N = 32, K = 64 };

static const lfuse_type types[] = {LFUSE_F16, LFUSE_BF16};

/* What is multiplied is rounded to the type, added up in double; `wrong`: of the last factor. */
typedef struct maker {
    lfuse_type type;
    bool wrong;
} maker;

static double rounded(lfuse_type type, double x)
{
    uint16_t bits;
    lfuse__data_put(type, &bits, 0, x);
    return lfuse__data_get(type, &bits, 0);
}

static void plain(const maker *s, int m, int n, int k, const double *a, const double *b, double *c)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (int l = 0; l < k; l++) c[i * n + j] += rounded(s->type, a[i * k + l]) * rounded(s->type, b[l * n + j]);
        }
}

/* Quarter `p`, and `sign` times quarter `q`. */
static void factor(const double *x, int rows, int columns, int p, int q, int sign, double *to)
{
    const int half = columns / 2;
    for (int i = 0; i < rows / 2; i++)
        for (int j = 0; j < half; j++)
            to[i * half + j] = x[(i + p / 2 * (rows / 2)) * columns + j + p % 2 * half] +
                               sign * x[(i + q / 2 * (rows / 2)) * columns + j + q % 2 * half];
}

static void multiply(const maker *s, int levels, int m, int n, int k, const double *a, const double *b, double *c)
{
    static const int left[7][3] = {{0, 0, 0}, {0, 1, 1}, {2, 3, 1}, {3, 0, 0}, {0, 3, 1}, {1, 3, -1}, {0, 2, -1}};
    static const int right[7][3] = {{1, 3, -1}, {3, 0, 0}, {0, 0, 0}, {2, 0, -1}, {0, 3, 1}, {2, 3, 1}, {0, 1, 1}};
    static const int sums[4][7] = {{0, -1, 0, 1, 1, 1, 0}, {1, 1, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 0, 0},
                                   {1, 0, -1, 0, 1, 0, -1}};
    if (!levels) {
        plain(s, m, n, k, a, b, c);
        return;
    }
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (int o = 0; o < 7; o++) {
        double x[M * K / 4], y[K * N / 4], z[M * N / 4];
        factor(a, m, k, left[o][0], left[o][1], s->wrong && o == 6 ? 1 : left[o][2], x);
        factor(b, k, n, right[o][0], right[o][1], right[o][2], y);
        multiply(s, levels - 1, m / 2, n / 2, k / 2, x, y, z);
        for (int q = 0; q < 4; q++)
            for (int i = 0; i < m / 2; i++)
                for (int j = 0; j < n / 2; j++)
                    c[(i + q / 2 * (m / 2)) * n + j + q % 2 * (n / 2)] += sums[q][o] * z[i * (n / 2) + j];
    }
}

static uint16_t a16[M * K], b16[K * N];
static float result[M * N];

static void make(lfuse_type type, int levels, bool wrong)
{
    const maker s = {type, wrong};
    double a[M * K], b[K * N], c[M * N];
    lfuse__data_uniform(type, a16, M * K, -1, 1, 1);
    lfuse__data_uniform(type, b16, K * N, -1, 1, 2);
    for (int i = 0; i < M * K; i++) a[i] = lfuse__data_get(type, a16, i);
    for (int i = 0; i < K * N; i++) b[i] = lfuse__data_get(type, b16, i);
    multiply(&s, levels, M, N, K, a, b, c);
    for (int i = 0; i < M * N; i++) result[i] = (float)c[i];
}

static int64_t bad_elements(lfuse_type type, int levels)
{
    const lfuse__oracle_options options = {.levels = levels};
    const lfuse__oracle_input inputs[] = {{.name = "a", .data = a16, .shape = {M, K}},
                                          {.name = "b", .data = b16, .shape = {K, N}}};
    lfuse_graph *g = lfuse_graph_create();
    lfuse__oracle_report report;
    lfuse__oracle_run truth;
    lfuse_output(g, "c", lfuse_matmul_as(lfuse_input(g, "a", TYPED(type, M, K)), lfuse_input(g, "b", TYPED(type, K, N)),
                                         LFUSE_F32, LFUSE_PRECISION_FULL));
    OK(lfuse__oracle_run_graph(g, inputs, 2, &options, &truth));
    lfuse__oracle_compare(LFUSE_F32, M * N, result, truth.results[0].value, truth.results[0].bound, &report);
    lfuse__oracle_free(&truth);
    lfuse_graph_destroy(g);
    return report.bad;
}

static int64_t bad_rows(lfuse_type type, int levels)
{
    const lfuse__oracle_whole whole = {.m = M, .n = N, .k = K, .type = type, .result = LFUSE_F32, .levels = levels};
    lfuse__oracle_report report;
    OK(lfuse__oracle_product(&whole, a16, b16, result, 7, &report));
    return report.bad;
}

TEST_CASE("factors of 16 bits")

/* By both judges of a product. */
TEST_LOOP(products, 0, 4)
{
    const lfuse_type type = types[_i & 1];
    const int levels = 1 + (_i >> 1);
    make(type, levels, false);
    ck_assert_int_eq(bad_elements(type, levels), 0);
    ck_assert_int_eq(bad_rows(type, levels), 0);
    ck_assert_int_gt(bad_elements(type, 0), 0);
    ck_assert_int_gt(bad_rows(type, 0), 0);
    make(type, levels, true);
    if (type == LFUSE_F16 || levels == 1) ck_assert_int_gt(bad_elements(type, levels), 0);
}

/* Factors of whole numbers are exact up to 2^11 and 2^8: then nothing is allowed. */
TEST_LOOP(whole_numbers, 0, 2)
{
    const lfuse_type type = types[_i];
    const maker s = {type, false};
    double a[M * K], b[K * N], c[M * N];
    lfuse__data_integers(type, a16, M * K, 3, 1);
    lfuse__data_integers(type, b16, K * N, 3, 2);
    for (int i = 0; i < M * K; i++) a[i] = lfuse__data_get(type, a16, i);
    for (int i = 0; i < K * N; i++) b[i] = lfuse__data_get(type, b16, i);
    multiply(&s, 2, M, N, K, a, b, c);
    for (int i = 0; i < M * N; i++) result[i] = (float)c[i];
    ck_assert_int_eq(bad_elements(type, 2), 0);
    result[5] += 1;
    ck_assert_int_eq(bad_elements(type, 2), 1);
}

/* A layer of a network, K = N: relu(x w), in the type. */
TEST_LOOP(networks, 0, 4)
{
    enum { WIDTH = 32 };
    const lfuse_type type = types[_i & 1];
    const int levels = 1 + (_i >> 1);
    static uint16_t zeros[WIDTH], y[M * WIDTH];
    const void *w = b16, *bias = zeros;
    const lfuse__oracle_network net = {type, 1, levels, WIDTH, &w, &bias};
    long double value[M * WIDTH];
    double bound[M * WIDTH], a[M * WIDTH], b[WIDTH * WIDTH], c[M * WIDTH];
    lfuse__oracle_report report;
    for (int wrong = 0; wrong < 2; wrong++) {
        const maker s = {type, wrong};
        lfuse__data_uniform(type, a16, M * WIDTH, 0, 1, 1);
        lfuse__data_uniform(type, b16, WIDTH * WIDTH, -1, 1, 2);
        for (int i = 0; i < M * WIDTH; i++) a[i] = lfuse__data_get(type, a16, i);
        for (int i = 0; i < WIDTH * WIDTH; i++) b[i] = lfuse__data_get(type, b16, i);
        multiply(&s, levels, M, WIDTH, WIDTH, a, b, c);
        for (int i = 0; i < M * WIDTH; i++) lfuse__data_put(type, y, i, fmax(c[i], 0));
        OK(lfuse__oracle_network_rows(&net, M, a16, value, bound));
        lfuse__oracle_compare(type, M * WIDTH, y, value, bound, &report);
        ck_assert_msg((report.bad > 0) == wrong, "%s, wrong %d: %s", lfuse_type_name(type), wrong, report.text);
    }
}

TEST_SUITE("strassen", CK_FORK_GETENV)
