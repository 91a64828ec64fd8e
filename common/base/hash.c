/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/hash.h"

#include <string.h>

/* Odd constants with about half of their bits set: the fractions of the square roots of 2, 3, 5 and 7. */
#define FACTOR_A UINT64_C(0x6a09e667f3bcc909)
#define FACTOR_B UINT64_C(0xbb67ae8584caa73b)
#define FACTOR_C UINT64_C(0x3c6ef372fe94f82b)
#define FACTOR_D UINT64_C(0xa54ff53a5f1d36f1)

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

/* Every bit of the result depends on every bit of x. */
static uint64_t spread(uint64_t x)
{
    x ^= x >> 32;
    x *= FACTOR_C;
    x ^= x >> 29;
    x *= FACTOR_D;
    return x ^ x >> 32;
}

/* Each step is invertible in the state, so no earlier difference is lost; the two halves feed each other. */
static void step(lfuse__hash *h, uint64_t first, uint64_t second)
{
    h->low = rotate((h->low ^ first) * FACTOR_A, 29) + h->high;
    h->high = rotate((h->high ^ second) * FACTOR_B, 37) + h->low;
}

lfuse__hash lfuse__hash_bytes(const void *data, size_t length)
{
    const unsigned char *at = data;
    lfuse__hash h = { FACTOR_C ^ length, FACTOR_D };
    uint64_t pair[2];
    size_t left;

    for (left = length; left >= sizeof pair; left -= sizeof pair, at += sizeof pair) {
        memcpy(pair, at, sizeof pair);
        step(&h, pair[0], pair[1]);
    }
    if (left) {
        memset(pair, 0, sizeof pair);
        memcpy(pair, at, left);
        step(&h, pair[0], pair[1]);
    }
    step(&h, length, length);
    h.low = spread(h.low ^ rotate(h.high, 32));
    h.high = spread(h.high + h.low);
    return h;
}
