/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the sums of a tile meet: those of the slices of a depth in local memory, those of parts of k, which groups of
 * their own compute, in the workspace. The last group of a tile to arrive adds up the parts, in their order, and goes
 * through the epilogue, so that it is one launch. Slices and parts are added in an order that depends on neither time
 * nor place.
 */
#include <stdio.h>

#include "common/kernels/product_tiles.h"

enum { PARTS_AT_A_TIME = 4 /* whose loads are on their way together */ };

/*
 * ---- sums of several slices, or of several groups: vectors of the tile by number, which is that of the vector among
 * its work-item's times `places`, and the work-item's own ----
 */

static void place_by_number(const lfuse__tiles *t, int indent)
{
    lfuse__put(t->t.out, indent, "const u32 index = item + (u32)(pass + w) * %d, where = index %% %d;", t->threads,
               t->places);
    lfuse__tiles_put_corner(t, indent, "where");
    char g[32];
    snprintf(g, sizeof g, "index / %d", t->places);
    lfuse__tiles_put_place(t, indent, g);
}

static void sums_of_slices(const lfuse__tiles *t, int indent, int slices)
{
    lfuse__put(t->t.out, indent, "S_%s v_[%d], s_[%d], w_[%d];", t->sum, t->vector, t->vector, t->vector);
    lfuse__put(t->t.out, indent, "const u32 index_ = item + (u32)(pass + w) * %d;", t->threads);
    lfuse__put(t->t.out, indent, "GETV_%s(s_, tile, index_ * %d);", t->sum, t->vector);
    for (int s = 1; s < slices; s++) {
        lfuse__put(t->t.out, indent, "GETV_%s(w_, tile, (index_ + %d) * %d);", t->sum, s * t->vectors, t->vector);
        for (int e = 0; e < t->vector; e++)
            lfuse__put(t->t.out, indent, "s_[%d] = ADD_%s(s_[%d], w_[%d]);", e, t->sum, e, e);
    }
    for (int e = 0; e < t->vector; e++)
        lfuse__put(t->t.out, indent, "v_[%d] = s_[%d];", e, lfuse__tiles_put_down(e));
}

/* Slices that are left when others have been added to them: local memory has room for those. */
static int left_of(const lfuse__tiles *t)
{
    int left = t->p->slices;
    while (left > 1 && left * t->vectors * t->vector > lfuse__tiles_local(t->p)) left /= 2;
    return left;
}

static void sums_of_left(const lfuse__tiles *t, int indent)
{
    sums_of_slices(t, indent, left_of(t));
}

/* Of all vectors of a pass, part by part: so many loads are on their way together. */
static void put_gather(const lfuse__tiles *t, int indent, int vectors)
{
    const char *type = lfuse__memory_word(t->p->sum);
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, indent, "S_%s all_[%d];", t->sum, vectors * t->vector);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int i = 0; i < %d; i++) all_[i] = ZERO_%s;", vectors * t->vector, t->sum);
    lfuse__put(out, indent, "for (u32 from = 0; from < parts; from += %d) {", PARTS_AT_A_TIME);
    lfuse__put(out, indent + 1, "u32 u_[%d];", 4 * vectors * PARTS_AT_A_TIME);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (u32 i = 0; i < %d; i++) {", vectors * PARTS_AT_A_TIME);
    lfuse__put(out, indent + 2, "const u32 there = from + i / %d < parts ? from + i / %d : from, w = i %% %d;", vectors,
               vectors, vectors);
    lfuse__put(out, indent + 2, "LOADB_16(u_ + i * 4, space + (there * %d + item + ((u32)pass + w) * %d) * 16);",
               t->vectors, t->threads);
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (u32 i = 0; i < %d; i++)", vectors * t->vector * PARTS_AT_A_TIME);
    lfuse__put(out, indent + 2, "if (from + i / %d < parts) all_[i %% %d] = ADD_%s(all_[i %% %d], UNPACK_%s(u_, i));",
               vectors * t->vector, vectors * t->vector, t->sum, vectors * t->vector, type);
    lfuse__put(out, indent, "}");
}

