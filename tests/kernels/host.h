/* SPDX-License-Identifier: Apache-2.0 */
/* The D3 operators, storage and the canonical sum in plain C, for comparison bit for bit. */
#ifndef TESTS_KERNELS_HOST_H
#define TESTS_KERNELS_HOST_H

#include "common/kernels/kernel.h"

typedef union value {
    float f32;
    double f64;
    int32_t i32; /* and i8, u8 */
    int64_t i64;
    int b;
} value;

/* Whether bits are promised (D3) rather than a bound. */
bool host_exact(int op);
value host_load(const void *memory, lfuse_type type, int64_t element);
void host_store(void *memory, lfuse_type type, int64_t element, value v);
/* All registers at one place but those of REDUCEs, which are given; one operator; one conversion. */
void host_evaluate(const lfuse__kernel_class *k, const double *numbers, void *const *from, const int64_t *element,
                   value *registers);
value host_apply(int op, lfuse_type type, value a, value b);
value host_convert(value a, lfuse_type from, lfuse_type to);
/* Stores what the body computes at one place: element[j] of memory[j], read from `from`, written to `to`. */
void host_body(const lfuse__kernel_class *k, const double *numbers, void *const *from, void *const *to,
               const int64_t *element);
/* rows.c: the canonical fold of at least one number; `type`: of what is folded. */
value row_fold(int op, lfuse_type type, const value *elements, int64_t count);
/* The canonical sum of a class's body over `length` elements; steps[j] from element to element, start in element[j]. */
value host_sum(const lfuse__kernel_class *k, void *const *from, const int64_t *element, const int64_t *steps,
               int64_t length);
/* Bytes that differ as elements of `type`; NaN equals NaN. -1: equal, else the first element. */
int64_t host_compare(const void *a, const void *b, lfuse_type type, size_t bytes);
/* Numbers of every kind: specials, small integers, arbitrary bits. */
void host_fill(void *memory, lfuse_type type, size_t count, uint64_t seed);
uint64_t host_random(uint64_t *state);

#endif
