/* SPDX-License-Identifier: Apache-2.0 */
/* Products by multiply-adds, a tile a work-group: the kernel is text/gemm_simt.k, its loop text/gemm_simt_loop.k. */
#include <stdio.h>

#include "common/matmul/grouped.h"
#include "common/matmul/provider.h"
#include "common/matmul/tile.h"
#include "common/kernels/template.h"

#include "common/kernels/text/gemm_simt.k.h"
#include "common/kernels/text/gemm_simt_loop.k.h"
#include "common/kernels/text/gemm_simt_operand.k.h"

enum { BANKS = 128, TEAM_ROWS = 4 /* of work-items of a team */ };

/* Two k-tiles, and then what half of the slices put down at a time. */
static int local(const lfuse__product_class *p)
{
    const int k_tiles = 2 * p->depth * (p->rows + p->columns), sums = p->slices / 2 * p->rows * p->columns;

    return k_tiles > sums ? k_tiles : sums;
}

typedef struct side {
    int operand;
    char letter;       /* of names: a or b */
    int width;         /* of the tile */
    int base;          /* where it begins in local memory */
    int moves, turns;  /* elements that each vector of k moves those of its rows by, in XOR; after `turns`, 0 again */
    int loads;         /* vectors that a work-item loads of a k-tile */
    int words;         /* u32 of such a vector */
    unsigned size;     /* bytes of an element */
    const char *memory;
    bool k_contiguous;
    bool walks;        /* a work-item's vectors have the same place in rows equally far apart */
} side;

static side side_of(const lfuse__tiles *t, int operand)
{
    const bool a = operand == LFUSE__PRODUCT_A;
    const lfuse_type type = t->t.k->operands[operand].type;
    side s = {.operand = operand, .letter = a ? 'a' : 'b',
              .width = a ? t->p->rows : t->p->columns,
              .size = lfuse__type_bytes(type), .memory = lfuse__memory_word(type),
              .base = a ? 0 : 2 * t->p->depth * t->p->rows, .k_contiguous = lfuse__is_k_contiguous(t->p, operand)};
    if (s.k_contiguous) {
        const int banks = BANKS / (int)lfuse__type_bytes(t->p->sum);
        const int chunk = s.width * t->vector / (a ? t->p->item_rows : t->p->item_columns);
        const int span = banks < chunk ? banks : chunk; /* so that a work-item's vectors stay apart as they are */
        s.moves = span / (t->p->depth / t->vector);
        if (s.moves < t->vector) s.moves = t->vector;
        s.turns = span / s.moves;
    }
    s.walks = !s.k_contiguous && t->threads * t->vector % s.width == 0;
    s.loads = s.width * t->p->depth / t->vector / t->threads;
    s.words = t->vector * (int)s.size / 4;
    return s;
}

/* Writes an expression: where the elements of a work-item are in half 0, of vector `vector` of k, an expression. */
static void elements_at(const lfuse__tiles *t, const side *s, const char *vector, char *place, size_t size)
{
    const char at = s->operand == LFUSE__PRODUCT_A ? 'y' : 'x';
    int n = 0;

    if (t->p->slices > 1) n = snprintf(place, size, "slice * %d + ", t->p->depth / t->p->slices * s->width);
    if (s->k_contiguous)
        snprintf(place + n, size - (size_t)n, "(%c ^ %s %% %d * %d)", at, vector, s->turns, s->moves);
    else snprintf(place + n, size - (size_t)n, "%c", at);
}

/* ---- the products of a k-tile as one asm statement ---- */

/*
 * STEPS_MOST is the largest number of multiply-adds in one statement, which has a line for each. STEPS_ELEMENTS is how
 * many registers the prelude declares for the elements of each operand: a0 to a15 and b0 to b15.
 */
enum { STEPS_MOST = 1024, STEPS_ELEMENTS = 16 };

static bool has_steps(const lfuse__tiles *t)
{
    const lfuse__product_class *p = t->p;
    return t->steps && p->sum == LFUSE_F32 && p->item_rows <= STEPS_ELEMENTS && p->item_columns <= STEPS_ELEMENTS &&
           p->depth / p->slices * p->item_rows * p->item_columns <= STEPS_MOST;
}

