/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's own OpenCL contexts, buffers, queues and shared pointers, on every OpenCL device found. */
#include "backends/opencl/internal.h"
#include "libfuse.h"
#include "tests/backends/opencl_devices.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { N = 1000 };

#define CL(call) ck_assert_int_eq(lfuse__cl.call, CL_SUCCESS)

static cl_context make_context(cl_device_id id)
{
    cl_int code;
    cl_context context = lfuse__cl.CreateContext(NULL, 1, &id, NULL, NULL, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    return context;
}

static cl_command_queue make_queue(cl_context context, cl_device_id id, cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue queue = lfuse__cl.CreateCommandQueue(context, id, properties, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    return queue;
}

static cl_mem make_buffer(cl_context context)
{
    cl_int code;
    cl_mem buffer = lfuse__cl.CreateBuffer(context, CL_MEM_READ_WRITE, N * sizeof(float), NULL, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    return buffer;
}

static lfuse_device *adopt(cl_context context, cl_device_id id)
{
    lfuse_device *device;
    OK(lfuse_device_adopt("opencl", context, id, &device));
    return objects_own(device, objects_destroy_device);
}

static lfuse_tensor *wrap(lfuse_device *device, cl_mem buffer, int64_t elements, int64_t offset)
{
    lfuse_tensor *t;
    OK(lfuse_tensor_wrap(device, LFUSE_MEMORY_NATIVE, (uint64_t)(uintptr_t)buffer, 0, LFUSE_F32, 1, &elements, NULL,
                         offset, &t));
    return own_tensor(t);
}

/* y = 2 x + x, in three dependent kernels, so that an order that is not kept is seen. */
static lfuse_plan *make_plan(lfuse_device *device, int64_t elements)
{
    lfuse_plan_options unfused = {.disable = LFUSE_NO_POINTWISE_FUSION};
    lfuse_graph *g = new_graph();
    lfuse_value v = lfuse_input(g, "x", LFUSE_F32, 1, &elements);
    lfuse_output(g, "y", lfuse_add(lfuse_mul(v, lfuse_constant(g, 2)), lfuse_abs(v)));
    return new_plan(device, g, &unfused);
}

static void run_on_queue(cl_context context, cl_device_id id, cl_command_queue queue)
{
    lfuse_device *device = adopt(context, id);
    lfuse_stream *stream;
    cl_mem in = make_buffer(context), out = make_buffer(context);
    float host[N];
    OK(lfuse_stream_wrap(device, queue, &stream));
    objects_own(stream, objects_destroy_stream);
    ck_assert_ptr_eq(lfuse_stream_native(stream), queue);
    lfuse_tensor *x = wrap(device, in, N, 0), *y = wrap(device, out, N, 0);
    lfuse_plan *plan = make_plan(device, N);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) host[i] = (float)(i + round);
        CL(EnqueueWriteBuffer(queue, in, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
        RUN(plan, stream, BIND("x", x), BIND("y", y));
        OK(lfuse_stream_synchronize(stream));
        CL(EnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
        for (int i = 0; i < N; i++) ck_assert_float_eq(host[i], 3.0f * (float)(i + round));
    }
    drop_all();
    CL(ReleaseMemObject(in));
    CL(ReleaseMemObject(out));
}

/* y = x + 1 and z = 2 w of half as many elements: two kernels in one launch. */
static lfuse_plan *make_bundle(lfuse_device *device)
{
    lfuse_graph *g = new_graph();
    lfuse_output(g, "y", lfuse_add(lfuse_input(g, "x", F32(N)), lfuse_constant(g, 1)));
    lfuse_output(g, "z", lfuse_mul(lfuse_input(g, "w", F32(N / 2)), lfuse_constant(g, 2)));
    lfuse_plan *plan = new_plan(device, g, NULL);
    ck_assert_msg(strstr(lfuse_plan_text(plan), "(bundle ") != NULL, "%s", lfuse_plan_text(plan));
    return plan;
}

enum { X, W, Y, Z, BUFFERS, ROUNDS = 2 };

/* One instance over other buffers in every round: what differs is the buffer alone, as all offsets are 0. */
static void run_bundle(cl_mem (*buffers)[BUFFERS], cl_command_queue queue, lfuse_device *device)
{
    lfuse_stream *stream;
    lfuse_instance *instance = NULL;
    OK(lfuse_stream_wrap(device, queue, &stream));
    objects_own(stream, objects_destroy_stream);
    lfuse_plan *plan = make_bundle(device);
    for (int round = 0; round < ROUNDS; round++) {
        static const char *const names[BUFFERS] = {"x", "w", "y", "z"};
        lfuse_binding b[BUFFERS];
        lfuse_tensor *t[BUFFERS];
        float host[N];
        for (int k = 0; k < BUFFERS; k++) {
            t[k] = wrap(device, buffers[round][k], k == X || k == Y ? N : N / 2, 0);
            OK(lfuse_tensor_fill(t[k], stream, 10 * round + k));
            b[k] = lfuse_bind_tensor(names[k], t[k]);
        }
        if (!round) OK(lfuse_instance_create(plan, stream, b, BUFFERS, &instance));
        OK(lfuse_instance_run(instance, b, BUFFERS));
        OK(lfuse_stream_synchronize(stream));
        OK(lfuse_tensor_read(t[Y], NULL, host));
        for (int i = 0; i < N; i++) ck_assert_float_eq(host[i], (float)(10 * round + X + 1));
        OK(lfuse_tensor_read(t[Z], NULL, host));
        for (int i = 0; i < N / 2; i++) ck_assert_float_eq(host[i], (float)(2 * (10 * round + W)));
    }
    lfuse_instance_destroy(instance);
}

TEST_CASE("opencl", .before = find_devices)

TEST(bundles_follow_buffers)
{
    if (!devices) TEST_SKIP("no OpenCL device");
    for (int d = 0; d < devices; d++) {
        cl_context context = make_context(ids[d]);
        cl_command_queue queue = make_queue(context, ids[d], 0);
        cl_mem buffers[ROUNDS][BUFFERS];
        for (int i = 0; i < ROUNDS * BUFFERS; i++) buffers[i / BUFFERS][i % BUFFERS] = make_buffer(context);
        run_bundle(buffers, queue, adopt(context, ids[d]));
        drop_all();
        for (int i = 0; i < ROUNDS * BUFFERS; i++) CL(ReleaseMemObject(buffers[i / BUFFERS][i % BUFFERS]));
        CL(ReleaseCommandQueue(queue));
        CL(ReleaseContext(context));
    }
}

TEST(buffers_and_queues)
{
    if (!devices) TEST_SKIP("no OpenCL device");
    for (int d = 0; d < devices; d++) {
        cl_context context = make_context(ids[d]);
        cl_command_queue queue = make_queue(context, ids[d], 0);
        run_on_queue(context, ids[d], queue);
        CL(ReleaseCommandQueue(queue));
        cl_command_queue_properties supported = 0;
        CL(GetDeviceInfo(ids[d], CL_DEVICE_QUEUE_PROPERTIES, sizeof supported, &supported, NULL));
        if (supported & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
            queue = make_queue(context, ids[d], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
            run_on_queue(context, ids[d], queue);
            CL(ReleaseCommandQueue(queue));
        }
        CL(ReleaseContext(context));
    }
}

TEST(other_context_refused)
{
    if (!devices) TEST_SKIP("no OpenCL device");
    for (int d = 0; d < devices; d++) {
        cl_context ours = make_context(ids[d]), theirs = make_context(ids[d]);
        cl_command_queue queue = make_queue(theirs, ids[d], 0);
        cl_mem buffer = make_buffer(theirs);
        lfuse_device *device = adopt(ours, ids[d]);
        lfuse_stream *stream;
        lfuse_tensor *t;
        ck_assert_int_eq(lfuse_stream_wrap(device, queue, &stream), LFUSE_ERR_CONTEXT);
        ck_assert_int_eq(lfuse_tensor_wrap(device, LFUSE_MEMORY_NATIVE, (uint64_t)(uintptr_t)buffer, 0, F32(N), NULL, 0,
                                           &t), LFUSE_ERR_CONTEXT);
        drop(device);
        CL(ReleaseMemObject(buffer));
        CL(ReleaseCommandQueue(queue));
        CL(ReleaseContext(ours));
        CL(ReleaseContext(theirs));
    }
}

/* Two tensors over one buffer: side by side they run, overlapping they are refused. */
TEST(overlap_in_one_buffer)
{
    if (!devices) TEST_SKIP("no OpenCL device");
    for (int d = 0; d < devices; d++) {
        cl_context context = make_context(ids[d]);
        cl_mem buffer = make_buffer(context);
        lfuse_device *device = adopt(context, ids[d]);
        lfuse_stream *stream = new_stream(device);
        lfuse_tensor *low = wrap(device, buffer, N / 2, 0), *high = wrap(device, buffer, N / 2, N / 2),
                     *middle = wrap(device, buffer, N / 2, N / 4), *beyond;
        lfuse_plan *plan = make_plan(device, N / 2);
        lfuse_binding bindings[2] = {BIND("x", low), BIND("y", high)};
        OK(lfuse_tensor_fill(low, NULL, 1));
        OK(lfuse_plan_run(plan, stream, bindings, 2));
        bindings[1] = BIND("y", middle);
        ck_assert_int_eq(lfuse_plan_run(plan, stream, bindings, 2), LFUSE_ERR_OVERLAP);
        ck_assert_int_eq(lfuse_tensor_wrap(device, LFUSE_MEMORY_NATIVE, (uint64_t)(uintptr_t)buffer, 0, F32(N), NULL, 1,
                                           &beyond), LFUSE_ERR_SHAPE);
        OK(lfuse_stream_synchronize(stream));
        drop_all();
        CL(ReleaseMemObject(buffer));
        CL(ReleaseContext(context));
    }
}

TEST(shared_pointer)
{
    int ran = 0;
    for (int d = 0; d < devices; d++) {
        cl_context context = make_context(ids[d]);
        lfuse_device *device = adopt(context, ids[d]);
        lfuse_device_info info = info_of(device);
        if (info.svm && lfuse__cl.SVMAlloc) {
            lfuse_stream *stream = new_stream(device);
            lfuse_tensor *x, *y;
            float host[N];
            float *memory = lfuse__cl.SVMAlloc(context, CL_MEM_READ_WRITE, 2 * N * sizeof(float), 0);
            ck_assert_ptr_nonnull(memory);
            OK(lfuse_tensor_wrap(device, LFUSE_MEMORY_POINTER, (uint64_t)(uintptr_t)memory, N * sizeof(float),
                                 F32(N), NULL, 0, &x));
            OK(lfuse_tensor_wrap(device, LFUSE_MEMORY_POINTER, (uint64_t)(uintptr_t)(memory + N), N * sizeof(float),
                                 F32(N), NULL, 0, &y));
            OK(lfuse_tensor_fill(x, NULL, 4));
            lfuse_plan *plan = make_plan(device, N);
            RUN(plan, stream, BIND("x", x), BIND("y", y));
            OK(lfuse_stream_synchronize(stream));
            OK(lfuse_tensor_read(y, NULL, host));
            for (int i = 0; i < N; i++) ck_assert_float_eq(host[i], 12);
            drop(x), drop(y), drop(plan), drop(stream);
            lfuse__cl.SVMFree(context, memory);
            ran++;
        }
        drop_all();
        CL(ReleaseContext(context));
    }
    if (!ran) TEST_SKIP("no OpenCL device with shared virtual memory");
}

TEST_SUITE("foreign OpenCL objects", CK_NOFORK)
