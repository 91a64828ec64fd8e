/* SPDX-License-Identifier: Apache-2.0 */
/* Scattered rows that are many: a step of their own, over memory. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/plan/draft.h"

lfuse_status lfuse__make_scatter(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node), *source = lfuse__draft_node(d, n->in[0]);
    lfuse__view walk;
    lfuse__step *step;
    int i;

    LFUSE__TRY(lfuse__stage_add(stage, "kernels", 1));
    step = stage->alternatives[0].steps;
    step->kind = LFUSE__STEP_SCATTER;
    step->prepare = u->phase == LFUSE__PHASE_PREPARE;
    step->rank = n->rank;
    memcpy(step->extents, n->shape, sizeof step->extents);
    step->scattering.rank = source->rank;
    step->scattering.indices = lfuse__draft_node(d, n->in[1])->rank;
    memcpy(step->scattering.shape, source->shape, sizeof step->scattering.shape);
    step->operands = calloc(3, sizeof *step->operands);
    if (!step->operands) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made");
    step->noperands = 3;
    for (i = 0; i < 2; i++) {
        const int32_t base = lfuse__draft_operand(d, u->node, i, &walk);
        LFUSE__TRY(lfuse__draft_operand_at(d, base, &d->memory[base].home, &walk, &step->operands[i]));
    }
    lfuse__view_identity(d, u->node, &walk);
    LFUSE__TRY(lfuse__draft_operand_at(d, u->node, &d->memory[u->node].home, &walk, &step->operands[2]));
    step->operands[2].written = true;
    return LFUSE_OK;
}
