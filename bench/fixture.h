/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A problem on a device: a graph, host data for its inputs, and device tensors for every buffer set. Variants are plans
 * of that graph with other options; each is verified against the oracle before it is timed.
 */
#ifndef BENCH_FIXTURE_H
#define BENCH_FIXTURE_H

#include "bench/bench.h"

enum { FIXTURE_MAX_IO = 40, FIXTURE_MAX_SETS = 64 };

typedef enum fixture_role { FIXTURE_INPUT, FIXTURE_FROZEN, FIXTURE_OUTPUT, FIXTURE_NUMBER } fixture_role;

typedef struct fixture_io {
    char name[16];
    fixture_role role;
    lfuse_type type;
    int rank;
    int64_t shape[LFUSE_MAX_RANK], elements;
    void *host;    /* contents of an input; NULL for others */
    double number; /* FIXTURE_NUMBER */
    lfuse_tensor *tensors[FIXTURE_MAX_SETS];
    /* What the oracle said of an output, kept for the next variant where it is small (verify.c). */
    long double *truth;
    double *bound;
} fixture_io;

typedef struct fixture {
    bench_device *d;
    lfuse_graph *graph; /* the fixture's */
    int nio, nsets;
    bool judged; /* truth and bound of every output are there */
    fixture_io io[FIXTURE_MAX_IO];
} fixture;

/* An empty fixture with an empty graph. */
lfuse_status fixture_create(bench_device *d, fixture **f);
void fixture_destroy(void *f);
/*
 * Declares a tensor of the problem: makes its host data (uniform in [-scale, scale], reproducible). Inputs and frozen
 * inputs are added to the graph and their value is returned in *value (may be NULL for outputs).
 */
lfuse_status fixture_tensor(fixture *f, const char *name, fixture_role role, lfuse_type type, int rank,
                            const int64_t *shape, double scale, lfuse_value *value);
lfuse_status fixture_number(fixture *f, const char *name, double number, lfuse_value *value);
/* Makes and fills the device tensors of all sets; called once, after the declarations. */
lfuse_status fixture_upload(fixture *f, int nsets);
/* Bytes of one set. */
double fixture_bytes(const fixture *f);

/* Adds the graph, planned with `options`, as a variant: made, verified, ready to be timed. */
lfuse_status fixture_variant(fixture *f, bench_case *c, const char *name, const lfuse_plan_options *options);

/* verify.c: the outputs of set 0 against the oracle. Fills max_err, tol and ok of the variant. */
lfuse_status fixture_verify(fixture *f, bench_variant *v);

#endif
