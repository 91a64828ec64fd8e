/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels share a launch, for common/run/ alone. */
#ifndef COMMON_RUN_COMPILE_BUNDLE_H
#define COMMON_RUN_COMPILE_BUNDLE_H

#include "common/run/compile/body.h"

/* A kernel that would share one. */
typedef struct lfuse__sharer {
    const lfuse__kernel_class *k; /* POINTWISE or ROWS */
    int launch, part;            /* the answer; equal classes of a launch are one part */
} lfuse__sharer;

/*
 * Gives every kernel its launch; returns how many launches there are. Depends on classes and facts alone, so that what
 * is compiled with the plan is what an instance asks for.
 */
lfuse_status lfuse__bundle_share(const lfuse__facts *facts, lfuse__sharer *sharers, int count, int *launches);
/*
 * The bundle of those whose launch is number `launch`; NULL where that is only one, or where their texts cannot be one:
 * they then have launches of their own.
 */
lfuse_status lfuse__bundle_of(const lfuse__facts *facts, const lfuse__sharer *sharers, int count, int launch,
                              lfuse__bundle **bundle);
bool lfuse__bundle_equal(const lfuse__bundle *a, const lfuse__bundle *b);
/*
 * One of the classes that a child's kernel can have within the bounds of its sizes, when its tensors are contiguous as
 * declared; returns how many there are. `index`: which; the last one where there are not so many.
 */
int lfuse__child_class(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts, int index,
                       lfuse__sharer *sharer, lfuse__kernel_class *k);

#endif
