/* SPDX-License-Identifier: Apache-2.0 */
/* Adam and AdamW. */
#include "common/optim/rule.h"

static lfuse_value adam(lfuse__rule_step *s)
{
    const lfuse_value beta1 = s->h[LFUSE__HYPER_beta1], beta2 = s->h[LFUSE__HYPER_beta2];
    const lfuse_value rate = lfuse_div(s->h[LFUSE__HYPER_lr], lfuse__rule_correction(s, beta1));
    lfuse_value second, root;

    lfuse__rule_decay(s);
    s->fresh[0] = lfuse__rule_moment(s->old[0], s->grad, beta1);
    second = s->fresh[1] = lfuse__rule_square(s->old[1], s->grad, beta2);
    if (s->switches & LFUSE_OPTIM_AMSGRAD) second = s->fresh[2] = lfuse_max(s->old[2], second);
    root = lfuse_div(lfuse_sqrt(second), lfuse_sqrt(lfuse__rule_correction(s, beta2)));
    return lfuse_sub(s->p, lfuse_mul(rate, lfuse_div(s->fresh[0], lfuse_add(root, s->h[LFUSE__HYPER_eps]))));
}

const lfuse__rule lfuse__rule_ADAM = {
    .name = "adam", .step = adam, .switches = LFUSE_OPTIM_AMSGRAD | LFUSE_OPTIM_DECOUPLED,
    .hypers = { ADAM(1e-3, 0), END },
    .states = { MOMENTS, AMSGRAD },
};

static lfuse_value adamw(lfuse__rule_step *s)
{
    s->switches |= LFUSE_OPTIM_DECOUPLED;
    return adam(s);
}

const lfuse__rule lfuse__rule_ADAMW = {
    .name = "adamw", .step = adamw, .switches = LFUSE_OPTIM_AMSGRAD,
    .hypers = { ADAM(1e-3, 1e-2), END },
    .states = { MOMENTS, AMSGRAD },
};
