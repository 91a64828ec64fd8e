/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <math.h>
#include <string.h>

#include "bench/data.h"
#include "tests/support/main.h"

enum { COUNT = 4096 };
static const lfuse_type types[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_I32, LFUSE_BOOL};
enum { TYPES = sizeof types / sizeof types[0] };
static double buffer[COUNT + 1], other[COUNT + 1];

START_TEST(reproducible)
{
    const lfuse_type type = types[_i];
    const size_t bytes = COUNT * lfuse_type_size(type);

    lfuse__data_uniform(type, buffer, COUNT, -3, 3, 42);
    lfuse__data_uniform(type, other, COUNT, -3, 3, 42);
    ck_assert(!memcmp(buffer, other, bytes));
    lfuse__data_uniform(type, other, COUNT, -3, 3, 43);
    ck_assert(memcmp(buffer, other, bytes));
    lfuse__data_nasty(type, buffer, COUNT, 1);
    lfuse__data_nasty(type, other, COUNT, 1);
    ck_assert(!memcmp(buffer, other, bytes));
}
END_TEST

START_TEST(ranges)
{
    const lfuse_type type = types[_i];
    double mean = 0, square = 0;
    int i;

    lfuse__data_uniform(type, buffer, COUNT, -2, 2, 7);
    for (i = 0; i < COUNT; i++) ck_assert(fabs(lfuse__data_get(type, buffer, i)) <= 2);
    lfuse__data_integers(type, buffer, COUNT, 3, 7);
    for (i = 0; i < COUNT; i++) {
        const double x = lfuse__data_get(type, buffer, i);
        ck_assert(fabs(x) <= 3 && x == trunc(x));
        mean += x / COUNT;
    }
    if (type != LFUSE_BOOL) ck_assert_double_lt(fabs(mean), 0.2);
    if (type == LFUSE_BOOL || type == LFUSE_I32) return;
    lfuse__data_normal(type, buffer, COUNT, 1, 7);
    for (i = 0; i < COUNT; i++) square += pow(lfuse__data_get(type, buffer, i), 2) / COUNT;
    ck_assert_double_eq_tol(square, 1, 0.1);
}
END_TEST

START_TEST(nothing_beyond_the_end)
{
    const lfuse_type type = types[_i];
    unsigned char *end = (unsigned char *)buffer + COUNT * lfuse_type_size(type);

    *end = 0x5a;
    lfuse__data_poison(type, buffer, COUNT);
    ck_assert_uint_eq(((unsigned char *)buffer)[0], 0xff);
    if (type == LFUSE_F32 || type == LFUSE_F16 || type == LFUSE_BF16 || type == LFUSE_F64)
        ck_assert(isnan(lfuse__data_get(type, buffer, COUNT - 1)));
    lfuse__data_uniform(type, buffer, COUNT, 0, 1, 1);
    lfuse__data_normal(type, buffer, COUNT, 1, 1);
    lfuse__data_integers(type, buffer, COUNT, 1, 1);
    lfuse__data_nasty(type, buffer, COUNT, 1);
    ck_assert_uint_eq(*end, 0x5a);
}
END_TEST

START_TEST(nasty_has_everything)
{
    const lfuse_type type = types[_i];
    int nan = 0, infinite = 0, minus_zero = 0, subnormal = 0, i;

    if (type == LFUSE_I32 || type == LFUSE_BOOL) return;
    lfuse__data_nasty(type, buffer, COUNT, 9);
    for (i = 0; i < COUNT; i++) {
        const double x = lfuse__data_get(type, buffer, i);
        nan += isnan(x);
        infinite += isinf(x) != 0;
        minus_zero += x == 0 && signbit(x);
        subnormal += x != 0 && fabs(x) < (type == LFUSE_F16 ? 0x1p-14 : type == LFUSE_F64 ? 0x1p-1022 : 0x1p-126);
    }
    ck_assert(nan && infinite && minus_zero && subnormal);
}
END_TEST

START_TEST(integers_saturate)
{
    int32_t x[4];

    lfuse__data_put(LFUSE_I32, x, 0, NAN);
    lfuse__data_put(LFUSE_I32, x, 1, 1e30);
    lfuse__data_put(LFUSE_I32, x, 2, -1e30);
    lfuse__data_put(LFUSE_I32, x, 3, -2.9);
    ck_assert_int_eq(x[0], 0);
    ck_assert_int_eq(x[1], INT32_MAX);
    ck_assert_int_eq(x[2], INT32_MIN);
    ck_assert_int_eq(x[3], -2);
}
END_TEST

static Suite *suite_data(void)
{
    Suite *s = suite_create("data");
    TCase *t = tcase_create("data");

    tcase_add_loop_test(t, reproducible, 0, TYPES);
    tcase_add_loop_test(t, ranges, 0, TYPES);
    tcase_add_loop_test(t, nothing_beyond_the_end, 0, TYPES);
    tcase_add_loop_test(t, nasty_has_everything, 0, TYPES);
    tcase_add_test(t, integers_saturate);
    suite_add_tcase(s, t);
    return s;
}

TEST_MAIN(CK_FORK_GETENV, suite_data)
