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

/* A kernel's text being written. Those who put a part of it are places of the kernel's text (template.h). */
typedef struct lfuse__cpu_text {
    lfuse__text t;
    lfuse__product_layout l;
    const char *name;
} lfuse__cpu_text;

/* cpu.c: sets a text of the class. */
void lfuse__cpu_begin(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c, lfuse__cpu_text *text);
/* cpu_block.c: put the functions in front of a kernel, and what the kernel does for a block of the result. */
void lfuse__cpu_put_functions(const void *cpu_text, int which, int indent);
void lfuse__cpu_put_block(const void *cpu_text, int which, int indent);
/*
 * cpu_prologue.c: puts the part of an operand that its prologue computes, `depth` of k, from `at` on, in the type of
 * the sums: A's `rows` rows from `row` on, to computed_a; or B's panel at column `j` of the block, to computed_b, or,
 * where B is not transposed, to the panel. Rows lie as they would be stored, pitch_a or pitch_b elements apart.
 */
void lfuse__cpu_put_prologue(const void *cpu_text, int operand, int indent);

#endif
