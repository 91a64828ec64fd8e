/* SPDX-License-Identifier: Apache-2.0 */
/* Products on tensor cores: the kernel is text/gemm_mma.k. */
#include <stdio.h>

#include "common/matmul/emulated.h"
#include "common/matmul/grouped.h"
#include "common/matmul/provider.h"
#include "common/kernels/template.h"

#include "common/kernels/text/gemm_mma.k.h"
#include "common/kernels/text/gemm_mma_operand.k.h"
#include "common/kernels/text/gemm_mma_vectors.k.h"

enum { STEP = LFUSE__MMA_STEP, BANKS = 128 /* bytes */ };

int lfuse__mma_warp_rows(const lfuse__product_class *p)
{
    return p->item_rows * 8;
}

int lfuse__mma_warp_columns(const lfuse__product_class *p)
{
    return p->item_columns * 4;
}

bool lfuse__mma_is_small(const lfuse__product_class *p)
{
    return p->depth * lfuse__mma_bytes(p) < LFUSE__WGMMA_LINE;
}

bool lfuse__mma_is_compiled_ahead(const lfuse__solver *solver, int at)
{
    lfuse__product_class p = {.sum = LFUSE_F32};

    if (lfuse__tile_is_compiled_ahead(at)) return true;
    return lfuse__tile_candidate(solver, at, &p) && lfuse__mma_is_small(&p) && p.split != LFUSE__SPLIT_STREAM_K;
}

int lfuse__mma_stages(const lfuse__product_class *p)
{
    return p->prefetch + 1 + (lfuse__mma_is_small(p) ? 0 : p->solver->tile->spare_stages);
}

int lfuse__mma_k_tile_bytes(const lfuse__product_class *p, int operand)
{
    return lfuse__tile_width(p, operand) * p->depth * lfuse__mma_bytes(p) * lfuse__words_of(p->solver);
}

int lfuse__mma_local(const lfuse__product_class *p)
{
    const int bytes = lfuse__mma_k_tile_bytes(p, LFUSE__PRODUCT_A) +
                      lfuse__mma_k_tile_bytes(p, LFUSE__PRODUCT_B);
    return lfuse__mma_stages(p) * bytes / (int)lfuse__type_bytes(p->sum);
}

/* Parts of text/gemm_mma_operand.k; a place of a text has the number of the operand times PARTS and the part's. */
enum { LINES, ADDRESSES, FROM, COPY, FRAGMENTS, COPY_SLOWLY, COMPUTE_FIRST, COMPUTE, PARTS };

/* What an operand has that is computed, beside or in place of these parts. */
static void put_computed(const lfuse__tiles *t, int operand, int part, int indent, const lfuse__parameter *parameters)
{
    static const struct {
        int part;
        lfuse__mma_computed_part computed;
    } all[] = {
        {ADDRESSES, LFUSE__MMA_COMPUTED_ARRAYS}, {COMPUTE_FIRST, LFUSE__MMA_COMPUTED_FIRST},
        {COMPUTE, LFUSE__MMA_COMPUTED_NEXT}, {COPY_SLOWLY, LFUSE__MMA_COMPUTED_SLOWLY},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].part == part) lfuse__mma_put_computed(t, operand, all[i].computed, indent, parameters);
}

