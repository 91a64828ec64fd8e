/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that reduce lists. One step takes every reduction of congruent lists that can run at one time: what the
 * members' elements go through for it alone, the reductions of members, what is made of those number by number, the
 * reductions over all members, and what is made of those. Each of these scopes reads the one before; nothing else of
 * the step does, because it is complete only when the step has run.
 */
#include "common/plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum { MOST_REDUCTIONS = 8 }; /* of one step: each has registers of its own */

/* How many such steps must have run, or run now, for the node. */
typedef struct depths {
    int32_t *of;
    bool *elsewhere; /* read by others than reductions of members at `wanted`, or a result */
    int32_t *wanted; /* depth of the reductions that the node's elements feed, -1: none yet */
    int32_t *same;   /* [names, then products] a list that the list is congruent with, as what is computed of both
                        says; or itself */
} depths;

static void find_congruent(const lfuse__draft *d, int32_t *same)
{
    int32_t i, k;

    for (i = 0; i < d->g->nnames + d->out->nlists; i++) same[i] = i;
    for (i = 0; i < d->g->nnodes; i++) {
        const lfuse__node *n = lfuse__draft_node(d, i);
        for (k = 0; n->list && n->rank && n->kind != LFUSE__MATMUL && k < n->nin; k++)
            if (lfuse__draft_node(d, n->in[k])->list && lfuse__draft_node(d, n->in[k])->rank == n->rank)
                same[lfuse__set_of(same, d->nodes[n->in[k]].list)] = lfuse__set_of(same, d->nodes[i].list);
    }
}

/* Of congruent lists; what is reduced of lines has other sizes, and is by itself. */
static int32_t kin_of(const lfuse__draft *d, depths *x, int32_t node)
{
    const lfuse__span span = lfuse__draft_span(lfuse__draft_node(d, lfuse__draft_node(d, node)->in[0]));

    return span == LFUSE__SPAN_LIST ? lfuse__set_of(x->same, d->nodes[node].list) : -2 - node;
}

static bool of_members(const lfuse__node *n)
{
    return n->list && n->rank == 0;
}

/* Numbers that are made of a reduction's: `scope`, where it is one of those that run last before the node. */
static bool follows(lfuse__draft *d, const depths *x, int32_t node, lfuse__list_scope scope)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    bool any = false;
    int i;

    for (i = 0; i < n->nin; i++) {
        const int32_t base = d->memory[n->in[i]].view.base;
        if (x->of[base] != x->of[node] || d->nodes[base].scope == LFUSE__SCOPE_NONE) continue;
        if (d->nodes[base].scope != scope) return false;
        if (any && d->nodes[node].congruence != d->nodes[base].congruence) return false;
        if (d->nodes[base].cut) continue;
        any = true;
        d->nodes[node].congruence = d->nodes[base].congruence;
    }
    return any;
}

static void forward(lfuse__draft *d, depths *x, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    const bool pointwise = lfuse__draft_pointwise(d, node) && !lfuse__draft_immediate(d, node) && n->rank == 0 &&
                           !lfuse__draft_alone(d, node) && !(d->disable & LFUSE_NO_POINTWISE_FUSION);
    const int32_t in = n->nin ? d->memory[n->in[0]].view.base : -1;
    const bool line = n->kind == LFUSE__LINE_REDUCE;
    int i;

    for (i = 0; i < n->nin; i++)
        if (x->of[d->memory[n->in[i]].view.base] > x->of[node]) x->of[node] = x->of[d->memory[n->in[i]].view.base];
    if (n->kind == LFUSE__MEMBER_REDUCE || line || (n->kind == LFUSE__LIST_REDUCE &&
                                                    d->nodes[in].scope != LFUSE__SCOPE_MEMBER)) {
        x->of[node]++;
        d->nodes[node].congruence = n->kind == LFUSE__MEMBER_REDUCE ? kin_of(d, x, node) : -2 - node;
    } else if (n->kind == LFUSE__LIST_REDUCE) {
        d->nodes[node].congruence = d->nodes[in].congruence;
    }
    if (n->kind == LFUSE__MEMBER_REDUCE || line || (pointwise && of_members(n) &&
                                                    follows(d, x, node, LFUSE__SCOPE_MEMBER)))
        d->nodes[node].scope = LFUSE__SCOPE_MEMBER;
    if (n->kind == LFUSE__LIST_REDUCE || (pointwise && !n->list && follows(d, x, node, LFUSE__SCOPE_LIST)))
        d->nodes[node].scope = LFUSE__SCOPE_LIST;
}

/* Elements whose readers all are reductions of one step, or such elements. */
static void backward(lfuse__draft *d, depths *x, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    int i;

    if (lfuse__draft_pointwise(d, node) && n->list && n->rank && !x->elsewhere[node] && x->wanted[node] >= 0 &&
        !lfuse__draft_repeats(d, node) && !d->nodes[node].cut && !(d->disable & LFUSE_NO_POINTWISE_FUSION))
        d->nodes[node].scope = LFUSE__SCOPE_ELEMENT;
    for (i = 0; i < n->nin; i++) {
        const int32_t base = d->memory[n->in[i]].view.base;
        const int32_t depth = n->kind == LFUSE__MEMBER_REDUCE        ? x->of[node]
                              : n->kind == LFUSE__LINE_REDUCE        ? d->g->nnodes + node /* a step of its own */
                              : d->nodes[node].scope == LFUSE__SCOPE_ELEMENT ? x->wanted[node]
                                                                     : -1;
        if (depth < 0 || (x->wanted[base] >= 0 && x->wanted[base] != depth)) x->elsewhere[base] = true;
        x->wanted[base] = depth;
    }
}

