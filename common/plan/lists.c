/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: which lists a value is congruent with. Products have sizes of their own, so lists of their own. */
#include "common/plan/draft.h"

#include <stdlib.h>

#include "common/base/error.h"

int lfuse__draft_list_rank(const lfuse__draft *d, int list)
{
    return list < d->g->nnames ? lfuse__draft_node(d, d->g->names[list].node)->rank : LFUSE_RANK_MATRIX;
}

/* A list of numbers knows the count alone, one of lines how many these are; one of matrices all of it. */
static int tells(const lfuse__draft *d, int list)
{
    if (list < 0) return 0;
    switch (lfuse__draft_list_rank(d, list)) {
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

static int add_products(lfuse__draft *d, const lfuse__node *n)
{
    lfuse__product_list *p = &d->out->lists[d->out->nlists];
    int i;

    for (i = 0; i < 2; i++) p->factors[i] = d->nodes[n->in[i]].list;
    for (i = 0; i < n->naxes; i++) p->transposed[n->axes[i]] = true;
    return d->g->nnames + d->out->nlists++;
}

static lfuse_status make_room(lfuse__draft *d)
{
    size_t count = 0;
    int32_t node;

    for (node = 0; node < d->g->nnodes; node++)
        count += lfuse__draft_node(d, node)->kind == LFUSE__MATMUL && lfuse__draft_node(d, node)->list;
    if (!count) return LFUSE_OK;
    d->out->lists = calloc(count, sizeof *d->out->lists);
    if (!d->out->lists)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%zu lists)", count);
    return LFUSE_OK;
}

/* Among its operands'; of those of its own rank first: numbers beside them may be of larger lists. */
static int list_of(const lfuse__draft *d, const lfuse__node *n, bool same_rank)
{
    int list = -1, i;

    for (i = 0; i < n->nin && n->list; i++)
        if (!same_rank || lfuse__draft_node(d, n->in[i])->rank == n->rank)
            list = lfuse__draft_better_list(d, list, d->nodes[n->in[i]].list);
    return list;
}

lfuse_status lfuse__pass_lists(lfuse__draft *d)
{
    int32_t node;

    LFUSE__TRY(make_room(d));
    for (node = 0; node < d->g->nnodes; node++) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        if (n->kind == LFUSE__MATMUL && n->list) {
            d->nodes[node].list = add_products(d, n);
            continue;
        }
        d->nodes[node].list = n->kind == LFUSE__LIST ? n->name : list_of(d, n, true);
        if (d->nodes[node].list < 0) d->nodes[node].list = list_of(d, n, false);
    }
    return LFUSE_OK;
}
