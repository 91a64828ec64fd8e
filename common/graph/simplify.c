/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical form. Only rewrites that keep bits (NaN payloads are not promised): a number plus 0 is not the number where
 * it is -0, so x - 0 goes and x + 0 stays.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/graph/graph.h"

/* A graph under construction, and the table of nodes that are already in it. */
typedef struct builder {
    lfuse_graph *g;
    int32_t *table; /* open addressing over node ids; -1: free */
    uint32_t mask;
} builder;

/* Everything that makes two nodes the same value. */
typedef struct identity {
    int64_t words[8 + LFUSE_MAX_RANK];
} identity;

static identity identify(const lfuse__node *n)
{
    identity k;
    int i;

    memset(&k, 0, sizeof k);
    k.words[0] = n->kind | (int64_t)n->op << 8 | (int64_t)n->type << 16 | (int64_t)n->list << 24 |
                 (int64_t)n->keepdims << 25 | (int64_t)(uint8_t)n->rank << 32 | (int64_t)(uint8_t)n->naxes << 40 |
                 (int64_t)(uint8_t)n->nin << 48;
    memcpy(&k.words[1], n->axes, sizeof n->axes);
    memcpy(&k.words[2], n->in, sizeof n->in);
    k.words[4] = n->name;
    memcpy(&k.words[5], &n->number, sizeof n->number);
    k.words[6] = n->start;
    k.words[7] = n->step;
    for (i = 0; i < n->rank; i++) k.words[8 + i] = n->shape[i];
    if (n->kind == LFUSE__EXTENT) k.words[8] = n->shape[0];
    return k;
}

/* The node's id: that of an equal one where there is one. There is room for every node of the original graph. */
static int32_t intern(builder *b, const lfuse__node *n)
{
    const identity key = identify(n);
    uint32_t at = (uint32_t)lfuse__hash_bytes(&key, sizeof key).low & b->mask;

    for (; b->table[at] >= 0; at = (at + 1) & b->mask) {
        const identity other = identify(&b->g->nodes[b->table[at]]);
        if (!memcmp(&key, &other, sizeof key)) return b->table[at];
    }
    b->g->nodes[b->g->nnodes] = *n;
    b->table[at] = b->g->nnodes;
    return b->g->nnodes++;
}

/* Whether all elements are this number, under casts, which do not change it: 0 and 1 are exact in all types. */
static bool is_constant(const lfuse_graph *g, int32_t node, double number)
{
    while (g->nodes[node].kind == LFUSE__CAST || g->nodes[node].kind == LFUSE__BROADCAST) node = g->nodes[node].in[0];
    return g->nodes[node].kind == LFUSE__CONSTANT && !memcmp(&g->nodes[node].number, &number, sizeof number);
}

static bool same_form(const lfuse__node *a, const lfuse__node *b)
{
    return a->type == b->type && lfuse__same_shape(a, b);
}

/* Operations that give one operand back, bit for bit: index of that operand and what the other one is. */
static const struct neutral {
    uint8_t op;
    int8_t kept, other;
    double number;
} neutrals[] = {
    {LFUSE__OP_mul, 0, 1, 1.0}, {LFUSE__OP_mul, 1, 0, 1.0},   {LFUSE__OP_div, 0, 1, 1.0},
    {LFUSE__OP_sub, 0, 1, 0.0}, {LFUSE__OP_add, 0, 1, -0.0}, {LFUSE__OP_add, 1, 0, -0.0},
};

/* The value that a pointwise node gives back, or -1. */
static int32_t neutral_operand(const lfuse_graph *g, const lfuse__node *n)
{
    size_t i;

    for (i = 0; i < sizeof neutrals / sizeof neutrals[0]; i++) {
        const struct neutral *r = &neutrals[i];
        if (n->op == r->op && is_constant(g, n->in[r->other], r->number) && same_form(n, &g->nodes[n->in[r->kept]]))
            return n->in[r->kept];
    }
    return -1;
}

static bool all_constant(const lfuse_graph *g, const lfuse__node *n)
{
    int i;

    for (i = 0; i < n->nin; i++)
        if (g->nodes[n->in[i]].kind != LFUSE__CONSTANT) return false;
    return true;
}

/* Folds a number; `n` is of type NONE and its operands are constants. */
static void fold(const lfuse_graph *g, lfuse__node *n)
{
    double x[3] = {0, 0, 0};
    lfuse__op op = (lfuse__op)n->op;
    int i, nin = n->nin;

    for (i = 0; i < nin; i++) x[i] = g->nodes[n->in[i]].number;
    memset(n, 0, sizeof *n);
    n->kind = LFUSE__CONSTANT;
    n->in[0] = n->in[1] = n->in[2] = n->name = -1;
    n->cost = 1;
    n->number = lfuse__op_value(op, x[0], x[1], x[2]);
}

