/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bare launches as one command buffer (cl_khr_command_buffer): what tells whether the backend's lists of launches would
 * be better recorded by the driver. Neither the Khronos headers of every system nor its loader know the extension, and
 * the versions of it differ in calls that are not used here.
 */
#include "bench/native_opencl.h"

#include <stdlib.h>
#include <string.h>

enum {
    CAPABILITIES = 0x12A9,         /* CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR */
    CAPABLE_OF_SIMULTANEOUS = 0x4, /* it may be enqueued again while it still runs */
    FLAGS = 0x1293,                /* CL_COMMAND_BUFFER_FLAGS_KHR */
    SIMULTANEOUS = 0x1
};

typedef struct functions {
    void *(*create)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);
    cl_int (*launch)(void *, cl_command_queue, const cl_ulong *, cl_kernel, cl_uint, const size_t *, const size_t *,
                     const size_t *, cl_uint, const cl_uint *, cl_uint *, void **);
    cl_int (*finalize)(void *);
    cl_int (*enqueue)(cl_uint, cl_command_queue *, void *, cl_uint, const cl_event *, cl_event *);
    cl_int (*release)(void *);
} functions;

typedef struct recorded {
    functions call;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    void *buffer;
} recorded;

static lfuse_status is_capable(cl_device_id id)
{
    cl_bitfield capabilities = 0;
    size_t bytes = 0;

    LFUSE__TRY(check(lfuse__cl.GetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes), "clGetDeviceInfo"));
    char *text = calloc(bytes + 1, 1);
    if (!text) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for %zu bytes of extensions", bytes);
    cl_int code = lfuse__cl.GetDeviceInfo(id, CL_DEVICE_EXTENSIONS, bytes, text, NULL);
    bool listed = !code && strstr(text, "cl_khr_command_buffer");
    free(text);
    if (!listed) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "the driver has no cl_khr_command_buffer");
    code = lfuse__cl.GetDeviceInfo(id, CAPABILITIES, sizeof capabilities, &capabilities, NULL);
    if (!code && (capabilities & CAPABLE_OF_SIMULTANEOUS)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "the driver's command buffers may not be enqueued while they run");
}

/* Data and function pointers have one form wherever there is a dlsym; ISO C lacks the cast. */
static lfuse_status find(cl_platform_id platform, functions *f)
{
    static const char *const loaders[] = {"libOpenCL.so.1", NULL};
    const struct {
        const char *name;
        void *to;
    } rows[] = {{"clCreateCommandBufferKHR", &f->create},     {"clCommandNDRangeKernelKHR", &f->launch},
                {"clFinalizeCommandBufferKHR", &f->finalize}, {"clEnqueueCommandBufferKHR", &f->enqueue},
                {"clReleaseCommandBufferKHR", &f->release}};
    void *(*address)(cl_platform_id, const char *);
    lfuse__library *library;
    lfuse_status status = LFUSE_OK;

    LFUSE__TRY(lfuse__library_open(loaders, NULL, &library)); /* once more: the backend holds it */
    *(void **)&address = lfuse__library_symbol(library, "clGetExtensionFunctionAddressForPlatform");
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++) {
        void *found = address ? address(platform, rows[i].name) : NULL;
        if (found) *(void **)rows[i].to = found;
        else status = lfuse__error(LFUSE_ERR_UNSUPPORTED, "the driver does not give %s", rows[i].name);
    }
    lfuse__library_close(library);
    return status;
}

static lfuse_status record(recorded *r, int launches)
{
    const cl_ulong properties[] = {FLAGS, SIMULTANEOUS, 0};
    const size_t one = 1;
    cl_uint point;
    cl_int code;

    r->kernel = lfuse__cl.CreateKernel(r->program, "empty", &code);
    LFUSE__TRY(check(code, "clCreateKernel"));
    r->buffer = r->call.create(1, &r->queue, properties, &code);
    LFUSE__TRY(check(code, "clCreateCommandBufferKHR"));
    for (int i = 0; i < launches && !code; i++)
        code = r->call.launch(r->buffer, NULL, NULL, r->kernel, 1, NULL, &one, &one, 0, NULL, &point, NULL);
    LFUSE__TRY(check(code, "clCommandNDRangeKernelKHR"));
    return check(r->call.finalize(r->buffer), "clFinalizeCommandBufferKHR");
}

void bench_opencl_buffer_destroy(void *state)
{
    recorded *r = state;
    if (r->buffer) r->call.release(r->buffer);
    if (r->kernel) lfuse__cl.ReleaseKernel(r->kernel);
    if (r->program) lfuse__cl.ReleaseProgram(r->program);
    free(r);
}

lfuse_status bench_opencl_buffer_create(bench_device *d, int launches, void **state)
{
    cl_device_id id;
    cl_platform_id platform;
    functions found;
    cl_command_queue queue = lfuse_stream_native(d->stream);

    LFUSE__TRY(check(lfuse__cl.GetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL), "queue"));
    LFUSE__TRY(is_capable(id));
    LFUSE__TRY(check(lfuse__cl.GetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL), "platform"));
    LFUSE__TRY(find(platform, &found));
    recorded *r = calloc(1, sizeof *r);
    if (!r) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a command buffer");
    r->call = found;
    lfuse_status status = bench_opencl_build(d, "__kernel void empty(void) {}\n", "", &r->queue, &r->program);
    if (!status) status = record(r, launches);
    if (status) bench_opencl_buffer_destroy(r);
    else *state = r;
    return status;
}

lfuse_status bench_opencl_buffer_run(void *state)
{
    const recorded *r = state;
    return check(r->call.enqueue(0, NULL, r->buffer, 0, NULL, NULL), "clEnqueueCommandBufferKHR");
}
