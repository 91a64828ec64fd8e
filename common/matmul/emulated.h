/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emulated products: of f32, from several products of narrower words, in two launches. text/gemm_split_words.k splits
 * both operands into words in the workspace, and a kernel of the solver multiplies words. The words of an operand that
 * is frozen are kept: a launch of its own splits it before the first run, and runs split the other one alone.
 * emulated.c has what does not depend on the instructions that multiply words. An emulation is a file, f32x3.c for
 * example, which ends with LFUSE__EMULATED and is permitted by a precision (common/base/precision.h).
 */
#ifndef COMMON_MATMUL_EMULATED_H
#define COMMON_MATMUL_EMULATED_H

#include "common/matmul/front.h"

enum {
    LFUSE__EMULATED_FACTOR = 4,   /* bytes of the factor of a row of A, or a column of B */
    LFUSE__EMULATED_PRODUCTS = 9, /* of words, at most: of three words by three */
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
 *   - factors returns an expression: where the factors of A or B begin, of all tiles, behind which their words lie.
 *     tiles_down and k_tiles are in scope.
 *   - put_split puts the kernel that splits operands, in the phases SPLIT and KEEP.
 *   - word_at returns the bytes in a k-tile of A or B in front of word number `word` of its elements.
 *   - put_unscaled, a place of a text, puts gemm_emulated_unscaled.k: sums[] without the factors of their rows and
 *     columns. In scope are `factors_a` and `factors_b`, of a batch those of its matrix.
 */
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

/*
 * What multiplies words: by wgmma (emulated_wgmma.c), and by mma.sync (emulated_mma.c), whose solvers pay where there
 * is no wgmma.
 */
extern const lfuse__tile_source lfuse__emulated_source;
void lfuse__emulated_put_part(const void *t, int part, int indent);
void lfuse__emulated_put_mma(const lfuse__tiles *t, const char *name);
bool lfuse__emulated_mma_runs_on(const lfuse__facts *facts);
bool lfuse__emulated_mma_pays(const lfuse__facts *facts);
const char *lfuse__emulated_mma_declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc);

/* The fields that are the same in all solvers of emulated products. */
#define LFUSE__EMULATED_SOLVER(emulation_)                                                                             \
    .emulation = (emulation_), .serves = lfuse__emulated_serves, .suits = lfuse__emulated_suits,                       \
    .cost = lfuse__emulated_cost, .phases = LFUSE__FRONT_PHASES, .workspace = lfuse__front_workspace,                  \
    .kept = lfuse__front_kept
/*
 * Defines the solvers of an emulation, lfuse__<name>_wgmma and lfuse__<name>_mma, by its tables of tile shapes, in
 * which alone they differ from those of others.
 */
#define LFUSE__EMULATED(name_, emulation_, wgmma_shapes, mma_shapes)                                                   \
    static const lfuse__tile_traits wgmma_traits = {                                                                   \
        LFUSE__PIPELINE_TILE, LFUSE__SHAPES(wgmma_shapes), .bytes = LFUSE__EMULATED_WORD,                              \
        .multiplies = lfuse__emulated_declines, .put_part = lfuse__emulated_put_part,                                  \
        .sums_columns = lfuse__pipeline_sums_columns, .put_addend = lfuse__pipeline_put_addend,                        \
    };                                                                                                                 \
    static const lfuse__tile_traits mma_traits = {                                                                     \
        LFUSE__SHAPES(mma_shapes), .tensor_cores = true, .bytes = LFUSE__EMULATED_WORD, .blocks = true,                \
        .local = lfuse__mma_local, .put_corner = lfuse__mma_put_corner, .put_place = lfuse__mma_put_place,             \
        .put_kernel = lfuse__emulated_put_mma,                                                                         \
    };                                                                                                                 \
    const lfuse__solver lfuse__##name_##_wgmma = {                                                                     \
        LFUSE__PIPELINE(&lfuse__emulated_source, &wgmma_traits), LFUSE__EMULATED_SOLVER(emulation_),                   \
        .name = #name_ "_wgmma",                                                                                       \
    };                                                                                                                 \
    const lfuse__solver lfuse__##name_##_mma = {                                                                       \
        LFUSE__EMULATED_SOLVER(emulation_), .name = #name_ "_mma", .tile = &mma_traits,                                \
        .runs_on = lfuse__emulated_mma_runs_on, .pays = lfuse__emulated_mma_pays,                                      \
        .declines = lfuse__emulated_mma_declines, .candidate = lfuse__tile_candidate,                                  \
        .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .emit = lfuse__tiles_emit, .pack = lfuse__emulated_pack,   \
    }

#endif
