/* SPDX-License-Identifier: Apache-2.0 */
/* The backends of this build in order of preference: the only conditional compilation in the library. */
#include "common/device/backend.h"

#ifdef HAVE_CUDA
#include "backends/cuda/backend.h"
#endif
#ifdef HAVE_OPENCL
#include "backends/opencl/backend.h"
#endif

const lfuse__backend *const lfuse__backends[] = {
#ifdef HAVE_CUDA
    &lfuse__backend_cuda,
#endif
#ifdef HAVE_OPENCL
    &lfuse__backend_opencl,
#endif
    NULL,
};
