/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules: how one step computes a parameter and its states from these and the gradient, as a graph that the public
 * builders make. A rule is pure and sees values, which may be lists or tensors, in the type in which they are computed;
 * types in memory, clipping, masters and the like are graph.c's. Rules may use common/base/ and common/graph/.
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
    LFUSE__HYPER_END = -1, /* behind the last number of a rule; as what a state is filled with at first: zeros */
#define LFUSE__HYPER_ENUM(name) LFUSE__HYPER_##name,
    LFUSE__HYPER_FIELDS(LFUSE__HYPER_ENUM)
#undef LFUSE__HYPER_ENUM
    LFUSE__HYPER_COUNT
} lfuse__hyper_field;

enum {
    LFUSE__RULE_STATES = 3,        /* a rule has so many states at most */
    LFUSE__RULE_HYPERS = 10,       /* and so many numbers */
    LFUSE__OPTIM_COMMON = ~0xffff  /* the switches that all rules have in common */
};

/* What a rule is given, and what it sets. Arrays of states go by the rule's row. */
typedef struct lfuse__rule_step {
    lfuse_graph *g;
    unsigned switches;
    lfuse_value p, grad;                   /* the parameter; the gradient without its scale, clipped */
    lfuse_type type;                       /* in which p, grad and the states are computed */
    bool tensor;                           /* they are tensors, of rank 1 or more, not lists */
    lfuse_value rows, is_matrix;           /* of a rule with `matrices`: how many rows a member has, and whether it
                                              has more axes than one */
    lfuse_value old[LFUSE__RULE_STATES];   /* the states before the step; those that the switches ask for alone */
    lfuse_value fresh[LFUSE__RULE_STATES]; /* the same after the step: the rule sets them */
    lfuse_value h[LFUSE__HYPER_COUNT];     /* the numbers of the rule's row */
    lfuse_value t;                         /* which step it is, from 1 on */
    lfuse_value product;                   /* of a rule with `product`: the product of the momenta before this step */
    lfuse_value fresh_product;             /* and with this step's: the rule sets it */
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
    lfuse__hyper_field field; /* END: the row ends */
    double value;             /* the default */
    lfuse__hyper_range range;
} lfuse__rule_hyper;

typedef struct lfuse__rule_state {
    const char *name; /* NULL: the row ends */
    unsigned needs;   /* a rule has the state where one of these switches is set; 0: always */
    lfuse__hyper_field initial; /* the number that it is filled with at first */
    bool number;      /* it is one number for each member, in the type in which states are computed */
    int lines;        /* LFUSE_RANK_ROWS, COLUMNS: it has an element for each row, or column, of a member; else 0 */
} lfuse__rule_state;

typedef struct lfuse__rule {
    const char *name;
    lfuse__rule_function *step;
    unsigned switches; /* those of its own that it knows */
    bool matrices;     /* it looks at members as matrices: lists of elements are of rank MATRIX */
    bool product;      /* it takes and sets the product of the momenta of all steps */
    lfuse__rule_hyper hypers[LFUSE__RULE_HYPERS + 1];
    lfuse__rule_state states[LFUSE__RULE_STATES + 1];
} lfuse__rule;

/* rules.c: returns a rule's row; NULL: there is no such rule. */
const lfuse__rule *lfuse__rule_of(lfuse_rule rule);
/* Whether a rule has the state with these switches. */
static inline bool lfuse__rule_has(const lfuse__rule_state *state, unsigned switches)
{
    return !state->needs || state->needs & switches;
}
/* Returns LFUSE_OPTIM_MOMENTUM for a rule that can have a momentum, else 0. */
static inline unsigned lfuse__rule_momentum(const lfuse__rule *rule)
{
    const lfuse__rule_hyper *h = rule->hypers;

    while (h->field != LFUSE__HYPER_END && h->field != LFUSE__HYPER_momentum) h++;
    return h->field == LFUSE__HYPER_END ? 0 : LFUSE_OPTIM_MOMENTUM;
}

