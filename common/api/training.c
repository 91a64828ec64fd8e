/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/training.h"

#include "common/api/need.h"
#include "common/optim/train.h"

lfuse_status lfuse_training_create(lfuse_device *device, const lfuse_graph *graph, lfuse_value loss,
                                   int parameter_count, const lfuse_training_parameter *parameters, int group_count,
                                   const lfuse_training_group *groups, const lfuse_training_options *options,
                                   lfuse_training **training)
{
    NEED(device);
    NEED(graph);
    NEED(options);
    NEED(training);
    if (parameter_count > 0) NEED(parameters);
    return lfuse__train_create(device, graph, loss, parameter_count, parameters, group_count, groups, options,
                               training);
}

void lfuse_training_destroy(lfuse_training *training)
{
    lfuse__train_destroy(training);
}

lfuse_status lfuse_training_step(lfuse_training *training, lfuse_stream *stream, const lfuse_binding *bindings,
                                 int count)
{
    NEED(training);
    NEED(stream);
    if (count > 0) NEED(bindings);
    return lfuse__train_step(training, stream, bindings, count);
}

lfuse_tensor *lfuse_training_loss(const lfuse_training *training)
{
    return training ? training->loss : NULL;
}

lfuse_status lfuse_training_check(lfuse_training *training, lfuse_stream *stream)
{
    NEED(training);
    NEED(stream);
    return lfuse__train_check(training, stream);
}

lfuse_status lfuse_training_set_hyper(lfuse_training *training, int group, const lfuse_hyper *hyper)
{
    NEED(training);
    NEED(hyper);
    return lfuse__train_set_hyper(training, group, hyper);
}

lfuse_status lfuse_training_get_hyper(const lfuse_training *training, int group, lfuse_hyper *hyper)
{
    NEED(training);
    NEED(hyper);
    LFUSE__TRY(lfuse__train_check_group(training, group));
    *hyper = training->groups[group].hyper;
    return LFUSE_OK;
}

lfuse_status lfuse_training_set_lr(lfuse_training *training, int group, double lr)
{
    NEED(training);
    return lfuse__train_set_lr(training, group, lr);
}

lfuse_status lfuse_training_get_steps(const lfuse_training *training, int64_t *steps)
{
    NEED(training);
    NEED(steps);
    return lfuse__tensor_read(training->steps, NULL, steps);
}

int lfuse_training_tensor_count(const lfuse_training *training)
{
    return training ? training->nentries : 0;
}

const char *lfuse_training_tensor_name(const lfuse_training *training, int index)
{
    return training && index >= 0 && index < training->nentries ? training->entries[index].name : NULL;
}

lfuse_tensor *lfuse_training_tensor(const lfuse_training *training, int index)
{
    return training && index >= 0 && index < training->nentries ? training->entries[index].tensor : NULL;
}

lfuse_status lfuse_training_save(lfuse_training *training, lfuse_stream *stream, const char *path)
{
    NEED(training);
    NEED(stream);
    NEED(path);
    return lfuse__train_save(training, stream, path);
}

lfuse_status lfuse_training_load(lfuse_training *training, lfuse_stream *stream, const char *path)
{
    NEED(training);
    NEED(stream);
    NEED(path);
    return lfuse__train_load(training, stream, path);
}

lfuse_status lfuse_training_resume(lfuse_training *training)
{
    NEED(training);
    return lfuse__train_resume(training);
}

lfuse_status lfuse_training_reset(lfuse_training *training)
{
    NEED(training);
    return lfuse__train_reset(training);
}

const char *lfuse_training_text(const lfuse_training *training)
{
    return training ? training->text : "";
}
