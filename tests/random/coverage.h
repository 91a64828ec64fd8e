/* SPDX-License-Identifier: Apache-2.0 */
/* What random graphs have made use of: operators, passes, forms of row kernels. */
#ifndef TESTS_RANDOM_COVERAGE_H
#define TESTS_RANDOM_COVERAGE_H

#include "common/graph/graph.h"
#include "common/kernels/kernel.h"
#include "libfuse.h"

typedef struct coverage {
    int64_t ops[LFUSE__OP_COUNT];
    int64_t kinds[32], member_products;
    int64_t reductions[LFUSE__REDUCE_COUNT];
    int64_t passes[8]; /* graphs whose plan is another one without the pass: by its bit */
    unsigned forms, forms_there_are; /* bit of each lfuse__row_form */
} coverage;

void coverage_clear(coverage *c);
/* A graph that is planned for the device. */
void coverage_plan(coverage *c, lfuse_device *device, const lfuse_graph *g);
void coverage_instance(coverage *c, const lfuse_instance *instance);
/*
 * Names of what did not occur, of operators and passes where `all` is set, and of the forms; NULL: nothing is missing.
 */
const char *coverage_missing(const coverage *c, bool all);

#endif
