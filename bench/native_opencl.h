/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of bare OpenCL calls share. */
#ifndef BENCH_NATIVE_OPENCL_H
#define BENCH_NATIVE_OPENCL_H

#include "backends/opencl/internal.h"
#include "bench/bench.h"

static inline lfuse_status check(cl_int code, const char *call)
{
    return code ? lfuse__cl_error(code, "%s", call) : LFUSE_OK;
}

/* For the device of its stream, whose queue is told too. The caller releases the program. */
lfuse_status bench_opencl_build(const bench_device *d, const char *text, const char *options, cl_command_queue *queue,
                                cl_program *program);

/* Slots of bench_native_kind: see there. */
lfuse_status bench_opencl_hold_create(bench_device *d, void **hold);
lfuse_status bench_opencl_hold(void *hold, double us);
void bench_opencl_hold_destroy(void *hold);
lfuse_status bench_opencl_buffer_create(bench_device *d, int launches, void **buffer);
lfuse_status bench_opencl_buffer_run(void *buffer);
void bench_opencl_buffer_destroy(void *buffer);

#endif
