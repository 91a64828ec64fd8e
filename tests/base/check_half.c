/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/half.h"

#include "tests/support/main.h"

typedef struct format {
    uint16_t (*narrow)(double);
    float (*widen)(uint16_t);
    uint16_t infinity;
    double most; /* half-way between the largest number and what would be next */
} format;

static const format formats[] = {
    {lfuse__double_to_f16, lfuse__f16_to_float, 0x7c00, 65520},
    {lfuse__double_to_bf16, lfuse__bf16_to_float, 0x7f80, 0x1.ffp127},
};

TEST_CASE("half")

TEST_LOOP(test_every_number_comes_back, 0, sizeof formats / sizeof formats[0])
{
    const format *f = &formats[_i];
    for (uint32_t h = 0; h <= 0xffff; h++) {
        const float x = f->widen((uint16_t)h);
        const uint16_t back = f->narrow(x);
        if ((h & 0x7fff) <= f->infinity) {
            ck_assert_uint_eq(back, h);
        } else {
            ck_assert(isnan(x));
            ck_assert_uint_gt(back & 0x7fff, f->infinity);
            ck_assert_uint_eq(back & 0x8000, h & 0x8000);
        }
    }
}

/* Between neighbours h and h + 1: half-way goes to the even one, a little to either side to the nearer one. */
TEST_LOOP(test_every_middle_rounds, 0, sizeof formats / sizeof formats[0])
{
    const format *f = &formats[_i];
    for (uint32_t h = 0; h + 1 < f->infinity; h++) {
        const double low = f->widen((uint16_t)h), high = f->widen((uint16_t)(h + 1)), middle = low + (high - low) / 2;
        ck_assert_uint_eq(f->narrow(middle), h + (h & 1));
        ck_assert_uint_eq(f->narrow(nextafter(middle, 0)), h);
        ck_assert_uint_eq(f->narrow(nextafter(middle, INFINITY)), h + 1);
        ck_assert_uint_eq(f->narrow(-middle), (h + (h & 1)) | 0x8000);
    }
}

TEST_LOOP(test_ends, 0, sizeof formats / sizeof formats[0])
{
    const format *f = &formats[_i];
    ck_assert_uint_eq(f->narrow(f->most), f->infinity);
    ck_assert_uint_eq(f->narrow(nextafter(f->most, 0)), f->infinity - 1);
    ck_assert_uint_eq(f->narrow(1e300), f->infinity);
    ck_assert_uint_eq(f->narrow(-INFINITY), f->infinity | 0x8000);
    ck_assert_uint_eq(f->narrow(0x1p-1074), 0);
    ck_assert_uint_eq(f->narrow(-0x1p-1022), 0x8000);
}

TEST_SUITE("half", CK_FORK_GETENV)
