/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Permutations and repetitions as maps of axes: no work of their own. */
#include "common/plan/draft.h"

#include <string.h>

/* Axis i of a value of shape `to` (rank) read from one of shape `from`, aligned at the last axis; -1: repeats. */
static int aligned(int i, const lfuse_size *to, int to_rank, const lfuse_size *from, int from_rank)
{
    const int own = i - (to_rank - from_rank);

    return own < 0 || (from[own] == 1 && to[i] != 1) ? -1 : own;
}

static void permute(const lfuse__node *n, const lfuse__view *in, lfuse__view *v)
{
    int i;

    for (i = 0; i < n->rank; i++) v->axis[i] = in->axis[n->axes[i]];
}

static void broadcast(const lfuse__node *n, const lfuse__node *source, const lfuse__view *in, lfuse__view *v)
{
    int i, own;

    for (i = 0; i < n->rank; i++) {
        own = aligned(i, n->shape, n->rank, source->shape, source->rank);
        v->axis[i] = own < 0 ? -1 : in->axis[own];
    }
}

void lfuse__draft_views(lfuse__draft *d)
{
    int32_t node;
    int i;

    for (node = 0; node < d->g->nnodes; node++) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        lfuse__view *v = &d->views[node];
        memset(v->axis, -1, sizeof v->axis);
        if (n->kind == LFUSE__PERMUTE || n->kind == LFUSE__BROADCAST) {
            const lfuse__view *in = &d->views[n->in[0]];
            v->base = in->base;
            if (n->kind == LFUSE__PERMUTE) permute(n, in, v);
            else broadcast(n, lfuse__draft_node(d, n->in[0]), in, v);
            continue;
        }
        v->base = node;
        for (i = 0; i < n->rank; i++) v->axis[i] = (int8_t)i;
    }
}

int32_t lfuse__draft_operand(const lfuse__draft *d, int32_t node, int i, int8_t *axis)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *in = lfuse__draft_node(d, n->in[i]);
    const lfuse__view *v = &d->views[n->in[i]];
    int j, own;

    memset(axis, -1, LFUSE_MAX_RANK);
    if (n->kind == LFUSE__REDUCE || n->kind == LFUSE__MATMUL) { /* by the operand's own axes */
        memcpy(axis, v->axis, LFUSE_MAX_RANK);
        return v->base;
    }
    for (j = 0; j < n->rank; j++) {
        own = aligned(j, n->shape, n->rank, in->shape, in->rank);
        if (own >= 0) axis[j] = v->axis[own];
    }
    return v->base;
}

bool lfuse__draft_same_index(const lfuse__draft *d, int32_t node, int32_t base, const int8_t *axis)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *b = lfuse__draft_node(d, base);
    int i;

    if (n->rank != b->rank || n->list != b->list) return false;
    for (i = 0; i < n->rank; i++)
        if (axis[i] != i && !(n->shape[i] == 1 && b->shape[i] == 1)) return false;
    return true;
}

bool lfuse__draft_once(const lfuse__draft *d, int32_t node, int32_t base, const int8_t *axis)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *b = lfuse__draft_node(d, base);
    unsigned seen = 0;
    int i;

    if (n->list != b->list || (n->list && n->rank != b->rank)) return false;
    for (i = 0; i < n->rank; i++) {
        if (axis[i] >= 0) seen |= 1u << axis[i];
        else if (n->shape[i] != 1) return false;
    }
    for (i = 0; i < b->rank; i++)
        if (!(seen & 1u << i) && b->shape[i] != 1) return false;
    return true;
}
