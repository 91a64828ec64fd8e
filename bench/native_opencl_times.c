/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device times on OpenCL. The time stamps that NVIDIA's driver takes of a command with an event count the idle device
 * around it: an empty kernel of an H200 is said to take 3.4 to 5.8 us, with 1.3 us to the next one, and without events
 * they take 1.5 us each. The host needs 3.5 us or more for a launch. So runs are timed without events of their own and
 * behind a command that lasts until all of them are enqueued: what a native graph does elsewhere.
 */
#include "bench/native_opencl.h"

#include <stdlib.h>

lfuse_status bench_opencl_build(const bench_device *d, const char *text, const char *options, cl_command_queue *queue,
                                cl_program *program)
{
    cl_context context;
    cl_device_id id;
    cl_int code;
    *queue = lfuse_stream_native(d->stream);
    LFUSE__TRY(check(lfuse__cl.GetCommandQueueInfo(*queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL), "queue"));
    LFUSE__TRY(check(lfuse__cl.GetCommandQueueInfo(*queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL), "queue"));
    cl_program made = lfuse__cl.CreateProgramWithSource(context, 1, &text, NULL, &code);
    LFUSE__TRY(check(code, "clCreateProgramWithSource"));
    lfuse_status status = check(lfuse__cl.BuildProgram(made, 1, &id, options, NULL, NULL), "clBuildProgram");
    if (status) lfuse__cl.ReleaseProgram(made);
    else *program = made;
    return status;
}

/* ---- a command that lasts ---- */

enum { TRIAL = 1 << 17 /* iterations: a third of a millisecond */ };

/* Each iteration waits for the one before it. */
static const char hold_source[] =
    "__kernel void hold(__global float *to, ulong iterations)\n"
    "{\n"
    "    float x = 1.0f;\n"
    "    for (ulong i = 0; i < iterations; i++) x = fma(x, 0.999f, 0.5f);\n"
    "    if (x == 77.25f) *to = x;\n"
    "}\n";

typedef struct hold {
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem memory;
    double iterations_per_us;
} hold;

void bench_opencl_hold_destroy(void *state)
{
    hold *h = state;
    if (h->memory) lfuse__cl.ReleaseMemObject(h->memory);
    if (h->kernel) lfuse__cl.ReleaseKernel(h->kernel);
    if (h->program) lfuse__cl.ReleaseProgram(h->program);
    free(h);
}

static cl_int enqueue(const hold *h, cl_ulong iterations, cl_event *event)
{
    const size_t one = 1;
    cl_int code = lfuse__cl.SetKernelArg(h->kernel, 1, sizeof iterations, &iterations);
    if (code) return code;
    code = lfuse__cl.EnqueueNDRangeKernel(h->queue, h->kernel, 1, NULL, &one, &one, 0, NULL, event);
    return code ? code : lfuse__cl.Flush(h->queue);
}

static lfuse_status calibrate(hold *h)
{
    cl_ulong start = 0, end = 0;
    cl_event e;
    LFUSE__TRY(check(enqueue(h, TRIAL, NULL), "clEnqueueNDRangeKernel")); /* the clock rises */
    LFUSE__TRY(check(enqueue(h, TRIAL, &e), "clEnqueueNDRangeKernel"));
    cl_int code = lfuse__cl.Finish(h->queue);
    if (!code) code = lfuse__cl.GetEventProfilingInfo(e, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    if (!code) code = lfuse__cl.GetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    lfuse__cl.ReleaseEvent(e);
    LFUSE__TRY(check(code, "clGetEventProfilingInfo"));
    h->iterations_per_us = TRIAL / (end > start ? 1e-3 * (double)(end - start) : 1);
    return LFUSE_OK;
}

static lfuse_status prepare(bench_device *d, hold *h)
{
    cl_context context;
    cl_int code;
    LFUSE__TRY(bench_opencl_build(d, hold_source, "", &h->queue, &h->program));
    LFUSE__TRY(check(lfuse__cl.GetCommandQueueInfo(h->queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL),
                     "clGetCommandQueueInfo"));
    h->kernel = lfuse__cl.CreateKernel(h->program, "hold", &code);
    LFUSE__TRY(check(code, "clCreateKernel"));
    h->memory = lfuse__cl.CreateBuffer(context, CL_MEM_READ_WRITE, sizeof(float), NULL, &code);
    LFUSE__TRY(check(code, "clCreateBuffer"));
    LFUSE__TRY(check(lfuse__cl.SetKernelArg(h->kernel, 0, sizeof h->memory, &h->memory), "clSetKernelArg"));
    return calibrate(h);
}

lfuse_status bench_opencl_hold_create(bench_device *d, void **state)
{
    hold *h = calloc(1, sizeof *h);
    if (!h) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the holding kernel");
    lfuse_status status = prepare(d, h);
    if (status) bench_opencl_hold_destroy(h);
    else *state = h;
    return status;
}

lfuse_status bench_opencl_hold(void *state, double us)
{
    const hold *h = state;
    return check(enqueue(h, (cl_ulong)(us * h->iterations_per_us) + 1, NULL), "clEnqueueNDRangeKernel");
}
