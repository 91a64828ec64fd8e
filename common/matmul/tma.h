/* SPDX-License-Identifier: Apache-2.0 */
/* What solvers share whose kernels are text/gemm_pipeline.k, with operands by tensor maps (text/gemm_tma.k). */
#ifndef COMMON_MATMUL_TMA_H
#define COMMON_MATMUL_TMA_H

#include "common/matmul/mma.h"

/* Parts of text/gemm_tma.k: `which` of its places. */
enum { LFUSE__TMA_EARLY, LFUSE__TMA_SOURCES, LFUSE__TMA_COPY, LFUSE__TMA_COPY_A, LFUSE__TMA_COPY_B,
       LFUSE__TMA_MULTIPLY, LFUSE__TMA_MULTIPLY_REST, LFUSE__TMA_NOTHING };
void lfuse__tma_put_part(const void *t, int part, int indent);

/* A function of the traits, for operands as they lie in memory: of 16 bits, or of f32, which copies round to tf32. */
void lfuse__tma_put_kernel(const lfuse__tiles *t, const char *name);

/* Functions of a solver (solver.h). `declines` leaves the operands' types to the caller. */
const char *lfuse__tma_declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc);
bool lfuse__tma_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most);
bool lfuse__tma_cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c);
unsigned lfuse__tma_local_bytes(const lfuse__kernel_class *c);
lfuse_status lfuse__tma_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                             lfuse__packed *packed);

#endif