static void put_operand(const void *context, int place, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const int operand = place / PARTS, part = place % PARTS;
    const bool a = operand == LFUSE__PRODUCT_A, along = lfuse__is_k_contiguous(p, operand);
    const int width = a ? p->rows : p->columns, warp_tile = a ? lfuse__mma_warp_rows(p) : lfuse__mma_warp_columns(p);
    const int bytes = lfuse__mma_bytes(p), chunk = LFUSE__MMA_CHUNK_BYTES / bytes, depth = p->depth;
    const int chunks = (along ? depth : width) / chunk, bank_chunks = BANKS / 16;
    const bool blocks = p->solver->tile->blocks && chunks >= bank_chunks, singly = bytes == 4 && !along;
    const int turns = chunks < bank_chunks ? chunks : bank_chunks;
    const int copiers = lfuse__has_maps(p) ? LFUSE__WARPGROUP : 0; /* work-items; 0: all */
    const int base = a ? 0 : lfuse__mma_k_tile_bytes(p, LFUSE__PRODUCT_A);
    const bool computed = p->prologue[operand];
    const lfuse__expr stage = lfuse__expression("to - base + %d", base);
    const lfuse__expr index = a ? lfuse__pipeline_row(p, "a0", "line") : lfuse__expression("b0 + line");
    const lfuse__expr first_stage = lfuse__expression("%d", base * lfuse__mma_stages(p));
    char first[96], ld[24], first_of_warp[64];
    const lfuse__parameter parameters[] = {
        {"X", .word = a ? "a" : "b"}, {"COMPUTED", .number = computed},
        {"PART_LINES", .number = part == LINES || (part == ADDRESSES && !computed)},
        {"PART_ADDRESSES", .number = part == ADDRESSES},
        {"PART_FROM", .number = part == FROM || (part == ADDRESSES && !p->solver->tile->blocks)},
        {"PART_COPY", .number = part == COPY && !computed}, {"PART_FRAGMENTS", .number = part == FRAGMENTS},
        {"PART_COPY_SLOWLY", .number = part == COPY_SLOWLY && !computed}, {"K_CONTIGUOUS", .number = along},
        {"OPERAND", .word = first}, {"LD", .word = ld}, {"ORIGIN", .word = a ? "a0" : "b0"},
        {"OUTER", .word = a ? "m" : "n"}, {"OUTER_INDEX", .word = index.text}, {"DEPTH", .number = depth},
        {"BASE", .number = base * lfuse__mma_stages(p)}, {"WIDTH", .number = width},
        {"STAGE", .number = width * depth * bytes}, {"CHUNKS", .number = chunks},
        {"COPIER", .word = copiers ? "(item % 128)" : "item"}, {"COPIERS", .number = copiers ? copiers : t->threads},
        {"TILE", .word = copiers ? "stages" : "tile"}, {"SLOW_STAGE", .word = copiers ? stage.text : first_stage.text},
        {"COPY16", .word = p->solver->tile->blocks ? "ASYNC_COPY16_PAST" : "ASYNC_COPY16"},
        {"BLOCKS_OF_LINES", .number = blocks}, {"LINE", .number = blocks ? BANKS : chunks * 16},
        {"SPAN", .number = chunks < bank_chunks ? bank_chunks / chunks : 1},
        {"TURNS", .number = singly ? turns / 2 : turns}, {"BY", .number = singly ? 2 : 1},
        {"SINGLY", .number = singly}, {"ROUNDED", .number = bytes == 4},
        {"LOAD16", .word = bytes == 4 ? "LOAD_FRAGMENTS_tf32" : "LOAD_FRAGMENTS"},
        {"CHUNK", .number = chunk}, {"SIZE", .number = bytes}, {"EIGHT_BITS", .number = bytes == 1},
        {"SECOND", .number = a ? 1 : 2},
        {"LOADS", .number = width * depth / chunk / t->threads}, {"APART", .number = t->threads / chunks},
        {"WARP_TILE", .number = warp_tile}, {"FIRST_OF_WARP", .word = first_of_warp},
        {"TILE_EIGHT", .word = a ? "quarter % 2" : "quarter / 2"},
        {"K_EIGHT", .word = a ? "quarter / 2" : "quarter % 2"}, {"ITEMS", .number = t->threads}, {NULL},
    };

    lfuse__put_product_first(&t->l, operand, first, sizeof first);
    snprintf(ld, sizeof ld, "%s(%d)", t->l.word, a ? t->l.lda : t->l.ldb);
    snprintf(first_of_warp, sizeof first_of_warp, "warp %s %d * %d", a ? "/" : "%",
             p->columns / lfuse__mma_warp_columns(p), warp_tile);
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_mma_operand, parameters, NULL, NULL);
    if (computed) put_computed(t, operand, part, indent, parameters);
}

/*
 * Returns whether fragments have rows of A, or columns of B, in the other order of text/gemm_mma_operand.k: that of
 * elements of 8 bits that lie across.
 */
