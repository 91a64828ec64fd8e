/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Stochastic gradient descent, with momentum and Nesterov's. */
#include "common/optim/rule.h"

/* The first step takes the gradient as it is. Without a momentum nothing is dampened either. */
static lfuse_value with_momentum(lfuse__rule_step *s, lfuse_value grad)
{
    const lfuse_value momentum = s->h[LFUSE__HYPER_momentum], none = lfuse__rule_number(s, 0);
    const lfuse_value dampening = lfuse_where(lfuse_eq(momentum, none), none, s->h[LFUSE__HYPER_dampening]);
    const lfuse_value later = lfuse_add(lfuse_mul(s->old[0], momentum), lfuse_mul(lfuse__rule_rest(dampening), grad));

    s->fresh[0] = lfuse_where(lfuse__rule_first(s), grad, later);
    if (s->switches & LFUSE_OPTIM_NESTEROV) return lfuse_add(grad, lfuse_mul(momentum, s->fresh[0]));
    return s->fresh[0];
}

lfuse_value lfuse__rule_sgd(lfuse__rule_step *s)
{
    const bool last = s->switches & LFUSE_OPTIM_DECAY_LAST;
    lfuse_value d = last ? s->grad : lfuse__rule_decayed(s);

    if (s->switches & LFUSE__OPTIM_MOMENTUM) d = with_momentum(s, d);
    if (last) d = lfuse_add(d, lfuse_mul(s->h[LFUSE__HYPER_weight_decay], s->p));
    return lfuse_sub(s->p, lfuse_mul(s->h[LFUSE__HYPER_lr], d));
}
