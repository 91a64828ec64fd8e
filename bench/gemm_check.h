/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large products: where the right operand has more elements than the oracle reads in a second, or there are more
 * multiplications than are all verified (bench/sample.h), the rows of the sample are verified in BENCH_CHECKED_COLUMNS
 * columns, sampled alike, and all rows of a bare product are held to a random vector. Of a batch the rows are those of
 * up to BENCH_CHECKED_MEMBERS of its products, sampled alike too; the random vector is multiplied by all of them.
 */
#ifndef BENCH_GEMM_CHECK_H
#define BENCH_GEMM_CHECK_H

#include "bench/fixture.h"

enum { BENCH_CHECKED_COLUMNS = 256, BENCH_CHECKED_MEMBERS = 16 };

/*
 * `count` products c = a b, or with an epilogue c = activation(a b + bias), of a [m, k], b [k, n] of `type`, c and the
 * same bias [n] of `result`; by the fixture's `levels` of Strassen's algorithm.
 */
typedef struct bench_product {
    int64_t count, m, n, k;
    lfuse_type type, result;
    lfuse_precision precision;
    bool epilogue;
    bench_activation activation;
} bench_product;
/* The epilogue behind a product: an activation of its sum with the bias. */
lfuse_value bench_product_end(const bench_product *p, lfuse_value c, lfuse_value bias);
/* The product of two values in its types and precision. */
lfuse_value bench_product_of(const bench_product *p, lfuse_value a, lfuse_value b);

bool bench_product_is_large(const bench_product *p);
/* The verdict on what lies in set 0 of the fixture's tensors a, b, (bias,) c; its `verify`. */
lfuse_status bench_product_verify(fixture *f, bench_variant *v);
/* Runs the variant once more and holds all of its bare product to a random vector. */
lfuse_status bench_product_check_whole(fixture *f, bench_variant *v);

#endif
