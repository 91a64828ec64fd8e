/* SPDX-License-Identifier: Apache-2.0 */
/* What some steps of an optimizer make of parameters, in double precision, from the formulas. */
#ifndef BENCH_OPTIM_TRUTH_H
#define BENCH_OPTIM_TRUTH_H

#include "bench/models.h"
#include "libfuse.h"

typedef struct bench_optim_truth {
    lfuse_rule rule; /* sgd, adamw or lamb */
    lfuse_hyper hyper;
    double scale;    /* that the gradients are multiplied by first */
    int steps;       /* all with one gradient */
    const float *p, *g; /* [model->all] all members one behind the other */
    const bench_model *model;
    int64_t *counts; /* [members] how many elements of each are verified: of long lists the leading ones */
    double *want;    /* those of all members, one behind the other */
} bench_optim_truth;

/* From the fields before `counts`; on several threads. ERR_MEMORY: nothing is left behind. */
lfuse_status bench_optim_truth_make(bench_optim_truth *truth);
void bench_optim_truth_free(bench_optim_truth *truth);

#endif
