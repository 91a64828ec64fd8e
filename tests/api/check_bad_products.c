/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices that a product cannot take: rows of C that lie in each other, C in an operand, types. Rows of A and B may
 * lie in each other: they are only read. With the library's own products and with the vendor's, on the stub.
 */
#include "tests/api/rig.h"

enum { M = 4, K = 6, N = 10 };

static lfuse_tensor *memory; /* 0, 1, 2 ... */

static lfuse_tensor *view(int64_t rows, int64_t columns, int64_t row, int64_t column, int64_t offset)
{
    return new_view(memory, SHAPE(rows, columns), LFUSE_DIMS(row, column), offset);
}

static void fill(void)
{
    float host[400];
    for (int i = 0; i < 400; i++) host[i] = (float)i;
    memory = tensor(F32(400));
    OK(lfuse_tensor_write(memory, NULL, host));
}

static lfuse_plan *product_by(lfuse_provider provider)
{
    const lfuse_plan_options options = {.provider = provider};
    lfuse_graph *g = new_graph();
    lfuse_value a = lfuse_input(g, "a", F32(M, K));
    lfuse_value b = lfuse_input(g, "b", F32(K, N));
    lfuse_value bias = lfuse_input(g, "bias", F32(N));
    lfuse_output(g, "c", lfuse_relu(lfuse_add(lfuse_matmul(a, b), bias)));
    return new_plan(device, g, &options);
}

static lfuse_status run(lfuse_plan *p, lfuse_tensor *a, lfuse_tensor *b, lfuse_tensor *bias, lfuse_tensor *c)
{
    return lfuse_plan_run(p, stream, BINDINGS(BIND("a", a), BIND("b", b), BIND("bias", bias), BIND("c", c)));
}

static const lfuse_provider providers[] = {LFUSE_PROVIDER_NATIVE, LFUSE_PROVIDER_VENDOR};

TEST_CASE("bad products", .setup = setup, .teardown = teardown)

/* Leading dimensions of 0, 1, and one less than a row; and rows that run backwards. */
TEST_LOOP(rows_of_operands_in_each_other, 0, 2)
{
    static const int64_t steps[][2] = {{K - 1, N - 1}, {1, 1}, {0, 0}, {K, 0}, {-1, N}, {K, -1}};
    lfuse_plan *p = product_by(providers[_i]);
    lfuse_tensor *bias = tensor(F32(N)), *c = tensor(F32(M, N));
    float host[M * N];
    fill();
    OK(lfuse_tensor_fill(bias, NULL, 0));
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        lfuse_tensor *a = view(M, K, steps[s][0], 1, 50), *b = view(K, N, steps[s][1], 1, 90);
        OK(run(p, a, b, bias, c));
        OK(lfuse_stream_synchronize(stream));
        OK(lfuse_tensor_read(c, NULL, host));
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int l = 0; l < K; l++)
                    sum += (double)(50 + i * steps[s][0] + l) * (double)(90 + l * steps[s][1] + j);
                ck_assert_msg(host[i * N + j] == sum, "[%d, %d] of case %d: %g, not %g", i, j, (int)s,
                              (double)host[i * N + j], sum);
            }
    }
}

TEST_LOOP(rows_of_results_in_each_other, 0, 2)
{
    static const int64_t steps[][2] = {{N - 1, 1}, {1, 1}, {0, 1}, {N, 0}, {1, M - 1}, {-1, 1}, {N - 1, -1}};
    lfuse_plan *p = product_by(providers[_i]);
    lfuse_tensor *a = tensor(F32(M, K)), *b = tensor(F32(K, N));
    lfuse_tensor *bias = tensor(F32(N));
    fill();
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        lfuse_tensor *c = view(M, N, steps[s][0], steps[s][1], 100);
        const uint64_t before = launches();
        SAYS(LFUSE_ERR_OVERLAP, run(p, a, b, bias, c), "\"c\"");
        FAILS(LFUSE_ERR_OVERLAP, lfuse_gemm(stream, 0, 0, 1, a, b, 1, c));
        ck_assert_uint_eq(launches(), before);
    }
}

/* C shares one element with A, with B, with the bias; beside them it is taken, and between the rows of one. */
TEST_LOOP(results_in_operands, 0, 2)
{
    lfuse_plan *p = product_by(providers[_i]);
    fill();
    lfuse_tensor *c = view(M, N, N, 1, 100), *a = view(M, K, K, 1, 0), *b = view(K, N, N, 1, 200);
    lfuse_tensor *last_of_a = view(M, K, K, 1, 100 - M * K + 1), *first_of_b = view(K, N, N, 1, 100 + M * N - 1);
    lfuse_tensor *wide = view(M, K, N + K, 1, 300), *between = view(M, N, N + K, 1, 300 + K);
    lfuse_tensor *bias = new_view(memory, SHAPE(N), NULL, 30);
    lfuse_tensor *in_it = new_view(memory, SHAPE(N), NULL, 100 + M * N - 1);
    const uint64_t before = launches();
    SAYS(LFUSE_ERR_OVERLAP, run(p, last_of_a, b, bias, c), "\"c\", which is written, overlaps \"a\"");
    FAILS(LFUSE_ERR_OVERLAP, run(p, a, first_of_b, bias, c));
    FAILS(LFUSE_ERR_OVERLAP, run(p, a, b, in_it, c));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_gemm(stream, 0, 0, 1, last_of_a, b, 0, c));
    FAILS(LFUSE_ERR_OVERLAP, lfuse_gemm(stream, 0, 0, 1, a, first_of_b, 2, c));
    ck_assert_uint_eq(launches(), before);
    OK(run(p, a, b, bias, c));
    OK(run(p, wide, b, bias, between)); /* columns beside those of A, in the same rows */
    OK(lfuse_stream_synchronize(stream));
}

TEST_SUITE("bad products", CK_NOFORK)
