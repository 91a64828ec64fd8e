/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's own CUDA memory, streams and contexts, and his captures. Skipped, visibly, without a CUDA device. */
#include <dlfcn.h>

#include "backends/cuda/internal.h"
#include "libfuse.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { N = 1000, ROWS = 5, WIDTH = N / ROWS, HIDDEN = 24 };

static lfuse_device *device;
static CUcontext context;
static CUstream stream;
static lfuse_stream *wrapped;
static CUdeviceptr in, out;
static lfuse_tensor *x, *y;
static lfuse_plan *plan;
static bool found;

#define SKIP_WITHOUT_CUDA()                                                                                            \
    if (!found) TEST_SKIP("no CUDA device")
#define CU(call) ck_assert_int_eq(lfuse__cu.call, CUDA_SUCCESS)

static lfuse_plan *make_plan(lfuse_device *on)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value v = lfuse_input(g, "x", F32(N));
    lfuse_output(g, "y", lfuse_add(lfuse_mul(v, v), lfuse_constant(g, 1)));
    lfuse_plan *made = new_plan(on, g, NULL);
    lfuse_graph_destroy(g);
    return made;
}

static lfuse_binding bound[2]; /* x and y */

static void download(float *host)
{
    CU(MemcpyAsync((CUdeviceptr)(uintptr_t)host, out, N * sizeof *host, stream));
    CU(StreamSynchronize(stream));
}

static void upload(float start)
{
    float host[N];
    for (int i = 0; i < N; i++) host[i] = start + (float)i;
    CU(MemcpyAsync(in, (CUdeviceptr)(uintptr_t)host, sizeof host, stream));
    CU(StreamSynchronize(stream));
}

static void expect(float start)
{
    float host[N];
    download(host);
    for (int i = 0; i < N; i++) {
        float v = start + (float)i;
        ck_assert_float_eq(host[i], v * v + 1);
    }
}

