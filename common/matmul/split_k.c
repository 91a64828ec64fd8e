/* SPDX-License-Identifier: Apache-2.0 */
/* Where the sums of a tile meet: text/gemm_end.k. */
#include <stdio.h>

#include "common/matmul/tile.h"
#include "common/kernels/template.h"

#include "common/kernels/text/gemm_by_number.k.h"
#include "common/kernels/text/gemm_end.k.h"
#include "common/kernels/text/gemm_split_k.k.h"

enum { PARTS_AT_A_TIME = 4 /* whose loads are on their way together */ };

/*
 * ---- sums of several slices, or of several groups: vectors of the tile by number, which is that of the vector among
 * its work-item's times `places`, and the work-item's own ----
 */

static void place_by_number(const lfuse__tiles *t, int indent)
{
    lfuse__put(t->t.out, indent, "const u32 index = item + (u32)(pass + w) * %d, where = index %% %d;", t->threads,
               t->places);
    t->p->solver->tile->put_corner(t, indent, "where");
    char g[32];
    snprintf(g, sizeof g, "index / %d", t->places);
    t->p->solver->tile->put_place(t, indent, g);
}

/* Slices that are left when others have been added to them: local memory has room for those. */
int lfuse__tiles_left(const lfuse__product_class *p)
{
    int left = p->slices;

    while (left > 1 && left * p->rows * p->columns > p->solver->tile->local(p)) left /= 2;
    return left;
}

static void sums_of_left(const lfuse__tiles *t, int indent)
{
    lfuse__put(t->t.out, indent, "S_%s v_[%d], s_[%d], w_[%d];", t->sum, t->vector, t->vector, t->vector);
    lfuse__put(t->t.out, indent, "const u32 index_ = item + (u32)(pass + w) * %d;", t->threads);
    lfuse__put(t->t.out, indent, "GETV_%s(s_, tile, index_ * %d);", t->sum, t->vector);
    for (int s = 1; s < lfuse__tiles_left(t->p); s++) {
        lfuse__put(t->t.out, indent, "GETV_%s(w_, tile, (index_ + %d) * %d);", t->sum, s * t->vectors, t->vector);
        for (int e = 0; e < t->vector; e++)
            lfuse__put(t->t.out, indent, "s_[%d] = ADD_%s(s_[%d], w_[%d]);", e, t->sum, e, e);
    }
    for (int e = 0; e < t->vector; e++)
        lfuse__put(t->t.out, indent, "v_[%d] = s_[%d];", e, lfuse__spilled_offset(e));
}

static void sums_of_groups(const lfuse__tiles *t, int indent)
{
    lfuse__put(t->t.out, indent, "S_%s v_[%d];", t->sum, t->vector);
    for (int e = 0; e < t->vector; e++)
        lfuse__put(t->t.out, indent, "v_[%d] = all_[w * %d + %d];", e, t->vector, lfuse__spilled_offset(e));
}

/* Vectors of a work-item, and of a pass. */
static int all_of(const lfuse__tiles *t)
{
    return t->vectors > t->threads ? t->vectors / t->threads : 1;
}

static int pass_of(const lfuse__tiles *t)
{
    const int all = all_of(t);

    if (t->t.k->body->ninstr > LFUSE__TILES_SHORT) return 1;
    return all < LFUSE__TILES_AT_A_TIME ? all : LFUSE__TILES_AT_A_TIME;
}

static void put_vectors(const void *context, int gathers, int indent)
{
    const lfuse__tiles *t = context;

    lfuse__tiles_put_vectors(t, indent, pass_of(t), place_by_number, gathers ? sums_of_groups : sums_of_left);
}

