/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The problem that solvers solve: a matrix product with its prologues and its epilogue,
 *     D[i, j] = epilogue(sum over l of A[i, l] B[l, j]).
 * A kernel's class says everything but the sizes, a geometry or lfuse__matmul_problem has these. A class of family
 * PRODUCT has rank 2, naxes 0 or 1, index64 false, and
 *   - operands[LFUSE__PRODUCT_A] and [LFUSE__PRODUCT_B], the matrices, which are read. Of these the type counts, and
 *     product.ta, product.tb, which say whether they are stored transposed.
 *   - operands[LFUSE__PRODUCT_SUM], which has no memory of its own: the body loads the sum of an element there. Its
 *     type is product.sum. Where product.kept is not 0, its buffer is what is kept of A or B.
 *   - operands from LFUSE__PRODUCT_OWN on: what the epilogue loads and stores, walked by rows and columns of D; `inner`
 *     classifies the stride from column to column. They may be indices (kernel.h: `index`), and may not be gathered.
 *   - a body, the epilogue: whatever it makes of the sum, stored wherever it stores.
 * Sums are made by fma in product.sum. The solver sets the order of the additions, which depends on the sizes alone:
 * equal products of one class on one device are equal bit for bit.
 *
 * What stays from run to run. Where A or B is frozen, a solver may keep what it makes of it: product.kept. The last
 * phase makes that, once for all runs, and again when the operand's contents have changed. It reads this operand alone,
 * and it needs no workspace.
 *
 * What a solver may decline, with a reason (solver.h; the planner speaks of it by lfuse__matmul_desc):
 *   - Prologues. Where product.prologue[i] is not 0, A (i = 0) or B (1) lies in no memory: an element is what the body
 *     computes in register prologue[i] - 1, rounded to the operand's type. Operands that this register loads are walked
 *     by the rows and columns of A, or B, as they are stored: strides[j][0] leads from one stored row to the next,
 *     `inner` is the class of the other stride. Nothing else of the body loads them. Batches have no prologues.
 *   - Batches. product.batched: extents[LFUSE__PRODUCT_BATCH] products in one launch. The matrices of operand j lie
 *     strides[j][LFUSE__PRODUCT_BATCH] elements apart. Batches have no INDEX.
 *   - Column sums. A body with one REDUCE, and naxes 1: a sum of f32 over the rows, with the bits of a row kernel over
 *     the same values. What is made of it has one element a column: its stores, and the loads that they need, have row
 *     strides of 0. Batches, and products with prologues, have no column sums.
 *
 * The geometry: extents m, n, k, where k may be 0 (sums are then 0, and A and B are not read); strides[A][0] is lda,
 * strides[B][0] is ldb; strides[j][0] and strides[j][1] are those of the other operands by row and column; `partials`
 * is the offset of the workspace in the last buffer. All launches of a product take the same geometry.
 */
#ifndef COMMON_MATMUL_PROBLEM_H
#define COMMON_MATMUL_PROBLEM_H

#include "common/kernels/emit.h"
#include "common/kernels/key.h"
#include "common/plan/advice.h"

/* The batch comes behind m, n and k in extents and in strides. */
enum { LFUSE__PRODUCT_BATCH = 3, LFUSE__PRODUCT_EXTENTS };
/* Returns the number of products in a launch. */
static inline int64_t lfuse__product_batch(const lfuse__kernel_class *c, const lfuse__geometry *g)
{
    return c->product.batched ? g->extents[LFUSE__PRODUCT_BATCH] : 1;
}

/* Returns x / each, rounded up. */
static inline int64_t lfuse__ceil_div(int64_t x, int64_t each)
{
    return x / each + (x % each != 0);
}
/* Returns the device's compute units, or 1 where their number is not known. */
static inline int64_t lfuse__units(const lfuse__facts *facts)
{
    return facts->info.compute_units ? facts->info.compute_units : 1;
}

typedef struct lfuse__solver lfuse__solver; /* solver.h */

/*
 * One way to compute a product: a tile, and into how many parts k is split: 0: k is not split; -1: stream-K; else what
 * the geometry's `parts` is to be. Wisdom names it "64x128x16:8x8:1:0": rows, columns, depth, rows and columns of a
 * work-item, slices, parts; where operands are split, behind that ":2", into how many words each.
 */
