/* SPDX-License-Identifier: Apache-2.0 */
/* What is done for each kind of step of a plan: steps.c has a row for each. */
#ifndef COMMON_RUN_STEPS_H
#define COMMON_RUN_STEPS_H

#include "common/run/entry.h"

typedef struct lfuse__step_row {
    /* Adds the operations of an instance. NULL: the step is in no alternative of a stage. */
    lfuse_status (*furnish)(lfuse_instance *in, const lfuse__step *step);
    /* lfuse__step_classes for it, `wanted` being zero. NULL: it has no kernels of its own. */
    int (*classes)(const lfuse__plan_body *plan, const lfuse__step *step, bool index64, lfuse__kernel_class *wanted);
    /* Puts what a plan compiles for it in the entry's list. NULL: instances choose. */
    lfuse_status (*want)(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts);
    int launches; /* as many kernels of one launch take a host as long */
} lfuse__step_row;

extern const lfuse__step_row lfuse__step_rows[LFUSE__STEP_KINDS];

/* classes.c */
int lfuse__classes_of_loop(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                           lfuse__kernel_class *wanted);
int lfuse__classes_of_lists(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                            lfuse__kernel_class *wanted);
int lfuse__classes_of_grouped(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                              lfuse__kernel_class *wanted);
int lfuse__classes_of_scatter(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                              lfuse__kernel_class *wanted);
int lfuse__classes_of_product(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                              lfuse__kernel_class *wanted);
int lfuse__classes_of_strassen(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                               lfuse__kernel_class *wanted);

/* wants.c */
lfuse_status lfuse__want_bundle(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts);
lfuse_status lfuse__want_lists(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts);
/* The kernels of lfuse__step_classes, for small sizes and for large ones as the bounds say. */
lfuse_status lfuse__want_classes(lfuse__body_entry *e, const lfuse__step *step, const lfuse__facts *facts);

#endif
