/* SPDX-License-Identifier: Apache-2.0 */
/* Which alternative of a stage: by wisdom, by measurement; of common/run/ alone. */
#ifndef COMMON_RUN_TRIAL_H
#define COMMON_RUN_TRIAL_H

#include "common/base/error.h"
#include "common/run/instance.h"

/*
 * Puts the alternative first that wisdom names, or, with effort measure, that is the fastest, which becomes wisdom;
 * then *known. Stages with products are tried, where there is more than one way: `order` are those whose guards hold,
 * as the estimate ranks them. A trial that fails is logged, and the order stays.
 */
lfuse_status lfuse__trial(lfuse_instance *in, const lfuse__alternative **order, int count, bool *known);

/*
 * trial_name.c: what is done, in which sizes and strides, whatever it is called: "stage:4x8x16:f32:" and a hash. "" of
 * products of nothing.
 */
enum { LFUSE__TRIAL_NAME = 160 };
lfuse_status lfuse__trial_name(const lfuse_instance *in, const lfuse__alternative *const *order, int count,
                               char name[LFUSE__TRIAL_NAME]);

#endif
