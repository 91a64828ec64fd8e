/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that look at whole members: LAMB, NovoGrad. */
#include "common/optim/rule.h"

static lfuse_value squares(const lfuse__rule_step *s, lfuse_value x)
{
    return lfuse__rule_member_sum(s, lfuse_mul(x, x));
}

static lfuse_value norm(const lfuse__rule_step *s, lfuse_value x)
{
    return lfuse_sqrt(squares(s, x));
}

/* Whether a norm is one to divide by and multiply with: of no zeros, and neither infinite nor NaN. */
static lfuse_value is_size(const lfuse__rule_step *s, lfuse_value norm)
{
    return lfuse_logical_and(lfuse_gt(norm, lfuse__rule_number(s, 0)), lfuse_isfinite(norm));
}

static lfuse_value lamb(lfuse__rule_step *s)
{
    const lfuse_value beta1 = s->h[LFUSE__HYPER_beta1], beta2 = s->h[LFUSE__HYPER_beta2];
    const lfuse_value one = lfuse__rule_number(s, 1);
    lfuse_value first, root, step, of_p, of_step, trust;

    s->fresh[0] = lfuse__rule_moment(s->old[0], s->grad, beta1);
    s->fresh[1] = lfuse__rule_square(s->old[1], s->grad, beta2);
    first = lfuse_div(s->fresh[0], lfuse__rule_correction(s, beta1));
    root = lfuse_sqrt(lfuse_div(s->fresh[1], lfuse__rule_correction(s, beta2)));
    step = lfuse__rule_decayed(s, lfuse_div(first, lfuse_add(root, s->h[LFUSE__HYPER_eps])));
    of_p = norm(s, s->p);
    of_step = norm(s, step);
    trust = lfuse_where(is_size(s, of_p), lfuse_div(of_p, of_step), one);
    trust = lfuse_where(is_size(s, of_step), trust, one);
    return lfuse_sub(s->p, lfuse_mul(lfuse_mul(s->h[LFUSE__HYPER_lr], trust), step));
}

const lfuse__rule lfuse__rule_LAMB = {
    .name = "lamb", .step = lamb,
    .hypers = { H(lr, 1e-3, NONNEGATIVE), BETAS(0.9, 0.999), H(eps, 1e-6, NONNEGATIVE), H(weight_decay, 1e-2,
        NONNEGATIVE), END },
    .states = { MOMENTS },
};

/* The second moment is a number for each member: at first the square of the gradient's norm. */
static lfuse_value novograd(lfuse__rule_step *s)
{
    const lfuse_value beta1 = s->h[LFUSE__HYPER_beta1], beta2 = s->h[LFUSE__HYPER_beta2];
    const lfuse_value now = squares(s, s->grad);
    lfuse_value step;

    s->fresh[1] = lfuse_where(lfuse__rule_first(s), now, lfuse_lerp(s->old[1], now, lfuse__rule_rest(beta2)));
    step = lfuse_div(s->grad, lfuse_add(lfuse_sqrt(s->fresh[1]), s->h[LFUSE__HYPER_eps]));
    step = lfuse__rule_decayed(s, step);
    if (s->switches & LFUSE_OPTIM_GRAD_AVERAGING) step = lfuse_mul(step, lfuse__rule_rest(beta1));
    s->fresh[0] = lfuse_add(lfuse_mul(s->old[0], beta1), step);
    return lfuse_sub(s->p, lfuse_mul(s->h[LFUSE__HYPER_lr], s->fresh[0]));
}

const lfuse__rule lfuse__rule_NOVOGRAD = {
    .name = "novograd", .step = novograd, .switches = LFUSE_OPTIM_GRAD_AVERAGING,
    .hypers = { H(lr, 1e-2, NONNEGATIVE), BETAS(0.95, 0.98), H(eps, 1e-8, NONNEGATIVE), H(weight_decay, 0,
        NONNEGATIVE), END },
    .states = { STATE("exp_avg"), { "exp_avg_sq", 0, ZEROS, true, 0 } },
};
