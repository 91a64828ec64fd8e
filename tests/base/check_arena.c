/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/arena.h"
#include "common/base/array.h"

#include <stdalign.h>

#include "common/base/error.h"
#include "tests/support/main.h"

enum { ARRAYS = 50 };

TEST_CASE("arena")

TEST(arrays_are_zeroed_aligned_and_apart)
{
    lfuse__arena arena = { NULL };
    unsigned char *arrays[ARRAYS];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < ARRAYS; i++) {
            arrays[i] = lfuse__arena_array(&arena, (size_t)i, 3);
            ck_assert_ptr_nonnull(arrays[i]);
            ck_assert_uint_eq((uintptr_t)arrays[i] % alignof(max_align_t), 0);
            for (int b = 0; b < 3 * i; b++) ck_assert_int_eq(arrays[i][b], 0);
            memset(arrays[i], i + 1, (size_t)(3 * i));
        }
        for (int i = 0; i < ARRAYS; i++)
            for (int b = 0; b < 3 * i; b++) ck_assert_int_eq(arrays[i][b], i + 1);
        lfuse__arena_free(&arena);
        ck_assert_ptr_null(arena.last);
    }
    lfuse__arena_free(&arena);
}

TEST(too_large)
{
    lfuse__arena arena = { NULL };

    ck_assert_ptr_null(lfuse__arena_array(&arena, SIZE_MAX, 1));
    ck_assert_ptr_null(lfuse__arena_array(&arena, SIZE_MAX / 2, 4));
    ck_says("out of host memory");
    ck_assert_ptr_null(arena.last);
}

TEST(an_array_grows_and_stays)
{
    size_t capacity = 0;
    int *array = NULL;

    for (size_t n = 0; n < 100; n++) {
        OK(lfuse__array_grow(&array, &capacity, n + 1, sizeof *array));
        ck_assert_uint_gt(capacity, n);
        ck_assert_int_eq(array[n], 0);
        array[n] = (int)n + 1;
        for (size_t i = 0; i <= n; i++) ck_assert_int_eq(array[i], (int)i + 1);
    }
    FAILS(LFUSE_ERR_MEMORY, lfuse__array_grow(&array, &capacity, SIZE_MAX / 2, sizeof *array));
    ck_assert_int_eq(array[99], 100);
    free(array);
}

TEST_SUITE("base", CK_FORK)
