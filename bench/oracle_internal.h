/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the oracle. A number with its error is a pair (v, e): what a correct device computes lies within e of v;
 * e = INFINITY: it may be anything, NaN included; e = 0: it is v, NaN and infinities included. A truth value with e = 1
 * may be either.
 *
 * Values of type f16 and bf16 are kept as they are before they are rounded to the type; see lfuse__oracle_read.
 */
#ifndef BENCH_ORACLE_INTERNAL_H
#define BENCH_ORACLE_INTERNAL_H

#include "bench/oracle.h"
#include "common/graph/graph.h"

typedef struct lfuse__pair {
    long double v;
    double e;
} lfuse__pair;

/* oracle_round.c */
/* Relative error of one rounding to the type: half a unit. */
double lfuse__oracle_unit(lfuse_type type);
/* The unit in the last place of a number of this size; `guard` more binades count as subnormal. */
double lfuse__oracle_ulp(lfuse_type type, double size, int guard);
/* The nearest number of the type: overflow gives infinity. Floating types. */
long double lfuse__oracle_round(lfuse_type type, long double v);
/* What arithmetic on the type is done in. */
lfuse_type lfuse__oracle_register(lfuse_type type);
/* What is certainly rounded to the type (stored or cast). */
lfuse__pair lfuse__oracle_store(lfuse_type type, lfuse__pair x);
/* What may have been rounded to the type or not: how a value of a graph is read by the next operator. */
lfuse__pair lfuse__oracle_read(lfuse_type type, lfuse__pair x);
/* A result in a register: too large a number is infinite. */
lfuse__pair lfuse__oracle_overflow(lfuse_type type, lfuse__pair x);

/* oracle_point.c: operands of one type (of the choices, for a selection); `exact`: see the options. */
lfuse__pair lfuse__oracle_point(lfuse__op op, lfuse_type type, bool exact, const lfuse__pair *operands);
lfuse__pair lfuse__oracle_cast(lfuse_type from, lfuse_type to, lfuse__pair x);

/* oracle_sum.c: the canonical sum of `count` numbers of the type. ERR_MEMORY. */
lfuse_status lfuse__oracle_sum(lfuse_type type, bool exact, const lfuse__pair *x, int64_t count, lfuse__pair *sum);

/* oracle_matmul.c: row-major a [m, k], b [k, n], c [m, n]. ERR_MEMORY. */
lfuse_status lfuse__oracle_matmul(lfuse_type type, int64_t m, int64_t n, int64_t k, const lfuse__pair *a,
                                  const lfuse__pair *b, lfuse__pair *c);
/* Factor of |A||B| in the bound of a product of inner extent k. */
double lfuse__oracle_matmul_factor(lfuse_type type, int64_t k);

#endif
