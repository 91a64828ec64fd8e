/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle: evaluates a graph on the host and carries, for every element, a bound on the error that a correct device
 * may make. Values are computed in double, in long double where the type is f64, and exactly for integers.
 *
 * What is correctly rounded (ulp column 0) over operands that are exact is itself exact: its bound is 0, so that chains
 * of + - * / sqrt fma min max, comparisons, selections, casts and canonical sums must agree in every element. A value
 * of type f16 or bf16 that one function makes and another or a cast reads is not rounded; any other inside a graph
 * may have been rounded or not: the bound admits both. An element that hangs on a
 * comparison which the errors leave open is covered for both outcomes, at worst with the bound INFINITY: anything goes.
 *
 * One element of one value takes 32 bytes while a graph is evaluated, and about 100 ns a function; large pointwise work
 * is done some rows at a time.
 *
 * One thread at a time uses a run; different runs are independent.
 */
#ifndef BENCH_ORACLE_H
#define BENCH_ORACLE_H

#include <stdbool.h>

#include "libfuse/graph.h"
#include "libfuse/types.h"

/* A member of a list of rank LFUSE_RANK_MATRIX: so many matrices, rows and columns, and the axes that it has. */
typedef struct lfuse__matrices {
    int64_t count, rows, columns, rank;
} lfuse__matrices;

/* What stands for one name of the graph: an input, a frozen input, a list, a scalar, or a size variable. */
typedef struct lfuse__oracle_input {
    const char *name;
    const void *data;             /* tensor: contiguous, row-major, of the graph's type */
    int64_t shape[LFUSE_MAX_RANK]; /* of the tensor; tells the size variables */
    const void *const *members;   /* list: `count` contiguous members of `elements[i]` elements */
    const int64_t *elements;
    int64_t count;
    const lfuse__matrices *matrices; /* list of rank MATRIX: [count], NULL: each member is one row */
    double number;                /* scalar, or value of a size variable that no shape tells */
    bool rows;                    /* tensor: its leading axis is the one that `rows` of the options selects from */
} lfuse__oracle_input;

/* Zero it, then set what differs. */
typedef struct lfuse__oracle_options {
    bool inexact; /* the device is not `exact`: correctly rounded operators may err by one ulp */
    /*
     * Products of rank 2 may be made by so many levels of Strassen's algorithm: 3^levels k^1.5 u max|A| max|B|, and of
     * f16 and bf16, whose factors are rounded to h, 8 sqrt(2 20^levels k) h max|A| max|B| more.
     */
    int levels;
    /*
     * Only these rows of the marked inputs, in this order: the results then have `nrows` rows. The leading axis of what
     * depends on a marked input must be that axis (ERR_UNSUPPORTED otherwise).
     */
    const int64_t *rows;
    int64_t nrows;
} lfuse__oracle_options;

/* One output, or the new contents of an updated input. */
typedef struct lfuse__oracle_result {
    const char *name; /* the graph's */
    lfuse_type type;
    bool list;
    int rank;         /* of a tensor */
    int64_t shape[LFUSE_MAX_RANK];
    int64_t count;    /* elements; of all members one after the other */
    int64_t members;  /* of a list; member i ends before element ends[i] */
    int64_t *ends;
    long double *value;
    double *bound;
} lfuse__oracle_result;

typedef struct lfuse__oracle_run {
    int nresults;
    lfuse__oracle_result *results; /* in the order of the graph's names */
    bool out_of_range;             /* some look-up or scattered row has an index that is, or may be, out of range */
} lfuse__oracle_run;

/*
 * Evaluates outputs and updates. `options` may be NULL. The graph may be canonical or not; it must outlive the run.
 * Errors: the graph's own; ERR_NAME, ERR_BINDING, ERR_SHAPE, ERR_BOUNDS, ERR_UNSUPPORTED, ERR_MEMORY.
 */
lfuse_status lfuse__oracle_run_graph(const lfuse_graph *g, const lfuse__oracle_input *inputs, int ninputs,
                                     const lfuse__oracle_options *options, lfuse__oracle_run *run);
void lfuse__oracle_free(lfuse__oracle_run *run);
/* NULL when the run has no result of that name. */
const lfuse__oracle_result *lfuse__oracle_find(const lfuse__oracle_run *run, const char *name);

typedef struct lfuse__oracle_report {
    int64_t count, bad;     /* elements compared, and those out of bound */
    int64_t open;           /* elements that could not be judged (bound INFINITY) */
    double max_error;       /* largest error of an element that could be judged */
    double max_bound;       /* largest finite bound */
    double max_ratio;       /* largest error / bound; an error where the bound is 0 counts as INFINITY */
    int64_t first_bad;      /* -1: none; and of that element: */
    double got, expected, bound;
    char text[160];         /* the same in words; "" when all is well */
} lfuse__oracle_report;

/* Compares elements as a device stored them. True when every one is within its bound. NaN equals NaN, -0 equals 0. */
bool lfuse__oracle_compare(lfuse_type type, int64_t count, const void *got, const long double *value,
                           const double *bound, lfuse__oracle_report *report);

/* A product of A and B, both of `type`; of Strassen's algorithm with so many levels, 0: a plain one. */
typedef struct lfuse__oracle_whole {
    int64_t m, n, k;
    lfuse_type type, result; /* of C */
    bool transpose_a, transpose_b, tf32;
    int levels;
} lfuse__oracle_whole;

/*
 * A whole product too large to be recomputed: C t against A (B t) for a random vector t of +1 and -1, row by row, in
 * double. C is [m, n], A [m, k] (stored [k, m] where transpose_a), B [k, n] (stored [n, k] where transpose_b),
 * contiguous. A row's error is a random walk over the errors of its elements, each within the bound of a product
 * (8 deviations are allowed: a correct product fails once in 10^13 rows). report->first_bad is a row.
 */
lfuse_status lfuse__oracle_product(const lfuse__oracle_whole *whole, const void *a, const void *b, const void *c,
                                   uint64_t seed, lfuse__oracle_report *report);

/*
 * Layers of relu(x w + b), w [width, width] and b [width] of `type`: f32, f16 or bf16, the weights in memory of the
 * caller's. levels: the products are Strassen's with so many, 0: plain ones.
 */
typedef struct lfuse__oracle_network {
    lfuse_type type;
    int layers, levels;
    int64_t width;
    const void *const *w, *const *b; /* [layers] */
} lfuse__oracle_network;

/*
 * What `rows` rows of x become, in double, and how far a correct device may be from it: 8 standard deviations of the
 * roundings, taken to be independent of each other. Those of a sum of k products of random signs, in any order, are of
 * partial sums that are as large as R, the root of the sum of the products' squares, so their deviation is at most
 * u sqrt(k + 2) R (and k u R / 8 in tensor cores, which cut off). Product, sum and result may each be rounded to the
 * type. A layer's error goes through the next layer's weights as their squares take its variance. With levels each
 * layer adds 3^levels k^1.5 u max|x| max|w|; of f16 and bf16 (2 h^2 / 3 + (u sqrt(k + 2) + k u / 8)^2) 20^levels k to
 * the variance, by the mean squares of a row of x and of a column of w that are largest.
 * Uses all cores. ERR_TYPE, ERR_MEMORY.
 */
lfuse_status lfuse__oracle_network_rows(const lfuse__oracle_network *net, int64_t rows, const void *x,
                                        long double *value, double *bound);

#endif
