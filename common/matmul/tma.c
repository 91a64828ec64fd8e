/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on Hopper whose operands come into local memory by tensor maps (TMA): the source of pipelines whose parts
 * are text/gemm_tma.k, and solvers that pair it with what multiplies f16 and bf16, tf32, e4m3 and e5m2.
 */
#include <string.h>

#include "common/base/error.h"
#include "common/matmul/fp8.h"

#include "common/kernels/text/gemm_tma.k.h"

/* An operand that all products of a batch share has one matrix. */
lfuse__expr lfuse__tma_matrix(const lfuse__tiles *t, int operand)
{
    const int apart = t->l.apart[operand];

    return apart < 0 ? lfuse__expression("0") : lfuse__expression("(W(%d) ? (u32)matrix : 0)", apart);
}

/* Boxes along k have no more lines than the matrix (make_map); those of A where columns are summed are whole. */
lfuse__expr lfuse__tma_bytes(const lfuse__tiles *t, int operand)
{
    const int bytes = lfuse__mma_k_tile_bytes(t->p, operand), width = lfuse__tile_width(t->p, operand);
    const bool summed = operand == LFUSE__PRODUCT_A && t->p->column_sums;
    const char *lines = operand == LFUSE__PRODUCT_A ? "m" : "n";

    if (summed || !lfuse__is_k_contiguous(t->p, operand)) return lfuse__expression("%d", bytes);
    return lfuse__expression("(%s < %d ? %s : %d) * %d", lines, width, lines, width, bytes / width);
}

static void put_part(const void *context, int part, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__product_class *p = t->p;
    const int a_bytes = lfuse__mma_k_tile_bytes(p, LFUSE__PRODUCT_A);
    const int box = p->depth * LFUSE__WGMMA_LINE;
    const lfuse__expr of_a = lfuse__tma_matrix(t, LFUSE__PRODUCT_A);
    const lfuse__expr of_b = lfuse__tma_matrix(t, LFUSE__PRODUCT_B);
    const lfuse__expr bytes_of_a = lfuse__tma_bytes(t, LFUSE__PRODUCT_A);
    const lfuse__expr bytes_of_b = lfuse__tma_bytes(t, LFUSE__PRODUCT_B);
    const lfuse__expr first_row = lfuse__pipeline_first_row(p);
    const lfuse__parameter own[] = {
        {"FIRST_ROW", .word = first_row.text}, {"COLUMN_SUMS", .number = p->column_sums},
        {"SHARING", .number = LFUSE__SEGMENT / p->rows},
        {"MATRIX_A", .word = of_a.text}, {"MATRIX_B", .word = of_b.text},
        {"PART_EARLY", .number = part == LFUSE__PART_EARLY}, {"PART_SOURCES", .number = part == LFUSE__PART_SOURCES},
        {"PART_COPY", .number = part == LFUSE__PART_COPY},
        {"MAP_BYTES_A", .word = bytes_of_a.text}, {"MAP_BYTES_B", .word = bytes_of_b.text},
        {"BEFORE_B", .number = a_bytes}, {"DEPTH", .number = p->depth}, {"BOX", .number = box},
        {"MULTIPLYING", .number = lfuse__pipeline_multiplying(p)},
        {"BOXES_A", .number = p->rows / 64}, {"BOXES_B", .number = p->columns / 64}, {NULL},
    };

    lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_tma, own, NULL);
}

/* ---- sizes ---- */

/*
 * The map of A where columns are summed: the lines of a box are in the order of lfuse__pipeline_row, eight that are 128
 * rows apart innermost. Rows have to be a multiple of 128, so that no axis leads beyond the last one.
 */
static lfuse_status make_summed_map(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                    uint64_t *map, bool *made)
{
    const unsigned bytes = (unsigned)lfuse__mma_bytes(&c->product);
    const uint64_t rows = (uint64_t)g->extents[0], row = (uint64_t)g->strides[LFUSE__PRODUCT_A][0] * bytes;
    const lfuse__tensor_boxes of = {
        .address = g->addresses[LFUSE__PRODUCT_A], .bytes = bytes, .axes = 5,
        .axis = {{.extent = (uint64_t)g->extents[2], .box = LFUSE__WGMMA_LINE / bytes}, {rows / 128, 128 * row, 8},
                 {2, 64 * row, 2}, {8, 8 * row, 8}, {8, row, 1}},
    };

    *made = rows % 128 == 0;
    return *made ? facts->tensor_map(facts->maps_of, &of, map, made) : LFUSE_OK;
}

/*
 * Makes the tensor map of an operand, with boxes of what is copied together, 128 bytes wide at most. Devices are slow
 * to copy boxes that end beyond the matrix. So where lines run along k, and the matrix has fewer of them than a tile, a
 * box has as many as the matrix (lfuse__tma_bytes). An H100 took 15.6 us for 16 x 4096 x 4096 of e4m3 in boxes of 128
 * lines, and 8.7 in boxes of 16.
 */
