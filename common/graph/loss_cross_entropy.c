/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cross entropy of logits. Of a row it is
 *
 *     log(sum(exp(z))) sum(q) - sum(q z)    z = logits - max(logits)
 *
 * with the share q that a class has of the target, weights included. All terms are at least 0 where q is, so none of
 * them cancels another, and sums are formed in one pass. No gradient flows through the maximum, which the result does
 * not depend on: the derivative by z is exp(z) sum(q) / sum(exp(z)) - q.
 */
#include <math.h>
#include <string.h>

#include "common/graph/loss.h"
#include "libfuse/ops.h"

/* What both functions work on. */
typedef struct cross_entropy {
    const char *call;
    lfuse_graph *g;
    int axis, rank;
    unsigned set;    /* the axis as a bit */
    lfuse_type type; /* that is computed in */
    lfuse_size shape[LFUSE_MAX_RANK]; /* of the logits */
    lfuse_value z, log_sum;           /* the latter with the extent 1 along the axis, as all that belongs to rows */
    lfuse_value weight;               /* [classes]; none: 1 */
    double smoothing;
} cross_entropy;

static lfuse_value number(const cross_entropy *c, double k)
{
    return lfuse__build_constant(c->g, k);
}

static lfuse_value sum_of_row(const cross_entropy *c, lfuse_value v)
{
    return lfuse__reduce_value(c->call, LFUSE__REDUCE_SUM, v, c->set, true);
}

/* A value of the shape [classes] along the axis. */
static lfuse_value along_axis(const cross_entropy *c, lfuse_value v)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    int i;

    if (v.id < 0) return v;
    shape[0] = c->shape[c->axis];
    for (i = 1; i < c->rank - c->axis; i++) shape[i] = 1;
    return lfuse__build_reshape(c->g, c->call, v.id, c->rank - c->axis, shape);
}

/* The shape of what rows have: the logits' with the extent 1 along the axis, or without it. Returns the rank. */
static int shape_of_rows(const cross_entropy *c, bool kept, lfuse_size *shape)
{
    int i, rank = 0;

    for (i = 0; i < c->rank; i++)
        if (i != c->axis) shape[rank++] = c->shape[i];
        else if (kept) shape[rank++] = 1;
    return rank;
}

static bool check_smoothing(lfuse_graph *g, const char *call, double smoothing)
{
    if (smoothing >= 0 && smoothing <= 1) return true;
    lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: smoothing %g is not in 0 ... 1", call, smoothing);
    return false;
}

/* Reads what both functions have in common; *type is that of the logits. */
static bool begin(cross_entropy *c, lfuse_value logits, int axis, lfuse_value weight, lfuse_type *type,
                  lfuse_loss_reduction reduction, lfuse_graph **where)
{
    c->g = lfuse__compose_all(c->call, &logits, type, where);
    if (!c->g || !lfuse__loss_reduction(c->g, c->call, reduction, LFUSE_LOSS_NONE) ||
        !check_smoothing(c->g, c->call, c->smoothing))
        return false;
    c->rank = c->g->nodes[logits.id].rank;
    if (!lfuse__build_axis(c->g, c->call, axis, c->rank, &c->axis)) return false;
    c->set = 1u << c->axis;
    c->type = (lfuse_type)c->g->nodes[logits.id].type;
    memcpy(c->shape, c->g->nodes[logits.id].shape, sizeof c->shape);
    if (!lfuse__is_none(weight) &&
        !lfuse__compose_operand(c->call, "the weight", logits, *type, 1, &c->shape[c->axis], &weight))
        return false;
    c->weight = weight;
    c->z = lfuse__reduce_value(c->call, LFUSE__REDUCE_MAX, logits, c->set, true);
    c->z = lfuse__op_sub(logits, lfuse__stopped(c->call, c->z));
    c->log_sum = lfuse__op_log(sum_of_row(c, lfuse__op_exp(c->z)));
    return c->z.id >= 0;
}

