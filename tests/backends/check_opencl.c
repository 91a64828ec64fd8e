/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL backend slot by slot, on every OpenCL device, behind the layer of tests/layer: what was called is counted,
 * what was created and not released is seen, and every call fails once.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"
#include "tests/layer/layer.h"
#include "tests/support/main.h"

static const lfuse__backend *const b = &lfuse__backend_opencl;

static struct {
    lfuse_layer_arm_t *arm;
    lfuse_layer_fired_t *fired;
    lfuse_layer_calls_t *calls;
    lfuse_layer_live_t *live;
} layer;

static int device_count;

static const char source[] =
    "struct words { ulong w[2]; };\n"
    "__kernel void axpy(__global float *y, __global const float *x, struct words a)\n"
    "{ size_t i = get_global_id(0); y[i + a.w[1]] += (float)a.w[0] * (x ? x[i] : 1.0f); }\n"
    "__kernel void twice(__global float *y)\n"
    "{ size_t i = get_global_id(0); y[i] = 2.0f * y[i] + 1.0f; }\n";

#define OK(call) check(call, #call, __LINE__)
#define REFUSED(status, call) refused(status, call, #call, __LINE__)

static void check(lfuse_status status, const char *text, int line)
{
    ck_assert_msg(status == LFUSE_OK, "line %d: %s: status %d: %s", line, text, (int)status, lfuse__error_message());
}

static void refused(lfuse_status expected, lfuse_status status, const char *text, int line)
{
    ck_assert_msg(status == expected, "line %d: %s: status %d, not %d (%s)", line, text, (int)status, (int)expected,
                  lfuse__error_message());
    ck_assert_msg(lfuse__error_message()[0] != '\0', "line %d: %s: no message", line, text);
}

/* A device with what most tests need. */
typedef struct bench {
    lfuse__bdevice *dev;
    lfuse__bstream *s;
    lfuse__bprogram *program;
    lfuse__bkernel *axpy, *twice;
    long live;
} bench;

static void set_up(bench *t, int device)
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

static void tear_down(bench *t)
{
    b->kernel_destroy(t->twice);
    b->kernel_destroy(t->axpy);
    b->program_destroy(t->program);
    b->stream_destroy(t->s);
    b->close(t->dev);
    ck_assert_int_eq(layer.live(NULL), t->live);
}

static lfuse_status launch(lfuse__bstream *s, lfuse__bkernel *k, uint64_t n, lfuse__bmem *const *buffers,
                           unsigned nbuffers, const uint64_t *words, unsigned nwords)
{
    const lfuse__launch_args args = { .groups = n / 4, .group = 4, .nbuffers = nbuffers, .nwords = nwords,
                                      .buffers = buffers, .words = words };
    return b->launch(s, k, &args);
}

static void read_all(lfuse__bstream *s, lfuse__bmem *m, uint64_t offset, void *host, uint64_t bytes)
{
    OK(b->read(s, m, offset, host, bytes));
    OK(b->stream_sync(s));
}

/* Must be the first test: the list of devices is kept once it was read. */
START_TEST(test_enumerate)
{
    char reason[256] = "?";
    int count = -1;

    layer.arm("clGetDeviceIDs", 1, 0, CL_OUT_OF_HOST_MEMORY);
    REFUSED(LFUSE_ERR_MEMORY, b->enumerate(&count, reason, sizeof reason));
    ck_assert_int_eq(count, -1);
    layer.arm(NULL, 0, 0, 0);
    OK(b->enumerate(&count, reason, sizeof reason));
    ck_assert_int_eq(count, device_count);
    REFUSED(LFUSE_ERR_NO_DEVICE, b->describe(count, &(lfuse__facts){ 0 }));
    REFUSED(LFUSE_ERR_NO_DEVICE, b->describe(-1, &(lfuse__facts){ 0 }));
}
END_TEST

START_TEST(test_facts)
{
    lfuse__part parts[2];
    uint64_t free_bytes, total;

    ck_assert_int_eq(b->parts(parts, 2), 2);
    ck_assert_msg(parts[0].path[0] == '/' && parts[0].version[0] != '\0', "%s", parts[0].reason);
    for (int i = 0; i < device_count; i++) {
        lfuse__facts f, g;
        lfuse__bdevice *dev;
        lfuse__strbuf key = LFUSE__STRBUF_INIT;

        OK(b->describe(i, &f));
        ck_assert_int_eq(strncmp(f.info.name, "opencl:", 7), 0);
        ck_assert(f.info.compute_units > 0 && f.info.max_group > 0 && f.info.max_argument_bytes >= 1024);
        ck_assert(f.info.memory_bytes >= f.info.max_alloc_bytes && f.info.max_alloc_bytes > 0);
        ck_assert_int_eq(f.vector_lanes, f.info.kind == LFUSE_DEVICE_CPU);
        ck_assert(!f.addresses && !f.capture && f.simd >= 1);
        OK(b->open(i, &dev));
        OK(b->facts(dev, &g));
        ck_assert_int_eq(memcmp(&f, &g, sizeof f), 0);
        OK(b->memory(dev, &free_bytes, &total));
        ck_assert(free_bytes <= total && total == f.info.memory_bytes);
        OK(b->program_key(dev, &key));
        ck_assert(strstr(key.data, f.info.product) != NULL && strstr(key.data, "-cl-std=CL1.") != NULL);
        OK(b->pending(dev));
        lfuse__strbuf_free(&key);
        b->close(dev);
    }
}
END_TEST

