/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a failing problem smaller, greedily: every change that keeps the failure is kept. A changed graph is printed
 * and parsed, which checks it as the builders do: what does not fit together is no problem.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/graph/build.h"
#include "tests/random/problem.h"

/* What is different in the copy; -1: nothing of that kind. */
typedef struct change {
    int32_t only;              /* node: the only result */
    int32_t without, unupdate; /* names: the output, the update that goes */
    int32_t node, operand;     /* node that becomes one of its operands (-1: an input) */
    int64_t extent, smaller;   /* literal extents of this size become that */
    int variable;              /* size variable that becomes `smaller` */
} change;

static const change none = {-1, -1, -1, -1, -1, -1, -1, -1};

static bool kept(const change *c, const lfuse_graph *g, int32_t name)
{
    return g->names[name].kind == LFUSE__NAME_OUTPUT && c->only < 0 && c->without != name;
}

static bool updated(const change *c, const lfuse_graph *g, int32_t name)
{
    return g->names[name].update >= 0 && c->only < 0 && c->unupdate != name;
}

/* What the results of the changed graph need. */
static bool *needed(const change *c, const lfuse_graph *g)
{
    bool *need = calloc((size_t)g->nnodes + 1, sizeof *need);
    if (!need) abort();
    if (c->only >= 0) need[c->only] = true;
    for (int32_t i = 0; i < g->nnames; i++) {
        if (kept(c, g, i)) need[g->names[i].node] = true;
        if (updated(c, g, i)) need[g->names[i].node] = need[g->names[i].update] = true;
    }
    for (int32_t i = g->nnodes - 1; i >= 0; i--)
        for (int k = 0; need[i] && k < g->nodes[i].nin; k++)
            if (i != c->node || k == c->operand) need[g->nodes[i].in[k]] = true;
    return need;
}

static int32_t copy_node(const change *c, const lfuse_graph *g, int32_t i, const int32_t *map, lfuse_graph *to)
{
    lfuse__node n = g->nodes[i];
    char name[24];
    if (i == c->node && c->operand >= 0) return map[n.in[c->operand]];
    for (int k = 0; k < n.nin; k++) n.in[k] = map[n.in[k]];
    for (int k = 0; k < n.rank && c->extent >= 0; k++)
        if (n.shape[k] == c->extent) n.shape[k] = c->smaller;
    if (i == c->node) {
        lfuse__node input = lfuse__build_node(n.list ? LFUSE__LIST : LFUSE__INPUT, (lfuse_type)n.type);
        snprintf(name, sizeof name, "x%d", (int)i);
        input.rank = n.rank;
        input.list = n.list;
        memcpy(input.shape, n.shape, sizeof input.shape);
        n = input;
        n.name = lfuse__build_name(to, "shrink", name, n.list ? LFUSE__NAME_LIST : LFUSE__NAME_INPUT, to->nnodes);
    } else if (n.name >= 0) {
        const lfuse__name *own = &g->names[n.name];
        n.name = lfuse__build_name(to, "shrink", own->text, own->kind, to->nnodes);
    }
    return lfuse__build_append(to, "shrink", &n).id;
}

static lfuse_graph *copy_changed(const change *c, const lfuse_graph *g)
{
    lfuse_graph *to = lfuse_graph_create();
    int32_t *map = malloc(((size_t)g->nnodes + 1) * sizeof *map);
    bool *need = needed(c, g);
    to->sizes = malloc(((size_t)g->nsizes + 1) * sizeof *to->sizes);
    if (!map || !to->sizes) abort();
    memcpy(to->sizes, g->sizes, (size_t)g->nsizes * sizeof *to->sizes);
    to->nsizes = to->size_capacity = g->nsizes;
    for (int32_t i = 0; i < g->nnodes; i++) map[i] = need[i] ? copy_node(c, g, i, map, to) : -1;
    if (c->only >= 0) lfuse_output(to, "only", (lfuse_value){to, map[c->only]});
    for (int32_t i = 0; i < g->nnames; i++) {
        if (kept(c, g, i)) lfuse_output(to, g->names[i].text, (lfuse_value){to, map[g->names[i].node]});
        if (updated(c, g, i))
            lfuse_update((lfuse_value){to, map[g->names[i].node]}, (lfuse_value){to, map[g->names[i].update]});
    }
    free(need);
    free(map);
    return to;
}

static bool has_result(const lfuse_graph *g)
{
    for (int32_t i = 0; i < g->nnames; i++)
        if (g->names[i].kind == LFUSE__NAME_OUTPUT || g->names[i].update >= 0) return true;
    return false;
}

