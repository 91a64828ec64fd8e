/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Learning-rate schedules: plain functions of the number of the step, which keep nothing and may be called by any
 * thread. A training loop calls one before each step and hands its result over as the learning rate
 * (lfuse_optimizer_set_lr, a scalar of the graph, a tensor):
 *
 *     double lr = lfuse_schedule_cosine(1e-3, 1e-5, 0.01, 500, 10000, step);
 *
 * Steps are counted from 0: the first step of a training has number 0, so a training that goes on after n steps calls
 * with n. A number below 0 counts as 0. Numbers of steps below 0 (`warmup`, `total`) count as 0 too. All is computed in
 * f64.
 */
#ifndef LIBFUSE_SCHEDULE_H
#define LIBFUSE_SCHEDULE_H

#include <libfuse/base.h>

LFUSE_BEGIN_DECLS

/** `base`, whatever the step: so that a schedule can be chosen among functions. */
LFUSE_API double lfuse_schedule_constant(double base, int64_t step);

/**
 * Linear warm-up, then constant; as torch.optim.lr_scheduler.LinearLR with start_factor = start, total_iters = warmup
 * and end_factor 1:
 *
 *     step <  warmup:  base (start + (1 - start) step / warmup)
 *     step >= warmup:  base
 *
 * `start` is the part of `base` that step 0 has. With a start of 0, step 0 changes nothing; to get
 * base (step + 1) / warmup instead, pass step + 1.
 */
LFUSE_API double lfuse_schedule_linear(double base, double start, int64_t warmup, int64_t step);

/**
 * Cosine annealing behind a linear warm-up (Loshchilov and Hutter, arXiv:1608.03983, without restarts; without warm-up
 * as torch.optim.lr_scheduler.CosineAnnealingLR with eta_min = minimum and T_max = total, which oscillates behind the
 * end, where this stays at the minimum):
 *
 *     step <  warmup:          base (start + (1 - start) step / warmup)
 *     warmup <= step < total:  minimum + (base - minimum) (1 + cos(pi (step - warmup) / (total - warmup))) / 2
 *     else:                    minimum
 *
 * Step `warmup` has exactly `base`, step `total` and all behind it exactly `minimum`. `total` counts the steps of the
 * warm-up too. If it is not above `warmup`, the minimum follows the warm-up at once.
 */
LFUSE_API double lfuse_schedule_cosine(double base, double minimum, double start, int64_t warmup, int64_t total,
                                       int64_t step);

/**
 * Step decay: base factor^floor(step / period), as torch.optim.lr_scheduler.StepLR with gamma = factor and step_size =
 * period. A `period` below 1 has no meaning: the result is NaN.
 */
LFUSE_API double lfuse_schedule_step(double base, double factor, int64_t period, int64_t step);

LFUSE_END_DECLS
#endif
