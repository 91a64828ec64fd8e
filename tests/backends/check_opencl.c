/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL backend slot by slot, on every OpenCL device, behind the layer of tests/layer: what was called is counted,
 * and what was created and not released is seen.
 */
#include "tests/backends/opencl_rig.h"
#include "tests/backends/sub_buffer.h"

OPENCL_SLOTS(.teardown = end)

/* Must be the first test: the list of devices is kept once it was read. */
TEST_LOOP(test_enumerate, 0, device_count > 0)
{
    char reason[256] = "?";
    int count = -1;

    layer.arm("clGetDeviceIDs", 1, 0, CL_OUT_OF_HOST_MEMORY);
    FAILS(LFUSE_ERR_MEMORY, b->enumerate(&count, reason, sizeof reason));
    ck_assert_int_eq(count, -1);
    layer.arm(NULL, 0, 0, 0);
    OK(b->enumerate(&count, reason, sizeof reason));
    ck_assert_int_eq(count, device_count);
    FAILS(LFUSE_ERR_NO_DEVICE, b->describe(count, &(lfuse__facts){ 0 }));
    FAILS(LFUSE_ERR_NO_DEVICE, b->describe(-1, &(lfuse__facts){ 0 }));
}

TEST_LOOP(test_facts, 0, device_count > 0)
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
        if (!strcmp(LFUSE_TEST_ADDRESSES, "never")) ck_assert(!g.addresses);
        g.addresses = false; /* is tried when a device is opened */
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

static void check_memory(lfuse__alloc_kind kind)
{
    enum { BYTES = 4096 };
    unsigned char out[BYTES], in[BYTES];
    lfuse__bmem *m, *other;
    lfuse__mem_info info;

    OK(b->alloc(t.dev, kind, BYTES, &m));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, BYTES, &other));
    b->mem_info(m, &info);
    ck_assert_uint_eq(info.bytes, BYTES);
    for (int i = 0; i < BYTES; i++) out[i] = (unsigned char)(i * 7 + 1);
    OK(b->write(t.s, m, 0, out, BYTES));
    OK(b->copy(t.s, other, 100, m, 50, 1000));
    OK(b->copy(t.s, m, 2000, other, 100, 1000));
    for (unsigned size = 1; size <= 8; size *= 2)
        OK(b->fill(t.s, m, 3200 + 64 * size, 0x8877665544332211u, size, 64));
    read_all(t.s, m, 0, in, BYTES);
    memmove(out + 2000, out + 50, 1000);
    for (unsigned size = 1; size <= 8; size *= 2)
        for (unsigned i = 0; i < 64; i++) out[3200 + 64 * size + i] = (unsigned char)(0x11 * (i % size + 1));
    ck_assert_mem_eq(in, out, BYTES);
    OK(b->write(t.s, m, 0, NULL, 0));
    b->free(other);
    b->free(m);
}

TEST_LOOP(test_memory, 0, device_count)
{
    lfuse__facts f;
    lfuse__bmem *m, *d;
    lfuse__mem_info info;
    uint64_t before, after, total;
    float in[16];

    set_up(&t, _i);
    OK(b->facts(t.dev, &f));
    OK(b->memory(t.dev, &before, &total));
    check_memory(LFUSE__ALLOC_DEVICE);
    if (f.info.svm) check_memory(LFUSE__ALLOC_UNIFIED);
    else FAILS(LFUSE_ERR_UNSUPPORTED, b->alloc(t.dev, LFUSE__ALLOC_UNIFIED, 64, &m));

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
    FAILS(LFUSE_ERR_UNSUPPORTED, launch(t.s, t.twice, 16, &m, 1, NULL, 0));
    b->free(d);
    b->free(m);
    OK(b->memory(t.dev, &after, &total));
    ck_assert_uint_eq(after, before);

    layer.arm("clCreateBuffer", 1, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    FAILS(LFUSE_ERR_DEVICE_MEMORY, b->alloc(t.dev, LFUSE__ALLOC_DEVICE, 64, &m));
    layer.arm("clEnqueueWriteBuffer", 1, 0, CL_OUT_OF_RESOURCES);
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, 64, &m));
    FAILS(LFUSE_ERR_DEVICE_MEMORY, b->write(t.s, m, 0, in, 64));
    layer.arm(NULL, 0, 0, 0);
    OK(b->pending(t.dev));
    b->free(m);
}

