/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that would be too large is cut: the largest part of it that still fits becomes a kernel by itself, and so on
 * up to the results. Sizes are counted as if nothing were shared, which errs on the side of smaller kernels.
 */
#include "common/plan/draft.h"

#include "common/base/error.h"

typedef struct weight {
    int operands, instructions, numbers;
} weight;

typedef struct splitter {
    lfuse__draft *d;
    int32_t region;
    bool *inside;    /* [nodes] computed in the step */
    weight *weights; /* [nodes] */
    int32_t *stack;
    int rank, cuts;
} splitter;

static bool here(const splitter *s, int32_t node)
{
    const lfuse__planned_node *n = &s->d->nodes[node];

    return n->inlined || n->recomputed || (s->region >= 0 && n->region == s->region);
}

/* Marks what the roots compute. */
static void collect(splitter *s, const int32_t *roots, int nroots)
{
    int depth = 0, i;

    for (i = 0; i < nroots; i++) {
        const int32_t base = s->d->memory[roots[i]].view.base;
        if (!here(s, base) || s->inside[base]) continue;
        s->inside[base] = true;
        s->stack[depth++] = base;
        while (depth) {
            const int32_t node = s->stack[--depth];
            int k;
            if (lfuse__draft_immediate(s->d, node)) continue;
            for (k = 0; k < lfuse__draft_node(s->d, node)->nin; k++) {
                const int32_t in = lfuse__draft_base(s->d, node, k);
                if (!here(s, in) || s->inside[in]) continue;
                s->inside[in] = true;
                s->stack[depth++] = in;
            }
        }
    }
}

/* Room is left for the result. */
static bool fits(const splitter *s, const weight *w)
{
    return w->operands <= lfuse__most_operands(s->rank) - 2 && w->instructions <= LFUSE__BODY_INSTRUCTIONS * 3 / 4 &&
           w->numbers <= LFUSE__BODY_NUMBERS;
}

static void cut(splitter *s, int32_t node)
{
    s->d->nodes[node].cut = true;
    s->d->changed = true;
    s->weights[node] = (weight){ 1, 1, 0 };
    s->cuts++;
}

static weight sum(const splitter *s, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(s->d, node);
    weight w = { 0, 1, 0 };
    int i;

    if (lfuse__draft_immediate(s->d, node)) {
        w.numbers = lfuse__draft_node(s->d, n->in[0])->kind != LFUSE__CONSTANT;
        return w;
    }
    for (i = 0; i < n->nin; i++) {
        const int32_t in = lfuse__draft_base(s->d, node, i);
        const weight one = { 1, 1, 0 }, *of = s->inside[in] ? &s->weights[in] : &one;
        w.operands += of->operands;
        w.instructions += of->instructions;
        w.numbers += of->numbers;
    }
    return w;
}

/* The heaviest operand that can be cut, or -1. */
static int32_t heaviest(const splitter *s, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(s->d, node);
    int32_t best = -1;
    int i;

    for (i = 0; i < n->nin; i++) {
        const int32_t in = lfuse__draft_base(s->d, node, i);
        if (!s->inside[in] || s->d->nodes[in].cut || lfuse__draft_immediate(s->d, in)) continue;
        if (best < 0 || s->weights[in].instructions > s->weights[best].instructions) best = in;
    }
    return best;
}

static void cut_below(splitter *s, int32_t node)
{
    int32_t in;

    s->weights[node] = sum(s, node);
    while (!fits(s, &s->weights[node]) && (in = heaviest(s, node)) >= 0) {
        cut(s, in);
        s->weights[node] = sum(s, node);
    }
}

/* When every result by itself would fit: their largest common part. */
static bool cut_shared(splitter *s)
{
    int32_t best = -1, node;
    int i;

    for (node = 0; node < s->d->g->nnodes; node++) {
        if (!s->inside[node]) continue;
        for (i = 0; !lfuse__draft_immediate(s->d, node) && i < lfuse__draft_node(s->d, node)->nin; i++) {
            const int32_t in = lfuse__draft_base(s->d, node, i);
            if (!s->inside[in] || s->d->nodes[in].cut || lfuse__draft_immediate(s->d, in)) continue;
            if (best < 0 || s->weights[in].instructions >= s->weights[best].instructions) best = in;
        }
    }
    if (best >= 0) cut(s, best);
    return best >= 0;
}

/* What is computed here though it belongs to another kernel is stored by that after all. */
static bool store_recomputed(splitter *s)
{
    lfuse__draft *d = s->d;
    bool any = false;
    int32_t node;

    for (node = 0; node < d->g->nnodes; node++) {
        if (!s->inside[node] || !d->nodes[node].recomputed || (s->region >= 0 &&
            d->nodes[node].region == s->region)) continue;
        d->nodes[node].recomputed = false;
        any = d->changed = true;
    }
    return any;
}

lfuse_status lfuse__draft_split(lfuse__draft *d, int32_t region, const int32_t *roots, int nroots)
{
    const size_t n = (size_t)d->g->nnodes;
    splitter s = { d, region, NULL, NULL, NULL, 0, 0 };
    int32_t node;
    int i;

    if (lfuse__draft_node(d, roots[0])->rank > 0) s.rank = lfuse__draft_node(d, roots[0])->rank;
    s.inside = lfuse__arena_array(&d->round, n, sizeof *s.inside);
    s.weights = lfuse__arena_array(&d->round, n, sizeof *s.weights);
    s.stack = lfuse__arena_array(&d->round, n, sizeof *s.stack);
    if (!s.inside || !s.weights || !s.stack) return LFUSE_ERR_MEMORY;
    collect(&s, roots, nroots);
    if (store_recomputed(&s)) return LFUSE_OK;
    for (node = 0; node < d->g->nnodes; node++)
        if (s.inside[node]) cut_below(&s, node);
    for (i = 0; i < nroots && region < 0; i++) { /* what a sum or a copy reads can lie in memory itself */
        node = d->memory[roots[i]].view.base;
        if (s.inside[node] && !fits(&s, &s.weights[node]) && !d->nodes[node].cut) cut(&s, node);
    }
    if (!s.cuts && !cut_shared(&s))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a kernel of %d values cannot be made smaller", nroots);
    return LFUSE_OK;
}
