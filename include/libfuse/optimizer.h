/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Optimizers over lists: one step over all parameters of a model.
 *
 * Each rule is a graph of functions over lists of parameters, gradients and states, as a program could build it of
 * ops.h; a rule of the program's own is such a graph and runs in the same way (lfuse(7), "Optimizers"). All rules
 * consist of + - * / sqrt, comparisons, selections and casts, in the order that their source (common/optim/) shows, so
 * that an optimizer gives the same bits on every device that is `exact`, and for a list those of a loop over it.
 *
 * The formulas are those of PyTorch's torch.optim (the single-tensor forms), where it has the rule, with everything
 * that depends on numbers alone computed in f64. What differs is said at the rule.
 *
 * A weight_decay or momentum of 0 is none, as in torch.optim: an infinite parameter or state is not multiplied by 0.
 * The numbers stay those of the run: nothing is compiled for one that is 0.
 *
 * Elements are computed in f32 (in f64 where the parameters or their masters are f64), whatever the types in memory.
 *
 * An optimizer belongs to one thread at a time. Steps on different streams are ordered by the caller, with events.
 */
#ifndef LIBFUSE_OPTIMIZER_H
#define LIBFUSE_OPTIMIZER_H

#include <libfuse/base.h>
#include <libfuse/device.h>
#include <libfuse/list.h>
#include <libfuse/plan.h>
#include <libfuse/status.h>
#include <libfuse/tensor.h>

/**
 * The rules: name, number, text. p is a parameter, g its gradient, t the number of the step, from 1 on.
 *
 * LAMB and NovoGrad take norms of whole members, Adafactor root mean squares, and sums of rows and columns: such steps
 * are a few launches, at most sixteen of Adafactor, whatever the number of members; the others are one.
 *
 * Adafactor keeps one number a row ("row_var") and a column ("col_var") of a member that is a matrix (its last two
 * axes; those before count matrices). A member of rank 0 or 1 is one row: its "col_var" is what PyTorch calls
 * "variance".
 */
#define LFUSE_RULE_MAP(X)                                                                                              \
    X(SGD, 1, "sgd")           /* momentum, dampening, Nesterov's momentum */                                          \
    X(ADAM, 2, "adam")         /* weight decay is added to the gradient, unless LFUSE_OPTIM_DECOUPLED */               \
    X(ADAMW, 3, "adamw")       /* Adam with decoupled weight decay */                                                  \
    X(ADAGRAD, 4, "adagrad")                                                                                           \
    X(RMSPROP, 5, "rmsprop")                                                                                           \
    X(ADADELTA, 6, "adadelta")                                                                                         \
    X(ADAMAX, 7, "adamax")                                                                                             \
    X(NADAM, 8, "nadam")       /* 0.96^(t momentum_decay) is (0.96^momentum_decay)^t */                                \
    X(RADAM, 9, "radam")                                                                                               \
    X(ASGD, 10, "asgd")        /* lr / (1 + lambd lr t)^alpha takes the lr of the step itself */                       \
    X(RPROP, 11, "rprop")                                                                                              \
    X(LION, 12, "lion")        /* arXiv:2302.06675 */                                                                  \
    X(LAMB, 13, "lamb")        /* arXiv:1904.00962, algorithm 2; the trust ratio is 1 where a norm is 0, inf or NaN */ \
    X(NOVOGRAD, 14, "novograd") /* arXiv:1905.11286; a second moment for each member */                                \
    X(ADAFACTOR, 15, "adafactor") /* factored; gradients have the shapes of their parameters */

typedef enum lfuse_rule {
#define LFUSE_RULE_ENUM(name, number, text) LFUSE_RULE_##name = number,
    LFUSE_RULE_MAP(LFUSE_RULE_ENUM)
#undef LFUSE_RULE_ENUM
} lfuse_rule;

