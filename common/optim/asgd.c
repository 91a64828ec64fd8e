/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that keep to signs and averages: ASGD, Rprop, Lion. */
#include "common/optim/rule.h"

/* old + weight (p - old), and p itself where the weight is 1: the state may be infinite, or the parameter. */
static lfuse_value averaged(const lfuse__rule_step *s, lfuse_value p, lfuse_value weight)
{
    const lfuse_value share = lfuse_cast(weight, s->type);
    const lfuse_value mean = lfuse_add(s->old[0], lfuse_mul(lfuse_sub(p, s->old[0]), share));

    return lfuse_where(lfuse_ne(share, lfuse__rule_number(s, 1)), mean, p);
}

/* The state is the average of the parameters from step t0 on. */
static lfuse_value asgd(lfuse__rule_step *s)
{
    const lfuse_value lr = s->h[LFUSE__HYPER_lr], lambd = s->h[LFUSE__HYPER_lambd], one = lfuse__rule_number(s, 1);
    const lfuse_value before = lfuse_sub(s->t, one);
    const lfuse_value slower = lfuse_add(one, lfuse_mul(lfuse_mul(lambd, lr), before));
    const lfuse_value rate = lfuse_div(lr, lfuse_pow(slower, s->h[LFUSE__HYPER_alpha]));
    const lfuse_value weight = lfuse_div(one, lfuse_max(one, lfuse_sub(before, s->h[LFUSE__HYPER_t0])));
    const lfuse_value grad = lfuse__rule_decayed(s, s->grad);
    const lfuse_value shrunk = lfuse_mul(s->p, lfuse__rule_rest(lfuse_mul(lambd, rate)));
    const lfuse_value p = lfuse_sub(shrunk, lfuse_mul(rate, grad));

    s->fresh[0] = averaged(s, p, weight);
    return p;
}

const lfuse__rule lfuse__rule_ASGD = {
    .name = "asgd", .step = asgd,
    .hypers = { H(lr, 1e-2, NONNEGATIVE), H(lambd, 1e-4, NONNEGATIVE), H(alpha, 0.75, NONNEGATIVE), H(t0, 1e6, ANY),
        H(weight_decay, 0, NONNEGATIVE), END },
    .states = { STATE("ax") },
};

/* States: the last gradient, 0 where it had turned, and the size of each step, at first the learning rate. */
static lfuse_value rprop(lfuse__rule_step *s)
{
    const lfuse_value none = lfuse__rule_number(s, 0), agree = lfuse_mul(s->grad, s->old[0]);
    const lfuse_value turned = lfuse_lt(agree, none);
    const lfuse_value size = lfuse_where(lfuse__rule_first(s), s->h[LFUSE__HYPER_lr], s->old[1]);
    const lfuse_value smaller = lfuse_where(turned, lfuse_mul(size, s->h[LFUSE__HYPER_eta_minus]), size);
    const lfuse_value changed = lfuse_where(lfuse_gt(agree, none), lfuse_mul(size, s->h[LFUSE__HYPER_eta_plus]),
                                            smaller);

    s->fresh[0] = lfuse_where(turned, none, s->grad);
    s->fresh[1] = lfuse_clamp(changed, s->h[LFUSE__HYPER_step_min], s->h[LFUSE__HYPER_step_max]);
    return lfuse_sub(s->p, lfuse_mul(lfuse_sign(s->fresh[0]), s->fresh[1]));
}

const lfuse__rule lfuse__rule_RPROP = {
    .name = "rprop", .step = rprop,
    .hypers = { H(lr, 1e-2, NONNEGATIVE), H(eta_minus, 0.5, LFUSE__RANGE_BETWEEN),
        H(eta_plus, 1.2, LFUSE__RANGE_ABOVE_1), H(step_min, 1e-6, NONNEGATIVE), H(step_max, 50, POSITIVE), END },
    .states = { STATE("prev"), STATE("step_size") },
};

static lfuse_value lion(lfuse__rule_step *s)
{
    const lfuse_value ahead = lfuse__rule_moment(s->old[0], s->grad, s->h[LFUSE__HYPER_beta1]);

    s->fresh[0] = lfuse__rule_moment(s->old[0], s->grad, s->h[LFUSE__HYPER_beta2]);
    return lfuse_sub(lfuse__rule_shrunk(s), lfuse_mul(s->h[LFUSE__HYPER_lr], lfuse_sign(ahead)));
}

const lfuse__rule lfuse__rule_LION = {
    .name = "lion", .step = lion,
    .hypers = { H(lr, 1e-4, NONNEGATIVE), BETAS(0.9, 0.99), H(weight_decay, 0, NONNEGATIVE), END },
    .states = { STATE("exp_avg") },
};
