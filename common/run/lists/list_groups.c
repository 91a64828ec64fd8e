/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of a list's members. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/run/tensors/tensor.h"

static lfuse_status check_groups(const lfuse_list *l, int64_t groups, const int64_t *first)
{
    if (groups < 1 || groups > UINT32_MAX)
        return lfuse__error(LFUSE_ERR_INVALID, "%" PRId64 " groups: a list has 1 to %" PRId64, groups,
                            (int64_t)UINT32_MAX);
    for (int64_t i = 0; i < groups; i++) {
        if (!i && first[0])
            return lfuse__error(LFUSE_ERR_INVALID, "the first group starts at member %" PRId64 ", not 0", first[0]);
        if (first[i] < 0 || first[i] > l->count || (i && first[i] < first[i - 1]))
            return lfuse__error(LFUSE_ERR_INVALID, "group %" PRId64 " starts at member %" PRId64 " of %" PRId64
                                ", group %" PRId64 " at %" PRId64, i, first[i], l->count, i - (i > 0),
                                first[i - (i > 0)]);
    }
    /* The caller has one reference of each kind; any other is an instance's or a recording's. */
    if (atomic_load(&l->holders) > 1 || atomic_load(&l->references) > 1)
        return lfuse__error(LFUSE_ERR_STATE, "the list is in use: its groups are set before it is bound");
    return LFUSE_OK;
}

lfuse_status lfuse__list_set_groups(lfuse_list *l, int64_t groups, const int64_t *first)
{
    int64_t *own;

    LFUSE__TRY(lfuse__device_usable(l->dev));
    LFUSE__TRY(check_groups(l, groups, first));
    own = groups > 1 ? malloc(((size_t)groups + 1) * sizeof *own) : NULL;
    if (groups > 1 && !own) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for %" PRId64 " groups", groups);
    for (int64_t i = 0; own && i <= groups; i++) own[i] = i < groups ? first[i] : l->count;
    free(l->group_first);
    l->group_first = own;
    l->groups = own ? groups : 0;
    return LFUSE_OK;
}
