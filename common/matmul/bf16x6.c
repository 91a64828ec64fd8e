/* SPDX-License-Identifier: Apache-2.0 */
/* LFUSE_PRECISION_BF16X6 (emulated.h): three words of bf16, six products. */
#include "common/matmul/emulated.h"

/*
 * Three words have the 24 bits of f32, and its exponents: scaling is for elements whose last word would be below the
 * smallest numbers. However large a row of the other operand is, no sum of rows that have been scaled overflows. The
 * three products that are left out are together at most 2^-24 of |a| |b|, as one rounding to f32 is, and on average
 * much less: with nine nothing would be seen of them behind the roundings of sums, for half as much work again.
 */
static const lfuse__emulation emulation = {
    .precision = LFUSE_PRECISION_BF16X6, .word = "bf16", .words = 3, .largest = -32, .rises = true, .least_k = 256,
    .products = 6, .product = {{2, 0}, {1, 1}, {0, 2}, {1, 0}, {0, 1}, {0, 0}},
};

/* The first and the last one are fitted to times on an H100. Three words leave room for two stages. */
static const lfuse__tile_shape by_wgmma[] = {
    {128, 128, LFUSE__WGMMA_DEPTH, 2, 32, 1, 1, 1, 150, 320},
    {128, 64, LFUSE__WGMMA_DEPTH, 2, 16, 1, 1, 1, 150, 215},
    {64, 128, 16, 2, 32, 1, 1, 2, 150, 260},
};

/*
 * Fragments of three words take more registers than those of two: warps have smaller tiles. Rates are half of those of
 * f32x3. Sums are promoted after each k-tile.
 */
static const lfuse__tile_shape by_mma[] = {
    {128, 64, LFUSE__MMA_STEP, 8, 8, 1, 1, 2, 600, 180},
    {64, 64, LFUSE__MMA_STEP, 4, 8, 1, 2, 3, 500, 140},
};

LFUSE__EMULATED(bf16x6, &emulation, by_wgmma, by_mma);
