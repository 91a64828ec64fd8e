/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of f32 from three products of f16, in two launches: text/gemm_split_f16.k splits both operands into words of
 * f16 in the workspace, and a kernel of the solver multiplies words. The words of an operand that is frozen are kept:
 * a launch of its own splits it before the first run, and runs split the other one alone. f32x3.c has what does not
 * depend on the instructions that multiply words.
 */
#ifndef COMMON_MATMUL_F32X3_H
#define COMMON_MATMUL_F32X3_H

#include "common/matmul/mma.h"

enum {
    LFUSE__F32X3_SPLIT, LFUSE__F32X3_PRODUCT, /* the phases */
    LFUSE__F32X3_PHASES,
    LFUSE__F32X3_KEEP = LFUSE__F32X3_PHASES,  /* the phase that prepares what is kept */
    LFUSE__F32X3_FACTOR = 4,                  /* bytes of the factor of a row of A, or a column of B */
    LFUSE__F32X3_LEAST_K = 256, /* in shorter sums the errors of words are larger than those of sums in f32 */
    LFUSE__F32X3_BYTES = 8      /* that splitting moves of an element: it reads f32, and stores two words of f16 */
};

/*
 * The texts.
 *   - tiles returns an expression of 64 bits: the tiles of A along m, or of B along n, of all matrices of a batch.
 *     tiles_down and tiles_across are in scope.
 *   - factors returns an expression: where the factors of A or B begin, of all tiles, behind which their words lie.
 *     tiles_down and k_tiles are in scope.
 *   - put_split puts the kernel that splits operands, in the phases SPLIT and KEEP.
 *   - put_unscaled, a place of a text, puts gemm_f32x3_unscaled.k: sums[] without the factors of their rows and
 *     columns. In scope are `factors_a` and `factors_b`, of a batch those of its matrix.
 */
lfuse__expr lfuse__f32x3_tiles(const lfuse__tiles *t, int operand);
lfuse__expr lfuse__f32x3_factors(const lfuse__tiles *t, int operand);
void lfuse__f32x3_put_split(const lfuse__tiles *t, const char *name);
void lfuse__f32x3_put_unscaled(const void *t, int which, int indent);

/*
 * Functions of a solver (solver.h).
 *   - declines leaves it to the caller whether the device has the instructions.
 *   - pack sets the launches that split; of the product it sets what lfuse__tiles_pack does.
 *   - cost is that of the product, whose tiles the solver has, and of the launch in front of it.
 */
const char *lfuse__f32x3_declines(const lfuse__matmul_desc *desc);
bool lfuse__f32x3_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most);
bool lfuse__f32x3_suits(const lfuse__product_class *p, const int64_t *extents);
bool lfuse__f32x3_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents,
                       lfuse__cut *c);
uint64_t lfuse__f32x3_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
uint64_t lfuse__f32x3_kept(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
lfuse_status lfuse__f32x3_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                               lfuse__packed *packed);

#endif