static void put_by_number(const void *context, int gathers, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__text_place places[] = {{"VECTORS", put_vectors, gathers}, {NULL, NULL, 0}};
    const lfuse__parameter parameters[] = {
        {"T", .word = t->sum}, {"TYPE", .word = lfuse__memory_word(t->p->sum)}, {"V", .number = t->vector},
        {"THREADS", .number = t->threads}, {"OF_TILE", .number = t->vectors},
        {"FEW", .number = t->vectors < t->threads}, {"ALL", .number = all_of(t)}, {"PASS", .number = pass_of(t)},
        {"GATHERS", .number = gathers}, {"AT_A_TIME", .number = PARTS_AT_A_TIME},
        {"UNROLLED", .number = t->t.k->body->ninstr <= LFUSE__TILES_SHORT && !gathers}, {NULL},
    };

    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_by_number, parameters, places, t);
}

/* All of the sums of a tile: nobody else has any of them. */
static void put_own(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;

    (void)which;
    if (lfuse__tiles_left(t->p) > 1) {
        put_by_number(t, false, indent);
        return;
    }
    if (t->p->slices > 1) lfuse__put(t->t.out, indent, "if (slice == 0) {");
    lfuse__tiles_put_epilogue(t, indent + (t->p->slices > 1));
    if (t->p->slices > 1) lfuse__put(t->t.out, indent, "}");
}

static void put_sums_of_left(const void *context, int which, int indent)
{
    (void)which;
    sums_of_left(context, indent);
}

static void put_split(const void *context, int which, int indent)
{
    static const lfuse__text_place places[] = {{"SUMS_OF_LEFT", put_sums_of_left, 0},
                                               {"BY_NUMBER", put_by_number, true}, {NULL, NULL, 0}};
    const lfuse__tiles *t = context;
    const bool shared = t->p->split == LFUSE__SPLIT_STREAM_K;
    const lfuse__parameter parameters[] = {
        {"TYPE", .word = lfuse__memory_word(t->p->sum)}, {"V", .number = t->vector}, {"THREADS", .number = t->threads},
        {"LAST", .number = lfuse__kernel_buffers(t->t.k) - 1}, {"SPACE", .number = t->l.workspace},
        {"TICKETS", .number = LFUSE__TILES_TICKETS * 4},
        {"FIRST_PART", .word = shared ? "(from_ + number)" : "number * parts"}, {"OF_TILE", .number = t->vectors},
        {"OF_ITEM", .number = t->p->item_rows * t->p->item_columns / t->vector}, {"PLACES", .number = t->places},
        {"SEVERAL_LEFT", .number = lfuse__tiles_left(t->p) > 1}, {"STREAM_K", .number = shared}, {NULL},
    };

    (void)which;
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_split_k, parameters, places, t);
}

static void put_column_sums(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;

    (void)which, (void)indent;
    if (t->p->column_sums) lfuse__tiles_put_columns(t, t->p->split || lfuse__tiles_left(t->p) > 1);
}

void lfuse__tiles_put_end(const void *context, int which, int indent)
{
    static const lfuse__text_place places[] = {{"OWN", put_own, 0}, {"SPLIT", put_split, 0},
                                               {"COLUMN_SUMS", put_column_sums, 0}, {NULL, NULL, 0}};
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const int left = lfuse__tiles_left(t->p);
    const lfuse__expr vectors = lfuse__tiles_text_vectors(t);
    int halvings = 0;

    (void)which, (void)indent;
    while (p->slices >> (halvings + 1) >= left) halvings++;
    const lfuse__parameter parameters[] = {
        {"T", .word = t->sum}, {"V", .number = t->vector}, {"SLICES", .number = p->slices},
        {"HALVINGS", .number = halvings}, {"LEFT", .number = left}, {"SEVERAL_LEFT", .number = left > 1},
        {"PLACES", .number = t->places}, {"OF_ITEM", .number = p->item_rows * p->item_columns / t->vector},
        {"OF_TILE", .number = t->vectors}, {"VECTORS", .word = vectors.text},
        {"SPLIT_K", .number = p->split}, {"STREAM_K", .number = p->split == LFUSE__SPLIT_STREAM_K}, {NULL},
    };

    lfuse__put_text(t->t.out, 1, lfuse__text_gemm_end, parameters, places, t);
}
