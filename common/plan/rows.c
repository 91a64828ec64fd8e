/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Sums over axes; what is pointwise and read by nothing else is computed on the way in. */
#include "common/plan/draft.h"

#include <string.h>

#include "common/base/error.h"

/* The loop of a reduction: the operand's axes that stay, then those that go. */
static void loop_of(const lfuse__draft *d, int32_t node, lfuse_size *extents, lfuse__view *in, lfuse__view *out)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *x = lfuse__draft_node(d, n->in[0]);
    int i, k = 0, gone = x->rank - n->naxes, kept = 0;

    lfuse__view_identity(d, n->in[0], in);
    lfuse__view_identity(d, node, out);
    memset(out->axis, -1, sizeof out->axis);
    memset(out->step, 0, sizeof out->step);
    for (i = 0; i < x->rank; i++) {
        const bool goes = k < n->naxes && n->axes[k] == i;
        const int at = goes ? gone++ : kept++;
        extents[at] = x->shape[i];
        in->axis[at] = (int8_t)i;
        k += goes;
        if (goes) continue;
        out->axis[at] = (int8_t)(n->keepdims ? i : at);
        out->step[at] = 1;
    }
}

lfuse_status lfuse__make_sum(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    lfuse_size extents[LFUSE_MAX_RANK];
    lfuse__view in, out;
    lfuse__step *step;
    lfuse__builder *b;
    lfuse_status status;
    int reg;

    loop_of(d, u->node, extents, &in, &out);
    LFUSE__TRY(lfuse__builder_create(d, -1, lfuse__draft_node(d, n->in[0])->rank, extents, &b));
    reg = lfuse__builder_value(b, n->in[0], &in);
    lfuse__builder_store(b, reg, &d->home[u->node], u->node, &out);
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
