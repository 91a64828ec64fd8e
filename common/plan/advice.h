/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the planner asks about matrix products: who computes them on a device, and whether Strassen's algorithm pays.
 * The planner knows no solver and no cost: lfuse__products_advice of common/matmul/ answers, which lfuse__plan_make is
 * given.
 */
#ifndef COMMON_PLAN_ADVICE_H
#define COMMON_PLAN_ADVICE_H

#include "common/base/facts.h"
#include "libfuse/types.h"

/* `matrices` products, each of m x k by k x n. A bound that is not known is INT64_MAX. */
typedef struct lfuse__matmul_sizes {
    int64_t m, n, k, matrices;
} lfuse__matmul_sizes;

/* EITHER: it depends on the sizes of a run, and the library's own kernels decline where the vendor is faster. */
typedef enum lfuse__computes { LFUSE__COMPUTES_VENDOR, LFUSE__COMPUTES_NATIVE, LFUSE__COMPUTES_EITHER } lfuse__computes;

typedef struct lfuse__strassen_problem {
    lfuse_type type, result; /* of the operands; of what is stored. Small products are stored as they are added up */
    int64_t m, n, k;
    bool variable_left, variable_right; /* factors are made at each run */
} lfuse__strassen_problem;

typedef struct lfuse__matmul_advice {
    /* Whether the device is a GPU on which the library's own kernels multiply matrices. */
    bool (*has_tiles)(const lfuse__facts *facts);
    /* Whether a vendor's library multiplies matrices there too, and either may be the faster one. */
    bool (*compete)(const lfuse__facts *facts);
    /* Who computes products of operands of this type with sizes within bounds, where nobody says it. */
    lfuse__computes (*provider)(const lfuse__facts *facts, lfuse_type type, const lfuse__matmul_sizes *low,
                                const lfuse__matmul_sizes *high);
    /*
     * How many levels of Strassen's algorithm are worth it, at most 2; 0 where less than 2 % is won. *gain: the time
     * without by the time with so many; where 0 levels are returned, the best that any level would give; 0 where the
     * device's rates are not known.
     */
    int (*strassen_levels)(const lfuse__facts *facts, const lfuse__strassen_problem *p, double *gain);
} lfuse__matmul_advice;

#endif
