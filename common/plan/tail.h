/* SPDX-License-Identifier: Apache-2.0 */
/* Tails of vendors' products, for native.c, product.c and tail.c alone. */
#ifndef COMMON_PLAN_TAIL_H
#define COMMON_PLAN_TAIL_H

#include "common/plan/draft.h"

typedef struct lfuse__tail {
    int32_t alpha, beta; /* number nodes, -1 */
    bool adds;           /* a matrix is added, `beta` times where that is set */
    lfuse__view inputs[LFUSE__EPILOGUE_INPUTS]; /* how the product walks them; base -1: it takes no such, or the
                                                   addend is what the tail updates */
    lfuse__epilogue epilogue;
    int32_t end;         /* the last node */
    int nodes;
} lfuse__tail;

/* Whether the whole region is a tail of the product. */
bool lfuse__tail_match(const lfuse__draft *d, int32_t matmul, int32_t region, lfuse__tail *t);

#endif
