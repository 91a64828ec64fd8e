/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emulated products: of f32, from several products of narrower words, in two launches. text/gemm_split_words.k splits
 * both operands into words in the workspace, and a kernel of the solver multiplies words. The words of an operand that
 * is frozen are kept: a launch of its own splits it before the first run, and runs split the other one alone.
 * emulated.c has what does not depend on the instructions that multiply words, and the table of emulations: another one
 * is a precision (common/base/precision.h), a row there, and rows of solvers.
 */
#ifndef COMMON_MATMUL_EMULATED_H
#define COMMON_MATMUL_EMULATED_H

#include "common/matmul/front.h"

enum {
    LFUSE__EMULATED_FACTOR = 4,   /* bytes of the factor of a row of A, or a column of B */
    LFUSE__EMULATED_PRODUCTS = 6, /* of words, at most */
    LFUSE__EMULATED_WORD = 2      /* bytes of a word */
};

/*
 * How operands are split, and which words are multiplied. Word 0 of an element is the element rounded to the type of
 * words, and each next one is the rest, rounded to it.
 */
typedef struct lfuse__emulation {
    lfuse_precision precision; /* that permits it */
    const char *word;          /* the type of words, as the dialect calls it: of 16 bits */
    int words;                 /* of an element */
    /*
     * Rows of A and columns of B are scaled by powers of 2, which bring the exponent of their largest element here.
     * `rises`: those alone that have no element so large, and those are halved whose largest might round to infinity.
     */
    int largest;
    bool rises;
    int least_k;               /* in shorter sums the errors of words are larger than those of sums in f32 */
    int products;
    /* Which word of A by which one of B. Small products come first, as what is added to large sums is cut off. */
    struct { int a, b; } product[LFUSE__EMULATED_PRODUCTS];
} lfuse__emulation;

extern const lfuse__emulation lfuse__emulation_f16x3, lfuse__emulation_bf16x6;
/* Returns the emulation that the precision permits; NULL: none. */
const lfuse__emulation *lfuse__emulation_of(lfuse_precision precision);

/* Returns how many words an element of A or B has in local memory. */
static inline int lfuse__words_of(const lfuse__solver *solver)
{
    return solver->emulation ? solver->emulation->words : 1;
}

/* Returns the bytes that splitting moves of an element: it reads f32, and stores words. */
static inline int lfuse__emulation_bytes(const lfuse__emulation *e)
{
    return (int)sizeof(float) + e->words * LFUSE__EMULATED_WORD;
}

/*
 * The texts.
 *   - tiles returns an expression of 64 bits: the tiles of A along m, or of B along n, of all matrices of a batch.
 *     tiles_down and tiles_across are in scope.
 *   - factors returns an expression: where the factors of A or B begin, of all tiles, behind which their words lie.
 *     tiles_down and k_tiles are in scope.
 *   - put_split puts the kernel that splits operands, in the phases SPLIT and KEEP.
 *   - word_at returns the bytes in a k-tile of A or B in front of word number `word` of its elements.
 *   - put_unscaled, a place of a text, puts gemm_emulated_unscaled.k: sums[] without the factors of their rows and
 *     columns. In scope are `factors_a` and `factors_b`, of a batch those of its matrix.
 */
lfuse__expr lfuse__emulated_tiles(const lfuse__tiles *t, int operand);
lfuse__expr lfuse__emulated_factors(const lfuse__tiles *t, int operand);
int lfuse__emulated_word_at(const lfuse__product_class *p, int operand, int word);
void lfuse__emulated_put_split(const lfuse__tiles *t, const char *name);
void lfuse__emulated_put_unscaled(const void *t, int which, int indent);

/*
 * Functions of a solver (solver.h).
 *   - declines leaves it to the caller whether the device has the instructions.
 *   - pack sets the launches that split; of the product it sets what lfuse__tiles_pack does.
 *   - cost is that of the product, whose tiles the solver has, and of the launch in front of it.
 */
const char *lfuse__emulated_declines(const lfuse__matmul_desc *desc);
bool lfuse__emulated_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most);
bool lfuse__emulated_suits(const lfuse__product_class *p, const int64_t *extents);
bool lfuse__emulated_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                          lfuse__cut *c);
lfuse_status lfuse__emulated_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                   lfuse__packed *packed);

#endif
