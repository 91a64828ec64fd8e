/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One suite of cases for every device. A case describes a graph through a harness, which makes its tensors with random
 * data between guard zones, poisons the outputs, runs the plan and holds the results to the oracle:
 *  - every element within the oracle's bound, nothing written outside;
 *  - the same bits in a second run (D1);
 *  - the same verdict with all passes switched off, where asked for also with each alone switched off, and the same
 *    bits where the case says so.
 */
#ifndef TESTS_CASES_HARNESS_H
#define TESTS_CASES_HARNESS_H

#include <stdbool.h>

#include "libfuse.h"
#include "tests/support/shape.h"

enum { HARNESS_MAX_IO = 64, HARNESS_MAX_SIZES = 4, HARNESS_MAX_MEMBERS = 64 };

typedef enum harness_layout {
    PLAIN,   /* contiguous, own memory */
    OFFSET,  /* contiguous, three elements into its memory: misaligned for vector accesses */
    STRIDED, /* every axis with gaps */
    ROWS     /* gaps behind the last axis and those before it, as of parts of larger matrices; every second member */
} harness_layout;

typedef enum harness_data {
    NORMAL,   /* around 0, of size 1 */
    POSITIVE, /* 0.01 to 4 */
    INTEGERS, /* small: sums and products are exact */
    NASTY     /* NaN, infinities, subnormals, -0, huge and tiny numbers among others */
} harness_data;

typedef struct harness harness;

/* An extent that is a size variable, with the value that this run gives it. */
lfuse_size h_size(harness *h, const char *name, int64_t low, int64_t high, int64_t actual);
lfuse_value h_input(harness *h, const char *name, lfuse_type type, int rank, const lfuse_size *shape,
                    harness_layout layout, harness_data data);
/* Whole numbers in [low, high], to look up rows with. */
lfuse_value h_indices(harness *h, const char *name, lfuse_type type, int rank, const lfuse_size *shape, int64_t low,
                      int64_t high);
lfuse_value h_frozen(harness *h, const char *name, lfuse_type type, int rank, const lfuse_size *shape,
                     harness_data data);
lfuse_value h_scalar(harness *h, const char *name, double number);
/* A list of `count` members with these numbers of elements. */
lfuse_value h_list(harness *h, const char *name, lfuse_type type, int count, const int64_t *elements,
                   harness_data data);
/* The same of matrices (LFUSE_RANK_MATRIX); and of a rank that numbers of their lines have. */
lfuse_value h_matrices(harness *h, const char *name, lfuse_type type, int count, const int64_t (*shapes)[3],
                       harness_data data);
/* Whose members' rows and matrices lie apart. */
lfuse_value h_rows(harness *h, const char *name, lfuse_type type, int count, const int64_t (*shapes)[3],
                   harness_data data);
void h_rows_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int count,
                   const int64_t (*shapes)[3]);
lfuse_value h_lines(harness *h, const char *name, lfuse_type type, int rank, int count, const int64_t *elements,
                    harness_data data);
void h_matrices_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int count,
                       const int64_t (*shapes)[3]);
void h_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int rank, const lfuse_size *shape,
              harness_layout layout);
void h_list_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int count,
                   const int64_t *elements);
/* The list or input `target` (made by h_list or h_input) gets `value` at the end of the run. */
void h_update(harness *h, lfuse_value target, lfuse_value value);
lfuse_graph *h_graph(harness *h);
/* Fused and unfused results are equal bit for bit (cases of + - * / sqrt and the like: D3). */
void h_expect_same_bits(harness *h);
/* Kernel launches and library calls of one run, when fused; checked on every device. */
void h_expect_launches(harness *h, int launches);
/* The same on devices alone whose argument block takes so many bytes. */
void h_expect_launches_within(harness *h, int launches, uint32_t argument_bytes);

/* Products by so many levels of Strassen's algorithm, in all ways; elements are held to its bound. */
void h_strassen(harness *h, int levels);
/* A word that the fused plan's text must have. */
void h_expect_text(harness *h, const char *word);

/* Of a case. */
enum {
    EVERY_WAY = 1, /* with each pass alone switched off on GPUs too, not on the stub alone; see harness_ways */
    EXACT = 2,     /* the same bits on all devices that are exact (D3) */
    TWO_WAYS = 4   /* one of many like cases: on the stub too only fused and unfused */
};

typedef struct harness_case {
    const char *name;
    void (*describe)(harness *h);
    int flags;
    const char *file;
    int line;
    struct harness_case *next;
} harness_case;

void harness_register(harness_case *c);
/* All of them, by file and line. */
extern harness_case *harness_cases;

/* How a case is planned. */
typedef enum harness_ways {
    FUSED = 1,   /* with all passes */
    AND_UNFUSED, /* and with none */
    AND_EACH     /* and with each pass alone switched off */
} harness_ways;

/*
 * Runs a case on a device. LFUSE_OK: all held.
 * LFUSE_ERR_UNSUPPORTED and LFUSE_ERR_TYPE: the device declines it. Anything else is a failure; `words` (of `size`
 * bytes) then tells what differed.
 */
lfuse_status harness_run(const harness_case *c, lfuse_device *device, harness_ways ways, char *words, size_t size);
/* Makes what harness_run will run, and drops it: the stub then compiles the kernels of several cases together. */
void harness_foresee(const harness_case *c, lfuse_device *device, harness_ways ways);
/* Adds the bytes of all results of the last harness_run to a hash, to compare devices (D3). */
uint64_t harness_result_hash(void);

#endif
