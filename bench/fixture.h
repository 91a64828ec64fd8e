/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A problem on a device: a graph, host data for its inputs, and device tensors for every buffer set. Variants are plans
 * of that graph with other options; each is verified against the oracle before it is timed.
 */
#ifndef BENCH_FIXTURE_H
#define BENCH_FIXTURE_H

#include "bench/bench.h"

enum { FIXTURE_MAX_IO = 256, FIXTURE_MAX_SETS = 64 };

typedef enum fixture_role {
    FIXTURE_INPUT,  /* its leading axis is that of the rows */
    FIXTURE_SHARED, /* an input that every row reads all of */
    FIXTURE_FROZEN, /* the same, frozen */
    FIXTURE_STATE,  /* an input that a run updates: it starts from its host data in the run that is verified */
    FIXTURE_SCALAR, /* a number that every run is given anew */
    FIXTURE_OUTPUT,
    FIXTURE_SCRATCH /* memory between the plans of a sequence: no part of the graph */
} fixture_role;

typedef struct fixture_io {
    char name[16];
    fixture_role role;
    lfuse_type type;
    int rank;
    int64_t shape[LFUSE_MAX_RANK], elements;
    void *host;    /* contents of an input, there when the fixture was uploaded; NULL for others */
    bool turned;   /* a tensor holds it with its last two axes swapped: shape and host are as `graph` has it */
    void *image;   /* what a turned one's tensors hold */
    double scale;  /* of contents that are still to be made: 0 when they are there */
    double first, later, each; /* a scalar: `first` in the run that is verified, later + r each in the r-th after it */
    lfuse_tensor *tensors[FIXTURE_MAX_SETS];
    /* What the oracle said of an output, kept for the next variant where it is small (verify.c). */
    long double *truth;
    double *bound;
} fixture_io;

typedef struct fixture fixture;
struct fixture {
    bench_device *d;
    lfuse_graph *graph;  /* what the oracle evaluates; the fixture's */
    lfuse_graph *stored; /* what devices plan, where tensors are turned; NULL: the same */
    int nio, nsets;
    int64_t runs;     /* that variants have made since fixture_poison */
    bool judged; /* truth and bound of every output are there */
    bool whole;  /* the leading axis is not one of independent rows: verified as one piece */
    bench_activation activation; /* of one product with an epilogue */
    lfuse_precision precision; /* of one product (bench/gemm_check.h); plans may split all products */
    int levels, judged_levels; /* of Strassen's products in the variant to be verified; that truth and bound are for */
    lfuse_status (*verify)(fixture *f, bench_variant *v); /* instead of what verify.c does; NULL: that */
    void *truth;      /* what `verify` keeps for the next variant; freed by destroy_truth(truth) */
    void (*destroy_truth)(void *truth);
    fixture_io io[FIXTURE_MAX_IO];
};

/* An empty fixture with an empty graph. */
lfuse_status fixture_create(bench_device *d, fixture **f);
void fixture_destroy(void *f);
/*
 * Declares a tensor of the problem and its host data (uniform in [-scale, scale], reproducible). Inputs and frozen
 * inputs are added to the graph and their value is returned in *value (may be NULL for outputs).
 */
lfuse_status fixture_tensor(fixture *f, const char *name, fixture_role role, lfuse_type type, int rank,
                            const int64_t *shape, double scale, lfuse_value *value);
/* An input of i32 or i64 with random indices from 0 to limit - 1. */
lfuse_status fixture_indices(fixture *f, const char *name, lfuse_type type, int64_t count, int64_t limit,
                             lfuse_value *value);
/* A scalar of the graph, which each run binds to a number of its own: see fixture_io. */
lfuse_status fixture_scalar(fixture *f, const char *name, double first, double later, double each, lfuse_value *value);
/* Makes the host data and, filled with it, the device tensors of all sets; called once, after the declarations. */
lfuse_status fixture_upload(fixture *f, int nsets);
/*
 * Prepares set 0 for the run that is verified. What runs write is filled with NaN: what a variant leaves unwritten must
 * not pass for the last one's result. What they update holds its host data again, and scalars begin anew.
 */
lfuse_status fixture_poison(fixture *f);
/* The binding of a tensor of a set, or of a scalar. */
lfuse_binding fixture_binding(const fixture_io *io, int set);
/* Gives the scalars among the bindings their numbers in the run that is next; its caller then counts it in f->runs. */
void fixture_bind_scalars(const fixture *f, lfuse_binding *bindings, int count);
/* Bytes of one set, scratch aside. */
double fixture_bytes(const fixture *f);

/* Plans a graph of the problem with the options (NULL: none), and with the problem's precision where that splits. */
lfuse_status fixture_plan(const fixture *f, const lfuse_graph *graph, const lfuse_plan_options *options,
                          lfuse_plan **plan);
/* Adds the graph, planned with `options`, as a variant: made, verified, ready to be timed. */
lfuse_status fixture_variant(fixture *f, bench_case *c, const char *name, const lfuse_plan_options *options);

/*
 * The variant "replay". Where the device has native graphs, every set has run so often that its runs are one graph;
 * elsewhere it is a recording of a run, replayed as a list of launches. That is what is verified.
 */
lfuse_status fixture_replay(fixture *f, bench_case *c, const lfuse_plan_options *options);

/* Plans the graph and makes an instance of it, which chooses, and lets both go again. */
lfuse_status fixture_tune(fixture *f, const lfuse_plan_options *options);
/* The same with products by the library's own kernels; nothing where the device does not have them. */
lfuse_status fixture_native(fixture *f, bench_case *c, const char *name);

/*
 * strassen.c: the variants strassen1, strassen2 and auto: products by so many levels, or by as many as the planner
 * takes for the fastest. Left out with the planner's reason where it makes none.
 */
typedef enum fixture_levels {
    FIXTURE_ONE_LEVEL,
    FIXTURE_TWO_LEVELS,
    FIXTURE_AUTO_LEVELS,
    FIXTURE_STRASSENS
} fixture_levels;
lfuse_status fixture_strassen(fixture *f, bench_case *c, fixture_levels which, const lfuse_plan_options *options);

/*
 * sequence.c: a variant that runs several plans, one after the other: what a framework does that launches each operator
 * by itself. The names of the graphs are those of the fixture's tensors. The graphs stay the caller's.
 */
lfuse_status fixture_sequence(fixture *f, bench_case *c, const char *name, lfuse_graph *const *graphs, int count,
                              const lfuse_plan_options *options);

/* choices.c: the plan by estimate and those that it could have been. `vendor`: with the vendor's library among them. */
lfuse_status bench_add_choices(fixture *f, bench_case *c, bool vendor);

/* verify.c: the outputs of set 0 against the oracle. Fills max_err, tol and ok of the variant. */
lfuse_status fixture_verify(fixture *f, bench_variant *v);

#endif