static void open_all(void)
{
    CUcontext popped;
    found = !lfuse_device_open("cuda:0", &device);
    if (!found) return;
    CU(DevicePrimaryCtxRetain(&context, 0));
    CU(CtxPushCurrent(context));
    CU(StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CU(MemAlloc(&in, N * sizeof(float)));
    CU(MemAlloc(&out, N * sizeof(float)));
    CU(CtxPopCurrent(&popped));
    OK(lfuse_stream_wrap(device, stream, &wrapped));
    OK(lfuse_tensor_wrap(device, LFUSE_MEMORY_NATIVE, in, N * sizeof(float), F32(N), NULL, 0, &x));
    OK(lfuse_tensor_wrap(device, LFUSE_MEMORY_NATIVE, out, N * sizeof(float), F32(N), NULL, 0, &y));
    plan = make_plan(device);
    bound[0] = BIND("x", x), bound[1] = BIND("y", y);
    CU(CtxPushCurrent(context));
}

static void close_all(void)
{
    CUcontext popped;
    if (!found) return;
    lfuse_plan_destroy(plan);
    lfuse_tensor_destroy(x);
    lfuse_tensor_destroy(y);
    lfuse_stream_destroy(wrapped);
    CU(StreamSynchronize(stream));
    CU(StreamDestroy(stream));
    CU(MemFree(in));
    CU(MemFree(out));
    CU(CtxPopCurrent(&popped));
    lfuse_device_close(device);
    CU(DevicePrimaryCtxRelease(0));
}

TEST_CASE("cuda", .before = open_all, .after = close_all)

TEST(memory_and_stream)
{
    SKIP_WITHOUT_CUDA();
    upload(3);
    OK(lfuse_plan_run(plan, wrapped, bound, 2));
    expect(3);
    ck_assert_ptr_eq(lfuse_stream_native(wrapped), stream);
}

TEST(context_left_as_it_was)
{
    SKIP_WITHOUT_CUDA();
    CUcontext popped, current;
    CU(CtxPopCurrent(&popped));
    CU(CtxGetCurrent(&current));
    OK(lfuse_plan_run(plan, wrapped, bound, 2));
    CUcontext after;
    CU(CtxGetCurrent(&after));
    ck_assert_ptr_eq(after, current);
    CU(CtxPushCurrent(popped));
}

/* A run that the caller captures. */
static CUgraphExec captured(lfuse_instance *instance, const lfuse_binding *bindings, int count)
{
    CUgraph graph;
    CUgraphExec exec;
    CU(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    lfuse_status status = lfuse_instance_run(instance, bindings, count);
    CU(StreamEndCapture(stream, &graph));
    ck_assert_msg(!status, "%s", lfuse_last_error());
    CU(GraphInstantiateWithFlags(&exec, graph, 0));
    CU(GraphDestroy(graph));
    return exec;
}

/* The caller captures; the run becomes a node of his graph, and each launch of it computes anew. */
TEST(captured_run)
{
    SKIP_WITHOUT_CUDA();
    CUgraphExec exec = captured(new_instance(plan, wrapped, bound, 2), bound, 2);
    for (int i = 0; i < 3; i++) {
        upload((float)i);
        CU(GraphLaunch(exec, stream));
        expect((float)i);
    }
    CU(GraphExecDestroy(exec));
}

/* Integers whose sums are exact. */
static double weight(int layer, int k, int column)
{
    return (k * (layer + 2) + column) % 3 - 1;
}

static lfuse_tensor *make_weights(int layer)
{
    const int64_t shape[2] = {layer ? HIDDEN : WIDTH, layer ? WIDTH : HIDDEN};
    float host[WIDTH * HIDDEN];
    for (int k = 0; k < shape[0]; k++)
        for (int j = 0; j < shape[1]; j++) host[k * shape[1] + j] = (float)weight(layer, k, j);
    lfuse_tensor *t = new_tensor(device, LFUSE_F32, 2, shape);
    OK(lfuse_tensor_write(t, NULL, host));
    return t;
}

/* y = relu(x v) w, in one launch. */
static lfuse_plan *make_network(void)
{
    lfuse_graph *g = new_graph();
    lfuse_value v = lfuse_input(g, "x", F32(ROWS, WIDTH));
    v = lfuse_relu(lfuse_matmul(v, lfuse_frozen(g, "v", F32(WIDTH, HIDDEN))));
    lfuse_output(g, "y", lfuse_matmul(v, lfuse_frozen(g, "w", F32(HIDDEN, WIDTH))));
    return new_plan(device, g, NULL);
}

static void expect_network(float start)
{
    float host[N];
    download(host);
    for (int r = 0; r < ROWS; r++) {
        double hidden[HIDDEN];
        for (int j = 0; j < HIDDEN; j++) {
            double sum = 0;
            for (int k = 0; k < WIDTH; k++) sum += (start + r * WIDTH + k) * weight(0, k, j);
            hidden[j] = sum > 0 ? sum : 0;
        }
        for (int j = 0; j < WIDTH; j++) {
            double sum = 0;
            for (int k = 0; k < HIDDEN; k++) sum += hidden[k] * weight(1, k, j);
            ck_assert_double_eq(host[r * WIDTH + j], sum);
        }
    }
}

/* Groups that wait for each other are a node of his graph as others are, also between runs that are none. */
TEST(captured_network)
{
    SKIP_WITHOUT_CUDA();
    const int64_t shape[2] = {ROWS, WIDTH};
    lfuse_tensor *v = make_weights(0), *w = make_weights(1), *x2, *y2;
    lfuse_plan *network = make_network();
    OK(lfuse_tensor_wrap(device, LFUSE_MEMORY_NATIVE, in, N * sizeof(float), LFUSE_F32, 2, shape, NULL, 0, &x2));
    OK(lfuse_tensor_wrap(device, LFUSE_MEMORY_NATIVE, out, N * sizeof(float), LFUSE_F32, 2, shape, NULL, 0, &y2));
    own_tensor(x2), own_tensor(y2);
    const lfuse_binding bindings[4] = {BIND("x", x2), BIND("v", v), BIND("w", w), BIND("y", y2)};
    ck_assert_msg(!strncmp(lfuse_plan_text(network), "(network ", 9), "%s", lfuse_plan_text(network));
    lfuse_instance *instance = new_instance(network, wrapped, bindings, 4);
    CUgraphExec exec = captured(instance, bindings, 4);
    for (int i = 0; i < 6; i++) {
        upload((float)i);
        if (i % 3 == 1) OK(lfuse_instance_run(instance, bindings, 4));
        else CU(GraphLaunch(exec, stream));
        expect_network((float)i);
    }
    CU(GraphExecDestroy(exec));
}

/* y = relu(scale x + 1), a launch for each function. */
static lfuse_plan *make_chain(void)
{
    const lfuse_plan_options apart = {.disable = LFUSE_NO_POINTWISE_FUSION};
    lfuse_graph *g = new_graph();
    lfuse_value v = lfuse_input(g, "x", F32(N));
    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_mul(v, lfuse_scalar(g, "scale")), lfuse_constant(g, 1))));
    return new_plan(device, g, &apart);
}

