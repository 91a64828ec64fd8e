/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists whose members are the caller's own cl_mems, more than a launch takes blocks, of every kind that the host
 * reaches too: where kernels use plain addresses the driver does not know which buffers they touch. On every device.
 */
#include "backends/opencl/internal.h"
#include "libfuse.h"
#include "tests/backends/opencl_devices.h"
#include "tests/backends/sub_buffer.h"
#include "tests/support/main.h"

enum { N = 1000, MEMBERS = 40, ROUNDS = 4 };

#define CL(call) ck_assert_int_eq(lfuse__cl.call, CL_SUCCESS)

typedef struct scene {
    cl_context context;
    cl_command_queue queue;
    lfuse_device *device;
    lfuse_stream *stream;
    cl_mem buffers[MEMBERS];
    float *host[MEMBERS]; /* of CL_MEM_USE_HOST_PTR */
    lfuse_tensor *tensors[MEMBERS];
    lfuse_list *list;
} scene;

/* Kind of member i: plain, the driver's host memory, the caller's host memory, the second half of a larger buffer. */
static void make_member(scene *s, int i)
{
    static const cl_mem_flags flags[4] = { CL_MEM_READ_WRITE, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                           CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, CL_MEM_READ_WRITE };
    const size_t bytes = N * sizeof(float), origin = 4096;
    cl_int code;

    if (i % 4 == 2) {
        s->host[i] = aligned_alloc(4096, 4096);
        ck_assert_ptr_nonnull(s->host[i]);
    }
    s->buffers[i] = lfuse__cl.CreateBuffer(s->context, flags[i % 4], i % 4 == 3 ? origin + bytes : bytes, s->host[i],
                                           &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    if (i % 4 == 3) {
        cl_mem part = sub_buffer(s->buffers[i], origin, bytes);
        CL(ReleaseMemObject(s->buffers[i]));
        s->buffers[i] = part;
    }
    OK(lfuse_tensor_wrap(s->device, LFUSE_MEMORY_NATIVE, (uint64_t)(uintptr_t)s->buffers[i], 0, F32(N), NULL, 0,
                         &s->tensors[i]));
}

static void set_up(scene *s, cl_device_id id)
{
    cl_int code;

    *s = (scene){ 0 };
    s->context = lfuse__cl.CreateContext(NULL, 1, &id, NULL, NULL, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    s->queue = lfuse__cl.CreateCommandQueue(s->context, id, 0, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    OK(lfuse_device_adopt("opencl", s->context, id, &s->device));
    OK(lfuse_stream_wrap(s->device, s->queue, &s->stream));
    for (int i = 0; i < MEMBERS; i++) make_member(s, i);
    OK(lfuse_list_create(s->device, LFUSE_F32, MEMBERS, s->tensors, &s->list));
}

static void tear_down(scene *s)
{
    lfuse_list_destroy(s->list);
    for (int i = 0; i < MEMBERS; i++) lfuse_tensor_destroy(s->tensors[i]);
    lfuse_stream_destroy(s->stream);
    lfuse_device_close(s->device);
    for (int i = 0; i < MEMBERS; i++) CL(ReleaseMemObject(s->buffers[i]));
    for (int i = 0; i < MEMBERS; i++) free(s->host[i]);
    CL(ReleaseCommandQueue(s->queue));
    CL(ReleaseContext(s->context));
}

static float value(int round, int member, int element)
{
    return (float)(round * 100000 + member * 1000 + element);
}

/* Members are written and read by mapping and by commands in turn. */
static void write_member(scene *s, int round, int i)
{
    float host[N];
    const bool map = (i / 4 + round) % 2;
    cl_int code;

    for (int e = 0; e < N; e++) host[e] = value(round, i, e);
    if (!map) {
        CL(EnqueueWriteBuffer(s->queue, s->buffers[i], CL_TRUE, 0, sizeof host, host, 0, NULL, NULL));
        return;
    }
    float *at = lfuse__cl.EnqueueMapBuffer(s->queue, s->buffers[i], CL_TRUE, CL_MAP_WRITE, 0, sizeof host, 0, NULL,
                                           NULL, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    memcpy(at, host, sizeof host);
    CL(EnqueueUnmapMemObject(s->queue, s->buffers[i], at, 0, NULL, NULL));
}

static void check_member(scene *s, int round, int i)
{
    float host[N];
    const float *at = host;
    const bool map = (i / 4 + round) % 2 == 0;
    cl_int code = CL_SUCCESS;

    if (map)
        at = lfuse__cl.EnqueueMapBuffer(s->queue, s->buffers[i], CL_TRUE, CL_MAP_READ, 0, sizeof host, 0, NULL, NULL,
                                        &code);
    else
        code = lfuse__cl.EnqueueReadBuffer(s->queue, s->buffers[i], CL_TRUE, 0, sizeof host, host, 0, NULL, NULL);
    ck_assert_int_eq(code, CL_SUCCESS);
    for (int e = 0; e < N; e++)
        ck_assert_msg(at[e] == value(round, i, e) + 3, "round %d, member %d, element %d: %g, not %g", round, i, e,
                      (double)at[e], (double)value(round, i, e) + 3);
    if (map) CL(EnqueueUnmapMemObject(s->queue, s->buffers[i], (void *)at, 0, NULL, NULL));
}

static int find_all(void)
{
    setenv("LFUSE_ADDRESSES", "all", 1);
    find_devices();
    return devices;
}

TEST_CASE("opencl")

TEST_LOOP(members_of_every_kind, 0, find_all())
{
    scene s;

    set_up(&s, ids[_i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MEMBERS; i++) write_member(&s, round, i);
        OK(lfuse_foreach_add(s.stream, s.list, s.list, lfuse_operand_scalar(1), 1));
        OK(lfuse_foreach_add(s.stream, s.list, s.list, lfuse_operand_scalar(2), 1));
        for (int i = 0; i < MEMBERS; i++) check_member(&s, round, i);
    }
    tear_down(&s);
}

/* A member is let go of right behind a run, by us and by the caller: the run still has it. */
TEST_LOOP(members_released_behind_a_run, 0, devices)
{
    scene s;

    set_up(&s, ids[_i]);
    for (int i = 0; i < MEMBERS; i++) write_member(&s, 0, i);
    for (int k = 0; k < 20; k++) OK(lfuse_foreach_add(s.stream, s.list, s.list, lfuse_operand_scalar(0), 1));
    OK(lfuse_foreach_add(s.stream, s.list, s.list, lfuse_operand_scalar(3), 1));
    lfuse_list_destroy(s.list);
    s.list = NULL;
    for (int i = 1; i < MEMBERS; i++) {
        lfuse_tensor_destroy(s.tensors[i]);
        s.tensors[i] = NULL;
    }
    for (int i = 0; i < MEMBERS; i++) check_member(&s, 0, i);
    tear_down(&s);
}

TEST_LOOP(no_device, 0, !devices)
{
    TEST_SKIP("no OpenCL device");
}

TEST_SUITE("lists of foreign OpenCL buffers", CK_NOFORK)
