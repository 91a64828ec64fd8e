/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products in the dialect, with their epilogue: whatever a body makes of the sum of one element, stored wherever
 * it stores. D[i, j] = body(sum over l of A[i, l] B[l, j]). Families of texts, as in kernel.h: solvers.c sees to what
 * is common and calls the form's file.
 *
 * The class: `product`, and of the operands
 *     [LFUSE__PRODUCT_A], [LFUSE__PRODUCT_B]   matrices, type alone; read, rows `lda`, `ldb` elements apart
 *     [LFUSE__PRODUCT_SUM]                     no memory: a LOAD of it is the sum, of type product.sum
 *     from LFUSE__PRODUCT_OWN on               the epilogue's, walked by rows and columns: `inner` is the class of the
 *                                              column stride. INDEX is legal, gathered is not.
 * rank 2, naxes 0. Sums are of products.sum, by fma; the order of the additions is the form's and depends on sizes
 * alone, so that equal products of one class on one device are equal bit for bit.
 *
 * `product.made[i]`: A, B or both lie nowhere: their elements are what the body makes in register made[i] - 1, of the
 * type of that operand, rounded to it. What such a register loads is walked by the rows and columns of A, or B, as
 * `ta`, `tb` say they are stored: strides[j][0] leads from one stored row to the next, `inner` is the class of the
 * other one; by nobody else. Not of batches.
 *
 * A body with a REDUCE, of naxes 1 (`product.summed`, which solvers.c sets): a sum of f32 over the rows, once, with the
 * bits of a row kernel over the values that it takes in. What is made of it is of the columns: such stores, and the
 * loads that they need, have row strides of 0; no other store is made of it. TILES alone, not of batches, nor of
 * operands that are made; choosing gives ERR_UNSUPPORTED where no tiles do so (column_sums.c), or a launch of
 * its own is taken for faster.
 *
 * `product.batched`: as many such products as extents[LFUSE__PRODUCT_BATCH] says, each with the matrices of every
 * operand that lie strides[j][LFUSE__PRODUCT_BATCH] elements behind those of the one before; INDEX is not legal then.
 *
 * The geometry: extents m, n, k (k may be 0: sums are then 0, A and B are not touched); strides[A][0] is lda,
 * strides[B][0] is ldb; strides[j][0], strides[j][1] of the others by row and column; offsets and addresses as always;
 * `partials` the offset of the workspace in the last buffer. Of several launches all take the same geometry.
 */
#ifndef COMMON_MATMUL_PROBLEM_H
#define COMMON_MATMUL_PROBLEM_H

#include "common/kernels/emit.h"
#include "common/kernels/key.h"
#include "common/plan/advice.h"

enum { LFUSE__PRODUCT_BATCH = 3, LFUSE__PRODUCT_EXTENTS }; /* of extents and strides */
/* Products of a launch. */
static inline int64_t lfuse__product_batch(const lfuse__kernel_class *c, const lfuse__geometry *g)
{
    return c->product.batched ? g->extents[LFUSE__PRODUCT_BATCH] : 1;
}

typedef struct lfuse__solver lfuse__solver; /* solver.h */

/*
 * One way to compute a product: a tile, and how many parts of k (0: one whole; else geometry's `parts`; -1: stream-K).
 * Wisdom names it "64x128x16:8x8:1:0": rows, columns, depth, those of a work-item, slices, parts.
 */
typedef struct lfuse__matmul_candidate {
    int rows, columns, depth, item_rows, item_columns, slices, parts;
    double time; /* estimated, in cycles; no part of the name */
} lfuse__matmul_candidate;
enum { LFUSE__MATMUL_CANDIDATES = 8, LFUSE__MATMUL_CANDIDATE_NAME = 48 };
void lfuse__matmul_candidate_print(const lfuse__matmul_candidate *c, char name[LFUSE__MATMUL_CANDIDATE_NAME]);
/* False: it is no such name. */
bool lfuse__matmul_candidate_parse(const char *name, lfuse__matmul_candidate *c);

/* The sizes of a product whose class has operands, body, ta, tb, and what is asked for. */
typedef struct lfuse__matmul_problem {
    const int64_t *extents; /* m, n, k, and of a batched class how many products */
    bool vendor;            /* a vendor's product is an alternative: it is preferred where it is taken for faster */
    bool unsized;           /* one of the classes that lfuse__matmul_classes returns for bounds that are apart */
    bool lean;              /* the device has no memory left: k is not split where that can be avoided, which needs no
                               workspace. With `parts` 1 in the geometry, every solver takes the least that it can */
    const lfuse__matmul_candidate *candidate; /* this one; NULL: the cheapest. Ignored where `lean` is set */
} lfuse__matmul_problem;

