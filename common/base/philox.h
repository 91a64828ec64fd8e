/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw ("Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011): ten rounds turn a counter of 128 bits and a key of 64 into four words of 32.
 */
#ifndef COMMON_BASE_PHILOX_H
#define COMMON_BASE_PHILOX_H

#include <stdint.h>

static inline void lfuse__philox_block(uint32_t word[4], uint64_t key)
{
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    int round;

    for (round = 0; round < 10; round++) {
        const uint64_t first = (uint64_t)0xd2511f53u * word[0], second = (uint64_t)0xcd9e8d57u * word[2];
        const uint32_t next[4] = {(uint32_t)(second >> 32) ^ word[1] ^ low, (uint32_t)second,
                                  (uint32_t)(first >> 32) ^ word[3] ^ high, (uint32_t)first};
        word[0] = next[0], word[1] = next[1], word[2] = next[2], word[3] = next[3];
        low += 0x9e3779b9u;
        high += 0xbb67ae85u;
    }
}

/* Word number `index` of a stream: word index % 4 of the block whose counter is (index / 4, stream), low word first. */
static inline uint32_t lfuse__philox(uint64_t index, uint64_t key, uint64_t stream)
{
    uint32_t word[4] = {(uint32_t)(index >> 2), (uint32_t)(index >> 34), (uint32_t)stream, (uint32_t)(stream >> 32)};

    lfuse__philox_block(word, key);
    return word[index & 3];
}

#endif
