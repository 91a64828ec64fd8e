/* SPDX-License-Identifier: Apache-2.0 */
/* A device and classes of plain products, for the tests of tiles. */
#ifndef TESTS_MATMUL_CLASSES_H
#define TESTS_MATMUL_CLASSES_H

#include "common/base/error.h"
#include "common/matmul/problem.h"
#include "tests/kernels/classes.h"
#include "tests/matmul/choose.h"
#include "tests/support/check.h"

enum { UNITS = 132 };

/* An H200. */
static inline lfuse__facts facts_of(lfuse__products products)
{
    lfuse__facts facts = facts_items(true);
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024, facts.info.compute_units = UNITS;
    facts.vendor = LFUSE__VENDOR_NVIDIA, facts.generation = 90;
    facts.products = products;
    return facts;
}

static inline void class_of(lfuse__kernel_class *c, lfuse_type type)
{
    static sample s;
    const lfuse_type sum = lfuse__register_type(type);
    sample_start(&s, LFUSE__FAMILY_PRODUCT, 2, 0);
    for (int j = 0; j <= LFUSE__PRODUCT_OWN; j++)
        sample_operand(&s, j == LFUSE__PRODUCT_SUM ? sum : type, j == LFUSE__PRODUCT_OWN, LFUSE__STRIDE_UNIT);
    sample_store(&s, sample_load(&s, LFUSE__PRODUCT_SUM), LFUSE__PRODUCT_OWN);
    *c = s.k;
}

static inline void geometry_of(lfuse__geometry *g, int64_t m, int64_t n, int64_t k)
{
    memset(g, 0, sizeof *g);
    g->extents[0] = m, g->extents[1] = n, g->extents[2] = k;
    g->strides[LFUSE__PRODUCT_A][0] = k, g->strides[LFUSE__PRODUCT_B][0] = n;
    g->strides[LFUSE__PRODUCT_OWN][0] = n, g->strides[LFUSE__PRODUCT_OWN][1] = 1;
}

static inline lfuse__product_class chosen(const lfuse__facts *facts, int64_t m, int64_t n, int64_t k)
{
    lfuse__kernel_class c;
    class_of(&c, LFUSE_F32);
    OK(choose(facts, (int64_t[]){m, n, k}, true, &c));
    return c.product;
}

#endif
