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

/* Returns x, rounded up to a multiple of `unit`. */
static inline int64_t lfuse__round_up(int64_t x, int64_t unit)
{
    return lfuse__ceil_div(x, unit) * unit;
}

static inline int64_t lfuse__smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * cpu.c: begin sets the text and its layout. cpu_block.c: put_functions puts the functions in front of a kernel,
 * put_block what the kernel does for a block of the result.
 */
void lfuse__cpu_begin(lfuse__strbuf *out, const lfuse__kernel_class *c, lfuse__text *t, lfuse__product_layout *l);
void lfuse__cpu_put_functions(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c);
void lfuse__cpu_put_block(const lfuse__text *t, const lfuse__product_layout *l, int indent, const char *name);

/*
 * cpu_epilogue.c: puts the epilogue of sums. It takes row and column of the first one, and how many rows and columns
 * there are, from variables in scope.
 */
void lfuse__cpu_put_epilogue(const lfuse__text *t, const lfuse__product_layout *l, int indent);
/*
 * cpu_prologue.c: put the part of an operand that its prologue computes, `depth` of k, from `at` on, in the type of the
 * sums. put_a puts A's `rows` rows from `row` on, to made_a; put_b puts B's panel at column `j` of the block, to
 * made_b, or, where B is not transposed, to the panel. Rows lie as they would be stored, pitch_a or pitch_b elements
 * apart.
 */
void lfuse__cpu_put_a(const lfuse__text *t, const lfuse__product_layout *l, int indent);
void lfuse__cpu_put_b(const lfuse__text *t, const lfuse__product_layout *l, int indent);

#endif
