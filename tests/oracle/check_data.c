/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/data.h"
#include "common/graph/op.h"
#include "tests/support/main.h"

enum { COUNT = 4096 };
static const lfuse_type types[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_E4M3, LFUSE_E5M2,
                                   LFUSE_I32, LFUSE_BOOL, LFUSE_I64,  LFUSE_I8,  LFUSE_U8};
enum { TYPES = sizeof types / sizeof types[0] };
static double buffer[COUNT + 1], other[COUNT + 1];

static bool floating(lfuse_type type)
{
    return lfuse__is_floating(type);
}

TEST_CASE("data")

TEST_LOOP(reproducible, 0, TYPES)
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

TEST_LOOP(ranges, 0, TYPES)
{
    const lfuse_type type = types[_i];
    double mean = 0, square = 0;

    lfuse__data_uniform(type, buffer, COUNT, -2, 2, 7);
    for (int i = 0; i < COUNT; i++) ck_assert(fabs(lfuse__data_get(type, buffer, i)) <= 2);
    lfuse__data_integers(type, buffer, COUNT, 3, 7);
    for (int i = 0; i < COUNT; i++) {
        const double x = lfuse__data_get(type, buffer, i);
        ck_assert(fabs(x) <= 3 && x == trunc(x));
        mean += x / COUNT;
    }
    if (type != LFUSE_BOOL && type != LFUSE_U8) ck_assert_double_lt(fabs(mean), 0.2);
    if (!floating(type)) return;
    lfuse__data_normal(type, buffer, COUNT, 1, 7);
    for (int i = 0; i < COUNT; i++) square += pow(lfuse__data_get(type, buffer, i), 2) / COUNT;
    ck_assert_double_eq_tol(square, 1, 0.1);
}

TEST_LOOP(nothing_beyond_the_end, 0, TYPES)
{
    const lfuse_type type = types[_i];
    unsigned char *end = (unsigned char *)buffer + COUNT * lfuse_type_size(type);

    *end = 0x5a;
    lfuse__data_poison(type, buffer, COUNT);
    ck_assert_uint_eq(((unsigned char *)buffer)[0], 0xff);
    if (floating(type))
        ck_assert(isnan(lfuse__data_get(type, buffer, COUNT - 1)));
    lfuse__data_uniform(type, buffer, COUNT, 0, 1, 1);
    lfuse__data_normal(type, buffer, COUNT, 1, 1);
    lfuse__data_integers(type, buffer, COUNT, 1, 1);
    lfuse__data_nasty(type, buffer, COUNT, 1);
    ck_assert_uint_eq(*end, 0x5a);
}

TEST_LOOP(nasty_has_everything, 0, TYPES)
{
    const lfuse_type type = types[_i];
    int nan = 0, infinite = 0, minus_zero = 0, subnormal = 0;

    if (!floating(type)) return;
    lfuse__data_nasty(type, buffer, COUNT, 9);
    for (int i = 0; i < COUNT; i++) {
        const double x = lfuse__data_get(type, buffer, i);
        nan += isnan(x);
        infinite += isinf(x) != 0;
        minus_zero += x == 0 && signbit(x);
        subnormal += x != 0 && fabs(x) < (type == LFUSE_F16 || type == LFUSE_E5M2 ? 0x1p-14
                                          : type == LFUSE_E4M3                    ? 0x1p-6
                                          : type == LFUSE_F64                     ? 0x1p-1022
                                                                                  : 0x1p-126);
    }
    ck_assert(nan && minus_zero && subnormal);
    ck_assert_int_eq(infinite != 0, type != LFUSE_E4M3);
}

TEST(integers_saturate)
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
    int8_t b[3];
    uint8_t u[3];
    int64_t l[3];
    for (int i = 0; i < 3; i++) {
        lfuse__data_put(LFUSE_I8, b, i, (double[]){-1000, 1000, -7.9}[i]);
        lfuse__data_put(LFUSE_U8, u, i, (double[]){-1000, 1000, 7.9}[i]);
        lfuse__data_put(LFUSE_I64, l, i, (double[]){-1e30, 1e30, 0x1p53}[i]);
    }
    ck_assert(b[0] == INT8_MIN && b[1] == INT8_MAX && b[2] == -7);
    ck_assert(u[0] == 0 && u[1] == UINT8_MAX && u[2] == 7);
    ck_assert(l[0] == INT64_MIN && l[1] == INT64_MAX && l[2] == INT64_C(1) << 53);
    l[0] = INT64_MAX - 1;
    ck_assert(lfuse__data_exact(LFUSE_I64, l, 0) == (long double)(INT64_MAX - 1));
}

/* Each of the 24 orders of four, about as often as any other: 6 deviations are 91 of 250. */
TEST(orders_are_equally_likely)
{
    int seen[256] = {0}, orders = 0;
    lfuse__random r;

    lfuse__random_seed(&r, 3);
    for (int i = 0; i < 24 * 250; i++) {
        int order[4], code = 0, all = 0;
        lfuse__random_order(&r, 4, order);
        for (int j = 0; j < 4; j++) code = code * 4 + order[j], all |= 1 << order[j];
        ck_assert_int_eq(all, 15);
        seen[code]++;
    }
    for (int i = 0; i < 256; i++) {
        if (!seen[i]) continue;
        orders++;
        ck_assert_int_ge(seen[i], 250 - 91);
        ck_assert_int_le(seen[i], 250 + 91);
    }
    ck_assert_int_eq(orders, 24);
}

TEST_SUITE("data", CK_FORK_GETENV)
