/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles that are shared out, where whole ones would leave the last of their rounds nearly empty: "Stream-K" (Osama,
 * Merrill, Cecka, Garland, Owens 2023). The tiles of the last full round and of the one behind it, together `shared` of
 * them, are cut into as many ranges of k-tiles, equally long and one behind the other, as there are `workers`: groups
 * that the device has room for. A range may begin and end within a tile; who has k-tiles of one meets the others
 * there as parts do (split_k.c), so that no group waits for another. Other tiles are a group's as a whole.
 */
#include "common/matmul/tile.h"

enum { LEAST = 4 /* workers of a tile: with more of them, adding up takes what they gain */ };

bool lfuse__tiles_share(int64_t workers, lfuse__cut *c)
{
    const int64_t tiles = c->down * c->across, alone = tiles / workers - 1;
    c->parts = LFUSE__STREAM_K;
    c->workers = workers;
    c->shared = tiles - workers * (alone > 0 ? alone : 0);
    return c->shared * LEAST >= workers && c->shared * c->k_tiles >= workers && c->shared <= LFUSE__TILES_TICKETS &&
           (workers > c->shared ? workers : c->shared) < UINT32_MAX / (c->k_tiles + 1); /* the kernel's numbers */
}