static void check_memory(bench *t, lfuse__alloc_kind kind)
{
    enum { BYTES = 4096 };
    unsigned char out[BYTES], in[BYTES];
    lfuse__bmem *m, *other;
    lfuse__mem_info info;

    OK(b->alloc(t->dev, kind, BYTES, &m));
    OK(b->alloc(t->dev, LFUSE__ALLOC_DEVICE, BYTES, &other));
    b->mem_info(m, &info);
    ck_assert_uint_eq(info.bytes, BYTES);
    for (int i = 0; i < BYTES; i++) out[i] = (unsigned char)(i * 7 + 1);
    OK(b->write(t->s, m, 0, out, BYTES));
    OK(b->copy(t->s, other, 100, m, 50, 1000));
    OK(b->copy(t->s, m, 2000, other, 100, 1000));
    for (unsigned size = 1; size <= 8; size *= 2)
        OK(b->fill(t->s, m, 3200 + 64 * size, 0x8877665544332211u, size, 64));
    read_all(t->s, m, 0, in, BYTES);
    memmove(out + 2000, out + 50, 1000);
    for (unsigned size = 1; size <= 8; size *= 2)
        for (unsigned i = 0; i < 64; i++) out[3200 + 64 * size + i] = (unsigned char)(0x11 * (i % size + 1));
    ck_assert_mem_eq(in, out, BYTES);
    OK(b->write(t->s, m, 0, NULL, 0));
    b->free(other);
    b->free(m);
}

START_TEST(test_memory)
{
    bench t;
    lfuse__facts f;
    lfuse__bmem *m, *d;
    lfuse__mem_info info;
    uint64_t before, after, total;
    float in[16];

    set_up(&t, _i);
    OK(b->facts(t.dev, &f));
    OK(b->memory(t.dev, &before, &total));
    check_memory(&t, LFUSE__ALLOC_DEVICE);
    if (f.info.svm) check_memory(&t, LFUSE__ALLOC_UNIFIED);
    else REFUSED(LFUSE_ERR_UNSUPPORTED, b->alloc(t.dev, LFUSE__ALLOC_UNIFIED, 64, &m));

    OK(b->alloc(t.dev, LFUSE__ALLOC_PINNED, 64, &m));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, 64, &d));
    OK(b->memory(t.dev, &after, &total));
    ck_assert_uint_eq(after, before - 128);
    b->mem_info(m, &info);
    ck_assert_ptr_nonnull(info.host);
    for (int i = 0; i < 16; i++) ((float *)info.host)[i] = (float)i;
    OK(b->write(t.s, d, 0, info.host, 64));
    read_all(t.s, d, 0, in, 64);
    ck_assert_mem_eq(in, info.host, 64);
    OK(b->copy(t.s, d, 32, m, 0, 32));
    OK(b->copy(t.s, m, 0, d, 28, 8));
    OK(b->stream_sync(t.s));
    ck_assert(((float *)info.host)[0] == 7.0f && ((float *)info.host)[1] == 0.0f);
    REFUSED(LFUSE_ERR_UNSUPPORTED, launch(t.s, t.twice, 16, &m, 1, NULL, 0));
    b->free(d);
    b->free(m);
    OK(b->memory(t.dev, &after, &total));
    ck_assert_uint_eq(after, before);

    layer.arm("clCreateBuffer", 1, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    REFUSED(LFUSE_ERR_DEVICE_MEMORY, b->alloc(t.dev, LFUSE__ALLOC_DEVICE, 64, &m));
    layer.arm("clEnqueueWriteBuffer", 1, 0, CL_OUT_OF_RESOURCES);
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, 64, &m));
    REFUSED(LFUSE_ERR_DEVICE_MEMORY, b->write(t.s, m, 0, in, 64));
    layer.arm(NULL, 0, 0, 0);
    OK(b->pending(t.dev));
    b->free(m);
    tear_down(&t);
}
END_TEST

static cl_mem sub_buffer(cl_mem parent, size_t origin, size_t size)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    __typeof__(clCreateSubBuffer) *create;
    cl_buffer_region region = { origin, size };
    cl_int code = -1;
    cl_mem sub;

    ck_assert_ptr_nonnull(library);
    *(void **)&create = dlsym(library, "clCreateSubBuffer");
    sub = create(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    dlclose(library);
    return sub;
}

#define HANDLE(object) ((uint64_t)(uintptr_t)(object))

