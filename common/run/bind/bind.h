/* SPDX-License-Identifier: Apache-2.0 */
/* What is bound: names, sizes, numbers by group, memory that overlaps. For common/run/ alone. */
#ifndef COMMON_RUN_BIND_BIND_H
#define COMMON_RUN_BIND_BIND_H

#include "common/run/instance.h"

/* ---- bind.c: which object stands for which name, and whether it may ---- */
/* Returns the number of a name of the plan, or -1. `likely` is looked at first. */
int lfuse__bind_name(const lfuse_plan *plan, const char *name, int likely);
/* Returns the number of a size variable among the plan's sizes, or -1. */
int lfuse__bind_size(const lfuse_plan *plan, const char *name);
/*
 * Fills slots[0 ... nnames - 1] with what the bindings say: kinds, but no types or shapes, are checked. Slots of names
 * that are not bound are empty. in->bound[i].mark is in->mark for the names that are bound.
 */
lfuse_status lfuse__bind_match(lfuse_instance *in, const lfuse_binding *bindings, int count, lfuse__slot *slots);
/* Checks type, rank and device of the tensor or list in the slot, and the shape where it is not NULL. */
lfuse_status lfuse__bind_check(const lfuse_plan *plan, int name, const lfuse__slot *slot, const int64_t *shape);
/* Returns ERR_BINDING, with a message that nothing is bound to the name. */
lfuse_status lfuse__bind_missing(const lfuse_plan *plan, int name);
/* Checks all slots against what the instance was made for; none may be empty but those of scalars. */
lfuse_status lfuse__bind_check_all(const lfuse_instance *in, const lfuse__slot *slots);
/* Returns whether slots and bindings have the sizes, lists and frozen tensors of the instance. */
bool lfuse__bind_fits(const lfuse_instance *in, const lfuse__slot *slots, const lfuse_binding *bindings, int count);

/* ---- sizes.c: the values of size variables ---- */
#define LFUSE__SIZE_NONE INT64_MIN
/*
 * Computes sizes[0 ... nsizes - 1]: variables from the shapes in the slots and from the bindings of sizes, which have
 * to agree, and then expressions of them. An expression may be negative; one that does not fit 64 bits is SIZE_NONE.
 */
lfuse_status lfuse__sizes_solve(const lfuse_plan *plan, const lfuse__slot *slots, const lfuse_binding *bindings,
                                int count, int64_t *sizes);
/* Computes the shape of a name's tensor, [rank], from the sizes. */
lfuse_status lfuse__sizes_shape(const lfuse_plan *plan, int name, const int64_t *sizes, int64_t *shape);

/* ---- groups.c: scalars with a number for each group of a list's members ---- */
/*
 * Finds how many numbers each scalar may have, from the lists that the instance keeps: in->group_counts. ERR_SHAPE: the
 * lists of one step have different groups.
 */
lfuse_status lfuse__groups_find(lfuse_instance *in);
/* Checks that scalars have one number or one for each group. Of a scalar that no step reads, the first one is kept. */
lfuse_status lfuse__groups_check(const lfuse_instance *in, lfuse__slot *slots);
/* Returns the list whose groups have numbers of their own in the step; NULL: no list has. */
const lfuse_list *lfuse__step_groups(const lfuse_instance *in, const lfuse__step *step);
/* Takes the scalars of a run for each group. Returns whether any of them differs from that of the last run. */
bool lfuse__groups_take(lfuse_instance *in, const lfuse__slot *slots);

/* ---- overlap.c ---- */
/* Allocates what the checks remember from one run to the next. */
lfuse_status lfuse__overlap_create(lfuse_instance *in);
/* Checks that memory that is written overlaps nothing else that is bound. The slots have been located. ERR_OVERLAP. */
lfuse_status lfuse__overlap_check(lfuse_instance *in, const lfuse__slot *slots);
/*
 * Checks the first `bytes` bytes of the stream's scratch, where that is the caller's memory, against all that is bound.
 */
lfuse_status lfuse__overlap_scratch(const lfuse_instance *in, const lfuse__slot *slots, const lfuse__range *scratch,
                                    uint64_t bytes);

#endif
