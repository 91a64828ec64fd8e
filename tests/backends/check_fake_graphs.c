/* SPDX-License-Identifier: Apache-2.0 */
/* Native graphs of the CUDA backend over the driver of tests/fake-cuda: what their nodes hold. */
#include "libfuse.h"
#include "tests/backends/fake_rig.h"

enum { LAYERS = 8, WIDTH = 16 };

typedef struct chain {
    lfuse__bdevice *dev;
    lfuse__bstream *s;
    lfuse__bkernel *k;
    lfuse__bmem *m[2];
    lfuse__bgraph *g;
} chain;

/* Three launches of one kernel, the i-th with words first, first + i. */
static void chain_launch(chain *c, lfuse__bmem *m, uint64_t first)
{
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t words[] = { first, first + i };
        lfuse__launch_args args = { .groups = 5 + i, .group = 96, .local_bytes = 64, .nbuffers = 1, .nwords = 2,
                                    .buffers = &m, .words = words };
        OK(cuda->launch(c->s, c->k, &args));
    }
}

static void destroy_graph(void *held)
{
    cuda->graph_destroy(((chain *)held)->g);
}

/* Of the test: on a stream of its own, or on the caller's. */
static chain *chain_open(CUstream wrapped, bool own)
{
    static chain c;
    c = (chain){ .dev = open_device(0) };
    if (own) {
        c.s = stream_on(c.dev);
    } else {
        OK(cuda->stream_wrap(c.dev, wrapped, &c.s));
        objects_own(c.s, destroy_stream);
    }
    c.k = kernel_on(c.dev, "k_1_2");
    for (int i = 0; i < 2; i++) c.m[i] = memory_on(c.dev, 256);
    return objects_own(&c, destroy_graph);
}

/* What is launched meanwhile becomes the graph, or another state of it. */
static void chain_begin(chain *c)
{
    OK(cuda->graph_begin(c->s));
}

static void chain_end(chain *c)
{
    OK(cuda->graph_end(c->s, &c->g));
}

/* Of one of its launches; the words are of the caller. */
static lfuse__launch_args chain_args(chain *c, uint64_t groups, const uint64_t *words)
{
    return (lfuse__launch_args){ .groups = groups, .group = 96, .local_bytes = 64, .nbuffers = 1, .nwords = 2,
                                 .buffers = &c->m[1], .words = words };
}

static void check_replayed(unsigned i, unsigned grid, const lfuse__bmem *m, uint64_t first, uint64_t second)
{
    const fakecuda_launch *l = fake_replayed(i);
    ck_assert_uint_eq(l->grid, grid);
    /* TILE_DYNAMIC of the prelude may skip 1 KiB. */
    ck_assert(l->block == 96 && l->shared == 64 + 1024 && l->overlap == 1);
    ck_assert_uint_eq(l->buffers[0], m->address);
    ck_assert_uint_eq(l->words[0], first);
    ck_assert_uint_eq(l->words[1], second);
}

TEST_CASE("nodes", .setup = load_fakes, .teardown = nothing_is_left)