START_TEST(test_wrap)
{
    bench t, other;
    lfuse__bmem *m, *part;
    lfuse__mem_info info;
    lfuse__facts f;
    cl_mem buffer, sub;
    float values[2048], in[4];
    cl_int code;

    set_up(&t, _i);
    set_up(&other, _i);
    OK(b->facts(t.dev, &f));
    buffer = lfuse__cl.CreateBuffer(t.dev->context, CL_MEM_READ_WRITE, sizeof values, NULL, &code);
    ck_assert_ptr_nonnull(buffer);
    OK(b->wrap(t.dev, LFUSE_MEMORY_NATIVE, HANDLE(buffer), 0, &m));
    b->mem_info(m, &info);
    ck_assert_uint_eq(info.bytes, sizeof values);
    ck_assert_uint_eq(info.space, HANDLE(buffer));
    ck_assert_uint_eq(info.address, 0);
    REFUSED(LFUSE_ERR_SHAPE, b->wrap(t.dev, LFUSE_MEMORY_NATIVE, HANDLE(buffer), sizeof values + 1, &part));
    REFUSED(LFUSE_ERR_CONTEXT, b->wrap(other.dev, LFUSE_MEMORY_NATIVE, HANDLE(buffer), 0, &part));
    REFUSED(LFUSE_ERR_INVALID, b->wrap(t.dev, LFUSE_MEMORY_NATIVE, 0, 0, &part));

    sub = sub_buffer(buffer, 4096, 2048);
    OK(b->wrap(t.dev, LFUSE_MEMORY_NATIVE, HANDLE(sub), 0, &part));
    lfuse__cl.ReleaseMemObject(sub);
    b->mem_info(part, &info);
    ck_assert_uint_eq(info.bytes, 2048);
    ck_assert_uint_eq(info.space, HANDLE(buffer));
    ck_assert_uint_eq(info.address, 4096);
    for (int i = 0; i < 2048; i++) values[i] = (float)i;
    OK(b->write(t.s, m, 0, values, sizeof values));
    OK(launch(t.s, t.twice, 4, &part, 1, NULL, 0));
    read_all(t.s, m, 4096, in, sizeof in);
    for (int i = 0; i < 4; i++) ck_assert(in[i] == 2.0f * (float)(1024 + i) + 1.0f);
    b->free(part);
    b->free(m);
    lfuse__cl.ReleaseMemObject(buffer);

    if (f.info.svm) {
        void *pointer = lfuse__cl.SVMAlloc(t.dev->context, CL_MEM_READ_WRITE, 64, 0);
        ck_assert_ptr_nonnull(pointer);
        OK(b->wrap(t.dev, LFUSE_MEMORY_POINTER, HANDLE(pointer), 0, &m));
        b->mem_info(m, &info);
        ck_assert(info.bytes == 0 && info.space == 0 && info.address == HANDLE(pointer));
        OK(b->write(t.s, m, 0, values, 64));
        OK(launch(t.s, t.twice, 16, &m, 1, NULL, 0));
        read_all(t.s, m, 0, in, sizeof in);
        ck_assert(in[3] == 7.0f);
        b->free(m);
        lfuse__cl.SVMFree(t.dev->context, pointer);
    } else {
        REFUSED(LFUSE_ERR_UNSUPPORTED, b->wrap(t.dev, LFUSE_MEMORY_POINTER, HANDLE(values), 0, &m));
    }
    tear_down(&other);
    tear_down(&t);
}
END_TEST

