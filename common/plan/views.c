/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views as walks over what they are views of: no work of their own. Where a walk would not be affine (a reshape of what
 * is no contiguous range), the value that is reshaped is copied: it becomes a copied view, a node that computes the
 * identity.
 */
#include "common/plan/draft.h"

#include <string.h>

/* Axis i of a value of shape `to` (rank) read from one of shape `from`, aligned at the last axis; -1: repeats. */
static int aligned(int i, const lfuse_size *to, int to_rank, const lfuse_size *from, int from_rank)
{
    const int own = i - (to_rank - from_rank);

    return own < 0 || (from[own] == 1 && to[i] != 1) ? -1 : own;
}

/* The walker's axes repeat, or walk the same axis of the operand aligned at the last one. */
static void broadcast(const lfuse__draft *d, const lfuse__node *n, int32_t in, lfuse__view *v)
{
    const lfuse__node *source = lfuse__draft_node(d, in);
    int i, own;

    memset(v->axis, -1, sizeof v->axis);
    memset(v->step, 0, sizeof v->step);
    for (i = 0; i < n->rank && !source->list; i++) {
        own = aligned(i, n->shape, n->rank, source->shape, source->rank);
        if (own < 0) continue;
        v->axis[i] = (int8_t)own;
        v->step[i] = 1;
    }
}

/*
 * The axes of a look-up's result behind the first `indices` walk the table's behind its first; where it looks up single
 * elements along an axis, all others walk the same axis of the table.
 */
static void rows_of(const lfuse__node *n, int indices, lfuse__view *v)
{
    int i;

    if (n->naxes) {
        v->axis[n->axes[0]] = -1;
        v->step[n->axes[0]] = 0;
        return;
    }
    memset(v->axis, -1, sizeof v->axis);
    memset(v->step, 0, sizeof v->step);
    for (i = indices; i < n->rank; i++) {
        v->axis[i] = (int8_t)(1 + i - indices);
        v->step[i] = 1;
    }
}

/* How a node walks its operand i as if that were memory. */
static void step_back(const lfuse__draft *d, int32_t node, int i, lfuse__view *v)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    int k;

    lfuse__view_identity(d, n->in[i], v);
    switch ((lfuse__node_kind)n->kind) {
    case LFUSE__PERMUTE:
        for (k = 0; k < n->rank; k++) v->axis[k] = n->axes[k];
        break;
    case LFUSE__RESHAPE: /* of memory in order: the shape is all that changes */
        lfuse__view_identity(d, node, v);
        v->base = n->in[i];
        break;
    case LFUSE__SLICE:
        v->offset[n->axes[0]] = n->start;
        v->step[n->axes[0]] = n->step;
        break;
    case LFUSE__REDUCE: /* by the operand's own axes; so those that follow */
    case LFUSE__MATMUL:
    case LFUSE__SCATTER_ADD:
    case LFUSE__CONCAT:
    case LFUSE__MEMBER_REDUCE:
    case LFUSE__LIST_REDUCE:
    case LFUSE__LINE_REDUCE:
    case LFUSE__MEMBER_ELEMENTS: break;
    case LFUSE__GATHER: /* the indices by the first axes of the result, or by all; the table's rows by the others */
        if (i == 0) rows_of(n, lfuse__draft_node(d, n->in[1])->rank, v);
        break;
    default: broadcast(d, n, n->in[i], v); break;
    }
}

/* A node that is no node of its own but a walk over its base. */
static bool is_view(const lfuse__draft *d, int32_t node)
{
    const lfuse__node_kind kind = (lfuse__node_kind)lfuse__draft_node(d, node)->kind;

    return (kind == LFUSE__PERMUTE || kind == LFUSE__BROADCAST || kind == LFUSE__RESHAPE || kind == LFUSE__SLICE) &&
           !d->nodes[node].copied_view;
}

bool lfuse__draft_alone(const lfuse__draft *d, int32_t node)
{
    return (d->nodes[node].copied_view && d->disable & LFUSE_NO_VIEW_FUSION) ||
           (lfuse__draft_node(d, node)->kind == LFUSE__GATHER && d->disable & LFUSE_NO_GATHER_FUSION) ||
           ((lfuse__draft_is_root(d, node) || lfuse__draft_reduces_list(d, node)) &&
            d->disable & LFUSE_NO_ROW_FUSION);
}

/* Whether a table can be looked up along its axis `along` where it lies: the other axes may be any walk. */
static bool has_rows(const lfuse__draft *d, int32_t table, int along)
{
    const lfuse__view *v = &d->memory[table].view;
    const lfuse__node_kind kind = (lfuse__node_kind)lfuse__draft_node(d, v->base)->kind;
    const int axis = v->axis[along];
    int i;

    if (kind == LFUSE__INDEX || axis < 0 || v->step[along] != 1 || v->offset[axis] != 0 ||
        v->shape[axis] != lfuse__draft_node(d, table)->shape[along])
        return false;
    for (i = 0; i < LFUSE_MAX_RANK; i++)
        if (i != along && v->axis[i] == axis) return false;
    return true;
}

