/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and classes of products, for the tests of tiles. */
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

/* A map whose words say what it was made of; of a device, which is none, an error. */
static inline lfuse_status some_map(struct lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                                    uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made)
{
    if (dev) return lfuse__error(LFUSE_ERR_DEVICE, "lost");
    map[0] = of->address, map[1] = of->axis[2].extent, map[2] = of->axis[2].apart;
    map[3] = of->axis[0].box * of->bytes, map[4] = of->axis[1].box;
    *made = of->address % 16 == 0;
    return LFUSE_OK;
}

/* A Hopper GPU: warpgroups, and tensor maps that some_map makes. */
static inline lfuse__facts facts_with_maps(void)
{
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_TUNED);
    facts.tensor_cores = facts.wgmma = true;
    facts.dynamic_local_bytes = 226 * 1024, facts.tensor_map = some_map;
    return facts;
}

/* ---- a sum of the columns of what is stored ---- */

/* The body of such classes; the third instruction is one more sum. */
static lfuse__instr summed_instr[3];

static inline void summed_of_type(lfuse__kernel_class *c, lfuse_type type)
{
    static lfuse__store stores[2] = {{.operand = LFUSE__PRODUCT_OWN}, {.reg = 1, .operand = LFUSE__PRODUCT_OWN + 1}};
    static lfuse__body body;
    class_of(c, type);
    summed_instr[0] = c->body->instr[0];
    summed_instr[1] = (lfuse__instr){.kind = LFUSE__I_REDUCE, .op = LFUSE__REDUCE_SUM, .type = LFUSE_F32};
    summed_instr[2] = summed_instr[1];
    body = (lfuse__body){.ninstr = 2, .nstores = 2, .instr = summed_instr, .stores = stores};
    c->body = &body;
    c->naxes = 1;
    c->operands[c->noperands] = c->operands[LFUSE__PRODUCT_OWN];
    c->noperands++;
}

static inline void summed_of(lfuse__kernel_class *c)
{
    summed_of_type(c, LFUSE_F32);
}

static inline lfuse_status choose_summed(int64_t m, int64_t n, int64_t k, lfuse__kernel_class *c)
{
    const lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    summed_of(c);
    return choose(&facts, (int64_t[]){m, n, k}, true, c);
}

#endif
