/* SPDX-License-Identifier: Apache-2.0 */
/* The walk from results back to the values that gradients are asked for. */
#include "libfuse/gradient.h"

#include <stdlib.h>
#include <string.h>

#include "common/graph/checkpoint.h"
#include "common/graph/gradient.h"
#include "libfuse/norm.h"

/* What a public function was given. */
typedef struct request {
    const char *call;
    int outputs, count;
    const lfuse_value *y, *seeds, *wrt;
    unsigned switches;
} request;

static lfuse__gradient_rule *rule_of(lfuse__node_kind kind)
{
    switch (kind) {
#define LFUSE__NODE(kind, word, first, end, operands, axes, build, rule)                                               \
    case LFUSE__##kind: return lfuse__gradient_##rule;
#include "common/graph/nodes.def"
    case LFUSE__NODE_KINDS: break;
    }
    return lfuse__gradient_none;
}

/* Nodes without operands, and results of integer types: nothing is passed on. */
void lfuse__gradient_none(lfuse__backward *b, int32_t id, lfuse_value g)
{
    (void)b, (void)id, (void)g;
}

/* ---- what was asked for ---- */

static bool check_floating(lfuse_graph *g, const char *call, const char *what, int i, int32_t id)
{
    if (lfuse__is_floating((lfuse_type)g->nodes[id].type)) return true;
    lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: %s[%d] is %s: gradients are those of floating types", call, what, i,
                        lfuse__describe(g, id).text);
    return false;
}

static bool is_number(const lfuse__node *n)
{
    return !n->list && !n->rank;
}

static bool check_seed(lfuse_graph *g, const char *call, int i, int32_t seed, int32_t y)
{
    const lfuse__node *s = &g->nodes[seed], *n = &g->nodes[y];

    if (s->type != n->type && s->type != LFUSE_TYPE_NONE)
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: seed %d is %s, y is %s", call, i, lfuse__describe(g, seed).text,
                            lfuse__describe(g, y).text);
    else if (!is_number(s) && !lfuse__same_shape(s, n))
        lfuse__graph_poison(g, LFUSE_ERR_SHAPE, "%s: seed %d is %s, y is %s", call, i, lfuse__describe(g, seed).text,
                            lfuse__describe(g, y).text);
    else
        return true;
    return false;
}

static bool is_none(lfuse_value v)
{
    return !v.graph && v.id == INT32_MIN;
}

/* All values of one graph, of the right types. NULL: there is a mistake, which *where knows. */
static lfuse_graph *check(const request *r, lfuse_graph **where)
{
    lfuse_graph *g;
    int i;

    *where = r->outputs > 0 && r->y ? r->y[0].graph : NULL;
    lfuse__build_begin(*where, r->call);
    if (r->outputs < 1 || !r->y || r->count < 0 || (r->count && !r->wrt) ||
        r->switches & ~(unsigned)LFUSE_GRADIENT_CONNECTED) {
        lfuse__graph_poison(*where, LFUSE_ERR_INVALID, "%s: %d outputs, %d values, switches %u", r->call, r->outputs,
                            r->count, r->switches);
        return NULL;
    }
    g = lfuse__build_inner_operands(r->call, r->outputs, r->y, where);
    for (i = 0; g && i < r->count; i++) {
        const lfuse_value both[] = {r->y[0], r->wrt[i]};
        if (!lfuse__build_inner_operands(r->call, 2, both, NULL) ||
            !check_floating(g, r->call, "wrt", i, r->wrt[i].id))
            return NULL;
    }
    for (i = 0; g && i < r->outputs; i++) {
        const lfuse_value both[] = {r->y[0], r->seeds ? r->seeds[i] : lfuse_none()};
        if (!check_floating(g, r->call, "y", i, r->y[i].id)) return NULL;
        if (!is_none(both[1]) && (!lfuse__build_inner_operands(r->call, 2, both, NULL) ||
                                  !check_seed(g, r->call, i, both[1].id, r->y[i].id)))
            return NULL;
    }
    return g;
}

/* ---- the walk ---- */

static void close_walk(lfuse__backward *b)
{
    free(b->on_path);
    free(b->cotangents);
    free(b->copies);
    free(b->again);
    free(b->wanted);
    free(b->slices);
}

static bool open_walk(lfuse__backward *b, lfuse_graph *g, const request *r)
{
    const size_t count = (size_t)g->nnodes;

    *b = (lfuse__backward){.g = g, .call = r->call, .count = g->nnodes};
    b->on_path = calloc(count, sizeof *b->on_path);
    b->cotangents = malloc(count * sizeof *b->cotangents);
    b->copies = malloc(count * sizeof *b->copies);
    if (b->on_path && b->cotangents && b->copies && lfuse__checkpoint_mark(b)) {
        memset(b->cotangents, 0xff, count * sizeof *b->cotangents);
        memset(b->copies, 0xff, count * sizeof *b->copies);
        return true;
    }
    lfuse__graph_poison(g, LFUSE_ERR_MEMORY, "%s: no memory for %d values", r->call, (int)g->nnodes);
    return false;
}

