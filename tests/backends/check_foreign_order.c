/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA, where a launch may overlap the one before it: long rows of short launches, each of which reads with its first
 * groups what the last ones of the launch before wrote, with all that may stand between. Skipped without a device.
 */
#include "backends/cuda/internal.h"
#include "backends/cuda/program.h"
#include "libfuse.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { N = 1 << 18, GRAPHS = 2, TURNS = 200, GROUP = 256 };

#define CU(call) ck_assert_int_eq(lfuse__cu.call, CUDA_SUCCESS)
#define SKIP_WITHOUT_CUDA()                                                                                            \
    if (!found) TEST_SKIP("no CUDA device")

static bool found;
static lfuse_device *device;
static CUcontext context;
static CUdeviceptr memory[2];
static lfuse_tensor *tensors[2];
static lfuse_plan *plans[GRAPHS];
static CUstream streams[2];
static lfuse_stream *wrapped[2];
static CUevent events[2];
static float host[N];

/* y is x backwards, and one more; the second also asks for an extreme of all of x, in kernels of its own. */
static lfuse_plan *make_plan(int which)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value x = lfuse_input(g, "x", F32(N));
    lfuse_value y = lfuse_add(lfuse_flip(x, 1, (const int[]){0}), lfuse_constant(g, 1));
    if (which) y = lfuse_add(y, lfuse_mul(lfuse_amax(x, 1, (const int[]){0}, true), lfuse_constant(g, 0)));
    lfuse_output(g, "y", y);
    lfuse_plan *made = new_plan(device, g, NULL);
    lfuse_graph_destroy(g);
    return made;
}

static void open_streams(unsigned flags)
{
    for (int i = 0; i < 2; i++) {
        CU(StreamCreate(&streams[i], flags));
        CU(EventCreate(&events[i], CU_EVENT_DISABLE_TIMING));
        OK(lfuse_stream_wrap(device, streams[i], &wrapped[i]));
    }
}

static void open_all(void)
{
    found = !lfuse_device_open("cuda:0", &device);
    if (!found) return;
    CU(DevicePrimaryCtxRetain(&context, 0));
    CU(CtxPushCurrent(context));
    for (int i = 0; i < 2; i++) {
        CU(MemAlloc(&memory[i], sizeof host));
        OK(lfuse_tensor_wrap(device, LFUSE_MEMORY_NATIVE, memory[i], sizeof host, F32(N), NULL, 0, &tensors[i]));
    }
    for (int i = 0; i < GRAPHS; i++) plans[i] = make_plan(i);
    open_streams(CU_STREAM_NON_BLOCKING);
}

static void close_all(void)
{
    CUcontext popped;
    if (!found) return;
    for (int i = 0; i < GRAPHS; i++) lfuse_plan_destroy(plans[i]);
    for (int i = 0; i < 2; i++) {
        lfuse_stream_destroy(wrapped[i]);
        lfuse_tensor_destroy(tensors[i]);
        CU(StreamDestroy(streams[i]));
        CU(EventDestroy(events[i]));
        CU(MemFree(memory[i]));
    }
    CU(CtxPopCurrent(&popped));
    lfuse_device_close(device);
    CU(DevicePrimaryCtxRelease(0));
}

static lfuse_status turn(lfuse_plan *plan, lfuse_stream *s, int from)
{
    return lfuse_plan_run(plan, s, BINDINGS(BIND("x", tensors[from]), BIND("y", tensors[1 - from])));
}

/* An event of the one stream, for which the other waits. */
static void hand_over(int from)
{
    CU(EventRecord(events[from], streams[from]));
    CU(StreamWaitEvent(streams[1 - from], events[from], 0));
}

/* Every stream has run the plan once, so that nothing has to be made later. */
static void start(lfuse_plan *plan)
{
    for (int i = 0; i < 2; i++) {
        OK(turn(plan, wrapped[i], 0));
        CU(StreamSynchronize(streams[i]));
    }
    for (int i = 0; i < N; i++) host[i] = (float)i;
    CU(MemcpyAsync(memory[0], (CUdeviceptr)(uintptr_t)host, sizeof host, streams[0]));
    CU(StreamSynchronize(streams[0]));
}

/* The first tensor after an even number of turns. */
static void finish(int turns)
{
    int wrong = 0;
    for (int i = 0; i < 2; i++) CU(StreamSynchronize(streams[i]));
    CU(MemcpyAsync((CUdeviceptr)(uintptr_t)host, memory[0], sizeof host, streams[0]));
    CU(StreamSynchronize(streams[0]));
    for (int i = 0; i < N; i++) wrong += host[i] != (float)(i + turns);
    ck_assert_msg(wrong == 0, "%d of %d elements are wrong", wrong, N);
}

TEST_CASE("cuda", .before = open_all, .after = close_all)

TEST_LOOP(in_a_row, 0, GRAPHS)
{
    SKIP_WITHOUT_CUDA();
    start(plans[_i]);
    for (int i = 0; i < 2 * TURNS; i++) OK(turn(plans[_i], wrapped[0], i % 2));
    finish(2 * TURNS);
}

