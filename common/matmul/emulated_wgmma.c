/* SPDX-License-Identifier: Apache-2.0 */
/* Emulated products (emulated.h) on Hopper's tensor cores: text/gemm_emulated_wgmma.k multiplies words. */
#include "common/base/error.h"
#include "common/matmul/emulated.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_emulated_wgmma.k.h"

enum {
    PROMOTED = 32, /* along k: what tensor cores add up where k-tiles are less deep */
    UNIT = 16      /* bytes that a matrix descriptor counts in */
};

static void put_text(const lfuse__tiles *t, int part, int indent)
{
    const lfuse__product_class *p = t->p;
    const lfuse__expr a = lfuse__emulated_factors(t, LFUSE__PRODUCT_A);
    const lfuse__expr b = lfuse__emulated_factors(t, LFUSE__PRODUCT_B);
    const lfuse__expr all_a = lfuse__front_tiles(t, LFUSE__PRODUCT_A);
    const lfuse__expr all_b = lfuse__front_tiles(t, LFUSE__PRODUCT_B);
    const lfuse__expr of_a = lfuse__tma_matrix(t, LFUSE__PRODUCT_A), of_b = lfuse__tma_matrix(t, LFUSE__PRODUCT_B);
    const lfuse__parameter own[] = {
        {"PART_SOURCES", .number = part == LFUSE__PART_SOURCES}, {"PART_COPY", .number = part == LFUSE__PART_COPY},
        {"PART_MULTIPLIERS", .number = part == LFUSE__PART_MULTIPLIERS}, {"PART_PRODUCT", .number = 0},
        {"PART_PROMOTE", .number = part == LFUSE__PART_PROMOTE}, {"PART_FACTORS", .number = part == LFUSE__PART_FINISH},
        {"PROMOTED", .number = p->depth < PROMOTED ? PROMOTED / p->depth : 1},
        {"FACTORS_A", .word = a.text}, {"FACTORS_B", .word = b.text},
        {"MATRIX_A", .word = of_a.text}, {"MATRIX_B", .word = of_b.text},
        {"ALL_A", .word = all_a.text}, {"ALL_B", .word = all_b.text},
        {"ROWS_BYTES", .number = p->rows * LFUSE__EMULATED_FACTOR},
        {"COLUMNS_BYTES", .number = p->columns * LFUSE__EMULATED_FACTOR}, {NULL},
    };

    lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_emulated_wgmma, own, NULL);
}

static void put_products(const lfuse__tiles *t, int indent)
{
    const lfuse__product_class *p = t->p;
    const lfuse__emulation *e = p->solver->emulation;

    for (int i = 0; i < e->products; i++) {
        const lfuse__parameter own[] = {
            {"PART_SOURCES", .number = 0}, {"PART_COPY", .number = 0}, {"PART_MULTIPLIERS", .number = 0},
            {"PART_PRODUCT", .number = 1}, {"PART_PROMOTE", .number = 0}, {"PART_FACTORS", .number = 0},
            {"PROMOTED", .number = p->depth < PROMOTED ? PROMOTED / p->depth : 1},
            {"WORD", .word = e->word}, {"FIRST", .number = i == 0},
            {"OF_A", .number = lfuse__emulated_word_at(p, LFUSE__PRODUCT_A, e->product[i].a) / UNIT},
            {"OF_B", .number = lfuse__emulated_word_at(p, LFUSE__PRODUCT_B, e->product[i].b) / UNIT}, {NULL},
        };

        lfuse__mma_put_text(t, indent, "", lfuse__text_gemm_emulated_wgmma, own, NULL);
    }
}

void lfuse__emulated_put_part(const void *context, int part, int indent)
{
    if (part == LFUSE__PART_MULTIPLY) put_products(context, indent);
    else put_text(context, part, indent);
    if (part == LFUSE__PART_FINISH) lfuse__emulated_put_unscaled(context, 0, indent);
}

const lfuse__tile_source lfuse__emulated_source = {
    .batches = true, .columns = true, .product = LFUSE__FRONT_PRODUCT, .put_part = lfuse__emulated_put_part,
    .put_other = lfuse__emulated_put_split, .pack = lfuse__emulated_pack,
};
