/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local memory on NVIDIA's Hopper. CL_DEVICE_LOCAL_MEM_SIZE says 48 KiB, and a kernel's argument of local memory has no
 * more (CL_OUT_OF_RESOURCES at the launch). Yet the assembler allows the arrays that a kernel declares 227 KiB, the
 * driver's own 1 KiB included, and a launch gives them (driver 580). The documentation does not say so: a trial does.
 */
#include "backends/opencl/internal.h"

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

/* Runs the kernel once, and waits for it. */
static cl_int run(const lfuse__cl_probe *p, cl_uint *found)
{
    cl_int code = lfuse__cl.EnqueueWriteBuffer(p->queue, p->cell, CL_TRUE, 0, sizeof *found, found, 0, NULL, NULL);

    if (code == CL_SUCCESS) code = lfuse__cl.SetKernelArg(p->kernel, 0, sizeof p->cell, &p->cell);
    if (code == CL_SUCCESS) code = lfuse__cl_probe_run(p, p->kernel, ITEMS);
    return code == CL_SUCCESS ? lfuse__cl_probe_read(p, 0, sizeof *found, found) : code;
}

static lfuse_status attempt(lfuse__bdevice *dev, void *of)
{
    const char *const name = dev->device.facts.info.name;
    cl_uint found = 0;
    cl_int code;

    LFUSE__TRY(lfuse__cl_probe_make(dev, source, false, "lfuse_local", sizeof found, of));
    code = run(of, &found);
    if (code != CL_SUCCESS) return lfuse__cl_error(code, "%s: running a kernel with %d bytes", name, LARGE);
    if (found == LARGE / sizeof found) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: of %d bytes a kernel found %u words right", name, LARGE,
                        (unsigned)found);
}

lfuse_status lfuse__cl_probe_local_memory(lfuse__bdevice *dev)
{
    lfuse__cl_probe probe = { NULL, NULL, NULL, NULL };
    lfuse_status status;
    bool works;

    if (!dev->device.facts.wgmma) return LFUSE_OK;
    status = lfuse__cl_try(dev, attempt, &probe, "groups have no more local memory than the driver says", &works);
    lfuse__cl_probe_destroy(&probe);
    if (works) dev->device.facts.dynamic_local_bytes = LARGE;
    return status;
}
