/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels share a launch, for common/run/ alone. */
#ifndef COMMON_RUN_COMPILE_BUNDLE_H
#define COMMON_RUN_COMPILE_BUNDLE_H

#include "common/run/compile/body.h"

/* A kernel that may share a launch with others. */
typedef struct lfuse__sharer {
    const lfuse__kernel_class *k; /* POINTWISE, ROWS or PRODUCT. NULL: long rows, which take two launches alone */
    int launch;                   /* the number of the launch that it gets; -1: it shares none */
    int part;                     /* its part of that launch: equal classes are one part */
} lfuse__sharer;

/*
 * Gives every kernel its launch and part; *launches: how many launches there are. The result depends on classes and
 * facts alone, so that what is compiled with the plan is what an instance asks for.
 */
lfuse_status lfuse__bundle_share(const lfuse__facts *facts, lfuse__sharer *sharers, int count, int *launches);
/*
 * Makes the bundle of the kernels with this number of a launch. *bundle is NULL where that is one kernel alone, or
 * where their texts cannot be put together: they have launches of their own then.
 */
lfuse_status lfuse__bundle_of(const lfuse__facts *facts, const lfuse__sharer *sharers, int count, int launch,
                              lfuse__bundle **bundle);
/* Returns whether two bundles have equal kernels and members. */
bool lfuse__bundle_equal(const lfuse__bundle *a, const lfuse__bundle *b);
/*
 * Fills in one of the classes that a child's kernel can have within the bounds of its sizes, when its tensors are
 * contiguous as declared: number `index`, or the last one where there are not so many. Returns how many there are; 0:
 * the child shares no launch.
 */
int lfuse__child_class(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts, int index,
                       lfuse__sharer *sharer, lfuse__kernel_class *k);

#endif
