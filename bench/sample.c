/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sample.h"

#include "bench/data.h"

int64_t bench_sample_count(int64_t rows, double work)
{
    if (rows <= BENCH_LEAST_ROWS || (double)rows * work <= BENCH_VERIFIED_WORK) return rows;
    const double paid = BENCH_VERIFIED_WORK / work;
    return paid > BENCH_LEAST_ROWS ? (int64_t)paid : BENCH_LEAST_ROWS;
}

/* i/n of x, without a product that could overflow. */
static int64_t part(int64_t x, int64_t i, int64_t n)
{
    return x / n * i + x % n * i / n;
}

void bench_sample_rows(int64_t rows, int64_t count, uint64_t seed, int64_t *chosen)
{
    const int64_t between = count - 2;
    lfuse__random r;
    lfuse__random_seed(&r, seed);
    chosen[0] = 0;
    for (int64_t i = 0; i < between; i++) {
        const int64_t low = part(rows - 2, i, between), high = part(rows - 2, i + 1, between);
        chosen[i + 1] = 1 + low + (int64_t)lfuse__random_below(&r, (uint64_t)(high - low));
    }
    if (count > 1) chosen[count - 1] = rows - 1;
}
