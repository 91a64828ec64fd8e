/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/plan.h"

#include "common/api/need.h"
#include "common/run/run.h"

lfuse_status lfuse_plan_create(lfuse_device *device, const lfuse_graph *graph, const lfuse_plan_options *options,
                               lfuse_plan **plan)
{
    NEED(device);
    NEED(plan);
    return lfuse__plan_create(device, graph, options, plan);
}

void lfuse_plan_destroy(lfuse_plan *plan)
{
    lfuse__plan_destroy(plan);
}

const char *lfuse_plan_text(const lfuse_plan *plan)
{
    return plan ? plan->text.data : "";
}

lfuse_status lfuse_plan_print(const lfuse_plan *plan, FILE *stream)
{
    NEED(plan);
    NEED(stream);
    if (fprintf(stream, "%s\n", plan->text.data) < 0)
        return lfuse__error(LFUSE_ERR_IO, "the plan could not be printed: %m");
    return LFUSE_OK;
}

lfuse_status lfuse_plan_run(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count)
{
    NEED(plan);
    NEED(stream);
    return lfuse__plan_run(plan, stream, bindings, count);
}

uint64_t lfuse_plan_scratch(lfuse_plan *plan, lfuse_stream *stream)
{
    return plan && stream ? lfuse_instance_scratch(lfuse__plan_instance(plan, stream)) : 0;
}

lfuse_status lfuse_stream_set_scratch(lfuse_stream *stream, const lfuse_tensor *memory)
{
    NEED(stream);
    return lfuse__scratch_set(stream, memory);
}

lfuse_status lfuse_instance_create(lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count,
                                   lfuse_instance **instance)
{
    NEED(plan);
    NEED(stream);
    NEED(instance);
    return lfuse__instance_make(plan, stream, bindings, count, false, instance);
}

lfuse_status lfuse_instance_run(lfuse_instance *instance, const lfuse_binding *bindings, int count)
{
    NEED(instance);
    return lfuse__instance_run(instance, bindings, count);
}

lfuse_status lfuse_instance_refresh(lfuse_instance *instance)
{
    NEED(instance);
    return lfuse__instance_refresh(instance);
}

uint64_t lfuse_instance_scratch(const lfuse_instance *instance)
{
    return instance ? lfuse__instance_scratch_bytes(instance) : 0;
}

uint64_t lfuse_instance_prepared(const lfuse_instance *instance)
{
    return instance ? lfuse__instance_prepared_bytes(instance) : 0;
}

void lfuse_instance_destroy(lfuse_instance *instance)
{
    lfuse__instance_release(instance);
}