/* Returns how many base addresses an operand is read from: one for each vector of k where it is swizzled, else one. */
static int places_of(const lfuse__tiles *t, const side *s)
{
    const int vectors = t->p->depth / t->p->slices / t->vector;
    if (!s->k_contiguous || vectors < 1) return 1;
    return vectors < s->turns ? vectors : s->turns;
}

/* The half that is multiplied is "0" or "1" where it is known when the kernel is compiled, else a variable. */
static bool half_is_known(const char *half)
{
    return *half == '0' || *half == '1';
}

/* Returns the bytes from half "0" of an operand's local memory to half "1". */
static int half_bytes(const lfuse__tiles *t, const side *s)
{
    return t->p->depth * s->width * 4;
}

/* A half that is known is a part of the instruction's immediate offset. */
static void put_step_gets(const lfuse__tiles *t, const side *s, int indent, const char *half, int l, int each,
                          int address)
{
    const int places = places_of(t, s), at = address + (s->k_contiguous ? l / t->vector % places : 0);
    const int offset = l * s->width * 4 + (*half == '1' ? half_bytes(t, s) : 0);
    for (int i = 0; i < each; i += t->vector)
        lfuse__put(t->t.out, indent, "STEP_GET_%s(%c, %d, %d, %d, %d, %d, %d)", t->sum, s->letter, i, i + 1, i + 2,
                   i + 3, at, offset + i * (s->width / each) * 4);
}

/* In the order of put_products. */
static void put_step_products(const lfuse__tiles *t, int indent)
{
    const lfuse__product_class *p = t->p;
    const int v = t->vector;
    for (int n = 0; n < p->item_rows * p->item_columns; n++) {
        const int block = n / (p->item_rows * v), r = n % (p->item_rows * v) / v;
        const int i = block % 2 ? p->item_rows - 1 - r : r, j = block * v + (r % 2 ? v - 1 - n % v : n % v);
        lfuse__put(t->t.out, indent, "STEP_FMA_%s(%d, a%d, b%d)", t->sum, i * p->item_columns + j, i, j);
    }
}

/*
 * Declares a_step0, ... and b_step0, ...: the addresses in half "0" from which a work-item reads the elements of a
 * k-tile. They are the same for all k-tiles, and held in registers from in front of the loop on.
 */
static void put_step_addresses(const lfuse__tiles *t, const side *s, int indent)
{
    const int each = t->p->depth / t->p->slices, places = places_of(t, s);
    for (int i = 0; i < places; i++) {
        char place[128], vector[40];
        snprintf(vector, sizeof vector, "(slice * %d + %d)", each / t->vector, i);
        elements_at(t, s, vector, place, sizeof place);
        lfuse__put(t->t.out, indent, "u32 %c_step%d = STEP_AT_%s(tile, %d + %s);", s->letter, i, t->sum, s->base,
                   place);
        lfuse__put(t->t.out, indent, "STEP_HOLD(%c_step%d);", s->letter, i);
    }
}

static void put_step_inputs(const lfuse__tiles *t, const side *s, int indent, const char *half, bool comma)
{
    for (int i = 0; i < places_of(t, s); i++) {
        char at[64];
        int n = snprintf(at, sizeof at, "%c_step%d", s->letter, i);
        if (!half_is_known(half)) snprintf(at + n, sizeof at - (size_t)n, " + %s * %d", half, half_bytes(t, s));
        lfuse__put(t->t.out, indent, "%sSTEP_IN(%s)", comma || i ? ", " : "", at);
    }
}

static void put_steps(const lfuse__tiles *t, const side *sides, int indent, const char *half)
{
    const lfuse__product_class *p = t->p;
    const int sums = p->item_rows * p->item_columns, places = places_of(t, &sides[0]);
    lfuse__strbuf *out = t->t.out;
    lfuse__put(out, indent, "STEPS_%s", t->sum);
    for (int l = 0; l < p->depth / p->slices; l++) {
        put_step_gets(t, &sides[0], indent + 1, half, l, p->item_rows, sums);
        put_step_gets(t, &sides[1], indent + 1, half, l, p->item_columns, sums + places);
        put_step_products(t, indent + 1);
    }
    lfuse__put(out, indent, "STEPS_FROM");
    for (int i = 0; i < sums; i++)
        lfuse__put(out, indent + 1, "%sSTEP_SUM_%s(acc[%d])", i ? ", " : "", t->sum, i);
    lfuse__put(out, indent, "STEPS_AT");
    put_step_inputs(t, &sides[0], indent + 1, half, false);
    put_step_inputs(t, &sides[1], indent + 1, half, true);
    lfuse__put(out, indent, "STEPS_END");
}

