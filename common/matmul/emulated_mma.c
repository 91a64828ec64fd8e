/* SPDX-License-Identifier: Apache-2.0 */
/* Emulated products (emulated.h) by mma.sync: text/gemm_emulated_mma.k multiplies words. */
#include "common/base/costs.h"
#include "common/matmul/emulated.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_emulated_mma.k.h"
#include "common/kernels/text/gemm_emulated_mma_copy.k.h"
#include "common/kernels/text/gemm_emulated_mma_product.k.h"

enum { SHORT_SUMS = 8 /* fragments of sums of a k-tile, 16 x 8, that a warp makes at a time */ };

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
    const lfuse__expr all_a = lfuse__front_tiles(t, LFUSE__PRODUCT_A);
    const lfuse__expr all_b = lfuse__front_tiles(t, LFUSE__PRODUCT_B);
    const lfuse__expr of_a = lfuse__tma_matrix(t, LFUSE__PRODUCT_A), of_b = lfuse__tma_matrix(t, LFUSE__PRODUCT_B);
    const lfuse__parameter own[] = {
        {"FACTORS_A", .word = a.text}, {"FACTORS_B", .word = b.text},
        {"MATRIX_A", .word = of_a.text}, {"MATRIX_B", .word = of_b.text},
        {"ALL_A", .word = all_a.text}, {"ALL_B", .word = all_b.text},
        {"BLOCKS", .number = t->p->occupancy}, {"TILE_WORDS", .number = lfuse__mma_local(t->p)},
        {"EACH", .number = lfuse__words_of(t->p->solver)}, {"TOGETHER", .number = together(t->p)}, {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_emulated_mma, own, places);
}

void lfuse__emulated_put_mma(const lfuse__tiles *t, const char *name)
{
    (t->p->phase == LFUSE__FRONT_PRODUCT ? put_product : lfuse__emulated_put_split)(t, name);
}

/* ---- conditions ---- */

bool lfuse__emulated_mma_runs_on(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && facts->tensor_cores && facts->info.local_bytes >= LFUSE__MMA_LOCAL;
}

const char *lfuse__emulated_mma_declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (!lfuse__emulated_mma_runs_on(facts)) return "the device has no such instructions";
    return lfuse__emulated_declines(desc);
}

/*
 * Where warpgroups multiply they are faster (emulated_wgmma.c). By mma.sync Hopper multiplies ten times as many words
 * as f32 in a cycle.
 */
bool lfuse__emulated_mma_pays(const lfuse__facts *facts)
{
    return !lfuse__has_warpgroups(facts) && !lfuse__costs_of(facts).tiles.few_tensor_cores;
}
