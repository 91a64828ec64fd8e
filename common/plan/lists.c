/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Lists: which lists a value is congruent with, and sums of whole members. Pointwise regions of lists are regions. */
#include "common/plan/draft.h"

#include "common/base/error.h"

/* A list of numbers knows the count alone. */
static bool tells_sizes(const lfuse__draft *d, int name)
{
    return name >= 0 && lfuse__draft_node(d, d->g->names[name].node)->rank != 0;
}

void lfuse__draft_lists(lfuse__draft *d)
{
    int32_t node;
    int i;

    for (node = 0; node < d->g->nnodes; node++) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        d->list[node] = n->kind == LFUSE__LIST ? n->name : -1;
        for (i = 0; i < n->nin && n->list; i++) {
            const int list = d->list[n->in[i]];
            if (d->list[node] < 0 || (!tells_sizes(d, d->list[node]) && tells_sizes(d, list))) d->list[node] = list;
        }
    }
}

lfuse_status lfuse__make_member_sum(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage)
{
    const lfuse__node *n = lfuse__draft_node(d, u->node);
    lfuse__step *step;
    lfuse__builder *b;
    lfuse_status status;
    int reg;

    LFUSE__TRY(lfuse__builder_create(d, -1, 0, NULL, &b));
    reg = lfuse__builder_value(b, n->in[0], NULL);
    lfuse__builder_store(b, reg, &d->home[u->node], u->node, NULL);
    if (lfuse__builder_overflow(b)) {
        status = lfuse__draft_split(d, -1, n->in, 1);
    } else {
        status = lfuse__stage_create(stage, 1, (const int[]){ 1 });
        step = status ? NULL : stage->alternatives[0].steps;
        if (!status) status = lfuse__builder_finish(b, LFUSE__STEP_MEMBER_SUM, step);
        if (!status) {
            step->list = d->list[u->node];
            stage->alternatives[0].name = "kernel";
            status = lfuse__draft_buffer(d, u->node, LFUSE__PLACE_SCRATCH, &step->partials);
        }
        if (!status) {
            d->out->buffers[step->partials].partials = true;
            if (n->type != LFUSE_F64) d->out->buffers[step->partials].type = LFUSE_F32;
        }
    }
    lfuse__builder_destroy(b);
    return status;
}
