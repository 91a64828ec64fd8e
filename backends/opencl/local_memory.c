/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local memory on NVIDIA's Hopper. CL_DEVICE_LOCAL_MEM_SIZE says 48 KiB, and a kernel's argument of local memory has no
 * more (CL_OUT_OF_RESOURCES at the launch). Yet the assembler allows the arrays that a kernel declares 227 KiB, the
 * driver's own 1 KiB included, and a launch gives them (driver 580). The documentation does not say so: a trial does.
 */
#include "backends/opencl/internal.h"
#include "common/base/log.h"

enum { LARGE = 226 * 1024 /* bytes */, ITEMS = 128 };

/* Counts in *found the words of the array that a work-item other than the one that stored them finds right. */
static const char *const source =
    "__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void lfuse_local(__global uint *found)\n"
    "{\n"
    "    __local uint words[226 * 256];\n"
    "    uint right = 0;\n"
    "    for (uint i = get_local_id(0); i < 226 * 256; i += 128) words[i] = i * 2654435761u;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (uint i = 127 - get_local_id(0); i < 226 * 256; i += 128) right += words[i] == i * 2654435761u;\n"
    "    atomic_add(found, right);\n"
    "}\n";

_Static_assert(LARGE == 226 * 256 * 4 && ITEMS == 128, "numbers in the text");

static const char *name_of(const lfuse__bdevice *dev)
{
    return dev->device.facts.info.name;
}

/* Runs the kernel once, and waits for it. */
static cl_int run(lfuse__bdevice *dev, cl_kernel kernel, cl_uint *found)
{
    const size_t items = ITEMS;
    cl_int code;
    cl_mem cell;
    cl_command_queue queue = lfuse__cl.CreateCommandQueue(dev->context, dev->device.id, 0, &code);

    if (queue == NULL) return code;
    cell = lfuse__cl.CreateBuffer(dev->context, CL_MEM_READ_WRITE, sizeof *found, NULL, &code);
    if (cell == NULL) goto release_queue;
    code = lfuse__cl.EnqueueWriteBuffer(queue, cell, CL_TRUE, 0, sizeof *found, found, 0, NULL, NULL);
    if (code == CL_SUCCESS) code = lfuse__cl.SetKernelArg(kernel, 0, sizeof cell, &cell);
    if (code == CL_SUCCESS)
        code = lfuse__cl.EnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = lfuse__cl.EnqueueReadBuffer(queue, cell, CL_TRUE, 0, sizeof *found, found, 0, NULL, NULL);
    lfuse__cl.ReleaseMemObject(cell);
release_queue:
    lfuse__cl.ReleaseCommandQueue(queue);
    return code;
}

static lfuse_status attempt(lfuse__bdevice *dev)
{
    cl_uint found = 0;
    cl_kernel kernel;
    cl_int code;
    lfuse_status status;
    cl_program program = lfuse__cl.CreateProgramWithSource(dev->context, 1, (const char **)&source, NULL, &code);

    if (program == NULL) return lfuse__cl_error(code, "%s: clCreateProgramWithSource", name_of(dev));
    code = lfuse__cl.BuildProgram(program, 1, &dev->device.id, dev->device.options, NULL, NULL);
    if (code != CL_SUCCESS) {
        status = lfuse__cl_error(code, "%s: building a kernel with %d bytes", name_of(dev), LARGE);
        goto release_program;
    }
    kernel = lfuse__cl.CreateKernel(program, "lfuse_local", &code);
    if (kernel == NULL) {
        status = lfuse__cl_error(code, "%s: clCreateKernel", name_of(dev));
        goto release_program;
    }
    code = run(dev, kernel, &found);
    if (code != CL_SUCCESS)
        status = lfuse__cl_error(code, "%s: running a kernel with %d bytes", name_of(dev), LARGE);
    else if (found != LARGE / sizeof found)
        status = lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: of %d bytes a kernel found %u words right", name_of(dev),
                              LARGE, (unsigned)found);
    else
        status = LFUSE_OK;
    lfuse__cl.ReleaseKernel(kernel);
release_program:
    lfuse__cl.ReleaseProgram(program);
    return status;
}

lfuse_status lfuse__cl_probe_local_memory(lfuse__bdevice *dev)
{
    lfuse__saved_error saved;
    lfuse_status status;

    if (!dev->device.facts.wgmma) return LFUSE_OK;
    lfuse__error_save(&saved);
    status = attempt(dev);
    if (status == LFUSE_OK) dev->device.facts.dynamic_local_bytes = LARGE;
    else lfuse__log(LFUSE_LOG_INFO, "groups have %llu bytes of local memory, no more: %s",
                    (unsigned long long)dev->device.facts.info.local_bytes, lfuse__error_message());
    if (status == LFUSE_ERR_MEMORY) return status;
    lfuse__error_restore(&saved);
    return LFUSE_OK;
}