START_TEST(test_launch)
{
    enum { N = 64 };
    bench t;
    lfuse__bmem *x, *y, *none[2];
    float in[N];
    uint64_t words[2] = { 3, 0 };
    lfuse__kernel_info info;
    lfuse__bkernel *k;
    long sets, runs;

    set_up(&t, _i);
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &x));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &y));
    for (int i = 0; i < N; i++) in[i] = (float)i;
    OK(b->write(t.s, x, 0, in, sizeof in));
    OK(b->fill(t.s, y, 0, 0, 4, sizeof in));
    sets = layer.calls("clSetKernelArg"), runs = layer.calls("clEnqueueNDRangeKernel");
    OK(launch(t.s, t.axpy, N, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    ck_assert_int_eq(layer.calls("clSetKernelArg") - sets, 3);
    OK(launch(t.s, t.axpy, N, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    ck_assert_int_eq(layer.calls("clSetKernelArg") - sets, 3);
    words[0] = 1, words[1] = 32;
    OK(launch(t.s, t.axpy, N / 2, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    ck_assert_int_eq(layer.calls("clSetKernelArg") - sets, 4);
    OK(launch(t.s, t.axpy, N / 2, (lfuse__bmem *[]){ y, NULL }, 2, words, 2));
    ck_assert_int_eq(layer.calls("clSetKernelArg") - sets, 5);
    OK(launch(t.s, t.axpy, 0, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    ck_assert_int_eq(layer.calls("clEnqueueNDRangeKernel") - runs, 4);
    read_all(t.s, y, 0, in, sizeof in);
    for (int i = 0; i < N; i++) ck_assert(in[i] == (float)(6 * i) + (i >= 32 ? (float)(i - 32) + 1.0f : 0.0f));

    /* The driver may give a new buffer the handle of the one that was freed. */
    for (int i = 0; i < 20; i++) {
        OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &none[0]));
        OK(b->fill(t.s, none[0], 0, 0, 4, sizeof in));
        OK(launch(t.s, t.twice, N, none, 1, NULL, 0));
        read_all(t.s, none[0], 0, in, sizeof in);
        ck_assert(in[0] == 1.0f && in[N - 1] == 1.0f);
        b->free(none[0]);
    }

    /* An argument that could not be set is set by the next launch. */
    words[0] = 2, words[1] = 0;
    layer.arm("clSetKernelArg", 2, 0, CL_OUT_OF_HOST_MEMORY);
    REFUSED(LFUSE_ERR_MEMORY, launch(t.s, t.axpy, N, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    layer.arm(NULL, 0, 0, 0);
    OK(b->fill(t.s, y, 0, 0, 4, sizeof in));
    OK(launch(t.s, t.axpy, N, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    read_all(t.s, y, 0, in, sizeof in);
    for (int i = 0; i < N; i++) ck_assert(in[i] == (float)(2 * i));

    OK(b->kernel_info(t.axpy, &info));
    ck_assert_uint_ge(info.max_group, 4);
    REFUSED(LFUSE_ERR_NAME, b->kernel_create(t.program, "absent", &k));
    REFUSED(LFUSE_ERR_OVERFLOW, b->launch(t.s, t.twice, &(lfuse__launch_args){ .groups = UINT64_MAX, .group = 4,
                                                                               .nbuffers = 1, .buffers = &y }));
    b->free(y);
    b->free(x);
    tear_down(&t);
}
END_TEST

START_TEST(test_program)
{
    bench t;
    lfuse__strbuf log = LFUSE__STRBUF_INIT, binary = LFUSE__STRBUF_INIT;
    lfuse__bprogram *p;
    lfuse__bkernel *k;
    lfuse__bmem *y;
    float in[4] = { 0, 1, 2, 3 };

    set_up(&t, _i);
    REFUSED(LFUSE_ERR_COMPILE, b->program_build(t.dev, "__kernel void f() { absent_name(1); }", &log, &p));
    ck_assert_msg(strstr(log.data, "absent_name") != NULL, "log: %s", log.data);
    OK(b->program_binary(t.program, &binary));
    ck_assert_uint_gt(binary.length, 0);
    OK(b->program_load(t.dev, binary.data, binary.length, &p));
    OK(b->kernel_create(p, "twice", &k));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &y));
    OK(b->write(t.s, y, 0, in, sizeof in));
    OK(launch(t.s, k, 4, &y, 1, NULL, 0));
    read_all(t.s, y, 0, in, sizeof in);
    ck_assert(in[0] == 1.0f && in[3] == 7.0f);
    b->free(y);
    b->kernel_destroy(k);
    b->program_destroy(p);
    ck_assert(b->program_load(t.dev, "no binary at all", 16, &p) != LFUSE_OK);
    lfuse__strbuf_free(&binary);
    lfuse__strbuf_free(&log);
    tear_down(&t);
}
END_TEST

static cl_command_queue queue_of(lfuse__bdevice *dev, cl_command_queue_properties properties)
{
    cl_int code;
    return lfuse__cl.CreateCommandQueue(dev->context, dev->device.id, properties, &code);
}

/* y = 2 y + 1, forty times from 0: exact in f32 up to 2^24, so twenty of them and a reset between. */
static void check_order(bench *t, lfuse__bstream *s)
{
    enum { N = 4096, STEPS = 20 };
    static float in[N];
    lfuse__bmem *y, *z;

    OK(b->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof in, &y));
    OK(b->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof in, &z));
    for (int round = 0; round < 2; round++) {
        OK(b->fill(s, y, 0, 0, 4, sizeof in));
        for (int i = 0; i < STEPS; i++) {
            OK(launch(s, t->twice, N, i % 2 ? &z : &y, 1, NULL, 0));
            OK(b->copy(s, i % 2 ? y : z, 0, i % 2 ? z : y, 0, sizeof in));
        }
    }
    memset(in, 0, sizeof in);
    read_all(s, y, 0, in, sizeof in);
    for (int i = 0; i < N; i++) ck_assert(in[i] == 1048575.0f);
    b->free(z);
    b->free(y);
}

START_TEST(test_stream)
{
    static const cl_command_queue_properties properties[] = { 0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE };
    bench t, other;
    lfuse__bstream *s;
    cl_command_queue queue;
    bool capturing = true;
    lfuse_status status;

    set_up(&t, _i);
    set_up(&other, _i);
    check_order(&t, t.s);
    OK(b->stream_flush(t.s));
    do status = b->stream_query(t.s);
    while (status == LFUSE_NOT_READY);
    OK(status);
    OK(b->stream_capturing(t.s, &capturing));
    ck_assert(!capturing);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        queue = queue_of(t.dev, properties[i]);
        if (queue == NULL) continue; /* out-of-order queues are optional */
        OK(b->stream_wrap(t.dev, queue, &s));
        ck_assert_ptr_eq(b->stream_native(s), queue);
        REFUSED(LFUSE_ERR_CONTEXT, b->stream_wrap(other.dev, queue, &other.s));
        lfuse__cl.ReleaseCommandQueue(queue);
        check_order(&t, s);
        b->stream_destroy(s);
    }
    REFUSED(LFUSE_ERR_INVALID, b->stream_wrap(t.dev, NULL, &s));
    tear_down(&other);
    tear_down(&t);
}
END_TEST

START_TEST(test_event)
{
    enum { N = 4096 };
    static float in[N];
    bench t;
    lfuse__bstream *second;
    lfuse__bevent *e, *f;
    lfuse__bmem *y;
    double us = -1;
    cl_command_queue queue;
    lfuse_status status;

    set_up(&t, _i);
    OK(b->stream_create(t.dev, &second));
    OK(b->event_create(t.dev, &e));
    OK(b->event_create(t.dev, &f));
    OK(b->event_query(e));
    OK(b->event_wait(e, second));
    REFUSED(LFUSE_ERR_STATE, b->event_elapsed(e, f, &us));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &y));
    OK(b->fill(t.s, y, 0, 0, 4, sizeof in));
    OK(b->event_record(e, t.s));
    for (int i = 0; i < 10; i++) { /* ping-pong between the streams */
        OK(launch(t.s, t.twice, N, &y, 1, NULL, 0));
        OK(b->event_record(f, t.s));
        OK(b->event_wait(f, second));
        OK(launch(second, t.twice, N, &y, 1, NULL, 0));
        OK(b->event_record(f, second));
        OK(b->event_wait(f, t.s));
    }
    OK(b->event_record(f, t.s));
    do status = b->event_query(f);
    while (status == LFUSE_NOT_READY);
    OK(status);
    OK(b->event_elapsed(e, f, &us));
    ck_assert_msg(us > 0 && us < 1e7, "%g us", us);
    read_all(t.s, y, 0, in, sizeof in);
    for (int i = 0; i < N; i++) ck_assert(in[i] == 1048575.0f);
    b->stream_destroy(second);

    queue = queue_of(t.dev, 0);
    OK(b->stream_wrap(t.dev, queue, &second));
    lfuse__cl.ReleaseCommandQueue(queue);
    OK(b->event_record(e, second));
    OK(b->event_record(f, second));
    OK(b->stream_sync(second));
    REFUSED(LFUSE_ERR_UNSUPPORTED, b->event_elapsed(e, f, &us));
    b->free(y);
    b->event_destroy(f);
    b->event_destroy(e);
    b->stream_destroy(second);
    tear_down(&t);
}
END_TEST

/* Small integers: every sum is exact, in any order. */
static double entry(int64_t row, int64_t column, int salt)
{
    return (double)((row * 7 + column * 3 + salt) % 11 - 5);
}

static void put(void *data, lfuse_type type, int64_t i, double value)
{
    if (type == LFUSE_F64) ((double *)data)[i] = value;
    else ((float *)data)[i] = (float)value;
}

static double get(const void *data, lfuse_type type, int64_t i)
{
    return type == LFUSE_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* Offsets of 3, 5 and 7 elements, every leading dimension 2 larger than it must be. */
static void check_gemm(bench *t, lfuse__bstream *s, lfuse__gemm_desc d, double beta)
{
    enum { WORDS = 20000 };
    static double a[WORDS], bb[WORDS], c[WORDS], in[WORDS];
    size_t size = lfuse_type_size(d.type);
    lfuse__gemm_candidate candidate;
    lfuse__gemm_args args = { .alpha = 2, .beta = beta, .a_offset = 3 * size, .b_offset = 5 * size,
                              .c_offset = 7 * size };
    lfuse__bgemm *g;
    int count = 0;

    d.lda = (d.ta ? d.m : d.k) + 2, d.ldb = (d.tb ? d.k : d.n) + 2, d.ldc = d.n + 2;
    for (int64_t i = 0; i < WORDS * 8 / (int64_t)size; i++)
        put(a, d.type, i, NAN), put(bb, d.type, i, NAN), put(c, d.type, i, beta == 0 ? NAN : -1);
    for (int64_t i = 0; i < d.m; i++)
        for (int64_t l = 0; l < d.k; l++) put(a, d.type, 3 + (d.ta ? l * d.lda + i : i * d.lda + l), entry(i, l, 1));
    for (int64_t l = 0; l < d.k; l++)
        for (int64_t j = 0; j < d.n; j++) put(bb, d.type, 5 + (d.tb ? j * d.ldb + l : l * d.ldb + j), entry(l, j, 4));
    OK(b->gemm_candidates(t->dev, &d, 1, &candidate, &count));
    ck_assert_int_eq(count, 1);
    OK(b->gemm_prepare(t->dev, &d, &candidate, &g));
    OK(b->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof a, &args.a));
    OK(b->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof bb, &args.b));
    OK(b->alloc(t->dev, LFUSE__ALLOC_DEVICE, sizeof c, &args.c));
    OK(b->write(s, args.a, 0, a, sizeof a));
    OK(b->write(s, args.b, 0, bb, sizeof bb));
    OK(b->write(s, args.c, 0, c, sizeof c));
    OK(b->gemm_run(s, g, &args));
    read_all(s, args.c, 0, in, sizeof in);
    for (int64_t i = 0; i < d.m; i++)
        for (int64_t j = 0; j < d.n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < d.k; l++) sum += entry(i, l, 1) * entry(l, j, 4);
            sum = 2 * sum - beta;
            ck_assert_msg(get(in, d.type, 7 + i * d.ldc + j) == sum, "[%d, %d]: %g, not %g", (int)i, (int)j,
                          get(in, d.type, 7 + i * d.ldc + j), sum);
            put(in, d.type, 7 + i * d.ldc + j, get(c, d.type, 7 + i * d.ldc + j));
        }
    ck_assert_mem_eq(in, c, sizeof in); /* nothing else was written */
    args.a_offset++;
    REFUSED(LFUSE_ERR_UNSUPPORTED, b->gemm_run(s, g, &args));
    b->free(args.c);
    b->free(args.b);
    b->free(args.a);
    b->gemm_destroy(g);
}

