/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graph to graph, before everything else: the nodes in order, each as what rewrites its kind makes of it (distribute.c,
 * columns.c, sink.c, scatter.c), and what has to be known of the whole graph for that.
 */
#include "common/plan/lower.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/graph/build.h"

/* The axis along which a node comes in pieces where its operand k does; -1. */
static int axis_behind(const lfuse__lowering *l, const lfuse__node *n, int k, const int *axis)
{
    const int32_t in = n->in[k];

    return axis[in] < 0 ? -1 : lfuse__lower_result_axis(l->g, n, &l->from->nodes[in], k, axis[in]);
}

/*
 * Which values lie in memory as a whole: results, and what a reader cannot take in pieces. axis[node] is the axis along
 * which the value may come in pieces, -1.
 */
static void find_forced(lfuse__lowering *l, int *axis)
{
    const lfuse_graph *g = l->from;
    int32_t i;
    int k;

    for (i = 0; i < g->nnodes; i++) {
        const lfuse__node *n = &g->nodes[i];
        axis[i] = n->kind == LFUSE__CONCAT ? n->axes[0] : n->kind == LFUSE__MATMUL && n->rank == 2 ? 1 : -1;
        for (k = 0; k < n->nin && axis[i] < 0; k++) axis[i] = axis_behind(l, n, k, axis);
    }
    for (i = 0; i < g->nnames; i++) {
        l->forced[g->names[i].node] = true;
        if (g->names[i].update >= 0) l->forced[g->names[i].update] = true;
    }
    for (i = g->nnodes - 1; i >= 0; i--) {
        const lfuse__node *n = &g->nodes[i];
        const bool view = n->kind == LFUSE__PERMUTE || n->kind == LFUSE__BROADCAST || n->kind == LFUSE__RESHAPE ||
                          n->kind == LFUSE__SLICE || n->kind == LFUSE__CONCAT;
        const bool range = n->kind == LFUSE__SLICE && n->step == 1 && lfuse__size_is_number(n->start) &&
                           lfuse__size_is_number(n->shape[n->axes[0]]);
        for (k = 0; k < n->nin; k++)
            if (axis[n->in[k]] >= 0 && !(range && axis[n->in[k]] == n->axes[0]) &&
                (axis_behind(l, n, k, axis) < 0 || (view && l->forced[i])))
                l->forced[n->in[k]] = true;
    }
}

static void count_readers(lfuse__lowering *l)
{
    int32_t i;
    int k;

    for (i = 0; i < l->from->nnodes; i++)
        for (k = 0; k < l->from->nodes[i].nin; k++) l->readers[l->from->nodes[i].in[k]]++;
    for (i = 0; i < l->from->nnames; i++) {
        if (l->from->names[i].kind == LFUSE__NAME_OUTPUT) l->readers[l->from->names[i].node]++;
        if (l->from->names[i].update >= 0) l->readers[l->from->names[i].update]++;
    }
}

static void find_frozen(lfuse__lowering *l)
{
    int32_t i;
    int k;

    for (i = 0; i < l->from->nnodes; i++) {
        const lfuse__node *n = &l->from->nodes[i];
        l->frozen[i] = n->kind == LFUSE__FROZEN ? 2 : n->kind == LFUSE__CONSTANT || n->nin;
        for (k = 0; k < n->nin && l->frozen[i]; k++) {
            const uint8_t in = l->frozen[n->in[k]];
            if (!in || in > l->frozen[i]) l->frozen[i] = in;
        }
    }
}

/* What is prepared once stays as it is; a concatenation of what nobody computes that is in memory is read there. */
static bool stays(const lfuse__lowering *l, int32_t node)
{
    if (l->from->nodes[node].kind == LFUSE__SCATTER_ADD) return false;
    if (l->frozen[node] == 2) return true;
    return l->from->nodes[node].kind == LFUSE__CONCAT && l->forced[node] && !lfuse__lower_node_computed(l->from, node);
}

static void mark_shared(lfuse__lowering *l, int32_t value)
{
    int i;

    l->values[value].once = false;
    for (i = 0; i < l->values[value].count; i++) mark_shared(l, l->pieces[l->values[value].first + i]);
}

/* Single columns that are wanted as a whole are stored at once: what follows reads rows. */
static void settle_columns(lfuse__lowering *l, int32_t value)
{
    const lfuse__lowered *v = &l->values[value];
    int i;

    if (!v->count || v->axis != v->spec.rank - 1) return;
    for (i = 0; i < v->count; i++)
        if (lfuse__lower_extent(l, v, i) != 1) return;
    lfuse__lower_materialize(l, value);
    l->values[value].count = 0;
    l->values[value].axis = -1;
}

static void lower_nodes(lfuse__lowering *l, int32_t *map)
{
    int32_t i, in[3];
    int k;

    for (i = 0; i < l->from->nnodes && !l->g->status; i++) {
        const lfuse__node *n = &l->from->nodes[i];
        for (k = 0; k < n->nin; k++) in[k] = map[n->in[k]];
        map[i] = stays(l, i) ? lfuse__lower_append(l, n, in) : lfuse__lower_node(l, n, in);
        if (map[i] >= 0 && l->readers[i] > 1) mark_shared(l, map[i]);
        if (map[i] >= 0 && l->forced[i]) settle_columns(l, map[i]);
    }
    for (i = 0; i < l->g->nnames && !l->g->status; i++) {
        l->g->names[i].node = lfuse__lower_materialize(l, map[l->from->names[i].node]);
        if (l->from->names[i].update >= 0)
            l->g->names[i].update = lfuse__lower_materialize(l, map[l->from->names[i].update]);
    }
}

lfuse_status lfuse__graph_lower(const lfuse_graph *from, unsigned disable, lfuse_graph **lowered)
{
    const size_t n = (size_t)from->nnodes;
    lfuse__lowering l = { .from = from, .disable = disable, .node_limit = 8 * from->nnodes + 1024 };
    lfuse__arena arena = { NULL };
    int32_t *map = lfuse__arena_array(&arena, n, sizeof *map);
    int *axis = lfuse__arena_array(&arena, n, sizeof *axis);
    lfuse_status status = LFUSE_ERR_MEMORY;

    l.readers = lfuse__arena_array(&arena, n, sizeof *l.readers);
    l.frozen = lfuse__arena_array(&arena, n, sizeof *l.frozen);
    l.forced = lfuse__arena_array(&arena, n, sizeof *l.forced);
    l.g = lfuse__graph_without_nodes(from);
    if (!l.g) lfuse__error(LFUSE_ERR_MEMORY, "out of host memory while a plan was made (%zu nodes)", n);
    if (!map || !axis || !l.readers || !l.frozen || !l.forced || !l.g) goto err_free_all;
    find_frozen(&l);
    find_forced(&l, axis);
    count_readers(&l);
    lower_nodes(&l, map);
    status = lfuse_graph_check(l.g);
    if (!status) status = lfuse__graph_canonical(l.g, lowered);

err_free_all:
    lfuse_graph_destroy(l.g);
    lfuse__arena_free(&arena);
    free(l.value_of);
    free(l.pieces);
    free(l.values);
    return status;
}
