/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reshapes of what rows make sink below what is computed of it: f(reshape(a), b) = reshape(f(a, b seen in a's shape)).
 * A row kernel runs over one shape, and what follows joins it in that shape alone: groupnorm has its rows in groups,
 * and the activation and the residual behind it are of the shape that the caller knows. Other operands, broadcast ones
 * among them, are reshaped instead, which is free. It is not done where the other operands cannot be seen so.
 */
#include "common/graph/build.h"
#include "common/plan/draft.h"
#include "common/plan/lower.h"

/* The node that a value, a reshape to the shape of `spec`, reshapes; -1. */
static int32_t source(const lfuse__lowering *l, const lfuse__node *spec, int32_t value)
{
    const int32_t node = l->values[value].node;
    const lfuse__node *n = node < 0 ? NULL : &l->g->nodes[node];

    return n && n->kind == LFUSE__RESHAPE && lfuse__same_shape(n, spec) ? n->in[0] : -1;
}

/* Sets the axes of a group in the new shape: those of `to`, or ones where the operand repeats along all of them. */
static bool see_group(const lfuse__node *spec, const lfuse__node *x, const lfuse__node *to, const lfuse__group *at,
                      lfuse_size *shape)
{
    int i, whole = 0, repeats = 0;

    for (i = at->from; i < at->from_end; i++) {
        const int own = i - (spec->rank - x->rank);
        if (spec->shape[i] == 1) continue;
        if (own >= 0 && x->shape[own] == spec->shape[i]) whole++;
        else repeats++;
    }
    if (whole && repeats) return false;
    for (i = at->to; i < at->to_end; i++) shape[i] = whole ? to->shape[i] : 1;
    return true;
}

/* The shape in which an operand of a function over `spec` broadcasts to the shape of `to`. */
static bool seen_in(const lfuse__lowering *l, const lfuse__node *spec, const lfuse__node *x, const lfuse__node *to,
                    lfuse_size *shape)
{
    lfuse__group at = { 0, 0, 0, 0 };
    int i;

    for (i = 0; i < to->rank; i++) shape[i] = 1;
    do {
        if (!lfuse__group_next(l->g, spec->rank, spec->shape, to->rank, to->shape, &at)) return false;
        if (!see_group(spec, x, to, &at, shape)) return false;
    } while (at.from_end < spec->rank || at.to_end < to->rank);
    return true;
}

/* The operand whose reshape sinks; -1. */
static int sinking_operand(const lfuse__lowering *l, const lfuse__node *spec, const int32_t *in)
{
    int i;

    if (l->disable & LFUSE_NO_VIEW_FUSION || l->sinking || spec->list) return -1;
    if (spec->kind != LFUSE__POINTWISE && spec->kind != LFUSE__CAST) return -1;
    for (i = 0; i < spec->nin; i++) {
        const int32_t node = source(l, spec, in[i]);
        if (node >= 0 && l->value_of[node] >= 0 && l->values[l->value_of[node]].rows &&
            !lfuse__draft_alike(&l->g->nodes[node], spec))
            return i;
    }
    return -1;
}

int32_t lfuse__lower_sink(lfuse__lowering *l, const lfuse__node *spec, const int32_t *in)
{
    const int which = sinking_operand(l, spec, in);
    lfuse_size shapes[3][LFUSE_MAX_RANK];
    int32_t of[3] = { -1, -1, -1 }, value;
    lfuse__node to, n = *spec;
    int i;

    if (which < 0) return -1;
    to = l->g->nodes[source(l, spec, in[which])];
    for (i = 0; i < spec->nin; i++) {
        const int32_t node = source(l, spec, in[i]);
        const lfuse__node *x = &l->values[in[i]].spec;
        if (node >= 0 && lfuse__same_shape(&l->g->nodes[node], &to)) of[i] = lfuse__lower_value(l, node);
        else if (x->rank && !seen_in(l, spec, x, &to, shapes[i])) return -1;
    }
    for (i = 0; i < spec->nin; i++) {
        if (of[i] >= 0) continue;
        of[i] = l->values[in[i]].spec.rank ? lfuse__lower_reshape(l, in[i], to.rank, shapes[i]) : in[i];
        if (of[i] < 0) return -1;
    }
    lfuse__build_set_shape(&n, to.rank, to.shape);
    /* Rows of two shapes would have each other's reshape sink for ever. */
    l->sinking = true;
    value = lfuse__lower_node(l, &n, of);
    l->sinking = false;
    return lfuse__lower_reshape(l, value, spec->rank, spec->shape);
}
