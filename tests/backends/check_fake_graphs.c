/* SPDX-License-Identifier: Apache-2.0 */
/* Native graphs of the CUDA backend over the driver of tests/fake-cuda: what their nodes hold. */
#include "libfuse.h"
#include "tests/backends/fake_rig.h"

enum { LAYERS = 8, WIDTH = 16 };

typedef struct chain {
    lfuse__bdevice *dev;
    lfuse__bstream *s;
    lfuse__bprogram *p;
    lfuse__bkernel *k;
    lfuse__bmem *m[2];
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

static void chain_open(chain *c, CUstream wrapped, bool own)
{
    c->dev = open_device(0);
    if (own) OK(cuda->stream_create(c->dev, &c->s));
    else OK(cuda->stream_wrap(c->dev, wrapped, &c->s));
    OK(cuda->program_load(c->dev, "module", 6, &c->p));
    OK(cuda->kernel_create(c->p, "k_1_2", &c->k));
    for (int i = 0; i < 2; i++) OK(cuda->alloc(c->dev, LFUSE__ALLOC_DEVICE, 256, &c->m[i]));
}

static void chain_close(chain *c)
{
    for (int i = 0; i < 2; i++) cuda->free(c->m[i]);
    cuda->kernel_destroy(c->k);
    cuda->program_destroy(c->p);
    cuda->stream_destroy(c->s);
    close_device(c->dev);
}

static void check_replayed(unsigned i, unsigned grid, const lfuse__bmem *m, uint64_t first, uint64_t second)
{
    const fakecuda_launch *l = fake_replayed(i);
    ck_assert_uint_eq(l->grid, grid);
    ck_assert(l->block == 96 && l->shared == 64 && l->overlap == 1);
    ck_assert_uint_eq(l->buffers[0], m->address);
    ck_assert_uint_eq(l->words[0], first);
    ck_assert_uint_eq(l->words[1], second);
}

TEST_CASE("nodes", .setup = load_fakes)

/* One launch gets other arguments: the others keep theirs, all keep their overlap, also after an update. */
TEST(test_patched_graph)
{
    static const uint64_t words[] = { 70, 71 };
    lfuse__bgraph *g = NULL;
    chain c;
    chain_open(&c, NULL, true);
    lfuse__launch_args args = { .groups = 9, .group = 96, .local_bytes = 64, .nbuffers = 1, .nwords = 2,
                                .buffers = &c.m[1], .words = words };
    OK(cuda->graph_begin(c.s));
    chain_launch(&c, c.m[0], 20);
    OK(cuda->graph_end(c.s, &g));
    ck_assert_uint_eq(fake_last()->launches, 0);
    OK(cuda->graph_patch(g, 1, c.k, &args));
    OK(cuda->graph_launch(c.s, g));
    ck_assert_uint_eq(fake_last()->launches, 3);
    check_replayed(0, 5, c.m[0], 20, 20);
    check_replayed(1, 9, c.m[1], 70, 71);
    check_replayed(2, 7, c.m[0], 20, 22);
    OK(cuda->graph_begin(c.s));
    chain_launch(&c, c.m[1], 30);
    OK(cuda->graph_end(c.s, &g));
    ck_assert_uint_eq(fake_calls("cuGraphInstantiateWithFlags"), 1);
    OK(cuda->graph_patch(g, 2, c.k, &args));
    OK(cuda->graph_launch(c.s, g));
    check_replayed(1, 6, c.m[1], 30, 31);
    check_replayed(2, 9, c.m[1], 70, 71);
    FAILS(cuda->graph_patch(g, 3, c.k, &args), LFUSE_ERR_UNSUPPORTED);
    args.groups = (uint64_t)1 << 31;
    FAILS(cuda->graph_patch(g, 0, c.k, &args), LFUSE_ERR_OVERFLOW);
    args.groups = 1;
    arrange("cuGraphExecKernelNodeSetParams:1:2");
    FAILS(cuda->graph_patch(g, 0, c.k, &args), LFUSE_ERR_DEVICE_MEMORY);
    SAYS("cuGraphExecKernelNodeSetParams of kernel k_1_2, 1 groups of 96");
    arrange("");
    OK(cuda->graph_launch(c.s, g));
    check_replayed(0, 5, c.m[1], 30, 30);
    cuda->graph_destroy(g);
    chain_close(&c);
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
    lfuse__bgraph *g = NULL;
    chain c;
    chain_open(&c, NULL, true);
    OK(cuda->graph_begin(c.s));
    chain_launch(&c, c.m[0], 20);
    if (_i == 1) others_launch(&c);
    OK(cuda->graph_end(c.s, &g));
    OK(cuda->graph_begin(c.s));
    chain_launch(&c, c.m[0], 20);
    chain_launch(&c, c.m[0], 40);
    OK(cuda->graph_end(c.s, &g));
    ck_assert_uint_eq(fake_calls("cuGraphInstantiateWithFlags"), 2);
    ck_assert_uint_eq(fake_calls("cuGraphExecDestroy"), 1);
    static const uint64_t words[] = { 1, 2 };
    lfuse__launch_args args = { .groups = 2, .group = 96, .local_bytes = 64, .nbuffers = 1, .nwords = 2,
                                .buffers = &c.m[1], .words = words };
    OK(cuda->graph_patch(g, 4, c.k, &args));
    OK(cuda->graph_launch(c.s, g));
    check_replayed(3, 5, c.m[0], 40, 40);
    check_replayed(4, 2, c.m[1], 1, 2);
    cuda->graph_destroy(g);
    chain_close(&c);
}

/* Without the driver's word for a node there is nothing to patch. */
TEST(test_unknown_nodes)
{
    static const uint64_t words[] = { 1, 2 };
    lfuse__bgraph *g = NULL;
    chain c;
    chain_open(&c, NULL, true);
    arrange("cuStreamGetCaptureInfo:2:909");
    OK(cuda->graph_begin(c.s));
    chain_launch(&c, c.m[0], 20);
    OK(cuda->graph_end(c.s, &g));
    lfuse__launch_args args = { .groups = 2, .group = 96, .local_bytes = 64, .nbuffers = 1, .nwords = 2,
                                .buffers = &c.m[1], .words = words };
    OK(cuda->graph_patch(g, 0, c.k, &args));
    FAILS(cuda->graph_patch(g, 1, c.k, &args), LFUSE_ERR_UNSUPPORTED);
    SAYS("k_1_2");
    cuda->graph_destroy(g);
    chain_close(&c);
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
    lfuse__bgraph *g = NULL;
    chain c;
    chain_open(&c, NULL, true);
    capture_info = lfuse__cu.StreamGetCaptureInfo;
    lfuse__cu.StreamGetCaptureInfo = info_of_two_nodes;
    OK(cuda->graph_begin(c.s));
    chain_launch(&c, c.m[0], 20);
    OK(cuda->graph_end(c.s, &g));
    lfuse__cu.StreamGetCaptureInfo = capture_info;
    lfuse__launch_args args = { .groups = 2, .group = 96, .local_bytes = 64, .nbuffers = 1, .nwords = 2,
                                .buffers = &c.m[1], .words = words };
    FAILS(cuda->graph_patch(g, 0, c.k, &args), LFUSE_ERR_UNSUPPORTED);
    cuda->graph_destroy(g);
    chain_close(&c);
}

/* The legacy default stream cannot be captured: another one is, and the graph runs on the default stream. */
TEST_LOOP(test_graph_of_default_stream, 0, 2)
{
    CUstream defaults[] = { NULL, CU_STREAM_LEGACY };
    lfuse__bgraph *g = NULL;
    bool capturing = false;
    chain c;
    chain_open(&c, defaults[_i], false);
    OK(cuda->graph_begin(c.s));
    OK(cuda->stream_capturing(c.s, &capturing));
    ck_assert(capturing);
    chain_launch(&c, c.m[0], 20);
    OK(cuda->graph_end(c.s, &g));
    OK(cuda->stream_capturing(c.s, &capturing));
    ck_assert(!capturing);
    ck_assert_ptr_eq(cuda->stream_native(c.s), defaults[_i]);
    ck_assert_uint_eq(fake_calls("cuStreamDestroy"), 1);
    OK(cuda->graph_launch(c.s, g));
    check_replayed(2, 7, c.m[0], 20, 22);
    ck_assert_ptr_eq(fake_last()->stream, defaults[_i]);
    arrange("cuStreamCreate:1:2");
    FAILS(cuda->graph_begin(c.s), LFUSE_ERR_DEVICE_MEMORY);
    arrange("cuStreamBeginCapture:1:2");
    FAILS(cuda->graph_begin(c.s), LFUSE_ERR_DEVICE_MEMORY);
    ck_assert_uint_eq(fake_calls("cuStreamDestroy"), 1);
    ck_assert_ptr_eq(cuda->stream_native(c.s), defaults[_i]);
    arrange("");
    cuda->graph_destroy(g);
    chain_close(&c);
}

/* ---- through the library ---- */

/* Layers of linear, bias and relu, each one product of cuBLASLt. */
static lfuse_status dense_plan(lfuse_device *dev, lfuse_plan **plan)
{
    const lfuse_plan_options vendors = { .disable = LFUSE_NO_SMALL_PRODUCTS, .provider = LFUSE_PROVIDER_VENDOR };
    const int64_t square[] = { WIDTH, WIDTH }, line[] = { WIDTH };
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 2, square), w = lfuse_frozen(g, "w", LFUSE_F32, 2, square),
        b = lfuse_frozen(g, "b", LFUSE_F32, 1, line);
    for (int l = 0; l < LAYERS; l++) x = lfuse_relu(lfuse_add(lfuse_matmul(x, w), b));
    lfuse_output(g, "y", x);
    lfuse_status status = lfuse_plan_create(dev, g, &vendors, plan);
    lfuse_graph_destroy(g);
    return status;
}

