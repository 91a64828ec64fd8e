/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend: driver API 12.0 or newer, NVRTC for kernels, cuBLASLt for products. */
#ifndef BACKENDS_CUDA_BACKEND_H
#define BACKENDS_CUDA_BACKEND_H

#include "common/device/backend.h"

extern const lfuse__backend lfuse__backend_cuda;

#endif
