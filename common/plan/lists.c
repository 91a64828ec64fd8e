/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Lists: which lists a value is congruent with. */
#include "common/plan/draft.h"

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
