/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers: a rule's graph over lists, planned for groups of parameters, with the states' memory. common/optim/ may
 * use common/graph/ and common/run/, and knows neither the insides of plans nor kernels.
 */
#ifndef COMMON_OPTIM_OPTIMIZER_H
#define COMMON_OPTIM_OPTIMIZER_H

#include "common/optim/rule.h"
#include "common/run/run.h"

/* ---- apply.c: a step over values; pure ---- */

/*
 * The sums of squares that the norm of all gradients is computed from, where plans of their own compute them: one for
 * each pair of the type of gradients (four are floating) and the type in which they are computed (f32 or f64).
 */
enum { LFUSE__OPTIM_SUMS = 8 };
typedef struct lfuse__optim_sums {
    int count; /* 0: the plan computes the norm itself */
    lfuse_type types[LFUSE__OPTIM_SUMS]; /* f32 or f64 */
} lfuse__optim_sums;

/* What the graph of a step depends on. */
typedef struct lfuse__optim_form {
    const lfuse__rule *rule;
    unsigned switches; /* with the library's own */
    lfuse_clip clip;
    lfuse__optim_sums sums;
    lfuse_type parameter, gradient, state; /* the types in memory */
} lfuse__optim_form;

/* Every list that the optimizer owns: the rule's states, then "master", then "average". */
enum { LFUSE__OPTIM_STATES = LFUSE__RULE_STATES + 2 };
typedef struct lfuse__optim_state {
    const char *name;
    lfuse_type type;
    bool number; /* it is one number for each member */
    int lines;   /* LFUSE_RANK_ROWS, COLUMNS: it has an element for each row, or column, of a member; else 0 */
    bool copies; /* at first it is a copy of the parameters, and else filled with the number `initial` */
    lfuse__hyper_field initial;
} lfuse__optim_state;
typedef struct lfuse__optim_states {
    int count;
    lfuse__optim_state state[LFUSE__OPTIM_STATES];
} lfuse__optim_states;
/* Sets *states to those of a form. */
void lfuse__optim_states_of(const lfuse__optim_form *form, lfuse__optim_states *states);
/* Returns the type in which elements are computed. */
lfuse_type lfuse__optim_type(const lfuse__optim_form *form);

/* What a step is computed of: values of one graph, a parameter that is a tensor or lists of parameters. */
typedef struct lfuse__optim_values {
    bool tensor;
    lfuse_value p, g;                        /* the parameter, an input, and its gradient, as they lie in memory */
    lfuse_value states[LFUSE__OPTIM_STATES]; /* inputs, as lfuse__optim_states_of counts them */
    lfuse_type state_types[LFUSE__OPTIM_STATES]; /* in memory */
    lfuse_value h[LFUSE__HYPER_COUNT];       /* the numbers of the rule's row, and ema_decay where it is asked for */
    lfuse_value t, product;                  /* as of lfuse__rule_step */
    lfuse_value grad_scale, clip_limit;      /* where the form asks for them */
    lfuse_value norm;                        /* of all gradients; without a graph it is that of the lists' */
    lfuse_value counts;                      /* with FOUND_INF: whether the step counts */
} lfuse__optim_values;
/*
 * Appends one step, which ends in updates of the parameter and the states, and returns the new parameter in the type
 * and shape in which it is computed. *product is set where the rule has one.
 */
lfuse_value lfuse__optim_apply(const lfuse__optim_form *form, const lfuse__optim_values *values, lfuse_value *product);
/* Returns a value as it is computed in the shape of the input that it is stored in. */
lfuse_value lfuse__optim_to_input_shape(const lfuse__optim_values *values, lfuse_value input, lfuse_value value);
/* Returns a gradient in the type that is computed in, and without its scale. */
lfuse_value lfuse__optim_unscaled(const lfuse__optim_form *form, lfuse_value stored, lfuse_value grad_scale);
/* Updates an input of a type. Where a step may not count, what is stored then is what was there. */
void lfuse__optim_store_value(const lfuse__optim_form *form, lfuse_value counts, lfuse_value input, lfuse_value value,
                              lfuse_type type);

/* ---- graph.c: a step over lists; pure ---- */

/* Whether steps are counted on the device. */
static inline bool lfuse__optim_counts(unsigned switches)
{
    return switches & (LFUSE_OPTIM_DEVICE_STEPS | LFUSE_OPTIM_FOUND_INF);
}
/*
 * Returns the graph of a step; NULL, or mistakes in the graph: it cannot be. Of its names there are those that the form
 * asks for:
 *   - the lists "p" and "g", and the states by their names;
 *   - the scalars of the rule's numbers by their names, "ema_decay", "clip_limit", "t" and, of nadam, "product";
 *   - the tensors "grad_scale", "lr" and "found_inf", and the sums by their names;
 *   - where the device counts steps, in place of "t" and "product", the tensors "steps" and "product" of f64.
 */
