/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel classes for the tests: what all are built with, then some that several tests have. */
#ifndef TESTS_KERNELS_CLASSES_H
#define TESTS_KERNELS_CLASSES_H

#include "common/kernels/families.h"

enum { SAMPLE_INSTR = 48, SAMPLE_STORES = 9 };

/* A class with its body; `k.body` points into it, so it stays where it was built. */
typedef struct sample {
    lfuse__kernel_class k;
    lfuse__body body;
    lfuse__instr instr[SAMPLE_INSTR];
    lfuse__store stores[SAMPLE_STORES];
    lfuse_type number_types[2];
    bool of_row[LFUSE__MAX_OPERANDS]; /* of row kernels: the operand walks no reduced axis */
} sample;

/* Without operands and with an empty body. What follows adds to it, and returns the operand's or register's number. */
void sample_start(sample *s, lfuse__family family, int rank, int naxes);
int sample_operand(sample *s, lfuse_type type, bool written, lfuse__stride_class inner);
int sample_add(sample *s, lfuse__instr instr);
int sample_load(sample *s, int operand);
int sample_load_at(sample *s, int operand, int index); /* of a gathered operand */
int sample_number(sample *s, lfuse_type type);
int sample_constant(sample *s, lfuse_type type, double x);
int sample_apply(sample *s, int op, lfuse_type type, int a, int b); /* b: -1 where there is none */
int sample_apply3(sample *s, int op, lfuse_type type, int a, int b, int c);
int sample_convert(sample *s, lfuse_type type, int a);
int sample_reduce(sample *s, int op, lfuse_type type, int a);
int sample_total(sample *s, int op, lfuse_type type, int a); /* over the members of a list */
void sample_store(sample *s, int reg, int operand);

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

typedef enum row_body {
    ROW_NORM, /* floating: a norm with scale, bias and two reductions of the result: three sweeps, seven operands */
    ROW_ALL,  /* every reduction of one operand, at once: one sweep, results of the row alone */
    ROW_SUM,  /* elements stored and summed in one sweep */
    ROW_BODIES
} row_body;

bool row_body_fits(row_body body, lfuse_type type);
/* A row kernel whose bits are promised: rank 2, one reduced axis, unit strides. */
void sample_rows(sample *s, row_body body, lfuse_type type);
/* Strides of what walks the row. */
void sample_rows_inner(sample *s, lfuse__stride_class inner);

/* Facts of a device of each form: f64, 32-bit or no addresses in tables. */
lfuse__facts facts_items(bool addresses);
lfuse__facts facts_lanes(bool addresses);

#endif
