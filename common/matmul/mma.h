/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the solvers on tensor cores share: how k-tiles come into local memory, and which accumulators a lane has. A warp
 * has those of item_rows * 8 rows and item_columns * 4 columns, in fragments of 16 x 8: of mma.sync one for each
 * instruction, of wgmma side by side.
 */
#ifndef COMMON_MATMUL_MMA_H
#define COMMON_MATMUL_MMA_H

#include "common/matmul/tile.h"

enum { LFUSE__MMA_CHUNK = 8 /* elements of 16 bytes */, LFUSE__MMA_STEP = 16 /* of a fragment, along k too */ };

/* Parts of text/gemm_mma_operand.k; a place of a text has the number of the operand times PARTS and the part's. */
enum { LFUSE__MMA_ADDRESSES, LFUSE__MMA_COPY, LFUSE__MMA_FRAGMENTS, LFUSE__MMA_COPY_SLOWLY, LFUSE__MMA_PARTS };

/*
 * Puts one of these parts. `stages`: of the pipeline. `blocks`: lines of more than 128 bytes are cut into blocks of
 * that width, which lie behind each other, as wgmma wants them.
 */
void lfuse__mma_put_operand(const lfuse__tiles *t, int indent, int place, int stages, bool blocks);

/* Puts text/gemm_mma_vectors.k. */
void lfuse__mma_put_vectors(const void *t, int which, int indent);

/* Return the rows and columns of a warp's accumulators. */
int lfuse__mma_warp_rows(const lfuse__product_class *p);
int lfuse__mma_warp_columns(const lfuse__product_class *p);

/* Functions of the traits and of the solver (tile.h, solver.h). */
void lfuse__mma_put_corner(const lfuse__tiles *t, int indent, const char *place);
void lfuse__mma_put_place(const lfuse__tiles *t, int indent, const char *number);
const char *lfuse__mma_declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc);
bool lfuse__mma_suits(const lfuse__product_class *p, const int64_t *extents);

#endif
