/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Precisions of products: a row for each, which says what the parts of the library that only pass them on have to know.
 * How operands are split, where they are, is in common/matmul/emulated.h. Programs, messages and the benchmark read the
 * words of precisions here; another one is a number in libfuse/types.h and a row in precision.def.
 */
#ifndef COMMON_BASE_PRECISION_H
#define COMMON_BASE_PRECISION_H

#include <stdbool.h>

#include "libfuse/types.h"

enum {
#define LFUSE__PRECISION(name, ...) LFUSE__PRECISION_ROW_##name,
#include "common/base/precision.def"
    LFUSE__PRECISIONS
};

typedef struct lfuse__precision {
    const char *word;    /* what the environment, plans' texts and problems of the benchmark call it */
    const char *product; /* what graphs' texts call a product that has it */
    bool of_f32;         /* it is of f32 operands alone, and the product's node says it; F16 and BF16 are casts */
    /*
     * 0: operands are not split. Else they may be, and a plan can ask for the precision for all of its products: the
     * rate of such products on Hopper, where that of F32X3 is 1.
     */
    double rate;
} lfuse__precision;

extern const lfuse__precision lfuse__precisions[LFUSE__PRECISIONS]; /* by lfuse_precision */

/* Whether the number is a precision. */
static inline bool lfuse__is_precision(int precision)
{
    return precision >= LFUSE_PRECISION_FULL && precision < LFUSE__PRECISIONS;
}

static inline bool lfuse__is_of_f32(lfuse_precision precision)
{
    return lfuse__precisions[precision].of_f32;
}

/* Whether f32 operands of products with this precision may be split. */
static inline bool lfuse__may_split(lfuse_precision precision)
{
    return lfuse__precisions[precision].rate > 0;
}

/* Whether the number is a precision that a plan can have: FULL, or one that splits. */
static inline bool lfuse__is_of_plans(int precision)
{
    return precision == LFUSE_PRECISION_FULL ||
           (lfuse__is_precision(precision) && lfuse__may_split((lfuse_precision)precision));
}

/* Sets *precision to the one that is called `word`; returns false where there is none, and leaves it. */
bool lfuse__precision_find(const char *word, lfuse_precision *precision);

/* The words of the precisions that split, each behind `before`: "|f32x3|bf16x6". */
typedef struct lfuse__precision_words {
    char text[64];
} lfuse__precision_words;
lfuse__precision_words lfuse__precisions_that_split(const char *before);

#endif
