/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of one or several files of JSON lines. Devices of the same product, driver, backend, library and name are
 * one device, in however many files; a case and variant of it that occurs again replaces what was there.
 */
#ifndef BENCH_PAGE_RECORDS_H
#define BENCH_PAGE_RECORDS_H

#include <stdbool.h>

#include "libfuse/status.h"

typedef struct bench_device_record {
    const char *device, *backend, *product, *driver, *compiler, *gemm, *library;
    double empty_us, copy_gbs, gemm_gflops; /* the best of the files; NAN: not measured */
    char label[128];                        /* product and backend, with the name where these are not enough */
} bench_device_record;

/* Of figures NAN stands for what was not measured. */
typedef struct bench_result_record {
    int device; /* index */
    int order;  /* in the files */
    const char *problem, *variant, *note;
    double wall_us, gpu_us, cold_us, sustained_us, enqueue_us, first_us, floor_us, launches, bytes, flops, max_err,
        tol;
    bool ok;
} bench_result_record;

typedef struct bench_skipped_record {
    int device;
    const char *problem, *variant, *reason; /* variant: the one that is missing; "": all of them */
} bench_skipped_record;

/* The first result in a process; variant: of the suite first, "cold" or "disk". */
typedef struct bench_first_record {
    int device;
    const char *problem, *variant;
    double first_us, build_us, compiles;
} bench_first_record;

/* A training after so many epochs: its losses, and which part of the answers is right; NAN: not told. */
typedef struct bench_epoch_record {
    int device;
    const char *example, *network;
    double epoch, loss, accuracy, held_loss, held_accuracy; /* of what it learns from; held: of what it never saw */
} bench_epoch_record;

typedef struct bench_records {
    int nfiles, ndevices, nresults, nskipped, nfirst, nepochs;
    char **files; /* contents, which the texts point into */
    bench_device_record *devices;
    bench_result_record *results;
    bench_skipped_record *skipped;
    bench_first_record *first;
    bench_epoch_record *epochs;
} bench_records;

/*
 * Adds a file. ERR_IO: it cannot be read; ERR_INVALID: a line is wrong, truncated or of no known type, or names a
 * device that has no line of the type machine before it: the message begins with file and line.
 */
lfuse_status bench_records_read(bench_records *r, const char *path);
/*
 * After the last file: tells devices apart by their labels; problems by name and size, variants as they were; epochs by
 * example, network, device and number.
 */
void bench_records_label(bench_records *r);
void bench_records_sort(bench_records *r);
void bench_records_free(bench_records *r);

/* "Device time": with rotating buffers where that was measured, else over the same ones. */
double bench_device_us(const bench_result_record *r);
/* NAN where the work is not products. */
double bench_gflops(const bench_result_record *r);

#endif
