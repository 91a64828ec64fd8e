/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lfuse-bench: problems, variants and what is measured of them. A suite turns a problem string into a case: a few
 * variants of the same work over the same random data, each verified before it is timed.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stdio.h>

#include "common/graph/op.h"
#include "libfuse.h"

enum { BENCH_MAX_VARIANTS = 16, BENCH_MAX_PROBLEM = 96, BENCH_MAX_REASON = 160 };

/* What follows a product and its bias. */
typedef enum bench_activation { BENCH_RELU, BENCH_GELU, BENCH_GELU_TANH } bench_activation;

/* Ceilings of a device, measured in the same process. */
typedef struct bench_machine {
    double empty_us;  /* launch of an empty kernel and synchronisation */
    double copy_gbs;  /* bytes read + written, the faster of the API's copy and our copy kernel */
    double gemm_gflops; /* f32 product, 0 where the device has none */
    double product_gflops[LFUSE__TYPES]; /* by operands' type, where a case asked for it; 0: not yet, < 0: none */
    double timer_us;  /* resolution of the host's clock */
} bench_machine;

typedef struct bench_device {
    lfuse_device *dev;
    lfuse_device_info info;
    lfuse_stream *stream;
    bench_machine machine;
    bool quick;
    bool named;           /* the problem is the user's own choice: it is not too large */
} bench_device;

/* One way to do the work of a case. run() enqueues it once on the device's stream, over buffer set `set`. */
typedef struct bench_variant {
    const char *name;
    void *state;
    lfuse_status (*run)(void *state, int set);
    void (*destroy)(void *state);
    double first_us;      /* plan making and first run with an empty cache; < 0: not measured */
    double bytes, flops;  /* of one run */
    double scratch;       /* bytes that a run takes of the stream's memory; < 0: not known */
    lfuse_type operands;  /* of the products that are most of the flops; NONE: the traffic alone is its floor */
    double max_err, tol;  /* largest error over its bound as error and bound; < 0: nothing to verify (copies) */
    bool ok;
    int nsets;            /* buffer sets that it has, the case's first ones; 0: all */
    const char *note;     /* what a reader of the figures must know of it, or NULL; lives as long as the variant */
} bench_variant;

/* A variant that the suite knows and the problem or the device does not have. */
typedef struct bench_left_out {
    const char *name;
    char reason[BENCH_MAX_REASON];
} bench_left_out;

typedef struct bench_case {
    char problem[BENCH_MAX_PROBLEM];
    int nsets;            /* buffer sets, which variants have unless they say how many */
    double set_bytes;     /* of one of them: cold_us is measured where all together exceed three times the cache */
    int nvariants;
    bench_variant variants[BENCH_MAX_VARIANTS];
    int nleft;
    bench_left_out left[BENCH_MAX_VARIANTS];
    void *shared;         /* the suite's own, freed after the variants */
    void (*destroy)(void *shared);
} bench_case;

typedef struct bench_suite {
    const char *name;
    const char *const *problems; /* NULL at the end */
    const char *const *quick;
    /*
     * Builds and verifies the variants. ERR_UNSUPPORTED, ERR_LIBRARY: skipped on this device, the message says why. On
     * failure nothing is left behind.
     */
    lfuse_status (*prepare)(bench_device *d, const char *problem, bench_case *c);
    /* Makes instances of the problem's plans with effort measure, so that their choices are wisdom. NULL: has none. */
    lfuse_status (*tune)(bench_device *d, const char *problem);
    /*
     * In place of `prepare`: measures a problem in a way of its own, reports it and counts the results. Such a suite is
     * run where it is named.
     */
    lfuse_status (*perform)(bench_device *d, const char *problem, const char *only, FILE *json, int *good, int *wrong);
    /*
     * Builds the candidates of a choice with bench_add_choices, as `prepare` does variants. A problem has
     * `choice_cases` of them, 0 where there is nothing to choose; number 1 is the product with an epilogue.
     */
    lfuse_status (*choices)(bench_device *d, const char *problem, int number, bench_case *c);
    int choice_cases;
} bench_suite;

extern const bench_suite bench_suite_launch, bench_suite_pointwise, bench_suite_gemm, bench_suite_dense,
    bench_suite_stack, bench_suite_rows, bench_suite_embed, bench_suite_foreach, bench_suite_optim,
    bench_suite_train, bench_suite_first;

/* The median of what was measured, with its 20 and 80 percentiles; < 0: not measured. */
typedef struct bench_time {
    double us, low, high;
} bench_time;

