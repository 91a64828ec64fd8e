/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and launches. A launch sets the arguments that changed since the kernel object's last one, and no other.
 *
 * NVIDIA's driver refuses every launch of a kernel object whose argument was shared memory once and is a buffer or NULL
 * now (CL_INVALID_KERNEL_ARGS; the other way round it takes). So a launch that would do that makes a new object.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"

_Static_assert(LFUSE__MAX_BUFFERS <= 32, "a bit for each buffer");

static const uint64_t unset = UINT64_MAX; /* no memory object has this id; 0 stands for NULL */

static void forget_arguments(lfuse__bkernel *kernel, unsigned nbuffers)
{
    for (unsigned i = 0; i < LFUSE__MAX_BUFFERS; i++) kernel->buffers[i] = unset;
    kernel->nbuffers = nbuffers;
    kernel->nwords = 0;
}

lfuse_status lfuse__cl_kernel_create(lfuse__bprogram *program, const char *name, lfuse__bkernel **kernel)
{
    lfuse__bkernel *k = calloc(1, sizeof *k);
    cl_int code;

    if (k == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "no memory for kernel %s", name);
    k->dev = program->dev;
    k->program = program->program;
    k->kernel = lfuse__cl.CreateKernel(program->program, name, &code);
    if (k->kernel == NULL) {
        free(k);
        return lfuse__cl_error(code, "%s: clCreateKernel(%s)", program->dev->device.facts.info.name, name);
    }
    snprintf(k->name, sizeof k->name, "%s", name);
    forget_arguments(k, 0);
    *kernel = k;
    return LFUSE_OK;
}

void lfuse__cl_kernel_destroy(lfuse__bkernel *kernel)
{
    lfuse__cl.ReleaseKernel(kernel->kernel);
    free(kernel);
}

static bool is_shared(const lfuse__bmem *mem)
{
    return mem != NULL && mem->storage == LFUSE__CL_SVM;
}

/* Whether an argument that was shared memory is something else in this launch. */
static bool is_taken_back(const lfuse__bkernel *kernel, const lfuse__launch_args *launch)
{
    for (unsigned i = 0; i < launch->nbuffers && kernel->shared >> i != 0; i++)
        if ((kernel->shared >> i & 1) != 0 && !is_shared(launch->buffers[i])) return true;
    return false;
}

static lfuse_status renew(lfuse__bkernel *kernel, unsigned nbuffers)
{
    cl_int code;
    cl_kernel made = lfuse__cl.CreateKernel(kernel->program, kernel->name, &code);

    if (made == NULL)
        return lfuse__cl_error(code, "%s: clCreateKernel(%s), for other arguments",
                               kernel->dev->device.facts.info.name, kernel->name);
    lfuse__cl.ReleaseKernel(kernel->kernel);
    kernel->kernel = made;
    kernel->shared = 0;
    forget_arguments(kernel, nbuffers);
    return LFUSE_OK;
}

static cl_int set_buffer(lfuse__bkernel *kernel, unsigned i, const lfuse__bmem *mem)
{
    if (mem == NULL) return lfuse__cl.SetKernelArg(kernel->kernel, i, sizeof(cl_mem), NULL);
    if (!is_shared(mem)) return lfuse__cl.SetKernelArg(kernel->kernel, i, sizeof(cl_mem), &mem->buffer);
    kernel->shared |= (uint32_t)1 << i;
    return lfuse__cl.SetKernelArgSVMPointer(kernel->kernel, i, mem->pointer);
}

static lfuse_status set_buffers(lfuse__bkernel *kernel, const lfuse__launch_args *launch)
{
    for (unsigned i = 0; i < launch->nbuffers; i++) {
        const lfuse__bmem *mem = launch->buffers[i];
        uint64_t id = mem != NULL ? mem->id : 0;
        cl_int code;

        if (kernel->buffers[i] == id) continue;
        if (mem != NULL && mem->storage == LFUSE__CL_PINNED)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s, buffer %u: pinned memory is mapped, no kernel may use it",
                                kernel->name, i);
        kernel->buffers[i] = unset;
        code = set_buffer(kernel, i, mem);
        if (code != CL_SUCCESS)
            return lfuse__cl_error(code, "%s: clSetKernelArg(%s, %u)", kernel->dev->device.facts.info.name,
                                   kernel->name, i);
        kernel->buffers[i] = id;
    }
    return LFUSE_OK;
}

static lfuse_status set_words(lfuse__bkernel *kernel, const lfuse__launch_args *launch)
{
    size_t bytes = launch->nwords * sizeof *launch->words;
    cl_int code;

    if (launch->nwords == 0) return LFUSE_OK;
    if (kernel->nwords == launch->nwords && memcmp(kernel->words, launch->words, bytes) == 0) return LFUSE_OK;
    kernel->nwords = 0;
    code = lfuse__cl.SetKernelArg(kernel->kernel, launch->nbuffers, bytes, launch->words);
    if (code != CL_SUCCESS)
        return lfuse__cl_error(code, "%s: clSetKernelArg(%s, %u), %zu bytes of words",
                               kernel->dev->device.facts.info.name, kernel->name, launch->nbuffers, bytes);
    if (launch->nwords > LFUSE__CL_WORDS) return LFUSE_OK;
    memcpy(kernel->words, launch->words, bytes);
    kernel->nwords = launch->nwords;
    return LFUSE_OK;
}

lfuse_status lfuse__cl_launch(lfuse__bstream *s, lfuse__bkernel *kernel, const lfuse__launch_args *launch)
{
    size_t local = launch->group, global;
    cl_int code;

    if (launch->groups == 0) return LFUSE_OK;
    /* Of kernels that have a tile of so many bytes (TILE_DYNAMIC in prelude.k), which is theirs without asking. */
    if (launch->local_bytes > s->dev->device.facts.dynamic_local_bytes)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: %u bytes of dynamic local memory", kernel->name,
                            launch->local_bytes);
    if (launch->resident)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: OpenCL does not say which groups run at the same time",
                            kernel->name);
    if (launch->nbuffers > LFUSE__MAX_BUFFERS)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: %u buffers, at most %d", kernel->name, launch->nbuffers,
                            LFUSE__MAX_BUFFERS);
    if (__builtin_mul_overflow(launch->groups, local, &global))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "%s: %llu groups of %zu work-items", kernel->name,
                            (unsigned long long)launch->groups, local);
    if (launch->nbuffers != kernel->nbuffers) forget_arguments(kernel, launch->nbuffers);
    if (__builtin_expect(kernel->shared != 0, 0) && is_taken_back(kernel, launch))
        LFUSE__TRY(renew(kernel, launch->nbuffers));
    LFUSE__TRY(set_buffers(kernel, launch));
    LFUSE__TRY(set_words(kernel, launch));
    LFUSE__TRY(lfuse__cl_before(s));
    code = lfuse__cl.EnqueueNDRangeKernel(s->queue, kernel->kernel, 1, NULL, &global, &local, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        return lfuse__cl_queue_error(s->dev, s->queue, code, "%s: launching %s, %llu groups of %zu",
                                     s->dev->device.facts.info.name, kernel->name, (unsigned long long)launch->groups,
                                     local);
    return lfuse__cl_after(s);
}