static int32_t simplify_permute(const lfuse_graph *g, lfuse__node *n)
{
    const lfuse__node *in = &g->nodes[n->in[0]];
    int i;

    if (in->kind == LFUSE__PERMUTE) {
        for (i = 0; i < n->rank; i++) n->axes[i] = in->axes[n->axes[i]];
        n->in[0] = in->in[0];
    }
    for (i = 0; i < n->rank; i++)
        if (n->axes[i] != i) return -1;
    return n->in[0];
}

static int32_t simplify_broadcast(const lfuse_graph *g, lfuse__node *n)
{
    if (g->nodes[n->in[0]].kind == LFUSE__BROADCAST) n->in[0] = g->nodes[n->in[0]].in[0];
    return same_form(n, &g->nodes[n->in[0]]) ? n->in[0] : -1;
}

static int32_t simplify_reshape(const lfuse_graph *g, lfuse__node *n)
{
    const lfuse__node *in = &g->nodes[n->in[0]];

    if (n->op == LFUSE__RESHAPE_FENCE) return -1;
    if (in->kind == LFUSE__RESHAPE && !in->op) n->in[0] = in->in[0];
    return same_form(n, &g->nodes[n->in[0]]) ? n->in[0] : -1;
}

/* Sizes that cannot be counted are no mistake here: what needs them stays as it is. */
static bool size_sum(lfuse_graph *g, lfuse_size a, lfuse_size b, lfuse_size *sum)
{
    const bool made = lfuse__size_add(g, "", a, b, sum);

    g->status = LFUSE_OK;
    return made;
}

static bool size_product(lfuse_graph *g, lfuse_size a, lfuse_size b, lfuse_size *product)
{
    const bool made = lfuse__size_multiply(g, "", a, b, product);

    g->status = LFUSE_OK;
    return made;
}

/* A slice of a slice of the same axis is one slice. */
static void compose_slices(lfuse_graph *g, lfuse__node *n)
{
    const lfuse__node in = g->nodes[n->in[0]];
    lfuse_size start;
    int64_t step;

    if (in.kind != LFUSE__SLICE || in.axes[0] != n->axes[0] || __builtin_mul_overflow(in.step, n->step, &step) ||
        step <= -(INT64_C(1) << 62) || step >= INT64_C(1) << 62 || !size_product(g, n->start, in.step, &start) ||
        !size_sum(g, start, in.start, &start))
        return;
    n->in[0] = in.in[0];
    n->start = start;
    n->step = step;
}

static int32_t simplify_slice(lfuse_graph *g, lfuse__node *n)
{
    compose_slices(g, n);
    if (n->shape[n->axes[0]] == 1) n->step = 1;
    return n->start == 0 && n->step == 1 && same_form(n, &g->nodes[n->in[0]]) ? n->in[0] : -1;
}

/* Empty parts go; neighbouring slices of one value are one slice. */
static int32_t simplify_concat(lfuse_graph *g, lfuse__node *n)
{
    const lfuse__node a = g->nodes[n->in[0]], b = g->nodes[n->in[1]];
    const int axis = n->axes[0];
    lfuse_size end;

    if (a.shape[axis] == 0) return n->in[1];
    if (b.shape[axis] == 0) return n->in[0];
    if (a.kind != LFUSE__SLICE || b.kind != LFUSE__SLICE || a.in[0] != b.in[0] || a.axes[0] != axis ||
        b.axes[0] != axis || a.step != b.step || !size_product(g, a.shape[axis], a.step, &end) ||
        !size_sum(g, a.start, end, &end) || end != b.start)
        return -1;
    n->kind = LFUSE__SLICE;
    n->nin = 1;
    n->in[0] = a.in[0];
    n->in[1] = -1;
    n->start = a.start;
    n->step = a.step;
    return simplify_slice(g, n);
}

/* WIDE folds widen narrow types themselves, exactly. */
static void simplify_reduce(const lfuse_graph *g, lfuse__node *n)
{
    const lfuse__node *in = &g->nodes[n->in[0]];
    lfuse_type from;

    if (in->kind != LFUSE__CAST || lfuse__folds[n->op].type != LFUSE__FOLD_WIDE) return;
    from = (lfuse_type)g->nodes[in->in[0]].type;
    if ((in->type == LFUSE_F32 && lfuse__is_narrow(from)) ||
        (in->type == LFUSE_I64 && lfuse__is_integer(from)))
        n->in[0] = in->in[0];
}

static void simplify_extent(lfuse__node *n)
{
    const lfuse_size extent = n->shape[0];

    if (!lfuse__size_is_number(extent)) return;
    memset(n, 0, sizeof *n);
    n->kind = LFUSE__CONSTANT;
    n->in[0] = n->in[1] = n->in[2] = n->name = -1;
    n->cost = 1;
    n->number = (double)extent;
}

