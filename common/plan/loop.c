/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Which loop axes can be walked as one whatever the sizes are, when all tensors are contiguous as declared. */
#include "common/plan/plan.h"

#include <string.h>

void lfuse__plan_memory(const lfuse__plan_body *plan, const lfuse__operand *o, int *rank, const lfuse_size **shape)
{
    if (o->place == LFUSE__PLACE_BOUND) {
        const lfuse__node *n = &plan->graph->nodes[plan->graph->names[o->index].node];
        *rank = n->rank;
        *shape = n->shape;
    } else {
        *rank = plan->buffers[o->index].rank;
        *shape = plan->buffers[o->index].shape;
    }
}

/* Whether the operand walks loop axes a and then b as it would walk one axis. */
static bool merges(const lfuse__plan_body *plan, const lfuse__operand *o, int a, int b)
{
    const lfuse_size *shape;
    int rank, i;

    if (o->axis[a] < 0 && o->axis[b] < 0) return true;
    if (o->axis[a] < 0 || o->axis[b] <= o->axis[a]) return false;
    lfuse__plan_memory(plan, o, &rank, &shape);
    for (i = o->axis[a] + 1; i < o->axis[b]; i++)
        if (shape[i] != 1) return false;
    return true;
}

static bool all_merge(const lfuse__plan_body *plan, const lfuse__step *step, int a, int b)
{
    int i;

    for (i = 0; i < step->noperands; i++)
        if (!merges(plan, &step->operands[i], a, b)) return false;
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