static void run_chain(lfuse_plan *chain, lfuse_stream *on, float scale)
{
    RUN(chain, on, BIND("x", x), BIND("y", y), lfuse_bind_scalar("scale", scale));
}

static void expect_chain(float start, float scale)
{
    float host[N];
    download(host);
    for (int i = 0; i < N; i++) {
        float v = scale * (start + (float)i) + 1;
        ck_assert_float_eq(host[i], v > 0 ? v : 0);
    }
}

static PFN_cuGraphLaunch_v10000 launch_graph;
static uint64_t graphs;

static CUresult CUDAAPI count_graph(CUgraphExec exec, CUstream s)
{
    graphs++;
    return launch_graph(exec, s);
}

/* Runs become a graph, on the caller's stream and on the default streams; what he captures takes launches, no graph. */
TEST_LOOP(replayed_runs, 0, 4)
{
    SKIP_WITHOUT_CUDA();
    void *natives[] = {stream, NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    lfuse_plan *chain = make_chain();
    lfuse_stream *on;
    CUgraph graph;
    CUgraphExec exec;
    OK(lfuse_stream_wrap(device, natives[_i], &on));
    objects_own(on, objects_destroy_stream);
    launch_graph = lfuse__cu.GraphLaunch;
    lfuse__cu.GraphLaunch = count_graph;
    graphs = 0;
    for (int i = 0; i < 6; i++) {
        upload((float)i);
        run_chain(chain, on, (float)(i - 3));
        OK(lfuse_stream_synchronize(on));
        expect_chain((float)i, (float)(i - 3));
        ck_assert_uint_eq(graphs, i < 2 ? 0 : i - 1);
    }
    if (natives[_i] == stream) {
        CU(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        for (int i = 0; i < 4; i++) run_chain(chain, on, 7);
        CU(StreamEndCapture(stream, &graph));
        ck_assert_uint_eq(graphs, 4);
        CU(GraphInstantiateWithFlags(&exec, graph, 0));
        CU(GraphLaunch(exec, stream));
        expect_chain(5, 7);
        CU(GraphExecDestroy(exec));
        CU(GraphDestroy(graph));
        run_chain(chain, on, 8);
        expect_chain(5, 8);
    }
    lfuse__cu.GraphLaunch = launch_graph;
}

/* Numbers that change are patched: no second capture, and the nodes overlap as the launches did. */
TEST(patched_runs)
{
    SKIP_WITHOUT_CUDA();
    lfuse_plan *chain = make_chain();
    PFN_cuGraphInstantiateWithFlags_v11040 instantiate = lfuse__cu.GraphInstantiateWithFlags;
    PFN_cuStreamBeginCapture_v10010 begin = lfuse__cu.StreamBeginCapture;
    upload(1);
    for (int i = 0; i < 3; i++) run_chain(chain, wrapped, 2);
    lfuse__cu.GraphInstantiateWithFlags = NULL;
    lfuse__cu.StreamBeginCapture = NULL;
    for (int i = 0; i < 20; i++) {
        run_chain(chain, wrapped, (float)i - 9);
        expect_chain(1, (float)i - 9);
    }
    for (int i = 0; i < 20; i++) run_chain(chain, wrapped, (float)i); /* one behind the other: each its own number */
    lfuse__cu.GraphInstantiateWithFlags = instantiate;
    lfuse__cu.StreamBeginCapture = begin;
    expect_chain(1, 19);
}

/* What would have to allocate is refused, and the caller's capture goes on. */
TEST(capture_survives_refusal)
{
    SKIP_WITHOUT_CUDA();
    CUgraph graph = NULL;
    lfuse_plan *fresh = make_plan(device);
    lfuse_stream *other;
    CUstream bare;
    CU(StreamCreate(&bare, CU_STREAM_NON_BLOCKING));
    OK(lfuse_stream_wrap(device, bare, &other));
    CU(StreamBeginCapture(bare, CU_STREAM_CAPTURE_MODE_GLOBAL));
    lfuse_status status = lfuse_plan_run(fresh, other, bound, 2);
    CU(StreamEndCapture(bare, &graph));
    ck_assert_int_eq(status, LFUSE_ERR_STATE);
    CU(GraphDestroy(graph));
    drop(fresh);
    lfuse_stream_destroy(other);
    CU(StreamDestroy(bare));
}

static PFN_cuLaunchKernel_v4000 launch_kernel;
static PFN_cuLaunchKernelEx_v11060 launch_extended;
static uint64_t launched;

static CUresult CUDAAPI count_launch(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned shared, CUstream s, void **parameters, void **extra)
{
    launched++;
    return launch_kernel(f, gx, gy, gz, bx, by, bz, shared, s, parameters, extra);
}

static CUresult CUDAAPI count_extended(const CUlaunchConfig *config, CUfunction f, void **parameters, void **extra)
{
    launched++;
    return launch_extended(config, f, parameters, extra);
}

/* The counter of launches against the driver calls that were made. */
TEST(launches_counted)
{
    SKIP_WITHOUT_CUDA();
    OK(lfuse_plan_run(plan, wrapped, bound, 2));
    lfuse_device_counters before = counters_of(device);
    launch_kernel = lfuse__cu.LaunchKernel;
    launch_extended = lfuse__cu.LaunchKernelEx;
    lfuse__cu.LaunchKernel = count_launch;
    if (launch_extended) lfuse__cu.LaunchKernelEx = count_extended;
    launched = 0;
    for (int i = 0; i < 5; i++) OK(lfuse_plan_run(plan, wrapped, bound, 2));
    lfuse__cu.LaunchKernel = launch_kernel;
    lfuse__cu.LaunchKernelEx = launch_extended;
    lfuse_device_counters after = counters_of(device);
    ck_assert_uint_eq(launched, 5);
    ck_assert_uint_eq(after.launches - before.launches, launched);
    OK(lfuse_stream_synchronize(wrapped));
}

/* A context of the caller's own is a device of its own; memory of the one is refused by the other. */
TEST(adopted_context)
{
    SKIP_WITHOUT_CUDA();
    typedef CUresult context_create(CUcontext *, unsigned, CUdevice);
    typedef CUresult context_destroy(CUcontext);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ck_assert_ptr_nonnull(driver);
    context_create *create = (context_create *)dlsym(driver, "cuCtxCreate_v2");
    context_destroy *destroy = (context_destroy *)dlsym(driver, "cuCtxDestroy_v2");
    ck_assert(create && destroy);
    CUcontext own, popped;
    ck_assert_int_eq(create(&own, 0, 0), CUDA_SUCCESS);
    CU(CtxPopCurrent(&popped));

    lfuse_device *adopted;
    lfuse_tensor *foreign;
    float host[N];
    OK(lfuse_device_adopt("cuda", own, NULL, &adopted));
    objects_own(adopted, objects_destroy_device);
    lfuse_stream *s = new_stream(adopted);
    lfuse_tensor *a = new_tensor(adopted, F32(N));
    lfuse_tensor *b = new_tensor(adopted, F32(N));
    OK(lfuse_tensor_fill(a, NULL, 2));
    lfuse_plan *here = make_plan(adopted);
    lfuse_binding bindings[2] = {BIND("x", a), BIND("y", b)};
    OK(lfuse_plan_run(here, s, bindings, 2));
    OK(lfuse_stream_synchronize(s));
    OK(lfuse_tensor_read(b, NULL, host));
    for (int i = 0; i < N; i++) ck_assert_float_eq(host[i], 5);
    ck_assert_int_eq(lfuse_tensor_wrap(adopted, LFUSE_MEMORY_NATIVE, in, 0, F32(N), NULL, 0,
                                       &foreign), LFUSE_ERR_CONTEXT);
    lfuse_stream *other;
    ck_assert_int_eq(lfuse_stream_wrap(adopted, stream, &other), LFUSE_ERR_CONTEXT);
    bindings[0] = BIND("x", x);
    ck_assert_int_eq(lfuse_plan_run(here, s, bindings, 2), LFUSE_ERR_CONTEXT);
    drop_all();
    ck_assert_int_eq(destroy(own), CUDA_SUCCESS);
    dlclose(driver);
}

/* Managed memory: one pointer for host and device. */
TEST(managed_pointer)
{
    SKIP_WITHOUT_CUDA();
    CUdeviceptr managed;
    lfuse_tensor *t;
    CU(MemAllocManaged(&managed, N * sizeof(float), CU_MEM_ATTACH_GLOBAL));
    float *host = (float *)(uintptr_t)managed;
    for (int i = 0; i < N; i++) host[i] = (float)i;
    OK(lfuse_tensor_wrap(device, LFUSE_MEMORY_POINTER, managed, N * sizeof(float), F32(N), NULL, 0, &t));
    RUN(plan, wrapped, BIND("x", t), BIND("y", y));
    expect(0);
    lfuse_tensor_destroy(t);
    OK(lfuse_stream_synchronize(wrapped));
    CU(MemFree(managed));
}

TEST_SUITE("foreign CUDA objects", CK_NOFORK)