TEST_LOOP(copies_between, 0, GRAPHS)
{
    SKIP_WITHOUT_CUDA();
    start(plans[_i]);
    for (int i = 0; i < 2 * TURNS; i++) {
        OK(turn(plans[_i], wrapped[0], 0));
        CU(MemcpyAsync(memory[0], memory[1], sizeof host, streams[0]));
    }
    finish(2 * TURNS);
}

TEST_LOOP(two_streams, 0, GRAPHS)
{
    SKIP_WITHOUT_CUDA();
    start(plans[_i]);
    for (int i = 0; i < 2 * TURNS; i++) {
        OK(turn(plans[_i], wrapped[i % 2], i % 2));
        hand_over(i % 2);
    }
    finish(2 * TURNS);
}

/* What the default stream and others give each other needs no event. */
TEST_LOOP(default_stream, 0, GRAPHS)
{
    SKIP_WITHOUT_CUDA();
    lfuse_stream *first, *second;
    CUstream blocking;
    start(plans[_i]);
    CU(StreamCreate(&blocking, 0));
    OK(lfuse_stream_wrap(device, NULL, &first));
    OK(lfuse_stream_wrap(device, blocking, &second));
    for (int i = 0; i < 2 * TURNS; i++) OK(turn(plans[_i], i % 2 ? second : first, i % 2));
    CU(StreamSynchronize(NULL));
    CU(StreamSynchronize(blocking));
    finish(2 * TURNS);
    lfuse_stream_destroy(first);
    lfuse_stream_destroy(second);
    CU(StreamDestroy(blocking));
}

/* Kernels that wait for nothing, launched as ever. */
TEST_LOOP(kernels_of_others, 0, GRAPHS)
{
    static const char source[] = "extern \"C\" __global__ void turn(const float *x, float *y, unsigned n)\n"
                                 "{\n"
                                 "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                 "    if (i < n) y[i] = x[n - 1 - i] + 1;\n"
                                 "}\n";
    SKIP_WITHOUT_CUDA();
    lfuse__strbuf log = LFUSE__STRBUF_INIT, binary = LFUSE__STRBUF_INIT;
    lfuse__facts facts;
    CUmodule module;
    CUfunction theirs;
    unsigned n = N;
    void *parameters[] = {&memory[1], &memory[0], &n};
    OK(lfuse__backend_cuda.describe(0, &facts));
    OK(lfuse__cuda_compile(source, facts.arch, &log, &binary));
    CU(ModuleLoadDataEx(&module, binary.data, 0, NULL, NULL));
    CU(ModuleGetFunction(&theirs, module, "turn"));
    start(plans[_i]);
    for (int i = 0; i < TURNS; i++) {
        OK(turn(plans[_i], wrapped[0], 0));
        CU(LaunchKernel(theirs, N / GROUP, 1, 1, GROUP, 1, 1, 0, streams[0], parameters, NULL));
    }
    finish(2 * TURNS);
    CU(ModuleUnload(module));
    lfuse__strbuf_free(&log);
    lfuse__strbuf_free(&binary);
}

/* The caller's capture goes over to another stream and back, with a launch, a copy or both before each change. */
static lfuse_status capture_turns(lfuse_plan *plan)
{
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < 12 && !status; i++) {
        const int on = i / 3 % 2;
        status = turn(plan, wrapped[on], 0);
        CU(MemcpyAsync(memory[0], memory[1], sizeof host, streams[on]));
        if (!status) status = turn(plan, wrapped[on], 0);
        if (!status) status = turn(plan, wrapped[on], 1);
        if (!status) status = turn(plan, wrapped[on], 0);
        CU(MemcpyAsync(memory[0], memory[1], sizeof host, streams[on]));
        if (i % 3 == 2) hand_over(on);
    }
    return status;
}

TEST_LOOP(captured, 0, GRAPHS)
{
    SKIP_WITHOUT_CUDA();
    CUgraph graph;
    CUgraphExec exec;
    start(plans[_i]);
    CU(StreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
    lfuse_status status = capture_turns(plans[_i]);
    CU(StreamEndCapture(streams[0], &graph));
    ck_assert_msg(!status, "%s", lfuse_last_error());
    CU(GraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 20; i++) CU(GraphLaunch(exec, streams[0]));
    finish(20 * 12 * 4);
    CU(GraphExecDestroy(exec));
    CU(GraphDestroy(graph));
}

/* A recording of ours, with launches before and behind. */
TEST_LOOP(replayed, 0, GRAPHS)
{
    SKIP_WITHOUT_CUDA();
    start(plans[_i]);
    OK(lfuse_record_begin(wrapped[0]));
    for (int i = 0; i < 40; i++) OK(turn(plans[_i], wrapped[0], i % 2));
    lfuse_recording *r = new_recording(wrapped[0]);
    for (int i = 0; i < 20; i++) {
        OK(lfuse_recording_replay(r, wrapped[0], NULL, 0));
        OK(turn(plans[_i], wrapped[0], 0));
        OK(turn(plans[_i], wrapped[0], 1));
    }
    finish(20 * 42);
}

TEST_SUITE("order of overlapping launches", CK_NOFORK)