static lfuse_status try_gemm(bench *t, lfuse__gemm_desc desc)
{
    lfuse__gemm_candidate candidate;
    int count;
    return b->gemm_candidates(t->dev, &desc, 1, &candidate, &count);
}

START_TEST(test_gemm)
{
    const lfuse__gemm_desc base = { .type = LFUSE_F32, .m = 17, .n = 33, .k = 29, .lda = 29, .ldb = 33, .ldc = 33 };
    lfuse__gemm_desc d = base;
    lfuse__facts f;
    lfuse__bstream *s;
    cl_command_queue queue;
    long programs;
    bench t;

    set_up(&t, _i);
    programs = layer.live("program");
    OK(b->facts(t.dev, &f));
    if (try_gemm(&t, base) == LFUSE_ERR_LIBRARY || try_gemm(&t, base) == LFUSE_ERR_UNSUPPORTED) {
        tear_down(&t);
        TEST_SKIP("%s", lfuse__error_message());
    }
    layer.arm("clBuildProgram", 1, 0, CL_OUT_OF_RESOURCES);
    REFUSED(LFUSE_ERR_DEVICE_MEMORY, b->gemm_prepare(t.dev, &base, &(lfuse__gemm_candidate){ .identity = "clblast" },
                                                     &(lfuse__bgemm *){ NULL }));
    layer.arm(NULL, 0, 0, 0);
    REFUSED(LFUSE_ERR_UNSUPPORTED, b->gemm_prepare(t.dev, &base, &(lfuse__gemm_candidate){ .identity = "other" },
                                                   &(lfuse__bgemm *){ NULL }));
    for (int form = 0; form < 4; form++) {
        d.ta = form & 1, d.tb = form & 2;
        check_gemm(&t, t.s, d, 0);
        check_gemm(&t, t.s, d, 3);
    }
    queue = queue_of(t.dev, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (queue != NULL) {
        OK(b->stream_wrap(t.dev, queue, &s));
        lfuse__cl.ReleaseCommandQueue(queue);
        check_gemm(&t, s, d, 0);
        b->stream_destroy(s);
    }
    d.type = LFUSE_F64;
    if (f.info.f64) check_gemm(&t, t.s, d, 1);
    else REFUSED(LFUSE_ERR_UNSUPPORTED, try_gemm(&t, d));
    d.type = LFUSE_F16;
    REFUSED(LFUSE_ERR_UNSUPPORTED, try_gemm(&t, d));
    d.type = LFUSE_BF16;
    REFUSED(LFUSE_ERR_UNSUPPORTED, try_gemm(&t, d));
    d = base, d.epilogue = LFUSE__EP_RELU;
    REFUSED(LFUSE_ERR_UNSUPPORTED, try_gemm(&t, d));
    if (f.info.svm) {
        lfuse__gemm_candidate c;
        lfuse__gemm_args args = { .alpha = 1 };
        lfuse__bgemm *g;
        int count;
        OK(b->gemm_candidates(t.dev, &base, 1, &c, &count));
        OK(b->gemm_prepare(t.dev, &base, &c, &g));
        OK(b->alloc(t.dev, LFUSE__ALLOC_UNIFIED, 8192, &args.a));
        args.b = args.c = args.a;
        REFUSED(LFUSE_ERR_UNSUPPORTED, b->gemm_run(t.s, g, &args));
        b->free(args.a);
        b->gemm_destroy(g);
    }
    /* CLBlast keeps its programs. */
    t.live += layer.live("program") - programs;
    tear_down(&t);
}
END_TEST

START_TEST(test_adopt)
{
    bench t, other;
    lfuse__bdevice *dev;
    lfuse__bstream *s;
    lfuse__bmem *m, *copied;
    lfuse__facts f;
    cl_context context;
    cl_int code;
    long live = layer.live(NULL);

    set_up(&t, _i);
    context = lfuse__cl.CreateContext(NULL, 1, &t.dev->device.id, NULL, NULL, &code);
    ck_assert_ptr_nonnull(context);
    OK(b->adopt(context, t.dev->device.id, &dev));
    lfuse__cl.ReleaseContext(context);
    OK(b->facts(dev, &f));
    ck_assert_int_eq(strncmp(f.info.name, "opencl:", 7), 0);
    OK(b->stream_create(dev, &s));
    OK(b->alloc(dev, LFUSE__ALLOC_DEVICE, 64, &m));
    REFUSED(LFUSE_ERR_INVALID, b->adopt(NULL, t.dev->device.id, &other.dev));
    REFUSED(LFUSE_ERR_INVALID, b->adopt(context, NULL, &other.dev));
    REFUSED(LFUSE_ERR_CONTEXT, b->adopt(context, &f, &other.dev));

    /* A second device object on the same context: what belongs to the context is copied directly. */
    OK(b->adopt(context, t.dev->device.id, &other.dev));
    OK(b->alloc(other.dev, LFUSE__ALLOC_DEVICE, 64, &copied));
    OK(b->copy_peer(s, m, 0, other.dev, copied, 0, 64));
    OK(b->stream_sync(s));
    b->free(copied);
    b->close(other.dev);
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, 64, &copied));
    REFUSED(LFUSE_ERR_UNSUPPORTED, b->copy_peer(s, m, 0, t.dev, copied, 0, 64));
    b->free(copied);
    b->free(m);
    b->stream_destroy(s);
    b->close(dev);
    tear_down(&t);
    ck_assert_int_eq(layer.live(NULL), live);
}
END_TEST

