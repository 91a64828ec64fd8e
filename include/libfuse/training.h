/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Training: the whole step of a forward graph with a loss, as one plan.
 *
 * lfuse_training_create takes a graph, its loss and its parameters by name. To a copy of the graph it adds the
 * gradients (libfuse/gradient.h) and the updates of an optimizer's rule (libfuse/update.h), makes the plan and keeps
 * the states. A step then binds the inputs and runs that plan: forward pass, loss, backward pass and update, in stream
 * order, without waiting. The graph itself stays as it was, so that plans for inference can be made of it.
 *
 *     lfuse_training *training;
 *     lfuse_training_parameter parameters[] = { { "w", w }, { "b", b } };
 *     lfuse_training_options options = { .rule = LFUSE_RULE_ADAMW };
 *
 *     lfuse_training_create(device, graph, loss, 2, parameters, 0, NULL, &options, &training);
 *     for (...) lfuse_training_step(training, stream, bindings, 2);
 *
 * A training belongs to one thread at a time. Steps on different streams are ordered by the caller, with events.
 */
#ifndef LIBFUSE_TRAINING_H
#define LIBFUSE_TRAINING_H

#include <libfuse/base.h>
#include <libfuse/device.h>
#include <libfuse/graph.h>
#include <libfuse/optimizer.h>
#include <libfuse/plan.h>
#include <libfuse/status.h>
#include <libfuse/tensor.h>

typedef struct lfuse_training lfuse_training;

/** An input of the graph that is trained, and its memory. */
typedef struct lfuse_training_parameter {
    const char *name;     /**< of the input: no frozen one, no list, and without an update in the graph */
    lfuse_tensor *tensor; /**< of the input's type and shape */
} lfuse_training_parameter;

/** Parameters that share numbers: those that are named, or, where none is, those of some ranks. */
typedef struct lfuse_training_group {
    int count;                /**< of names; 0: the parameters that no group names, of lowest_rank ... highest_rank */
    const char *const *names;
    int lowest_rank, highest_rank; /**< without names; a highest_rank of 0: no limit. Beside names both are 0 */
    lfuse_hyper hyper;
} lfuse_training_group;

/**
 * Dynamic loss scaling, as torch.amp.GradScaler. Gradients are those of the loss times a scale, and divided by it
 * before anything is done with them. Where a gradient has an inf or NaN, the step changes no parameter and no state and
 * does not count, and the scale is multiplied by `backoff`; after `interval` steps in a row without one it is
 * multiplied by `growth`, unless it would become infinite. Numbers that are 0 are PyTorch's: 65536, 2, 0.5, 2000.
 */
typedef struct lfuse_loss_scaling {
    double initial, growth, backoff; /**< finite: > 0, >= 1, in (0, 1] */
    int64_t interval;                /**< > 0 */
} lfuse_loss_scaling;

/** Zero it, then set what differs. */
typedef struct lfuse_training_options {
    lfuse_rule rule;
    unsigned switches;       /**< the rule's own, LFUSE_OPTIM_MAXIMIZE, LFUSE_OPTIM_MASTERS (f16 and bf16 parameters
                                  have f32 copies that the step works on), LFUSE_OPTIM_AVERAGE (a moving average of
                                  the parameters, by hyper.ema_decay), or-ed. Whether there is a momentum, groups
                                  tell */
    lfuse_type state_type;   /**< of the rule's states: f32, f16, bf16, f64; NONE: f32, for f64 parameters f64 */
    lfuse_clip clip;         /**< the global norm is that of all gradients of all groups together */
    double clip_limit;       /**< > 0 with a clip, else 0 */
    int micro_batches;       /**< k > 1: every k-th step updates, by the mean of the gradients of k steps; 0 is 1 */
    const lfuse_loss_scaling *loss_scaling; /**< NULL: none. Needs a device with f64 */
    const lfuse_plan_options *plan;         /**< NULL: as by default */
} lfuse_training_options;

LFUSE_BEGIN_DECLS

