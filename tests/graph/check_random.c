/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the generator against published vectors, their distribution, and what the functions refuse. */
#include "bench/oracle.h"
#include "common/base/philox.h"
#include "common/graph/graph.h"
#include "libfuse.h"
#include "tests/support/main.h"

/* From kat_vectors of Random123: counter, key, result. */
static const struct {
    uint32_t counter[4], key[2], result[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

TEST_CASE("random")

TEST_LOOP(published_vectors, 0, 3)
{
    const uint64_t key = known[_i].key[0] | (uint64_t)known[_i].key[1] << 32;
    const uint64_t low = known[_i].counter[0] | (uint64_t)known[_i].counter[1] << 32;
    const uint64_t high = known[_i].counter[2] | (uint64_t)known[_i].counter[3] << 32;
    uint32_t word[4];
    memcpy(word, known[_i].counter, sizeof word);
    lfuse__philox_block(word, key);
    ck_assert(!memcmp(word, known[_i].result, sizeof word));
    /* A stream goes through 2^62 blocks. */
    if (low >> 62) return;
    for (uint64_t i = 0; i < 4; i++) ck_assert_uint_eq(lfuse__philox(4 * low + i, key, high), known[_i].result[i]);
}

enum { COUNT = 40000 };
static lfuse_graph *g;
static lfuse__oracle_run run;

/* The only output's elements, by the oracle. */
static const long double *evaluate(lfuse_value v)
{
    lfuse_output(g, "y", v);
    OK(lfuse__oracle_run_graph(g, NULL, 0, NULL, &run));
    ck_assert_int_eq(run.results[0].count, COUNT);
    return run.results[0].value;
}

static void begin(void)
{
    g = lfuse_graph_create();
}

static void end(void)
{
    lfuse__oracle_free(&run);
    lfuse_graph_destroy(g);
}

static lfuse_value seed(void) { return lfuse_constant(g, 5); }
static lfuse_value offset(double x) { return lfuse_constant(g, x); }

TEST(bits_are_words_of_the_stream)
{
    begin();
    const long double *y = evaluate(lfuse_random_bits(g, SHAPE(COUNT / 100, 100), seed(), offset(7)));
    for (int i = 0; i < COUNT; i++) ck_assert_int_eq((int32_t)y[i], (int32_t)lfuse__philox((uint64_t)i, 5, 7));
    end();
}

static const lfuse_type types[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_E4M3, LFUSE_E5M2};
static const double units[] = {0x1p-24, 0x1p-11, 0x1p-8, 0x1p-53, 0x1p-4, 0x1p-3};
enum { TYPES = sizeof types / sizeof *types };

/* Moments, and the counts of 16 equal classes, of 8 where there are 8 numbers: each within 5 deviations. */
TEST_LOOP(uniform, 0, TYPES)
{
    const int count = types[_i] == LFUSE_E5M2 ? 8 : 16;
    int64_t classes[16] = {0};
    double mean = 0, square = 0;
    begin();
    const long double *y = evaluate(lfuse_random_uniform(g, TYPED(types[_i], COUNT), seed(), offset(1)));
    for (int i = 0; i < COUNT; i++) {
        ck_assert(y[i] >= 0 && y[i] < 1);
        ck_assert(fmod((double)y[i], units[_i]) == 0);
        ck_assert(run.results[0].bound[i] == 0);
        classes[(int)(count * y[i])]++;
        mean += (double)y[i] / COUNT;
        square += (double)(y[i] * y[i]) / COUNT;
    }
    ck_assert_double_eq_tol(mean, 0.5 - units[_i] / 2, 5 * sqrt(1.0 / 12 / COUNT));
    ck_assert_double_eq_tol(square - mean * mean, (1 - units[_i] * units[_i]) / 12, 0.003);
    for (int i = 0; i < count; i++)
        ck_assert_double_eq_tol(classes[i], (double)COUNT / count, 5 * sqrt((double)COUNT / count));
    end();
}

TEST_LOOP(normal, 0, TYPES)
{
    double sums[5] = {0};
    begin();
    const long double *y = evaluate(lfuse_random_normal(g, TYPED(types[_i], COUNT), seed(), offset(2)));
    for (int i = 0; i < COUNT; i++)
        for (int power = 1; power <= 4; power++) sums[power] += pow((double)y[i], power) / COUNT;
    /* The deviations of these sums are 1, sqrt(2), sqrt(15) and sqrt(96) over the root of their number. */
    ck_assert_double_eq_tol(sums[1], 0, 5 / sqrt(COUNT));
    ck_assert_double_eq_tol(sums[2], 1, 5 * sqrt(2) / sqrt(COUNT) + 0.005);
    ck_assert_double_eq_tol(sums[3], 0, 5 * sqrt(15) / sqrt(COUNT));
    ck_assert_double_eq_tol(sums[4], 3, 5 * sqrt(96) / sqrt(COUNT) + 0.02);
    end();
}

TEST_LOOP(dropout, 0, 3)
{
    const double p = (double[]){0.25, 0, 1}[_i];
    const lfuse_size shape[] = {COUNT};
    int64_t kept = 0;
    begin();
    const lfuse_value ones = lfuse_broadcast_to(lfuse_cast(lfuse_constant(g, 3), LFUSE_F32), 1, shape);
    const long double *y = evaluate(lfuse_dropout(ones, lfuse_constant(g, p), seed(), offset(3)));
    for (int i = 0; i < COUNT; i++) {
        ck_assert(y[i] == 0 || (p < 1 && y[i] == (float)(3.0 * (float)(1 / (1 - p)))));
        kept += y[i] != 0;
    }
    ck_assert_double_eq_tol((double)kept, COUNT * (1 - p), 5 * sqrt(COUNT * p * (1 - p)) + 0.5);
    end();
}

/* Streams share no more than chance has them share. */
TEST(streams_differ)
{
    int same = 0;
    for (uint64_t i = 0; i < COUNT; i++)
        same += (lfuse__philox(i, 5, 1) >> 24 == lfuse__philox(i, 5, 2) >> 24) +
                (lfuse__philox(i, 5, 1) >> 24 == lfuse__philox(i, 6, 1) >> 24);
    ck_assert_double_eq_tol(same, 2 * COUNT / 256.0, 5 * sqrt(2 * COUNT / 256.0));
}

#define MISTAKES(X)                                                                                                    \
    X(lfuse_random_uniform(g, LFUSE_I32, 1, LFUSE_DIMS(4), seed(), offset(0)), TYPE, "does not give type i32")         \
    X(lfuse_random_normal(g, (lfuse_type)99, 1, LFUSE_DIMS(4), seed(), offset(0)), TYPE, "99 is no element type")      \
    X(lfuse_random_bits(g, 9, LFUSE_DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), seed(), offset(0)), RANK, "rank 9")               \
    X(lfuse_random_bits(g, 1, LFUSE_DIMS(-3), seed(), offset(0)), SHAPE, "-3")                                         \
    X(lfuse_random_bits(g, 1, LFUSE_DIMS(4), lfuse_cast(seed(), LFUSE_F32), lfuse_input(g, "x", LFUSE_F32, 1,          \
                        LFUSE_DIMS(4))), TYPE, "types differ")                                                         \
    X(lfuse_philox(seed(), seed(), offset(0)), TYPE, "numbers without a type")                                         \
    X(lfuse_bit_and(seed(), offset(0)), TYPE, "numbers without a type")                                                \
    X(lfuse_bit_or(lfuse_input(g, "x", LFUSE_F32, 0, NULL), offset(0)), TYPE, "does not take type f32")                \
    X(lfuse_logical_not(lfuse_input(g, "x", LFUSE_I32, 0, NULL)), TYPE, "does not take type i32")                      \
    X(lfuse_isnan(lfuse_input(g, "x", LFUSE_I64, 0, NULL)), TYPE, "does not take type i64")                            \
    X(lfuse_dropout(seed(), seed(), seed(), offset(0)), TYPE, "number without a type")                                 \
    X(lfuse_dropout(lfuse_input(g, "x", LFUSE_I8, 0, NULL), seed(), seed(), offset(0)), TYPE, "does not take type i8") \
    X(lfuse_dropout(lfuse_input(g, "x", LFUSE_F32, 0, NULL), lfuse_input(g, "p", LFUSE_F32, 1, LFUSE_DIMS(2)),         \
                    seed(), offset(0)), RANK, "p is no number")

#define ONE(...) +1
TEST_LOOP(mistakes, 0, 0 MISTAKES(ONE))
{
    int number = 0;
#define TRY(value, status, words)                                                                                      \
    if (number++ == _i) {                                                                                              \
        begin();                                                                                                       \
        ck_assert_int_lt((value).id, 0);                                                                               \
        ck_assert_int_eq(lfuse_graph_check(g), LFUSE_ERR_##status);                                                    \
        ck_assert_msg(strstr(lfuse_last_error(), words), "%s", lfuse_last_error());                                    \
        lfuse_graph_destroy(g);                                                                                        \
    }
    MISTAKES(TRY)
}

TEST_SUITE("random numbers", CK_FORK_GETENV)
