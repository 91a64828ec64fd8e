/* SPDX-License-Identifier: Apache-2.0 */
/* One random problem on one device, fused and unfused, held to the oracle. */
#ifndef TESTS_RANDOM_ATTEMPT_H
#define TESTS_RANDOM_ATTEMPT_H

#include "common/plan/plan.h"
#include "tests/random/problem.h"

enum { ATTEMPT_WAYS = 2 };

extern const char *const attempt_ways[ATTEMPT_WAYS];

/* Kept apart in two steps, so that the stub can compile the kernels of many together. */
typedef struct attempt {
    problem p;
    trial t;
    int ways; /* the first ones of attempt_ways */
    lfuse_plan *plans[ATTEMPT_WAYS];
    lfuse_instance *instances[ATTEMPT_WAYS];
    lfuse_status status;
    char words[640]; /* of the failure */
} attempt;

/* Plans the problem of `a`. */
void attempt_prepare(attempt *a, lfuse_device *device);
/* Runs what was prepared and takes it down, but for the problem. */
void attempt_conclude(attempt *a);

/* A type or function that the device does not have. */
bool attempt_declined(lfuse_status status);

/* Shrinks the problem that failed and says what is left, in words that the next call overwrites. */
const char *attempt_report(attempt *a, const char *on, lfuse_device *device);

#endif
