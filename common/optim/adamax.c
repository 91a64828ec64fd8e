/* SPDX-License-Identifier: Apache-2.0 */
/* Adam's kin: Adamax, NAdam, RAdam. */
#include "common/optim/rule.h"

static lfuse_value adamax(lfuse__rule_step *s)
{
    const lfuse_value beta1 = s->h[LFUSE__HYPER_beta1], grad = lfuse__rule_decayed(s, s->grad);
    const lfuse_value rate = lfuse_div(s->h[LFUSE__HYPER_lr], lfuse__rule_correction(s, beta1));

    s->fresh[0] = lfuse__rule_moment(s->old[0], grad, beta1);
    s->fresh[1] = lfuse_max(lfuse_mul(s->old[1], s->h[LFUSE__HYPER_beta2]),
                            lfuse_add(lfuse_abs(grad), s->h[LFUSE__HYPER_eps]));
    return lfuse_sub(s->p, lfuse_mul(rate, lfuse_div(s->fresh[0], s->fresh[1])));
}

const lfuse__rule lfuse__rule_ADAMAX = {
    .name = "adamax", .step = adamax,
    .hypers = { ADAM(2e-3, 0), END },
    .states = { STATE("exp_avg"), STATE("exp_inf") },
};

/* beta1 (1 - 0.96^(t momentum_decay) / 2): hyper.c has the same for the host. */
static lfuse_value nadam_momentum(const lfuse__rule_step *s, lfuse_value t)
{
    const lfuse_value decay = lfuse_pow(lfuse__rule_number(s, 0.96), s->h[LFUSE__HYPER_momentum_decay]);
    const lfuse_value half = lfuse_mul(lfuse__rule_number(s, 0.5), lfuse_powi(decay, t));

    return lfuse_mul(s->h[LFUSE__HYPER_beta1], lfuse__rule_rest(half));
}

lfuse_value lfuse__nadam_next_product(const lfuse__rule_step *s)
{
    return lfuse_mul(s->product, nadam_momentum(s, s->t));
}

static lfuse_value nadam(lfuse__rule_step *s)
{
    const lfuse_value lr = s->h[LFUSE__HYPER_lr], beta2 = s->h[LFUSE__HYPER_beta2];
    const lfuse_value mu = nadam_momentum(s, s->t);
    const lfuse_value next = nadam_momentum(s, lfuse_add(s->t, lfuse__rule_number(s, 1)));
    const lfuse_value product = lfuse__nadam_next_product(s);
    const lfuse_value of_grad = lfuse_div(lfuse_mul(lr, lfuse__rule_rest(mu)), lfuse__rule_rest(product));
    const lfuse_value of_moment = lfuse_div(lfuse_mul(lr, next), lfuse__rule_rest(lfuse_mul(product, next)));
    lfuse_value root;

    s->fresh_product = product;
    lfuse__rule_decay(s);
    s->fresh[0] = lfuse__rule_moment(s->old[0], s->grad, s->h[LFUSE__HYPER_beta1]);
    s->fresh[1] = lfuse__rule_square(s->old[1], s->grad, beta2);
    root = lfuse_sqrt(lfuse_div(s->fresh[1], lfuse__rule_correction(s, beta2)));
    root = lfuse_add(root, s->h[LFUSE__HYPER_eps]);
    return lfuse_sub(lfuse_sub(s->p, lfuse_mul(of_grad, lfuse_div(s->grad, root))),
                     lfuse_mul(of_moment, lfuse_div(s->fresh[0], root)));
}

const lfuse__rule lfuse__rule_NADAM = {
    .name = "nadam", .step = nadam, .switches = LFUSE_OPTIM_DECOUPLED, .product = true,
    .hypers = { ADAM(2e-3, 0), H(momentum_decay, 4e-3, NONNEGATIVE), END },
    .states = { MOMENTS },
};

/* The length of the approximated moving average at step t, its limit given. */
static lfuse_value radam_length(const lfuse__rule_step *s, lfuse_value limit)
{
    const lfuse_value power = lfuse_powi(s->h[LFUSE__HYPER_beta2], s->t);
    const lfuse_value twice = lfuse_mul(lfuse__rule_number(s, 2), s->t);

    return lfuse_sub(limit, lfuse_div(lfuse_mul(twice, power), lfuse__rule_rest(power)));
}

/* (x - 4)(x - 2) */
static lfuse_value radam_factor(const lfuse__rule_step *s, lfuse_value x)
{
    return lfuse_mul(lfuse_sub(x, lfuse__rule_number(s, 4)), lfuse_sub(x, lfuse__rule_number(s, 2)));
}

/* The variance is rectified once the average is longer than 5 steps; before, the first moment alone is followed. */
static lfuse_value radam(lfuse__rule_step *s)
{
    const lfuse_value beta1 = s->h[LFUSE__HYPER_beta1], beta2 = s->h[LFUSE__HYPER_beta2];
    const lfuse_value one = lfuse__rule_number(s, 1), two = lfuse__rule_number(s, 2);
    const lfuse_value limit = lfuse_sub(lfuse_div(two, lfuse__rule_rest(beta2)), one), length = radam_length(s, limit);
    const lfuse_value longer = lfuse_gt(length, lfuse__rule_number(s, 5));
    const lfuse_value rate = lfuse_div(s->h[LFUSE__HYPER_lr], lfuse__rule_correction(s, beta1));
    const lfuse_value rectified = lfuse_sqrt(lfuse_div(lfuse_mul(radam_factor(s, length), limit),
                                                       lfuse_mul(radam_factor(s, limit), length)));
    const lfuse_value adapted = lfuse_mul(rectified, lfuse_sqrt(lfuse__rule_correction(s, beta2)));
    lfuse_value step;

    lfuse__rule_decay(s);
    s->fresh[0] = lfuse__rule_moment(s->old[0], s->grad, beta1);
    s->fresh[1] = lfuse__rule_square(s->old[1], s->grad, beta2);
    step = lfuse_div(s->fresh[0], lfuse_add(lfuse_sqrt(s->fresh[1]), s->h[LFUSE__HYPER_eps]));
    return lfuse_sub(s->p, lfuse_mul(lfuse_mul(rate, lfuse_where(longer, adapted, one)),
                                     lfuse_where(longer, step, s->fresh[0])));
}

const lfuse__rule lfuse__rule_RADAM = {
    .name = "radam", .step = radam, .switches = LFUSE_OPTIM_DECOUPLED,
    .hypers = { ADAM(1e-3, 0), END },
    .states = { MOMENTS },
};