/* Eight products are one launch from the third run on; others of theirs are launched until they came three times. */
TEST(test_dense_network)
{
    const int64_t square[] = { WIDTH, WIDTH }, line[] = { WIDTH };
    lfuse_tensor *x[2], *w, *b, *y;
    lfuse_device_counters before, after;
    lfuse_device *dev;
    lfuse_stream *s;
    lfuse_plan *plan;
    if (lfuse__cu_load_compiler()) TEST_SKIP("no NVRTC: %s", lfuse__cu_compiler.reason);
    if (lfuse__cu_load_blas() || strcmp(lfuse__cu_blas.text, "13.0.0")) TEST_SKIP("cuBLASLt is not the fake one");
    OK(lfuse_device_open("cuda:0", &dev));
    OK(lfuse_stream_create(dev, &s));
    OK(dense_plan(dev, &plan));
    ck_assert_msg(strstr(lfuse_plan_text(plan), " (replay 0 patched 8 bound)") != NULL, "%s", lfuse_plan_text(plan));
    for (int i = 0; i < 2; i++) OK(lfuse_tensor_create(dev, LFUSE_F32, 2, square, &x[i]));
    OK(lfuse_tensor_create(dev, LFUSE_F32, 2, square, &w));
    OK(lfuse_tensor_create(dev, LFUSE_F32, 1, line, &b));
    OK(lfuse_tensor_create(dev, LFUSE_F32, 2, square, &y));
    fake_reset();
    OK(lfuse_device_get_counters(dev, &before));
    for (int i = 0; i < 10; i++) {
        static const uint64_t graphs[] = { 0, 0, 1, 2, 3, 3, 3, 4, 5, 6 };
        static const uint64_t captures[] = { 0, 0, 1, 1, 1, 1, 1, 2, 2, 2 };
        const lfuse_binding bind[] = { lfuse_bind_tensor("x", x[i >= 5]), lfuse_bind_tensor("w", w),
                                       lfuse_bind_tensor("b", b), lfuse_bind_tensor("y", y) };
        OK(lfuse_plan_run(plan, s, bind, 4));
        ck_assert_uint_eq(fake_calls("cuGraphLaunch"), graphs[i]);
        ck_assert_uint_eq(fake_calls("cuStreamBeginCapture"), captures[i]);
    }
    ck_assert_uint_eq(fake_calls("cuGraphExecUpdate"), 1);
    OK(lfuse_device_get_counters(dev, &after));
    ck_assert_uint_eq(after.launches - before.launches, 10 * LAYERS);
    for (int i = 0; i < 2; i++) lfuse_tensor_destroy(x[i]);
    lfuse_tensor_destroy(w), lfuse_tensor_destroy(b), lfuse_tensor_destroy(y);
    lfuse_plan_destroy(plan);
    lfuse_stream_destroy(s);
    lfuse_device_close(dev);
    ck_assert_int_eq(fake_live(), 0);
}