typedef struct search {
    problem *p;
    problem_fails *fails;
    void *context;
    int attempts;
} search;

/* Keeps the change where what comes of it is a problem, another one, and fails. */
static bool attempt(search *s, const change *c)
{
    problem next = *s->p, made;
    bool better = false;
    if (s->attempts <= 0) return false;
    if (c->variable >= 0) next.sizes[c->variable] = c->smaller;
    next.graph = copy_changed(c, s->p->graph);
    char *line = lfuse_graph_check(next.graph) ? NULL : problem_print(&next), *before = problem_print(s->p);
    if (line && before && strcmp(line, before) && has_result(next.graph) && !problem_parse(line, &made)) {
        s->attempts--;
        better = s->fails(&made, s->context);
        if (better) {
            problem_free(s->p);
            *s->p = made;
        } else problem_free(&made);
    }
    lfuse_graph_destroy(next.graph);
    free(before);
    free(line);
    return better;
}

static bool fewer_results(search *s)
{
    bool any = false;
    for (int32_t i = 0; i < s->p->graph->nnodes; i++) {
        const lfuse__node *n = &s->p->graph->nodes[i];
        change c = none;
        c.only = i;
        if (n->name < 0 && n->type != LFUSE_TYPE_NONE && attempt(s, &c)) return true;
    }
    for (int32_t i = s->p->graph->nnames - 1; i >= 0; i--) {
        change c = none;
        if (i >= s->p->graph->nnames) continue;
        if (s->p->graph->names[i].kind == LFUSE__NAME_OUTPUT) c.without = i;
        else if (s->p->graph->names[i].update >= 0) c.unupdate = i;
        else continue;
        any = attempt(s, &c) || any;
    }
    return any;
}

static bool fewer_nodes(search *s)
{
    bool any = false;
    for (int32_t i = s->p->graph->nnodes - 1; i >= 0; i--) {
        change c = none;
        if (i >= s->p->graph->nnodes) continue;
        c.node = i;
        if (s->p->graph->nodes[i].name >= 0 || s->p->graph->nodes[i].type == LFUSE_TYPE_NONE) continue;
        if (attempt(s, &c)) {
            any = true;
            continue;
        }
        for (int k = 0; i < s->p->graph->nnodes && k < s->p->graph->nodes[i].nin; k++) {
            const lfuse__node *n = &s->p->graph->nodes[i], *o = &s->p->graph->nodes[n->in[k]];
            if (n->type != o->type || n->rank != o->rank || n->list != o->list ||
                memcmp(n->shape, o->shape, sizeof n->shape)) continue;
            c.operand = k;
            if (!attempt(s, &c)) continue;
            any = true;
            break;
        }
    }
    return any;
}

/* Smaller values for one size: a step downwards at a time, as far as it goes. */
static bool smaller(search *s, change c, int64_t from, int64_t low)
{
    bool any = false;
    for (int64_t to = low; to < from; to = to + (from - to + 1) / 2) {
        c.smaller = to;
        if (attempt(s, &c)) return true;
        if (from - to == 1) break;
    }
    return any;
}

static bool smaller_sizes(search *s)
{
    bool any = false;
    int64_t seen[64];
    int count = 0, variable = 0;
    for (int32_t i = 0; i < s->p->graph->nsizes; i++) {
        change c = none;
        if (s->p->graph->sizes[i].kind != LFUSE__SIZE_VAR) continue;
        c.variable = variable;
        any = smaller(s, c, s->p->sizes[variable], s->p->graph->sizes[i].low) || any;
        variable++;
    }
    for (int32_t i = 0; i < s->p->graph->nnodes; i++)
        for (int k = 0; k < s->p->graph->nodes[i].rank && count < 64; k++) {
            const int64_t extent = s->p->graph->nodes[i].shape[k];
            bool again = false;
            for (int j = 0; j < count; j++) again = again || seen[j] == extent;
            if (!again && lfuse__size_is_number(extent) && extent > 1) seen[count++] = extent;
        }
    for (int j = 0; j < count; j++) {
        change c = none;
        c.extent = seen[j];
        any = smaller(s, c, seen[j], 1) || any;
    }
    return any;
}

void problem_shrink(problem *p, problem_fails *fails, void *context, int attempts)
{
    search s = {p, fails, context, attempts};
    bool again = true;
    while (again && s.attempts > 0) {
        again = fewer_results(&s);
        again = fewer_nodes(&s) || again;
        again = smaller_sizes(&s) || again;
    }
}