/*
 * Completes the class for the problem: solver, sum, tile. ERR_UNSUPPORTED, with each solver's reason, where nobody
 * computes such a product on the device, where the vendor is preferred, or where a launch that sums columns behind the
 * product is.
 */
lfuse_status lfuse__matmul_choose(const lfuse__facts *facts, const lfuse__matmul_problem *p, lfuse__kernel_class *c);
/* Lists what may be chosen for extents within bounds; returns how many, 0: none. */
enum { LFUSE__MATMUL_CLASSES = 16 };
int lfuse__matmul_classes(const lfuse__facts *facts, const int64_t *low, const int64_t *high,
                          const lfuse__kernel_class *c, lfuse__kernel_class *classes);
/* Lists the candidates that may be the fastest, by estimated time; returns how many, 0 where there is one way alone. */
int lfuse__matmul_candidates(const lfuse__facts *facts, const int64_t *extents, const lfuse__kernel_class *c,
                             lfuse__matmul_candidate *all);

/* sides[noperands]: PRODUCT_A, PRODUCT_B: whose register loads it; -1. */
void lfuse__product_sides(const lfuse__kernel_class *c, int8_t *sides);
/*
 * The text of a body without what makes A and B, and (`i`: A, B) of that alone: operands that are loaded, registers
 * that are computed.
 */
void lfuse__product_text_own(lfuse__text *t);
void lfuse__product_text_made(const lfuse__text *t, int i, lfuse__text *made);

/* Launches of a product of the class: one for each phase, in order. */
int lfuse__product_phases(const lfuse__kernel_class *c);
/*
 * Bytes at the beginning of the workspace that are 0 before the first launch, and again after each: tickets of groups
 * that meet. Products that follow each other may share them.
 */
uint64_t lfuse__product_tickets(const lfuse__kernel_class *c);
/* Bytes of the workspace, for extents and strides of the geometry; 0: none. But for tickets it need not be set. */
uint64_t lfuse__product_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);

lfuse_status lfuse__product_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                 const lfuse__facts *facts);
/* Also for a later run of the same geometry at other addresses or with other numbers. */
lfuse_status lfuse__product_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                 lfuse__packed *packed);
void lfuse__key_add_product(lfuse__kernel_key *key, const lfuse__product_class *p);
lfuse_status lfuse__product_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed);

/* check.c: whether a class that is chosen is a product that kernels are written for. */
lfuse_status lfuse__product_check(const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts);

/*
 * words.c: argument words that every form begins with, of 64 bits: byte offsets of the operands, then these,
 * then the strides of the epilogue's operands, then its numbers, then the form's own.
 */
typedef struct lfuse__product_layout {
    const char *word; /* "W", argument words; "OF_": variables of_<number>, of GROUPED kernels */
    int m, n, k, lda, ldb;
    int workspace; /* byte offset in the last buffer */
    int batch;     /* how many products; -1: not batched */
    int apart[LFUSE__MAX_OPERANDS]; /* of a batch: bytes from one matrix to the next; -1: none, or no memory */
    int rows[LFUSE__MAX_OPERANDS], columns[LFUSE__MAX_OPERANDS]; /* of the stride; columns -1: REPEAT or UNIT */
    int numbers;
    int own;       /* the first of the form's own */
} lfuse__product_layout;
void lfuse__product_layout_make(const lfuse__kernel_class *c, lfuse__product_layout *layout);
/* Fills all of these; ERR_UNSUPPORTED where they and `own` more do not fit the argument block. */
lfuse_status lfuse__product_layout_pack(const lfuse__kernel_class *c, const lfuse__geometry *g, int own,
                                        lfuse__packed *packed);
/* Element offset (i64) of epilogue operand j at row and column, which are expressions, as an expression. */
void lfuse__put_product_place(const lfuse__kernel_class *c, const lfuse__product_layout *layout, int j,
                              const char *row, const char *column, char *text, size_t size);
/*
 * Where operand j begins, as an expression; of a batch for product number `matrix`, a u64 in scope; GROUPED: p<j>,
 * which is in scope.
 */
void lfuse__put_product_first(const lfuse__product_layout *layout, int j, char *text, size_t size);
/* p<j> of every operand that has memory, but A and B. */
void lfuse__put_product_memory(lfuse__strbuf *out, int indent, const lfuse__kernel_class *c,
                               const lfuse__product_layout *layout);

#endif
