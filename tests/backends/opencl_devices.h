/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL devices of this machine, past the library. */
#ifndef TESTS_BACKENDS_OPENCL_DEVICES_H
#define TESTS_BACKENDS_OPENCL_DEVICES_H

#include "backends/opencl/internal.h"

enum { MOST_DEVICES = 8 };

static cl_device_id ids[MOST_DEVICES];
static int devices;

static inline void find_devices(void)
{
    cl_platform_id platforms[MOST_DEVICES];
    cl_uint nplatforms = 0;
    if (lfuse__cl_load() || lfuse__cl.GetPlatformIDs(MOST_DEVICES, platforms, &nplatforms)) return;
    for (cl_uint p = 0; p < nplatforms && p < MOST_DEVICES; p++) {
        cl_uint n = 0;
        if (lfuse__cl.GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, (cl_uint)(MOST_DEVICES - devices), ids + devices,
                                   &n) == CL_SUCCESS)
            devices += (int)n;
        if (devices >= MOST_DEVICES) break;
    }
}

#endif
