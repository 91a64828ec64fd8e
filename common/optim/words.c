/* SPDX-License-Identifier: Apache-2.0 */
#include "common/optim/rule.h"

lfuse_value lfuse__rule_number(const lfuse__rule_step *s, double number)
{
    return lfuse_constant(s->g, number);
}

lfuse_value lfuse__rule_rest(lfuse_value x)
{
    return lfuse_sub(lfuse_constant(x.graph, 1), x);
}

lfuse_value lfuse__rule_correction(const lfuse__rule_step *s, lfuse_value beta)
{
    return lfuse__rule_rest(lfuse_powi(beta, s->t));
}

lfuse_value lfuse__rule_decayed(const lfuse__rule_step *s, lfuse_value x)
{
    const lfuse_value decay = lfuse_cast(s->h[LFUSE__HYPER_weight_decay], s->type), none = lfuse__rule_number(s, 0);

    return lfuse_where(lfuse_ne(decay, none), lfuse_add(x, lfuse_mul(decay, s->p)), x);
}

lfuse_value lfuse__rule_shrunk(const lfuse__rule_step *s)
{
    return lfuse_mul(s->p, lfuse__rule_rest(lfuse_mul(s->h[LFUSE__HYPER_lr], s->h[LFUSE__HYPER_weight_decay])));
}

void lfuse__rule_decay(lfuse__rule_step *s)
{
    if (s->switches & LFUSE_OPTIM_DECOUPLED) s->p = lfuse__rule_shrunk(s);
    else s->grad = lfuse__rule_decayed(s, s->grad);
}

lfuse_value lfuse__rule_moment(lfuse_value old, lfuse_value x, lfuse_value beta)
{
    return lfuse_lerp(old, x, lfuse__rule_rest(beta));
}

lfuse_value lfuse__rule_square(lfuse_value old, lfuse_value x, lfuse_value beta)
{
    return lfuse_addcmul(lfuse_mul(old, beta), x, x, lfuse__rule_rest(beta));
}

lfuse_value lfuse__rule_first(const lfuse__rule_step *s)
{
    return lfuse_eq(s->t, lfuse__rule_number(s, 1));
}
