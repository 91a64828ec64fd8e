/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adafactor, as torch.optim has it: the second moment of a matrix is the product of what its rows and its columns have,
 * over the mean of the former. Of a vector, which is one row, the moment of the columns is all of it.
 */
#include "common/optim/rule.h"

/* The root of the mean square of each member. */
static lfuse_value mean_root(const lfuse__rule_step *s, lfuse_value x)
{
    return lfuse_sqrt(lfuse__rule_member_mean(s, lfuse_mul(x, x)));
}

/*
 * Each row's moment over the mean of its matrix' rows, at least eps; 1 for vectors. That the moment of a column is
 * multiplied by this, and not the quotient taken of a product, keeps small gradients from vanishing.
 */
static lfuse_value row_factor(const lfuse__rule_step *s)
{
    const lfuse_value one = lfuse__rule_number(s, 1);
    const lfuse_value mean = lfuse_div(lfuse__rule_sum_of_rows(s, s->fresh[0]), s->rows);
    const lfuse_value factor = lfuse_div(s->fresh[0], lfuse_max(mean, s->h[LFUSE__HYPER_eps]));

    return lfuse_where(s->is_matrix, factor, one);
}

/* The larger number; `least` where the other is NaN: elements of a member beside one that is NaN still move. */
static lfuse_value at_least(lfuse_value number, lfuse_value least)
{
    return lfuse_where(lfuse_gt(number, least), number, least);
}

/* Steps are relative to the size of the parameter, and bounded. */
static lfuse_value adafactor(lfuse__rule_step *s)
{
    const lfuse_value one = lfuse__rule_number(s, 1), eps = s->h[LFUSE__HYPER_eps];
    const lfuse_value relative = lfuse_min(s->h[LFUSE__HYPER_lr], lfuse_reciprocal(lfuse_sqrt(s->t)));
    const lfuse_value weight = lfuse_pow(s->t, s->h[LFUSE__HYPER_beta2]);
    const lfuse_value rate = lfuse_mul(at_least(mean_root(s, s->p), s->h[LFUSE__HYPER_eps2]), relative);
    lfuse_value moment, step, excess;

    /* The same squares by two operators, so that each sum makes its own and none is stored. */
    s->fresh[0] = lfuse_lerp(s->old[0], lfuse__rule_row_mean(s, lfuse_mul(s->grad, s->grad)), weight);
    s->fresh[1] = lfuse_lerp(s->old[1], lfuse__rule_column_mean(s, lfuse_square(s->grad)), weight);
    moment = lfuse_mul(lfuse_where(one, row_factor(s), s->grad), s->fresh[1]); /* `where` repeats it along its row */
    step = lfuse_div(s->grad, lfuse_sqrt(lfuse_max(moment, lfuse_mul(eps, eps))));
    excess = at_least(lfuse_div(mean_root(s, step), s->h[LFUSE__HYPER_clip_threshold]), one);
    return lfuse_sub(lfuse__rule_shrunk(s), lfuse_mul(lfuse_div(rate, excess), step));
}

const lfuse__rule lfuse__rule_ADAFACTOR = {
    .name = "adafactor", .step = adafactor, .matrices = true,
    .hypers = { H(lr, 1e-2, NONNEGATIVE), H(beta2, -0.8, LFUSE__RANGE_NEGATIVE), H(eps, 0x1p-23, NONNEGATIVE), H(eps2,
        1e-3, NONNEGATIVE), H(clip_threshold, 1, LFUSE__RANGE_FROM_1), H(weight_decay, 0, NONNEGATIVE), END },
    .states = { { "row_var", 0, ZEROS, false, LFUSE_RANK_ROWS }, { "col_var", 0, ZEROS, false, LFUSE_RANK_COLUMNS } },
};
