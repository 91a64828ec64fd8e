/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of columns in kernels of text/gemm_pipeline.k, in the order that column_sums.c tells of. A segment of 1 024 rows
 * is eight tiles, each of which has every eighth row. In its epilogue a lane has eight rows of a tile at a time, one
 * behind the other in local memory: these are made the eight that a lane of a row kernel adds up, 128 rows apart in D,
 * so that a lane's sum needs no other lane. The 16 sums that a column of the tile then has are folded by halves: the
 * two of a warp in its registers, and those of the eight blocks of 16 rows in local memory (gemm_pipeline_sums.k).
 */
#include "common/matmul/mma.h"

#include "common/kernels/text/gemm_pipeline_sums.k.h"

enum {
    ROWS = 128,                      /* of the tile */
    APART = LFUSE__SEGMENT / ROWS,   /* of a tile's rows in D */
    EIGHT = 8,                       /* rows that a lane has together, and blocks of 16 rows that a tile has */
    WIDTH = 128                      /* columns that a warp has of these rows, one vector a lane */
};

bool lfuse__pipeline_sums_columns(const lfuse__product_class *p)
{
    return !p->split && p->rows == ROWS && p->columns % WIDTH == 0 && !lfuse__mma_is_small(p);
}

lfuse__expr lfuse__pipeline_first_row(const lfuse__product_class *p)
{
    if (!p->column_sums) return lfuse__expression("down * %d", p->rows);
    return lfuse__expression("down / %d * %d + down %% %d", APART, LFUSE__SEGMENT, APART);
}

lfuse__expr lfuse__pipeline_row(const lfuse__product_class *p, const char *first, const char *r)
{
    if (!p->column_sums) return lfuse__expression("%s + %s", first, r);
    return lfuse__expression("%s + (%s / 16 + %s / 8 %% 2 * 8 + %s %% 8 * 16) * %d", first, r, r, r, APART);
}

int lfuse__pipeline_height(const lfuse__product_class *p)
{
    return p->column_sums ? (ROWS - 1) * APART + 1 : p->rows;
}

void lfuse__pipeline_sums_put_corner(const lfuse__tiles *t, int indent, const char *place)
{
    lfuse__put(t->t.out, indent, "const u32 y = %s / 32, x = %s %% 32 * %d;", place, place, t->vector);
}

void lfuse__pipeline_sums_put_place(const lfuse__tiles *t, int indent, const char *number)
{
    const int sides = t->p->columns / WIDTH;

    lfuse__put(t->t.out, indent, "const u32 g = %s;", number);
    lfuse__put(t->t.out, indent, "const u32 row = a0 + (g / %d * 4 + y + g / 8 %% 2 * 8 + g %% 8 * 16) * %d;",
               2 * EIGHT * sides, APART);
    lfuse__put(t->t.out, indent, "const u32 column = b0 + g / %d %% %d * %d + x;", 2 * EIGHT, sides, WIDTH);
}

void lfuse__pipeline_put_addend(const lfuse__tiles *t, int indent, const char *addend)
{
    lfuse__put(t->t.out, indent, "in_lane[e] = ADD_%s(in_lane[e], %s);", t->sum, addend);
}

static void put_all(const void *context, int which, int indent)
{
    (void)which;
    lfuse__tiles_put_all(context, indent);
}

void lfuse__pipeline_put_sums(const void *context, int which, int indent)
{
    static const lfuse__text_place places[] = {{"ALL", put_all, 0}, {NULL, NULL, 0}};
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const bool pingpong = lfuse__pipeline_is_pingpong(p);
    const lfuse__expr tickets = lfuse__expression("BUFFER(%d) + W(%d)", lfuse__kernel_buffers(t->t.k) - 1,
                                                  t->l.workspace);
    const lfuse__expr meeting = lfuse__expression(pingpong ? "3 + warpgroup" : "3");
    const lfuse__parameter own[] = {
        {"WIDTH", .number = WIDTH}, {"KEPT", .number = p->item_rows / 2 * (p->columns / WIDTH)},
        {"THREADS", .number = t->threads}, {"WARPS", .number = t->threads / 32}, {"OWN", .number = EIGHT * WIDTH},
        {"TICKETS", .word = tickets.text}, {"TICKETS_BYTES", .number = LFUSE__TILES_TICKETS * 4},
        {"MEETING", .word = meeting.text}, {"WHOSE", .word = pingpong ? "warpgroup" : "0"},
        {"SHARING", .number = APART}, {NULL},
    };

    (void)which;
    if (p->column_sums) lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_pipeline_sums, own, places);
}