static void sums_of_groups(const lfuse__tiles *t, int indent)
{
    lfuse__put(t->t.out, indent, "S_%s v_[%d];", t->sum, t->vector);
    for (int e = 0; e < t->vector; e++)
        lfuse__put(t->t.out, indent, "v_[%d] = all_[w * %d + %d];", e, t->vector, lfuse__tiles_put_down(e));
}

/*
 * All vectors of the tile, by all work-items. A pass that gathers parts waits for memory in a loop of its own, so that
 * unrolling the passes gains nothing: with four of them NVRTC took 590 ms for the kernel in place of 360.
 */
static void put_by_number(const lfuse__tiles *t, void (*sums)(const lfuse__tiles *t, int indent))
{
    const int all = t->vectors > t->threads ? t->vectors / t->threads : 1;
    const bool is_short = t->t.k->body->ninstr <= LFUSE__TILES_SHORT, gathers = sums == sums_of_groups;
    const int pass = !is_short ? 1 : all < LFUSE__TILES_AT_A_TIME ? all : LFUSE__TILES_AT_A_TIME;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 0, is_short && !gathers ? "#pragma unroll" : "#pragma unroll 1");
    lfuse__put(out, 1, "for (int pass = 0; pass < %d; pass += %d) {", all, pass);
    if (t->vectors < t->threads) lfuse__put(out, 2, "if (item >= %d) break;", t->vectors);
    if (gathers) put_gather(t, 2, pass);
    lfuse__tiles_put_vectors(t, 2, pass, place_by_number, sums);
    lfuse__put(out, 1, "}");
}

/* ---- slices ---- */

/* Slices from `half` on are added to those before, by way of local memory. */
static void put_halve(const lfuse__tiles *t, int half)
{
    const int all = t->p->item_rows * t->p->item_columns / t->vector;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 1, "if (slice >= %d && slice < %d) {", half, 2 * half);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int w = 0; w < %d; w++) {", all);
    lfuse__tiles_put_acc(t, 3, "w");
    lfuse__put(out, 3, "PUTV_%s(tile, ((slice - %d) * %d + w * %d + place) * %d, down_);", t->sum, half, t->vectors,
               t->places, t->vector);
    lfuse__put(out, 2, "}");
    lfuse__put(out, 1, "}");
    lfuse__put(out, 1, "SYNC();");
    lfuse__put(out, 1, "if (slice < %d) {", half);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int w = 0; w < %d; w++) {", all);
    lfuse__put(out, 3, "S_%s w_[%d];", t->sum, t->vector);
    lfuse__put(out, 3, "GETV_%s(w_, tile, (slice * %d + w * %d + place) * %d);", t->sum, t->vectors, t->places,
               t->vector);
    for (int e = 0; e < t->vector; e++)
        lfuse__put(out, 3, "acc[w * %d + %d] = ADD_%s(acc[w * %d + %d], w_[%d]);", t->vector, e, t->sum, t->vector, e,
                   lfuse__tiles_put_down(e));
    lfuse__put(out, 2, "}");
    lfuse__put(out, 1, "}");
    lfuse__put(out, 1, "SYNC();");
}

static void put_slices(const lfuse__tiles *t)
{
    const int all = t->p->item_rows * t->p->item_columns / t->vector, left = left_of(t);
    for (int half = t->p->slices / 2; half >= left; half /= 2) put_halve(t, half);
    if (left == 1) return;
    lfuse__put(t->t.out, 1, "if (slice < %d) {", left);
    lfuse__put(t->t.out, 0, "#pragma unroll");
    lfuse__put(t->t.out, 2, "for (int w = 0; w < %d; w++) {", all);
    lfuse__tiles_put_acc(t, 3, "w");
    lfuse__put(t->t.out, 3, "PUTV_%s(tile, (slice * %d + w * %d + place) * %d, down_);", t->sum, t->vectors, t->places,
               t->vector);
    lfuse__put(t->t.out, 2, "}");
    lfuse__put(t->t.out, 1, "}");
    lfuse__put(t->t.out, 1, "SYNC();");
}

/* ---- parts: [tile][part][vector by number] in the workspace, behind the tickets; [part]: those of `space` ---- */