/* One launch gets other arguments: the others keep theirs, all keep their overlap, also after an update. */
TEST(test_patched_graph)
{
    static const uint64_t words[] = { 70, 71 };
    chain *c = chain_open(NULL, true);
    lfuse__launch_args args = chain_args(c, 9, words);
    chain_begin(c);
    chain_launch(c, c->m[0], 20);
    chain_end(c);
    ck_assert_uint_eq(fake_last()->launches, 0);
    OK(cuda->graph_patch(c->g, 1, c->k, &args));
    OK(cuda->graph_launch(c->s, c->g));
    ck_assert_uint_eq(fake_last()->launches, 3);
    check_replayed(0, 5, c->m[0], 20, 20);
    check_replayed(1, 9, c->m[1], 70, 71);
    check_replayed(2, 7, c->m[0], 20, 22);
    chain_begin(c);
    chain_launch(c, c->m[1], 30);
    chain_end(c);
    ck_assert_uint_eq(fake_calls("cuGraphInstantiateWithFlags"), 1);
    OK(cuda->graph_patch(c->g, 2, c->k, &args));
    OK(cuda->graph_launch(c->s, c->g));
    check_replayed(1, 6, c->m[1], 30, 31);
    check_replayed(2, 9, c->m[1], 70, 71);
    FAILS(LFUSE_ERR_UNSUPPORTED, cuda->graph_patch(c->g, 3, c->k, &args));
    args.groups = (uint64_t)1 << 31;
    FAILS(LFUSE_ERR_OVERFLOW, cuda->graph_patch(c->g, 0, c->k, &args));
    args.groups = 1;
    arrange("cuGraphExecKernelNodeSetParams:1:2");
    FAILS(LFUSE_ERR_DEVICE_MEMORY, cuda->graph_patch(c->g, 0, c->k, &args));
    ck_says("cuGraphExecKernelNodeSetParams of kernel k_1_2, 1 groups of 96");
    arrange("");
    OK(cuda->graph_launch(c->s, c->g));
    check_replayed(0, 5, c->m[1], 30, 30);
}

/* Three launches that are none of the backend's, like those of cuBLASLt. */
static void others_launch(chain *c)
{
    uint64_t address = 0, words[2] = { 0, 0 };
    void *parameters[] = { &address, words };
    bool pushed;
    OK(lfuse__cu_enter(c->dev, &pushed));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(lfuse__cu.LaunchKernel(c->k->function, 1, 1, 1, 32, 1, 1, 0, cuda->stream_native(c->s),
                                                parameters, NULL), CUDA_SUCCESS);
    lfuse__cu_leave(pushed);
}

/* Another number of launches is another graph, with nodes of its own, also (1) where the driver sees as many nodes. */
TEST_LOOP(test_replaced_graph, 0, 2)
{
    chain *c = chain_open(NULL, true);
    chain_begin(c);
    chain_launch(c, c->m[0], 20);
    if (_i == 1) others_launch(c);
    chain_end(c);
    chain_begin(c);
    chain_launch(c, c->m[0], 20);
    chain_launch(c, c->m[0], 40);
    chain_end(c);
    ck_assert_uint_eq(fake_calls("cuGraphInstantiateWithFlags"), 2);
    ck_assert_uint_eq(fake_calls("cuGraphExecDestroy"), 1);
    static const uint64_t words[] = { 1, 2 };
    lfuse__launch_args args = chain_args(c, 2, words);
    OK(cuda->graph_patch(c->g, 4, c->k, &args));
    OK(cuda->graph_launch(c->s, c->g));
    check_replayed(3, 5, c->m[0], 40, 40);
    check_replayed(4, 2, c->m[1], 1, 2);
}

/* Without the driver's word for a node there is nothing to patch. */
TEST(test_unknown_nodes)
{
    static const uint64_t words[] = { 1, 2 };
    chain *c = chain_open(NULL, true);
    arrange("cuStreamGetCaptureInfo:2:909");
    chain_begin(c);
    chain_launch(c, c->m[0], 20);
    chain_end(c);
    lfuse__launch_args args = chain_args(c, 2, words);
    OK(cuda->graph_patch(c->g, 0, c->k, &args));
    SAYS(LFUSE_ERR_UNSUPPORTED, cuda->graph_patch(c->g, 1, c->k, &args), "k_1_2");
}

static PFN_cuStreamGetCaptureInfo_v11030 capture_info;

/* The next command would wait for another node too. */
static CUresult info_of_two_nodes(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                  const CUgraphNode **nodes, size_t *count)
{
    static CUgraphNode both[2];
    CUresult result = capture_info(stream, status, id, graph, nodes, count);
    if (result == CUDA_SUCCESS && *count == 1) {
        both[0] = both[1] = **nodes;
        *nodes = both, *count = 2;
    }
    return result;
}

