/* SPDX-License-Identifier: Apache-2.0 */
/** Lists of tensors: any number of members of one type, worked on in one launch. */
#ifndef LIBFUSE_LIST_H
#define LIBFUSE_LIST_H

#include <libfuse/base.h>
#include <libfuse/status.h>
#include <libfuse/tensor.h>

typedef struct lfuse_list lfuse_list;

LFUSE_BEGIN_DECLS

/**
 * A list of `count` tensors (0 is allowed) of one device and one type, of any shapes. The list holds the members'
 * memory; the tensors themselves may be destroyed.
 * A member is contiguous, or its last axis is and those before it are matrices of rows that lie apart: parts of larger
 * matrices (the stride of the last but one axis is what BLAS calls the leading dimension), one behind the other or
 * side by side (each of two rows or more, where one is written). Such members are for products of lists
 * (libfuse/members.h) alone; whatever else takes a list walks its members flat, and refuses them (ERR_UNSUPPORTED) when
 * an instance is made. Where such members are written and lie in common rows, each is compared with all others of these
 * rows.
 * Errors: ERR_TYPE, ERR_CONTEXT, ERR_UNSUPPORTED (elements of rows that are not neighbours, matrices at different
 * distances), ERR_INVALID (NULL, a leading dimension smaller than a row, matrices that overlap), each naming the
 * member.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_list_create(lfuse_device *device, lfuse_type type, int64_t count,
                                                          lfuse_tensor *const *members, lfuse_list **list);
/**
 * Replaces members' memory in place, for example by the gradients of the next step: same count, type and shapes, and
 * strides where they are not contiguous. Runs already submitted keep the old memory.
 * Errors: those of lfuse_list_create; ERR_INVALID (members that the list has not), ERR_SHAPE (another number of
 * elements, or other strides), naming the member.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_list_replace(lfuse_list *list, int64_t first, int64_t count,
                                                           lfuse_tensor *const *members);
/**
 * Divides the members into groups with numbers of their own (the parameter groups of an optimizer): group i starts at
 * member first[i] and ends where the next one starts; first[0] is 0 and the others ascend (where two are equal, a group
 * is empty). A scalar that is bound by lfuse_bind_scalars then has one number for each group. To be called before the
 * list is bound for the first time; 1 group is none. Lists of one kernel agree in their groups, or only some have any.
 * Errors: ERR_INVALID, ERR_STATE (an instance or a recording uses the list).
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_list_set_groups(lfuse_list *list, int64_t groups, const int64_t *first);
LFUSE_API void lfuse_list_destroy(lfuse_list *list);
LFUSE_API int64_t lfuse_list_count(const lfuse_list *list);

LFUSE_END_DECLS
#endif
