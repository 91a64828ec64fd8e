/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The problems of suite gemm: gemm:<m>x<n>x<k>, with suffixes in any order: the type; whether the operands are stored
 * transposed (nt: the right one, tn: the left one, tt: both); b<count>: so many products of one shape in one batch;
 * to=TYPE: that of the result and the bias, which of e4m3 and e5m2 is f32 otherwise; tf32: f32 operands rounded to it,
 * where the device has that; a precision, such as f32x3: f32 operands that may be split so; frozen: the right
 * operand is (lfuse_frozen), not of a batch; gelu, gelu_tanh: that is the activation of the epilogue, and not relu.
 */
#ifndef BENCH_GEMM_PROBLEM_H
#define BENCH_GEMM_PROBLEM_H

#include "bench/fixture.h"

typedef struct gemm_problem {
    int64_t m, n, k, batch; /* batch 0: two matrices, no batch axis */
    bool turn_a, turn_b;    /* stored [k, m], [n, k] */
    lfuse_type type, to; /* of the operands, of the result */
    lfuse_precision precision; /* FULL or of f32 */
    bool frozen;
    bench_activation activation; /* of the epilogue */
} gemm_problem;

lfuse_status gemm_problem_parse(const char *text, gemm_problem *p);
double gemm_problem_work(const gemm_problem *p); /* multiplications */
int64_t gemm_problem_count(const gemm_problem *p); /* of products, 1 at least */
/* Whether a CPU is not asked for so much: the problem is not the user's own choice. */
bool gemm_problem_is_large(const bench_device *d, const gemm_problem *p, double most);

/* Places in the fixture: a, b, with an epilogue the bias, and the result last. */
enum { GEMM_A = 0, GEMM_B, GEMM_BIAS };
/* Declares tensors and graph: the product, or the activation of product and bias. */
lfuse_status gemm_problem_build(fixture *f, const gemm_problem *p, bool epilogue);

/* gemm_vendor.c: a variant of bare calls of the vendor's library; none where there is no such library. */
lfuse_status gemm_add_vendor(fixture *f, const gemm_problem *p, bench_case *c, const char *name);
/* gemm_host.c: the variant openblas; none where there is no such library, on GPUs and for types but f32 and f64. */
lfuse_status gemm_add_openblas(fixture *f, const gemm_problem *p, bench_case *c);

#endif
