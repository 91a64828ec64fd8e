/* SPDX-License-Identifier: Apache-2.0 */
/* Size variables: their values follow from the shapes that are bound. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/bind/bind.h"

typedef struct solver {
    const lfuse_plan *plan;
    int64_t *values;
    int *told; /* 0: not yet; 1 + name; -1 - binding */
} solver;

static const char *teller(const solver *s, int told)
{
    return told > 0 ? s->plan->names[told - 1].text : "a binding of the size";
}

static lfuse_status take(solver *s, int32_t size, int64_t value, int told)
{
    const lfuse__size_expr *e = &s->plan->graph->sizes[size];

    if (value < e->low || value > e->high)
        return lfuse__error(LFUSE_ERR_BOUNDS, "size \"%s\" is %" PRId64 " by %s, out of its bounds %" PRId64
                            " ... %" PRId64, e->name, value, teller(s, told), e->low, e->high);
    if (s->told[size] && s->values[size] != value)
        return lfuse__error(LFUSE_ERR_SHAPE, "size \"%s\" is %" PRId64 " by %s and %" PRId64 " by %s", e->name,
                            s->values[size], teller(s, s->told[size]), value, teller(s, told));
    s->values[size] = value;
    s->told[size] = told;
    return LFUSE_OK;
}

static lfuse_status take_binding(solver *s, const lfuse_binding *b, int index)
{
    int size;

    if (!b->name) return lfuse__error(LFUSE_ERR_BINDING, "binding %d is a size without a name", index);
    size = lfuse__bind_size(s->plan, b->name);
    if (size >= 0) return take(s, size, b->as.size, -1 - index);
    return lfuse__error(LFUSE_ERR_NAME, "the graph has no size variable \"%s\"", b->name);
}

static lfuse_status take_shape(solver *s, int name, const lfuse_tensor *t)
{
    const lfuse__node *n = &s->plan->graph->nodes[s->plan->names[name].node];
    int i;

    for (i = 0; i < n->rank; i++) {
        const int32_t size = lfuse__size_is_number(n->shape[i]) ? -1 : lfuse__size_index(n->shape[i]);
        if (size < 0 || s->plan->graph->sizes[size].kind != LFUSE__SIZE_VAR) continue;
        LFUSE__TRY(take(s, size, t->shape[i], name + 1));
    }
    return LFUSE_OK;
}

static void mark(lfuse_size s, bool *used)
{
    if (!lfuse__size_is_number(s)) used[lfuse__size_index(s)] = true;
}

/* A variable that nothing in the graph is made of may stay untold. */
static void mark_used(const lfuse_graph *g, bool *used)
{
    int32_t i;
    int k;

    for (i = 0; i < g->nnodes; i++) {
        for (k = 0; k < g->nodes[i].rank; k++) mark(g->nodes[i].shape[k], used);
        if (g->nodes[i].kind == LFUSE__SLICE) mark(g->nodes[i].start, used);
        if (g->nodes[i].kind == LFUSE__EXTENT) mark(g->nodes[i].shape[0], used);
    }
    for (i = g->nsizes - 1; i >= 0; i--) {
        if (!used[i] || g->sizes[i].kind == LFUSE__SIZE_VAR) continue;
        mark(g->sizes[i].a, used);
        mark(g->sizes[i].b, used);
    }
}

static lfuse_status all_told(const solver *s, const bool *used)
{
    const lfuse_graph *g = s->plan->graph;
    int32_t i;

    for (i = 0; i < g->nsizes; i++)
        if (g->sizes[i].kind == LFUSE__SIZE_VAR && used[i] && !s->told[i])
            return lfuse__error(LFUSE_ERR_BINDING, "nothing that is bound tells the size \"%s\"", g->sizes[i].name);
    return LFUSE_OK;
}

static int64_t operand(lfuse_size s, const int64_t *values)
{
    return s >= INT64_MIN / 2 ? s : values[lfuse__size_index(s)]; /* symbolic ones lie far below all numbers */
}

