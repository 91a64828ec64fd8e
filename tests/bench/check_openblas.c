/* SPDX-License-Identifier: Apache-2.0 */
/* The system's OpenBLAS, where there is one. */
#include "bench/openblas.h"

#include "common/base/error.h"
#include "tests/support/main.h"

TEST_CASE("openblas")

TEST(a_missing_library_is_named)
{
    if (!bench_openblas_load()) TEST_SKIP("%s", bench_openblas_note());
    SAYS(LFUSE_ERR_LIBRARY, bench_openblas_load(), "libopenblas.so.0");
}

TEST(products_are_row_major)
{
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 1, 1, 0, 3, 2, 0, 1, 1, 5};
    static const double wide_a[] = {1, 2, 3, 4, 5, 6}, wide_b[] = {1, 0, 2, 1, 1, 0, 3, 2, 0, 1, 1, 5};
    static const float want[] = {3, 3, 11, 20, 9, 6, 29, 44};
    float c[8];
    double wide_c[8];

    if (bench_openblas_load()) TEST_SKIP("%s", lfuse_last_error());
    ck_assert(strstr(bench_openblas_note(), "core ") == bench_openblas_note());
    memset(c, 0xff, sizeof c); /* NaN: c is not read */
    memset(wide_c, 0xff, sizeof wide_c);
    ck_assert_int_eq(bench_openblas_multiply(LFUSE_F32, false, false, 2, 4, 3, a, b, c), 0);
    ck_assert_int_eq(bench_openblas_multiply(LFUSE_F64, false, false, 2, 4, 3, wide_a, wide_b, wide_c), 0);
    for (int i = 0; i < 8; i++) {
        ck_assert(c[i] == want[i]);
        ck_assert(wide_c[i] == (double)want[i]);
    }
}

TEST(operands_may_be_stored_turned)
{
    static const float a[] = {1, 4, 2, 5, 3, 6}, b[] = {1, 1, 0, 0, 0, 1, 2, 3, 1, 1, 2, 5};
    static const float want[] = {3, 3, 11, 20, 9, 6, 29, 44};
    float c[8];

    if (bench_openblas_load()) TEST_SKIP("%s", lfuse_last_error());
    ck_assert_int_eq(bench_openblas_multiply(LFUSE_F32, true, true, 2, 4, 3, a, b, c), 0);
    for (int i = 0; i < 8; i++) ck_assert(c[i] == want[i]);
}

TEST(what_it_does_not_take)
{
    const int64_t large = (int64_t)1 << 31;
    float x = 0;

    if (bench_openblas_load()) TEST_SKIP("%s", lfuse_last_error());
    ck_assert_int_eq(bench_openblas_multiply(LFUSE_F16, false, false, 1, 1, 1, &x, &x, &x), LFUSE_ERR_TYPE);
    ck_assert_int_eq(bench_openblas_multiply(LFUSE_F32, false, false, large, 1, 1, &x, &x, &x), LFUSE_ERR_SHAPE);
    ck_assert_int_eq(bench_openblas_multiply(LFUSE_F32, false, false, 1, 1, large, &x, &x, &x), LFUSE_ERR_SHAPE);
}

TEST_SUITE("openblas", CK_FORK_GETENV)
