/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of columns of what a product's epilogue makes, bit for bit those that a row kernel would find of what is stored.
 * Its lanes take every 128th element of a segment of 1 024, and fold by halves: so every S-th row of a segment is a
 * part of the sum that is complete in itself, for any power S. A tile therefore has such rows, not neighbouring ones,
 * and of those a work-item has the ones that a lane adds up. What the tiles of a column of tiles come to passes through
 * the workspace; the last of them to arrive folds that: S of a segment by halves, then segments pairwise by index.
 * Those S tiles are neighbours in time, so that they read and write the same pages of memory.
 */
#include <stdio.h>
#include <string.h>

#include "common/matmul/tile.h"

enum {
    LANES = 128,     /* of a row kernel: rows.h */
    ROWS = 8,        /* of a work-item: as many as a lane has elements of a segment */
    DEPTH = 32       /* of the fold of segments */
};

static const char absent[] = "K_f32(0x80000000u)"; /* -0, which changes no sum */

/* Work-items above each other. */
static int places_down(const lfuse__product_class *p)
{
    return p->rows / p->item_rows;
}

static int most_apart(const lfuse__product_class *p)
{
    return LFUSE__SEGMENT / p->rows;
}

bool lfuse__tiles_sum_columns(const lfuse__product_class *p)
{
    const lfuse__tile_traits *tile = p->solver->tile;

    return tile->sums_columns && tile->sums_columns(p) && p->sum == LFUSE_F32 && !p->ta && !p->batched &&
           !p->prologue[0] && !p->prologue[1] && p->split != LFUSE__SPLIT_STREAM_K && /* nobody has measured it */
           !(p->split && p->column_sums > 1); /* the parts' sums of a work-item are not in its registers together */
}

bool lfuse__tiles_are_of_lanes(const lfuse__product_class *p)
{
    /* Slices have a column each of a work-item's vectors, when their sums have been put together. */
    return p->item_rows == ROWS && p->item_columns / lfuse__tiles_vector(p) % p->slices == 0;
}

/* Where a text says how addends are put together, the tiles of a segment are always as many. */
int64_t lfuse__tiles_apart(const lfuse__product_class *p, int64_t rows)
{
    int64_t apart = p->solver->tile->put_addend ? most_apart(p) : 1;
    while (apart < most_apart(p) && apart * p->rows < rows) apart *= 2;
    return apart;
}

int64_t lfuse__tiles_down(const lfuse__product_class *p, int64_t rows)
{
    return lfuse__ceil_div(rows, LFUSE__SEGMENT) * lfuse__tiles_apart(p, rows);
}

uint64_t lfuse__tiles_cells(const lfuse__product_class *p, int64_t down, int64_t across)
{
    return (uint64_t)(down * across * p->columns) * lfuse__type_bytes(p->sum);
}

/* ---- the body, in two parts ---- */

static int reduce_of(const lfuse__body *body)
{
    int i = 0;
    while (body->instr[i].kind != LFUSE__I_REDUCE) i++;
    return i;
}

/* What is stored of the columns: made of the sum. */
static bool is_behind(const lfuse__body *body, int reg)
{
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false};
    needed[reg] = true;
    lfuse__body_needs(body, NULL, needed);
    return needed[reduce_of(body)];
}

void lfuse__tiles_text_part(lfuse__text *t, bool columns)
{
    const lfuse__body *body = t->k->body;
    const int sum = reduce_of(body);
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false}, stop[LFUSE__MAX_INSTRUCTIONS] = {false};
    memset(t->stored, 0, sizeof t->stored);
    if (!columns) needed[body->instr[sum].a] = true;
    for (int i = 0; i < body->nstores; i++) {
        if (is_behind(body, body->stores[i].reg) != columns) continue;
        needed[body->stores[i].reg] = true;
        t->stored[body->stores[i].operand] = true;
    }
    stop[sum] = true;
    lfuse__body_needs(body, stop, needed);
    lfuse__product_text_limit(t, needed);
}

/* ---- rows of a tile ---- */

/* In the order of the segment: work-item y / V has rows y / V, Y more, 2 Y more ..., of Y work-items. */
void lfuse__tiles_row(const lfuse__tiles *t, const char *first, const char *r, char *text, size_t size)
{
    const int down = places_down(t->p);
    if (t->p->column_sums)
        snprintf(text, size, "%s + (%s / %d %% %d + (%s %% %d + %s / %d * %d) * %d) * apart", first, r, t->vector, down,
                 r, t->vector, r, down * t->vector, t->vector, down);
    else
        snprintf(text, size, "%s + %s", first, r);
}

