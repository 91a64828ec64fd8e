/* SPDX-License-Identifier: Apache-2.0 */
/* Products one of whose sides is few, for skinny.c and skinny_prologue.c alone. */
#ifndef COMMON_MATMUL_SKINNY_H
#define COMMON_MATMUL_SKINNY_H

#include "common/matmul/tile.h"

typedef struct lfuse__thin {
    const lfuse__tiles *t;
    lfuse__strbuf *out;
    int wide, other;      /* operands */
    const char *length;   /* of the wide side: m or n */
    const char *count;    /* of the other */
    bool wide_turned, other_turned; /* memory runs along k */
    int wide_made, other_made; /* 1 + the register that is an element of it; 0: it lies in memory */
    int few, v;
} lfuse__thin;

/*
 * What lies nowhere. made_[q * V + e]: element e of vector q of the wide operand, at l along k and `at` along the other
 * axis; beyond the end of k 0. f as of an operand in memory.
 */
void lfuse__thin_put_wide(const lfuse__thin *s, int indent);
void lfuse__thin_put_other(const lfuse__thin *s, int indent);

#endif
