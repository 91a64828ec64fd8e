/* SPDX-License-Identifier: Apache-2.0 */
/* Which loop axes can be walked as one whatever the sizes are, when all tensors are contiguous as declared. */
#include "common/plan/draft.h"

#include <string.h>

/* Elements from one index of the loop axis to the next. */
static void stride_of(const lfuse_graph *g, const lfuse__operand *o, int axis, lfuse__factors *f)
{
    int i;

    lfuse__factors_of(g, o->axis[axis] < 0 ? 0 : o->step[axis], f);
    for (i = o->axis[axis] + 1; i > 0 && i < o->rank; i++) lfuse__factors_times(g, f, o->shape[i]);
}

static bool is_zero(const lfuse__factors *f)
{
    return f->known && !f->number;
}

bool lfuse__plan_merges(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__operand *o, int a, int b)
{
    lfuse__factors outer, inner;

    stride_of(plan->graph, o, a, &outer);
    stride_of(plan->graph, o, b, &inner);
    lfuse__factors_times(plan->graph, &inner, step->extents[b]);
    return (is_zero(&outer) && is_zero(&inner)) || lfuse__factors_equal(&outer, &inner);
}

lfuse__stepping lfuse__plan_stepping(const lfuse__plan_body *plan, const lfuse__operand *o, int axis)
{
    lfuse__factors f;

    stride_of(plan->graph, o, axis, &f);
    if (is_zero(&f)) return LFUSE__STEPPING_NONE;
    return f.known && f.number == 1 && !f.count ? LFUSE__STEPPING_UNIT : LFUSE__STEPPING_ANY;
}

static bool all_merge(const lfuse__plan_body *plan, const lfuse__step *step, int a, int b)
{
    int i;

    for (i = 0; i < step->noperands; i++)
        if (!lfuse__plan_merges(plan, step, &step->operands[i], a, b)) return false;
    return true;
}

void lfuse__plan_loop(const lfuse__plan_body *plan, const lfuse__step *step, int barrier, lfuse__loop *loop)
{
    int i, last = -1; /* axis of extent other than literal 1 in the present merged axis */

    memset(loop, 0, sizeof *loop);
    loop->rank = 1;
    for (i = 0; i < step->rank; i++) {
        const bool starts = i == barrier && i > 0;
        if (starts) last = -1;
        if (!starts && (step->extents[i] == 1 || last < 0 || all_merge(plan, step, last, i))) {
            if (step->extents[i] != 1) last = i;
            continue;
        }
        loop->first[loop->rank++] = (int8_t)i;
        if (step->extents[i] != 1) last = i;
    }
    loop->first[loop->rank] = (int8_t)step->rank;
}
