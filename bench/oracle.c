/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates a graph, node by node. */
#include <stdlib.h>
#include <string.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

static lfuse__oracle_node *const evaluators[] = {
    [LFUSE__INPUT] = lfuse__oracle_node_input,
    [LFUSE__FROZEN] = lfuse__oracle_node_input,
    [LFUSE__LIST] = lfuse__oracle_node_list,
    [LFUSE__POINTWISE] = lfuse__oracle_node_pointwise,
    [LFUSE__IDENTITY] = lfuse__oracle_node_identity,
    [LFUSE__CAST] = lfuse__oracle_node_cast,
    [LFUSE__PERMUTE] = lfuse__oracle_node_permute,
    [LFUSE__BROADCAST] = lfuse__oracle_node_broadcast,
    [LFUSE__REDUCE] = lfuse__oracle_node_reduce,
    [LFUSE__SCAN] = lfuse__oracle_node_scan,
    [LFUSE__MEMBER_REDUCE] = lfuse__oracle_node_member_reduce,
    [LFUSE__LIST_REDUCE] = lfuse__oracle_node_list_reduce,
    [LFUSE__LINE_REDUCE] = lfuse__oracle_node_line_reduce,
    [LFUSE__MEMBER_ELEMENTS] = lfuse__oracle_node_member_elements,
    [LFUSE__MATMUL] = lfuse__oracle_node_matmul,
    [LFUSE__RESHAPE] = lfuse__oracle_node_reshape,
    [LFUSE__SLICE] = lfuse__oracle_node_slice,
    [LFUSE__CONCAT] = lfuse__oracle_node_concat,
    [LFUSE__GATHER] = lfuse__oracle_node_gather,
    [LFUSE__SCATTER_ADD] = lfuse__oracle_node_scatter_add,
    [LFUSE__INDEX] = lfuse__oracle_node_index,
};

/* ---- results ---- */

static lfuse_status add_result(lfuse__oracle *s, const lfuse__name *name, int32_t node, lfuse__oracle_run *run)
{
    const lfuse__values *a = &s->arrays[node];
    lfuse__oracle_result *r = &run->results[run->nresults];
    int64_t i;

    r->name = name->text;
    r->type = lfuse__oracle_type(s, node);
    r->list = s->g->nodes[node].list;
    r->rank = a->rank;
    memcpy(r->shape, a->shape, sizeof r->shape);
    r->count = a->count;
    r->members = a->members;
    r->value = malloc((size_t)(a->count ? a->count : 1) * sizeof *r->value);
    r->bound = malloc((size_t)(a->count ? a->count : 1) * sizeof *r->bound);
    r->ends = malloc((size_t)(a->members ? a->members : 1) * sizeof *r->ends);
    run->nresults++; /* what was allocated is freed with the run */
    if (!r->value || !r->bound || !r->ends)
        return lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %lld results", (long long)a->count);
    for (i = 0; i < a->members; i++) r->ends[i] = a->ends ? a->ends[i] : i + 1;
    for (i = 0; i < a->count; i++) {
        const lfuse__pair x = lfuse__oracle_store(r->type, a->x[i]);
        r->value[i] = x.v;
        r->bound[i] = x.e;
    }
    return LFUSE_OK;
}

/* When each node's elements are no longer needed; results are needed to the end. */
static void mark(lfuse__oracle *s)
{
    const lfuse_graph *g = s->g;
    int32_t i;
    int k;

    for (i = 0; i < g->nnodes; i++) s->last[i] = -1;
    for (i = 0; i < g->nnames; i++) {
        if (g->names[i].kind == LFUSE__NAME_OUTPUT) s->last[g->names[i].node] = g->nnodes;
        if (g->names[i].update >= 0) s->last[g->names[i].update] = g->nnodes;
    }
    for (i = g->nnodes - 1; i >= 0; i--)
        for (k = 0; s->last[i] >= 0 && k < g->nodes[i].nin; k++)
            if (s->last[g->nodes[i].in[k]] < i) s->last[g->nodes[i].in[k]] = i;
}

