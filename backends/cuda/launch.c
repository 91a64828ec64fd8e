/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and their launch: the shortest path through this backend. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/internal.h"

/*
 * Lets launches ask for all dynamic local memory that a group can have beside the kernel's static one. Asking for an
 * attribute loads the kernel now; a first launch that did so could fail while the caller captures.
 */
static lfuse_status load(const lfuse__bkernel *k)
{
    const int most = (int)k->dev->device.facts.dynamic_local_bytes + LFUSE__CU_TILE_ALIGNMENT;
    int bytes;
    CUresult result = lfuse__cu.FuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k->function);

    if (result != CUDA_SUCCESS) return lfuse__cu_error(k->dev, result, "cuFuncGetAttribute of kernel %s", k->name);
    if (bytes >= most) return LFUSE_OK;
    result = lfuse__cu.FuncSetAttribute(k->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - bytes);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(k->dev, result, "cuFuncSetAttribute of kernel %s", k->name);
    return LFUSE_OK;
}

static lfuse_status find(lfuse__bprogram *program, const char *name, lfuse__bkernel *k)
{
    CUresult result = lfuse__cu.ModuleGetFunction(&k->function, program->module, name);

    if (result != CUDA_SUCCESS) return lfuse__cu_error(k->dev, result, "cuModuleGetFunction of kernel %.64s", name);
    return load(k);
}

lfuse_status lfuse__cu_kernel_create(lfuse__bprogram *program, const char *name, lfuse__bkernel **kernel)
{
    lfuse__bkernel *made = calloc(1, sizeof *made);
    CUstreamCaptureMode mode;
    lfuse_status status;
    bool pushed;

    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    made->dev = program->dev;
    snprintf(made->name, sizeof made->name, "%s", name);
    status = lfuse__cu_enter(program->dev, &pushed);
    if (status) goto err_free;
    mode = lfuse__cu_relax();
    status = find(program, name, made);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (status) goto err_free;
    *kernel = made;
    return LFUSE_OK;

err_free:
    free(made);
    return status;
}

/* The function belongs to the module. */
void lfuse__cu_kernel_destroy(lfuse__bkernel *kernel)
{
    free(kernel);
}

/*
 * A grid may be brought up while the kernel before it in the stream ends: our kernels wait for that one before they
 * touch memory (BEGIN in prelude.k). Others' kernels, copies and events between ours keep their full order: the driver
 * overlaps a launch with a kernel alone, with one that allows it early and with any other at its end, and only launches
 * that have this attribute.
 */
static CUlaunchAttribute overlap = {
    .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    .value.programmaticStreamSerializationAllowed = 1,
};

/* The driver launches all groups at the same time, or refuses; others' launches cannot come between them. */
static CUlaunchAttribute resident = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 };

unsigned lfuse__cu_dynamic_bytes(const lfuse__launch_args *launch)
{
    return launch->local_bytes ? launch->local_bytes + LFUSE__CU_TILE_ALIGNMENT : 0;
}

static CUresult submit(lfuse__bstream *s, CUfunction function, const lfuse__launch_args *launch, void **parameters)
{
    if (!s->dev->device.overlap && !launch->resident)
        return lfuse__cu.LaunchKernel(function, (unsigned)launch->groups, 1, 1, launch->group, 1, 1,
                                      lfuse__cu_dynamic_bytes(launch), s->stream, parameters, NULL);
    const CUlaunchConfig config = {
        .gridDimX = (unsigned)launch->groups, .gridDimY = 1, .gridDimZ = 1,
        .blockDimX = launch->group, .blockDimY = 1, .blockDimZ = 1,
        .sharedMemBytes = lfuse__cu_dynamic_bytes(launch), .hStream = s->stream,
        .attrs = launch->resident ? &resident : &overlap, .numAttrs = 1,
    };
    return lfuse__cu.LaunchKernelEx(&config, function, parameters, NULL);
}

lfuse_status lfuse__cu_parameters(const lfuse__bkernel *kernel, const lfuse__launch_args *launch,
                                  CUdeviceptr addresses[LFUSE__MAX_BUFFERS], void *parameters[LFUSE__MAX_BUFFERS + 1])
{
    unsigned n = launch->nbuffers;

    if (__builtin_expect(launch->groups > INT_MAX || n > LFUSE__MAX_BUFFERS, 0))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "kernel %s: %llu groups of at most %d, %u buffers of at most %d",
                            kernel->name, (unsigned long long)launch->groups, INT_MAX, n, LFUSE__MAX_BUFFERS);
    for (unsigned i = 0; i < n; i++) {
        addresses[i] = launch->buffers[i] ? launch->buffers[i]->address : 0;
        parameters[i] = &addresses[i];
    }
    if (launch->nwords) parameters[n] = (void *)(uintptr_t)launch->words;
    return LFUSE_OK;
}

/* The driver copies the parameters before it returns. */
lfuse_status lfuse__cu_launch(lfuse__bstream *s, lfuse__bkernel *kernel, const lfuse__launch_args *launch)
{
    CUdeviceptr addresses[LFUSE__MAX_BUFFERS];
    void *parameters[LFUSE__MAX_BUFFERS + 1];
    CUresult result;
    bool pushed;

    if (launch->groups == 0) return LFUSE_OK;
    if (launch->resident && launch->groups > s->dev->device.facts.resident_groups)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "kernel %s: %llu groups that run at the same time, of at most %u",
                            kernel->name, (unsigned long long)launch->groups,
                            s->dev->device.facts.resident_groups);
    LFUSE__TRY(lfuse__cu_parameters(kernel, launch, addresses, parameters));
    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = submit(s, kernel->function, launch, parameters);
    lfuse__cu_leave(pushed);
    if (__builtin_expect(result != CUDA_SUCCESS, 0))
        return lfuse__cu_error(s->dev, result, "cuLaunchKernel of %s, %llu groups of %u", kernel->name,
                               (unsigned long long)launch->groups, launch->group);
    return __builtin_expect(s->making != NULL, 0) ? lfuse__cu_graph_note(s) : LFUSE_OK;
}
