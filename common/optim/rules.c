/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, a row each: what they know, take and keep. Defaults are torch.optim's, else the papers'. */
#include "common/optim/rule.h"

#define ANY LFUSE__RANGE_ANY
#define NONNEGATIVE LFUSE__RANGE_NONNEGATIVE
#define POSITIVE LFUSE__RANGE_POSITIVE
#define BELOW_1 LFUSE__RANGE_BELOW_1
#define H(field, value, range) { LFUSE__HYPER_##field, value, range }
#define END { LFUSE__HYPER_END, 0, ANY }
#define ZEROS LFUSE__HYPER_END
#define BETAS(first, second) H(beta1, first, BELOW_1), H(beta2, second, BELOW_1)
#define ADAM(rate, decay)                                                                                              \
    H(lr, rate, NONNEGATIVE), BETAS(0.9, 0.999), H(eps, 1e-8, NONNEGATIVE), H(weight_decay, decay, NONNEGATIVE)
#define STATE(name) { name, 0, ZEROS, false, 0 }
#define MOMENTS STATE("exp_avg"), STATE("exp_avg_sq")
#define AMSGRAD { "max_exp_avg_sq", LFUSE_OPTIM_AMSGRAD, ZEROS, false, 0 }
#define MOMENTUM { "momentum_buffer", LFUSE__OPTIM_MOMENTUM, ZEROS, false, 0 }

static const lfuse__rule rules[] = {
    [LFUSE_RULE_SGD] = { "sgd", lfuse__rule_sgd, LFUSE_OPTIM_NESTEROV | LFUSE_OPTIM_DECAY_LAST, false,
        { H(lr, 1e-3, NONNEGATIVE), H(momentum, 0, NONNEGATIVE), H(dampening, 0, ANY),
          H(weight_decay, 0, NONNEGATIVE), END },
        { MOMENTUM } },
    [LFUSE_RULE_ADAM] = { "adam", lfuse__rule_adam, LFUSE_OPTIM_AMSGRAD | LFUSE_OPTIM_DECOUPLED, false,
        { ADAM(1e-3, 0), END }, { MOMENTS, AMSGRAD } },
    [LFUSE_RULE_ADAMW] = { "adamw", lfuse__rule_adamw, LFUSE_OPTIM_AMSGRAD, false,
        { ADAM(1e-3, 1e-2), END }, { MOMENTS, AMSGRAD } },
    [LFUSE_RULE_ADAGRAD] = { "adagrad", lfuse__rule_adagrad, 0, false,
        { H(lr, 1e-2, NONNEGATIVE), H(lr_decay, 0, NONNEGATIVE), H(weight_decay, 0, NONNEGATIVE),
          H(initial_accumulator, 0, NONNEGATIVE), H(eps, 1e-10, NONNEGATIVE), END },
        { { "sum", 0, LFUSE__HYPER_initial_accumulator, false, 0 } } },
    [LFUSE_RULE_RMSPROP] = { "rmsprop", lfuse__rule_rmsprop, LFUSE_OPTIM_CENTERED, false,
        { H(lr, 1e-2, NONNEGATIVE), H(alpha, 0.99, NONNEGATIVE), H(eps, 1e-8, NONNEGATIVE),
          H(weight_decay, 0, NONNEGATIVE), H(momentum, 0, NONNEGATIVE), END },
        { STATE("square_avg"), MOMENTUM, { "grad_avg", LFUSE_OPTIM_CENTERED, ZEROS, false, 0 } } },
    [LFUSE_RULE_ADADELTA] = { "adadelta", lfuse__rule_adadelta, 0, false,
        { H(lr, 1, NONNEGATIVE), H(rho, 0.9, LFUSE__RANGE_UP_TO_1), H(eps, 1e-6, NONNEGATIVE),
          H(weight_decay, 0, NONNEGATIVE), END },
        { STATE("square_avg"), STATE("acc_delta") } },
    [LFUSE_RULE_ADAMAX] = { "adamax", lfuse__rule_adamax, 0, false,
        { ADAM(2e-3, 0), END }, { STATE("exp_avg"), STATE("exp_inf") } },
    [LFUSE_RULE_NADAM] = { "nadam", lfuse__rule_nadam, LFUSE_OPTIM_DECOUPLED, false,
        { ADAM(2e-3, 0), H(momentum_decay, 4e-3, NONNEGATIVE), END }, { MOMENTS } },
    [LFUSE_RULE_RADAM] = { "radam", lfuse__rule_radam, LFUSE_OPTIM_DECOUPLED, false,
        { ADAM(1e-3, 0), END }, { MOMENTS } },
    [LFUSE_RULE_ASGD] = { "asgd", lfuse__rule_asgd, 0, false,
        { H(lr, 1e-2, NONNEGATIVE), H(lambd, 1e-4, NONNEGATIVE), H(alpha, 0.75, NONNEGATIVE), H(t0, 1e6, ANY),
          H(weight_decay, 0, NONNEGATIVE), END },
        { STATE("ax") } },
    [LFUSE_RULE_RPROP] = { "rprop", lfuse__rule_rprop, 0, false,
        { H(lr, 1e-2, NONNEGATIVE), H(eta_minus, 0.5, LFUSE__RANGE_BETWEEN), H(eta_plus, 1.2, LFUSE__RANGE_ABOVE_1),
          H(step_min, 1e-6, NONNEGATIVE), H(step_max, 50, POSITIVE), END },
        { STATE("prev"), STATE("step_size") } },
    [LFUSE_RULE_LION] = { "lion", lfuse__rule_lion, 0, false,
        { H(lr, 1e-4, NONNEGATIVE), BETAS(0.9, 0.99), H(weight_decay, 0, NONNEGATIVE), END },
        { STATE("exp_avg") } },
    [LFUSE_RULE_LAMB] = { "lamb", lfuse__rule_lamb, 0, false,
        { H(lr, 1e-3, NONNEGATIVE), BETAS(0.9, 0.999), H(eps, 1e-6, NONNEGATIVE), H(weight_decay, 1e-2, NONNEGATIVE),
          END },
        { MOMENTS } },
    [LFUSE_RULE_NOVOGRAD] = { "novograd", lfuse__rule_novograd, LFUSE_OPTIM_GRAD_AVERAGING, false,
        { H(lr, 1e-2, NONNEGATIVE), BETAS(0.95, 0.98), H(eps, 1e-8, NONNEGATIVE), H(weight_decay, 0, NONNEGATIVE),
          END },
        { STATE("exp_avg"), { "exp_avg_sq", 0, ZEROS, true, 0 } } },
    [LFUSE_RULE_ADAFACTOR] = { "adafactor", lfuse__rule_adafactor, 0, true,
        { H(lr, 1e-2, NONNEGATIVE), H(beta2, -0.8, LFUSE__RANGE_NEGATIVE), H(eps, 0x1p-23, NONNEGATIVE),
          H(eps2, 1e-3, NONNEGATIVE), H(clip_threshold, 1, LFUSE__RANGE_FROM_1), H(weight_decay, 0, NONNEGATIVE), END },
        { { "row_var", 0, ZEROS, false, LFUSE_RANK_ROWS },
          { "col_var", 0, ZEROS, false, LFUSE_RANK_COLUMNS } } },
};

const lfuse__rule *lfuse__rule_of(lfuse_rule rule)
{
    const bool known = rule > 0 && (size_t)rule < sizeof rules / sizeof *rules;

    return known && rules[rule].name ? &rules[rule] : NULL;
}
