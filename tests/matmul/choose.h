/* SPDX-License-Identifier: Apache-2.0 */
/* Shorter ways to ask for a product of given sizes. */
#ifndef TESTS_MATMUL_CHOOSE_H
#define TESTS_MATMUL_CHOOSE_H

#include "common/matmul/problem.h"

/* The cheapest by the cost models; `vendor`: unless a vendor's product is taken for faster. */
static inline lfuse_status choose(const lfuse__facts *facts, const int64_t *extents, bool vendor,
                                  lfuse__kernel_class *c)
{
    return lfuse__matmul_choose(facts, &(lfuse__matmul_problem){.extents = extents, .vendor = vendor}, c);
}

/* A candidate by its description. */
static inline lfuse_status choose_named(const lfuse__facts *facts, const int64_t *extents,
                                        const lfuse__matmul_candidate *candidate, lfuse__kernel_class *c)
{
    return lfuse__matmul_choose(facts, &(lfuse__matmul_problem){.extents = extents, .candidate = candidate}, c);
}

#endif