/* hyper.c: checks a group's numbers. ERR_INVALID with group, field and value; `switches` with the library's own. */
lfuse_status lfuse__hyper_check(const lfuse__rule *rule, unsigned switches, int group, const lfuse_hyper *hyper);
/* Whether a rule with these switches has a number. */
bool lfuse__hyper_known(const lfuse__rule *rule, unsigned switches, lfuse__hyper_field field);
/* Returns what a number of the rule's should be, where x is not that; else NULL. */
const char *lfuse__hyper_out_of_range(const lfuse__rule *rule, unsigned switches, lfuse__hyper_field field, double x);
/* Return the value, the memory and the name of a field. */
double lfuse__hyper_get(const lfuse_hyper *hyper, lfuse__hyper_field field);
const double *lfuse__hyper_at(const lfuse_hyper *hyper, lfuse__hyper_field field);
const char *lfuse__hyper_name(lfuse__hyper_field field);
/* Return, as NADAM computes them, the momentum of step t and the product of the momenta of the first `steps` steps. */
double lfuse__nadam_momentum(const lfuse_hyper *hyper, int64_t t);
double lfuse__nadam_product(const lfuse_hyper *hyper, int64_t steps);
/* adamax.c: returns the product with this step's momentum, of t, product and the numbers that it needs. */
lfuse_value lfuse__nadam_next_product(const lfuse__rule_step *s);

/* ---- words.c: what rules have in common ---- */
/* Returns a constant. */
lfuse_value lfuse__rule_number(const lfuse__rule_step *s, double number);
/* Returns 1 - x. */
lfuse_value lfuse__rule_rest(lfuse_value x);
/* Returns 1 - beta^t, by which a moment that began with zeros is too small. */
lfuse_value lfuse__rule_correction(const lfuse__rule_step *s, lfuse_value beta);
/*
 * Returns x + weight_decay p, and x itself where weight_decay is 0, because 0 times an infinite parameter is NaN. The
 * kernel selects, so that weight_decay may differ from run to run.
 */
lfuse_value lfuse__rule_decayed(const lfuse__rule_step *s, lfuse_value x);
/* Returns p (1 - lr weight_decay), which a weight_decay of 0 multiplies by 1. */
lfuse_value lfuse__rule_shrunk(const lfuse__rule_step *s);
/* Applies the decay to s->p where DECOUPLED is set, else to s->grad. */
void lfuse__rule_decay(lfuse__rule_step *s);
/* Returns old + (1 - beta)(x - old). */
lfuse_value lfuse__rule_moment(lfuse_value old, lfuse_value x, lfuse_value beta);
/* Returns beta old + (1 - beta) x x. */
lfuse_value lfuse__rule_square(lfuse_value old, lfuse_value x, lfuse_value beta);
/* Returns 1 in the first step, else 0. */
lfuse_value lfuse__rule_first(const lfuse__rule_step *s);

/*
 * ---- member.c: reductions of each member ----
 * Of a list they are a list of numbers, or of rows' or columns' numbers. Of a tensor, which is one member, the axes
 * that are reduced stay with the extent 1, so that results repeat beside it as a list's do.
 */
lfuse_value lfuse__rule_member_sum(const lfuse__rule_step *s, lfuse_value x);
lfuse_value lfuse__rule_member_mean(const lfuse__rule_step *s, lfuse_value x);
/* Return the means of each row, and of each column. */
lfuse_value lfuse__rule_row_mean(const lfuse__rule_step *s, lfuse_value x);
lfuse_value lfuse__rule_column_mean(const lfuse__rule_step *s, lfuse_value x);
/* Returns the sum over the rows of each matrix of what each row has. */
lfuse_value lfuse__rule_sum_of_rows(const lfuse__rule_step *s, lfuse_value rows);

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
#define MOMENTUM { "momentum_buffer", LFUSE_OPTIM_MOMENTUM, ZEROS, false, 0 }

#endif