/* Expressions stand after their operands. */
static void fill_expressions(const lfuse_graph *g, int64_t *values)
{
    int32_t i;

    for (i = 0; i < g->nsizes; i++) {
        const lfuse__size_expr *e = &g->sizes[i];
        int64_t a, b;
        if (e->kind == LFUSE__SIZE_VAR) continue;
        a = operand(e->a, values);
        b = operand(e->b, values);
        if (a == LFUSE__SIZE_NONE || b == LFUSE__SIZE_NONE) {
            values[i] = LFUSE__SIZE_NONE;
            continue;
        }
        if (e->kind == LFUSE__SIZE_QUOTIENT) values[i] = a / b + (a % b > 0);
        else if (e->kind == LFUSE__SIZE_SUM ? __builtin_add_overflow(a, b, &values[i])
                                            : __builtin_mul_overflow(a, b, &values[i]))
            values[i] = LFUSE__SIZE_NONE;
    }
}

lfuse_status lfuse__sizes_solve(const lfuse_plan *plan, const lfuse__slot *slots, const lfuse_binding *bindings,
                                int count, int64_t *sizes)
{
    const size_t n = (size_t)plan->nsizes + 1;
    solver s = { plan, sizes, calloc(n, sizeof(int)) };
    bool *used = calloc(n, sizeof *used);
    lfuse_status status = LFUSE_OK;
    int i;

    if (!s.told || !used) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu sizes)", n);
        goto err_free_all;
    }
    for (i = 0; i < plan->nsizes; i++) sizes[i] = 0;
    for (i = 0; i < count && !status; i++)
        if (bindings[i].kind == LFUSE_BIND_SIZE) status = take_binding(&s, &bindings[i], i);
    for (i = 0; i < plan->nnames && !status; i++)
        if (slots[i].tensor) status = take_shape(&s, i, slots[i].tensor);
    if (!status) mark_used(plan->graph, used);
    if (!status) status = all_told(&s, used);
    if (!status) fill_expressions(lfuse__body_plan(plan->body)->graph, sizes);

err_free_all:
    free(used);
    free(s.told);
    return status;
}

static bool is_told(const lfuse_plan *plan, const lfuse__slot *slots, int32_t size)
{
    int i, k;

    for (i = 0; i < plan->nnames; i++) {
        const lfuse__node *n = &plan->graph->nodes[plan->names[i].node];
        for (k = 0; slots[i].tensor && k < n->rank; k++)
            if (!lfuse__size_is_number(n->shape[k]) && lfuse__size_index(n->shape[k]) == size) return true;
    }
    return false;
}

int lfuse__sizes_repeat(const lfuse_instance *in, const lfuse__slot *slots, const lfuse_binding *given, int count,
                        lfuse_binding *bindings)
{
    const lfuse_graph *g = in->plan->graph;
    int32_t i;
    int j, n = 0;

    for (i = 0; i < g->nsizes; i++) {
        if (g->sizes[i].kind != LFUSE__SIZE_VAR) continue;
        for (j = 0; j < count; j++)
            if (given[j].kind == LFUSE_BIND_SIZE && !strcmp(given[j].name, g->sizes[i].name)) break;
        if (j < count) bindings[n++] = given[j];
        else if (!is_told(in->plan, slots, i)) bindings[n++] = lfuse_bind_size(g->sizes[i].name, in->sizes[i]);
    }
    return n;
}

lfuse_status lfuse__sizes_shape(const lfuse_plan *plan, int name, const int64_t *sizes, int64_t *shape)
{
    const lfuse__node *n = &plan->graph->nodes[plan->names[name].node];
    int i;

    for (i = 0; i < n->rank; i++) LFUSE__TRY(lfuse__size_evaluate(plan->graph, n->shape[i], sizes, &shape[i]));
    return LFUSE_OK;
}
