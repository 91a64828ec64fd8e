/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of parameters to step over: so many of one size, or those of a known model. */
#ifndef BENCH_MODELS_H
#define BENCH_MODELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_model {
    int64_t count, all; /* members, and elements of all */
    int64_t *elements;  /* [count] */
} bench_model;

/* "<count>x<elements>", "resnet50" (161 tensors, 25557032 elements) or "gpt2-small" (148, 124439808). */
bool bench_model_parse(const char *text, bench_model *model);
void bench_model_free(bench_model *model);

#endif