/** Switches of a rule. One that the rule does not know is refused. */
enum {
    LFUSE_OPTIM_NESTEROV = 1,        /**< sgd; needs a momentum and no dampening */
    LFUSE_OPTIM_AMSGRAD = 2,         /**< adam, adamw: divides by the largest second moment so far */
    LFUSE_OPTIM_CENTERED = 4,        /**< rmsprop: divides by an estimate of the deviation */
    LFUSE_OPTIM_DECOUPLED = 8,       /**< adam, nadam, radam: p *= 1 - lr weight_decay instead of g += weight_decay p */
    LFUSE_OPTIM_DECAY_LAST = 16,     /**< sgd: weight_decay p joins the update behind the momentum, not the gradient */
    LFUSE_OPTIM_GRAD_AVERAGING = 32, /**< novograd: the first moment takes (1 - beta1) of the gradient, not all of it */
    LFUSE_OPTIM_MOMENTUM = 1 << 15,  /**< sgd, rmsprop: there is a momentum. Of update.h alone: the optimizers of lists
                                          see it by the numbers of their groups, and refuse the switch */
    /* Of any rule: */
    LFUSE_OPTIM_MAXIMIZE = 1 << 16,  /**< climbs: the gradient's sign is turned round */
    LFUSE_OPTIM_MASTERS = 2 << 16,   /**< f16 and bf16 parameters: the optimizer keeps f32 copies that it works on */
    LFUSE_OPTIM_AVERAGE = 4 << 16,   /**< keeps an exponential moving average of the parameters: state "average" */
    LFUSE_OPTIM_ZERO_GRADIENTS = 8 << 16, /**< the step leaves zeros in the gradients */
    LFUSE_OPTIM_GRAD_SCALE = 16 << 16,    /**< each step is given a grad_scale */
    LFUSE_OPTIM_LR_TENSOR = 32 << 16,     /**< each step is given the learning rate, for all groups, in device memory */
    LFUSE_OPTIM_DEVICE_STEPS = 64 << 16,  /**< the steps are counted in device memory: replays of a step count on */
    LFUSE_OPTIM_FOUND_INF = 128 << 16,    /**< each step is given a found_inf; steps are counted in device memory */
    LFUSE_OPTIM_PAGED = 256 << 16         /**< states lie in memory that host and device share: they may exceed the
                                               device's; ERR_UNSUPPORTED where lfuse_device_info.svm is 0 */
};

/** How a step is run. The slow levels are there to compare with: the bits are the same. */
typedef enum lfuse_optimizer_level {
    LFUSE_OPTIM_FUSED = 0,   /**< as few launches as there can be */
    LFUSE_OPTIM_FOREACH = 1, /**< every function one launch over the whole list */
    LFUSE_OPTIM_LOOP = 2     /**< every function of every member its own launch */
} lfuse_optimizer_level;

/** Gradient clipping, of what grad_scale has left of the gradient, before anything else is done with it. */
typedef enum lfuse_clip {
    LFUSE_CLIP_NONE = 0,
    LFUSE_CLIP_VALUE = 1,       /**< into [-clip_limit, clip_limit] */
    LFUSE_CLIP_MEMBER_NORM = 2, /**< each member times min(1, clip_limit / (its 2-norm + 1e-6)) */
    LFUSE_CLIP_GLOBAL_NORM = 3  /**< all times the same of the norm of all members of all groups, of any types */
} lfuse_clip;

/*
 * The global norm of several groups:
 *  - Gradients of one type that are computed in one type are one list, the groups' lists behind each other in their
 *    order. Its sum of squares is that of lfuse_list_norm_l2: the bits do not depend on how members are grouped.
 *  - The sums of several types are added in the order in which the groups first have the types, in f32, in f64 where
 *    some group is computed in f64; the root of that is rounded to what each group is computed in.
 *  - Two launches for each of these types make it, before those of the groups; one group alone is as fused as before.
 *    LFUSE_OPTIM_LOOP takes the norm of lists too. The sums stay on the device: the host waits for nothing.
 */