/* NVIDIA's driver refuses everything after a kernel's fault; elsewhere the same code is an error like others. */
START_TEST(test_lost)
{
    bench t;

    set_up(&t, _i);
    t.dev->device.nvidia = false;
    layer.arm("clFinish", 1, 1, CL_OUT_OF_RESOURCES);
    REFUSED(LFUSE_ERR_DEVICE_MEMORY, b->stream_sync(t.s));
    OK(b->pending(t.dev));
    t.dev->device.nvidia = true;
    layer.arm("clFinish", 1, 0, CL_OUT_OF_RESOURCES);
    REFUSED(LFUSE_ERR_DEVICE_MEMORY, b->stream_sync(t.s));
    OK(b->pending(t.dev));
    layer.arm("clFinish", 1, 1, CL_OUT_OF_RESOURCES);
    REFUSED(LFUSE_ERR_DEVICE_LOST, b->stream_sync(t.s));
    layer.arm(NULL, 0, 0, 0);
    REFUSED(LFUSE_ERR_DEVICE_LOST, b->pending(t.dev));
    tear_down(&t);
}
END_TEST

START_TEST(test_graph)
{
    bench t;
    lfuse__bgraph *g = NULL;

    set_up(&t, _i);
    REFUSED(LFUSE_ERR_UNSUPPORTED, b->graph_begin(t.s));
    REFUSED(LFUSE_ERR_UNSUPPORTED, b->graph_end(t.s, &g));
    REFUSED(LFUSE_ERR_UNSUPPORTED, b->graph_launch(t.s, NULL));
    b->graph_destroy(NULL);
    tear_down(&t);
}
END_TEST

