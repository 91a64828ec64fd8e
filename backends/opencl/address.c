/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device addresses of buffers. OpenCL knows none, so tables name (slot, offset) and kernels choose among the blocks
 * that a launch names, which costs more than the work on a short member. Some drivers never move a buffer that a kernel
 * has used, so that an address which one kernel was given can be used by another. Whether a driver is of that kind is
 * tried when a device is opened; buffers are then asked for their address once, by a kernel.
 *
 * Tried on NVIDIA's driver, or on all where LFUSE_ADDRESSES says so, and where the context has one device alone: a
 * buffer has another address on each.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"
#include "common/base/env.h"

struct lfuse__cl_addresser {
    pthread_mutex_t lock;  /* of all below: arguments belong to a kernel object */
    lfuse__cl_probe probe; /* lfuse_take, whose cell has [2] the address, and what was found there */
};

static const char *source =
    "__kernel void lfuse_take(__global uchar *buffer, __global ulong *cell)\n"
    "{\n"
    "    cell[0] = (ulong)buffer;\n"
    "}\n"
    "__kernel void lfuse_reach(__global ulong *cell)\n"
    "{\n"
    "    cell[1] = *(__global const ulong *)cell[0];\n"
    "}\n";

static const char *name_of(const lfuse__bdevice *dev)
{
    return dev->device.facts.info.name;
}

static void destroy(lfuse__cl_addresser *a)
{
    lfuse__cl_probe_destroy(&a->probe);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* With the lock held, or before anybody else knows of it. */
static cl_int take(const lfuse__cl_probe *p, cl_mem buffer, uint64_t *address)
{
    cl_ulong found;
    cl_int code = lfuse__cl.SetKernelArg(p->kernel, 0, sizeof buffer, &buffer);

    if (code == CL_SUCCESS) code = lfuse__cl.SetKernelArg(p->kernel, 1, sizeof p->cell, &p->cell);
    if (code == CL_SUCCESS) code = lfuse__cl_probe_run(p, p->kernel, 1);
    if (code == CL_SUCCESS) code = lfuse__cl_probe_read(p, 0, sizeof found, &found);
    if (code == CL_SUCCESS) *address = found;
    return code;
}

/* What is found at the address that the cell holds. */
static cl_int reach(const lfuse__cl_probe *p, cl_ulong *found)
{
    cl_int code;
    cl_kernel kernel = lfuse__cl.CreateKernel(p->program, "lfuse_reach", &code);

    if (kernel == NULL) return code;
    code = lfuse__cl.SetKernelArg(kernel, 0, sizeof p->cell, &p->cell);
    if (code == CL_SUCCESS) code = lfuse__cl_probe_run(p, kernel, 1);
    if (code == CL_SUCCESS) code = lfuse__cl_probe_read(p, sizeof *found, sizeof *found, found);
    lfuse__cl.ReleaseKernel(kernel);
    return code;
}

/* Whether a kernel that was not given the buffer sees what is in it, twice, as it stays where it is. */
static lfuse_status attempt(lfuse__bdevice *dev, void *of)
{
    lfuse__cl_probe *const p = of;
    static const cl_ulong words[2] = { 0x5a17c3e9d206b48f, 0x0123456789abcdef };
    cl_ulong found[2] = { 0 };
    uint64_t address[2] = { 0 };
    cl_mem buffer;
    cl_int code;

    LFUSE__TRY(lfuse__cl_probe_make(dev, source, false, "lfuse_take", 2 * sizeof(cl_ulong), p));
    buffer = lfuse__cl.CreateBuffer(dev->context, CL_MEM_READ_WRITE, 4096, NULL, &code);
    if (buffer == NULL) return lfuse__cl_error(code, "%s: clCreateBuffer", name_of(dev));
    for (int i = 0; i < 2 && code == CL_SUCCESS; i++) {
        code = lfuse__cl.EnqueueWriteBuffer(p->queue, buffer, CL_TRUE, 0, sizeof *words, &words[i], 0, NULL, NULL);
        if (code == CL_SUCCESS) code = take(p, buffer, &address[i]);
        if (code == CL_SUCCESS) code = reach(p, &found[i]);
    }
    if (code != CL_SUCCESS) lfuse__cl.Finish(p->queue); /* the driver does not know that a kernel reads the buffer */
    lfuse__cl.ReleaseMemObject(buffer);
    if (code != CL_SUCCESS) return lfuse__cl_error(code, "%s: reaching a buffer by its address", name_of(dev));
    if (memcmp(found, words, sizeof words) == 0 && address[0] == address[1]) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: a buffer is not reached by its address", name_of(dev));
}

static bool wanted(const lfuse__bdevice *dev)
{
    const lfuse__env *env = lfuse__env_get();
    cl_uint devices = 0;

    if (env->addresses == LFUSE__ADDRESSES_NEVER) return false;
    if (!dev->device.nvidia && env->addresses != LFUSE__ADDRESSES_ALL) return false;
    return lfuse__cl.GetContextInfo(dev->context, CL_CONTEXT_NUM_DEVICES, sizeof devices, &devices, NULL) ==
               CL_SUCCESS && devices == 1;
}

lfuse_status lfuse__cl_probe_addresses(lfuse__bdevice *dev)
{
    lfuse__cl_addresser *a;
    lfuse_status status;

    if (!wanted(dev)) return LFUSE_OK;
    a = calloc(1, sizeof *a);
    if (a == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
    status = lfuse__cl_try(dev, attempt, &a->probe, "lists by (slot, offset)", &dev->device.facts.addresses);
    if (dev->device.facts.addresses) dev->addresser = a;
    else destroy(a);
    return status;
}

void lfuse__cl_addresser_destroy(lfuse__cl_addresser *a)
{
    if (a != NULL) destroy(a);
}

lfuse_status lfuse__cl_find_address(lfuse__bmem *m)
{
    lfuse__cl_addresser *a = m->dev->addresser;
    cl_int code;

    if (a == NULL) return LFUSE_OK;
    pthread_mutex_lock(&a->lock);
    code = take(&a->probe, m->buffer, &m->address);
    pthread_mutex_unlock(&a->lock);
    if (code == CL_SUCCESS) return LFUSE_OK;
    return lfuse__cl_queue_error(m->dev, a->probe.queue, code, "%s: asking a buffer of %llu bytes for its address",
                                 name_of(m->dev), (unsigned long long)m->bytes);
}
