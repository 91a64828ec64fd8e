/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Rules that look at whole members: LAMB, NovoGrad, Adafactor. */
#include "common/optim/rule.h"

static lfuse_value squares(lfuse_value list)
{
    return lfuse_member_sum(lfuse_mul(list, list));
}

static lfuse_value norm(lfuse_value list)
{
    return lfuse_sqrt(squares(list));
}

lfuse_value lfuse__rule_lamb(lfuse__rule_step *s)
{
    const lfuse_value beta1 = s->h[LFUSE__HYPER_beta1], beta2 = s->h[LFUSE__HYPER_beta2];
    const lfuse_value none = lfuse__rule_number(s, 0), one = lfuse__rule_number(s, 1);
    lfuse_value first, root, step, of_p, of_step, trust;

    s->fresh[0] = lfuse__rule_moment(s->old[0], s->grad, beta1);
    s->fresh[1] = lfuse__rule_square(s->old[1], s->grad, beta2);
    first = lfuse_div(s->fresh[0], lfuse__rule_correction(s, beta1));
    root = lfuse_sqrt(lfuse_div(s->fresh[1], lfuse__rule_correction(s, beta2)));
    step = lfuse_add(lfuse_div(first, lfuse_add(root, s->h[LFUSE__HYPER_eps])),
                     lfuse_mul(s->h[LFUSE__HYPER_weight_decay], s->p));
    of_p = norm(s->p);
    of_step = norm(step);
    trust = lfuse_where(lfuse_gt(of_p, none), lfuse_div(of_p, of_step), one);
    trust = lfuse_where(lfuse_gt(of_step, none), trust, one);
    return lfuse_sub(s->p, lfuse_mul(lfuse_mul(s->h[LFUSE__HYPER_lr], trust), step));
}

/* The second moment is a number for each member: at first the square of the gradient's norm. */
lfuse_value lfuse__rule_novograd(lfuse__rule_step *s)
{
    const lfuse_value beta1 = s->h[LFUSE__HYPER_beta1], beta2 = s->h[LFUSE__HYPER_beta2];
    const lfuse_value now = squares(s->grad);
    lfuse_value step;

    s->fresh[1] = lfuse_where(lfuse__rule_first(s), now, lfuse_lerp(s->old[1], now, lfuse__rule_rest(beta2)));
    step = lfuse_div(s->grad, lfuse_add(lfuse_sqrt(s->fresh[1]), s->h[LFUSE__HYPER_eps]));
    step = lfuse_add(step, lfuse_mul(s->h[LFUSE__HYPER_weight_decay], s->p));
    if (s->switches & LFUSE_OPTIM_GRAD_AVERAGING) step = lfuse_mul(step, lfuse__rule_rest(beta1));
    s->fresh[0] = lfuse_add(lfuse_mul(s->old[0], beta1), step);
    return lfuse_sub(s->p, lfuse_mul(s->h[LFUSE__HYPER_lr], s->fresh[0]));
}

/* The root of the mean square of each member. */
static lfuse_value mean_root(lfuse_value list)
{
    return lfuse_sqrt(lfuse_member_mean(lfuse_mul(list, list)));
}

/* Steps are relative to the size of the parameter, and bounded; the moment is not factored. */
lfuse_value lfuse__rule_adafactor(lfuse__rule_step *s)
{
    const lfuse_value one = lfuse__rule_number(s, 1), eps = s->h[LFUSE__HYPER_eps];
    const lfuse_value relative = lfuse_min(s->h[LFUSE__HYPER_lr], lfuse_reciprocal(lfuse_sqrt(s->t)));
    const lfuse_value weight = lfuse_pow(s->t, s->h[LFUSE__HYPER_beta2]);
    const lfuse_value rate = lfuse_mul(lfuse_max(mean_root(s->p), s->h[LFUSE__HYPER_eps2]), relative);
    lfuse_value step, excess;

    s->fresh[0] = lfuse_lerp(s->old[0], lfuse_mul(s->grad, s->grad), weight);
    step = lfuse_div(s->grad, lfuse_sqrt(lfuse_max(s->fresh[0], lfuse_mul(eps, eps))));
    excess = lfuse_max(lfuse_div(mean_root(step), s->h[LFUSE__HYPER_clip_threshold]), one);
    return lfuse_sub(lfuse__rule_shrunk(s), lfuse_mul(lfuse_div(rate, excess), step));
}
