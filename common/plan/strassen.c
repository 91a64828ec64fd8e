/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strassen's algorithm: which products are made of seven of half the size, or of 49 of a quarter. Asked for by the
 * caller, with a number of levels or with a model that chooses it (strassen_cost.c, which also says what it declines).
 */
#include "common/plan/draft.h"

#include <stdlib.h>

#include "common/base/error.h"

static void choose(const lfuse__draft *d, int32_t matmul, lfuse__strassen_choice *c)
{
    const bool asked = d->strassen != LFUSE_STRASSEN_AUTO;
    lfuse__matmul_desc desc;

    lfuse__draft_describe(d, matmul, &desc);
    desc.levels = d->strassen == LFUSE_STRASSEN_TWO ? 2 : 1;
    c->why = d->advice->declines(d->facts, LFUSE__SOLVER_STRASSEN, &desc);
    if (c->why) return;
    c->levels = asked ? desc.levels : d->advice->strassen_levels(d->facts, &desc, &c->gain);
    c->why = asked ? "as asked" : c->gain > 0 ? "by estimate" : "unknown device";
}

static int count_products(const lfuse__draft *d)
{
    int32_t i;
    int count = 0;

    for (i = 0; i < d->g->nnodes; i++) count += lfuse__draft_node(d, i)->kind == LFUSE__MATMUL;
    return count;
}

lfuse_status lfuse__pass_strassen(lfuse__draft *d)
{
    int32_t i;

    d->most_levels = 0;
    d->narrow_factors = false;
    d->wide_rows = false;
    if (d->strassen == LFUSE_STRASSEN_OFF || d->strassen == LFUSE_STRASSEN_DEFAULT) return LFUSE_OK;
    d->out->choices = calloc((size_t)count_products(d) + 1, sizeof *d->out->choices);
    if (!d->out->choices)
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%d nodes)",
                            (int)d->g->nnodes);
    for (i = 0; i < d->g->nnodes; i++) {
        const lfuse__node *n = lfuse__draft_node(d, i);
        lfuse__strassen_choice *c = &d->out->choices[d->out->nchoices];
        if (n->kind != LFUSE__MATMUL || n->list) continue; /* lists have their own kernels */
        d->out->nchoices++;
        c->m = n->shape[n->rank - 2];
        c->n = n->shape[n->rank - 1];
        c->k = lfuse__draft_node(d, n->in[0])->shape[n->rank - 1];
        choose(d, i, c);
        d->nodes[i].levels = (int8_t)c->levels;
        d->wide_rows = d->wide_rows || (c->levels && lfuse__draft_transposed(d, i, 0));
        d->narrow_factors = d->narrow_factors ||
                            (c->levels && lfuse_type_size((lfuse_type)lfuse__draft_node(d, n->in[0])->type) == 2);
        if (c->levels > d->most_levels) d->most_levels = c->levels;
    }
    return LFUSE_OK;
}

bool lfuse__draft_whole_operand(const lfuse__draft *d, int32_t matmul, int i, int32_t *base)
{
    lfuse__view walk, own;

    *base = lfuse__draft_operand(d, matmul, i, &walk);
    lfuse__view_identity(d, *base, &own);
    return lfuse__view_equal(&walk, &own);
}

bool lfuse__draft_transposed(const lfuse__draft *d, int32_t matmul, int i)
{
    lfuse__view walk;

    lfuse__draft_operand(d, matmul, i, &walk);
    return walk.rank > 1 && walk.axis[0] == walk.rank - 1 && walk.step[0] == 1 && walk.axis[1] >= 0;
}

/* How many products take all of `node` on their left, by as many levels as the first of them, which is *first; -1. */
static int takers(const lfuse__draft *d, int32_t node, int32_t *first)
{
    int32_t i, base;
    int count = 0;

    *first = -1;
    for (i = node + 1; i < d->g->nnodes; i++) {
        if (!d->nodes[i].levels || !lfuse__draft_whole_operand(d, i, 0, &base) || base != node) continue;
        if (*first < 0) *first = i;
        count += d->nodes[i].levels == d->nodes[*first].levels;
    }
    return count;
}

static bool goes_on(lfuse__draft *d, int32_t matmul, int32_t node)
{
    int32_t first;
    const int count = takers(d, node, &first);

    if (!count) return false;
    d->nodes[matmul].next_product = node;
    d->nodes[node].factor_levels = d->nodes[first].levels;
    if (count == d->nodes[node].reads && !d->nodes[node].is_result && d->nodes[node].target < 0)
        d->memory[node].home.set = false;
    return true;
}

void lfuse__draft_make_next_factors(lfuse__draft *d, int32_t matmul, int32_t tail)
{
    int32_t node;

    if (goes_on(d, matmul, matmul)) return;
    for (node = tail; node >= 0; node = d->nodes[node].next)
        if (goes_on(d, matmul, node)) return;
}