/*
 * Slabs of a round of the loop. Where there are two, the half and the registers that each has are known when the kernel
 * is compiled: with less to do for a k-tile than MUCH, slices lose up to 8 % without (512 x 512 x 512 on an H200). A
 * round has all that is done for a k-tile, for the first and the last one too: a compiler takes as long as its text is,
 * and this is most of it.
 */
enum { MUCH = 512 /* products of a work-item in a k-tile */ };
static int k_tiles_of_round(const lfuse__product_class *p)
{
    const bool little = p->slices > 1 && p->depth / p->slices * p->item_rows * p->item_columns <= MUCH;
    return p->prefetch > 1 || little ? 2 : 1;
}

/* Whether sums are stored in the result with nothing computed of them before. */
static bool as_they_are(const lfuse__tiles *t)
{
    const lfuse__body *body = t->t.k->body;
    if (t->p->sum != LFUSE_F32) return false;
    if (t->p->slices > 1 || t->p->split == 1 || body->ninstr > LFUSE__TILES_SHORT) return false; /* they are put down */
    for (int i = 0; i < body->nstores; i++)
        if (body->instr[body->stores[i].reg].kind == LFUSE__I_LOAD) return true;
    return false;
}

/* ---- the loop ---- */

/* Parts of gemm_simt_operand.k; a place has the operand's number and the part's. */
enum { ADDRESSES, FETCH, FETCH_FIRST, TO_SHARED, SLOWLY, ELEMENTS, PARTS };

static void put_operand(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const int part = which % PARTS;
    const side s = side_of(t, which / PARTS);
    const bool a = s.operand == LFUSE__PRODUCT_A;
    const int along = s.k_contiguous ? p->depth : s.width, item = a ? p->item_rows : p->item_columns;
    char first[96], ld[24], begin[64], row[160], vector[24], place[96];
    const lfuse__parameter parameters[] = {
        {"X", .word = a ? "a" : "b"}, {"PART_ADDRESSES", .number = part == ADDRESSES},
        {"PART_FETCH", .number = part == FETCH || part == FETCH_FIRST}, {"EARLY", .number = part == FETCH_FIRST},
        {"PART_TO_SHARED", .number = part == TO_SHARED}, {"PART_SLOWLY", .number = part == SLOWLY},
        {"PART_ELEMENTS", .number = part == ELEMENTS}, {"K_CONTIGUOUS", .number = s.k_contiguous},
        {"OPERAND", .word = first}, {"LD", .word = ld}, {"ORIGIN", .word = a ? "a0" : "b0"},
        {"BEGIN_OF_TILE", .word = begin}, {"OUTER", .word = a ? "m" : "n"}, {"ROW", .word = row},
        {"THREADS", .number = t->threads}, {"ALONG", .number = along / t->vector}, {"V", .number = t->vector},
        {"T", .word = t->sum}, {"TYPE", .word = s.memory}, {"SIZE", .number = (int)s.size},
        {"BYTES", .number = t->vector * (int)s.size}, {"WORDS", .number = s.words}, {"DEPTH", .number = p->depth},
        {"AHEAD", .number = p->prefetch}, {"WIDTH", .number = s.width}, {"BASE", .number = s.base},
        {"STAGE", .number = p->depth * s.width}, {"LOADS", .number = s.loads}, {"WALKS", .number = s.walks},
        {"ROWS_DOWN", .number = t->threads * t->vector / s.width}, {"MOVES", .number = s.moves},
        {"TURNS", .number = s.turns}, {"TWO_ROUND", .number = k_tiles_of_round(p) == 2}, {"PLACE", .word = place},
        {"VECTORS_OF_ITEM", .number = item / t->vector}, {"CHUNK", .number = s.width / item}, {NULL},
    };

    lfuse__put_product_first(&t->l, s.operand, first, sizeof first);
    snprintf(ld, sizeof ld, "%s(%d)", t->l.word, a ? t->l.lda : t->l.ldb);
    if (a && p->column_sums) /* apart: of a segment of rows */
        snprintf(begin, sizeof begin, "down / apart * %d + down %% apart", LFUSE__SEGMENT);
    else snprintf(begin, sizeof begin, "%s * %d", a ? "down" : "across", s.width);
    if (a) lfuse__tiles_row(t, "a0", "r", row, sizeof row);
    else snprintf(row, sizeof row, "b0 + r");
    snprintf(vector, sizeof vector, "l / %d", t->vector);
    elements_at(t, &s, vector, place, sizeof place);
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_simt_operand, parameters, NULL, NULL);
}