/*
 * y += 2 x through one kernel, x each time somewhere else; the layer refuses arguments taken back from shared memory.
 */
TEST_LOOP(test_kinds_by_turns, 0, device_count)
{
    enum { NONE, BUFFER, SHARED };
    static const int turns[] = { NONE, SHARED, BUFFER, SHARED, SHARED, NONE, BUFFER, NONE, SHARED, BUFFER };
    static const uint64_t words[] = { 2, 0 };
    float ones[4] = { 1, 1, 1, 1 }, threes[4] = { 3, 3, 3, 3 }, in[4], sum = 0;
    lfuse__bmem *y, *x[3] = { NULL };
    lfuse__facts f;

    set_up(&t, _i);
    OK(b->facts(t.dev, &f));
    if (!f.info.svm) TEST_SKIP("%s has no shared memory", f.info.name);
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, 16, &y));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, 16, &x[BUFFER]));
    OK(b->alloc(t.dev, LFUSE__ALLOC_UNIFIED, 16, &x[SHARED]));
    OK(b->fill(t.s, y, 0, 0, 4, 16));
    OK(b->write(t.s, x[BUFFER], 0, ones, 16));
    OK(b->write(t.s, x[SHARED], 0, threes, 16));
    long made = layer.calls("clCreateKernel");
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        OK(launch(t.s, t.axpy, 4, (lfuse__bmem *[]){ y, x[turns[i]] }, 2, words, 2));
        sum += turns[i] == SHARED ? 6 : 2;
        read_all(t.s, y, 0, in, sizeof in);
        for (int k = 0; k < 4; k++) ck_assert_msg(in[k] == sum, "turn %zu: %g, not %g", i, in[k], sum);
    }
    ck_assert_int_eq(layer.calls("clCreateKernel") - made, 3); /* as often as kinds of memory change */

    OK(launch(t.s, t.axpy, 4, (lfuse__bmem *[]){ y, x[SHARED] }, 2, words, 2));
    layer.arm("clCreateKernel", 1, 0, CL_OUT_OF_HOST_MEMORY);
    FAILS(LFUSE_ERR_MEMORY, launch(t.s, t.axpy, 4, (lfuse__bmem *[]){ y, x[BUFFER] }, 2, words, 2));
    layer.arm(NULL, 0, 0, 0);
    OK(launch(t.s, t.axpy, 4, (lfuse__bmem *[]){ y, x[BUFFER] }, 2, words, 2));
    read_all(t.s, y, 0, in, sizeof in);
    ck_assert(in[3] == sum + 8);
    b->free(x[SHARED]);
    b->free(x[BUFFER]);
    b->free(y);
}

TEST_LOOP(test_wrap, 0, device_count)
{
    bench other;
    lfuse__bmem *m, *part;
    lfuse__mem_info info;
    lfuse__facts f;
    float values[2048], in[4];
    cl_int code;

    set_up(&t, _i);
    set_up(&other, _i);
    OK(b->facts(t.dev, &f));
    cl_mem buffer = lfuse__cl.CreateBuffer(t.dev->context, CL_MEM_READ_WRITE, sizeof values, NULL, &code);
    ck_assert_ptr_nonnull(buffer);
    OK(b->wrap(t.dev, LFUSE_MEMORY_NATIVE, HANDLE(buffer), 0, &m));
    b->mem_info(m, &info);
    ck_assert_uint_eq(info.bytes, sizeof values);
    ck_assert_uint_eq(info.space, f.addresses ? 0 : HANDLE(buffer));
    ck_assert(f.addresses ? info.address != 0 : info.address == 0);
    uint64_t address = info.address;
    FAILS(LFUSE_ERR_SHAPE, b->wrap(t.dev, LFUSE_MEMORY_NATIVE, HANDLE(buffer), sizeof values + 1, &part));
    FAILS(LFUSE_ERR_CONTEXT, b->wrap(other.dev, LFUSE_MEMORY_NATIVE, HANDLE(buffer), 0, &part));
    FAILS(LFUSE_ERR_INVALID, b->wrap(t.dev, LFUSE_MEMORY_NATIVE, 0, 0, &part));

    cl_mem sub = sub_buffer(buffer, 4096, 2048);
    OK(b->wrap(t.dev, LFUSE_MEMORY_NATIVE, HANDLE(sub), 0, &part));
    lfuse__cl.ReleaseMemObject(sub);
    b->mem_info(part, &info);
    ck_assert_uint_eq(info.bytes, 2048);
    ck_assert_uint_eq(info.space, f.addresses ? 0 : HANDLE(buffer));
    ck_assert_uint_eq(info.address, address + 4096);
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
        FAILS(LFUSE_ERR_UNSUPPORTED, b->wrap(t.dev, LFUSE_MEMORY_POINTER, HANDLE(values), 0, &m));
    }
    tear_down(&other);
}

