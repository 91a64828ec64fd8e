/* SPDX-License-Identifier: Apache-2.0 */
/* What is done for each kind of step of a plan: common/plan/families.def has a row for each. */
#ifndef COMMON_RUN_COMPILE_STEPS_H
#define COMMON_RUN_COMPILE_STEPS_H

#include "common/run/compile/entry.h"

/* Fills in the classes of a step's kernels; returns how many. `wanted` is zero before. */
typedef int lfuse__classes_of_step(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                                   lfuse__kernel_class *wanted);
/*
 * Fills in those classes that can share a launch with other kernels, of one width of indices and within the bounds of
 * the step's sizes; returns how many.
 */
typedef int lfuse__share_step(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                              bool index64, lfuse__kernel_class *classes);
/* wants.c: the list of an entry that is being filled with what the plan can foresee. */
typedef struct lfuse__wants lfuse__wants;
/* Puts the kernels that a plan compiles for the step in the entry's list. */
typedef lfuse_status lfuse__want_step(lfuse__wants *w, const lfuse__step *step);

/* What is done for one kind of step. */
typedef struct lfuse__step_row {
    lfuse__family family; /* of the first of its kernels */
    lfuse__classes_of_step *classes;
    lfuse__want_step *want;
    lfuse__share_step *share;
    int launches; /* host time of its launches, counted in launches of one of the library's kernels: replay.c */
} lfuse__step_row;

/* steps.c: by kind. */
extern const lfuse__step_row lfuse__step_rows[LFUSE__STEP_KINDS];

/* classes.c. `loop`: one kernel over tensors; `nothing`: it has no kernels of its own. */
lfuse__classes_of_step lfuse__classes_of_loop, lfuse__classes_of_lists, lfuse__classes_of_grouped,
    lfuse__classes_of_scatter, lfuse__classes_of_product, lfuse__classes_of_strassen, lfuse__classes_of_nothing;

/*
 * wants.c. `kernels`: those of lfuse__step_classes, for small sizes and for large ones as the bounds say, and as the
 * family's `choose` makes them for sizes within the bounds; `rows`, `products`: of these the forms and the tiles that
 * some size within the bounds is given; `nothing`: instances choose.
 */
lfuse__want_step lfuse__want_bundle, lfuse__want_lists, lfuse__want_kernels, lfuse__want_rows, lfuse__want_products,
    lfuse__want_nothing;

/*
 * share.c. `kernel`: the first of lfuse__step_classes; `rows`: the forms of one launch that some size within the bounds
 * is given; `product`: the tile for the sizes, if they are fixed; `nothing`: it shares none.
 */
lfuse__share_step lfuse__share_kernel, lfuse__share_rows, lfuse__share_product, lfuse__share_nothing;

#endif