/* How many there are, a number. */
static lfuse_value classes(const cross_entropy *c)
{
    return lfuse__count_value(c->call, c->z, c->set);
}

/* smoothing / classes, a number */
static lfuse_value uniform_share(const cross_entropy *c)
{
    return lfuse__op_div(number(c, c->smoothing), classes(c));
}

static lfuse_value weighted(const cross_entropy *c, lfuse_value v)
{
    return lfuse__is_none(c->weight) ? v : lfuse__op_mul(v, along_axis(c, c->weight));
}

/* The losses of rows without the axis, or what is made of them. */
static lfuse_value result(const cross_entropy *c, lfuse_value rows, lfuse_loss_reduction reduction)
{
    lfuse_size shape[LFUSE_MAX_RANK];

    if (reduction != LFUSE_LOSS_NONE || rows.id < 0) return lfuse__loss_reduced(c->call, rows, reduction);
    return lfuse__build_reshape(c->g, c->call, rows.id, shape_of_rows(c, false, shape), shape);
}

/* ---- indices ---- */

/* The target with the extent 1 along the axis. */
static bool read_indices(const cross_entropy *c, lfuse_value *target)
{
    const lfuse_value both[] = {c->z, *target};
    lfuse_size shape[LFUSE_MAX_RANK];
    const int rank = shape_of_rows(c, false, shape);
    const lfuse__node *n;

    if (!lfuse__build_inner_operands(c->call, 2, both, NULL) || !lfuse__build_tensor(c->g, c->call, target->id))
        return false;
    n = &c->g->nodes[target->id];
    if (n->type != LFUSE_I32 && n->type != LFUSE_I64) {
        lfuse__graph_poison(c->g, LFUSE_ERR_TYPE, "%s: indices are i32 or i64, not %s", c->call,
                            lfuse_type_name((lfuse_type)n->type));
        return false;
    }
    if (n->rank != rank || (rank && memcmp(n->shape, shape, (size_t)rank * sizeof *shape))) {
        lfuse__graph_poison(c->g, LFUSE_ERR_SHAPE, "%s: the target is %s, where %s is needed", c->call,
                            lfuse__describe(c->g, target->id).text, lfuse__describe_shape(c->g, rank, shape).text);
        return false;
    }
    *target = lfuse__build_reshape(c->g, c->call, target->id, shape_of_rows(c, true, shape), shape);
    return target->id >= 0;
}

/* Whether an element is that of its row's target. The target's index is cast, once a row, and not those of elements. */
static lfuse_value is_target(const cross_entropy *c, lfuse_value target)
{
    const lfuse_value index = lfuse__build_index(c->g, c->call, 1, &c->shape[c->axis]);

    return lfuse__op_eq(along_axis(c, index), lfuse__to_type(c->call, target, LFUSE_I64));
}

/* The weight of a row's target, 0 of an unknown one. */
static lfuse_value weight_of_target(const cross_entropy *c, lfuse_value target, lfuse_value known)
{
    const lfuse_value index = lfuse__op_where(known, target, number(c, 0));
    lfuse_value v;

    if (index.id < 0 || c->weight.id < 0) return index.id < 0 ? index : c->weight;
    v = lfuse__build_gather(c->g, c->call, c->weight.id, index.id);
    return lfuse__op_where(known, v, number(c, 0));
}

/* The losses of rows without weights, but for their targets' in `share` (none: 1). */
static lfuse_value plain_rows(const cross_entropy *c, lfuse_value own, lfuse_value share)
{
    /* Other classes may be -inf: they are left out, not multiplied by 0. */
    const lfuse_value v = lfuse__op_sub(c->log_sum, sum_of_row(c, lfuse__op_where(own, c->z, number(c, 0))));

    return lfuse__is_none(share) ? v : lfuse__op_mul(share, v);
}

