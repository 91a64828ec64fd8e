/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner. What can be computed in several ways, such as a product by the vendor's algorithms, is a problem, and each
 * way is a candidate. Every choice among candidates is made here: by wisdom, or by measurement, which makes wisdom.
 */
#ifndef COMMON_TUNE_TUNER_H
#define COMMON_TUNE_TUNER_H

#include <pthread.h>

#include "common/base/error.h"
#include "common/tune/wisdom.h"

enum { LFUSE__CANDIDATES = 32, LFUSE__PROBLEM_NAME = 512 };

/* The words by which wisdom names a candidate. */
typedef struct lfuse__candidate_name {
    const char *provider, *identity;
} lfuse__candidate_name;

/* A problem and its candidates, which are numbered from 0 on; `context` is the first argument of all functions. */
typedef struct lfuse__candidates {
    const char *problem; /* its name in wisdom */
    const char *title;   /* its name in the log: "product 4 x 8 x 16" */
    bool measure;        /* candidates are measured where wisdom names none */
    bool required;       /* a failed measurement is an error, unless the device lacks memory; else it is logged */
    uint64_t evict_bytes; /* before each run so many bytes of other memory are written, which takes what the run before
                            left out of the device's cache; 0: nothing is written */
    double margin;       /* the first that works is chosen unless another takes less than this share of its time; 0: the
                            fastest is chosen */
    void *context;
    /* Lists up to LFUSE__CANDIDATES, the likely ones first: of many slow ones the last are not measured. */
    lfuse_status (*list)(void *context, int *count);
    /* Returns the words for candidate i. */
    lfuse__candidate_name (*name)(void *context, int i);
    /*
     * Called in place of a search in the list, where it is not NULL: lists the candidate that wisdom names, and returns
     * its number, or -1 (logged) where there is no such candidate.
     */
    int (*find)(void *context, const lfuse__wise_choice *named);
    /*
     * Called before and after all are measured, also after a failure. LFUSE_NOT_READY (no message): less than two work.
     */
    lfuse_status (*set_up)(void *context, lfuse_stream *s);
    void (*tear_down)(void *context);
    /* Called before the first run of each and after its last one, also after a failure; may be NULL. */
    lfuse_status (*prepare)(void *context, int i);
    void (*release)(void *context, int i);
    /* Submits one run; may be captured. */
    lfuse_status (*run)(void *context, int i, lfuse_stream *s);
} lfuse__candidates;

/*
 * Chooses a candidate: *chosen is its number; -1: wisdom names none, and none is measured. While candidates are
 * measured, the stream `busy` is idle, and nobody else measures on the device, so that equal problems are measured
 * once.
 */
lfuse_status lfuse__tune(lfuse_device *dev, lfuse_stream *busy, const lfuse__candidates *c, int *chosen);

/*
 * measure.c: measures candidates 0 ... count - 1 on a stream that nobody else uses. *best is the number of the fastest,
 * us[i] the microseconds of one run of candidate i, INFINITY of those that fail or are left out. Where none works, the
 * error of the last one is returned. Of `c`, title, evict_bytes, context, name, prepare, release and run alone are
 * used.
 */
lfuse_status lfuse__measure(const lfuse__candidates *c, int count, lfuse_stream *stream, int *best, double *us);

/* fill.c: fills `bytes` bytes from `offset` on with random numbers of a floating type, and waits for that. */
lfuse_status lfuse__fill_random(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t bytes, lfuse_type type);

/* ---- gemm.c: the vendor's algorithms for one product ---- */

/*
 * Chooses the algorithm of a product: the one that wisdom names, else the vendor's favourite, or, with `measure`, the
 * fastest. The choice is remembered on the device until wisdom is imported, so that equal products always get the same.
 */
lfuse_status lfuse__gemm_choose(lfuse_device *dev, lfuse_stream *busy, bool measure, const lfuse__gemm_desc *desc,
                                lfuse__gemm_candidate *candidate);
/* Chooses the vendor's favourite of the algorithms that need no workspace, whatever wisdom names. */
lfuse_status lfuse__gemm_choose_low_memory(lfuse_device *dev, const lfuse__gemm_desc *desc,
                                           lfuse__gemm_candidate *candidate);

/* ---- what the tuner keeps on a device; of common/tune/ alone ---- */

typedef struct lfuse__tuner {
    pthread_mutex_t measuring; /* recursive: a candidate may be a problem itself; taken before `lock` */
    pthread_mutex_t lock;      /* around what follows */
    lfuse__strbuf device; /* how its lines of wisdom begin; "" until it is needed: a library may have to be loaded */
    lfuse__wisdom known;
    struct lfuse__gemm_choice *gemms; /* gemm.c */
} lfuse__tuner;

/* wisdom.c: returns the device's tuner, which is made at the first call and goes when the device is closed. */
lfuse_status lfuse__tuner_get(lfuse_device *dev, lfuse__tuner **tuner);
/* gemm.c: forgets the algorithms that were chosen. */
void lfuse__gemm_choices_forget(lfuse__tuner *t);

#endif
