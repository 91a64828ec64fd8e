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
 * A list of `count` tensors (0 is allowed) of one device and one type, each contiguous, of any shapes. The list holds
 * the members' memory; the tensors themselves may be destroyed.
 * Errors: ERR_TYPE, ERR_CONTEXT, ERR_UNSUPPORTED (a member that is not contiguous), each naming the member.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_list_create(lfuse_device *device, lfuse_type type, int64_t count,
                                                          lfuse_tensor *const *members, lfuse_list **list);
/**
 * Replaces members' memory in place, for example by the gradients of the next step: same count, type and shapes. Runs
 * already submitted keep the old memory.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_list_replace(lfuse_list *list, int64_t first, int64_t count,
                                                           lfuse_tensor *const *members);
LFUSE_API void lfuse_list_destroy(lfuse_list *list);
LFUSE_API int64_t lfuse_list_count(const lfuse_list *list);

LFUSE_END_DECLS
#endif
