/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optimizers: a rule's graph over lists, planned for groups of parameters, with the states' memory. May use
 * common/graph/ and common/run/; knows neither plans' insides nor kernels.
 */
#ifndef COMMON_OPTIM_OPTIMIZER_H
#define COMMON_OPTIM_OPTIMIZER_H

#include "common/optim/rule.h"
#include "common/run/run.h"

/* ---- graph.c: pure ---- */

/*
 * Sums of squares that the norm of all gradients is made of, where plans of their own make them: one for each pair of
 * the type that gradients have (four are floating) and the type that they are computed in (f32 or f64).
 */
enum { LFUSE__OPTIM_SUMS = 8 };
typedef struct lfuse__optim_sums {
    int count; /* 0: the plan makes the norm itself */
    lfuse_type types[LFUSE__OPTIM_SUMS]; /* f32 or f64 */
} lfuse__optim_sums;

/* What a step's graph depends on. */
typedef struct lfuse__optim_form {
    const lfuse__rule *rule;
    unsigned switches; /* with the library's own */
    lfuse_clip clip;
    lfuse__optim_sums sums;
    lfuse_type parameter, gradient, state;
} lfuse__optim_form;

/* Every list that the optimizer owns: the rule's states, then "master", then "average". */
enum { LFUSE__OPTIM_STATES = LFUSE__RULE_STATES + 2 };
typedef struct lfuse__optim_states {
    int count;
    const char *name[LFUSE__OPTIM_STATES];
    lfuse_type type[LFUSE__OPTIM_STATES];
    bool number[LFUSE__OPTIM_STATES]; /* one for each member */
    int lines[LFUSE__OPTIM_STATES];   /* LFUSE_RANK_ROWS, COLUMNS: one for each of a member's; else 0 */
    bool copies[LFUSE__OPTIM_STATES]; /* at first a copy of the parameters, else: */
    lfuse__hyper_field initial[LFUSE__OPTIM_STATES];
} lfuse__optim_states;
void lfuse__optim_states_of(const lfuse__optim_form *form, lfuse__optim_states *states);
/* Whether steps are counted on the device. */
static inline bool lfuse__optim_counts(unsigned switches)
{
    return switches & (LFUSE_OPTIM_DEVICE_STEPS | LFUSE_OPTIM_FOUND_INF);
}
/* The type that elements are computed in. */
lfuse_type lfuse__optim_type(const lfuse__optim_form *form);
/*
 * Lists "p", "g" and the states by their names; scalars by the names of the rule's numbers, "t", "product" (nadam) and
 * "clip_limit"; the tensors "grad_scale", "lr", "found_inf", "steps" (f64, as "product" then) and the sums by theirs.
 * Mistakes are in the graph.
 */
lfuse_graph *lfuse__optim_graph(const lfuse__optim_form *form);
const char *lfuse__optim_sum_name(int sum);
/* The sum of squares of the gradients in list "g", as the tensor "sum". */
lfuse_graph *lfuse__optim_norm_graph(const lfuse__optim_form *form);
/* Updates "to" with what "from" holds, cast. */
lfuse_graph *lfuse__optim_copy_graph(lfuse_type from, lfuse_type to);

/* ---- state.c ---- */

/* How large tensors are cut into members. */
typedef struct lfuse__optim_cut {
    int64_t arenas;
    int64_t *elements; /* [members] of each */
    int64_t *arena;    /* [members] which arena, and from which element on: */
    int64_t *offset;
    int64_t *lengths;  /* [arenas] in elements */
} lfuse__optim_cut;
enum { LFUSE__CUT_ELEMENTS, LFUSE__CUT_ROWS, LFUSE__CUT_COLUMNS, LFUSE__CUTS };

/* Where the states of a group's members lie: in a few large tensors, cut at the same places for like states. */
typedef struct lfuse__optim_store {
    lfuse_device *dev;
    lfuse_list *like; /* one reference: the parameters, for their shapes */
    lfuse__optim_cut cuts[LFUSE__CUTS]; /* those that no state has are empty */
    int cut[LFUSE__OPTIM_STATES];
    lfuse_type types[LFUSE__OPTIM_STATES];
    bool number[LFUSE__OPTIM_STATES]; /* one for each member, in the first tensor, and no other */
    lfuse_tensor **tensors[LFUSE__OPTIM_STATES]; /* [arenas] of each state */
} lfuse__optim_store;
lfuse_status lfuse__optim_store_create(lfuse_device *dev, lfuse_list *like, const lfuse__optim_states *states,
                                       bool paged, lfuse__optim_store *store);
void lfuse__optim_store_free(lfuse__optim_store *store);
/* Tensors of a state. */
static inline int64_t lfuse__optim_store_arenas(const lfuse__optim_store *s, int state)
{
    return s->cuts[s->cut[state]].arenas;
}
/* A view of one member's state; the caller's to destroy. */
lfuse_status lfuse__optim_store_view(const lfuse__optim_store *store, int state, int64_t member, lfuse_tensor **tensor);
/* The state of some members as a list. */
lfuse_status lfuse__optim_store_list(const lfuse__optim_store *store, int state, int64_t first, int64_t count,
                                     lfuse_list **list);

