/* SPDX-License-Identifier: Apache-2.0 */
/* What most tests of optimizers do: some steps over some members, and results that are equal. */
#ifndef TESTS_OPTIM_RUN_H
#define TESTS_OPTIM_RUN_H

#include "tests/optim/rig.h"

enum { STEPS = 5, MEMBERS = 6, ALL = 3 + 0 + 2500 + 1 + 1024 + 130 };
extern const int64_t sizes[MEMBERS]; /* one is 0 */

/* All n numbers are equal; `what` says of what, where they are not. */
void same(const double *a, const double *b, int64_t n, const char *what);
/* STEPS steps of a new model: its parameters then; and the states, each behind the other, where they are asked for. */
void run(lfuse_device *device, const lfuse_optimizer_options *options, lfuse_type type, int members,
         const int64_t *elements, double *p, double *states);
/* A 0-d tensor of f32. */
lfuse_tensor *number(lfuse_device *device, float x);
/* Launches of a second step. */
uint64_t launches_of_step(const model *m, lfuse_optimizer *o);

#endif