TEST_LOOP(test_launch, 0, device_count)
{
    enum { N = 64 };
    lfuse__bmem *x, *y, *none[2];
    float in[N];
    uint64_t words[2] = { 3, 0 };
    lfuse__bkernel *k;

    set_up(&t, _i);
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &x));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &y));
    for (int i = 0; i < N; i++) in[i] = (float)i;
    OK(b->write(t.s, x, 0, in, sizeof in));
    OK(b->fill(t.s, y, 0, 0, 4, sizeof in));
    long sets = layer.calls("clSetKernelArg"), runs = layer.calls("clEnqueueNDRangeKernel");
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
    FAILS(LFUSE_ERR_MEMORY, launch(t.s, t.axpy, N, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    layer.arm(NULL, 0, 0, 0);
    OK(b->fill(t.s, y, 0, 0, 4, sizeof in));
    OK(launch(t.s, t.axpy, N, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    read_all(t.s, y, 0, in, sizeof in);
    for (int i = 0; i < N; i++) ck_assert(in[i] == (float)(2 * i));

    FAILS(LFUSE_ERR_NAME, b->kernel_create(t.program, "absent", &k));
    FAILS(LFUSE_ERR_OVERFLOW, b->launch(t.s, t.twice, &(lfuse__launch_args){ .groups = UINT64_MAX, .group = 4,
                                                                             .nbuffers = 1, .buffers = &y }));
    b->free(y);
    b->free(x);
}

/* A driver may unset an argument that it refuses: those that the launch before had are set again. */
TEST_LOOP(test_refused_argument, 0, device_count)
{
    enum { BUFFER = 1, WORDS = 2 };
    static const uint64_t words[2] = { 2, 0 }, others[2] = { 7, 0 };
    float in[4];
    lfuse__bmem *x, *y;

    set_up(&t, _i);
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &x));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &y));
    OK(b->fill(t.s, x, 0, 0x40400000, 4, sizeof in)); /* 3.0f */
    OK(b->fill(t.s, y, 0, 0, 4, sizeof in));
    OK(launch(t.s, t.axpy, 4, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    for (int changed = BUFFER; changed <= WORDS; changed++) {
        layer.arm("clSetKernelArg", 1, 0, CL_OUT_OF_HOST_MEMORY);
        FAILS(LFUSE_ERR_MEMORY, launch(t.s, t.axpy, 4, (lfuse__bmem *[]){ y, changed == BUFFER ? NULL : x }, 2,
                                       changed == WORDS ? others : words, 2));
        layer.arm(NULL, 0, 0, 0);
        OK(launch(t.s, t.axpy, 4, (lfuse__bmem *[]){ y, x }, 2, words, 2));
    }
    read_all(t.s, y, 0, in, sizeof in);
    for (int i = 0; i < 4; i++) ck_assert_msg(in[i] == 18.0f, "%g", (double)in[i]);
    b->free(y);
    b->free(x);
}

/* Arguments longer than what is remembered of them are set by each launch. Some drivers take more than they say. */
TEST_LOOP(test_many_words, 0, device_count)
{
    enum { MANY = LFUSE__CL_WORDS + 1 };
    static const char text[] = "struct words { ulong w[513]; };\n"
                               "__kernel void last(__global ulong *y, struct words a)\n"
                               "{ if (get_global_id(0) == 0) y[0] = a.w[512]; }\n";
    static uint64_t words[MANY];
    lfuse__strbuf log = LFUSE__STRBUF_INIT;
    lfuse__bprogram *program;
    lfuse__bkernel *last;
    lfuse__bmem *y;
    lfuse__facts f;
    lfuse_status status = LFUSE_OK;
    uint64_t in;

    ck_assert_int_eq(MANY, 513);
    set_up(&t, _i);
    OK(b->facts(t.dev, &f));
    OK(b->program_build(t.dev, text, &log, &program));
    OK(b->kernel_create(program, "last", &last));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &y));
    for (uint64_t turn = 0; turn < 3; turn++) {
        const long sets = layer.calls("clSetKernelArg");
        words[MANY - 1] = 5 + turn / 2;
        status = launch(t.s, last, 4, &y, 1, words, MANY);
        if (status != LFUSE_OK && f.info.max_argument_bytes < sizeof words) break;
        OK(status);
        read_all(t.s, y, 0, &in, sizeof in);
        ck_assert_uint_eq(in, words[MANY - 1]);
        ck_assert_int_eq(layer.calls("clSetKernelArg") - sets, turn == 0 ? 2 : 1);
    }
    b->free(y);
    b->kernel_destroy(last);
    b->program_destroy(program);
    lfuse__strbuf_free(&log);
    tear_down(&t);
    if (status != LFUSE_OK) TEST_SKIP("%s", lfuse__error_message());
}

