/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sample.h"

#include "tests/support/main.h"

TEST_CASE("sample")

TEST(small_results_are_verified_completely)
{
    ck_assert_int_eq(bench_sample_count(1, 1e30), 1);
    ck_assert_int_eq(bench_sample_count(BENCH_LEAST_ROWS, 1e30), BENCH_LEAST_ROWS);
    ck_assert_int_eq(bench_sample_count(1024, 1024.0 * 1024), 1024);
    ck_assert_int_eq(bench_sample_count(2048, 1024.0 * 1024), 2048); /* 2^31 */
    ck_assert_int_eq(bench_sample_count((int64_t)1 << 40, 0), (int64_t)1 << 40);
}

TEST(large_ones_by_what_the_budget_pays_for)
{
    ck_assert_int_eq(bench_sample_count(2049, 1024.0 * 1024), 2048);
    ck_assert_int_eq(bench_sample_count(16384, 4096.0 * 5 * BENCH_ELEMENT_WORK), 819);
    ck_assert_int_eq(bench_sample_count(8192, 8192.0 * 8192), BENCH_LEAST_ROWS);
}

static void check_rows(int64_t rows, int64_t count, uint64_t seed)
{
    int64_t *chosen = malloc((size_t)count * sizeof *chosen);

    ck_assert_ptr_nonnull(chosen);
    bench_sample_rows(rows, count, seed, chosen);
    ck_assert_int_eq(chosen[0], 0);
    ck_assert_int_eq(chosen[count - 1], rows - 1);
    for (int64_t i = 1; i < count; i++) ck_assert_int_lt(chosen[i - 1], chosen[i]);
    for (int64_t i = 0; i < count && count == rows; i++) ck_assert_int_eq(chosen[i], i);
    free(chosen);
}

TEST(rows_ascend_from_the_first_to_the_last)
{
    const int64_t most = INT64_MAX;

    check_rows(1, 1, 1);
    for (int64_t rows = 2; rows < 40; rows++)
        for (int64_t count = 2; count <= rows; count++) check_rows(rows, count, (uint64_t)rows);
    check_rows(8192, 64, 3);
    check_rows(most, 819, 3);
}

/* No stretch of rows longer than two parts is left out: a wrong tile of a product does not hide. */
TEST(rows_lie_everywhere)
{
    enum { ROWS = 8192, COUNT = 64 };
    int64_t chosen[COUNT];

    bench_sample_rows(ROWS, COUNT, 5, chosen);
    for (int i = 1; i < COUNT; i++) ck_assert_int_lt(chosen[i] - chosen[i - 1], 2 * ROWS / (COUNT - 2) + 1);
}

TEST(the_seed_decides)
{
    int64_t first[64], again[64], other[64];

    bench_sample_rows(100000, 64, 1, first);
    bench_sample_rows(100000, 64, 1, again);
    bench_sample_rows(100000, 64, 2, other);
    ck_assert_mem_eq(first, again, sizeof first);
    ck_assert(memcmp(first, other, sizeof first) != 0);
}

TEST_SUITE("sample", CK_FORK_GETENV)