typedef struct lfuse__matmul_candidate {
    int rows, columns, depth, item_rows, item_columns, slices, parts;
    int words; /* 0: operands are not split */
    double time; /* estimated, in cycles; no part of the name */
} lfuse__matmul_candidate;
enum { LFUSE__MATMUL_CANDIDATES = 8, LFUSE__MATMUL_CANDIDATE_NAME = 48 };
void lfuse__matmul_candidate_print(const lfuse__matmul_candidate *c, char name[LFUSE__MATMUL_CANDIDATE_NAME]);
/* Sets all of *c but its time to what the name says; returns false, with *c undefined, where it is no such name. */
bool lfuse__matmul_candidate_parse(const char *name, lfuse__matmul_candidate *c);

/* The sizes of a product whose class has operands, body, ta, tb, and what is asked for. */
typedef struct lfuse__matmul_problem {
    const int64_t *extents; /* m, n, k, and of a batched class how many products */
    bool vendor;            /* a vendor's product is an alternative: it is preferred where it is taken for faster */
    bool behind;            /* the epilogue would be a kernel behind the vendor's product */
    bool unsized;           /* the plan does not know the sizes: one of the classes that were compiled ahead for them,
                               which lfuse__matmul_classes returns for bounds that differ */
    bool low_memory;        /* the device has no memory left: k is not split where that can be avoided, which needs no
                               workspace. With `parts` 1 in the geometry, every solver takes the least that it can */
    const lfuse__matmul_candidate *candidate; /* this one; NULL: the cheapest. Ignored where `low_memory` is set */
} lfuse__matmul_problem;

/*
 * Completes the class for the problem: solver, sum, tile. ERR_UNSUPPORTED, with each solver's reason, where nobody
 * computes such a product on the device, where the vendor is preferred, or where it is cheaper to sum columns in a
 * launch of its own.
 */
lfuse_status lfuse__matmul_choose(const lfuse__facts *facts, const lfuse__matmul_problem *p, lfuse__kernel_class *c);
/*
 * Lists the classes that lfuse__matmul_choose may complete *c to for extents within the bounds, as many as there is
 * room for in classes[LFUSE__MATMUL_CLASSES]. Returns how many; 0: nobody computes such products.
 */
enum { LFUSE__MATMUL_CLASSES = 24 };
int lfuse__matmul_classes(const lfuse__facts *facts, const int64_t *low, const int64_t *high,
                          const lfuse__kernel_class *c, lfuse__kernel_class *classes);
/*
 * Lists the candidates that may be the fastest, the fastest by estimate first, in all[LFUSE__MATMUL_CANDIDATES].
 * Returns how many; 0 where there is one way alone.
 */
int lfuse__matmul_candidates(const lfuse__facts *facts, const int64_t *extents, const lfuse__kernel_class *c,
                             lfuse__matmul_candidate *all);

/* Returns how many simple operations the body has (lfuse__op_weight). */
double lfuse__product_work(const lfuse__kernel_class *c);

/* Sets sides[noperands]: LFUSE__PRODUCT_A or _B, whose prologue loads the operand, or -1, where the epilogue does. */
void lfuse__product_sides(const lfuse__kernel_class *c, int8_t *sides);
/*
 * Return whether operand j, or all operands of a side that can lie in vectors, may be accessed in vectors of so many
 * elements: strides are whole numbers of vectors, and addresses allow it. So do rows of D, where `side` is -1.
 */
bool lfuse__product_aligned(const lfuse__kernel_class *c, const lfuse__geometry *g, int j, int vector);
bool lfuse__product_side_aligned(const lfuse__kernel_class *c, const lfuse__geometry *g, int side, int vector);
/*
 * Limit what a text loads and computes: to the instructions that are marked in needed[ninstr]; to the epilogue; and to
 * the prologue of A or B, which is a text of its own.
 */
void lfuse__product_text_limit(lfuse__text *t, const bool *needed);
void lfuse__product_text_own(lfuse__text *t);
void lfuse__product_text_prologue(const lfuse__text *t, int i, lfuse__text *made);

/*
 * The phases of the class, one launch each: from lfuse__product_first on, below lfuse__product_phases. Those of a run
 * go in this order; where the class keeps something, the last one prepares it, and goes before all runs. The first one
 * is not 0 where all that a launch in front would prepare is kept: that launch has no kernel.
 */
int lfuse__product_first(const lfuse__kernel_class *c);
int lfuse__product_phases(const lfuse__kernel_class *c);
/* Returns whether the class's phase is the one that prepares what is kept. */
bool lfuse__product_prepares(const lfuse__kernel_class *c);
/*
 * Returns how many bytes at the beginning of the workspace hold tickets, by which groups that sum parts of k find out
 * who is the last. They have to be 0 before the first launch and are 0 again after each, so that products that follow
 * each other may share them.
 */