/**
 * Makes a training, allocates its states and waits until they hold their first contents. Among these are copies of the
 * parameters (masters and averages), which therefore must have been written before; parameters with such copies are
 * contiguous.
 *
 * `loss` is a value of rank 0 and a floating type of the graph; each parameter has to lead to it. The groups together
 * have every parameter exactly once; 0 groups are one of all parameters with the rule's defaults
 * (lfuse_hyper_defaults). The graph may be destroyed afterwards; the training holds the memory of the parameters. Names
 * that begin with "training." are the training's. The graph's outputs and updates belong to each step; each step binds
 * its other inputs, frozen ones too, its outputs, scalars and sizes.
 *
 * Where the device has f64, the steps are counted on it, so that a recording of a step counts on when it is replayed;
 * elsewhere the host counts. Numbers of groups are scalars of the plan: changing them compiles nothing.
 *
 * Errors: the graph's first mistake; ERR_NAME (a name that the graph lacks, or that is given twice), ERR_INVALID (a
 * parameter that is no input that can be updated, or does not lead to the loss; a parameter of two groups or of none; a
 * rule, switch, number or range: the message names group, field and value), ERR_SHAPE (a loss that is no scalar, a
 * tensor that does not fit), ERR_TYPE, ERR_CONTEXT, ERR_UNSUPPORTED (a function without a gradient: the message names
 * it; loss scaling without f64), and those of lfuse_plan_create and lfuse_tensor_create.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_create(lfuse_device *device, const lfuse_graph *graph,
                                                              lfuse_value loss, int parameter_count,
                                                              const lfuse_training_parameter *parameters,
                                                              int group_count, const lfuse_training_group *groups,
                                                              const lfuse_training_options *options,
                                                              lfuse_training **training);
/** Legal while steps are unfinished. */
LFUSE_API void lfuse_training_destroy(lfuse_training *training);

/**
 * One step, or one micro-batch of it, on a stream, in stream order, without waiting. `bindings` are all that the graph
 * needs but for the parameters, by name. Errors as of lfuse_plan_run; ERR_BINDING: a binding without a name. A step
 * that is refused launched nothing.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_step(lfuse_training *training, lfuse_stream *stream,
                                                            const lfuse_binding *bindings, int count);
/** The loss of the last step, or micro-batch: of rank 0 and the loss' type. The training's; valid as long as it. */
LFUSE_API lfuse_tensor *lfuse_training_loss(const lfuse_training *training);
/**
 * Waits for the stream and tells whether the loss of a step was NaN or infinite: ERR_NONFINITE, with the number of the
 * first such step, from 1 on. The call clears the report: the next one tells of later steps. The parameters have been
 * updated all the same, unless loss scaling skipped the step.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_check(lfuse_training *training, lfuse_stream *stream);

/** The numbers of a group, for the steps from now on: nothing is compiled. ERR_INVALID as of lfuse_training_create. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_set_hyper(lfuse_training *training, int group,
                                                                 const lfuse_hyper *hyper);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_get_hyper(const lfuse_training *training, int group,
                                                                 lfuse_hyper *hyper);
/** The learning rate of one group, or of all: group -1. Schedules are in libfuse/schedule.h. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_set_lr(lfuse_training *training, int group, double lr);
/** Steps that updated the parameters so far, of streams that were synchronised. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_get_steps(const lfuse_training *training, int64_t *steps);

/*
 * All that a training is, by name, to be saved between steps and written back. The steps that follow then have the bits
 * of a training that never stopped. The numbers of groups are the program's. The names:
 *  - of a parameter its own;
 *  - "optimizer.", the name of a parameter, a dot and that of a state, as of lfuse_rule_states: "optimizer.w.exp_avg";
 *  - "optimizer.steps" (i64);
 *  - with loss scaling "optimizer.loss_scale" (f32) and "optimizer.growth_tracker" (i64);
 *  - of NAdam, where the device has f64, "optimizer.product.0" and so on for each group (f64).
 */
LFUSE_API int lfuse_training_tensor_count(const lfuse_training *training);
/** NULL: there is none. Valid as long as the training. */
LFUSE_API const char *lfuse_training_tensor_name(const lfuse_training *training, int index);
/** Of its own shape, the training's or, of a parameter, the caller's. NULL: there is none. */
LFUSE_API lfuse_tensor *lfuse_training_tensor(const lfuse_training *training, int index);
/**
 * Waits for the steps of the stream and writes all these tensors to a file (libfuse/safetensors.h). ERR_STATE: some,
 * but not all micro-batches of a step have been; else the errors of lfuse_safetensors_save.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_save(lfuse_training *training, lfuse_stream *stream,
                                                            const char *path);
/**
 * Waits for the steps of the stream and reads such a file, of exactly these names, types and shapes: a file of
 * another training is refused before any tensor is written. Then as lfuse_training_resume. Errors: those of
 * lfuse_safetensors_open and lfuse_safetensors_load, which may leave some of the tensors written where reading fails.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_load(lfuse_training *training, lfuse_stream *stream,
                                                            const char *path);
/**
 * To be called when the program has written such tensors itself, after all steps and writes have finished and before
 * the next step. Reads the counts of the host from them. A step of which only some micro-batches have run starts over.
 * ERR_INVALID: the number of steps is not in 0 ... 2^53.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_resume(lfuse_training *training);
/**
 * Begins anew: 0 steps, and states with the contents that lfuse_training_create gives them; waits as it does. To be
 * called when all steps, and writes to parameters, have finished.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_training_reset(lfuse_training *training);

/** The plans as lfuse_plan_text prints them, a line for each: with micro-batches that of the last one is the second. */
LFUSE_API const char *lfuse_training_text(const lfuse_training *training);

LFUSE_END_DECLS
#endif
