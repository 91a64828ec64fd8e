/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands that a launch in front of the product puts into k-tiles, in another form than they have in memory: packed
 * (packed.c), or split into words (emulated.h); those that come by a tensor map stay where they are. What is made of a
 * frozen operand may be kept: then a launch of its own makes it before the first run. The rest is in the workspace, A
 * in front of B, behind what column sums have there. An operand that all products of a batch share, whose matrices lie
 * 0 bytes apart, is prepared once, and all products read that.
 */
#ifndef COMMON_MATMUL_FRONT_H
#define COMMON_MATMUL_FRONT_H

#include "common/matmul/mma.h"

enum {
    LFUSE__FRONT_OPERANDS, LFUSE__FRONT_PRODUCT, /* the phases of a run */
    LFUSE__FRONT_PHASES,
    LFUSE__FRONT_KEEP = LFUSE__FRONT_PHASES      /* the phase that prepares what is kept */
};

/* Returns whether the launch of the class's phase prepares the operand. */
bool lfuse__front_prepares(const lfuse__product_class *p, int operand);
/*
 * Return expressions of 64 bits.
 *   - front_matrices: how many matrices of A or B are prepared.
 *   - front_tiles: the tiles of A along m, or of B along n, of all of these. tiles_down, or tiles_across, is in scope.
 * Which of these matrices a product multiplies is what lfuse__tma_matrix says.
 */
lfuse__expr lfuse__front_matrices(const lfuse__tiles *t, int operand);
lfuse__expr lfuse__front_tiles(const lfuse__tiles *t, int operand);
/*
 * Returns an expression: where that begins which is made of A, or of B. `of_a`, an expression, are the bytes of what is
 * made of A. tiles_down and tiles_across are in scope.
 */
lfuse__expr lfuse__front_at(const lfuse__tiles *t, int operand, const char *of_a);

/* Functions of a solver (solver.h). front_first: what multiplies, where runs prepare no operand. */
int lfuse__front_first(const lfuse__kernel_class *c);
uint64_t lfuse__front_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
uint64_t lfuse__front_kept(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);

/*
 * Sets the launches in front, whose groups have so many work-items and prepare so many lines of A, of B; of the product
 * it sets what lfuse__tiles_pack does. `by_k_tiles`: each group prepares lines of one k-tile, else of all of k.
 */
lfuse_status lfuse__front_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                               int items, const int lines[2], bool by_k_tiles, lfuse__packed *packed);
/*
 * Adds to c->time the launch in front, which moves so many bytes of each element at the rate of memory. Where all that
 * is prepared is kept, runs have no such launch.
 */
void lfuse__front_add_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, int bytes,
                           lfuse__cut *c);

#endif