static void put_all_step_addresses(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;

    (void)which;
    for (int operand = LFUSE__PRODUCT_A; operand <= LFUSE__PRODUCT_B; operand++) {
        const side s = side_of(t, operand);
        put_step_addresses(t, &s, indent);
    }
}

static void put_multiply(const void *context, int half, int indent)
{
    static const char *const halves[] = {"0", "1", "now"};
    const lfuse__tiles *t = context;
    const side sides[2] = {side_of(t, LFUSE__PRODUCT_A), side_of(t, LFUSE__PRODUCT_B)};

    put_steps(t, sides, indent, halves[half]);
}

void lfuse__tiles_put_sums(const void *context, int which, int indent)
{
    enum { A = LFUSE__PRODUCT_A * PARTS, B = LFUSE__PRODUCT_B * PARTS };
    static const lfuse__text_place places[] = {
        {"ADDRESSES_A", put_operand, A + ADDRESSES}, {"ADDRESSES_B", put_operand, B + ADDRESSES},
        {"FETCH_A", put_operand, A + FETCH}, {"FETCH_B", put_operand, B + FETCH},
        {"FETCH_EARLY_B", put_operand, B + FETCH_FIRST}, {"TO_SHARED_A", put_operand, A + TO_SHARED},
        {"TO_SHARED_B", put_operand, B + TO_SHARED}, {"SLOWLY_A", put_operand, A + SLOWLY},
        {"SLOWLY_B", put_operand, B + SLOWLY}, {"ELEMENTS_A", put_operand, A + ELEMENTS},
        {"ELEMENTS_B", put_operand, B + ELEMENTS}, {"STEP_ADDRESSES", put_all_step_addresses, 0},
        {"MULTIPLY_STAGE_0", put_multiply, 0}, {"MULTIPLY_STAGE_1", put_multiply, 1},
        {"MULTIPLY_STAGE_NOW", put_multiply, 2}, {"PREFETCH", lfuse__tiles_put_prefetch, 0}, {NULL, NULL, 0},
    };
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const lfuse__expr vectors = lfuse__tiles_text_vectors(t);
    const lfuse__parameter parameters[] = {
        {"T", .word = t->sum}, {"V", .number = t->vector}, {"DEPTH", .number = p->depth},
        {"AHEAD", .number = p->prefetch},
        {"EACH", .number = p->depth / p->slices}, {"SLICED", .number = p->slices > 1},
        {"ITEM_ROWS", .number = p->item_rows}, {"ITEM_COLUMNS", .number = p->item_columns},
        {"SUMS", .number = p->item_rows * p->item_columns}, {"VECTORS", .word = vectors.text},
        {"OVERLAPS", .number = t->overlaps}, {"EARLY", .number = LFUSE__TILES_EARLY},
        {"HANDS", .number = LFUSE__TILES_HANDS}, {"ROUND", .number = k_tiles_of_round(p)},
        {"TWO_ROUND", .number = k_tiles_of_round(p) == 2}, {"STEPS", .number = has_steps(t)},
        {"AS_THEY_ARE", .number = as_they_are(t)}, {NULL},
    };

    (void)which, (void)indent;
    lfuse__put_text(t->t.out, 1, lfuse__text_gemm_simt_loop, parameters, places, t);
}

/* ---- the kernel ---- */

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {{"SCHEDULE", lfuse__tiles_put_schedule, 0},
                                               {"BAND", lfuse__tiles_put_band, 0},
                                               {"LOOP", lfuse__tiles_put_sums, 0},
                                               {"EPILOGUE", lfuse__tiles_put_end, 0},
                                               {NULL, NULL, 0}};
    const lfuse__product_class *p = t->p;
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"WORDS", .number = lfuse__tiles_text_words(t)},
        {"BUFFERS", .number = lfuse__tiles_text_buffers(t)}, {"ITEMS", .number = t->threads},
        {"BLOCKS", .number = p->occupancy}, {"T", .word = t->sum}, {"TILE_WORDS", .number = local(p)},
        {"MEETS", .number = p->split || p->column_sums}, {"OVERLAPS", .number = t->overlaps},
        {"STREAM_K", .number = p->split == LFUSE__SPLIT_STREAM_K}, {NULL},
    };

    lfuse__put_text(t->t.out, 0, lfuse__text_gemm_simt, parameters, places, t);
}

