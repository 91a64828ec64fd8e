/* SPDX-License-Identifier: Apache-2.0 */
/* Products with few rows or few columns, for skinny.c and skinny_prologue.c alone. */
#ifndef COMMON_MATMUL_SKINNY_H
#define COMMON_MATMUL_SKINNY_H

#include "common/matmul/tile.h"

typedef struct lfuse__skinny_text {
    const lfuse__tiles *t;
    lfuse__strbuf *out;
    int wide, other;      /* operands */
    const char *length;   /* of the wide side: m or n */
    const char *count;    /* of the other */
    bool wide_k_contiguous, other_k_contiguous; /* memory runs along k */
    int wide_prologue, other_prologue; /* 1 + the register that is an element of it; 0: it lies in memory */
    int few, v;           /* rows or columns of the short side; elements of a vector */
} lfuse__skinny_text;

/*
 * Put, for a place of a kernel's text, operands that a prologue computes. put_wide sets computed_[q * V + e] to element
 * e of vector q of the wide operand, at l along k and `at` along the other axis, and to 0 beyond the end of k.
 * put_other sets f, the elements of the short side, as for an operand in memory.
 */
void lfuse__skinny_put_wide(const void *skinny_text, int which, int indent);
void lfuse__skinny_put_other(const void *skinny_text, int which, int indent);

#endif
