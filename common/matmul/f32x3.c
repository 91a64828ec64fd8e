/* SPDX-License-Identifier: Apache-2.0 */
/* LFUSE_PRECISION_F32X3 (emulated.h): two words of f16, three products. */
#include "common/matmul/emulated.h"

/*
 * "Recovering single precision accuracy from Tensor Cores", Ootomo and Yokota, 2022. The product of low words is of the
 * size of what sums round away.
 */
static const lfuse__emulation emulation = {
    .precision = LFUSE_PRECISION_F32X3, .word = "f16", .words = 2, .largest = 13, .least_k = 256,
    .products = 3, .product = {{1, 0}, {0, 1}, {0, 0}},
};

/* Fitted to times on an H200. The narrow tile waits for the cache behind the units: it is for what has few tiles. */
static const lfuse__tile_shape by_wgmma[] = {
    {128, 128, LFUSE__WGMMA_DEPTH, 2, 32, 1, 2, 1, 300, 600},
    {128, 64, LFUSE__WGMMA_DEPTH, 2, 16, 1, 3, 1, 300, 400},
    {64, 128, 16, 2, 32, 1, 2, 2, 300, 470},
};

/* Fitted to times on an H100. The small tile is for what has few large ones. Sums are promoted after each k-tile. */
static const lfuse__tile_shape by_mma[] = {
    {128, 128, LFUSE__MMA_STEP, 8, 16, 1, 2, 2, 600, 365},
    {64, 64, LFUSE__MMA_STEP, 4, 8, 1, 2, 4, 500, 280},
};

LFUSE__EMULATED(f32x3, &emulation, by_wgmma, by_mma);