static void put_sums(const lfuse__tiles *t, int indent, const char *from, const char *index)
{
    const char *type = lfuse__memory_word(t->p->sum);
    lfuse__put(t->t.out, indent, "u32 u_[4];");
    for (int e = 0; e < t->vector; e++) lfuse__put(t->t.out, indent, "PACK_%s(u_, %d, %s[%d]);", type, e, from,
                                                      lfuse__tiles_put_down(e));
    lfuse__put(t->t.out, indent, "STOREB_16(space + (part * %d + %s) * 16, u_);", t->vectors, index);
}

static void put_part(const lfuse__tiles *t)
{
    lfuse__strbuf *out = t->t.out;
    char text[64];
    if (left_of(t) == 1) {
        snprintf(text, sizeof text, "w * %d + place", t->places);
        lfuse__put(out, 1, "if (slice == 0) {");
        lfuse__put(out, 0, "#pragma unroll");
        lfuse__put(out, 2, "for (int w = 0; w < %d; w++) {", t->p->item_rows * t->p->item_columns / t->vector);
        lfuse__put(out, 3, "S_%s v_[%d];", t->sum, t->vector);
        for (int e = 0; e < t->vector; e++) lfuse__put(out, 3, "v_[%d] = acc[w * %d + %d];", e, t->vector, e);
        put_sums(t, 3, "v_", text);
        lfuse__put(out, 2, "}");
        lfuse__put(out, 1, "}");
        return;
    }
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 1, "for (u32 pass = 0; item + pass * %d < %d; pass++) {", t->threads, t->vectors);
    lfuse__put(out, 2, "const u32 w = 0;");
    sums_of_left(t, 2);
    put_sums(t, 2, "v_", "index_");
    lfuse__put(out, 1, "}");
}

/* All of the sums of a tile: nobody else has any of them. */
static void put_own(const lfuse__tiles *t)
{
    if (left_of(t) > 1) {
        put_by_number(t, sums_of_left);
        return;
    }
    if (t->p->slices > 1) lfuse__put(t->t.out, 1, "if (slice == 0) {");
    lfuse__tiles_put_epilogue(t, 1 + (t->p->slices > 1));
    if (t->p->slices > 1) lfuse__put(t->t.out, 1, "}");
}

static void put_meeting(const lfuse__tiles *t, const char *at)
{
    const int last = lfuse__kernel_buffers(t->t.k) - 1;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 1, "const memory space = BUFFER(%d) + W(%d) + %d + (u64)%s * %d;", last, t->l.workspace,
               LFUSE__TILES_TICKETS * 4, at, t->vectors * 16);
    put_part(t);
    lfuse__put(out, 1, "const int all_there = ARRIVE(BUFFER(%d) + W(%d) + number * 4, parts);", last, t->l.workspace);
    lfuse__put(out, 1, t->p->split == LFUSE__SPLIT_SHARED ? "if (all_there) {" : "if (!all_there) return;");
    put_by_number(t, sums_of_groups);
    if (t->p->split == LFUSE__SPLIT_SHARED) lfuse__put(out, 1, "}");
}

/*
 * Workers that have slabs of tile `number`: from `from_` on. The one behind the last of them begins at the tile's end
 * where there is less than a slab between that and its share of all slabs. Of what workers do one after the other, the
 * worker or the tile is the next each time: no two have the same sum of both, and those of a tile follow each other.
 */
static void put_shared_end(const lfuse__tiles *t)
{
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 1, "if (last - first == k_tiles) {");
    put_own(t);
    lfuse__put(out, 1, "} else {");
    lfuse__put(out, 1, "const u32 from_ = number * workers / shared, to_ = (number + 1) * workers / shared;");
    lfuse__put(out, 1, "const u32 parts = to_ - from_ + (((number + 1) * workers - to_ * shared) * k_tiles >= "
                       "workers);");
    lfuse__put(out, 1, "const u32 part = group - from_;");
    put_meeting(t, "(from_ + number)");
    lfuse__put(out, 1, "}");
}

void lfuse__tiles_put_end(const lfuse__tiles *t)
{
    lfuse__put(t->t.out, 1, "const int vectors = W(%d) >> 2 & 1;", t->l.own + LFUSE__TILES_VECTORS);
    put_slices(t);
    if (t->p->split == LFUSE__SPLIT_SHARED) put_shared_end(t);
    else if (t->p->split) put_meeting(t, "number * parts");
    else put_own(t);
    if (t->p->summed) lfuse__tiles_put_columns(t, t->p->split || left_of(t) > 1);
}
