/* SPDX-License-Identifier: Apache-2.0 */
/* Reproducible test data: the same seed gives the same elements on every machine. Contiguous arrays of any type. */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include "libfuse/types.h"

/* A stream of random numbers (xoshiro256**). */
typedef struct lfuse__random { uint64_t state[4]; } lfuse__random;
void lfuse__random_seed(lfuse__random *r, uint64_t seed);
uint64_t lfuse__random_bits(lfuse__random *r);
/* In 0 ... count-1; count > 0. */
uint64_t lfuse__random_below(lfuse__random *r, uint64_t count);
/* Fills `order` with 0 ... count-1 in an order of which all are equally likely. */
void lfuse__random_order(lfuse__random *r, int count, int *order);

/* One element: stored with one rounding (integers saturate, bool is 0 or 1), and read; i64 in full by the second. */
void lfuse__data_put(lfuse_type type, void *data, int64_t i, double x);
double lfuse__data_get(lfuse_type type, const void *data, int64_t i);
long double lfuse__data_exact(lfuse_type type, const void *data, int64_t i);
/* Deviation of normal data that suits the type: 1, or so many that integers are more than 0 and 1. */
double lfuse__data_scale(lfuse_type type);

/* Uniform in [low, high]; bool: 0 or 1. */
void lfuse__data_uniform(lfuse_type type, void *data, int64_t count, double low, double high, uint64_t seed);
/* Normal, mean 0; cut off at 8 deviations. bool: 0 or 1. */
void lfuse__data_normal(lfuse_type type, void *data, int64_t count, double deviation, uint64_t seed);
/* Integers in -limit ... limit: products and sums stay exact while they are small. bool: 0 or 1. */
void lfuse__data_integers(lfuse_type type, void *data, int64_t count, int limit, uint64_t seed);
/*
 * Normal data with, in every third element or so, one of: NaN, infinities, zeros of both signs, subnormals, the
 * smallest and largest numbers of the type and their neighbours, 1, -1, halves. Integers: the extremes and small ones.
 */
void lfuse__data_nasty(lfuse_type type, void *data, int64_t count, uint64_t seed);
/* Every byte 0xff: NaN in floating types, -1 in i32. What a result must overwrite. */
void lfuse__data_poison(lfuse_type type, void *data, int64_t count);

#endif