lfuse_graph *lfuse__optim_graph(const lfuse__optim_form *form);
/* Returns the name of sum i of the form's. */
const char *lfuse__optim_sum_name(int sum);
/* Returns a graph whose output "sum" is the sum of squares of the gradients in the list "g". */
lfuse_graph *lfuse__optim_norm_graph(const lfuse__optim_form *form);
/* Returns a graph that updates the list "to" with what the list "from" holds, cast. */
lfuse_graph *lfuse__optim_copy_graph(lfuse_type from, lfuse_type to);

/* ---- state.c ---- */

/* How a few large tensors, the arenas of a state, are cut into the members' states. */
typedef struct lfuse__optim_cut {
    int64_t arenas;
    int64_t *elements; /* [members] how many elements each has */
    int64_t *arena;    /* [members] the arena that it lies in */
    int64_t *offset;   /* [members] the element of the arena at which it begins */
    int64_t *lengths;  /* [arenas] in elements */
} lfuse__optim_cut;
enum { LFUSE__CUT_ELEMENTS, LFUSE__CUT_ROWS, LFUSE__CUT_COLUMNS, LFUSE__CUTS };

/* Where the states of a group's members lie. States with an element for the same things are cut alike. */
typedef struct lfuse__optim_store {
    lfuse_device *dev;
    lfuse_list *like; /* the parameters, for their shapes; the store holds a reference */
    const lfuse__optim_states *states;
    lfuse__optim_cut cuts[LFUSE__CUTS]; /* one that no state has is empty */
    int cut[LFUSE__OPTIM_STATES];       /* [state] LFUSE__CUT_... */
    lfuse_tensor **tensors[LFUSE__OPTIM_STATES]; /* [state][arena]; the numbers of all members lie in the first one */
} lfuse__optim_store;
/* Makes a store, zeroed before, whose states live as long as it does. After an error it is to be freed too. */
lfuse_status lfuse__optim_store_create(lfuse_device *dev, lfuse_list *like, const lfuse__optim_states *states,
                                       bool paged, lfuse__optim_store *store);
void lfuse__optim_store_free(lfuse__optim_store *store);
/* Returns how many arenas a state has. */
static inline int64_t lfuse__optim_store_arenas(const lfuse__optim_store *s, int state)
{
    return s->cuts[s->cut[state]].arenas;
}
/* Sets *tensor to a view of one member's state, which the caller destroys. */
lfuse_status lfuse__optim_store_view(const lfuse__optim_store *store, int state, int64_t member, lfuse_tensor **tensor);
/* Sets *list to the state of `count` members from `first` on. */
lfuse_status lfuse__optim_store_list(const lfuse__optim_store *store, int state, int64_t first, int64_t count,
                                     lfuse_list **list);

/* ---- part.c: the part of a step that one plan computes ---- */

enum { LFUSE__OPTIM_BINDINGS = 2 + LFUSE__OPTIM_STATES + LFUSE__RULE_HYPERS + 9 + LFUSE__OPTIM_SUMS };
/* One launch can go over so many groups that differ in their numbers. */
enum { LFUSE__OPTIM_TOGETHER = 8 };
/* The list whose addresses another list took last. */
typedef struct lfuse__optim_trace {
    const lfuse_list *list; /* NULL: none yet; the group holds it */
    uint64_t version;       /* what lfuse_list.version was then */
} lfuse__optim_trace;
typedef struct lfuse__optim_part {
    int group, ngroups;    /* the first of the groups, of one form, that the plan goes over; of loops there is 1 */
    int64_t first, count;  /* of loops: the members of the group's lists that the plan goes over */
    lfuse_plan *plan;
    lfuse_tensor *steps, *product; /* counters on the device, of rank 0; NULL: the host counts */
    lfuse_list *p, *g;     /* parameters and gradients of the groups, or some members; NULL before the first step */
    lfuse_list *states[LFUSE__OPTIM_STATES];
    lfuse__optim_trace p_from[LFUSE__OPTIM_TOGETHER], g_from[LFUSE__OPTIM_TOGETHER]; /* [group] */
    double numbers[LFUSE__RULE_HYPERS + 2][LFUSE__OPTIM_TOGETHER]; /* [scalar][group] what is bound */
} lfuse__optim_part;

typedef struct lfuse__optim_group {
    lfuse_list *parameters; /* the group holds a reference */
    lfuse_list *gradients;  /* those of the last step; the group holds a reference */
    lfuse__optim_form form;
    lfuse_hyper hyper;
    double product;         /* NADAM: the product of the momenta so far */
    lfuse__optim_states states;
    lfuse__optim_store store;
} lfuse__optim_group;

