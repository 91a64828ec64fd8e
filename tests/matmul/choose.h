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

/* The same device, as if groups had 48 KiB of local memory at most, and nobody made tensor maps. */
static inline lfuse__facts with_little_local(const lfuse__facts *facts)
{
    lfuse__facts little = *facts;

    if (little.dynamic_local_bytes > 48 * 1024) little.dynamic_local_bytes = 48 * 1024;
    little.tensor_map = NULL;
    return little;
}

/* A candidate by its description. */
static inline lfuse_status choose_named(const lfuse__facts *facts, const int64_t *extents,
                                        const lfuse__matmul_candidate *candidate, lfuse__kernel_class *c)
{
    return lfuse__matmul_choose(facts, &(lfuse__matmul_problem){.extents = extents, .candidate = candidate}, c);
}

#endif
