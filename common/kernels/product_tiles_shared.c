/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles that are shared out, where whole ones would leave the last of their rounds nearly empty: "Stream-K" (Osama,
 * Merrill, Cecka, Garland, Owens 2023). The tiles of the last full round and of the one behind it, together `shared` of
 * them, are cut into as many ranges of slabs, equally long and one behind the other, as there are `workers`: groups
 * that the device has room for. A range may begin and end within a tile; who has slabs of one meets the others there as
 * parts do (product_tiles_meet.c), so that no group waits for another. Other tiles are a group's as a whole.
 */
#include "common/kernels/product_tiles.h"

enum { LEAST = 4 /* workers of a tile: with more of them, adding up takes what they gain */ };

bool lfuse__tiles_share(int64_t workers, lfuse__cut *c)
{
    const int64_t tiles = c->down * c->across, alone = tiles / workers - 1;
    c->parts = LFUSE__SHARED_OUT;
    c->workers = workers;
    c->shared = tiles - workers * (alone > 0 ? alone : 0);
    return c->shared * LEAST >= workers && c->shared * c->slabs >= workers && c->shared <= LFUSE__TILES_TICKETS &&
           (workers > c->shared ? workers : c->shared) < UINT32_MAX / (c->slabs + 1); /* the kernel's numbers */
}

/*
 * From slab `start` of tile `head` to slab `rest` of tile `until`. A range begins at the first slab that is not before
 * its share of all of them: tile `head` is then the same for all numbers of slabs.
 */
static void put_range(const lfuse__tiles *t)
{
    const int own = t->l.own;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 1, "const u32 workers = (u32)W(%d), shared = (u32)W(%d);", own + LFUSE__TILES_PARTS,
               own + LFUSE__TILES_SHARED);
    lfuse__put(out, 1, "u32 head = group - workers + shared, start = 0, until = head + 1, rest = 0;");
    lfuse__put(out, 1, "if (group < workers) {");
    lfuse__put(out, 2, "head = group * shared / workers, until = (group + 1) * shared / workers;");
    lfuse__put(out, 2, "start = ((group * shared - head * workers) * slabs + workers - 1) / workers;");
    lfuse__put(out, 2, "rest = (((group + 1) * shared - until * workers) * slabs + workers - 1) / workers;");
    lfuse__put(out, 2, "if (start == slabs) head++, start = 0;");
    lfuse__put(out, 1, "}");
    lfuse__put(out, 1, "const u32 turns = until - head + (rest != 0);");
}

void lfuse__tiles_put_shared(const lfuse__tiles *t)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__tiles_put_group(t, "0"); /* never of a batch */
    lfuse__put(out, 1, "const u32 slabs = k / %d + (k %% %d != 0);", t->p->depth, t->p->depth);
    put_range(t);
    lfuse__tiles_put_items(t);
    lfuse__put_product_memory(out, 1, t->t.k, &t->l);
    lfuse__put(out, 0, "#pragma unroll 1");
    lfuse__put(out, 1, "for (u32 turn = 0; turn < turns; turn++) {");
    lfuse__put(out, 1, "const u32 number = head + turn, first = turn ? 0 : start;");
    lfuse__put(out, 1, "const u32 last = number < until ? slabs : rest;");
    lfuse__tiles_put_band(t, 1, "number", "tiles_down", "tiles_across");
    lfuse__tiles_put_sums(t);
    lfuse__tiles_put_end(t);
    lfuse__put(out, 1, "SYNC();");
    lfuse__put(out, 1, "}");
}
