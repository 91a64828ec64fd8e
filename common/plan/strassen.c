/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strassen's algorithm: which products are made of seven of half the size, or of 49 of a quarter. Asked for by the
 * caller, with a number of levels or with a model that chooses it (strassen_cost.c). Where sizes vary, there must be
 * rows and columns enough at their most (what is missing is padded), and a model looks at their least.
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { LEAST_K = 4 }; /* shorter sums may err by more than the bound allows */

typedef struct question {
    int64_t m, n, k;           /* at the least */
    int64_t most_m, most_n;
    bool frozen[2];  /* the operands */
} question;

static bool frozen_operand(const lfuse__draft *d, int32_t matmul, int i)
{
    lfuse__view walk;
    const int32_t base = lfuse__draft_operand(d, matmul, i, &walk);

    return lfuse__draft_node(d, base)->kind == LFUSE__FROZEN || d->nodes[base].prepared;
}

static void ask(const lfuse__draft *d, const lfuse__strassen_choice *c, int32_t matmul, question *q)
{
    int64_t most_k;
    int i;

    lfuse__size_bounds(d->g, c->m, &q->m, &q->most_m);
    lfuse__size_bounds(d->g, c->n, &q->n, &q->most_n);
    lfuse__size_bounds(d->g, c->k, &q->k, &most_k);
    for (i = 0; i < 2; i++) q->frozen[i] = frozen_operand(d, matmul, i);
}

static lfuse_type operand_type(const lfuse__draft *d, int32_t matmul, int i)
{
    return (lfuse_type)lfuse__draft_node(d, lfuse__draft_node(d, matmul)->in[i])->type;
}

/* Of f16 and bf16: whoever multiplies them has to give f32, and the portable library does not. */
static bool sums_are_wide(const lfuse__draft *d)
{
    if (d->provider == LFUSE_PROVIDER_NATIVE || d->facts->products == LFUSE__PRODUCTS_TUNED) return true;
    return d->provider == LFUSE_PROVIDER_DEFAULT && (d->facts->vector_lanes || d->advice->has_tiles(d->facts));
}

static const char *obstacle_of_types(const lfuse__draft *d, int32_t matmul)
{
    const lfuse_type type = operand_type(d, matmul, 0), sum = lfuse__register_type(type);
    const lfuse_type result = (lfuse_type)lfuse__draft_node(d, matmul)->type;

    if (operand_type(d, matmul, 1) != type) return "operands of two types";
    if (sum != LFUSE_F32 && sum != LFUSE_F64) return "of integers";
    if (result != type && result != sum) return "a result of another type";
    if (type != sum && !sums_are_wide(d)) return "nobody adds narrow products up in f32";
    return NULL;
}

/* NULL: it can be. */
static const char *obstacle(const lfuse__draft *d, int32_t matmul, const question *q, int levels)
{
    const lfuse__node *n = lfuse__draft_node(d, matmul);
    const char *types = obstacle_of_types(d, matmul);
    const int64_t least = INT64_C(1) << levels;

    if (n->rank != 2) return "a batch";
    if (n->op != LFUSE_PRECISION_FULL) return "in tf32";
    if (types) return types;
    if (d->nodes[matmul].prepared) return "computed once";
    if (q->most_m < least) return "too few rows";
    if (q->most_n < least) return "too few columns";
    if (q->k < LEAST_K) return "k too small";
    return NULL;
}

static void estimate(const lfuse__draft *d, int32_t matmul, const question *q, lfuse__strassen_choice *c)
{
    const lfuse__strassen_problem p = { .type = operand_type(d, matmul, 0),
                                        .result = (lfuse_type)lfuse__draft_node(d, matmul)->type,
                                        .m = q->m, .n = q->n, .k = q->k,
                                        .variable_left = !q->frozen[0], .variable_right = !q->frozen[1] };

    c->levels = d->advice->strassen_levels(d->facts, &p, &c->gain);
    c->why = c->gain > 0 ? "by estimate" : "unknown device";
}

static void choose(const lfuse__draft *d, int32_t matmul, lfuse__strassen_choice *c)
{
    const bool asked = d->strassen != LFUSE_STRASSEN_AUTO;
    const int levels = d->strassen == LFUSE_STRASSEN_TWO ? 2 : 1;
    question q;

    ask(d, c, matmul, &q);
    c->why = obstacle(d, matmul, &q, levels);
    if (c->why) return;
    if (!asked) {
        estimate(d, matmul, &q, c);
        return;
    }
    c->levels = levels;
    c->why = "as asked";
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
        d->narrow_factors = d->narrow_factors || (c->levels && lfuse_type_size(operand_type(d, i, 0)) == 2);
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
