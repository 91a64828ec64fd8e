/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of sources of pipelines (mma.h) whose operands come by tensor maps: text/gemm_tma.k. */
#ifndef COMMON_MATMUL_TMA_H
#define COMMON_MATMUL_TMA_H

#include "common/matmul/mma.h"

/* Functions of a source (tile.h). */
void lfuse__tma_put_part(const void *t, int part, int indent);
lfuse_status lfuse__tma_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                             lfuse__packed *packed);

/* A function of a solver (solver.h): k is whole. */
bool lfuse__tma_serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most);

#endif
