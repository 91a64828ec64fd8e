/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Optimizer rules as graph functions: one step of any rule of libfuse/optimizer.h over one parameter of a graph, which
 * ends in updates of the parameter and of its states. A graph can thus hold a forward pass, a loss, its gradients and
 * the step, and one plan runs it: where nothing else needs a weight's gradient, the planner computes the step behind
 * the product that makes the gradient, in the same launch.
 *
 * The formulas, types and orders are those of optimizer.h, by the same code: a tensor that is stepped here and one that
 * lfuse_optimizer_step steps have the same bits, and so have their states.
 *
 * Mistakes poison the graph, as those of all builders do (graph.h): ERR_INVALID, ERR_TYPE, ERR_RANK, ERR_SHAPE with the
 * input's name.
 */
#ifndef LIBFUSE_UPDATE_H
#define LIBFUSE_UPDATE_H

#include <libfuse/base.h>
#include <libfuse/graph.h>
#include <libfuse/optimizer.h>
#include <libfuse/status.h>
#include <libfuse/types.h>

/** What has one element each in a state. */
typedef enum lfuse_state_extent {
    LFUSE_STATE_ELEMENTS = 0, /**< each element: the state has the parameter's shape */
    LFUSE_STATE_NUMBER = 1,   /**< the parameter: rank 0. Beside lists: a list of rank 0 */
    LFUSE_STATE_ROWS = 2,     /**< each row: the parameter's shape without its last axis; of rank 0 or 1 it is
                                   rank 0. Beside lists: LFUSE_RANK_ROWS */
    LFUSE_STATE_COLUMNS = 3   /**< each column: the parameter's shape without its last axis but one; of rank 0 or 1
                                   it is the parameter's own. Beside lists: LFUSE_RANK_COLUMNS */
} lfuse_state_extent;

/** A state that a rule keeps for a parameter. */
typedef struct lfuse_rule_state {
    const char *name; /**< as lfuse_optimizer_state_name has it; static */
    lfuse_type type;
    lfuse_state_extent extent;
    int copies;       /**< not 0: what the state holds at first is a copy of the parameter; else zeros or `initial` */
    const char *initial; /**< NULL: zeros; else the number of lfuse_hyper that it is filled with at first; static */
} lfuse_rule_state;

/** No rule keeps more states for a parameter. */
enum { LFUSE_RULE_STATES = 5 };

/**
 * The numbers of a rule, as lfuse_hyper has them, as values of the graph: constants, scalars, and values of rank 0 in
 * device memory, of a floating type; these need a device with f64, in which all of them are computed. One that is left
 * zero is a constant: PyTorch's default (lfuse_hyper_defaults). One that the rule does not know is ERR_INVALID, and so
 * is a constant out of its range; other numbers are not checked.
 */
typedef struct lfuse_hyper_values {
    lfuse_value lr, weight_decay, momentum, dampening, beta1, beta2, eps, eps2, alpha, rho, lr_decay;
    lfuse_value initial_accumulator; /**< what a state is filled with at first is the program's: leave it zero */
    lfuse_value lambd, t0, momentum_decay, eta_minus, eta_plus, step_min, step_max, clip_threshold, ema_decay;
} lfuse_hyper_values;

/** What a step is made of. Zero it, then set what the rule and its switches need, and nothing else. */
typedef struct lfuse_rule_values {
    lfuse_value parameter; /**< an input of f32, f64, f16 or bf16, of any rank, or a list of LFUSE_RANK_ANY or, for
                                Adafactor, LFUSE_RANK_MATRIX */
    lfuse_value gradient;  /**< of the parameter's shape, of any floating type */
    int state_count;
    const lfuse_value *states; /**< inputs as lfuse_rule_states has them, in that order */
    lfuse_hyper_values hyper;
    lfuse_value t;          /**< the number of the step, from 1 on: of rank 0, or a scalar */
    lfuse_value product;    /**< nadam: the product of the momenta of the steps before, as t; at first 1 */
    lfuse_value grad_scale; /**< LFUSE_OPTIM_GRAD_SCALE: what the gradient was multiplied by */
    lfuse_value found_inf;  /**< LFUSE_OPTIM_FOUND_INF: where it is not 0, parameter and states stay */
    lfuse_clip clip;
    lfuse_value clip_limit; /**< with a clip: > 0, not checked */
    lfuse_value norm;       /**< LFUSE_CLIP_GLOBAL_NORM: of all gradients, as lfuse_gradient_norm computes it */
} lfuse_rule_values;

LFUSE_BEGIN_DECLS

/**
 * Tells which states a rule with these switches keeps for a parameter of a type: sets *count and states[0 ... *count -
 * 1]. `state` is the type of states that have an element for each element, row or column; NONE: f32, for f64 parameters
 * f64. Switches: the rule's own, LFUSE_OPTIM_MOMENTUM, MAXIMIZE, MASTERS, AVERAGE, GRAD_SCALE and FOUND_INF; the others
 * are for the optimizers of lists. Of f32 and f64 parameters MASTERS keeps nothing.
 * ERR_INVALID: no such rule, a switch that it does not know; ERR_TYPE: a type that is not floating.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_rule_states(lfuse_rule rule, unsigned switches, lfuse_type parameter,
                                                          lfuse_type state, int *count,
                                                          lfuse_rule_state states[LFUSE_RULE_STATES]);
/**
 * One step: updates the parameter and its states at the end of the run, and returns the new parameter. States of
 * elements, rows and columns may each have any floating type; the others have the type that lfuse_rule_states says.
 *
 * The count of steps is the program's: a scalar, or an f64 of rank 0 with an update of its own (t = steps + 1 here, and
 * lfuse_update(steps, steps + 1) once for all parameters; with found_inf only where that is 0). NAdam's product is
 * counted so by lfuse_nadam_product.
 */
LFUSE_API lfuse_value lfuse_rule_update(lfuse_rule rule, unsigned switches, const lfuse_rule_values *values);
/** NAdam: the product of the momenta with that of step t. beta1, momentum_decay: numbers as lfuse_hyper_values. */
LFUSE_API lfuse_value lfuse_nadam_product(lfuse_value product, lfuse_value t, lfuse_value beta1,
                                          lfuse_value momentum_decay);
/** The same on the host, of the steps 1 ... steps: for a product that is given as a scalar. */
LFUSE_API double lfuse_nadam_product_of(const lfuse_hyper *hyper, int64_t steps);
/**
 * The 2-norm of all gradients together, each divided by grad_scale (lfuse_none(): not): of tensors and lists of
 * floating types, of one graph. A value of rank 0 of f32, of f64 where some gradient is f64. Of tensors that all have
 * one type the bits are those of lfuse_list_norm_l2 of a list of them.
 */
LFUSE_API lfuse_value lfuse_gradient_norm(int count, const lfuse_value *gradients, lfuse_value grad_scale);

LFUSE_END_DECLS
#endif
