/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of elements. */
#include <math.h>
#include <string.h>

#include "common/graph/loss.h"
#include "libfuse/ops.h"

bool lfuse__loss_reduction(lfuse_graph *g, const char *call, lfuse_loss_reduction reduction, lfuse_loss_reduction last)
{
    if ((int)reduction >= LFUSE_LOSS_MEAN && reduction <= last) return true;
    lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: it has no reduction %d", call, (int)reduction);
    return false;
}

static unsigned all_axes(lfuse_value v)
{
    return v.id < 0 ? 0 : (1u << v.graph->nodes[v.id].rank) - 1;
}

lfuse_value lfuse__loss_reduced(const char *call, lfuse_value losses, lfuse_loss_reduction reduction)
{
    const unsigned all = all_axes(losses);
    lfuse_value sum;

    switch (reduction) {
    case LFUSE_LOSS_NONE: return losses;
    case LFUSE_LOSS_MEAN: return lfuse__mean_value(call, losses, all, false);
    default: sum = lfuse__reduce_value(call, LFUSE__REDUCE_SUM, losses, all, false);
    }
    if (reduction == LFUSE_LOSS_SUM) return sum;
    return lfuse__op_div(sum, lfuse__count_value(call, losses, 1));
}

/* The operands of a loss of elements, in the type that is computed in. */
static lfuse_graph *begin(const char *call, lfuse_value *a, lfuse_value *target, lfuse_loss_reduction reduction,
                          lfuse_loss_reduction last, lfuse_graph **where)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    lfuse_type type;
    lfuse_graph *g = lfuse__compose_all(call, a, &type, where);

    if (!g || !lfuse__loss_reduction(g, call, reduction, last)) return NULL;
    memcpy(shape, g->nodes[a->id].shape, sizeof shape);
    return lfuse__compose_operand(call, "the target", *a, type, g->nodes[a->id].rank, shape, target) ? g : NULL;
}

static lfuse_value number(lfuse_graph *g, double k)
{
    return lfuse__build_constant(g, k);
}

lfuse_value lfuse_mse_loss(lfuse_value a, lfuse_value target, lfuse_loss_reduction reduction)
{
    static const char call[] = "lfuse_mse_loss";
    lfuse_graph *where, *g = begin(call, &a, &target, reduction, LFUSE_LOSS_NONE, &where);

    if (!g) return LFUSE__POISONED(where);
    return lfuse__loss_reduced(call, lfuse__op_square(lfuse__op_sub(a, target)), reduction);
}

lfuse_value lfuse_l1_loss(lfuse_value a, lfuse_value target, lfuse_loss_reduction reduction)
{
    static const char call[] = "lfuse_l1_loss";
    lfuse_graph *where, *g = begin(call, &a, &target, reduction, LFUSE_LOSS_NONE, &where);

    if (!g) return LFUSE__POISONED(where);
    return lfuse__loss_reduced(call, lfuse__op_abs(lfuse__op_sub(a, target)), reduction);
}

/*
 * m (d - m / 2), m = min(d, delta). A selection between d^2 / 2 and the other branch would multiply an infinite d, of
 * the branch that is not taken, by a gradient of 0.
 */
static lfuse_value huber(lfuse_value d, double delta)
{
    const lfuse_value m = lfuse__op_min(d, number(d.graph, delta));

    return lfuse__op_mul(m, lfuse__op_sub(d, lfuse__op_mul(m, number(d.graph, 0.5))));
}

lfuse_value lfuse_huber_loss(lfuse_value a, lfuse_value target, double delta, lfuse_loss_reduction reduction)
{
    static const char call[] = "lfuse_huber_loss";
    lfuse_graph *where, *g = begin(call, &a, &target, reduction, LFUSE_LOSS_NONE, &where);

    if (!g) return LFUSE__POISONED(where);
    if (!(delta > 0)) return lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: delta %g is not above 0", call, delta);
    return lfuse__loss_reduced(call, huber(lfuse__op_abs(lfuse__op_sub(a, target)), delta), reduction);
}