TEST_LOOP(test_program, 0, device_count)
{
    lfuse__strbuf log = LFUSE__STRBUF_INIT, binary = LFUSE__STRBUF_INIT;
    lfuse__bprogram *p;
    lfuse__bkernel *k;
    lfuse__bmem *y;
    float in[4] = { 0, 1, 2, 3 };

    set_up(&t, _i);
    FAILS(LFUSE_ERR_COMPILE, b->program_build(t.dev, "__kernel void f() { absent_name(1); }", &log, &p));
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
}

/* y = 2 y + 1, forty times from 0: exact in f32 up to 2^24, so twenty of them and a reset between. */
static void check_order(lfuse__bstream *s)
{
    enum { N = 4096, STEPS = 20 };
    static float in[N];
    lfuse__bmem *y, *z;

    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &y));
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, sizeof in, &z));
    for (int round = 0; round < 2; round++) {
        OK(b->fill(s, y, 0, 0, 4, sizeof in));
        for (int i = 0; i < STEPS; i++) {
            OK(launch(s, t.twice, N, i % 2 ? &z : &y, 1, NULL, 0));
            OK(b->copy(s, i % 2 ? y : z, 0, i % 2 ? z : y, 0, sizeof in));
        }
    }
    memset(in, 0, sizeof in);
    read_all(s, y, 0, in, sizeof in);
    for (int i = 0; i < N; i++) ck_assert(in[i] == 1048575.0f);
    b->free(z);
    b->free(y);
}

TEST_LOOP(test_stream, 0, device_count)
{
    static const cl_command_queue_properties properties[] = { 0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE };
    bench other;
    lfuse__bstream *s;
    bool capturing = true;
    lfuse_status status;

    set_up(&t, _i);
    set_up(&other, _i);
    check_order(t.s);
    OK(b->stream_flush(t.s));
    do status = b->stream_query(t.s);
    while (status == LFUSE_NOT_READY);
    OK(status);
    OK(b->stream_capturing(t.s, &capturing));
    ck_assert(!capturing);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        cl_command_queue queue = queue_of(t.dev, properties[i]);
        if (queue == NULL) continue; /* out-of-order queues are optional */
        OK(b->stream_wrap(t.dev, queue, &s));
        ck_assert_ptr_eq(b->stream_native(s), queue);
        FAILS(LFUSE_ERR_CONTEXT, b->stream_wrap(other.dev, queue, &other.s));
        lfuse__cl.ReleaseCommandQueue(queue);
        check_order(s);
        b->stream_destroy(s);
    }
    FAILS(LFUSE_ERR_INVALID, b->stream_wrap(t.dev, NULL, &s));
    tear_down(&other);
}