/* ---- the accumulators that a work-item has: rows of vectors ---- */

static void put_corner(const lfuse__tiles *t, int indent, const char *place)
{
    const int across = t->p->columns / t->p->item_columns / (LFUSE__TEAM / TEAM_ROWS); /* teams side by side */
    /* Neighbours differ in y first: each 16 of them read 2 vectors of A and 8 of B. */
    lfuse__put(t->t.out, indent, "const u32 y = (%s / %d * %d + %s %% 2 + %s %% 32 / 16 * 2) * %d;", place,
               32 * across, TEAM_ROWS, place, place, t->vector);
    lfuse__put(t->t.out, indent, "const u32 x = (%s / 32 %% %d * %d + %s %% 16 / 2) * %d;", place, across,
               32 / TEAM_ROWS, place, t->vector);
}

static void put_place(const lfuse__tiles *t, int indent, const char *number)
{
    const lfuse__product_class *p = t->p;
    const int across = p->item_columns / t->vector;
    lfuse__put(t->t.out, indent, "const u32 g = %s;", number);
    if (p->column_sums) /* rows of a work-item are equally far apart: lfuse__tiles_row */
        lfuse__put(t->t.out, indent, "const u32 row = a0 + (y / %d + g / %d * %d) * apart;", t->vector, across,
                   p->rows / p->item_rows);
    else
        lfuse__put(t->t.out, indent, "const u32 row = a0 + g / %d * %d + y + g / %d %% %d;", across * t->vector,
                   p->rows / p->item_rows * t->vector, across, t->vector);
    lfuse__put(t->t.out, indent, "const u32 column = b0 + g %% %d * %d + x;", across,
               p->columns / p->item_columns * t->vector);
}

/* ---- the solver ---- */

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    (void)facts;
    return desc->prologue ? "its operands have to lie in memory" : NULL;
}

/*
 * Fitted to the times of all candidates of 38 products on an H100 (f32). The rows of 16 x 32 x 64, 16 x 32 x 32,
 * 32 x 32 x 32 and 32 x 64 x 32 by 8 x 8 were then set by hand to races on an H200, and the wait of the first to layers
 * whose weights come from memory and not from its caches.
 */
static const lfuse__tile_shape shapes[] = {
    {64, 128, 16, 8, 8, 1, 1, 3, 415, 97},
    {32, 64, 16, 4, 4, 1, 1, 5, 630, 78},
    {16, 32, 64, 4, 4, 8, 2, 3, 480, 62},
    {16, 32, 32, 4, 4, 4, 2, 5, 180, 47},
    {32, 32, 32, 4, 4, 4, 2, 3, 115, 69},
    {32, 64, 32, 8, 4, 4, 1, 2, 110, 73},
    {32, 64, 32, 8, 8, 4, 1, 3, 375, 86},
    {64, 64, 32, 8, 8, 4, 1, 2, 335, 86},
    {64, 64, 32, 16, 8, 4, 1, 2, 680, 95},
    {64, 64, 16, 8, 8, 2, 1, 3, 295, 91},
    {64, 128, 16, 8, 8, 2, 1, 2, 245, 91},
    {128, 128, 16, 8, 16, 1, 1, 2, 2000, 98},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .overlaps = true,
    .sums_columns = lfuse__tiles_are_of_lanes, .local = local, .put_corner = put_corner, .put_place = put_place,
    .put_kernel = put_kernel,
};

const lfuse__solver lfuse__simt = {
    .name = "simt", .tile = &traits, .runs_on = lfuse__tiles_fit, .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead,
    .serves = lfuse__tile_serves, .cost = lfuse__tile_cost, .phases = 1, .tickets = lfuse__tiles_tickets,
    .workspace = lfuse__tiles_workspace, .emit = lfuse__tiles_emit, .pack = lfuse__tiles_pack,
    .grouped_cost = lfuse__tiles_grouped_cost, .grouped_cut = lfuse__tiles_grouped_cut,
    .grouped_emit = lfuse__tiles_grouped_emit,
};