void lfuse__tiles_put_addend(const lfuse__tiles *t, int indent, const char *where)
{
    const lfuse__body *body = t->t.k->body;
    const int reg = body->instr[reduce_of(body)].a;
    const lfuse__expr addend = t->whole ? lfuse__expression("r%d", reg)
                                        : lfuse__expression("row < m && column + e < n ? r%d : %s", reg, absent);
    char to[64];
    if (t->p->solver->tile->put_addend) {
        t->p->solver->tile->put_addend(t, indent, addend.text);
        return;
    }
    if (where) snprintf(to, sizeof to, "acc[%s * %d + e]", where, t->vector);
    else snprintf(to, sizeof to, "sum_[e ^ %d]", lfuse__spilled_offset(0));
    lfuse__put(t->t.out, indent, "%s = %s;", to, addend.text);
}

/* ---- what a work-item has of a column ---- */

/* In place: x_[0] is the sum of x_[0 ... count - 1], by halves. */
static void put_halves(const lfuse__tiles *t, int indent, const char *x, int count)
{
    for (int half = count / 2; half; half /= 2)
        for (int i = 0; i < half; i++)
            lfuse__put(t->t.out, indent, "%s[%d] = ADD_%s(%s[%d], %s[%d]);", x, i, t->sum, x, i, x, i + half);
}

/* Elements in order of each of `lanes` lanes, then the lanes by halves. */
static void put_lanes(const lfuse__tiles *t, int indent, int lanes)
{
    for (int i = lanes; i < ROWS; i++)
        lfuse__put(t->t.out, indent, "x_[%d] = ADD_%s(x_[%d], x_[%d]);", i % lanes, t->sum, i % lanes, i);
    put_halves(t, indent, "x_", lanes);
}

/* Into local memory: [work-item down][column]. */
static void put_own(const lfuse__tiles *t, int indent, bool number)
{
    const lfuse__product_class *p = t->p;
    const int across = p->item_columns / t->vector, slices = number ? p->slices : 1, halves = across / slices;
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent, "for (int u = 0; u < %d; u++) {", halves);
    lfuse__put(out, indent + 1, "S_%s v_[%d];", t->sum, t->vector);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (int e = 0; e < %d; e++) {", t->vector);
    lfuse__put(out, indent + 2, "S_%s x_[%d];", t->sum, ROWS);
    for (int i = 0; i < ROWS; i++)
        lfuse__put(out, indent + 2, "x_[%d] = acc[(%d + u) * %d + e];", i, i * halves, t->vector);
    lfuse__put(out, indent + 2, "if (lanes == 1) {");
    put_lanes(t, indent + 3, 1);
    lfuse__put(out, indent + 2, "} else if (lanes == 2) {");
    put_lanes(t, indent + 3, 2);
    lfuse__put(out, indent + 2, "} else { /* of two elements each, or one: by halves that is the same */");
    put_lanes(t, indent + 3, 4);
    lfuse__put(out, indent + 2, "}");
    lfuse__put(out, indent + 2, "v_[e] = x_[0];");
    lfuse__put(out, indent + 1, "}");
    lfuse__put(out, indent + 1, "PUTV_%s(tile, y / %d * %d + (u * %d%s) * %d + x, v_);", t->sum, t->vector, p->columns,
               slices, slices > 1 ? " + slice" : "", p->columns / p->item_columns * t->vector);
    lfuse__put(out, indent, "}");
}

/* The tile's part of its columns, to the workspace. */
static void put_cells(const lfuse__tiles *t)
{
    const lfuse__product_class *p = t->p;
    const int down = places_down(p);
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, 1, "for (u32 c = item * %d; c < %d; c += %d) {", t->vector, p->columns, t->threads * t->vector);
    lfuse__put(out, 2, "S_%s s_[%d];", t->sum, down * t->vector);
    lfuse__put(out, 2, "u32 u_[%d];", t->vector);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int i = 0; i < %d; i++)", down);
    lfuse__put(out, 3, "GETV_%s(s_ + i * %d, tile, i * %d + c);", t->sum, t->vector, p->columns);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 2, "for (int e = 0; e < %d; e++) {", t->vector);
    lfuse__put(out, 3, "S_%s x_[%d];", t->sum, down);
    for (int i = 0; i < down; i++) lfuse__put(out, 3, "x_[%d] = s_[%d + e];", i, i * t->vector);
    put_halves(t, 3, "x_", down);
    lfuse__put(out, 3, "PACK_%s(u_, e, x_[0]);", lfuse__memory_word(p->sum));
    lfuse__put(out, 2, "}");
    lfuse__put(out, 2, "STOREB_16(cells + (down * wide + b0 + c) * %u, u_);", lfuse__type_bytes(p->sum));
    lfuse__put(out, 1, "}");
}