/**
 * The numbers of a rule, for each group of parameters. lfuse_hyper_defaults sets those of the rule to PyTorch's
 * defaults (papers' where it has none) and the others to 0, which they must stay. Ranges, inf and NaN being in none:
 * lr weight_decay momentum eps lr_decay initial_accumulator alpha lambd momentum_decay: >= 0; beta1 beta2 ema_decay: in
 * [0, 1); rho: in [0, 1]; eta_minus: in (0, 1); eta_plus: > 1; step_min: >= 0; step_max: > 0; clip_threshold: >= 1.
 */
typedef struct lfuse_hyper {
    double lr;                  /**< learning rate; of Adafactor the largest relative step */
    double weight_decay;
    double momentum;            /**< sgd, rmsprop */
    double dampening;           /**< sgd; any number */
    double beta1, beta2;        /**< decay of the first and second moment; of Adafactor beta2 is the exponent of the
                                     decay 1 - t^beta2, < 0 */
    double eps;
    double eps2;                /**< adafactor: least scale of a parameter */
    double alpha;               /**< rmsprop: smoothing; asgd: power of the decay of lr */
    double rho;                 /**< adadelta: smoothing */
    double lr_decay;            /**< adagrad */
    double initial_accumulator; /**< adagrad: contents of its state at first; read when the optimizer is made */
    double lambd, t0;           /**< asgd: decay, step at which averaging begins */
    double momentum_decay;      /**< nadam */
    double eta_minus, eta_plus; /**< rprop: factors of a step that turned, and of one that did not */
    double step_min, step_max;  /**< rprop: bounds of a step */
    double clip_threshold;      /**< adafactor: largest root mean square of an update */
    double ema_decay;           /**< of any rule with LFUSE_OPTIM_AVERAGE; else 0 */
} lfuse_hyper;

/** Some parameters and their numbers. */
typedef struct lfuse_group {
    lfuse_list *parameters; /**< f32, f64, f16 or bf16 */
    lfuse_hyper hyper;
} lfuse_group;

/** Zero it, then set what differs. */
typedef struct lfuse_optimizer_options {
    lfuse_rule rule;
    unsigned switches;             /**< LFUSE_OPTIM_... or-ed */
    lfuse_optimizer_level level;
    lfuse_type gradient_type;      /**< NONE: each group's gradients have the type of its parameters */
    lfuse_type state_type;         /**< f32, f16, bf16 or f64; NONE: f32, for f64 parameters f64 */
    lfuse_clip clip;
    double clip_limit;             /**< > 0 with a clip, else 0 */
    const lfuse_plan_options *plan; /**< how the plans are made, the lists' transport for one; NULL: as by default */
} lfuse_optimizer_options;

/** What a step takes beside the gradients. Zero it, then set what the optimizer was made for, and nothing else. */
typedef struct lfuse_step_inputs {
    lfuse_tensor *grad_scale; /**< f32, rank 0: what the gradients were multiplied by; they are divided by it */
    lfuse_tensor *lr;         /**< f32, rank 0: not checked; what is in lfuse_hyper counts for nothing */
    lfuse_tensor *found_inf;  /**< f32, rank 0: where it is not 0, parameters, states and the count of steps stay */
} lfuse_step_inputs;

typedef struct lfuse_optimizer lfuse_optimizer;

LFUSE_BEGIN_DECLS

