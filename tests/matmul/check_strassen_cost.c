/* SPDX-License-Identifier: Apache-2.0 */
/* What a model of a device says of products by Strassen's algorithm. */
#include "common/matmul/provider.h"
#include "tests/plan/rig.h"

static int levels_of(int64_t m, int64_t n, int64_t k, double *gain)
{
    const lfuse__matmul_desc p = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32,
                                   .low = { m, n, k, 1 }, .frozen[1] = true };

    return lfuse__strassen_levels(&rig_facts, &p, gain);
}

TEST_CASE("model", .setup = rig_setup, .teardown = rig_teardown)

/* The published ceilings are 1.25 and 1.28 by two levels, by one 1.117 and 1.13; what is lost stays below 8 points. */
TEST(large_products)
{
    const lfuse__matmul_desc p = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32,
                                   .low = { 8192, 8192, 8192, 1 }, .frozen[1] = true };
    double gain;

    rig_h200();
    ck_assert_int_eq(levels_of(4096, 4096, 4096, &gain), 2);
    ck_assert(gain > 1.10 && gain < 1.25);
    ck_assert_int_eq(levels_of(8192, 8192, 8192, &gain), 2);
    ck_assert(gain > 1.18 && gain < 1.28);
    gain = lfuse__strassen_time(&rig_facts, &p, 0) / lfuse__strassen_time(&rig_facts, &p, 1);
    ck_assert(gain > 1.07 && gain < 1.143);
}

/* Few rows read grown weights for little work; small products have nothing to win. */
TEST(small_products)
{
    static const int64_t sizes[][3] = { { 64, 4096, 4096 }, { 64, 512, 512 }, { 1, 512, 512 }, { 128, 128, 128 },
                                        { 512, 512, 512 }, { 1024, 1024, 1024 }, { 32, 8192, 8192 }, { 4096, 4096, 64 },
                                        { 64, 8192, 8192 } };
    double gain;

    rig_h200();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ck_assert_msg(!levels_of(sizes[i][0], sizes[i][1], sizes[i][2], &gain), "%d: %g", (int)i, gain);
    rig_facts.product_rate = 25e12; /* latencies are as long where products are slower */
    for (size_t i = 1; i < 4; i++)
        ck_assert_msg(!levels_of(sizes[i][0], sizes[i][1], sizes[i][2], &gain), "%d: %g", (int)i, gain);
}

/* More rate for the same bandwidth makes levels pay later. */
TEST(faster_products)
{
    double slow, fast;

    rig_h200();
    levels_of(2048, 2048, 2048, &slow);
    rig_facts.product_rate = 380e12;
    ck_assert_int_eq(levels_of(2048, 2048, 2048, &fast), 0);
    ck_assert(fast < slow && fast < 1.02);
}

/* Operands that vary cost their factors at each run. */
TEST(variable_operands)
{
    lfuse__matmul_desc p = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32, .low = { 4096, 4096, 4096, 1 },
                             .frozen = { true, true } };

    rig_h200();
    double frozen_time = lfuse__strassen_time(&rig_facts, &p, 1);
    p.frozen[0] = false;
    double left_time = lfuse__strassen_time(&rig_facts, &p, 1);
    p.frozen[1] = false;
    double both_time = lfuse__strassen_time(&rig_facts, &p, 1);
    ck_assert(frozen_time < left_time && left_time < both_time);
    /* 1.75 and 2.75 times the matrix, at 0.95 of the copies' rate. */
    ck_assert(fabs((left_time - frozen_time) * 4.27e12 * 0.95 / (4.0 * 4096 * 4096) - 1.75) < 1e-6);
    ck_assert(fabs((both_time - left_time) * 4.27e12 * 0.95 / (4.0 * 4096 * 4096) - 2.75) < 1e-6);
}

