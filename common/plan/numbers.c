/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Numbers that kernels take with each launch: functions of scalars, each once a plan. */
#include "common/plan/draft.h"

#include <stdlib.h>

#include "common/base/error.h"

lfuse_status lfuse__draft_number(lfuse__draft *d, int32_t node, int *index)
{
    lfuse__plan_body *out = d->out;
    int32_t *numbers;

    if (d->number[node] < 0) {
        numbers = realloc(out->numbers, ((size_t)out->nnumbers + 1) * sizeof *numbers);
        if (!numbers)
            return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d numbers)",
                                out->nnumbers + 1);
        out->numbers = numbers;
        d->number[node] = out->nnumbers;
        out->numbers[out->nnumbers++] = node;
    }
    *index = d->number[node];
    return LFUSE_OK;
}
