/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of small graphs as text, for tests of the passes. No device. */
#ifndef TESTS_PLAN_RIG_H
#define TESTS_PLAN_RIG_H

#include <libfuse.h>

#include "common/graph/graph.h"
#include "common/plan/plan.h"
#include "tests/support/main.h"

extern lfuse_graph *g;              /* of this test; made and destroyed by the fixture */
extern lfuse_graph *canonical;      /* of the last plan */
extern lfuse__plan_body *plan;
extern lfuse__strbuf text;
extern lfuse_strassen rig_strassen; /* of the next plans; the fixture sets it to 0 */
extern lfuse_precision rig_precision; /* as this */
extern bool rig_splits;             /* the device gains by split operands; the fixture sets it to false */
extern lfuse__facts rig_facts;      /* everything the device has: f64 */

void rig_setup(void);
void rig_h200(void); /* the device is one: 132 units, 51 TFLOP/s in f32, copies at 4.27 TB/s */
/* The device is a GPU on which kernels by tiles compute products, and those of a library as told. */
void rig_tiles(lfuse__products products);
void rig_teardown(void);
/* Plans the graph without these passes, and prints the plan into `text`. */
void rig_make(unsigned disable);
/* Without these and bundles, which have tests of their own, the plan is printed so. */
#define rig_expect_without(disable, wanted)                                                                            \
    do {                                                                                                               \
        rig_make((disable) | LFUSE_NO_BUNDLES);                                                                        \
        ck_assert_str_eq(text.data, wanted);                                                                           \
    } while (0)
#define rig_expect(wanted) rig_expect_without(0, wanted)
/* With bundles, and in an order that holds. */
#define rig_expect_bundled(wanted)                                                                                     \
    do {                                                                                                               \
        rig_make(0);                                                                                                   \
        ck_assert_str_eq(text.data, wanted);                                                                           \
        rig_check_order();                                                                                             \
    } while (0)
/* The graph of which plans are made, in place of those of before. */
void rig_canonical(void);
/* The steps of one alternative of a stage. */
const char *rig_alternative(int stage, int i);

lfuse_value rig_list(const char *name);                                     /* f32, of any rank */
lfuse_value rig_number(double x);
lfuse_value rig_concat(lfuse_value x, lfuse_value y, int axis);
/* A reduction over axes, ascending. */
lfuse_value rig_reduce(lfuse_value a, lfuse__reduce op, int count, const int *axes, int keepdims);
/* Whatever a step reads of scratch was stored by an earlier one; steps of one bundle do not touch what others store. */
void rig_check_order(void);
/* Over the last axis, which stays as 1. */
lfuse_value rig_row(lfuse_value a, lfuse__reduce op);
lfuse_value rig_softmax(lfuse_value x);

#endif
