/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of small graphs as text, for tests of the passes. No device. */
#ifndef TESTS_PLAN_RIG_H
#define TESTS_PLAN_RIG_H

#include <libfuse.h>

#include "common/graph/graph.h"
#include "common/plan/plan.h"

extern lfuse_graph *g;              /* of this test; made and destroyed by the fixture */
extern lfuse_graph *canonical;      /* of the last plan */
extern lfuse__plan_body *plan;
extern lfuse__strbuf text;
extern lfuse_strassen rig_strassen; /* of the next plans; the fixture sets it to 0 */
extern lfuse__facts rig_facts;      /* everything the device has: f64 */

void rig_setup(void);
void rig_teardown(void);
/* Plans the graph without these passes, and prints the plan into `text`. */
void rig_make(unsigned disable);
/* With all passes but bundles, which have tests of their own, the plan is printed so. */
void rig_expect(const char *wanted);
/* The steps of one alternative of a stage. */
const char *rig_alternative(int stage, int i);

lfuse_value rig_input(const char *name, int rank, const lfuse_size *shape); /* f32 */
lfuse_value rig_number(double x);
/* A reduction over axes, ascending. */
lfuse_value rig_reduce(lfuse_value a, lfuse__reduce op, int count, const int *axes, int keepdims);
/* Whatever a step reads of scratch was stored by an earlier one; steps of one bundle do not touch what others store. */
void rig_check_order(void);
/* Over the last axis, which stays as 1. */
lfuse_value rig_row(lfuse_value a, lfuse__reduce op);

#endif