/* The value that has to be copied before `node` can be what it is, or -1. */
static int32_t obstacle(const lfuse__draft *d, int32_t node)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    int i;

    if ((n->kind == LFUSE__RESHAPE || n->kind == LFUSE__SLICE) && d->disable & LFUSE_NO_VIEW_FUSION &&
        !d->nodes[node].copied_view)
        return node;
    if (n->kind == LFUSE__GATHER && !d->nodes[n->in[0]].copied_view && !has_rows(d, n->in[0], n->axes[0]))
        return n->in[0];
    for (i = 0; n->kind == LFUSE__SCATTER_ADD && i < 2; i++)
        if (lfuse__draft_node(d, d->memory[n->in[i]].view.base)->kind == LFUSE__INDEX &&
            !d->nodes[n->in[i]].copied_view) return n->in[i];
    return -1;
}

lfuse_status lfuse__pass_views(lfuse__draft *d)
{
    int32_t node, in, copied;
    lfuse__view back;

    for (node = 0; node < d->g->nnodes; node++) {
        lfuse__view *v = &d->memory[node].view;
        copied = obstacle(d, node);
        if (copied < 0 && (is_view(d, node) || d->nodes[node].copied_view) && lfuse__draft_node(d, node)->nin) {
            in = lfuse__draft_node(d, node)->in[0];
            step_back(d, node, 0, &back);
            if (!lfuse__view_compose(d, &back, in, &d->memory[in].view, v)) copied = in;
        }
        if (copied < 0 && !is_view(d, node)) lfuse__view_identity(d, node, v);
        if (copied < 0) continue;
        d->nodes[copied].copied_view = true;
        node = copied - 1; /* everything from there on once more */
    }
    return LFUSE_OK;
}

int32_t lfuse__draft_operand(const lfuse__draft *d, int32_t node, int i, lfuse__view *walk)
{
    const lfuse__node *n = lfuse__draft_node(d, node);
    const int32_t in = n->in[i];
    lfuse__view back;

    step_back(d, node, i, &back);
    lfuse__view_compose(d, &back, in, &d->memory[in].view, walk); /* lfuse__pass_views saw to it that it can be done */
    if (n->kind == LFUSE__GATHER && i == 0) walk->gathered = d->memory[in].view.axis[n->axes[0]];
    return walk->base;
}

bool lfuse__draft_same_index(const lfuse__draft *d, int32_t node, const lfuse__view *walk)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *b = lfuse__draft_node(d, walk->base);

    return lfuse__same_shape(n, b) && lfuse__view_linear(d, node, walk);
}

/*
 * Whether the loop axes that walk axis m of the memory reach distinct elements: each but one steps over all that
 * another one walks.
 */
static bool are_distinct(const lfuse__draft *d, const lfuse__node *n, const lfuse__view *walk, int m)
{
    int i, k, walkers = 0, links = 0;

    for (i = 0; i < n->rank; i++) {
        if (walk->axis[i] != m || n->shape[i] == 1) continue;
        walkers++;
        for (k = 0; k < n->rank; k++)
            if (k != i && walk->axis[k] == m && n->shape[k] != 1 &&
                lfuse__size_same(d->g, walk->step[i],
                                 lfuse__size_product(d->out->graph, walk->step[k], n->shape[k]))) {
                links++;
                break;
            }
    }
    return walkers <= links + 1;
}

bool lfuse__draft_once(const lfuse__draft *d, int32_t node, const lfuse__view *walk)
{
    const lfuse__node *n = lfuse__draft_node(d, node), *b = lfuse__draft_node(d, walk->base);
    int i;

    if (n->list != b->list || (n->list && n->rank != b->rank)) return false;
    for (i = 0; i < n->rank && !n->list; i++)
        if (walk->axis[i] < 0 && n->shape[i] != 1) return false;
    for (i = 0; i < walk->rank; i++)
        if (!are_distinct(d, n, walk, i)) return false;
    return true;
}

bool lfuse__draft_reaches(const lfuse__draft *d, int32_t node, const lfuse__view *walk)
{
    lfuse__view own, composed;
    int i;

    if (lfuse__draft_immediate(d, node)) return true;
    for (i = 0; i < lfuse__draft_node(d, node)->nin; i++) {
        lfuse__draft_operand(d, node, i, &own);
        if (!lfuse__view_compose(d, walk, node, &own, &composed)) return false;
    }
    return true;
}
