/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that kernels take with each launch: functions of scalars, each once a plan; and those that a run refuses
 * where an integer type cannot hold them.
 */
#include "common/plan/draft.h"

#include <stdlib.h>

#include "common/base/error.h"

lfuse_status lfuse__draft_number(lfuse__draft *d, int32_t node, int *index)
{
    lfuse__plan_body *out = d->out;
    int32_t *numbers;

    if (d->nodes[node].number < 0) {
        numbers = realloc(out->numbers, ((size_t)out->nnumbers + 1) * sizeof *numbers);
        if (!numbers)
            return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d numbers)",
                                out->nnumbers + 1);
        out->numbers = numbers;
        d->nodes[node].number = out->nnumbers;
        out->numbers[out->nnumbers++] = node;
    }
    *index = d->nodes[node].number;
    return LFUSE_OK;
}

static bool is_checked(const lfuse__node *n)
{
    return n->kind == LFUSE__CAST && n->op == LFUSE__CAST_CHECKED;
}

lfuse_status lfuse__pass_checked(lfuse__draft *d)
{
    lfuse__plan_body *out = d->out;
    int32_t node;
    int count = 0;

    for (node = 0; node < d->g->nnodes; node++) count += is_checked(lfuse__draft_node(d, node));
    if (!count) return LFUSE_OK;
    out->checked = malloc((size_t)count * sizeof *out->checked);
    if (!out->checked)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d numbers)", count);
    for (node = 0; node < d->g->nnodes; node++)
        if (is_checked(lfuse__draft_node(d, node))) out->checked[out->nchecked++] = node;
    return LFUSE_OK;
}