TEST_LOOP(test_event, 0, device_count)
{
    enum { N = 4096 };
    static float in[N];
    lfuse__bstream *second;
    lfuse__bevent *e, *f;
    lfuse__bmem *y;
    double us = -1;
    lfuse_status status;

    set_up(&t, _i);
    OK(b->stream_create(t.dev, &second));
    OK(b->event_create(t.dev, &e));
    OK(b->event_create(t.dev, &f));
    OK(b->event_query(e));
    OK(b->event_wait(e, second));
    FAILS(LFUSE_ERR_STATE, b->event_elapsed(e, f, &us));
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

    cl_command_queue queue = queue_of(t.dev, 0);
    OK(b->stream_wrap(t.dev, queue, &second));
    lfuse__cl.ReleaseCommandQueue(queue);
    OK(b->event_record(e, second));
    OK(b->event_record(f, second));
    OK(b->stream_sync(second));
    FAILS(LFUSE_ERR_UNSUPPORTED, b->event_elapsed(e, f, &us));
    b->free(y);
    b->event_destroy(f);
    b->event_destroy(e);
    b->stream_destroy(second);
}

/* What is not done is left alone when its stream goes; work that failed is told of, with its code. */
TEST_LOOP(test_state_of_work, 0, device_count)
{
    static const int running = CL_RUNNING, failed = CL_OUT_OF_RESOURCES;
    lfuse__bstream *second;
    lfuse__bevent *e, *f;
    double us;

    set_up(&t, _i);
    OK(b->stream_create(t.dev, &second));
    OK(b->event_create(t.dev, &e));
    OK(b->event_create(t.dev, &f));
    OK(b->event_record(e, second));
    OK(b->event_record(f, second));
    OK(b->stream_sync(second));
    layer.state(&running);
    ck_assert_int_eq(b->event_query(e), LFUSE_NOT_READY);
    ck_assert_int_eq(b->event_elapsed(e, f, &us), LFUSE_NOT_READY);
    ck_assert_int_eq(b->stream_query(second), LFUSE_NOT_READY);
    ck_assert_int_eq(b->stream_query(t.s), LFUSE_NOT_READY);
    b->stream_destroy(second); /* the marker of its query goes too: tear_down counts */
    layer.state(&failed);
    FAILS(LFUSE_ERR_DEVICE_MEMORY, b->event_query(e));
    FAILS(LFUSE_ERR_DEVICE_MEMORY, b->event_elapsed(e, f, &us));
    FAILS(LFUSE_ERR_DEVICE_MEMORY, b->stream_query(t.s));
    layer.state(NULL);
    b->event_destroy(f);
    b->event_destroy(e);
}

/* Small integers: every sum is exact, in any order. */
TEST_LOOP(test_adopt, 0, device_count)
{
    bench other;
    lfuse__bdevice *dev;
    lfuse__bstream *s;
    lfuse__bmem *m, *copied;
    lfuse__facts f;
    cl_int code;
    long live = layer.live(NULL);

    set_up(&t, _i);
    cl_context context = lfuse__cl.CreateContext(NULL, 1, &t.dev->device.id, NULL, NULL, &code);
    ck_assert_ptr_nonnull(context);
    OK(b->adopt(context, t.dev->device.id, &dev));
    lfuse__cl.ReleaseContext(context);
    OK(b->facts(dev, &f));
    ck_assert_int_eq(strncmp(f.info.name, "opencl:", 7), 0);
    OK(b->stream_create(dev, &s));
    OK(b->alloc(dev, LFUSE__ALLOC_DEVICE, 64, &m));
    FAILS(LFUSE_ERR_INVALID, b->adopt(NULL, t.dev->device.id, &other.dev));
    FAILS(LFUSE_ERR_INVALID, b->adopt(context, NULL, &other.dev));
    FAILS(LFUSE_ERR_CONTEXT, b->adopt(context, &f, &other.dev));

    /* A second device object on the same context: what belongs to the context is copied directly. */
    OK(b->adopt(context, t.dev->device.id, &other.dev));
    OK(b->alloc(other.dev, LFUSE__ALLOC_DEVICE, 64, &copied));
    OK(b->copy_peer(s, m, 0, other.dev, copied, 0, 64));
    OK(b->stream_sync(s));
    b->free(copied);
    b->close(other.dev);
    OK(b->alloc(t.dev, LFUSE__ALLOC_DEVICE, 64, &copied));
    FAILS(LFUSE_ERR_UNSUPPORTED, b->copy_peer(s, m, 0, t.dev, copied, 0, 64));
    b->free(copied);
    b->free(m);
    b->stream_destroy(s);
    b->close(dev);
    tear_down(&t);
    ck_assert_int_eq(layer.live(NULL), live);
}

