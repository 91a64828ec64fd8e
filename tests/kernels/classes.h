/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel classes for the tests: one operator of one type, a longer body, and what the compilers are given of them. */
#ifndef TESTS_KERNELS_CLASSES_H
#define TESTS_KERNELS_CLASSES_H

#include "common/kernels/families.h"

enum { SAMPLE_INSTR = 16, SAMPLE_STORES = 9 };

/* A class with its body; `k.body` points into it, so it stays where it was made. */
typedef struct sample {
    lfuse__kernel_class k;
    lfuse__body body;
    lfuse__instr instr[SAMPLE_INSTR];
    lfuse__store stores[SAMPLE_STORES];
    lfuse_type number_types[2];
} sample;

/* Whether `op` takes operands of `type`. */
bool sample_fits(int op, lfuse_type type);
/* op over inputs 0 ..., stored to the last operand: rank 1, unit strides. */
void sample_op(sample *s, int op, lfuse_type type);
/* Up to SAMPLE_STORES operators over inputs 0, 1, 2 of one type, each stored to an operand of its own. */
void sample_many(sample *s, int count, const int *ops, lfuse_type type);
/* Adds an f64 load that nothing uses: a work-item then holds fewer elements at a time. */
void sample_narrow(sample *s);
/* Operand 0 of type `from`, converted and stored as `to`. */
void sample_cast(sample *s, lfuse_type from, lfuse_type to);
/* Operand 0 of type `from`, stored as every type, or every one but f64. */
void sample_casts(sample *s, lfuse_type from, bool f64);
/* Two inputs a, b and a number s: stores a * s + b (operand 2) and a < b ? a : b (operand 3). Floating types. */
void sample_fused(sample *s, lfuse_type type);
/* An f64 number in memory (operand 0) to the power of 3, and 1 less that, as f32 times input 1, stored to operand 2. */
void sample_uniform(sample *s);
/* Elements of a list times a number that they share, which is then one more. */
void sample_counted(sample *s);
/* Input 0 times itself, stored to operand 1: what sums are made of. Floating types. */
void sample_square(sample *s, lfuse_type type);

/* Rows of a table of `type` at i32 indices, rank 2; mapped: at 1 more than what a map says of the indices. */
enum { SAMPLE_TABLE, SAMPLE_INDICES, SAMPLE_RESULT, SAMPLE_MAP };
void sample_look_up(sample *s, lfuse_type type, bool mapped);

/* Facts of a device of each form: f64, 32-bit or no addresses in tables. */
lfuse__facts facts_items(bool addresses);
lfuse__facts facts_lanes(bool addresses);

#endif