/* Changes `n` in place, or returns the value that already is what it would be; may make sizes. */
static int32_t simplify(lfuse_graph *g, lfuse__node *n)
{
    int i;

    switch ((lfuse__node_kind)n->kind) {
    case LFUSE__POINTWISE:
        if (n->type != LFUSE_TYPE_NONE) return neutral_operand(g, n);
        if (all_constant(g, n)) {
            fold(g, n);
            break;
        }
        for (n->cost = 1, i = 0; i < n->nin; i++) n->cost += g->nodes[n->in[i]].cost;
        return neutral_operand(g, n);
    case LFUSE__IDENTITY: return n->in[0];
    case LFUSE__CAST: return n->type == g->nodes[n->in[0]].type ? n->in[0] : -1;
    case LFUSE__PERMUTE: return simplify_permute(g, n);
    case LFUSE__BROADCAST: return simplify_broadcast(g, n);
    case LFUSE__RESHAPE: return simplify_reshape(g, n);
    case LFUSE__SLICE: return simplify_slice(g, n);
    case LFUSE__CONCAT: return simplify_concat(g, n);
    case LFUSE__REDUCE: simplify_reduce(g, n); break;
    case LFUSE__EXTENT: simplify_extent(n); break;
    default: break;
    }
    return -1;
}

/* Rewrites every node in order; map[old id] is the new one. */
static void rewrite(builder *b, const lfuse_graph *from, int32_t *map)
{
    int32_t i, same;
    int k;

    for (i = 0; i < from->nnodes; i++) {
        lfuse__node n = from->nodes[i];
        for (k = 0; k < n.nin; k++) n.in[k] = map[n.in[k]];
        same = simplify(b->g, &n);
        map[i] = same >= 0 ? same : intern(b, &n);
    }
}

/* Drops the values that no name needs; inputs have names and stay. */
static void sweep(lfuse_graph *g, int32_t *map)
{
    int32_t i, kept = 0;
    int k;

    for (i = 0; i < g->nnodes; i++) map[i] = -1;
    for (i = 0; i < g->nnames; i++) {
        map[g->names[i].node] = 0;
        if (g->names[i].update >= 0) map[g->names[i].update] = 0;
    }
    for (i = g->nnodes - 1; i >= 0; i--)
        for (k = 0; map[i] >= 0 && k < g->nodes[i].nin; k++) map[g->nodes[i].in[k]] = 0;
    for (i = 0; i < g->nnodes; i++) {
        if (map[i] < 0) continue;
        for (k = 0; k < g->nodes[i].nin; k++) g->nodes[i].in[k] = map[g->nodes[i].in[k]];
        map[i] = kept;
        g->nodes[kept++] = g->nodes[i];
    }
    g->nnodes = kept;
    for (i = 0; i < g->nnames; i++) {
        g->names[i].node = map[g->names[i].node];
        if (g->names[i].update >= 0) g->names[i].update = map[g->names[i].update];
    }
}

static lfuse_status has_results(const lfuse_graph *g)
{
    int32_t i;

    for (i = 0; i < g->nnames; i++)
        if (g->names[i].kind == LFUSE__NAME_OUTPUT || g->names[i].update >= 0) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_INVALID, "the graph has no output and no update");
}

lfuse_status lfuse__graph_canonical(const lfuse_graph *g, lfuse_graph **canonical)
{
    lfuse_status status = LFUSE_ERR_MEMORY;
    builder b = {NULL, NULL, 0};
    uint32_t slots = 16;
    int32_t *map, i;

    LFUSE__TRY(lfuse_graph_check(g));
    LFUSE__TRY(has_results(g));
    while (slots < 2 * (uint32_t)g->nnodes) slots *= 2;
    b.mask = slots - 1;
    b.table = malloc(slots * sizeof *b.table);
    map = malloc((size_t)g->nnodes * sizeof *map);
    b.g = lfuse__graph_without_nodes(g);
    if (b.g) b.g->nodes = malloc((size_t)g->nnodes * sizeof *b.g->nodes);
    if (!b.table || !map || !b.g || !b.g->nodes) goto err_free_all;
    memset(b.table, 0xff, slots * sizeof *b.table);
    b.g->node_capacity = g->nnodes;

    rewrite(&b, g, map);
    for (i = 0; i < g->nnames; i++) {
        b.g->names[i].node = map[g->names[i].node];
        if (g->names[i].update >= 0) b.g->names[i].update = map[g->names[i].update];
    }
    sweep(b.g, map);
    *canonical = b.g;
    b.g = NULL;
    status = LFUSE_OK;

err_free_all:
    free(b.table);
    free(map);
    lfuse_graph_destroy(b.g);
    return status ? lfuse__error(status, "no memory for the canonical form of %d values", (int)g->nnodes) : LFUSE_OK;
}
