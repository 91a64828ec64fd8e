/* SPDX-License-Identifier: Apache-2.0 */
/* The argument words of kernels: what 32-bit ones can hold, and which addresses and strides vectors may have. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "tests/kernels/classes.h"
#include "tests/support/main.h"

static const int64_t limit = INT32_MAX;

/* -x over two axes with any strides, its result with the same ones. */
static void make(sample *s, lfuse__geometry *g, int64_t rows, int64_t columns)
{
    sample_op(s, LFUSE__OP_neg, LFUSE_F32);
    s->k.rank = 2;
    s->k.operands[0].inner = s->k.operands[1].inner = LFUSE__STRIDE_ANY;
    *g = (lfuse__geometry){ .extents = { rows, columns } };
}

static lfuse_status pack(const sample *s, const lfuse__geometry *g)
{
    const lfuse__facts facts = facts_items(true);
    lfuse__packed packed;

    return lfuse__family_pointwise.pack(&s->k, &facts, g, &packed);
}

TEST_CASE("layout")

/* Either sign: the last stride that 32 bits hold, and the first that they do not. */
TEST_LOOP(strides, 0, 2)
{
    const int sign = _i ? -1 : 1;
    lfuse__geometry g;
    sample s;

    make(&s, &g, 1, 1);
    g.strides[0][1] = sign * limit;
    ck_assert_int_eq(pack(&s, &g), LFUSE_OK);
    g.strides[0][1] = sign * (limit + 1);
    ck_assert_int_eq(pack(&s, &g), LFUSE_ERR_OVERFLOW);
    s.k.index64 = true;
    ck_assert_int_eq(pack(&s, &g), LFUSE_OK);
}

/* How far an operand's elements lie from its first one, to either side: the axes add up. */
TEST_LOOP(reaches, 0, 2)
{
    const int sign = _i ? -1 : 1;
    lfuse__geometry g;
    sample s;

    make(&s, &g, 2, 3);
    g.strides[0][0] = sign * (limit - 2000);
    g.strides[0][1] = sign * 1000;
    ck_assert_int_eq(pack(&s, &g), LFUSE_OK);
    g.strides[0][1] = sign * 1001;
    ck_assert_int_eq(pack(&s, &g), LFUSE_ERR_OVERFLOW);
    g.strides[0][1] = -sign * 1001; /* to both sides */
    ck_assert_int_eq(pack(&s, &g), LFUSE_OK);
    s.k.index64 = true;
    g.strides[0][1] = sign * 1001;
    ck_assert_int_eq(pack(&s, &g), LFUSE_OK);
}

TEST(numbers_of_elements)
{
    lfuse__geometry g;
    sample s;

    make(&s, &g, 1, limit);
    ck_assert_int_eq(pack(&s, &g), LFUSE_OK);
    make(&s, &g, 1 << 16, 1 << 15);
    ck_assert_int_eq(pack(&s, &g), LFUSE_ERR_OVERFLOW);
    s.k.index64 = true;
    ck_assert_int_eq(pack(&s, &g), LFUSE_OK);
}

/* Vectors of two f64 or four f32 have 16 bytes, of two f32 8: addresses are multiples of that. */
TEST_LOOP(aligned_addresses, 0, 4)
{
    static const struct {
        lfuse_type type;
        int vector;
        unsigned bytes;
    } cases[] = { { LFUSE_F32, 4, 16 }, { LFUSE_F64, 2, 16 }, { LFUSE_F64, 4, 16 }, { LFUSE_F32, 2, 8 } };
    const int vector = cases[_i].vector;
    lfuse__geometry g;
    sample s;

    sample_op(&s, LFUSE__OP_neg, cases[_i].type);
    for (uint64_t at = 0; at <= 32; at += 4) {
        g = (lfuse__geometry){ .extents = { 64 }, .strides = { { 1 }, { 1 } }, .addresses = { 4096 + at, 4096 } };
        ck_assert_int_eq(lfuse__geometry_aligned(&s.k, &g, vector), at % cases[_i].bytes == 0);
        g.addresses[0] = 4096, g.addresses[1] = 4096 + at;
        ck_assert_int_eq(lfuse__geometry_aligned(&s.k, &g, vector), at % cases[_i].bytes == 0);
    }
}

/* Of several rows each begins at a multiple of the vector, and has whole vectors. */
TEST(aligned_rows)
{
    sample s;

    sample_op(&s, LFUSE__OP_neg, LFUSE_F32);
    s.k.rank = 2;
    for (int64_t stride = 8; stride <= 16; stride++) {
        lfuse__geometry g = (lfuse__geometry){ .extents = { 3, 8 }, .strides = { { stride, 1 }, { 8, 1 } } };
        ck_assert_int_eq(lfuse__geometry_aligned(&s.k, &g, 4), stride % 4 == 0);
        g.extents[0] = 1; /* a stride that no second row takes */
        ck_assert(lfuse__geometry_aligned(&s.k, &g, 4));
        g.extents[0] = 3, g.extents[1] = stride;
        g.strides[0][0] = g.strides[1][0] = 16;
        ck_assert_int_eq(lfuse__geometry_aligned(&s.k, &g, 4), stride % 4 == 0);
    }
}

/* Rows that are looked up lie at multiples of the vector too. */
TEST(aligned_tables)
{
    lfuse__geometry g;
    sample s;

    sample_look_up(&s, LFUSE_F32, false);
    for (int64_t stride = 8; stride <= 16; stride++) {
        g = (lfuse__geometry){ .extents = { 5, 8 }, .gathered_extents = { 100 }, .gathered_strides = { stride } };
        g.strides[SAMPLE_TABLE][1] = g.strides[SAMPLE_RESULT][1] = 1;
        g.strides[SAMPLE_RESULT][0] = 8;
        g.strides[SAMPLE_INDICES][0] = 1;
        ck_assert_int_eq(lfuse__geometry_aligned(&s.k, &g, 4), stride % 4 == 0);
    }
}

/* The quotient is exact for all that is below 2^31: around multiples of the divisor, and at the end. */
TEST(divisions_of_32_bits)
{
    static const uint64_t divisors[] = { 1, 2, 3, 7, 8, 24, 641, 65535, 65536, 65537, (1u << 30) + 1, (1u << 31) - 1,
                                         1u << 31 };

    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        const uint64_t d = divisors[i], by = lfuse__division32(d), last = (1u << 31) - 1;
        for (uint64_t n = 0; n <= last; n = n < 100 || n == last ? n + 1 : n * 3 > last ? last : n * 3) {
            const uint64_t near[] = { n, n / d * d, n / d * d + d - 1 };
            for (int k = 0; k < 3; k++)
                if (near[k] <= last)
                    ck_assert_uint_eq((uint32_t)(near[k] * (uint32_t)by >> (by >> 32)), near[k] / d);
        }
    }
}

TEST_SUITE("layout", CK_FORK_GETENV)