/* The losses of rows whose other classes have shares too. */
static lfuse_value smooth_rows(const cross_entropy *c, lfuse_value own)
{
    const lfuse_value others = uniform_share(c), more = lfuse__op_add(others, number(c, 1 - c->smoothing));
    const lfuse_value q = weighted(c, lfuse__op_where(own, lfuse__to_type(c->call, more, c->type), others));
    const lfuse_value sum = lfuse__is_none(c->weight) ? c->log_sum : lfuse__op_mul(c->log_sum, sum_of_row(c, q));

    return lfuse__op_sub(sum, sum_of_row(c, lfuse__op_mul(q, c->z)));
}

/*
 * The sum of the rows' losses over the sum of the shares of those that count. Rows are divided, and not their sum, so
 * that one kernel behind that for the shares computes losses and gradients.
 */
static lfuse_value mean_of_counted(const cross_entropy *c, lfuse_value rows, lfuse_value shares)
{
    const lfuse_value sum = lfuse__loss_reduced(c->call, shares, LFUSE_LOSS_SUM);

    return lfuse__loss_reduced(c->call, lfuse__op_div(rows, lfuse__to_type(c->call, sum, c->type)), LFUSE_LOSS_SUM);
}

static lfuse_value of_indices(const cross_entropy *c, lfuse_value target, int ignored, lfuse_loss_reduction reduction)
{
    const lfuse_value zero = number(c, 0), own = is_target(c, target);
    const lfuse_value known = lfuse__op_logical_and(lfuse__op_ge(target, zero), lfuse__op_lt(target, classes(c)));
    lfuse_value rows, counted, share = c->weight;

    if (!lfuse__is_none(share)) share = weight_of_target(c, target, known);
    rows = c->smoothing == 0 ? plain_rows(c, own, share) : smooth_rows(c, own);
    rows = lfuse__op_where(known, rows, number(c, NAN));
    if (ignored == LFUSE_NO_IGNORED_INDEX) {
        if (reduction == LFUSE_LOSS_MEAN && !lfuse__is_none(share)) return mean_of_counted(c, rows, share);
        return result(c, rows, reduction);
    }
    counted = lfuse__op_ne(target, number(c, ignored));
    rows = lfuse__op_where(counted, rows, zero);
    if (reduction != LFUSE_LOSS_MEAN) return result(c, rows, reduction);
    return mean_of_counted(c, rows, lfuse__is_none(share) ? counted : lfuse__op_where(counted, share, zero));
}

lfuse_value lfuse_cross_entropy(lfuse_value logits, int axis, lfuse_value target, lfuse_value weight, int ignored,
                                double smoothing, lfuse_loss_reduction reduction)
{
    cross_entropy c = {.call = "lfuse_cross_entropy", .smoothing = smoothing};
    lfuse_graph *where;
    lfuse_type type;

    if (!begin(&c, logits, axis, weight, &type, reduction, &where)) return LFUSE__POISONED(where);
    return read_indices(&c, &target) ? of_indices(&c, target, ignored, reduction) : LFUSE__POISONED(c.g);
}

/* ---- probabilities ---- */

lfuse_value lfuse_cross_entropy_probabilities(lfuse_value logits, int axis, lfuse_value target, lfuse_value weight,
                                              double smoothing, lfuse_loss_reduction reduction)
{
    cross_entropy c = {.call = "lfuse_cross_entropy_probabilities", .smoothing = smoothing};
    lfuse_graph *where;
    lfuse_type type;
    lfuse_value q;

    if (!begin(&c, logits, axis, weight, &type, reduction, &where)) return LFUSE__POISONED(where);
    if (!lfuse__compose_operand(c.call, "the target", c.z, type, c.rank, c.shape, &target)) return LFUSE__POISONED(c.g);
    q = target;
    if (smoothing != 0) q = lfuse__op_add(lfuse__op_mul(q, number(&c, 1 - smoothing)), uniform_share(&c));
    q = weighted(&c, q);
    return result(&c, lfuse__op_sub(lfuse__op_mul(c.log_sum, sum_of_row(&c, q)),
                                    sum_of_row(&c, lfuse__op_mul(q, c.z))), reduction);
}