/*
 * Every slot of a small piece of work, each with its way out. Returns the first failure; what it made is released
 * either way. With LFUSE_OK *sum is what the work computes.
 */
typedef struct scene {
    lfuse__bdevice *dev;
    lfuse__bstream *s;
    lfuse__bmem *x, *y, *pinned, *unified;
    lfuse__bprogram *program, *loaded;
    lfuse__bkernel *kernel;
    lfuse__bevent *first, *last;
    lfuse__strbuf log, binary;
    float in[64], ones[64]; /* here because copies go on after a failure */
} scene;

static lfuse_status scene_make(scene *c, int device)
{
    lfuse__facts f;

    LFUSE__TRY(b->open(device, &c->dev));
    LFUSE__TRY(b->facts(c->dev, &f));
    LFUSE__TRY(b->stream_create(c->dev, &c->s));
    LFUSE__TRY(b->alloc(c->dev, LFUSE__ALLOC_DEVICE, 256, &c->x));
    LFUSE__TRY(b->alloc(c->dev, LFUSE__ALLOC_DEVICE, 256, &c->y));
    LFUSE__TRY(b->alloc(c->dev, LFUSE__ALLOC_PINNED, 256, &c->pinned));
    if (f.info.svm) LFUSE__TRY(b->alloc(c->dev, LFUSE__ALLOC_UNIFIED, 256, &c->unified));
    LFUSE__TRY(b->event_create(c->dev, &c->first));
    LFUSE__TRY(b->event_create(c->dev, &c->last));
    LFUSE__TRY(b->program_build(c->dev, source, &c->log, &c->program));
    LFUSE__TRY(b->program_binary(c->program, &c->binary));
    LFUSE__TRY(b->program_load(c->dev, c->binary.data, c->binary.length, &c->loaded));
    return b->kernel_create(c->loaded, "axpy", &c->kernel);
}

static lfuse_status scene_work(scene *c, float *sum)
{
    lfuse__bmem *middle = c->unified != NULL ? c->unified : c->x;
    double us;

    for (int i = 0; i < 64; i++) c->ones[i] = 1.0f;
    LFUSE__TRY(b->event_record(c->first, c->s));
    LFUSE__TRY(b->write(c->s, c->x, 0, c->ones, sizeof c->ones));
    LFUSE__TRY(b->fill(c->s, c->y, 0, 0, 4, 256));
    if (middle != c->x) LFUSE__TRY(b->copy(c->s, middle, 0, c->x, 0, 256));
    LFUSE__TRY(launch(c->s, c->kernel, 64, (lfuse__bmem *[]){ c->y, middle }, 2, (uint64_t[]){ 5, 0 }, 2));
    LFUSE__TRY(b->copy(c->s, c->pinned, 0, c->y, 0, 256));
    LFUSE__TRY(b->copy(c->s, c->x, 0, c->pinned, 0, 256));
    LFUSE__TRY(b->event_record(c->last, c->s));
    LFUSE__TRY(b->event_wait(c->last, c->s));
    LFUSE__TRY(b->read(c->s, c->x, 0, c->in, sizeof c->in));
    LFUSE__TRY(b->stream_sync(c->s));
    LFUSE__TRY(b->stream_query(c->s));
    LFUSE__TRY(b->event_elapsed(c->first, c->last, &us));
    *sum = 0;
    for (int i = 0; i < 64; i++) *sum += c->in[i];
    return LFUSE_OK;
}

static void scene_end(scene *c)
{
    if (c->s != NULL) lfuse__cl.Finish(c->s->queue);
    if (c->kernel != NULL) b->kernel_destroy(c->kernel);
    if (c->loaded != NULL) b->program_destroy(c->loaded);
    if (c->program != NULL) b->program_destroy(c->program);
    if (c->last != NULL) b->event_destroy(c->last);
    if (c->first != NULL) b->event_destroy(c->first);
    if (c->unified != NULL) b->free(c->unified);
    if (c->pinned != NULL) b->free(c->pinned);
    if (c->y != NULL) b->free(c->y);
    if (c->x != NULL) b->free(c->x);
    if (c->s != NULL) b->stream_destroy(c->s);
    if (c->dev != NULL) b->close(c->dev);
    lfuse__strbuf_free(&c->binary);
    lfuse__strbuf_free(&c->log);
}