/** "adamw" and the like; "?" for a number that is no rule. Static. */
LFUSE_API const char *lfuse_rule_name(lfuse_rule rule);
/** ERR_INVALID: no such rule. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_hyper_defaults(lfuse_rule rule, lfuse_hyper *hyper);

/**
 * Makes an optimizer of `count` groups (1 or more), plans its steps, allocates its states and waits until they hold
 * their first contents: zeros, the first accumulator, copies of the parameters (masters and averages), which therefore
 * must have been written before. The optimizer holds the lists; the tensors of the lists may be destroyed. Of a list
 * whose addresses are replaced the next step uses the new ones.
 *
 * LR_TENSOR, DEVICE_STEPS and FOUND_INF need a device with f64: what depends on numbers in device memory alone is
 * computed in f64 there, with the bits that the host would have. Counting there is no launch more: the work-group of
 * the step that is the last to finish counts. NAdam's product takes one.
 *
 * Up to eight neighbouring groups of one type take one launch together, of rules and clipping that look at single
 * elements, or at the norm of all groups; others take their own, as do NAdam's where steps are counted in device
 * memory.
 *
 * Errors: ERR_INVALID (a rule, switch, number or range: the message names group, field and value), ERR_TYPE,
 * ERR_CONTEXT (a list of another device), ERR_UNSUPPORTED, and those of lfuse_plan_create and lfuse_tensor_create.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_optimizer_create(lfuse_device *device,
                                                               const lfuse_optimizer_options *options, int count,
                                                               const lfuse_group *groups, lfuse_optimizer **optimizer);
/** Legal while steps are unfinished. */
LFUSE_API void lfuse_optimizer_destroy(lfuse_optimizer *optimizer);

/**
 * One step on a stream, in stream order, without waiting. gradients[i] is a list congruent with the parameters of group
 * i; `count` is the number of groups. Lists and addresses may be others than in the last step: that costs a comparison
 * and a small launch. The lists stay held until others take their place. `inputs` may be NULL.
 *
 * A step that is refused launched nothing, of no group, and the optimizer is as it was. Errors: ERR_INVALID (counts, an
 * input that is missing or not asked for), ERR_TYPE, ERR_SHAPE (the message names group and member), ERR_CONTEXT,
 * ERR_OVERLAP, ERR_UNSUPPORTED (a member that is not contiguous).
 *
 * Lists must not be replaced (lfuse_list_replace) while another thread makes a step with them; runs already submitted
 * keep the addresses that they were given.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_optimizer_step(lfuse_optimizer *optimizer, lfuse_stream *stream,
                                                             int count, lfuse_list *const *gradients,
                                                             const lfuse_step_inputs *inputs);

/** The numbers of a group, for the steps from now on: nothing is compiled. ERR_INVALID as of lfuse_optimizer_create. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_optimizer_set_hyper(lfuse_optimizer *optimizer, int group,
                                                                  const lfuse_hyper *hyper);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_optimizer_get_hyper(const lfuse_optimizer *optimizer, int group,
                                                                  lfuse_hyper *hyper);
/** The learning rate of one group, or of all: group -1. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_optimizer_set_lr(lfuse_optimizer *optimizer, int group, double lr);

/**
 * Steps made so far; counted in device memory, those of streams that were synchronised. Setting it belongs to putting
 * back a state: 0 begins anew (what the first step initialises it will initialise again; the states' contents stay).
 * NAdam's product of momenta is computed anew from the present numbers.
 * ERR_INVALID: a negative count, or one of more than 2^53.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_optimizer_get_steps(const lfuse_optimizer *optimizer, int64_t *steps);
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_optimizer_set_steps(lfuse_optimizer *optimizer, int64_t steps);

/** How many states there are, and what they are called: "exp_avg" and so on as in PyTorch, "master", "average". */
LFUSE_API int lfuse_optimizer_state_count(const lfuse_optimizer *optimizer);
/** NULL: no such state. Valid as long as the optimizer. */
LFUSE_API const char *lfuse_optimizer_state_name(const lfuse_optimizer *optimizer, int state);
/**
 * One member's state, as a tensor of rank 1 with the elements of the member (or of one element, where the state is a
 * number of each member), to read it out and put it back with lfuse_tensor_read and lfuse_tensor_write, ordered with
 * the steps by the caller. The tensor is the caller's to destroy; its memory is the optimizer's. ERR_INVALID.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_optimizer_state(lfuse_optimizer *optimizer, int state, int group,
                                                              int64_t member, lfuse_tensor **tensor);
/**
 * The plans of a step as lfuse_plan_text prints them, a line for each plan, those of a norm over several groups first;
 * valid as long as the optimizer.
 */
LFUSE_API const char *lfuse_optimizer_text(const lfuse_optimizer *optimizer);

LFUSE_END_DECLS
#endif
