/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies between the small products of Strassen's algorithm. One level computes a product by seven of half the size:
 * with quarters in the order of rows, product o is that of factor o of the left operand, a, and of the right one, b:
 *
 *     o         0        1        2        3        4        5        6
 *     left      a0       a0+a1    a2+a3    a3       a0+a3    a1-a3    a0-a2
 *     right     b1-b3    b3       b0       b2-b0    b0+b3    b2+b3    b0+b1
 *
 * and the result's quarters are the sums, in this order,
 *     -m1+m3+m4+m5    m0+m1    m2+m3    m0-m2+m4-m6.
 * L levels do so with each product again: 7^L products of matrices smaller by 2^L, number o of a level and i of those
 * below it being o * 7^(L - 1) + i. Factors and products lie in memory as [7^L][rows / 2^L][columns / 2^L], contiguous.
 * Additions are by level, the inner ones first, in the order above, so that all devices have the same bits.
 *
 * One kernel reads products (or plain matrices), evaluates a body for every element of the result, and writes factors
 * (or plain matrices): before a network it makes factors of its input, between two layers products become factors of
 * the next layer's, at its end products become a matrix. Anything else that the body stores is stored plain. Rows and
 * columns that there are not, up to the padded sizes, count as 0 in factors, whatever the body makes there.
 *
 * The class is a product's (problem.h), so that its epilogue is a body here too: rank 2, naxes 0, `strassen`, product
 * all 0, and of the operands
 *     [LFUSE__STRASSEN_PRODUCTS]   read; memory where levels_in is not 0
 *     [LFUSE__STRASSEN_FACTORS]    written; memory where levels_out is not 0. The body's value for it goes on
 *     [LFUSE__PRODUCT_SUM]         no memory: a LOAD of it is the result of the products, where levels_in is not 0
 *     from LFUSE__PRODUCT_OWN on   plain, as in products
 * Products and factors are of one register type, f32 or f64, which is SUM's type. Sums are made in it: a factor of f16
 * or bf16 is rounded once, when it is stored.
 *
 * The geometry: extents m, n, and both padded; strides of the plain operands by row and column; offsets and addresses
 * as always, those of products and factors multiples of 16.
 */
#ifndef COMMON_MATMUL_STRASSEN_H
#define COMMON_MATMUL_STRASSEN_H

#include "common/matmul/problem.h"

enum {
    LFUSE__STRASSEN_PRODUCTS = LFUSE__PRODUCT_A,
    LFUSE__STRASSEN_FACTORS = LFUSE__PRODUCT_B,
    LFUSE__STRASSEN_LEVELS = 3
};

/*
 * Returns the least extent that kernels of so many levels (the larger of both sides) take for one of `extent`; `inner`:
 * it is that of the axis along which elements of `type`, the smaller of products' and factors', are neighbours.
 */
int64_t lfuse__strassen_padded(const lfuse__facts *facts, lfuse_type type, int levels, bool inner, int64_t extent);

/* Appends the text of a kernel `name` of the class; an error where the class is not what the head of this file says. */
lfuse_status lfuse__strassen_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                  const lfuse__facts *facts);
/*
 * Sets the argument words and the groups of a launch, also for a later run of the same geometry. ERR_INVALID for sizes
 * that are not padded, ERR_UNSUPPORTED for sides of 2^31 and more.
 */
lfuse_status lfuse__strassen_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                  lfuse__packed *packed);

/* ---- for strassen*.c alone ---- */
/* Words behind those of products. */
enum {
    LFUSE__STRASSEN_HIGH,    /* rows of a block, and columns */
    LFUSE__STRASSEN_WIDE,
    LFUSE__STRASSEN_VECTORS, /* all plain operands can be accessed in vectors */
    LFUSE__STRASSEN_WORDS
};

/*
 * A text being written. The padded matrix is cut into side x side blocks, as deep as the deeper of products and
 * factors; a work-item has the same place in all of them: `vector` elements, or in lanes a run of so many vectors that
 * all blocks' lie in the nearest cache, and each matrix is walked along for a while. Names: `i`, `j` of that place in a
 * block, element v of block b: e<b>[v], and vector v of the run, which has `run` of them: e[b][v].
 */
typedef struct lfuse__strassen {
    lfuse__text t;
    lfuse__product_layout l;
    const lfuse__strassen_class *s;
    int levels, side, blocks;
    bool lanes;
    int vector, run; /* elements; vectors, at most */
    const char *sum; /* word of the register type */
} lfuse__strassen;

/*
 * strassen_sums.c: put_sums puts what computes all elements from the products, which begin at p0; put_factors what
 * computes all factors from the elements, and stores them from p1 on.
 */
void lfuse__strassen_put_sums(const lfuse__strassen *s, int indent);
void lfuse__strassen_put_factors(const lfuse__strassen *s, int indent);
/* strassen_items.c on GPUs, strassen_lanes.c on CPUs: put the body over all elements. */
void lfuse__strassen_put_items(const lfuse__strassen *s, int indent);
void lfuse__strassen_put_lanes(const lfuse__strassen *s, int indent);

#endif
