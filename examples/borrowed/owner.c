/* SPDX-License-Identifier: Apache-2.0 */
#include "owner.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 64 };

struct owner {
    void *library, *device, *context, *queue;
    int cuda, nbuffers;
    uint64_t buffers[MOST_BUFFERS];
};

/* The drivers' binary interfaces: all types are pointers or integers. A program would include their headers. */
typedef int cl_ids(void *of, uint32_t count, void **ids, uint32_t *found);
typedef int cl_devices(void *platform, uint64_t type, uint32_t count, void **ids, uint32_t *found);
typedef void *cl_context_maker(const intptr_t *properties, uint32_t count, void *const *devices, void *notify,
                               void *data, int *code);
typedef void *cl_queue_maker(void *context, void *device, uint64_t properties, int *code);
typedef void *cl_buffer_maker(void *context, uint64_t flags, size_t bytes, void *host, int *code);
typedef int cl_writer(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t bytes, const void *host,
                      uint32_t events, const void *list, void *event);
typedef int cl_reader(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t bytes, void *host,
                      uint32_t events, const void *list, void *event);
typedef int releaser(void *object);
typedef int cu_init(unsigned flags);
typedef int cu_context_maker(void **context, int device);
typedef int cu_setter(void *context);
typedef int cu_stream_maker(void **stream, unsigned flags);
typedef int cu_buffer_maker(uint64_t *address, size_t bytes);
typedef int cu_freer(uint64_t address);
typedef int cu_writer(uint64_t to, const void *from, size_t bytes, void *stream);
typedef int cu_reader(void *to, uint64_t from, size_t bytes, void *stream);

/* ISO C has no conversion from what dlsym returns to a function. */
#define FIND(type, variable, name)                                                                                     \
    type *variable;                                                                                                    \
    void *variable##_at = dlsym(o->library, name);                                                                     \
    memcpy(&variable, &variable##_at, sizeof variable)

static int open_opencl(owner *o)
{
    void *platform;
    int code = 1;
    FIND(cl_devices, devices, "clGetDeviceIDs");
    FIND(cl_context_maker, make_context, "clCreateContext");
    FIND(cl_queue_maker, make_queue, "clCreateCommandQueue");
    void *at = dlsym(o->library, "clGetPlatformIDs");
    int (*platforms)(uint32_t, void **, uint32_t *);
    memcpy(&platforms, &at, sizeof platforms);
    if (!at || !devices_at || !make_context_at || !make_queue_at || platforms(1, &platform, NULL)) return -1;
    if (devices(platform, UINT64_C(0xffffffff), 1, &o->device, NULL)) return -1;
    o->context = make_context(NULL, 1, &o->device, NULL, NULL, &code);
    if (!o->context || code) return -1;
    o->queue = make_queue(o->context, o->device, 0, &code);
    return o->queue && !code ? 0 : -1;
}

static int open_cuda(owner *o)
{
    FIND(cu_init, initialise, "cuInit");
    FIND(cu_context_maker, retain, "cuDevicePrimaryCtxRetain");
    FIND(cu_setter, make_current, "cuCtxSetCurrent");
    FIND(cu_stream_maker, make_stream, "cuStreamCreate");
    if (!initialise_at || !retain_at || !make_current_at || !make_stream_at) return -1;
    return initialise(0) || retain(&o->context, 0) || make_current(o->context) || make_stream(&o->queue, 1) ? -1 : 0;
}

owner *owner_open(const char *backend)
{
    owner *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->cuda = !strcmp(backend, "cuda");
    o->library = dlopen(o->cuda ? "libcuda.so.1" : "libOpenCL.so.1", RTLD_NOW);
    if (o->library && !(o->cuda ? open_cuda(o) : open_opencl(o))) return o;
    owner_close(o);
    return NULL;
}

static void release(const owner *o, const char *name, void *object)
{
    FIND(releaser, give_back, name);
    if (object && give_back_at) give_back(object);
}

/* The library stays loaded: drivers do not like to go. CUDA's primary context stays as well. */
void owner_close(owner *o)
{
    if (!o) return;
    for (int i = 0; i < o->nbuffers; i++) {
        if (o->cuda) {
            FIND(cu_freer, give_back, "cuMemFree_v2");
            if (give_back_at) give_back(o->buffers[i]);
        } else {
            release(o, "clReleaseMemObject", (void *)(uintptr_t)o->buffers[i]);
        }
    }
    if (o->library && o->cuda) release(o, "cuStreamDestroy_v2", o->queue);
    if (o->library && !o->cuda) release(o, "clReleaseCommandQueue", o->queue);
    if (o->library && !o->cuda) release(o, "clReleaseContext", o->context);
    free(o);
}

void *owner_context(const owner *o)
{
    return o->context;
}

void *owner_device(const owner *o)
{
    return o->device;
}

void *owner_queue(const owner *o)
{
    return o->queue;
}

uint64_t owner_buffer(owner *o, size_t bytes)
{
    uint64_t buffer = 0;
    int code = 0;
    if (o->nbuffers == MOST_BUFFERS) return 0;
    if (o->cuda) {
        FIND(cu_buffer_maker, make, "cuMemAlloc_v2");
        code = make_at ? make(&buffer, bytes) : 1;
    } else {
        FIND(cl_buffer_maker, make, "clCreateBuffer");
        buffer = make_at ? (uint64_t)(uintptr_t)make(o->context, 1, bytes, NULL, &code) : 0;
    }
    if (code || !buffer) return 0;
    o->buffers[o->nbuffers++] = buffer;
    return buffer;
}

static int finish(const owner *o)
{
    FIND(releaser, wait, o->cuda ? "cuStreamSynchronize" : "clFinish");
    return wait_at && !wait(o->queue) ? 0 : -1;
}

int owner_write(owner *o, uint64_t buffer, const void *host, size_t bytes)
{
    if (o->cuda) {
        FIND(cu_writer, put, "cuMemcpyHtoDAsync_v2");
        return put_at && !put(buffer, host, bytes, o->queue) ? finish(o) : -1;
    }
    FIND(cl_writer, put, "clEnqueueWriteBuffer");
    return put_at && !put(o->queue, (void *)(uintptr_t)buffer, 1, 0, bytes, host, 0, NULL, NULL) ? 0 : -1;
}

int owner_read(owner *o, uint64_t buffer, void *host, size_t bytes)
{
    if (o->cuda) {
        FIND(cu_reader, get, "cuMemcpyDtoHAsync_v2");
        return get_at && !get(host, buffer, bytes, o->queue) ? finish(o) : -1;
    }
    FIND(cl_reader, get, "clEnqueueReadBuffer");
    return get_at && !get(o->queue, (void *)(uintptr_t)buffer, 1, 0, bytes, host, 0, NULL, NULL) ? 0 : -1;
}
