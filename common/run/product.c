/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Products by the library's own kernels, for actual sizes and strides. */
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/product.h"
#include "common/run/matrix.h"

typedef struct product {
    int64_t extents[3]; /* m, n, k */
    lfuse__matrix matrices[2];
    lfuse__walk walks[LFUSE__MAX_OPERANDS];
    lfuse__stand_ins copies;
} product;

static lfuse_status open(lfuse_instance *in, const lfuse__step *step, const bool transposed[2], product *p)
{
    const int64_t *e = p->extents;
    int i;

    for (i = LFUSE__PRODUCT_OWN; i < step->noperands; i++)
        LFUSE__TRY(lfuse__walk_open(in, &step->operands[i], 2, e, &p->copies, &p->walks[i]));
    if (e[2]) {
        LFUSE__TRY(lfuse__matrix_open(in, &step->operands[0], e[0], e[2], &p->copies, &p->matrices[0]));
        LFUSE__TRY(lfuse__matrix_open(in, &step->operands[1], e[2], e[1], &p->copies, &p->matrices[1]));
    }
    LFUSE__TRY(lfuse__stand_ins_fill(in, step, &p->copies));
    for (i = 0; i < 2; i++) {
        if (e[2]) LFUSE__TRY(lfuse__matrix_straighten(in, step, transposed[i], &p->matrices[i]));
        else p->matrices[i].transposed = transposed[i];
        p->walks[i] = p->matrices[i].walk;
        p->walks[i].type = step->operands[i].type;
        if (!e[2]) p->walks[i].memory.place = LFUSE__PLACE_INDEX; /* nothing of them is read */
    }
    p->walks[LFUSE__PRODUCT_SUM].memory.place = LFUSE__PLACE_INDEX;
    p->walks[LFUSE__PRODUCT_SUM].type = step->operands[LFUSE__PRODUCT_SUM].type;
    return LFUSE_OK;
}

/* The class for these strides. As the plan foresees it where a column is one element wide. */
static void classify(const lfuse__step *step, const product *p, lfuse__kernel_class *c)
{
    int i;

    c->product.ta = p->matrices[0].transposed;
    c->product.tb = p->matrices[1].transposed;
    for (i = LFUSE__PRODUCT_OWN; i < step->noperands; i++) {
        const int64_t stride = p->walks[i].strides[1];
        if (p->extents[1] == 1) continue;
        c->operands[i].inner = stride == 1   ? LFUSE__STRIDE_UNIT
                               : stride == 0 ? LFUSE__STRIDE_REPEAT
                                             : LFUSE__STRIDE_ANY;
    }
}

static lfuse_status add_phase(lfuse_instance *in, const lfuse__step *step, const lfuse__kernel_class *c, int phase,
                              const product *p, int workspace)
{
    lfuse__kernel_op *op;
    int i;

    LFUSE__TRY(lfuse__kernel_op_new(in, step, LFUSE__FAMILY_PRODUCT, &step->body, step->numbers, &op));
    op->k = *c;
    op->k.product.phase = phase;
    memcpy(op->g.extents, p->extents, sizeof p->extents);
    for (i = 0; i < step->noperands; i++) {
        op->starts[i] = lfuse__start_of(&p->walks[i]);
        op->g.strides[i][0] = i < 2 ? p->matrices[i].ld : p->walks[i].strides[0];
        op->g.strides[i][1] = i < 2 ? 1 : p->walks[i].strides[1];
        lfuse__use_memory(in, &op->starts[i].memory);
    }
    if (workspace >= 0) {
        op->partials = (lfuse__memory){ LFUSE__PLACE_SCRATCH, workspace };
        lfuse__use_memory(in, &op->partials);
    }
    LFUSE__TRY(lfuse__kernel_op_reports(in, step, op));
    return lfuse__body_kernel(in->plan->body, in->plan->dev, op->family, &op->k, &op->kernel);
}

static lfuse_status add_phases(lfuse_instance *in, const lfuse__step *step, const lfuse__kernel_class *c,
                               const product *p)
{
    lfuse__geometry g;
    uint64_t bytes;
    int i, workspace = -1;

    memset(&g, 0, sizeof g);
    memcpy(g.extents, p->extents, sizeof p->extents);
    bytes = lfuse__product_workspace(c, in->facts, &g);
    if (bytes) LFUSE__TRY(lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, bytes, &workspace));
    for (i = 0; i < lfuse__product_phases(c); i++) LFUSE__TRY(add_phase(in, step, c, i, p, workspace));
    return LFUSE_OK;
}

lfuse_status lfuse__furnish_product(lfuse_instance *in, const lfuse__step *step)
{
    const lfuse__product *s = &step->product;
    lfuse__wanted wanted[LFUSE__WANTED_MAX];
    lfuse__kernel_class *c = &wanted[0].k;
    product p;

    memset(&p, 0, sizeof p);
    LFUSE__TRY(lfuse__extent_of(in, s->m, &p.extents[0]));
    LFUSE__TRY(lfuse__extent_of(in, s->n, &p.extents[1]));
    LFUSE__TRY(lfuse__extent_of(in, s->k, &p.extents[2]));
    if (!p.extents[0] || !p.extents[1]) return LFUSE_OK;
    lfuse__step_classes(in->body, step, false, wanted);
    LFUSE__TRY(open(in, step, (const bool[]){ c->product.ta, c->product.tb }, &p));
    classify(step, &p, c);
    LFUSE__TRY(lfuse__product_choose(in->facts, p.extents[0], p.extents[1], p.extents[2], in->more, c));
    LFUSE__TRY(add_phases(in, step, c, &p));
    return lfuse__stand_ins_empty(in, step, &p.copies);
}
