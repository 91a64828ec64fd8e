/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of sm_90a in programs that NVIDIA's OpenCL compiles for sm_90. */
#ifndef BACKENDS_OPENCL_PTX_H
#define BACKENDS_OPENCL_PTX_H

#include <stdbool.h>
#include <stddef.h>

#include "libfuse/status.h"
#include "common/base/strbuf.h"

/*
 * NVIDIA's OpenCL names sm_90 as the target of Hopper's PTX and has no option for sm_90a, whose instructions it refuses
 * for that target. It takes PTX with another target as a program's binary, though. So what the compiler is not to see
 * stands in comments of inline assembly (prelude.k), which it copies with the names of registers filled in:
 *
 *   //sm_90a: INSTRUCTION     the instruction
 *                             where @words is the name of the kernel's last parameter, its argument words
 *   //entry: DIRECTIVE        a directive of the kernel that the comment is in, which has .reqntid
 *
 * Where the PTX has such comments, *edited becomes true, and the PTX is appended to `out` for sm_90a with their
 * contents. Else nothing is appended. ERR_UNSUPPORTED: the PTX has no target sm_90.
 */
lfuse_status lfuse__cl_edit_ptx(const char *ptx, size_t bytes, lfuse__strbuf *out, bool *edited);

/* A program of one kernel for sm_90a that does nothing: a driver that builds it builds edited ones. */
extern const char *const lfuse__cl_ptx_probe;

#endif
