/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of products on CPUs, for the files cpu*.c alone. `name` ends the names of functions. */
#ifndef COMMON_MATMUL_CPU_H
#define COMMON_MATMUL_CPU_H

#include "common/matmul/solver.h"

enum {
    LFUSE__PANEL_LANES = 16,
    LFUSE__PANEL_BLOCK_DEPTH = 384, /* a block has at most this depth along k, so many rows of A, bytes of a row of B */
    LFUSE__PANEL_BLOCK_ROWS = 480,
    LFUSE__PANEL_BLOCK_BYTES = 2048 /* BLOCK_DEPTH of them: 3/4 MiB */
};

static inline lfuse_type lfuse__cpu_type(const lfuse__kernel_class *c, int operand) /* that is packed */
{
    return c->product.prologue[operand] ? c->product.sum : c->operands[operand].type;
}

/* cpu.c: sets the text and its layout. cpu_block.c: puts the functions, and the work for a block in a kernel. */
void lfuse__cpu_begin(lfuse__strbuf *out, const lfuse__kernel_class *c, lfuse__text *t, lfuse__product_layout *l);
void lfuse__cpu_put_functions(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c);
void lfuse__cpu_put_block(const lfuse__text *t, const lfuse__product_layout *l, int indent, const char *name);

/*
 * cpu_epilogue.c: put_load declares x<j>, the elements of operand j at row i and `count` columns. put_epilogue takes
 * row and column of the first sum, and how many rows and columns there are, from variables in scope.
 */
void lfuse__cpu_put_load(const lfuse__text *t, const lfuse__product_layout *l, int indent, int j, bool whole);
void lfuse__cpu_put_epilogue(const lfuse__text *t, const lfuse__product_layout *l, int indent);
/*
 * cpu_prologue.c: puts the part of an operand that its prologue computes. A's `rows` rows from `row` on, to made_a;
 * B's panel at column `j` of the block, to made_b, or, where it is not transposed, to the panel. `depth` of k, from
 * `at` on. Of the type of the sums, as they would be stored, pitch_a, pitch_b elements apart.
 */
void lfuse__cpu_put_a(const lfuse__text *t, const lfuse__product_layout *l, int indent);
void lfuse__cpu_put_b(const lfuse__text *t, const lfuse__product_layout *l, int indent);

#endif