/* ---- part.c: what one plan does of a step ---- */

enum { LFUSE__OPTIM_BINDINGS = 2 + LFUSE__OPTIM_STATES + LFUSE__RULE_HYPERS + 9 + LFUSE__OPTIM_SUMS };
/* Groups that one launch can tell apart. */
enum { LFUSE__OPTIM_TOGETHER = 8 };
/* Where a list was copied to another, and what it was then. */
typedef struct lfuse__optim_trace {
    const lfuse_list *list; /* NULL: not yet; held by the group */
    uint64_t version;
} lfuse__optim_trace;
typedef struct lfuse__optim_part {
    int group, ngroups;    /* the first of some groups of one form; 1 in loops */
    int64_t first, count;  /* in loops: members of the group's lists */
    lfuse_plan *plan;
    lfuse_tensor *steps, *product; /* on the device, of rank 0; NULL: the host counts */
    lfuse_list *p, *g;     /* the group's lists, or some members of them; NULL before the first step */
    lfuse_list *states[LFUSE__OPTIM_STATES];
    lfuse__optim_trace p_from[LFUSE__OPTIM_TOGETHER], g_from[LFUSE__OPTIM_TOGETHER];
    double numbers[LFUSE__RULE_HYPERS + 2][LFUSE__OPTIM_TOGETHER]; /* of each scalar, by group */
} lfuse__optim_part;

typedef struct lfuse__optim_group {
    lfuse_list *parameters; /* one reference */
    lfuse_list *gradients;  /* of the last step, one reference */
    lfuse__optim_form form;
    lfuse_hyper hyper;
    double product;         /* NADAM: of the momenta so far */
    lfuse__optim_states states;
    lfuse__optim_store store;
} lfuse__optim_group;

/* ---- norm.c: the sum of squares of all gradients of one type, computed in one type ---- */
typedef struct lfuse__optim_norm {
    lfuse_type gradient, computed;
    lfuse_plan *plan;
    lfuse_tensor *sum;        /* of rank 0, of the type that is computed in */
    lfuse_list *g;            /* of its groups, one behind the other; NULL before the first step */
    lfuse__optim_trace *from; /* [ngroups] */
} lfuse__optim_norm;

struct lfuse_optimizer {
    lfuse_device *dev; /* one reference */
    lfuse_optimizer_options options; /* `plan` is not kept */
    unsigned switches; /* with the library's own */
    int ngroups, nparts, nnorms;
    lfuse__optim_group *groups;
    lfuse__optim_part *parts;
    lfuse__optim_norm norms[LFUSE__OPTIM_SUMS]; /* run before the parts; in the order in which groups have the types */
    lfuse__optim_states states; /* what any group has; names alone */
    int64_t steps;
    char *text;
};

/* Of a graph, which goes; at the optimizer's level. */
lfuse_status lfuse__optim_plan(lfuse_optimizer *o, lfuse_graph *g, const lfuse_plan_options *given, lfuse_plan **plan);
/* Copies the addresses of a list that is another one, or another version, than the last time. */
void lfuse__optim_follow(lfuse_list *to, int64_t at, const lfuse_list *from, int64_t first, int64_t count,
                         lfuse__optim_trace *trace);
lfuse_status lfuse__optim_part_create(lfuse_optimizer *o, lfuse__optim_part *part, const lfuse_plan_options *options);
void lfuse__optim_part_free(lfuse__optim_part *part);
/* What the part counts on the device, where it does. */
lfuse_status lfuse__optim_part_count(const lfuse__optim_part *part, int64_t steps, double product);
/* Takes the addresses that the parameters and gradients, of all groups, have now. */
lfuse_status lfuse__optim_part_refresh(const lfuse_optimizer *o, lfuse__optim_part *part,
                                       lfuse_list *const *gradients);
/* Everything but the launches: after that of all parts, lfuse__plan_run_matched of each. */
lfuse_status lfuse__optim_part_match(lfuse_optimizer *o, lfuse__optim_part *part, lfuse_stream *stream,
                                     const lfuse_step_inputs *inputs);

/* Makes those that the groups need, and says in the groups' forms which. */
lfuse_status lfuse__optim_norms_create(lfuse_optimizer *o, const lfuse_plan_options *options);
void lfuse__optim_norms_free(lfuse_optimizer *o);
/* As of parts. */
lfuse_status lfuse__optim_norm_refresh(const lfuse_optimizer *o, lfuse__optim_norm *norm, lfuse_list *const *gradients);
lfuse_status lfuse__optim_norm_match(lfuse__optim_norm *norm, lfuse_stream *stream, const lfuse_step_inputs *inputs);

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
