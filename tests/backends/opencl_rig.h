/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL backend behind the layer of tests/layer: devices, streams and kernels for tests of it. */
#ifndef TESTS_BACKENDS_OPENCL_RIG_H
#define TESTS_BACKENDS_OPENCL_RIG_H

#include <dlfcn.h>

#include "backends/opencl/internal.h"
#include "tests/layer/layer.h"
#include "tests/support/main.h"

static const lfuse__backend *const b = &lfuse__backend_opencl;

static struct {
    lfuse_layer_arm_t *arm;
    lfuse_layer_fired_t *fired;
    lfuse_layer_calls_t *calls;
    lfuse_layer_live_t *live;
    lfuse_layer_state_t *state;
    lfuse_layer_spoil_t *spoil;
} layer;

static int device_count;

static const char source[] =
    "struct words { ulong w[2]; };\n"
    "__kernel void axpy(__global float *y, __global const float *x, struct words a)\n"
    "{ size_t i = get_global_id(0); y[i + a.w[1]] += (float)a.w[0] * (x ? x[i] : 1.0f); }\n"
    "__kernel void twice(__global float *y)\n"
    "{ size_t i = get_global_id(0); y[i] = 2.0f * y[i] + 1.0f; }\n";

/* A device with what most tests need. */
typedef struct bench {
    lfuse__bdevice *dev;
    lfuse__bstream *s;
    lfuse__bprogram *program;
    lfuse__bkernel *axpy, *twice;
    long live;
} bench;

static inline void set_up(bench *t, int device)
{
    lfuse__strbuf log = LFUSE__STRBUF_INIT;

    t->live = layer.live(NULL);
    OK(b->open(device, &t->dev));
    OK(b->stream_create(t->dev, &t->s));
    OK(b->program_build(t->dev, source, &log, &t->program));
    OK(b->kernel_create(t->program, "axpy", &t->axpy));
    OK(b->kernel_create(t->program, "twice", &t->twice));
    lfuse__strbuf_free(&log);
}

static inline void tear_down(bench *t)
{
    if (!t->dev) return;
    b->kernel_destroy(t->twice);
    b->kernel_destroy(t->axpy);
    b->program_destroy(t->program);
    b->stream_destroy(t->s);
    b->close(t->dev);
    t->dev = NULL;
    ck_assert_int_eq(layer.live(NULL), t->live);
}

static bench t; /* of the test, which sets it up */

static inline void end(void)
{
    tear_down(&t);
}

static inline lfuse_status launch(lfuse__bstream *s, lfuse__bkernel *k, uint64_t n, lfuse__bmem *const *buffers,
                                  unsigned nbuffers, const uint64_t *words, unsigned nwords)
{
    const lfuse__launch_args args = { .groups = n / 4, .group = 4, .nbuffers = nbuffers, .nwords = nwords,
                                      .buffers = buffers, .words = words };
    return b->launch(s, k, &args);
}

static inline void read_all(lfuse__bstream *s, lfuse__bmem *m, uint64_t offset, void *host, uint64_t bytes)
{
    OK(b->read(s, m, offset, host, bytes));
    OK(b->stream_sync(s));
}

static inline cl_command_queue queue_of(lfuse__bdevice *dev, cl_command_queue_properties properties)
{
    cl_int code;
    return lfuse__cl.CreateCommandQueue(dev->context, dev->device.id, properties, &code);
}

static inline bool load_layer(void)
{
    setenv("OPENCL_LAYERS", LFUSE_TEST_LAYER, 1);
    setenv("LFUSE_ADDRESSES", LFUSE_TEST_ADDRESSES, 1);
    if (lfuse__cl_load() != LFUSE_OK) return false;
    void *library = dlopen(LFUSE_TEST_LAYER, RTLD_NOW);
    if (library == NULL) return false;
    *(void **)&layer.arm = dlsym(library, "lfuse_layer_arm");
    *(void **)&layer.fired = dlsym(library, "lfuse_layer_fired");
    *(void **)&layer.calls = dlsym(library, "lfuse_layer_calls");
    *(void **)&layer.live = dlsym(library, "lfuse_layer_live");
    *(void **)&layer.state = dlsym(library, "lfuse_layer_state");
    *(void **)&layer.spoil = dlsym(library, "lfuse_layer_spoil");
    return true;
}

/* Counted past the backend, whose own list the first test makes. */
static inline int count_devices(void)
{
    cl_platform_id platforms[16];
    cl_uint n = 0, count = 0, sum = 0;

    if (lfuse__cl.GetPlatformIDs(16, platforms, &n) != CL_SUCCESS) return 0;
    for (cl_uint i = 0; i < n && i < 16; i++)
        if (lfuse__cl.GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &count) == CL_SUCCESS) sum += count;
    return (int)sum;
}

/* How many there are: none where nothing is behind the layer. */
static inline int open_layer(void)
{
    device_count = load_layer() ? count_devices() : 0;
    if (device_count && !layer.calls("clGetPlatformIDs")) device_count = 0;
    return device_count;
}

/* The one case of a program, whose tests run for each of device_count; where there is none, it says so. */
#define OPENCL_SLOTS(...)                                                                                              \
    TEST_CASE("slots", __VA_ARGS__)                                                                                    \
    TEST_LOOP(test_no_device, 0, !open_layer())                                                                        \
    {                                                                                                                  \
        TEST_SKIP("no OpenCL device behind the test layer");                                                           \
    }

/* The backend's own list of devices, which it makes once. */
static inline void enumerate(void)
{
    char reason[256];
    int count;

    OK(b->enumerate(&count, reason, sizeof reason));
}

#endif