static lfuse_status play(int device, float *sum)
{
    scene c = { .log = LFUSE__STRBUF_INIT, .binary = LFUSE__STRBUF_INIT };
    lfuse_status status = scene_make(&c, device);

    if (status == LFUSE_OK) status = scene_work(&c, sum);
    layer.arm(NULL, 0, 0, 0);
    scene_end(&c);
    return status;
}

static void check_failures(int device, int always)
{
    bool reached = true;

    for (long n = 1; reached; n++) {
        long live = layer.live(NULL);
        float sum = -1;
        lfuse_status status;

        layer.arm("any", n, always, CL_OUT_OF_HOST_MEMORY);
        status = play(device, &sum);
        reached = layer.fired() > 0;
        /* A refused question about an optional property has no consequence but a fact that reads "no". */
        ck_assert_msg(status == LFUSE_OK || reached, "n %ld: status %d: %s", n, (int)status, lfuse__error_message());
        ck_assert_msg(status != LFUSE_OK || sum == 320.0f, "n %ld: sum %g", n, (double)sum);
        ck_assert_msg(layer.live(NULL) == live, "n %ld: %ld objects left", n, layer.live(NULL) - live);
    }
    ck_assert_msg(play(device, &(float){ 0 }) == LFUSE_OK, "%s", lfuse__error_message());
}

START_TEST(test_failures_once)
{
    check_failures(_i, 0);
}
END_TEST

START_TEST(test_failures_always)
{
    check_failures(_i, 1);
}
END_TEST

typedef struct worker {
    pthread_t thread;
    lfuse__bdevice *dev;
    lfuse__bprogram *program;
    bool right;
} worker;

static void *work(void *data)
{
    worker *w = data;
    lfuse__bstream *s;
    lfuse__bkernel *k;
    lfuse__bmem *y;
    float in[64];

    if (b->stream_create(w->dev, &s) || b->kernel_create(w->program, "twice", &k) ||
        b->alloc(w->dev, LFUSE__ALLOC_DEVICE, sizeof in, &y) || b->fill(s, y, 0, 0, 4, sizeof in))
        return NULL;
    w->right = true;
    for (int i = 0; i < 20; i++) w->right &= launch(s, k, 64, &y, 1, NULL, 0) == LFUSE_OK;
    w->right &= b->read(s, y, 0, in, sizeof in) == LFUSE_OK && b->stream_sync(s) == LFUSE_OK;
    for (int i = 0; i < 64; i++) w->right &= in[i] == 1048575.0f;
    b->free(y);
    b->kernel_destroy(k);
    b->stream_destroy(s);
    return NULL;
}

START_TEST(test_threads)
{
    worker workers[4];
    bench t;

    set_up(&t, _i);
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){ .dev = t.dev, .program = t.program };
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < 4; i++) ck_assert(workers[i].right);
    tear_down(&t);
}
END_TEST

static bool load_layer(void)
{
    void *library;

    setenv("OPENCL_LAYERS", LFUSE_TEST_LAYER, 1);
    if (lfuse__cl_load() != LFUSE_OK) return false;
    library = dlopen(LFUSE_TEST_LAYER, RTLD_NOW);
    if (library == NULL) return false;
    *(void **)&layer.arm = dlsym(library, "lfuse_layer_arm");
    *(void **)&layer.fired = dlsym(library, "lfuse_layer_fired");
    *(void **)&layer.calls = dlsym(library, "lfuse_layer_calls");
    *(void **)&layer.live = dlsym(library, "lfuse_layer_live");
    return true;
}

/* Counted past the backend, whose own list the first test makes. */
static int count_devices(void)
{
    cl_platform_id platforms[16];
    cl_uint n = 0, count = 0, sum = 0;

    if (lfuse__cl.GetPlatformIDs(16, platforms, &n) != CL_SUCCESS) return 0;
    for (cl_uint i = 0; i < n && i < 16; i++)
        if (lfuse__cl.GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &count) == CL_SUCCESS) sum += count;
    return (int)sum;
}

START_TEST(test_no_device)
{
    TEST_SKIP("no OpenCL device behind the test layer");
}
END_TEST

static Suite *suite_opencl(void)
{
    Suite *suite = suite_create("opencl backend");
    TCase *c = tcase_create("slots");

    tcase_set_timeout(c, 600);
    suite_add_tcase(suite, c);
    device_count = load_layer() ? count_devices() : 0;
    if (device_count == 0 || layer.calls("clGetPlatformIDs") == 0) {
        tcase_add_test(c, test_no_device);
        return suite;
    }
    tcase_add_test(c, test_enumerate);
    tcase_add_test(c, test_facts);
    tcase_add_loop_test(c, test_memory, 0, device_count);
    tcase_add_loop_test(c, test_wrap, 0, device_count);
    tcase_add_loop_test(c, test_launch, 0, device_count);
    tcase_add_loop_test(c, test_program, 0, device_count);
    tcase_add_loop_test(c, test_stream, 0, device_count);
    tcase_add_loop_test(c, test_event, 0, device_count);
    tcase_add_loop_test(c, test_gemm, 0, device_count);
    tcase_add_loop_test(c, test_adopt, 0, device_count);
    tcase_add_loop_test(c, test_lost, 0, device_count);
    tcase_add_loop_test(c, test_graph, 0, device_count);
    tcase_add_loop_test(c, test_threads, 0, device_count);
    tcase_add_loop_test(c, test_failures_once, 0, device_count);
    tcase_add_loop_test(c, test_failures_always, 0, device_count);
    return suite;
}

TEST_MAIN(CK_NOFORK, suite_opencl)
