/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules: what one step makes of a parameter, its gradient and its states, as a graph made by the public builders alone.
 * Pure: no device, no memory. A rule sees values that may be lists or tensors, in the type that is computed in; types
 * in memory, clipping, masters and the like are graph.c's. May use common/base/ and common/graph/.
 */
#ifndef COMMON_OPTIM_RULE_H
#define COMMON_OPTIM_RULE_H

#include <stdbool.h>

#include "libfuse/ops.h"
#include "libfuse/optimizer.h"

/* The fields of lfuse_hyper, in order. */
#define LFUSE__HYPER_FIELDS(X)                                                                                         \
    X(lr) X(weight_decay) X(momentum) X(dampening) X(beta1) X(beta2) X(eps) X(eps2) X(alpha) X(rho) X(lr_decay)        \
    X(initial_accumulator) X(lambd) X(t0) X(momentum_decay) X(eta_minus) X(eta_plus) X(step_min) X(step_max)           \
    X(clip_threshold) X(ema_decay)

typedef enum lfuse__hyper_field {
    LFUSE__HYPER_END = -1, /* of a rule's numbers; of a state: its first contents are zeros */
#define LFUSE__HYPER_ENUM(name) LFUSE__HYPER_##name,
    LFUSE__HYPER_FIELDS(LFUSE__HYPER_ENUM)
#undef LFUSE__HYPER_ENUM
    LFUSE__HYPER_COUNT
} lfuse__hyper_field;

enum {
    LFUSE__RULE_STATES = 3,       /* of a rule, at most */
    LFUSE__RULE_HYPERS = 10,
    LFUSE__OPTIM_COMMON = ~0xffff, /* the switches of any rule */
    LFUSE__OPTIM_MOMENTUM = 1 << 15 /* a switch of the library's own: some group has a momentum */
};

typedef struct lfuse__rule_step {
    lfuse_graph *g;
    unsigned switches;
    lfuse_value p, grad;                   /* the gradient as the rule shall see it */
    lfuse_type type;                       /* that is computed in */
    lfuse_value list;                      /* the parameters as they lie in memory */
    lfuse_value old[LFUSE__RULE_STATES];   /* the states of the rule's row that the switches ask for */
    lfuse_value fresh[LFUSE__RULE_STATES]; /* set by the rule */
    lfuse_value h[LFUSE__HYPER_COUNT];     /* numbers; those of the rule's row alone */
    lfuse_value t;                         /* number of the step, from 1 on */
    lfuse_value product, fresh_product;    /* where the rule keeps it: of the momenta before this step, and with it */
} lfuse__rule_step;
/* Returns the new parameter. */
typedef lfuse_value lfuse__rule_function(lfuse__rule_step *s);

/* What a number may be; inf and NaN are never allowed. */
typedef enum lfuse__hyper_range {
    LFUSE__RANGE_ANY, LFUSE__RANGE_NONNEGATIVE, LFUSE__RANGE_POSITIVE, LFUSE__RANGE_NEGATIVE,
    LFUSE__RANGE_BELOW_1,  /* [0, 1) */
    LFUSE__RANGE_UP_TO_1,  /* [0, 1] */
    LFUSE__RANGE_BETWEEN,  /* (0, 1) */
    LFUSE__RANGE_ABOVE_1,  /* > 1 */
    LFUSE__RANGE_FROM_1    /* >= 1 */
} lfuse__hyper_range;

typedef struct lfuse__rule_hyper {
    lfuse__hyper_field field; /* END behind the last */
    double value;             /* by default */
    lfuse__hyper_range range;
} lfuse__rule_hyper;

typedef struct lfuse__rule_state {
    const char *name; /* NULL behind the last */
    unsigned needs;   /* switches, one of which must be there; 0: it is there always */
    lfuse__hyper_field initial;
    bool number;      /* one for each member, in the type that is computed in */
    int lines;        /* LFUSE_RANK_ROWS, COLUMNS: one for each of the member's matrices; else 0 */
} lfuse__rule_state;

typedef struct lfuse__rule {
    const char *name;
    lfuse__rule_function *step;
    unsigned switches; /* of its own that it knows */
    bool matrices;     /* it looks at members as matrices: lists of elements are of rank MATRIX */
    bool product;      /* it takes and sets the product of the momenta of all steps */
    lfuse__rule_hyper hypers[LFUSE__RULE_HYPERS + 1];
    lfuse__rule_state states[LFUSE__RULE_STATES + 1];
} lfuse__rule;

/* rules.c: NULL: there is no such rule. */
const lfuse__rule *lfuse__rule_of(lfuse_rule rule);
/* Whether the state is there with these switches. */
static inline bool lfuse__rule_has(const lfuse__rule_state *state, unsigned switches)
{
    return !state->needs || state->needs & switches;
}

/* hyper.c: ERR_INVALID with group, field and value; `switches` with the library's own. */
lfuse_status lfuse__hyper_check(const lfuse__rule *rule, unsigned switches, int group, const lfuse_hyper *hyper);
double lfuse__hyper_get(const lfuse_hyper *hyper, lfuse__hyper_field field);
const char *lfuse__hyper_name(lfuse__hyper_field field);
/* NADAM: momentum of step t; the product of those of the first `steps` steps. As the rule computes it. */
double lfuse__nadam_momentum(const lfuse_hyper *hyper, int64_t t);
double lfuse__nadam_product(const lfuse_hyper *hyper, int64_t steps);

/* words.c: what rules have in common. */
lfuse_value lfuse__rule_number(const lfuse__rule_step *s, double number);
/* 1 - x */
lfuse_value lfuse__rule_rest(lfuse_value x);
/* base^t, by repeated squaring */
lfuse_value lfuse__rule_power(lfuse_value base, lfuse_value t);
/* 1 - beta^t: what is missing from a moment that began with zeros */
lfuse_value lfuse__rule_correction(const lfuse__rule_step *s, lfuse_value beta);
/*
 * x + weight_decay parameter; x itself where weight_decay is 0, because 0 times an infinite parameter is NaN. The
 * number stays one of the run: the kernel selects.
 */
lfuse_value lfuse__rule_decayed(const lfuse__rule_step *s, lfuse_value x);
/* parameter (1 - lr weight_decay), which a weight_decay of 0 multiplies by 1 */
lfuse_value lfuse__rule_shrunk(const lfuse__rule_step *s);
/* The one or the other, as DECOUPLED says: changes s->p or s->grad. */
void lfuse__rule_decay(lfuse__rule_step *s);
/* old + (1 - beta)(x - old) */
lfuse_value lfuse__rule_moment(lfuse_value old, lfuse_value x, lfuse_value beta);
/* beta old + (1 - beta) x x */
lfuse_value lfuse__rule_square(lfuse_value old, lfuse_value x, lfuse_value beta);
/* Whether this is the first step, as a number. */
lfuse_value lfuse__rule_first(const lfuse__rule_step *s);

/*
 * The rules: a file has the function of each and, behind it, its row, with defaults as torch.optim's, else the papers'.
 * The public table of rules, of which these are the names, declares the rows. Shorter words for them:
 */
#define LFUSE__RULE_DECLARE(name, number, text) extern const lfuse__rule lfuse__rule_##name;
LFUSE_RULE_MAP(LFUSE__RULE_DECLARE)
#undef LFUSE__RULE_DECLARE
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

#endif
