/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that divide by what squares of gradients have come to: Adagrad, RMSprop, Adadelta. */
#include "common/optim/rule.h"

static lfuse_value adagrad(lfuse__rule_step *s)
{
    const lfuse_value before = lfuse_sub(s->t, lfuse__rule_number(s, 1));
    const lfuse_value slower = lfuse_add(lfuse__rule_number(s, 1), lfuse_mul(before, s->h[LFUSE__HYPER_lr_decay]));
    const lfuse_value rate = lfuse_div(s->h[LFUSE__HYPER_lr], slower), grad = lfuse__rule_decayed(s, s->grad);

    s->fresh[0] = lfuse_add(s->old[0], lfuse_mul(grad, grad));
    return lfuse_sub(s->p, lfuse_mul(rate, lfuse_div(grad, lfuse_add(lfuse_sqrt(s->fresh[0]),
                                                                     s->h[LFUSE__HYPER_eps]))));
}

const lfuse__rule lfuse__rule_ADAGRAD = {
    .name = "adagrad", .step = adagrad,
    .hypers = { H(lr, 1e-2, NONNEGATIVE), H(lr_decay, 0, NONNEGATIVE), H(weight_decay, 0, NONNEGATIVE),
        H(initial_accumulator, 0, NONNEGATIVE), H(eps, 1e-10, NONNEGATIVE), END },
    .states = { { "sum", 0, LFUSE__HYPER_initial_accumulator, false, 0 } },
};

/* A group without a momentum does not look at what was there: 0 times an infinite state is NaN. */
static lfuse_value with_momentum(const lfuse__rule_step *s, lfuse_value step)
{
    const lfuse_value momentum = lfuse_cast(s->h[LFUSE__HYPER_momentum], s->type);

    return lfuse_where(lfuse_ne(momentum, lfuse__rule_number(s, 0)), lfuse_add(lfuse_mul(s->old[1], momentum), step),
                       step);
}

static lfuse_value rmsprop(lfuse__rule_step *s)
{
    const lfuse_value alpha = s->h[LFUSE__HYPER_alpha], grad = lfuse__rule_decayed(s, s->grad);
    lfuse_value spread, step;

    spread = s->fresh[0] = lfuse__rule_square(s->old[0], grad, alpha);
    if (s->switches & LFUSE_OPTIM_CENTERED) {
        s->fresh[2] = lfuse__rule_moment(s->old[2], grad, alpha);
        spread = lfuse_sub(spread, lfuse_mul(s->fresh[2], s->fresh[2]));
    }
    step = lfuse_div(grad, lfuse_add(lfuse_sqrt(spread), s->h[LFUSE__HYPER_eps]));
    if (s->switches & LFUSE_OPTIM_MOMENTUM)
        step = s->fresh[1] = with_momentum(s, step);
    return lfuse_sub(s->p, lfuse_mul(s->h[LFUSE__HYPER_lr], step));
}

const lfuse__rule lfuse__rule_RMSPROP = {
    .name = "rmsprop", .step = rmsprop, .switches = LFUSE_OPTIM_CENTERED,
    .hypers = { H(lr, 1e-2, NONNEGATIVE), H(alpha, 0.99, NONNEGATIVE), H(eps, 1e-8, NONNEGATIVE), H(weight_decay, 0,
        NONNEGATIVE), H(momentum, 0, NONNEGATIVE), END },
    .states = { STATE("square_avg"), MOMENTUM, { "grad_avg", LFUSE_OPTIM_CENTERED, ZEROS, false, 0 } },
};

static lfuse_value adadelta(lfuse__rule_step *s)
{
    const lfuse_value rho = s->h[LFUSE__HYPER_rho], eps = s->h[LFUSE__HYPER_eps];
    const lfuse_value grad = lfuse__rule_decayed(s, s->grad);
    lfuse_value delta;

    s->fresh[0] = lfuse__rule_square(s->old[0], grad, rho);
    delta = lfuse_div(lfuse_sqrt(lfuse_add(s->old[1], eps)), lfuse_sqrt(lfuse_add(s->fresh[0], eps)));
    delta = lfuse_mul(delta, grad);
    s->fresh[1] = lfuse__rule_square(s->old[1], delta, rho);
    return lfuse_sub(s->p, lfuse_mul(s->h[LFUSE__HYPER_lr], delta));
}

const lfuse__rule lfuse__rule_ADADELTA = {
    .name = "adadelta", .step = adadelta,
    .hypers = { H(lr, 1, NONNEGATIVE), H(rho, 0.9, LFUSE__RANGE_UP_TO_1), H(eps, 1e-6, NONNEGATIVE), H(weight_decay,
        0, NONNEGATIVE), END },
    .states = { STATE("square_avg"), STATE("acc_delta") },
};
