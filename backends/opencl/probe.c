/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are run when a device is opened, to find out what its driver does not say. */
#include <string.h>

#include "backends/opencl/internal.h"
#include "common/base/log.h"

static lfuse_status make_program(lfuse__bdevice *dev, const char *text, bool ptx, cl_program *program)
{
    const unsigned char *binary = (const unsigned char *)text;
    const size_t bytes = strlen(text);
    const char *const name = dev->device.facts.info.name;
    cl_int code;

    *program = ptx ? lfuse__cl.CreateProgramWithBinary(dev->context, 1, &dev->device.id, &bytes, &binary, NULL, &code)
                   : lfuse__cl.CreateProgramWithSource(dev->context, 1, &text, NULL, &code);
    if (*program == NULL)
        return lfuse__cl_error(code, "%s: clCreateProgramWith%s", name, ptx ? "Binary" : "Source");
    code = lfuse__cl.BuildProgram(*program, 1, &dev->device.id, dev->device.options, NULL, NULL);
    return code == CL_SUCCESS ? LFUSE_OK : lfuse__cl_error(code, "%s: clBuildProgram", name);
}

lfuse_status lfuse__cl_probe_make(lfuse__bdevice *dev, const char *text, bool ptx, const char *kernel, size_t bytes,
                                  lfuse__cl_probe *p)
{
    const char *const name = dev->device.facts.info.name;
    cl_int code;

    p->queue = lfuse__cl.CreateCommandQueue(dev->context, dev->device.id, 0, &code);
    if (p->queue == NULL) return lfuse__cl_error(code, "%s: clCreateCommandQueue", name);
    p->cell = lfuse__cl.CreateBuffer(dev->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (p->cell == NULL) return lfuse__cl_error(code, "%s: clCreateBuffer", name);
    LFUSE__TRY(make_program(dev, text, ptx, &p->program));
    p->kernel = lfuse__cl.CreateKernel(p->program, kernel, &code);
    return p->kernel != NULL ? LFUSE_OK : lfuse__cl_error(code, "%s: clCreateKernel", name);
}

void lfuse__cl_probe_destroy(lfuse__cl_probe *p)
{
    if (p->kernel != NULL) lfuse__cl.ReleaseKernel(p->kernel);
    if (p->program != NULL) lfuse__cl.ReleaseProgram(p->program);
    if (p->cell != NULL) lfuse__cl.ReleaseMemObject(p->cell);
    if (p->queue != NULL) lfuse__cl.ReleaseCommandQueue(p->queue);
}

cl_int lfuse__cl_probe_run(const lfuse__cl_probe *p, cl_kernel kernel, size_t items)
{
    return lfuse__cl.EnqueueNDRangeKernel(p->queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL);
}

cl_int lfuse__cl_probe_read(const lfuse__cl_probe *p, size_t offset, size_t bytes, void *host)
{
    return lfuse__cl.EnqueueReadBuffer(p->queue, p->cell, CL_TRUE, offset, bytes, host, 0, NULL, NULL);
}

lfuse_status lfuse__cl_try(lfuse__bdevice *dev, lfuse_status (*attempt)(lfuse__bdevice *dev, void *of), void *of,
                           const char *without, bool *works)
{
    lfuse__saved_error saved;
    lfuse_status status;

    lfuse__error_save(&saved);
    status = attempt(dev, of);
    *works = status == LFUSE_OK;
    if (!*works) lfuse__log(LFUSE_LOG_INFO, "%s: %s", without, lfuse__error_message());
    if (status == LFUSE_ERR_MEMORY) return status;
    lfuse__error_restore(&saved);
    return LFUSE_OK;
}