/* 700 TFLOP/s leave little of what is saved: at 4096 the kernels between the products take more than that. */
TEST(narrow_products)
{
    lfuse__matmul_desc p = { .types = { LFUSE_F16, LFUSE_F16 }, .result = LFUSE_F16, .low = { 4096, 4096, 4096, 1 },
                             .frozen[1] = true };
    double gain;

    rig_h200();
    ck_assert_int_eq(lfuse__strassen_levels(&rig_facts, &p, &gain), 0);
    ck_assert(gain == 0); /* the rate is not known */
    rig_facts.product_rate16[0] = 700e12;
    ck_assert_int_eq(lfuse__strassen_levels(&rig_facts, &p, &gain), 0);
    ck_assert(gain > 0 && gain < 1);
    p.types[0] = p.types[1] = p.result = LFUSE_BF16;
    ck_assert_int_eq(lfuse__strassen_levels(&rig_facts, &p, &gain), 0);
    ck_assert(gain == 0);
    rig_facts.product_rate16[1] = 51e12; /* no tensor cores */
    ck_assert_int_ne(lfuse__strassen_levels(&rig_facts, &p, &gain), 0);
    /* Products of 4 bytes are read, factors of 2 written. */
    double one = lfuse__strassen_time(&rig_facts, &p, 1);
    p.frozen[0] = true;
    double two = lfuse__strassen_time(&rig_facts, &p, 1);
    ck_assert(fabs((one - two) * 4.27e12 * 0.95 / (2.0 * 4096 * 4096) - 1.75) < 1e-6);
}

static int levels_of_split(int64_t side, int64_t k, bool frozen, double *gain)
{
    const lfuse__matmul_desc p = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32, .low = { side, side, k, 1 },
                                   .frozen[1] = frozen, .precision = LFUSE_PRECISION_F32X3 };

    return lfuse__strassen_levels(&rig_facts, &p, gain);
}

/* Words are multiplied at four times the rate of f32, so that it takes large matrices; factors are split, too. */
TEST(split_products)
{
    double gain, varying;

    rig_h200();
    ck_assert_int_eq(levels_of_split(16384, 16384, true, &gain), 0);
    ck_assert(gain == 0); /* the rate is not known */
    rig_facts.product_rate_split[LFUSE_PRECISION_F32X3] = 200e12;
    ck_assert_int_eq(levels_of_split(4096, 4096, false, &gain), 0);
    ck_assert(gain > 0 && gain < 1);
    ck_assert_int_gt(levels_of_split(16384, 16384, false, &varying), 0);
    ck_assert_int_gt(levels_of_split(16384, 16384, true, &gain), 0);
    ck_assert(1.02 < varying && varying < gain && gain < 1.25);
}

/* Times of an H100 without levels over those with one and two: what is chosen is never slower by 2 %. */
TEST(split_products_of_an_h100)
{
    static const struct { int64_t m, n, k; bool frozen; double gain[3]; } all[] = {
        {8192, 8192, 8192, false, {1, 0.91, 0}},     {8192, 8192, 8192, true, {1, 0.976, 0.985}},
        {10240, 10240, 10240, true, {1, 0.990, 1.029}}, {12288, 12288, 12288, false, {1, 0.93, 0.968}},
        {12288, 12288, 12288, true, {1, 1.030, 1.076}}, {16384, 16384, 16384, false, {1, 1.064, 1.071}},
        {16384, 16384, 16384, true, {1, 1.041, 1.131}}, {16384, 16384, 4096, false, {1, 0.952, 0}},
        {16384, 16384, 4096, true, {1, 0.957, 0}},
    };
    double gain;

    rig_h200();
    rig_facts.product_rate_split[LFUSE_PRECISION_F32X3] = 203e12, rig_facts.copy_rate = 2.92e12;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const lfuse__matmul_desc p = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32,
                                       .low = { all[i].m, all[i].n, all[i].k, 1 }, .frozen[1] = all[i].frozen,
                                       .precision = LFUSE_PRECISION_F32X3 };
        int levels = lfuse__strassen_levels(&rig_facts, &p, &gain);
        ck_assert_msg(all[i].gain[levels] >= 0.98, "%d: %d levels, expected to gain %g", (int)i, levels, gain);
    }
}

/* Sums of small products are not to become too short to be split. */
TEST(split_products_of_short_sums)
{
    double gain;

    rig_h200();
    rig_facts.product_rate_split[LFUSE_PRECISION_F32X3] = 20e12;
    ck_assert_int_eq(levels_of_split(16384, 1024, true, &gain), 2);
    ck_assert_int_eq(levels_of_split(16384, 1020, true, &gain), 1);
    ck_assert_int_eq(levels_of_split(16384, 510, true, &gain), 0);
}

