/* SPDX-License-Identifier: Apache-2.0 */
/* Stochastic gradient descent, with momentum and Nesterov's. */
#include "common/optim/rule.h"

/*
 * The first step takes the gradient as it is, and so does a group without a momentum, which dampens nothing either and
 * does not look at what was there: 0 times an infinite state is NaN.
 */
static lfuse_value with_momentum(lfuse__rule_step *s, lfuse_value grad)
{
    const lfuse_value momentum = lfuse_cast(s->h[LFUSE__HYPER_momentum], s->type);
    const lfuse_value dampened = lfuse_mul(lfuse__rule_rest(s->h[LFUSE__HYPER_dampening]), grad);
    const lfuse_value later = lfuse_add(lfuse_mul(s->old[0], momentum), dampened);
    const lfuse_value plain = lfuse_logical_or(lfuse_cast(lfuse__rule_first(s), LFUSE_BOOL),
                                               lfuse_eq(momentum, lfuse__rule_number(s, 0)));

    s->fresh[0] = lfuse_where(plain, grad, later);
    if (s->switches & LFUSE_OPTIM_NESTEROV) return lfuse_add(grad, lfuse_mul(momentum, s->fresh[0]));
    return s->fresh[0];
}

static lfuse_value sgd(lfuse__rule_step *s)
{
    const bool last = s->switches & LFUSE_OPTIM_DECAY_LAST;
    lfuse_value d = last ? s->grad : lfuse__rule_decayed(s, s->grad);

    if (s->switches & LFUSE_OPTIM_MOMENTUM) d = with_momentum(s, d);
    if (last) d = lfuse__rule_decayed(s, d);
    return lfuse_sub(s->p, lfuse_mul(s->h[LFUSE__HYPER_lr], d));
}

const lfuse__rule lfuse__rule_SGD = {
    .name = "sgd", .step = sgd, .switches = LFUSE_OPTIM_NESTEROV | LFUSE_OPTIM_DECAY_LAST,
    .hypers = { H(lr, 1e-3, NONNEGATIVE), H(momentum, 0, NONNEGATIVE), H(dampening, 0, ANY), H(weight_decay, 0,
        NONNEGATIVE), END },
    .states = { MOMENTUM },
};