/* Of a device that is said to have the instructions; a trial that fails leaves what was known, and no object. */
TEST_LOOP(test_local_memory, 0, device_count)
{
    enum { KNOWN = 48 * 1024, LARGE = 226 * 1024 };
    static const char *const calls[] = {
        "clCreateProgramWithSource", "clBuildProgram", "clCreateKernel", "clCreateCommandQueue", "clCreateBuffer",
        "clEnqueueWriteBuffer", "clSetKernelArg", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer",
    };
    lfuse__facts *f;
    long live;

    set_up(&t, _i);
    f = &t.dev->device.facts;
    f->wgmma = false, f->dynamic_local_bytes = 0;
    OK(lfuse__cl_probe_local_memory(t.dev));
    ck_assert_uint_eq(f->dynamic_local_bytes, 0);
    f->wgmma = true, f->dynamic_local_bytes = KNOWN;
    live = layer.live(NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        layer.arm(calls[i], 1, 0, CL_OUT_OF_RESOURCES);
        OK(lfuse__cl_probe_local_memory(t.dev));
        ck_assert_msg(layer.fired() == 1, "%s is not called", calls[i]);
        ck_assert_uint_eq(f->dynamic_local_bytes, KNOWN);
        ck_assert_int_eq(layer.live(NULL), live);
    }
    layer.arm("clBuildProgram", 1, 0, CL_OUT_OF_HOST_MEMORY);
    FAILS(LFUSE_ERR_MEMORY, lfuse__cl_probe_local_memory(t.dev));
    layer.arm(NULL, 0, 0, 0);
    if (f->info.local_bytes < LARGE) return;
    layer.spoil(1); /* a word that is not right */
    OK(lfuse__cl_probe_local_memory(t.dev));
    ck_assert_uint_eq(f->dynamic_local_bytes, KNOWN);
    OK(lfuse__cl_probe_local_memory(t.dev));
    ck_assert_uint_eq(f->dynamic_local_bytes, LARGE);
    ck_assert_int_eq(layer.live(NULL), live);
}

/* NVIDIA's driver refuses everything after a kernel's fault; elsewhere the same code is an error like others. */
TEST_LOOP(test_lost, 0, device_count)
{
    set_up(&t, _i);
    t.dev->device.nvidia = false;
    layer.arm("clFinish", 1, 1, CL_OUT_OF_RESOURCES);
    FAILS(LFUSE_ERR_DEVICE_MEMORY, b->stream_sync(t.s));
    OK(b->pending(t.dev));
    t.dev->device.nvidia = true;
    layer.arm("clFinish", 1, 0, CL_OUT_OF_RESOURCES);
    FAILS(LFUSE_ERR_DEVICE_MEMORY, b->stream_sync(t.s));
    OK(b->pending(t.dev));
    layer.arm("clFinish", 1, 1, CL_OUT_OF_RESOURCES);
    FAILS(LFUSE_ERR_DEVICE_LOST, b->stream_sync(t.s));
    layer.arm(NULL, 0, 0, 0);
    FAILS(LFUSE_ERR_DEVICE_LOST, b->pending(t.dev));
}

TEST_SUITE("opencl backend", CK_NOFORK)