/* Each emulation has a rate of its own, and three words of an element are more to move than two. */
TEST(another_emulation)
{
    lfuse__matmul_desc p = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32, .low = { 8192, 8192, 8192, 1 },
                             .precision = LFUSE_PRECISION_BF16X6 };
    double gain;

    rig_h200();
    rig_facts.product_rate_split[LFUSE_PRECISION_F32X3] = 200e12;
    ck_assert_int_eq(lfuse__strassen_levels(&rig_facts, &p, &gain), 0);
    ck_assert(gain == 0); /* the rate is not known */
    rig_facts.product_rate_split[LFUSE_PRECISION_BF16X6] = 100e12;
    double varying = lfuse__strassen_time(&rig_facts, &p, 0);
    p.frozen[0] = true;
    double by_words = varying - lfuse__strassen_time(&rig_facts, &p, 0);
    ck_assert(fabs(by_words * rig_facts.copy_rate / (8192.0 * 8192) - 10) < 1e-3);
}

/* What splitting moves: 8 bytes of each element that is not frozen, at the rate of copies. */
TEST(splitting)
{
    lfuse__matmul_desc p = { .types = { LFUSE_F32, LFUSE_F32 }, .result = LFUSE_F32, .low = { 8192, 8192, 8192, 1 },
                             .precision = LFUSE_PRECISION_F32X3 };

    rig_h200();
    rig_facts.product_rate_split[LFUSE_PRECISION_F32X3] = 200e12;
    for (int levels = 0; levels < 2; levels++) {
        p.precision = LFUSE_PRECISION_F32X3, p.frozen[0] = false;
        double varying = lfuse__strassen_time(&rig_facts, &p, levels);
        p.frozen[0] = true;
        double by_words = varying - lfuse__strassen_time(&rig_facts, &p, levels);
        double factors = levels ? 2.75 * 4 / 0.95 : 0; /* that are written, as of f32, and what they are made of */
        double expected = ((levels ? 1.75 : 1) * 8 + factors) * 8192 * 8192 / 4.27e12;
        ck_assert_msg(fabs(by_words / expected - 1) < 1e-6, "%d: %g, %g", levels, by_words, expected);
    }
    p.frozen[0] = false, p.low = (lfuse__matmul_sizes){ 4096, 4096, 4096, 1 };
    double rated = 2 * 4096.0 * 4096 * 4096 / 200e12; /* with what splits both */
    ck_assert(fabs(lfuse__strassen_time(&rig_facts, &p, 0) / rated - 1) < 0.05);
}

/* What finds no room would not run. */
TEST(room)
{
    double gain;

    rig_h200();
    rig_facts.product_rate_split[LFUSE_PRECISION_F32X3] = 200e12;
    ck_assert_int_eq(levels_of_split(32768, 32768, true, &gain), 2);
    rig_facts.info.memory_bytes = UINT64_C(80) << 30;
    ck_assert_int_eq(levels_of_split(32768, 32768, true, &gain), 1);
    rig_facts.info.memory_bytes = UINT64_C(40) << 30;
    ck_assert_int_eq(levels_of_split(32768, 32768, true, &gain), 0);
    ck_assert_int_eq(levels_of(32768, 32768, 32768, &gain), 1);
}

/* Whose launches are not known is asked for more work, by the same rates. */
TEST(other_device)
{
    double measured, generic;

    rig_h200();
    ck_assert_int_ne(levels_of(2048, 2048, 2048, &measured), 0);
    rig_facts.vendor = 0;
    levels_of(2048, 2048, 2048, &generic);
    ck_assert(generic < measured);
    ck_assert_int_ne(levels_of(4096, 4096, 4096, &generic), 0);
}

TEST(unknown_device)
{
    double gain;

    ck_assert_int_eq(levels_of(8192, 8192, 8192, &gain), 0);
    ck_assert(gain == 0);
}

TEST_SUITE("strassen_cost", CK_FORK)
