/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL backend: 1.2 is enough, shared virtual memory is used where it is there. */
#ifndef BACKENDS_OPENCL_BACKEND_H
#define BACKENDS_OPENCL_BACKEND_H

#include "common/device/backend.h"

extern const lfuse__backend lfuse__backend_opencl;

#endif