/* x w w in one launch, which is a cooperative one in the caller's graph too; nothing else is asked of the driver. */
TEST(test_captured_network)
{
    const int64_t square[] = { WIDTH, WIDTH };
    lfuse_tensor *x, *w, *y;
    lfuse_instance *instance;
    lfuse_device *dev;
    lfuse_stream *s;
    lfuse_plan *plan;
    CUcontext context, popped;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    if (lfuse__cu_load_compiler()) TEST_SKIP("no NVRTC: %s", lfuse__cu_compiler.reason);
    setenv("FAKECUDA_QUICK", "0", 1); /* kernels by any name */
    OK(lfuse_device_open("cuda:0", &dev));
    ck_assert_int_eq(lfuse__cu.DevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.CtxPushCurrent(context), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    OK(lfuse_stream_wrap(dev, stream, &s));
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value v = lfuse_input(g, "x", LFUSE_F32, 2, square), weights = lfuse_frozen(g, "w", LFUSE_F32, 2, square);
    lfuse_output(g, "y", lfuse_matmul(lfuse_relu(lfuse_matmul(v, weights)), weights));
    OK(lfuse_plan_create(dev, g, &(lfuse_plan_options){ .disable = LFUSE_NO_SMALL_PRODUCTS }, &plan));
    lfuse_graph_destroy(g);
    ck_assert_msg(!strncmp(lfuse_plan_text(plan), "(network ", 9), "%s", lfuse_plan_text(plan));
    OK(lfuse_tensor_create(dev, LFUSE_F32, 2, square, &x));
    OK(lfuse_tensor_create(dev, LFUSE_F32, 2, square, &w));
    OK(lfuse_tensor_create(dev, LFUSE_F32, 2, square, &y));
    const lfuse_binding bind[] = { lfuse_bind_tensor("x", x), lfuse_bind_tensor("w", w), lfuse_bind_tensor("y", y) };
    OK(lfuse_instance_create(plan, s, bind, 3, &instance));
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
    unsetenv("FAKECUDA_QUICK");
    ck_assert_int_eq(lfuse__cu.GraphExecDestroy(exec), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.GraphDestroy(graph), CUDA_SUCCESS);
    lfuse_instance_destroy(instance);
    lfuse_tensor_destroy(x), lfuse_tensor_destroy(w), lfuse_tensor_destroy(y);
    lfuse_plan_destroy(plan);
    lfuse_stream_destroy(s);
    ck_assert_int_eq(lfuse__cu.StreamDestroy(stream), CUDA_SUCCESS);
    ck_assert_int_eq(lfuse__cu.CtxPopCurrent(&popped), CUDA_SUCCESS);
    lfuse_device_close(dev);
    ck_assert_int_eq(lfuse__cu.DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_SUITE("fake graphs", CK_FORK_GETENV)