lfuse_status lfuse__pass_scopes(lfuse__draft *d)
{
    const size_t n = (size_t)d->g->nnodes;
    const size_t lists = (size_t)(d->g->nnames + d->out->nlists);
    depths x = { .of = lfuse__arena_array(&d->round, n, sizeof *x.of),
                 .elsewhere = lfuse__arena_array(&d->round, n, sizeof *x.elsewhere),
                 .wanted = lfuse__arena_array(&d->round, n, sizeof *x.wanted),
                 .same = lfuse__arena_array(&d->round, lists, sizeof *x.same) };
    int32_t i;

    if (!x.of || !x.elsewhere || !x.wanted || !x.same) return LFUSE_ERR_MEMORY;
    memset(x.wanted, 0xff, n * sizeof *x.wanted);
    find_congruent(d, x.same);
    for (i = 0; i < d->g->nnodes; i++) forward(d, &x, i);
    for (i = 0; i < d->g->nnames; i++) {
        if (d->g->names[i].kind == LFUSE__NAME_OUTPUT) x.elsewhere[d->memory[d->g->names[i].node].view.base] = true;
        if (d->g->names[i].update >= 0) x.elsewhere[d->memory[d->g->names[i].update].view.base] = true;
    }
    for (i = d->g->nnodes - 1; i >= 0; i--) backward(d, &x, i);
    return LFUSE_OK;
}

bool lfuse__draft_scopes_fuse(const lfuse__draft *d, int32_t producer, int32_t node)
{
    const lfuse__node_kind kind = (lfuse__node_kind)lfuse__draft_node(d, node)->kind;

    if (d->nodes[producer].scope != LFUSE__SCOPE_ELEMENT &&
        d->nodes[producer].congruence != d->nodes[node].congruence)
        return false;
    switch (d->nodes[producer].scope) {
    case LFUSE__SCOPE_ELEMENT:
        return kind == LFUSE__MEMBER_REDUCE || kind == LFUSE__LINE_REDUCE ||
               d->nodes[node].scope == LFUSE__SCOPE_ELEMENT;
    case LFUSE__SCOPE_MEMBER:
        if (lfuse__draft_node(d, producer)->kind == LFUSE__LINE_REDUCE || kind == LFUSE__LINE_REDUCE) return false;
        return kind == LFUSE__LIST_REDUCE || (kind != LFUSE__MEMBER_REDUCE &&
               d->nodes[node].scope == LFUSE__SCOPE_MEMBER);
    case LFUSE__SCOPE_LIST: return kind != LFUSE__LIST_REDUCE && d->nodes[node].scope == LFUSE__SCOPE_LIST;
    case LFUSE__SCOPE_NONE: break;
    }
    return false;
}

/* ---- which of them share a step ---- */

typedef struct reduction {
    const lfuse__draft *d;
    int32_t node;
} reduction;

static int by_step(const void *a, const void *b)
{
    const reduction *x = a, *y = b;
    const lfuse__planned_node *s = &x->d->nodes[x->node], *t = &y->d->nodes[y->node];

    if (s->level != t->level) return s->level < t->level ? -1 : 1;
    if (s->congruence != t->congruence) return s->congruence < t->congruence ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static void unite(lfuse__draft *d, int32_t *parent, const reduction *all, int count)
{
    int i, joined = 1;

    for (i = 1; i < count; i++) {
        const reduction *x = &all[i - 1], *y = &all[i];
        const int32_t a = lfuse__set_of(parent, x->node), b = lfuse__set_of(parent, y->node), low = a < b ? a : b;
        const bool same = d->nodes[x->node].level == d->nodes[y->node].level &&
                          d->nodes[x->node].congruence == d->nodes[y->node].congruence;
        if (!same || d->nodes[x->node].no_siblings || d->nodes[y->node].no_siblings || joined == MOST_REDUCTIONS) {
            joined = 1;
            continue;
        }
        joined++;
        if (a == b) continue;
        parent[a] = parent[b] = low;
        d->nodes[low].grouped = true;
    }
}

lfuse_status lfuse__draft_join_members(lfuse__draft *d, int32_t *parent)
{
    reduction *all = lfuse__arena_array(&d->round, (size_t)d->g->nnodes, sizeof *all);
    int32_t node;
    int count = 0;

    if (!all) return LFUSE_ERR_MEMORY;
    for (node = 0; node < d->g->nnodes && !(d->disable & LFUSE_NO_ROW_FUSION); node++)
        if (lfuse__draft_node(d, node)->kind == LFUSE__MEMBER_REDUCE)
            all[count++] = (reduction){ d, node };
    qsort(all, (size_t)count, sizeof *all, by_step);
    unite(d, parent, all, count);
    return LFUSE_OK;
}

lfuse__span lfuse__draft_members_span(const lfuse__draft *d, int32_t region)
{
    int32_t node;

    for (node = region; node >= 0; node = d->nodes[node].next)
        if (lfuse__draft_node(d, node)->kind == LFUSE__MEMBER_REDUCE)
            return lfuse__draft_span(lfuse__draft_node(d, lfuse__draft_node(d, node)->in[0]));
    return LFUSE__SPAN_MEMBERS;
}

int32_t lfuse__draft_members_list(const lfuse__draft *d, int32_t region)
{
    int32_t node, numbers = -1;

    for (node = region; node >= 0; node = d->nodes[node].next) {
        const lfuse__node *n = lfuse__draft_node(d, node);
        if (n->kind == LFUSE__MEMBER_REDUCE) return d->nodes[node].list;
        if (n->kind == LFUSE__LIST_REDUCE) numbers = d->nodes[n->in[0]].list;
    }
    return numbers;
}