/* ---- all of a column ---- */

static void put_segments(const lfuse__tiles *t, int indent)
{
    const int most = most_apart(t->p);
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, indent, "S_%s stack_[%d], x_[%d];", t->sum, DEPTH, most);
    lfuse__put(out, indent, "u32 depth_ = 0;");
    lfuse__put(out, indent, "for (u32 first_ = 0, done_ = 1; first_ < tiles_down; first_ += apart, done_++) {");
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, indent + 1, "for (u32 i = 0; i < %d; i++)", most);
    lfuse__put(out, indent + 2, "x_[i] = i < apart ? LOAD_%s(cells, (first_ + i) * wide + column) : %s;",
               lfuse__memory_word(t->p->sum), absent);
    put_halves(t, indent + 1, "x_", most);
    lfuse__put(out, indent + 1, "for (u32 k_ = done_; !(k_ & 1); k_ >>= 1) x_[0] = ADD_%s(stack_[--depth_], x_[0]);",
               t->sum);
    lfuse__put(out, indent + 1, "stack_[depth_++] = x_[0];");
    lfuse__put(out, indent, "}");
    lfuse__put(out, indent, "S_%s all_ = stack_[--depth_];", t->sum);
    lfuse__put(out, indent, "while (depth_) all_ = ADD_%s(stack_[--depth_], all_);", t->sum);
}

/* What is made of the sum, and stored. */
static void put_behind(const lfuse__tiles *t, int indent)
{
    lfuse__text text = t->t;
    const lfuse__kernel_class *k = text.k;
    char at[128], load[192];
    lfuse__tiles_text_part(&text, true);
    for (int j = LFUSE__PRODUCT_OWN; j < k->noperands; j++) {
        const char *reg = lfuse__register_word(k->operands[j].type);
        lfuse__put_product_place(k, &t->l, j, "0", "column", at, sizeof at);
        if (text.loaded[j]) {
            lfuse__put_load(&text, j, at, load, sizeof load);
            lfuse__put(text.out, indent, "const L_%s x%d = %s;", reg, j, load);
        }
        if (text.stored[j]) lfuse__put(text.out, indent, "L_%s y%d;", reg, j);
    }
    lfuse__put(text.out, indent, "const L_%s r%d = all_;", t->sum, reduce_of(k->body));
    lfuse__put_body(&text, indent, "");
    for (int j = LFUSE__PRODUCT_OWN; j < k->noperands; j++) {
        lfuse__put_product_place(k, &t->l, j, "0", "column", at, sizeof at);
        if (text.stored[j])
            lfuse__put(text.out, indent, "STORE_%s(p%d, %s, y%d);", lfuse__memory_word(k->operands[j].type), j, at, j);
    }
}

void lfuse__tiles_put_all(const lfuse__tiles *t, int indent)
{
    put_segments(t, indent);
    put_behind(t, indent);
}

void lfuse__tiles_put_columns(const lfuse__tiles *t, bool number)
{
    const lfuse__product_class *p = t->p;
    const bool one = !number && p->slices > 1; /* slice has them all */
    const int last = lfuse__kernel_buffers(t->t.k) - 1;
    char sums[96] = "";
    lfuse__strbuf *out = t->t.out;
    if (p->split)
        snprintf(sums, sizeof sums, " + (u64)tiles_down * tiles_across * parts * %d", t->vectors * LFUSE__TILES_VECTOR);
    lfuse__put(out, 1, "const u32 lanes = %d / apart; /* of a work-item, in a column */", LANES / places_down(p));
    lfuse__put(out, 1, "const u64 wide = (u64)tiles_across * %d;", p->columns);
    lfuse__put(out, 1, "const memory cells = BUFFER(%d) + W(%d) + %d%s;", last, t->l.workspace,
               LFUSE__TILES_TICKETS * 4, sums);
    lfuse__put(out, 1, "SYNC();");
    if (one) lfuse__put(out, 1, "if (slice == 0) {");
    put_own(t, 1 + one, number);
    if (one) lfuse__put(out, 1, "}");
    lfuse__put(out, 1, "SYNC();");
    put_cells(t);
    lfuse__put(out, 1, "if (!ARRIVE(BUFFER(%d) + W(%d) + (%sacross) * 4, tiles_down)) return;", last, t->l.workspace,
               p->split ? "tiles_down * tiles_across + " : "");
    lfuse__put(out, 1, "for (u32 c = item; c < %d; c += %d) {", p->columns, t->threads);
    lfuse__put(out, 2, "const u32 column = b0 + c;");
    lfuse__put(out, 2, "if (column >= n) break;");
    lfuse__tiles_put_all(t, 2);
    lfuse__put(out, 1, "}");
}
