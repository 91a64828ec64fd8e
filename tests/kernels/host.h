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
/* The same of numbers, which are converted to the type, and from it. */
double host_get(const void *memory, lfuse_type type, int64_t element);
void host_put(void *memory, lfuse_type type, int64_t element, double x);
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
/* Bytes that differ as elements of `type`; NaN equals NaN. -1: equal, else the first element. */
int64_t host_compare(const void *a, const void *b, lfuse_type type, size_t bytes);
/* Host memory of an operand, what it held before the launch, and what it has to hold behind it. */
typedef struct arena {
    unsigned char *memory, *before, *expected;
    size_t bytes;
} arena;

/* Every byte is `byte`. */
arena arena_make(size_t bytes, int byte);
/* What lies in the memory now was there before, and is expected but for what the test puts there. */
void arena_keep(arena *a);
/* Fails with the words and the first element that differs, as counted from element `first`. */
void arena_check(const arena *a, lfuse_type type, int64_t first, const char *words, ...)
    __attribute__((format(printf, 4, 5)));
void arena_free(arena *a);

/* Numbers of every kind: specials, small integers, arbitrary bits. */
void host_fill(void *memory, lfuse_type type, size_t count, uint64_t seed);
uint64_t host_random(uint64_t *state);

#endif