static bool comes_in_pairs(const lfuse__product_class *p, int operand)
{
    return lfuse__mma_bytes(p) == 1 && !lfuse__is_k_contiguous(p, operand);
}

static void put_vectors(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__parameter parameters[] = {
        {"SUMS", .number = t->p->item_rows * t->p->item_columns},
        {"WARP_COLUMNS", .number = lfuse__mma_warp_columns(t->p)},
        {"BY_TURNS", .number = comes_in_pairs(t->p, LFUSE__PRODUCT_B)}, {NULL},
    };

    (void)which;
    lfuse__put_text(t->t.out, indent, lfuse__text_gemm_mma_vectors, parameters, NULL, NULL);
}

/* The kernel's parameters: those of all such kernels, behind those of its own. */
static void add_parameters(const lfuse__tiles *t, const char *name, const char *vectors, lfuse__parameter *all,
                           int own, int most)
{
    const lfuse__product_class *p = t->p;
    const lfuse__parameter common[] = {
        {"NAME", .word = name}, {"WORDS", .number = lfuse__tiles_text_words(t)},
        {"BUFFERS", .number = lfuse__tiles_text_buffers(t)}, {"LAST", .number = lfuse__kernel_buffers(t->t.k) - 1},
        {"ITEMS", .number = t->threads}, {"MEETS", .number = p->split || p->column_sums},
        {"TYPE", .word = lfuse__mma_word(t, LFUSE__PRODUCT_A)},
        {"ROWS", .number = p->rows}, {"COLUMNS", .number = p->columns}, {"DEPTH", .number = p->depth},
        {"WARP_ROWS", .number = lfuse__mma_warp_rows(p)}, {"WARP_COLUMNS", .number = lfuse__mma_warp_columns(p)},
        {"SUMS", .number = p->item_rows * p->item_columns}, {"AHEAD", .number = p->prefetch},
        {"STAGES", .number = lfuse__mma_stages(p)}, {"SETS", .number = lfuse__mma_sets(p)},
        {"STEPS", .number = p->depth * lfuse__mma_bytes(p) / LFUSE__MMA_STEP_BYTES},
        {"MAP_A", .number = lfuse__tiles_map(p, &t->l, LFUSE__PRODUCT_A)},
        {"MAP_B", .number = lfuse__tiles_map(p, &t->l, LFUSE__PRODUCT_B)},
        {"A_BYTES", .number = lfuse__mma_k_tile_bytes(p, LFUSE__PRODUCT_A)},
        {"B_BYTES", .number = lfuse__mma_k_tile_bytes(p, LFUSE__PRODUCT_B)},
        {"STEP_A", .number = lfuse__wgmma_step(p, LFUSE__PRODUCT_A)},
        {"STEP_B", .number = lfuse__wgmma_step(p, LFUSE__PRODUCT_B)},
        {"ACROSS_A", .number = !lfuse__is_k_contiguous(p, LFUSE__PRODUCT_A)},
        {"ACROSS_B", .number = !lfuse__is_k_contiguous(p, LFUSE__PRODUCT_B)},
        {"M", .number = t->l.m}, {"N", .number = t->l.n}, {"K", .number = t->l.k},
        {"DOWN", .number = t->l.own + LFUSE__TILES_DOWN}, {"ACROSS", .number = t->l.own + LFUSE__TILES_ACROSS},
        {"SPACE", .number = t->l.workspace}, {"VECTORS", .word = vectors}, {NULL},
    };

    for (size_t i = 0; i < sizeof common / sizeof *common && own < most; i++) all[own++] = common[i];
    all[own - 1].name = NULL; /* also where there is no room: then the text has an #error for what is missing */
}

