/* SPDX-License-Identifier: Apache-2.0 */
/* Emulated products (emulated.h) by mma.sync: text/gemm_emulated_mma.k multiplies words. */
#include "common/base/costs.h"
#include "common/matmul/emulated.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_emulated_mma.k.h"
#include "common/kernels/text/gemm_emulated_mma_copy.k.h"
#include "common/kernels/text/gemm_emulated_mma_product.k.h"

enum {
    DEPTH = LFUSE__MMA_STEP, /* of a k-tile: sums are promoted as often */
    SHORT_SUMS = 8           /* fragments of them, 16 x 8, that a warp makes at a time */
};

static void put_copy(const void *context, int which, int indent)
{
    (void)which;
    lfuse__mma_put_text(context, indent, "", lfuse__text_gemm_emulated_mma_copy, (lfuse__parameter[]){{NULL}}, NULL);
}

/* Returns how many fragments of A have their short sums made at a time. */
static int together(const lfuse__product_class *p)
{
    const int across = lfuse__mma_warp_columns(p) / 8;

    return across < SHORT_SUMS ? SHORT_SUMS / across : 1;
}

static void put_products(const void *context, int which, int indent)
{
    const lfuse__tiles *t = context;
    const lfuse__emulation *e = t->p->solver->emulation;

    (void)which;
    for (int i = 0; i < e->products; i++) {
        const lfuse__parameter own[] = {
            {"TOGETHER", .number = together(t->p)}, {"WORD", .word = e->word},
            {"WORD_A", .number = e->product[i].a}, {"WORD_B", .number = e->product[i].b}, {NULL},
        };

        lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_emulated_mma_product, own, NULL);
    }
}

static void put_product(const lfuse__tiles *t, const char *name)
{
    static const lfuse__text_place places[] = {
        {"COPY", put_copy, 0}, {"PRODUCTS", put_products, 0}, {"FINISH", lfuse__emulated_put_unscaled, 0},
        {NULL, NULL, 0},
    };
    const lfuse__expr a = lfuse__emulated_factors(t, LFUSE__PRODUCT_A);
    const lfuse__expr b = lfuse__emulated_factors(t, LFUSE__PRODUCT_B);
    const lfuse__expr all_a = lfuse__emulated_tiles(t, LFUSE__PRODUCT_A);
    const lfuse__expr all_b = lfuse__emulated_tiles(t, LFUSE__PRODUCT_B);
    const lfuse__parameter own[] = {
        {"FACTORS_A", .word = a.text}, {"FACTORS_B", .word = b.text}, {"BATCHED", .number = t->p->batched},
        {"ALL_A", .word = all_a.text}, {"ALL_B", .word = all_b.text},
        {"BLOCKS", .number = t->p->occupancy}, {"TILE_WORDS", .number = lfuse__mma_local(t->p)},
        {"EACH", .number = lfuse__words_of(t->p->solver)}, {"TOGETHER", .number = together(t->p)}, {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_emulated_mma, own, places);
}

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    (t->p->phase == LFUSE__FRONT_PRODUCT ? put_product : lfuse__emulated_put_split)(t, name);
}

/* ---- the solvers ---- */

static bool runs_on(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && facts->tensor_cores && facts->info.local_bytes >= LFUSE__MMA_LOCAL;
}

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    return runs_on(facts) ? lfuse__emulated_declines(desc) : "the device has no such instructions";
}

/*
 * Where warpgroups multiply they are faster (emulated_wgmma.c). By mma.sync Hopper multiplies ten times as many words
 * as f32 in a cycle.
 */
static bool pays(const lfuse__facts *facts)
{
    return !lfuse__has_warpgroups(facts) && !lfuse__costs_of(facts).tiles.few_tensor_cores;
}

/* Fitted to times on an H100. The small tile is for what has few large ones. */
static const lfuse__tile_shape f16x3_shapes[] = {
    {128, 128, DEPTH, 8, 16, 1, 2, 2, 600, 365},
    {64, 64, DEPTH, 4, 8, 1, 2, 4, 500, 280},
};

/* Fragments of three words take more registers: warps have smaller tiles. Rates are half of those of f16x3. */
static const lfuse__tile_shape bf16x6_shapes[] = {
    {128, 64, DEPTH, 8, 8, 1, 1, 2, 600, 180},
    {64, 64, DEPTH, 4, 8, 1, 2, 3, 500, 140},
};

/* A solver of an emulation differs from others in its shapes alone. */
#define TRAITS(table)                                                                                                  \
    {                                                                                                                  \
        LFUSE__SHAPES(table), .tensor_cores = true, .bytes = LFUSE__EMULATED_WORD, .blocks = true,                     \
        .local = lfuse__mma_local, .put_corner = lfuse__mma_put_corner, .put_place = lfuse__mma_put_place,             \
        .put_kernel = put_kernel,                                                                                      \
    }
#define SOLVER(text, traits, row)                                                                                      \
    {                                                                                                                  \
        .name = text, .tile = &traits, .emulation = &row, .runs_on = runs_on, .pays = pays, .declines = declines,      \
        .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead,                        \
        .serves = lfuse__emulated_serves, .suits = lfuse__emulated_suits, .cost = lfuse__emulated_cost,                \
        .phases = LFUSE__FRONT_PHASES, .workspace = lfuse__front_workspace, .kept = lfuse__front_kept,                 \
        .emit = lfuse__tiles_emit, .pack = lfuse__emulated_pack,                                                       \
    }

static const lfuse__tile_traits f16x3_traits = TRAITS(f16x3_shapes), bf16x6_traits = TRAITS(bf16x6_shapes);

const lfuse__solver lfuse__f32x3_mma = SOLVER("f32x3_mma", f16x3_traits, lfuse__emulation_f16x3);
const lfuse__solver lfuse__bf16x6_mma = SOLVER("bf16x6_mma", bf16x6_traits, lfuse__emulation_bf16x6);
