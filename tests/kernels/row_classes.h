/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of row kernels whose bits are promised. */
#ifndef TESTS_KERNELS_ROW_CLASSES_H
#define TESTS_KERNELS_ROW_CLASSES_H

#include "common/kernels/families.h"

enum { ROW_INSTR = 40, ROW_STORES = 8, ROW_OPERANDS = 8 };

typedef struct row_sample {
    lfuse__kernel_class k;
    lfuse__body body;
    lfuse__instr instr[ROW_INSTR];
    lfuse__store stores[ROW_STORES];
    lfuse_type number_types[2];
    bool of_row[ROW_OPERANDS]; /* operand walks no reduced axis */
} row_sample;

typedef enum row_body {
    ROW_NORM, /* floating: a norm with scale, bias and two reductions of the result: three sweeps, seven operands */
    ROW_ALL,  /* every reduction of one operand, at once: one sweep, results of the row alone */
    ROW_SUM,  /* elements stored and summed in one sweep */
    ROW_BODIES
} row_body;

bool row_body_fits(row_body body, lfuse_type type);
/* Rank 2, one reduced axis, unit strides; `k.body` points into the sample. */
void row_sample_make(row_sample *s, row_body body, lfuse_type type);
/* Strides of what walks the row. */
void row_sample_inner(row_sample *s, lfuse__stride_class inner);

#endif
