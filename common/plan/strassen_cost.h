/* SPDX-License-Identifier: Apache-2.0 */
/* What products by Strassen's algorithm cost on a device, as far as its facts tell. */
#ifndef COMMON_PLAN_STRASSEN_COST_H
#define COMMON_PLAN_STRASSEN_COST_H

#include "common/base/facts.h"
#include "libfuse/types.h"

typedef struct lfuse__strassen_problem {
    lfuse_type type, result; /* of the operands; of what is stored. Small products are stored as they are added up */
    int64_t m, n, k;
    bool variable_left, variable_right; /* factors are made at each run */
} lfuse__strassen_problem;

/*
 * How many levels, up to 2, are worth it: 0 where less than 2 % is won. *gain: the time without by the time with so
 * many, of 0 levels the best that there would be; 0 where the device's rates are not known.
 */
int lfuse__strassen_levels(const lfuse__facts *facts, const lfuse__strassen_problem *p, double *gain);
/* Seconds, of one product by so many levels with what lies between it and the next. */
double lfuse__strassen_time(const lfuse__facts *facts, const lfuse__strassen_problem *p, int levels);

#endif