static void add_places(lfuse__text_place *all, int own, int most)
{
    enum { A = LFUSE__PRODUCT_A * PARTS, B = LFUSE__PRODUCT_B * PARTS };
    static const lfuse__text_place common[] = {
        {"SCHEDULE", lfuse__tiles_put_schedule, 0}, {"PLACE_IN_TILE", lfuse__tiles_put_items, 0},
        {"OPERANDS", lfuse__tiles_put_operands, 0}, {"BAND", lfuse__tiles_put_band, 0},
        {"LINES_A", put_operand, A + LINES}, {"LINES_B", put_operand, B + LINES},
        {"ADDRESSES_A", put_operand, A + ADDRESSES}, {"ADDRESSES_B", put_operand, B + ADDRESSES},
        {"FROM_A", put_operand, A + FROM}, {"FROM_B", put_operand, B + FROM},
        {"COPY_A", put_operand, A + COPY}, {"COPY_B", put_operand, B + COPY},
        {"FRAGMENTS_A", put_operand, A + FRAGMENTS}, {"FRAGMENTS_B", put_operand, B + FRAGMENTS},
        {"COPY_SLOWLY_A", put_operand, A + COPY_SLOWLY}, {"COPY_SLOWLY_B", put_operand, B + COPY_SLOWLY},
        {"COMPUTE_FIRST_A", put_operand, A + COMPUTE_FIRST}, {"COMPUTE_FIRST_B", put_operand, B + COMPUTE_FIRST},
        {"COMPUTE_A", put_operand, A + COMPUTE}, {"COMPUTE_B", put_operand, B + COMPUTE},
        {"VECTORS_OF_SUMS", put_vectors, 0}, {"EPILOGUE", lfuse__tiles_put_end, 0}, {NULL, NULL, 0},
    };

    for (size_t i = 0; i < sizeof common / sizeof *common && own < most; i++) all[own++] = common[i];
    all[own - 1].name = NULL; /* also where there is no room: then the text has an #error for what is missing */
}

void lfuse__mma_put_text(const lfuse__tiles *t, int indent, const char *name, const char *text,
                         const lfuse__parameter *own, const lfuse__text_place *own_places)
{
    enum { MOST = 72 };
    const lfuse__expr vectors = lfuse__tiles_text_vectors(t);
    lfuse__parameter parameters[MOST];
    lfuse__text_place places[MOST];
    int i;

    for (i = 0; own[i].name; i++) parameters[i] = own[i];
    add_parameters(t, name, vectors.text, parameters, i, MOST);
    for (i = 0; own_places && own_places[i].name; i++) places[i] = own_places[i];
    add_places(places, i, MOST);
    lfuse__put_text(t->t.out, indent, text, parameters, places, t);
}

const char *lfuse__mma_word(const lfuse__tiles *t, int operand)
{
    const lfuse_type type = t->t.k->operands[operand].type;

    return type == LFUSE_F32 ? "tf32" : lfuse__memory_word(type);
}

void lfuse__mma_put_kernel(const lfuse__tiles *t, const char *name)
{
    const lfuse__parameter own[] = {{"BLOCKS", .number = t->p->occupancy},
                                    {"TILE_WORDS", .number = lfuse__mma_local(t->p)}, {NULL}};

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_mma, own, NULL);
}

/* ---- the accumulators that a lane has: those of the fragments of its warp ---- */

void lfuse__mma_put_corner(const lfuse__tiles *t, int indent, const char *place)
{
    const int across = t->p->columns / lfuse__mma_warp_columns(t->p);
    lfuse__put(t->t.out, indent, "const u32 y = %s / %d * %d + %s %% 32 / 4%s;", place, 32 * across,
               lfuse__mma_warp_rows(t->p), place, comes_in_pairs(t->p, LFUSE__PRODUCT_A) ? " * 2" : "");
    if (comes_in_pairs(t->p, LFUSE__PRODUCT_B))
        lfuse__put(t->t.out, indent, "const u32 x = %s / 32 %% %d * %d + %s %% 4 * 4;", place, across,
                   lfuse__mma_warp_columns(t->p), place);
    else
        lfuse__put(t->t.out, indent, "const u32 x = %s / 32 %% %d * %d + %s %% 2 * 8 + %s %% 4 / 2 * 4;", place, across,
                   lfuse__mma_warp_columns(t->p), place, place);
}