/* Nor is there where it does not tell which of several nodes is the launch's. */
TEST(test_several_nodes)
{
    static const uint64_t words[] = { 1, 2 };
    chain *c = chain_open(NULL, true);
    capture_info = lfuse__cu.StreamGetCaptureInfo;
    lfuse__cu.StreamGetCaptureInfo = info_of_two_nodes;
    chain_begin(c);
    chain_launch(c, c->m[0], 20);
    chain_end(c);
    lfuse__cu.StreamGetCaptureInfo = capture_info;
    lfuse__launch_args args = chain_args(c, 2, words);
    FAILS(LFUSE_ERR_UNSUPPORTED, cuda->graph_patch(c->g, 0, c->k, &args));
}

/* The legacy default stream cannot be captured: another one is, and the graph runs on the default stream. */
TEST_LOOP(test_graph_of_default_stream, 0, 2)
{
    CUstream defaults[] = { NULL, CU_STREAM_LEGACY };
    bool capturing = false;
    chain *c = chain_open(defaults[_i], false);
    chain_begin(c);
    OK(cuda->stream_capturing(c->s, &capturing));
    ck_assert(capturing);
    chain_launch(c, c->m[0], 20);
    chain_end(c);
    OK(cuda->stream_capturing(c->s, &capturing));
    ck_assert(!capturing);
    ck_assert_ptr_eq(cuda->stream_native(c->s), defaults[_i]);
    ck_assert_uint_eq(fake_calls("cuStreamDestroy"), 1);
    OK(cuda->graph_launch(c->s, c->g));
    check_replayed(2, 7, c->m[0], 20, 22);
    ck_assert_ptr_eq(fake_last()->stream, defaults[_i]);
    arrange("cuStreamCreate:1:2");
    FAILS(LFUSE_ERR_DEVICE_MEMORY, cuda->graph_begin(c->s));
    arrange("cuStreamBeginCapture:1:2");
    FAILS(LFUSE_ERR_DEVICE_MEMORY, cuda->graph_begin(c->s));
    ck_assert_uint_eq(fake_calls("cuStreamDestroy"), 1);
    ck_assert_ptr_eq(cuda->stream_native(c->s), defaults[_i]);
    arrange("");
}

/* ---- through the library ---- */

/* Layers of linear, bias and relu, each one product of cuBLASLt. */
static lfuse_plan *dense_plan(lfuse_device *dev)
{
    const lfuse_plan_options vendors = { .disable = LFUSE_NO_SMALL_PRODUCTS, .provider = LFUSE_PROVIDER_VENDOR };
    const int64_t square[] = { WIDTH, WIDTH }, line[] = { WIDTH };
    lfuse_graph *g = new_graph();
    lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 2, square), w = lfuse_frozen(g, "w", LFUSE_F32, 2, square),
        b = lfuse_frozen(g, "b", LFUSE_F32, 1, line);
    for (int l = 0; l < LAYERS; l++) x = lfuse_relu(lfuse_add(lfuse_matmul(x, w), b));
    lfuse_output(g, "y", x);
    return new_plan(dev, g, &vendors);
}

