/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Lists: which lists a value is congruent with. */
#include "common/plan/draft.h"

/* A list of numbers knows the count alone, one of lines how many these are; one of matrices all of it. */
static int tells(const lfuse__draft *d, int name)
{
    if (name < 0) return 0;
    switch (lfuse__draft_node(d, d->g->names[name].node)->rank) {
    case 0: return 1;
    case LFUSE_RANK_ANY:
    case LFUSE_RANK_MATRIX: return 3;
    default: return 2;
    }
}

int lfuse__draft_better_list(const lfuse__draft *d, int a, int b)
{
    return tells(d, b) > tells(d, a) ? b : a;
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
            d->list[node] = lfuse__draft_better_list(d, d->list[node], list);
        }
    }
}