void lfuse__mma_put_place(const lfuse__tiles *t, int indent, const char *number)
{
    const int across = lfuse__mma_warp_columns(t->p) / STEP;
    const lfuse__expr eight = lfuse__expression("g / %d", across);
    const lfuse__expr row = comes_in_pairs(t->p, LFUSE__PRODUCT_A)
                                ? lfuse__expression("%s / 2 * 16 + %s %% 2", eight.text, eight.text)
                                : lfuse__expression("%s * 8", eight.text);
    lfuse__put(t->t.out, indent, "const u32 g = %s;", number);
    lfuse__put(t->t.out, indent, "const u32 row = a0 + %s + y, column = b0 + g %% %d * %d + x;", row.text, across,
               STEP);
}

/* ---- the solver ---- */

const char *lfuse__mma_declines_any(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (!facts->tensor_cores || facts->info.local_bytes < LFUSE__MMA_LOCAL)
        return "the device has no such instructions";
    return desc->prologue ? "its operands have to lie in memory" : NULL;
}

const char *lfuse__mma_multiplies(const lfuse__matmul_desc *desc)
{
    const lfuse_type type = desc->types[0];

    if ((type == LFUSE_F16 || type == LFUSE_BF16) && desc->types[1] == type) return NULL;
    return "it multiplies f16 by f16 and bf16 by bf16";
}

const char *lfuse__mma_declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    const char *why = lfuse__mma_multiplies(desc);

    return why ? why : lfuse__mma_declines_any(facts, desc);
}

/* The solver of f16 and bf16 has operands that are computed where they are read; those of other types do not. */
static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    lfuse__matmul_desc plain = *desc;

    plain.prologue = false;
    return lfuse__mma_declines(facts, &plain);
}

static bool candidate(const lfuse__solver *solver, int at, lfuse__product_class *p)
{
    if (!lfuse__tile_candidate(solver, at, p)) return false;
    if (p->prologue[LFUSE__PRODUCT_A] || p->prologue[LFUSE__PRODUCT_B]) p->occupancy = lfuse__mma_computed_blocks(p);
    return true;
}

/* Stream-K is slower than whole tiles. */
bool lfuse__mma_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return lfuse__mma_local(p) * 4 + (p->split ? LFUSE__MMA_TICKET : 0) <= LFUSE__MMA_LOCAL &&
           p->split != LFUSE__SPLIT_STREAM_K && lfuse__tile_serves(p, least, most);
}

/* Where rows are no whole chunks it would wait for single elements: other tiles are faster. */
bool lfuse__mma_suits(const lfuse__product_class *p, const int64_t *extents)
{
    const int chunk = p->solver->tile->chunk;

    return extents[lfuse__is_k_contiguous(p, LFUSE__PRODUCT_A) ? 2 : 0] % chunk == 0 &&
           extents[lfuse__is_k_contiguous(p, LFUSE__PRODUCT_B) ? 2 : 1] % chunk == 0;
}

/* Fitted to times on an H200. */
static const lfuse__tile_shape shapes[] = {
    {128, 128, 32, 8, 16, 1, 2, 2, 400, 970},
    {64, 64, 32, 4, 8, 1, 3, 4, 1400, 635},
    {64, 128, 32, 4, 16, 1, 2, 3, 700, 790},
    {32, 128, 32, 4, 8, 1, 3, 4, 1500, 585},
    {128, 32, 32, 4, 8, 1, 3, 4, 1500, 585},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .chunk = LFUSE__MMA_CHUNK, .tensor_cores = true,
    .bytes = 2, .local = lfuse__mma_local, .put_corner = lfuse__mma_put_corner, .put_place = lfuse__mma_put_place,
    .put_kernel = lfuse__mma_put_kernel, .loaded_ahead = lfuse__mma_sets,
};

const lfuse__solver lfuse__mma = {
    .name = "mma", .tile = &traits, .runs_on = lfuse__tiles_fit, .declines = declines,
    .candidate = candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = lfuse__mma_serves,
    .suits = lfuse__mma_suits, .cost = lfuse__tile_cost, .phases = 1, .tickets = lfuse__tiles_tickets,
    .workspace = lfuse__tiles_workspace, .emit = lfuse__tiles_emit, .pack = lfuse__tiles_pack,
    .grouped_cost = lfuse__tiles_grouped_cost, .grouped_cut = lfuse__tiles_grouped_cut,
    .grouped_emit = lfuse__tiles_grouped_emit,
};
