/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/hash.h"

#include "tests/support/main.h"

static int bits(lfuse__hash a, lfuse__hash b)
{
    return __builtin_popcountll(a.low ^ b.low) + __builtin_popcountll(a.high ^ b.high);
}

static bool equal(lfuse__hash a, lfuse__hash b)
{
    return a.low == b.low && a.high == b.high;
}

TEST_CASE("hash")

TEST(depends_on_bytes_alone)
{
    char text[80], moved[96];

    memset(text, 'q', sizeof text);
    for (size_t shift = 0; shift < 16; shift++)
        for (size_t length = 0; length <= sizeof text; length++) {
            memcpy(moved + shift, text, length);
            ck_assert(equal(lfuse__hash_bytes(text, length), lfuse__hash_bytes(moved + shift, length)));
        }
}

/* Zeros at the end count, though they are what a short last piece is filled with. */
TEST(length_counts)
{
    static const char zeros[64];

    for (size_t a = 0; a <= sizeof zeros; a++)
        for (size_t b = 0; b < a; b++) ck_assert(!equal(lfuse__hash_bytes(zeros, a), lfuse__hash_bytes(zeros, b)));
}

/* Each bit of a key flips about half of the 128: 64 with a deviation of 5.7, so 30 to 98 is beyond doubt. */
TEST(every_bit_spreads)
{
    unsigned char key[100];
    double sum = 0;

    for (size_t i = 0; i < sizeof key; i++) key[i] = (unsigned char)(i * 37 + 11);
    lfuse__hash base = lfuse__hash_bytes(key, sizeof key);
    for (size_t i = 0; i < 8 * sizeof key; i++) {
        key[i / 8] ^= (unsigned char)(1 << i % 8);
        int n = bits(base, lfuse__hash_bytes(key, sizeof key));
        ck_assert_int_gt(n, 30);
        ck_assert_int_lt(n, 98);
        sum += n;
        key[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    ck_assert(sum / (8 * sizeof key) > 63 && sum / (8 * sizeof key) < 65);
}

static int by_low(const void *a, const void *b)
{
    uint64_t x = ((const lfuse__hash *)a)->low, y = ((const lfuse__hash *)b)->low;

    return x < y ? -1 : x > y;
}

static int by_high(const void *a, const void *b)
{
    uint64_t x = ((const lfuse__hash *)a)->high, y = ((const lfuse__hash *)b)->high;

    return x < y ? -1 : x > y;
}

/* Each half alone has no collision among keys that differ little. */
TEST(near_keys_differ)
{
    enum { KEYS = 1 << 16 };
    lfuse__hash *all = malloc(KEYS * sizeof *all);
    char key[24] = "kernel 0000000000000000";

    ck_assert_ptr_nonnull(all);
    for (int i = 0; i < KEYS; i++) {
        memcpy(key + 8, &i, sizeof i);
        all[i] = lfuse__hash_bytes(key, sizeof key);
    }
    qsort(all, KEYS, sizeof *all, by_low);
    for (int i = 1; i < KEYS; i++) ck_assert(all[i].low != all[i - 1].low);
    qsort(all, KEYS, sizeof *all, by_high);
    for (int i = 1; i < KEYS; i++) ck_assert(all[i].high != all[i - 1].high);
    free(all);
}

TEST_SUITE("hash", CK_FORK_GETENV)