/* Whether a change of operand i changes the result, as far as gradients know. */
static bool passes(const lfuse__node *n, int i)
{
    return n->kind != LFUSE__IDENTITY || i == lfuse__identity_through(n->op);
}

/* Operands come before what is computed of them. */
static void mark_paths(lfuse__backward *b, const request *r)
{
    int32_t id;
    int i;

    for (i = 0; i < r->count; i++) b->on_path[r->wrt[i].id] = true;
    for (id = 0; id < b->count; id++) {
        const lfuse__node *n = &b->g->nodes[id];
        for (i = 0; i < n->nin; i++)
            if (b->on_path[n->in[i]] && passes(n, i) && lfuse__is_floating((lfuse_type)n->type)) b->on_path[id] = true;
    }
}

/* Numbers of rows and numbers of columns go with a list of matrices each, and not with each other. */
static bool goes_with(const lfuse__backward *b, int32_t x, int32_t y)
{
    const lfuse__node *a = &b->g->nodes[x], *c = &b->g->nodes[y];

    return !a->list || !c->list || a->rank == c->rank || !a->rank || !c->rank;
}

void lfuse__gradient_add(lfuse__backward *b, int32_t to, lfuse_value v)
{
    lfuse_value sum = {b->g, b->cotangents[to]};

    if (v.id < 0) return;
    if (sum.id >= 0 && !goes_with(b, sum.id, v.id)) sum = lfuse__gradient_expand(b, to, sum);
    if (sum.id >= 0) v = lfuse__op_add(sum, v);
    if (v.id >= 0) b->cotangents[to] = v.id;
}

/* The seed of an output, in the type of cotangents. */
static void plant(lfuse__backward *b, int32_t y, lfuse_value seed)
{
    if (is_none(seed)) seed = lfuse__build_constant(b->g, 1);
    else if (b->g->nodes[seed.id].type != LFUSE_TYPE_NONE) seed = lfuse__widen(b->call, seed);
    lfuse__gradient_add(b, y, seed);
}

static void walk(lfuse__backward *b)
{
    int32_t id;

    for (id = b->count - 1; id >= 0 && !b->g->status; id--) {
        if (!b->on_path[id]) continue;
        lfuse__gradient_join_slices(b, id);
        if (b->cotangents[id] >= 0)
            rule_of((lfuse__node_kind)b->g->nodes[id].kind)(b, id, (lfuse_value){b->g, b->cotangents[id]});
    }
}

/* Zeros in the type and shape of a value, which are no reading of it. */
static lfuse_value zeros_like(lfuse_graph *g, int32_t id)
{
    return lfuse__op_full_like((lfuse_value){g, id}, lfuse__build_constant(g, 0));
}

static lfuse_value gradient_of(lfuse__backward *b, const request *r, int i)
{
    const int32_t id = r->wrt[i].id;

    if (b->cotangents[id] >= 0)
        return lfuse__to_type(r->call, lfuse__gradient_expand(b, id, (lfuse_value){b->g, b->cotangents[id]}),
                              (lfuse_type)b->g->nodes[id].type);
    if (!(r->switches & LFUSE_GRADIENT_CONNECTED)) return zeros_like(b->g, id);
    return lfuse__graph_poison(b->g, LFUSE_ERR_INVALID, "%s: no output depends on wrt[%d], %s", r->call, i,
                               lfuse__describe(b->g, id).text);
}

static void differentiate(const request *r, lfuse_value *gradients)
{
    lfuse__backward b = {0};
    lfuse_graph *where, *g;
    int i;

    g = check(r, &where);
    for (i = 0; gradients && i < r->count; i++) gradients[i] = LFUSE__POISONED(where);
    if (!g) return;
    if (r->count && !gradients) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the gradients are NULL", r->call);
        return;
    }
    if (open_walk(&b, g, r)) {
        mark_paths(&b, r);
        for (i = 0; i < r->outputs; i++) plant(&b, r->y[i].id, r->seeds ? r->seeds[i] : lfuse_none());
        walk(&b);
        for (i = 0; i < r->count && !g->status; i++) gradients[i] = gradient_of(&b, r, i);
        for (i = 0; i < r->count && g->status; i++) gradients[i] = LFUSE__POISONED(g);
    }
    close_walk(&b);
}

void lfuse_gradient(lfuse_value y, lfuse_value seed, int count, const lfuse_value *wrt, lfuse_value *gradients)
{
    const request r = {.call = "lfuse_gradient", .outputs = 1, .count = count, .y = &y, .seeds = &seed, .wrt = wrt};

    differentiate(&r, gradients);
}

void lfuse_gradients(int outputs, const lfuse_value *y, const lfuse_value *seeds, unsigned switches, int count,
                     const lfuse_value *wrt, lfuse_value *gradients)
{
    const request r = {.call = "lfuse_gradients", .outputs = outputs, .count = count, .y = y, .seeds = seeds,
                       .wrt = wrt, .switches = switches};

    differentiate(&r, gradients);
}
