/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/optimizer.h"

#include "common/api/need.h"
#include "common/optim/optimizer.h"

lfuse_status lfuse_optimizer_create(lfuse_device *device, const lfuse_optimizer_options *options, int count,
                                    const lfuse_group *groups, lfuse_optimizer **optimizer)
{
    NEED(device);
    NEED(options);
    NEED(optimizer);
    if (count > 0) NEED(groups);
    return lfuse__optimizer_create(device, options, count, groups, optimizer);
}

void lfuse_optimizer_destroy(lfuse_optimizer *optimizer)
{
    lfuse__optimizer_destroy(optimizer);
}

lfuse_status lfuse_optimizer_step(lfuse_optimizer *optimizer, lfuse_stream *stream, int count,
                                  lfuse_list *const *gradients, const lfuse_step_inputs *inputs)
{
    NEED(optimizer);
    NEED(stream);
    if (count > 0) NEED(gradients);
    return lfuse__optimizer_step(optimizer, stream, count, gradients, inputs);
}

lfuse_status lfuse_optimizer_set_hyper(lfuse_optimizer *optimizer, int group, const lfuse_hyper *hyper)
{
    NEED(optimizer);
    NEED(hyper);
    return lfuse__optimizer_set_hyper(optimizer, group, hyper);
}

lfuse_status lfuse_optimizer_get_hyper(const lfuse_optimizer *optimizer, int group, lfuse_hyper *hyper)
{
    NEED(optimizer);
    NEED(hyper);
    LFUSE__TRY(lfuse__optimizer_check_group(optimizer, group));
    *hyper = optimizer->groups[group].hyper;
    return LFUSE_OK;
}

lfuse_status lfuse_optimizer_set_lr(lfuse_optimizer *optimizer, int group, double lr)
{
    NEED(optimizer);
    return lfuse__optimizer_set_lr(optimizer, group, lr);
}

lfuse_status lfuse_optimizer_get_steps(const lfuse_optimizer *optimizer, int64_t *steps)
{
    NEED(optimizer);
    NEED(steps);
    return lfuse__optimizer_get_steps(optimizer, steps);
}

lfuse_status lfuse_optimizer_set_steps(lfuse_optimizer *optimizer, int64_t steps)
{
    NEED(optimizer);
    return lfuse__optimizer_set_steps(optimizer, steps);
}

int lfuse_optimizer_state_count(const lfuse_optimizer *optimizer)
{
    return optimizer ? optimizer->states.count : 0;
}

const char *lfuse_optimizer_state_name(const lfuse_optimizer *optimizer, int state)
{
    return optimizer && state >= 0 && state < optimizer->states.count ? optimizer->states.state[state].name : NULL;
}

lfuse_status lfuse_optimizer_state(lfuse_optimizer *optimizer, int state, int group, int64_t member,
                                   lfuse_tensor **tensor)
{
    NEED(optimizer);
    NEED(tensor);
    return lfuse__optimizer_state(optimizer, state, group, member, tensor);
}

const char *lfuse_optimizer_text(const lfuse_optimizer *optimizer)
{
    return optimizer ? optimizer->text : "";
}
