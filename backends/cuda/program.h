/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling without a device: NVRTC needs neither a GPU nor a driver. */
#ifndef BACKENDS_CUDA_PROGRAM_H
#define BACKENDS_CUDA_PROGRAM_H

#include "common/base/strbuf.h"
#include "libfuse/status.h"

/*
 * Compiles CUDA C++ with the backend's options for `arch`: "sm_90" appends a cubin to `binary`, "compute_90" appends
 * PTX with its NUL. ERR_COMPILE: `log` holds the compiler's words. ERR_LIBRARY: there is no NVRTC. Any thread.
 */
lfuse_status lfuse__cuda_compile(const char *source, const char *arch, lfuse__strbuf *log, lfuse__strbuf *binary);

#endif
