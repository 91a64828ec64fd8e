/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products of the members of two lists: list kernels (kernel.h: tables, carried places, buffers as `partial`, of
 * which 2 is the workspace). A chunk is a block of one member's result, of length 1; `start` is the block's index in
 * the member. The class has A, B and the sum as problem.h says, then
 *   - the epilogue's operands: UNIT (an element for each of the result), ROW, COLUMN, MATRIX, or REPEAT;
 *   - the shape, last: of each member the numbers matrices, m, n, k; where in the workspace the copies of its A and of
 *     its B begin, in bytes, below 0 where the operand is not copied; then for each other operand, in order, its row
 *     stride and its matrix stride in elements. These two are used of A, B and UNIT operands alone.
 *
 * Solvers whose tiles have chunks pack: where rows of A or B of a member are no whole chunks, a launch of the class's
 * phase PACK, with the same words and groups, copies them into the workspace in front of the products.
 */
#ifndef COMMON_MATMUL_GROUPED_H
#define COMMON_MATMUL_GROUPED_H

#include "common/matmul/solver.h"

/* The phases of a class. */
enum { LFUSE__GROUPED_PRODUCTS, LFUSE__GROUPED_PACK };

/*
 * Return where numbers lie in the shape: the first of the two strides of operand j, and how many numbers there are in
 * all, of `noperands` operands with the shape. PACKED is the number that says where A's copy begins; the next one says
 * it of B's.
 */
enum { LFUSE__GROUPED_PACKED = 4, LFUSE__GROUPED_STRIDES = LFUSE__GROUPED_PACKED + 2 };
static inline int lfuse__grouped_stride(int j)
{
    return LFUSE__GROUPED_STRIDES + 2 * j;
}
static inline int lfuse__grouped_shape(int noperands)
{
    return lfuse__grouped_stride(noperands - 1);
}
typedef struct lfuse__grouped_cut {
    int64_t rows, columns; /* of a block */
    int64_t depth;         /* on CPUs: along k, of what is packed at a time */
    uint64_t space;        /* bytes of workspace of a group, 0: none */
    int64_t groups;        /* at most */
    unsigned group;        /* work-items of one */
} lfuse__grouped_cut;
enum {
    LFUSE__GROUPED_BLOCKS = 6, /* word: rows, columns << 16, depth << 32, of a block */
    LFUSE__GROUPED_NUMBERS
};
/*
 * Completes a class that has operands, body, ta, tb: sum, solver, by the device and the types, and tile, by the sizes.
 * ERR_UNSUPPORTED names the member.
 */
lfuse_status lfuse__grouped_choose(const lfuse__facts *facts, int64_t members, const lfuse__matmul_sizes *sizes,
                                   lfuse__kernel_class *c);
/*
 * grouped_pack.c.
 *   - packs returns whether the class's solver packs.
 *   - packed_bytes returns the bytes of the copy of a member's A or B (`operand`), of matrices of size `s` that lie in
 *     memory as `layout` says; 0: it is not copied.
 */
typedef struct lfuse__grouped_layout {
    int64_t row, matrix; /* elements from row to row, and from matrix to matrix */
    uint64_t begins;     /* the address of the first element, or its offset in aligned memory: in bytes */
} lfuse__grouped_layout;
bool lfuse__grouped_packs(const lfuse__kernel_class *c);
uint64_t lfuse__grouped_packed_bytes(const lfuse__kernel_class *c, int operand, const lfuse__matmul_sizes *s,
                                     const lfuse__grouped_layout *layout);

/* Sets how members of these sizes are cut into blocks, by the class's solver. */
void lfuse__grouped_cut_make(const lfuse__kernel_class *c, const lfuse__facts *facts, int64_t members,
                             const lfuse__matmul_sizes *sizes, lfuse__grouped_cut *cut);
/* Returns how many blocks a member has; 0 where there is nothing to store. */
static inline int64_t lfuse__grouped_blocks(const lfuse__grouped_cut *cut, const lfuse__matmul_sizes *p)
{
    return p->matrices * lfuse__ceil_div(p->m, cut->rows) * lfuse__ceil_div(p->n, cut->columns);
}
/* Appends the text of a kernel `name` of the class; an error where the class is not what the head of this file says. */
lfuse_status lfuse__grouped_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                 const lfuse__facts *facts);
typedef struct lfuse__grouped_part { /* one launch */
    int64_t members; /* of the list */
    int64_t first_chunk, chunks;
    uint64_t workspace; /* byte offset in buffer 2, a multiple of 64 */
    const double *numbers;
} lfuse__grouped_part;
/* Sets the argument words and the groups of a launch. ERR_UNSUPPORTED where there are too many of either. */
lfuse_status lfuse__grouped_pack(const lfuse__kernel_class *c, const lfuse__facts *facts,
                                 const lfuse__grouped_cut *cut, const lfuse__grouped_part *part,
                                 lfuse__packed *packed);

/* ---- what solvers take lists by (solver.h); `plain`: the class with operands as a single product has them ---- */
double lfuse__tiles_grouped_cost(const lfuse__product_class *p, const lfuse__facts *facts, int64_t members,
                                 const lfuse__matmul_sizes *sizes); /* tile_cost.c: in cycles */
void lfuse__tiles_grouped_cut(const lfuse__kernel_class *c, const lfuse__facts *facts, int64_t members,
                              const lfuse__matmul_sizes *sizes, lfuse__grouped_cut *cut);
lfuse_status lfuse__tiles_grouped_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *plain,
                                       const lfuse__kernel_class *c, const lfuse__facts *facts);
void lfuse__cpu_grouped_cut(const lfuse__kernel_class *c, const lfuse__facts *facts, int64_t members,
                            const lfuse__matmul_sizes *sizes, lfuse__grouped_cut *cut);
lfuse_status lfuse__cpu_grouped_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *plain,
                                     const lfuse__kernel_class *c, const lfuse__facts *facts);
/*
 * Puts declarations for chunk `c`: its member's sizes as of_<number>; how many blocks of `rows` and `columns`, which
 * are expressions, there are as blocks_down and blocks_across; `matrix`; `number`, the index of the block in that
 * matrix; and p<j>, the address of operand j.
 */
void lfuse__grouped_put_head(const lfuse__text *t, const lfuse__product_layout *l, const lfuse__kernel_class *c,
                             const char *rows, const char *columns);
/*
 * Return how many memory arguments the kernel of a text has. put_chunks puts what stands behind the kernel's beginning:
 * the copy of the argument words where the device needs one, and `chunks`, how many there are. `group`: work-items of a
 * group.
 */
int lfuse__grouped_buffers(const lfuse__text *t);
void lfuse__grouped_put_chunks(const lfuse__text *t, int group);

#endif