static lfuse_status evaluate(lfuse__oracle *s)
{
    int32_t i;
    int k;

    mark(s);
    for (i = 0; i < s->g->nnodes; i++) {
        const lfuse__node *n = &s->g->nodes[i];
        if (s->last[i] < 0 || n->type == LFUSE_TYPE_NONE) continue;
        LFUSE__TRY(evaluators[n->kind](s, n, &s->arrays[i]));
        for (k = 0; k < n->nin; k++) {
            if (s->last[n->in[k]] != i) continue;
            free(s->arrays[n->in[k]].x);
            s->arrays[n->in[k]].x = NULL;
        }
    }
    return LFUSE_OK;
}

static lfuse_status collect(lfuse__oracle *s, lfuse__oracle_run *run)
{
    int32_t i;

    for (i = 0; i < s->g->nnames; i++) {
        const lfuse__name *name = &s->g->names[i];
        if (name->kind == LFUSE__NAME_OUTPUT) LFUSE__TRY(add_result(s, name, name->node, run));
        if (name->update >= 0) LFUSE__TRY(add_result(s, name, name->update, run));
    }
    return LFUSE_OK;
}

static void free_state(lfuse__oracle *s)
{
    int32_t i;

    for (i = 0; s->arrays && i < s->g->nnodes; i++) free(s->arrays[i].x);
    for (i = 0; s->ends && i < s->g->nnames; i++) free(s->ends[i]);
    for (i = 0; s->matrices && i < s->g->nnames; i++) free(s->matrices[i]);
    for (i = 0; s->lines && i < s->g->nnodes; i++) free(s->lines[i]);
    for (i = 0; s->products && i < s->g->nnodes; i++) free(s->products[i]);
    free(s->products);
    free(s->lines);
    free(s->matrices);
    free(s->last);
    free(s->arrays);
    free(s->scalars);
    free(s->sizes);
    free(s->ends);
    free(s->bound);
}

lfuse_status lfuse__oracle_run_graph(const lfuse_graph *g, const lfuse__oracle_input *inputs, int ninputs,
                                     const lfuse__oracle_options *options, lfuse__oracle_run *run)
{
    static const lfuse__oracle_options none;
    lfuse__oracle_run made = {0, NULL, false};
    lfuse_status status;
    lfuse__oracle s;

    LFUSE__TRY(lfuse_graph_check(g));
    memset(&s, 0, sizeof s);
    s.g = g;
    s.options = options ? options : &none;
    s.bound = calloc((size_t)g->nnames + 1, sizeof *s.bound);
    s.ends = calloc((size_t)g->nnames + 1, sizeof *s.ends);
    s.matrices = calloc((size_t)g->nnames + 1, sizeof *s.matrices);
    s.lines = calloc((size_t)g->nnodes + 1, sizeof *s.lines);
    s.products = calloc((size_t)g->nnodes + 1, sizeof *s.products);
    s.sizes = calloc((size_t)g->nsizes + 1, sizeof *s.sizes);
    s.scalars = calloc((size_t)g->nnames + 1, sizeof *s.scalars);
    s.arrays = calloc((size_t)g->nnodes + 1, sizeof *s.arrays);
    s.last = calloc((size_t)g->nnodes + 1, sizeof *s.last);
    made.results = calloc(2 * (size_t)g->nnames + 1, sizeof *made.results);
    if (!s.bound || !s.ends || !s.matrices || !s.lines || !s.products || !s.sizes || !s.scalars || !s.arrays ||
        !s.last || !made.results)
        status = lfuse__error(LFUSE_ERR_MEMORY, "oracle: no memory for %d values", (int)g->nnodes);
    else if (!(status = lfuse__oracle_bind(&s, inputs, ninputs)) && !(status = evaluate(&s)))
        status = collect(&s, &made);
    made.out_of_range = s.out_of_range;
    free_state(&s);
    if (status)
        lfuse__oracle_free(&made);
    else
        *run = made;
    return status;
}

void lfuse__oracle_free(lfuse__oracle_run *run)
{
    int i;

    for (i = 0; i < run->nresults; i++) {
        free(run->results[i].value);
        free(run->results[i].bound);
        free(run->results[i].ends);
    }
    free(run->results);
    run->results = NULL;
    run->nresults = 0;
}

const lfuse__oracle_result *lfuse__oracle_find(const lfuse__oracle_run *run, const char *name)
{
    int i;

    for (i = 0; i < run->nresults; i++)
        if (!strcmp(run->results[i].name, name)) return &run->results[i];
    return NULL;
}