uint64_t lfuse__product_tickets(const lfuse__kernel_class *c);
/* Returns the bytes of the workspace for the geometry, 0: none. Except for tickets its contents do not matter. */
uint64_t lfuse__product_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);
/* Returns the bytes of what is kept from run to run, whose offset is a multiple of 64; 0: nothing is. */
uint64_t lfuse__product_kept(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g);

/*
 * Appends the text of a kernel `name` of the class. ERR_UNSUPPORTED where its solver does not run on the device;
 * lfuse__product_check says what else is refused.
 */
lfuse_status lfuse__product_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                 const lfuse__facts *facts);
/*
 * Sets the argument words and the groups of the launch of the class's phase. It is called again for the same geometry
 * at other addresses or with other scalars. ERR_UNSUPPORTED where there are too many words or groups.
 */
lfuse_status lfuse__product_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                 lfuse__packed *packed);
/* Adds to the key of a class what products differ in. */
void lfuse__key_add_product(lfuse__kernel_key *key, const lfuse__product_class *p);

/* check.c: ERR_INVALID, _TYPE or _UNSUPPORTED where the class is not what the head of this file says. */
lfuse_status lfuse__product_check(const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts);
/* check.c: ERR_TYPE where the types of A, B and SUM do not belong to product.sum, or one of them is written. */
lfuse_status lfuse__product_check_types(const lfuse__kernel_class *c);

/*
 * words.c: the numbers of a kernel's argument words, of 64 bits each: byte offsets of the operands, then those below,
 * then the strides of the epilogue's operands, its scalars, and the solver's own words.
 */
typedef struct lfuse__product_layout {
    const char *word; /* "W", argument words; "OF_": variables of_<number>, of GROUPED kernels */
    int m, n, k, lda, ldb;
    int workspace; /* byte offset in the last buffer */
    int batch;     /* how many products; -1: not batched */
    int apart[LFUSE__MAX_OPERANDS]; /* of a batch: bytes from one matrix to the next; -1: none, or no memory */
    int rows[LFUSE__MAX_OPERANDS], columns[LFUSE__MAX_OPERANDS]; /* of the stride; columns -1: REPEAT or UNIT */
    int numbers;
    int own;       /* the first one of the solver */
} lfuse__product_layout;
/* Sets the layout of the class's argument words. */
void lfuse__product_layout_make(const lfuse__kernel_class *c, lfuse__product_layout *layout);
/* Fills all but the `own` words of the solver; ERR_UNSUPPORTED where the argument block has no room for both. */
lfuse_status lfuse__product_layout_pack(const lfuse__kernel_class *c, const lfuse__geometry *g, int own,
                                        lfuse__packed *packed);
/* Writes to text[size] an i64 expression: the element offset of operand j at a row and column, expressions too. */
void lfuse__put_product_place(const lfuse__kernel_class *c, const lfuse__product_layout *layout, int j,
                              const char *row, const char *column, char *text, size_t size);
/*
 * Writes to text[size] an expression: the address of operand j, of a batch that of product `matrix`, a u64 in scope. Of
 * GROUPED kernels it is p<j>, which is in scope.
 */
void lfuse__put_product_first(const lfuse__product_layout *layout, int j, char *text, size_t size);
/* Puts declarations: p<j>, the addresses of the epilogue's operands. */
void lfuse__put_product_memory(lfuse__strbuf *out, int indent, const lfuse__kernel_class *c,
                               const lfuse__product_layout *layout);
/*
 * Puts loads, or stores, of `vector` neighbouring elements of operand j, 16 bytes at a time: between its memory, from
 * the element offset `at` on, and the u32 array `words`, which are expressions.
 */
void lfuse__put_product_vector(lfuse__strbuf *out, int indent, const lfuse__kernel_class *c, int j, int vector,
                               bool load, const char *at, const char *words);
/*
 * lanes.c, on CPUs: puts loads of the epilogue's operands into x<j>, or stores of y<j>, at a row and from a column on,
 * which are expressions: of LANES elements where `count` is that, else of `count`.
 */
void lfuse__put_product_lanes(const lfuse__text *t, const lfuse__product_layout *layout, int indent, bool load,
                              const char *row, const char *column);

#endif
