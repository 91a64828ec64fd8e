/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/half.h"

#include "tests/support/main.h"

typedef struct format {
    lfuse_type type;
    uint32_t end, sign; /* bits: the first that is no number, infinity or NaN; of a negative number */
    double most;        /* half-way between the largest number and what would be next */
} format;

static const format formats[] = {
    {LFUSE_F16, 0x7c00, 0x8000, 65520},
    {LFUSE_BF16, 0x7f80, 0x8000, 0x1.ffp127},
    {LFUSE_E4M3, 0x7f, 0x80, 464},
    {LFUSE_E5M2, 0x7c, 0x80, 61440},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static bool has_infinity(const format *f) { return f->type != LFUSE_E4M3; }
static uint32_t narrow(const format *f, double x) { return lfuse__double_to_narrow(f->type, x); }
static float widen(const format *f, uint32_t bits) { return lfuse__narrow_to_float(f->type, (uint16_t)bits); }

TEST_CASE("half")

TEST_LOOP(test_every_number_comes_back, 0, FORMATS)
{
    const format *f = &formats[_i];
    for (uint32_t h = 0; h < 2 * f->sign; h++) {
        const uint32_t magnitude = h % f->sign;
        const float x = widen(f, h);
        const uint32_t back = narrow(f, x);
        if (magnitude < f->end || (magnitude == f->end && has_infinity(f))) {
            ck_assert_uint_eq(back, h);
            ck_assert_int_eq(isinf(x) != 0, magnitude == f->end);
        } else {
            ck_assert(isnan(x));
            ck_assert_uint_ge(back % f->sign, f->end + has_infinity(f));
            ck_assert_uint_eq(back & f->sign, h & f->sign);
        }
    }
}

/* Codes and values as the standards give them, not as the functions under test compute them. */
TEST(test_numbers)
{
    static const struct {
        lfuse_type type;
        uint16_t bits;
        double value;
    } known[] = {
        {LFUSE_F16, 0x3c01, 1 + 0x1p-10}, {LFUSE_F16, 0x0001, 0x1p-24},     {LFUSE_F16, 0x7bff, 65504},
        {LFUSE_BF16, 0x3f81, 1 + 0x1p-7}, {LFUSE_BF16, 0x0001, 0x1p-133},   {LFUSE_BF16, 0x7f7f, 0x1.fep127},
        {LFUSE_E4M3, 0x39, 1.125},        {LFUSE_E4M3, 0x01, 0x1p-9},       {LFUSE_E4M3, 0x07, 7 * 0x1p-9},
        {LFUSE_E4M3, 0x08, 0x1p-6},       {LFUSE_E4M3, 0x78, 256},          {LFUSE_E4M3, 0xfe, -448},
        {LFUSE_E5M2, 0x3d, 1.25},         {LFUSE_E5M2, 0x01, 0x1p-16},      {LFUSE_E5M2, 0x03, 3 * 0x1p-16},
        {LFUSE_E5M2, 0x04, 0x1p-14},      {LFUSE_E5M2, 0x7b, 57344},        {LFUSE_E5M2, 0xfc, -INFINITY},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        ck_assert_double_eq(lfuse__narrow_to_float(known[i].type, known[i].bits), known[i].value);
        ck_assert_uint_eq(lfuse__double_to_narrow(known[i].type, known[i].value), known[i].bits);
    }
}

/* Between neighbours h and h + 1: half-way goes to the even one, a little to either side to the nearer one. */
TEST_LOOP(test_every_middle_rounds, 0, FORMATS)
{
    const format *f = &formats[_i];
    for (uint32_t h = 0; h + 1 < f->end; h++) {
        const double low = widen(f, h), high = widen(f, h + 1), middle = low + (high - low) / 2;
        ck_assert_uint_eq(narrow(f, middle), h + (h & 1));
        ck_assert_uint_eq(narrow(f, nextafter(middle, 0)), h);
        ck_assert_uint_eq(narrow(f, nextafter(middle, INFINITY)), h + 1);
        ck_assert_uint_eq(narrow(f, -middle), (h + (h & 1)) | f->sign);
    }
}

/* The largest number of e4m3 is even: half-way goes to it. */
TEST_LOOP(test_ends, 0, FORMATS)
{
    const format *f = &formats[_i];
    ck_assert_uint_eq(narrow(f, f->most), has_infinity(f) ? f->end : f->end - 1);
    ck_assert_uint_eq(narrow(f, nextafter(f->most, 0)), f->end - 1);
    ck_assert_uint_eq(narrow(f, nextafter(f->most, INFINITY)), f->end);
    ck_assert_uint_eq(narrow(f, 2 * f->most), f->end);
    ck_assert_uint_eq(narrow(f, 1e300), f->end);
    ck_assert_uint_eq(narrow(f, -INFINITY), f->end | f->sign);
    ck_assert_uint_eq(narrow(f, 0x1p-1074), 0);
    ck_assert_uint_eq(narrow(f, -0x1p-1022), f->sign);
}

TEST_SUITE("half", CK_FORK_GETENV)
