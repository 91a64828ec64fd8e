/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm:<m>x<n>x<k>:g<count>[:TYPE][:rows], of the suite gemm: so many products, each of sizes of its own, which are
 * drawn (the same in every run) from a quarter of m, n and k to all of them; with :rows of m alone, as experts of one
 * layer have them.
 *   grouped  the lists' product, one launch
 *   loop     an instance for each product, of plans by default
 */
#ifndef BENCH_GEMM_GROUP_H
#define BENCH_GEMM_GROUP_H

#include "bench/bench.h"

/* Whether the problem is of a group. */
bool gemm_group_is(const char *text);
/* As a suite's `prepare`. */
lfuse_status gemm_group_prepare(bench_device *d, const char *text, bench_case *c);

#endif
