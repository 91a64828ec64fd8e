/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Sums over the last axes; what is pointwise and read by nothing else is computed on the way in. */
#include "common/plan/draft.h"

#include "common/base/error.h"

lfuse_status lfuse__make_sum(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node), *in = lfuse__draft_node(d, n->in[0]);
    int8_t axis[LFUSE_MAX_RANK], rows[LFUSE_MAX_RANK];
    lfuse__step *step;
    lfuse__builder *b;
    lfuse_status status;
    int i, reg;

    LFUSE__TRY(lfuse__builder_create(d, -1, in->rank, in->shape, &b));
    for (i = 0; i < LFUSE_MAX_RANK; i++) {
        axis[i] = (int8_t)(i < in->rank ? i : -1);
        rows[i] = (int8_t)(i < in->rank - n->naxes ? i : -1);
    }
    reg = lfuse__builder_value(b, n->in[0], axis);
    lfuse__builder_store(b, reg, &d->home[u->node], u->node, rows);
    if (lfuse__builder_overflow(b)) {
        status = lfuse__draft_split(d, -1, n->in, 1);
    } else {
        status = lfuse__stage_create(stage, 1, (const int[]){ 1 });
        step = status ? NULL : stage->alternatives[0].steps;
        if (!status) status = lfuse__builder_finish(b, LFUSE__STEP_ROWSUM, step);
        if (!status) {
            step->naxes = n->naxes;
            step->prepare = u->phase == LFUSE__PHASE_PREPARE;
            stage->alternatives[0].name = "kernel";
        }
    }
    lfuse__builder_destroy(b);
    return status;
}
