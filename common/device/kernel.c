/* SPDX-License-Identifier: Apache-2.0 */
#include "common/device/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"

struct lfuse__kernel {
    lfuse__program *program;
    lfuse_device *dev;
    lfuse__bkernel *bkernel;
    uint64_t serial;
    char what[80]; /* for messages */
};

lfuse_status lfuse__kernel_create(lfuse__program *program, const char *name, lfuse__kernel **kernel)
{
    lfuse_device *dev = program->dev;
    lfuse__kernel *k;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_usable(dev));
    k = calloc(1, sizeof *k);
    if (!k) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *k);
    status = lfuse__device_note(dev, dev->backend->kernel_create(program->bprogram, name, &k->bkernel));
    if (status) {
        free(k);
        return status;
    }
    snprintf(k->what, sizeof k->what, "kernel %s", name);
    lfuse__program_retain(program);
    k->program = program;
    k->serial = lfuse__serial();
    k->dev = dev;
    *kernel = k;
    return LFUSE_OK;
}

void lfuse__kernel_destroy(lfuse__kernel *kernel)
{
    if (!kernel || lfuse__forked()) return;
    kernel->dev->backend->kernel_destroy(kernel->bkernel);
    lfuse__program_release(kernel->program);
    free(kernel);
}

static lfuse_status too_much(const lfuse__kernel *kernel, const lfuse__launch_args *launch, uint64_t bytes)
{
    const lfuse_device_info *info = &kernel->dev->facts.info;

    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: a work-group of %u with %llu bytes of arguments and %u of dynamic "
                        "local memory; %s takes 1 to %u with %u and %llu", kernel->what, launch->group,
                        (unsigned long long)bytes, launch->local_bytes, info->name, info->max_group,
                        info->max_argument_bytes, (unsigned long long)kernel->dev->facts.dynamic_local_bytes);
}

lfuse_status lfuse__launch(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__launch_args *launch)
{
    const lfuse_device_info *info = &kernel->dev->facts.info;
    uint64_t bytes = 8 * ((uint64_t)launch->nbuffers + launch->nwords);

    LFUSE__TRY(lfuse__stream_same_device(s, kernel->dev, kernel->what));
    if (__builtin_expect(!launch->group || launch->group > info->max_group || bytes > info->max_argument_bytes ||
                         launch->local_bytes > kernel->dev->facts.dynamic_local_bytes, 0))
        return too_much(kernel, launch, bytes);
    if (__builtin_expect(launch->resident && launch->groups > kernel->dev->facts.resident_groups, 0))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: %llu groups that run at the same time; %s has room for %u",
                            kernel->what, (unsigned long long)launch->groups, info->name,
                            kernel->dev->facts.resident_groups);
    if (!launch->groups) return lfuse__stream_usable(s);
    if (__builtin_expect(s->noting.nodes != NULL, 0)) {
        LFUSE__TRY(lfuse__note_launch(s, kernel->serial, kernel->bkernel, launch));
        if (s->noting.follows) return LFUSE_OK;
    }
    LFUSE__TRY(lfuse__stream_enter(s));
    return lfuse__stream_leave_launch(s, kernel->dev->backend->launch(s->bstream, kernel->bkernel, launch), 1,
                                      kernel->what);
}

lfuse_status lfuse__build_by_launch(lfuse_stream *s, lfuse__kernel *kernel, const lfuse__launch_args *nothing)
{
    const uint64_t start = lfuse__nanoseconds();
    lfuse_status status = lfuse__launch(s, kernel, nothing);

    if (!status) status = lfuse__stream_sync(s);
    atomic_fetch_add(&kernel->dev->build_ns, lfuse__nanoseconds() - start);
    return status;
}