static lfuse_status make_map(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                             int operand, uint64_t *map, bool *made)
{
    const lfuse__product_class *p = &c->product;
    const bool along = lfuse__is_k_contiguous(p, operand);
    const uint64_t outer = (uint64_t)g->extents[operand], k = (uint64_t)g->extents[2];
    const uint64_t width = (uint64_t)lfuse__tile_width(p, operand), lines = outer && outer < width ? outer : width;
    const unsigned bytes = (unsigned)lfuse__mma_bytes(p);
    const unsigned depth = (unsigned)p->depth;
    const uint64_t apart = (uint64_t)g->strides[operand][0] * bytes;
    const bool shared = !p->batched || g->strides[operand][LFUSE__PRODUCT_BATCH] == 0;
    const lfuse__tensor_boxes of = {
        .address = g->addresses[operand], .bytes = bytes, .axes = 3,
        .axis = {{.extent = along ? k : outer, .box = along ? depth : LFUSE__WGMMA_LINE / bytes},
                 {along ? outer : k, apart, along ? (unsigned)lines : depth},
                 {shared ? 1 : (uint64_t)lfuse__product_batch(c, g),
                  shared ? apart : (uint64_t)g->strides[operand][LFUSE__PRODUCT_BATCH] * bytes, 1}},
    };

    if (operand == LFUSE__PRODUCT_A && p->column_sums) return make_summed_map(c, facts, g, map, made);
    return facts->tensor_map(facts->maps_of, &of, map, made);
}

lfuse_status lfuse__tma_set_maps(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                 lfuse__packed *packed)
{
    enum { BOTH = 1 << LFUSE__PRODUCT_A | 1 << LFUSE__PRODUCT_B };
    lfuse__product_layout l;
    bool mapped;

    lfuse__product_layout_make(c, &l);
    uint64_t *const own = packed->words + l.own, *const maps = packed->words + lfuse__tiles_map(&c->product, &l, 0);
    uint64_t *const rest = own + lfuse__tiles_own(&c->product);
    memset(rest, 0, (size_t)(packed->words + packed->nwords - rest) * sizeof *rest);
    if (c->product.phase != c->product.solver->source->product) return LFUSE_OK;
    mapped = g->extents[2] > 0;
    for (int i = LFUSE__PRODUCT_A; i <= LFUSE__PRODUCT_B; i++) {
        if (!lfuse__comes_by_map(&c->product, i)) continue;
        mapped = mapped && own[LFUSE__TILES_VECTORS] >> i & 1;
        if (mapped) LFUSE__TRY(make_map(c, facts, g, i, maps + i * LFUSE__TENSOR_MAP_WORDS, &mapped));
    }
    own[LFUSE__TILES_VECTORS] &= ~(uint64_t)BOTH;
    if (mapped) own[LFUSE__TILES_VECTORS] |= BOTH;
    return LFUSE_OK;
}

static lfuse_status pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    LFUSE__TRY(lfuse__tiles_pack(c, facts, g, packed));
    return lfuse__tma_set_maps(c, facts, g, packed);
}

/* ---- the solvers ---- */

static bool both(const lfuse__product_class *p, int operand)
{
    (void)p, (void)operand;
    return true;
}

static const lfuse__tile_source maps = {
    .by_map = both, .large = true, .batches = true, .columns = true, .put_part = put_part, .pack = pack,
};

/*
 * Stream-K is slower: units that are at different k-tiles at a time read different operands, and the cache behind them
 * has no room for all. An H100 took 266 us for 4096 cubed in such ranges, 214 in whole tiles. Of known sizes whose
 * lines have no map, tiles are those of f16_packed.
 */
static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    const bool known = !memcmp(least, most, LFUSE__PRODUCT_BATCH * sizeof *least);

    return p->split != LFUSE__SPLIT_STREAM_K && (!known || p->column_sums || lfuse__mma_suits(p, least)) &&
           lfuse__tile_serves(p, least, most);
}

/* Where columns are summed, A has a map if its rows are a whole number of 128: else it would wait for elements. */
static bool suits(const lfuse__product_class *p, const int64_t *extents)
{
    return lfuse__mma_suits(p, extents) && (!p->column_sums || extents[0] % 128 == 0);
}

const lfuse__solver lfuse__tma = {
    LFUSE__PIPELINE(&maps, &lfuse__multiply_f16), .name = "tma", .vendors_share = 1, .cost = lfuse__pipeline_cost,
    .phases = 1, .workspace = lfuse__tiles_workspace, .is_compiled_ahead = lfuse__tile_is_compiled_ahead,
    .serves = serves, .suits = suits,
};

/* Others, and lines that are no whole chunks, are those of packed.c. */
static bool serves_along(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    const bool may_be_whole = least[2] != most[2] || least[2] % p->solver->tile->chunk == 0;

    return !p->split && may_be_whole && lfuse__mma_lies_along(p) && lfuse__tile_serves(p, least, most);
}

const lfuse__solver lfuse__tma_tf32 = {
    LFUSE__PIPELINE(&maps, &lfuse__multiply_tf32), .name = "tma_tf32", .vendors_share = 1, .tf32 = true,
    .cost = lfuse__pipeline_cost, .phases = 1, .workspace = lfuse__tiles_workspace,
    .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = serves_along, .suits = lfuse__mma_suits,
};

const lfuse__solver lfuse__tma_fp8 = {
    LFUSE__PIPELINE(&maps, &lfuse__multiply_fp8), .name = "tma_fp8", .vendors_share = 1, .cost = lfuse__pipeline_cost,
    .phases = 1, .workspace = lfuse__tiles_workspace, .is_compiled_ahead = lfuse__tile_is_compiled_ahead,
    .serves = serves_along, .suits = lfuse__mma_suits,
};