lfuse_value lfuse_smooth_l1_loss(lfuse_value a, lfuse_value target, double beta, lfuse_loss_reduction reduction)
{
    static const char call[] = "lfuse_smooth_l1_loss";
    lfuse_graph *where, *g = begin(call, &a, &target, reduction, LFUSE_LOSS_NONE, &where);
    lfuse_value d;

    if (!g) return LFUSE__POISONED(where);
    if (!(beta >= 0 && isfinite(beta)))
        return lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: beta %g is below 0 or not finite", call, beta);
    d = lfuse__op_abs(lfuse__op_sub(a, target));
    if (beta > 0) d = lfuse__op_div(huber(d, beta), number(g, beta));
    return lfuse__loss_reduced(call, d, reduction);
}

/* A factor of positive targets, in the shape of the target unless it is a number. */
static bool read_positive(lfuse_graph *g, const char *call, lfuse_value a, lfuse_value *positive)
{
    const lfuse_value both[] = {a, *positive};
    const lfuse__node *n, *to;

    if (!lfuse__build_inner_operands(call, 2, both, NULL)) return false;
    n = &g->nodes[positive->id];
    if (n->type == LFUSE_TYPE_NONE) return true;
    if (!lfuse__build_tensor(g, call, positive->id)) return false;
    to = &g->nodes[a.id];
    if (!lfuse__is_floating((lfuse_type)n->type) || lfuse__wide_type((lfuse_type)n->type) != to->type) {
        lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: the factor is %s, the loss is computed in %s", call,
                            lfuse__describe(g, positive->id).text, lfuse_type_name((lfuse_type)to->type));
        return false;
    }
    *positive = lfuse__build_broadcast(g, call, positive->id, to->rank, to->shape);
    *positive = lfuse__widen(call, *positive);
    return positive->id >= 0;
}

lfuse_value lfuse_binary_cross_entropy_with_logits(lfuse_value a, lfuse_value target, lfuse_value positive,
                                                   lfuse_loss_reduction reduction)
{
    static const char call[] = "lfuse_binary_cross_entropy_with_logits";
    lfuse_graph *where, *g = begin(call, &a, &target, reduction, LFUSE_LOSS_NONE, &where);
    lfuse_value share = target, other;

    if (!g) return LFUSE__POISONED(where);
    if (!lfuse__is_none(positive)) {
        if (!read_positive(g, call, a, &positive)) return LFUSE__POISONED(g);
        share = lfuse__op_mul(positive, target);
    }
    other = lfuse__op_sub(number(g, 1), target);
    return lfuse__loss_reduced(call, lfuse__op_add(lfuse__op_mul(share, lfuse__op_softplus(lfuse__op_neg(a))),
                                                   lfuse__op_mul(other, lfuse__op_softplus(a))), reduction);
}

/* t (log(t) - a); the logarithm of 0, and its derivative, are left out. */
static lfuse_value divergence(lfuse_value a, lfuse_value t)
{
    const lfuse_value zero = number(a.graph, 0), one = number(a.graph, 1);
    const lfuse_value log = lfuse__op_log(lfuse__op_where(lfuse__op_eq(t, zero), one, t));

    return lfuse__op_mul(t, lfuse__op_sub(log, a));
}

lfuse_value lfuse_kl_div(lfuse_value a, lfuse_value target, int log_target, lfuse_loss_reduction reduction)
{
    static const char call[] = "lfuse_kl_div";
    lfuse_graph *where, *g = begin(call, &a, &target, reduction, LFUSE_LOSS_BATCHMEAN, &where);
    lfuse_value v;

    if (!g) return LFUSE__POISONED(where);
    if (reduction == LFUSE_LOSS_BATCHMEAN && !g->nodes[a.id].rank)
        return lfuse__graph_poison(g, LFUSE_ERR_RANK, "%s: a value of rank 0 has no batch", call);
    v = log_target ? lfuse__op_mul(lfuse__op_exp(target), lfuse__op_sub(target, a)) : divergence(a, target);
    return lfuse__loss_reduced(call, v, reduction);
}
