/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to do the same, timed against each other; of common/run/ alone. */
#ifndef COMMON_RUN_RACE_H
#define COMMON_RUN_RACE_H

#include "common/base/error.h"
#include "common/run/instance.h"

enum { LFUSE__CONTESTANTS = LFUSE__GEMM_CANDIDATES };

typedef struct lfuse__contest {
    const char *what; /* for the log: "product 4 x 8 x 16" */
    int count;        /* up to LFUSE__CONTESTANTS, the likely ones first: of many slow ones the last are left out */
    void *data;
    const char *(*name)(void *data, int i);
    /* Once for each, before its first run, and its end, also after a failure. */
    lfuse_status (*prepare)(void *data, int i);
    void (*release)(void *data, int i);
    /* Submits it once; may be captured. */
    lfuse_status (*run)(void *data, int i, lfuse_stream *s);
} lfuse__contest;

/*
 * Index of the fastest, and the times of one run of each, [count]: INFINITY of those that fail or are left out. Where
 * none works, the error of the last one. The stream is nobody else's.
 */
lfuse_status lfuse__race(const lfuse__contest *contest, lfuse_stream *stream, int *best, double *us);

/* Fills memory with numbers of a floating type. gemm_race.c */
lfuse_status lfuse__race_fill(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t bytes, lfuse_type type);

#endif
