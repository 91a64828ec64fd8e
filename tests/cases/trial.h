/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph with something bound to every name, tried on devices: tensors lie between guard zones, outputs are poisoned
 * before every run, results are held to the oracle, and what must not be written to is looked at afterwards.
 */
#ifndef TESTS_CASES_TRIAL_H
#define TESTS_CASES_TRIAL_H

#include "bench/oracle.h"
#include "tests/cases/harness.h"

typedef enum trial_role {
    TRIAL_INPUT, TRIAL_FROZEN, TRIAL_SCALAR, TRIAL_LIST, TRIAL_OUTPUT, TRIAL_LIST_OUTPUT
} trial_role;

/* A tensor between guard zones: `base` is flat and holds them, `view` is what the run gets. */
typedef struct trial_tensor {
    int rank;
    int64_t shape[LFUSE_MAX_RANK], strides[LFUSE_MAX_RANK];
    int64_t elements, offset, span; /* span: elements of the base */
    void *packed;  /* contents of an input, contiguous; poison for an output */
    void *image;   /* of the base */
    unsigned char *inside; /* [span] whether an element of the base belongs to the view */
    lfuse_tensor *base, *view;
} trial_tensor;

typedef struct trial_io {
    char name[64];
    trial_role role;
    lfuse_type type;
    int32_t id; /* of the graph's value, for updates */
    bool updated;
    double number;
    int count; /* of tensors: 1, or members */
    trial_tensor *tensors;
    lfuse_list *list;
} trial_io;

typedef struct trial {
    lfuse_graph *graph;
    int nio, nsizes;
    trial_io io[HARNESS_MAX_IO];
    struct { char name[32]; int64_t actual; } sizes[HARNESS_MAX_SIZES];
    int levels;       /* products may be made by so many levels of Strassen's algorithm */
    bool lenient;     /* a result may have more open elements than judged ones */
    char *words;      /* what differed */
    size_t words_size;
    /* While it is open on a device: */
    lfuse_device *device;
    lfuse_stream *stream;
    bool exact;
    lfuse__oracle_run truth;
    int64_t judged, open; /* elements held to a bound so far, and those whose bound was INFINITY */
} trial;

/* Elements for a tensor (or list, flat members) of this shape. A mistake of the caller ends the process. */
trial_io *trial_add_tensor(trial *t, const char *name, trial_role role, lfuse_type type, int rank,
                           const int64_t *shape, harness_layout layout);
trial_io *trial_add_list(trial *t, const char *name, trial_role role, lfuse_type type, int count,
                         const int64_t *elements);
/* Members that are matrices, rows and columns behind how many there are; in the oracle too. layout: PLAIN or ROWS. */
trial_io *trial_add_matrices(trial *t, const char *name, trial_role role, lfuse_type type, int count,
                             const int64_t (*shapes)[3], harness_layout layout);
trial_io *trial_add_scalar(trial *t, const char *name, double number);
void trial_fill(trial_io *x, harness_data data, uint64_t seed);
/* Whole numbers in [low, high]. */
void trial_fill_range(trial_io *x, int64_t low, int64_t high, uint64_t seed);
/* The value of a size variable. */
void trial_add_size(trial *t, const char *name, int64_t actual);

/*
 * Sets *inputs to what the oracle takes for everything that is bound, which is good until the next call, and returns
 * how many these are.
 */
int trial_oracle_inputs(const trial *t, const lfuse__oracle_input **inputs);
/* Makes tensors and a stream on the device and asks the oracle. Close also after an error. */
lfuse_status trial_open(trial *t, lfuse_device *device);
void trial_close(trial *t);
/* Memory of all tensors; not the graph. */
void trial_free(trial *t);

/* Bytes of all results, and of one run of the plan: all results one after the other; `what` names the way in words. */
size_t trial_bytes(const trial *t);
lfuse_status trial_run(trial *t, lfuse_plan *plan, const char *what, char *all);
/* The same in two steps. */
lfuse_status trial_instance(trial *t, lfuse_plan *plan, const char *what, lfuse_instance **instance);
lfuse_status trial_run_instance(trial *t, lfuse_instance *instance, const char *what, char *all);
/* Holds results to the oracle: every element within its bound. */
lfuse_status trial_judge(trial *t, const char *what, const char *all);

/* Keeps words for a status that is not LFUSE_OK: those given, or with those of the library behind them. */
lfuse_status trial_say(trial *t, lfuse_status status, const char *format, ...) LFUSE_PRINTF(3, 4);
lfuse_status trial_blame(trial *t, lfuse_status status, const char *what);

#endif
