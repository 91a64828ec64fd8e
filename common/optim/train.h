/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trainings: plans of whole steps, with their states. train.c makes them, train_parameters.c and train_groups.c check
 * what they are made of, train_graph.c builds the graphs, train_state.c has the memory and its names, train_file.c
 * writes and reads files of it, train_step.c runs steps.
 */
#ifndef COMMON_OPTIM_TRAIN_H
#define COMMON_OPTIM_TRAIN_H

#include "common/optim/optimizer.h"
#include "libfuse/training.h"
#include "libfuse/update.h"

typedef struct lfuse__train_parameter {
    char name[LFUSE__MAX_NAME + 1];
    int32_t node;         /* of the input in the graph that was given */
    int group;
    lfuse_tensor *tensor; /* one reference */
    lfuse_tensor *sum;    /* of the gradients of micro-batches; NULL: there are none */
    int nstates;
    lfuse_rule_state kinds[LFUSE_RULE_STATES];
    lfuse_tensor *states[LFUSE_RULE_STATES];
} lfuse__train_parameter;

typedef struct lfuse__train_group {
    lfuse_hyper hyper;
    double product_before;  /* NAdam, where the host counts: of the momenta of all steps so far */
    lfuse_tensor *product;  /* the same on the device; NULL: another rule */
} lfuse__train_group;

/* What stands for a name of a plan's graph; all NULL: what the program binds. */
typedef struct lfuse__train_slot {
    lfuse_tensor *tensor;
    const double *number;
} lfuse__train_slot;
typedef struct lfuse__train_plan {
    lfuse_plan *plan;
    int nslots; /* names of the graph, in order */
    lfuse__train_slot *slots;
} lfuse__train_plan;

typedef struct lfuse__train_entry {
    char *name;
    lfuse_tensor *tensor; /* no reference */
} lfuse__train_entry;

struct lfuse_training {
    lfuse_device *dev; /* one reference */
    const lfuse__rule *rule;
    lfuse_training_options options; /* `plan` and `loss_scaling` are not kept */
    lfuse_loss_scaling scaling;     /* an interval of 0: none */
    unsigned switches;              /* of lfuse_rule_update */
    bool device_counts;             /* the device has f64, in which steps are counted there */
    int nparameters, ngroups;
    lfuse__train_parameter *parameters;
    lfuse__train_group *groups;
    lfuse_tensor *loss;
    lfuse_tensor *steps;   /* i64 of rank 0 */
    lfuse_tensor *nonfinite; /* i64: the number of the first step whose loss is not finite; 0: there is none */
    lfuse_tensor *scale, *tracker; /* of loss scaling: f32, i64; NULL: there is none */
    lfuse__train_plan plans[2];    /* of each micro-batch but the last, which may be none, and of the last */
    lfuse_binding *bindings;       /* of the step at work */
    int binding_room;
    int micro;             /* micro-batches of the present step so far */
    double accumulate;     /* whether sums of gradients are added to, not begun: 0 or 1 */
    double t;              /* the number of the step, where the host counts */
    lfuse__train_entry *entries;
    int nentries;
    char *text;            /* of the plans */
};

/* ---- train_parameters.c, train_groups.c: what is given is checked and taken ---- */
/* ERR_INVALID, ERR_SHAPE, ERR_TYPE: the loss is no floating value of rank 0 of a graph without mistakes. */
lfuse_status lfuse__train_check_loss(const lfuse_graph *g, lfuse_value loss);
lfuse_status lfuse__train_take_parameters(lfuse_training *t, const lfuse_graph *g, lfuse_value loss, int count,
                                          const lfuse_training_parameter *parameters);
/* Gives each parameter its group, and settles whether there is a momentum. */
lfuse_status lfuse__train_take_groups(lfuse_training *t, int count, const lfuse_training_group *groups);

/* ---- train_graph.c ---- */
/* Builds the graph of the last micro-batch of a step, or of the others, and makes its plan. */
lfuse_status lfuse__train_plan_make(lfuse_training *t, const lfuse_graph *given, lfuse_value loss, bool last,
                                    const lfuse_plan_options *options, lfuse__train_plan *plan);
static inline bool lfuse__train_scales(const lfuse_training *t) { return t->scaling.interval > 0; }

/* ---- train_state.c ---- */
/* Allocates what a training keeps in device memory, and names it. The loss has a type. */
lfuse_status lfuse__train_states_create(lfuse_training *t, lfuse_type loss);
void lfuse__train_states_free(lfuse_training *t);
/* What lfuse_training_reset and lfuse_training_resume do. */
lfuse_status lfuse__train_reset(lfuse_training *t);
lfuse_status lfuse__train_resume(lfuse_training *t);

/* ---- train_file.c: what the public functions of these names do, for arguments that are not NULL ---- */
lfuse_status lfuse__train_save(lfuse_training *t, lfuse_stream *stream, const char *path);
lfuse_status lfuse__train_load(lfuse_training *t, lfuse_stream *stream, const char *path);

/* ---- train_step.c: what the public functions do, for arguments that are not NULL ---- */
lfuse_status lfuse__train_step(lfuse_training *t, lfuse_stream *stream, const lfuse_binding *bindings, int count);
lfuse_status lfuse__train_check(lfuse_training *t, lfuse_stream *stream);

/* ---- train.c: the same ---- */
lfuse_status lfuse__train_create(lfuse_device *dev, const lfuse_graph *graph, lfuse_value loss, int nparameters,
                                 const lfuse_training_parameter *parameters, int ngroups,
                                 const lfuse_training_group *groups, const lfuse_training_options *options,
                                 lfuse_training **training);
void lfuse__train_destroy(lfuse_training *t);
lfuse_status lfuse__train_set_hyper(lfuse_training *t, int group, const lfuse_hyper *hyper);
lfuse_status lfuse__train_set_lr(lfuse_training *t, int group, double lr);
lfuse_status lfuse__train_check_group(const lfuse_training *t, int group);

#endif