/* ---- norm.c: the sum of squares of all gradients of one type, computed in one type ---- */
typedef struct lfuse__optim_norm {
    lfuse_type gradient, computed; /* the type of the gradients, and that in which they are computed */
    lfuse_plan *plan;
    lfuse_tensor *sum;        /* of rank 0 and the latter type */
    lfuse_list *g;            /* the gradients of its groups, one group behind the other; NULL before the first step */
    lfuse__optim_trace *from; /* [groups of the optimizer] */
} lfuse__optim_norm;

struct lfuse_optimizer {
    lfuse_device *dev; /* the optimizer holds a reference */
    lfuse_optimizer_options options; /* without `plan`, which is not kept */
    unsigned switches; /* with the library's own */
    int ngroups, nparts, nnorms;
    lfuse__optim_group *groups;
    lfuse__optim_part *parts;
    lfuse__optim_norm norms[LFUSE__OPTIM_SUMS]; /* they run before the parts, in the order of the groups */
    lfuse__optim_states states; /* the names of all states that some group can have */
    int64_t steps;
    char *text; /* of the plans */
};

/* Makes a plan of a graph, which it destroys, with options that may be NULL and the optimizer's level. */
lfuse_status lfuse__optim_plan(lfuse_optimizer *o, lfuse_graph *g, const lfuse_plan_options *given, lfuse_plan **plan);
/* Copies the addresses of `count` members to the list `to`, where `from` is not the list, or version, of last time. */
void lfuse__optim_follow(lfuse_list *to, int64_t at, const lfuse_list *from, int64_t first, int64_t count,
                         lfuse__optim_trace *trace);
/* Makes plan, states and counters of a part whose groups and members are set. After an error it is to be freed too. */
lfuse_status lfuse__optim_part_create(lfuse_optimizer *o, lfuse__optim_part *part, const lfuse_plan_options *options);
void lfuse__optim_part_free(lfuse__optim_part *part);
/* Sets the part's counters on the device, where it has some. */
lfuse_status lfuse__optim_part_count(const lfuse__optim_part *part, int64_t steps, double product);
/* Takes the addresses that the parameters and gradients[group] have now. */
lfuse_status lfuse__optim_part_refresh(const lfuse_optimizer *o, lfuse__optim_part *part,
                                       lfuse_list *const *gradients);
/* Does all of a run but the launches, for which lfuse__plan_run_matched is called once all parts have done so. */
lfuse_status lfuse__optim_part_match(lfuse_optimizer *o, lfuse__optim_part *part, lfuse_stream *stream,
                                     const lfuse_step_inputs *inputs);

/* Makes the norms that the groups need, and sets `sums` of the groups' forms. */
lfuse_status lfuse__optim_norms_create(lfuse_optimizer *o, const lfuse_plan_options *options);
void lfuse__optim_norms_free(lfuse_optimizer *o);
/* Do what the functions of parts do. */
lfuse_status lfuse__optim_norm_refresh(const lfuse_optimizer *o, lfuse__optim_norm *norm, lfuse_list *const *gradients);
lfuse_status lfuse__optim_norm_match(lfuse__optim_norm *norm, lfuse_stream *stream, const lfuse_step_inputs *inputs);

/* optimizer.c: checks a way of clipping and its limit. ERR_INVALID. */
lfuse_status lfuse__optim_check_clip(lfuse_clip clip, double limit);

/* ---- optimizer.c, step.c: what the public functions do, for arguments that are not NULL ---- */
lfuse_status lfuse__optimizer_create(lfuse_device *dev, const lfuse_optimizer_options *options, int count,
                                     const lfuse_group *groups, lfuse_optimizer **optimizer);
void lfuse__optimizer_destroy(lfuse_optimizer *o);
lfuse_status lfuse__optimizer_set_hyper(lfuse_optimizer *o, int group, const lfuse_hyper *hyper);
lfuse_status lfuse__optimizer_set_lr(lfuse_optimizer *o, int group, double lr);
lfuse_status lfuse__optimizer_check_group(const lfuse_optimizer *o, int group);
lfuse_status lfuse__optimizer_get_steps(const lfuse_optimizer *o, int64_t *steps);
lfuse_status lfuse__optimizer_set_steps(lfuse_optimizer *o, int64_t steps);
lfuse_status lfuse__optimizer_state(lfuse_optimizer *o, int state, int group, int64_t member, lfuse_tensor **tensor);
lfuse_status lfuse__optimizer_step(lfuse_optimizer *o, lfuse_stream *stream, int count, lfuse_list *const *gradients,
                                   const lfuse_step_inputs *inputs);

#endif
