/* SPDX-License-Identifier: Apache-2.0 */
/* What is bound: names, sizes, numbers by group, memory that overlaps. For common/run/ alone. */
#ifndef COMMON_RUN_BIND_BIND_H
#define COMMON_RUN_BIND_BIND_H

#include "common/run/instance.h"

/* ---- bind.c ---- */
/* The number of a name; `likely` is looked at first. -1: the plan has none of that name. */
int lfuse__bind_name(const lfuse_plan *plan, const char *name, int likely);
/* The same of a size variable. */
int lfuse__bind_size(const lfuse_plan *plan, const char *name);
/*
 * Which binding stands for which name: fills slots[0 ... nnames - 1], empty where nothing is bound. The names that are
 * bound have then the mark of the instance.
 */
lfuse_status lfuse__bind_match(lfuse_instance *in, const lfuse_binding *bindings, int count, lfuse__slot *slots);
/* Kind, type, rank, device of one tensor or list; `shape` NULL: not checked. */
lfuse_status lfuse__bind_check(const lfuse_plan *plan, int name, const lfuse__slot *slot, const int64_t *shape);
lfuse_status lfuse__bind_missing(const lfuse_plan *plan, int name);
/* All slots against what the instance was made for. */
lfuse_status lfuse__bind_check_all(const lfuse_instance *in, const lfuse__slot *slots);
/* Whether the slots have the sizes, lists and frozen tensors of the instance. */
bool lfuse__bind_fits(const lfuse_instance *in, const lfuse__slot *slots, const lfuse_binding *bindings, int count);

/* ---- sizes.c ---- */
#define LFUSE__SIZE_NONE INT64_MIN
/*
 * Size variables from the shapes that are bound, and from sizes given by name; slots[i] stands for names[i]. Then what
 * is made of them, which may be negative.
 */
lfuse_status lfuse__sizes_solve(const lfuse_plan *plan, const lfuse__slot *slots, const lfuse_binding *bindings,
                                int count, int64_t *sizes);
lfuse_status lfuse__sizes_shape(const lfuse_plan *plan, int name, const int64_t *sizes, int64_t *shape);

/* ---- groups.c: numbers by group of members ---- */
/* What the lists that are kept say. ERR_SHAPE where those of one step disagree, or where scalars cannot suit all. */
lfuse_status lfuse__groups_find(lfuse_instance *in);
/* Whether scalars have as many numbers as there are groups. Of scalars that nobody needs, one is kept. */
lfuse_status lfuse__groups_check(const lfuse_instance *in, lfuse__slot *slots);
/* The list whose groups those of the step are; NULL: none. */
const lfuse_list *lfuse__step_groups(const lfuse_instance *in, const lfuse__step *step);
/* Takes the scalars of a run; true when they are others than those of the last. */
bool lfuse__groups_take(lfuse_instance *in, const lfuse__slot *slots);

/* ---- overlap.c ---- */
lfuse_status lfuse__overlap_create(lfuse_instance *in);
lfuse_status lfuse__overlap_check(lfuse_instance *in, const lfuse__slot *slots);
/* That many bytes of a stream's scratch, where it is the caller's, against all that is bound. */
lfuse_status lfuse__overlap_scratch(const lfuse_instance *in, const lfuse__slot *slots, const lfuse__range *scratch,
                                    uint64_t bytes);

#endif