/* Figures of one variant. */
typedef struct bench_figures {
    bench_time wall, gpu, cold, enqueue, sustained;
    double floor_us; /* < 0: not known */
    unsigned long long launches;
} bench_figures;

/* measure.c: all variants of a case, interleaved. `only`: one variant's name, or NULL. */
lfuse_status bench_measure(bench_device *d, bench_case *c, const char *only, bench_figures *figures);

/* sustained.c: what is timed of one variant, whose runs take about run_us each. */
enum { BENCH_MOST_TURNS = 9 };
typedef struct bench_sustained {
    const bench_variant *variant;
    double run_us, us[BENCH_MOST_TURNS]; /* us: of a run, in each turn */
    int turns;
} bench_sustained;
/*
 * Whether a variant multiplies so much on a GPU that its rate depends on how long the device has been busy, and it is
 * known how long a run takes: run_us is not 0, as it may be by a coarse timer, nor below 0.
 */
bool bench_has_sustained(const bench_device *d, const bench_variant *v, double run_us);
/* Times variants in turn, each of which has that; the events are for its use. */
lfuse_status bench_measure_sustained(bench_device *d, bench_sustained *s, int n, lfuse_event *first,
                                     lfuse_event *second);

/* tune.c: the problems of suites that have something to tune; the number of those that failed. */
int bench_tune(bench_device *d, const bench_suite *suite, const char *const *problems);
/* Whether there is a wisdom file that can be written, else a message; afterwards, what it holds. */
lfuse_status bench_tune_begin(bench_device *d);
lfuse_status bench_tune_end(bench_device *d);

/* choices.c: how many choices by estimate were within 5 % of the best candidate, and how many were not. */
typedef struct bench_choices {
    int within, beyond, skipped;
} bench_choices;
/* Begins a device's table, and its lines in `json` (may be NULL). */
void bench_choices_begin(const bench_device *d, FILE *json);
/* Opens the device anew, by the name in d->info. */
void bench_check_choices(const bench_device *d, const bench_suite *suite, const char *problem, FILE *json,
                         bench_choices *count);

/* machine.c */
lfuse_status bench_machine_measure(bench_device *d);
/* GFLOP/s of products of operands of a type, measured at the first call for it; 0: the device has none. */
lfuse_status bench_machine_product_rate(bench_device *d, lfuse_type operands, double *gflops);

/* report.c: a table on stdout, JSON lines in `json` (may be NULL). */
void bench_report_machine(const bench_device *d, FILE *json);
/* The JSON line alone; what is < 0 was not measured. */
void bench_write_machine(const bench_device *d, FILE *json);
void bench_report_case(const bench_device *d, const bench_case *c, const char *only, const bench_figures *figures,
                       FILE *json);
void bench_report_skipped(const bench_device *d, const char *problem, const char *reason, FILE *json);

/* case.c: sets the case's buffer sets, of `bytes` each: enough to defeat the device's cache, `most` at most. */
void bench_choose_sets(const bench_device *d, bench_case *c, double bytes, int most);
/* How many sets the variant has; whether so many exceed three times the last-level cache together. */
int bench_sets(const bench_case *c, const bench_variant *v);
bool bench_is_cold(const bench_device *d, const bench_case *c, int sets);

/* A variant of the suite; fills the fields that are common. NULL when the case is full. */
bench_variant *bench_add(bench_case *c, const char *name, void *state, lfuse_status (*run)(void *, int),
                         void (*destroy)(void *));
/* Says why the case is without that variant, in the report and its JSON. `name` stays the caller's. */
void bench_leave_out(bench_case *c, const char *name, const char *reason);
/* Whether the device or the machine lacks what is asked for: ERR_UNSUPPORTED, ERR_LIBRARY. */
bool bench_is_missing(lfuse_status status);
/*
 * What becomes of a case when a variant could not be made: where something is missing it is left out, with the last
 * error's message, and LFUSE_OK returned; else the status.
 */
lfuse_status bench_omit(bench_case *c, const char *name, lfuse_status status);
void bench_case_destroy(bench_case *c);

/*
 * accumulation.c: the variant "add" of f32 cases, a += b in two tensors of so many elements, whose contents are those
 * of p and q, of `count` numbers, again and again: the rate that work in place can reach.
 */
lfuse_status bench_add_accumulation(bench_device *d, bench_case *c, int64_t elements, const float *p, const float *q,
                                    int64_t count);

#endif
