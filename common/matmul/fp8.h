/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What solvers share that multiply e4m3 and e5m2. By wgmma it is the part of their kernels that multiplies,
 * text/gemm_fp8.k. These instructions take lines along k alone: A as it is and B transposed. tma.c is for such
 * operands, and where there are no tensor maps wgmma.c; packed.c is for all others. mma_fp8.c multiplies by mma.sync,
 * however operands lie.
 */
#ifndef COMMON_MATMUL_FP8_H
#define COMMON_MATMUL_FP8_H

#include "common/matmul/mma.h"

enum { LFUSE__FP8_CHUNK = 16 /* elements in 16 bytes: of tensor maps, lines are whole numbers of them */ };

/* Puts a part of text/gemm_fp8.k: LFUSE__PART_MULTIPLIERS, _MULTIPLY or _PROMOTE. */
void lfuse__fp8_put_part(const void *t, int part, int indent);

/* Returns the types of A and B as the words of instructions have them. */
lfuse__expr lfuse__fp8_types(const lfuse__tiles *t);
/* Returns NULL where both operands have 8 bits, else why these alone are multiplied. */
const char *lfuse__fp8_multiplies(const lfuse__matmul_desc *desc);

#endif