/* Eight products are one launch from the third run on; others of theirs are launched until they came three times. */
TEST(test_dense_network)
{
    const int64_t square[] = { WIDTH, WIDTH }, line[] = { WIDTH };
    lfuse_tensor *x[2];
    NEED_COMPILER();
    NEED_FAKE_BLAS();
    lfuse_device *dev = new_device("cuda:0");
    lfuse_stream *s = new_stream(dev);
    lfuse_plan *plan = dense_plan(dev);
    ck_assert_msg(strstr(lfuse_plan_text(plan), " (replay 0 patched 8 bound)") != NULL, "%s", lfuse_plan_text(plan));
    for (int i = 0; i < 2; i++) x[i] = new_tensor(dev, LFUSE_F32, 2, square);
    lfuse_tensor *w = new_tensor(dev, LFUSE_F32, 2, square), *b = new_tensor(dev, LFUSE_F32, 1, line);
    lfuse_tensor *y = new_tensor(dev, LFUSE_F32, 2, square);
    fake_reset();
    lfuse_device_counters before = counters_of(dev);
    for (int i = 0; i < 10; i++) {
        static const uint64_t graphs[] = { 0, 0, 1, 2, 3, 3, 3, 4, 5, 6 };
        static const uint64_t captures[] = { 0, 0, 1, 1, 1, 1, 1, 2, 2, 2 };
        RUN(plan, s, BIND("x", x[i >= 5]), BIND("w", w), BIND("b", b), BIND("y", y));
        ck_assert_uint_eq(fake_calls("cuGraphLaunch"), graphs[i]);
        ck_assert_uint_eq(fake_calls("cuStreamBeginCapture"), captures[i]);
    }
    ck_assert_uint_eq(fake_calls("cuGraphExecUpdate"), 1);
    lfuse_device_counters after = counters_of(dev);
    ck_assert_uint_eq(after.launches - before.launches, 10 * LAYERS);
}

/* x w w in one launch, which is a cooperative one in the caller's graph too; nothing else is asked of the driver. */
TEST(test_captured_network)
{
    const int64_t square[] = { WIDTH, WIDTH };
    lfuse_stream *s;
    CUcontext context, popped;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    NEED_COMPILER();
    setenv("FAKECUDA_QUICK", "0", 1); /* kernels by any name */
    lfuse_device *dev = new_device("cuda:0");
    ck_assert_int_eq(lfuse__cu.DevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.CtxPushCurrent(context), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    OK(lfuse_stream_wrap(dev, stream, &s));
    objects_own(s, objects_destroy_stream);
    lfuse_graph *g = new_graph();
    lfuse_value v = lfuse_input(g, "x", LFUSE_F32, 2, square), weights = lfuse_frozen(g, "w", LFUSE_F32, 2, square);
    lfuse_output(g, "y", lfuse_matmul(lfuse_relu(lfuse_matmul(v, weights)), weights));
    lfuse_plan *plan = new_plan(dev, g, &(lfuse_plan_options){ .disable = LFUSE_NO_SMALL_PRODUCTS });
    ck_assert_msg(!strncmp(lfuse_plan_text(plan), "(network ", 9), "%s", lfuse_plan_text(plan));
    lfuse_tensor *x = new_tensor(dev, LFUSE_F32, 2, square), *w = new_tensor(dev, LFUSE_F32, 2, square);
    lfuse_tensor *y = new_tensor(dev, LFUSE_F32, 2, square);
    const lfuse_binding bind[] = { BIND("x", x), BIND("w", w), BIND("y", y) };
    lfuse_instance *instance = new_instance(plan, s, bind, 3);
    fake_reset();
    ck_assert_int_eq(lfuse__cu.StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    OK(lfuse_instance_run(instance, bind, 3));
    ck_assert_int_eq(lfuse__cu.StreamEndCapture(stream, &graph), CUDA_SUCCESS);
    ck_assert_uint_eq(fake_calls("cuMemAlloc") + fake_calls("cuGraphLaunch") + fake_calls("cuStreamSynchronize"), 0);
    ck_assert_uint_eq(fake_calls("cuMemsetD32Async") + fake_calls("cuMemsetD8Async"), 0);
    ck_assert_int_eq(lfuse__cu.GraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.GraphLaunch(exec, stream), CUDA_SUCCESS);
    ck_assert(fake_replayed(0)->resident && !fake_replayed(0)->overlap);
    ck_assert_uint_eq(fake_calls("cuLaunchKernelEx") + fake_calls("cuLaunchKernel"), 1);
    ck_assert_int_eq(lfuse__cu.GraphExecDestroy(exec), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.GraphDestroy(graph), CUDA_SUCCESS);
    drop_all();
    ck_assert_int_eq(lfuse__cu.StreamDestroy(stream), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.CtxPopCurrent(&popped), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_SUITE("fake graphs", CK_FORK_GETENV)
