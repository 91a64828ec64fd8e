/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a result is verified, one rule for all suites. A result is of rows that can be judged by themselves, and
 * a row costs the oracle so many multiplications of products; an element of any other function counts as many as
 * BENCH_ELEMENT_WORK, which is what it takes, and a multiplication of f64, which is judged in long double, as many as
 * BENCH_WIDE_WORK.
 *
 *   - Up to BENCH_VERIFIED_WORK in all, every row is verified: a second or two of one core.
 *   - Above that as many whole rows as this pays for, but BENCH_LEAST_ROWS at least: the first, the last, and one from
 *     each of as many equal parts between them, chosen by a seeded generator and so the same in every run.
 */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include <stdint.h>

#define BENCH_VERIFIED_WORK 2147483648.0
#define BENCH_ELEMENT_WORK 128.0
#define BENCH_WIDE_WORK 4.0
enum { BENCH_LEAST_ROWS = 64 };

/* How many of `rows` rows, each of `work` multiplications, are verified. */
int64_t bench_sample_count(int64_t rows, double work);
/* `count` of `rows` rows, ascending; count is 1 to rows, and 2 at least where there are 2. */
void bench_sample_rows(int64_t rows, int64_t count, uint64_t seed, int64_t *chosen);

#endif
