/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/list.h"

#include "common/api/need.h"
#include "common/run/tensors/tensor.h"

lfuse_status lfuse_list_create(lfuse_device *device, lfuse_type type, int64_t count, lfuse_tensor *const *members,
                               lfuse_list **list)
{
    NEED(device);
    NEED(list);
    if (count > 0) NEED(members);
    return lfuse__list_create(device, type, count, members, list);
}

lfuse_status lfuse_list_replace(lfuse_list *list, int64_t first, int64_t count, lfuse_tensor *const *members)
{
    NEED(list);
    if (count > 0) NEED(members);
    return lfuse__list_replace(list, first, count, members);
}

lfuse_status lfuse_list_set_groups(lfuse_list *list, int64_t groups, const int64_t *first)
{
    NEED(list);
    NEED(first);
    return lfuse__list_set_groups(list, groups, first);
}

void lfuse_list_destroy(lfuse_list *list)
{
    lfuse__list_release(list);
}

int64_t lfuse_list_count(const lfuse_list *list)
{
    return list ? list->count : 0;
}
