/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the rows of reductions.def. */
#ifndef TESTS_SUPPORT_REDUCTIONS_H
#define TESTS_SUPPORT_REDUCTIONS_H

#include <math.h>

#include "common/graph/reduce.h"
#include "libfuse/reduce.h"

/* For rows with a number. */
static const double reduction_numbers[] = {0, 0.5, 1, 2, 3, -1, (double)INFINITY, -(double)INFINITY};
enum { REDUCTION_NUMBERS = sizeof reduction_numbers / sizeof *reduction_numbers };

/* `number` is that of a row with a number, any other row ignores it. */
typedef lfuse_value reducer(lfuse_value a, int count, const int *axes, double number, int keepdims);

#define LFUSE__REDUCTION(name, ...)                                                                                    \
    static lfuse_value reduce_by_##name(lfuse_value a, int count, const int *axes, double number, int keepdims)        \
    {                                                                                                                  \
        (void)number;                                                                                                  \
        return lfuse_##name(a, count, axes, keepdims);                                                                 \
    }
#define LFUSE__REDUCTION_BY(name, ...)                                                                                 \
    static lfuse_value reduce_by_##name(lfuse_value a, int count, const int *axes, double number, int keepdims)        \
    {                                                                                                                  \
        return lfuse_##name(a, count, axes, number, keepdims);                                                         \
    }
#include "common/graph/reductions.def"

static const struct reduction_function {
    const char *name;
    reducer *make;
    int numbers; /* how many of reduction_numbers it is tried with */
} reduction_functions[LFUSE__REDUCTION_COUNT] = {
#define LFUSE__REDUCTION(name, ...) [LFUSE__REDUCTION_##name] = {#name, reduce_by_##name, 1},
#define LFUSE__REDUCTION_BY(name, ...)                                                                                 \
    [LFUSE__REDUCTION_##name] = {#name, reduce_by_##name, REDUCTION_NUMBERS},
#include "common/graph/reductions.def"
};

#endif
