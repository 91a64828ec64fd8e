/* SPDX-License-Identifier: Apache-2.0 */
/* Bare driver and cuBLASLt calls on the device's stream. */
#include <stdlib.h>

#include "backends/cuda/internal.h"
#include "backends/cuda/program.h"
#include "bench/native.h"
#include "bench/timer.h"
#include "common/run/tensors/tensor.h"

enum { MOST_LAYERS = 16, MOST_CANDIDATES = 32, FINALISTS = 4, QUICK_ROUNDS = 3, FINAL_ROUNDS = 9 };
#define ROUNDS_US 10e3
static const size_t workspace_bytes = 64u << 20;

struct bench_native {
    CUstream stream;
    CUmodule module;
    CUfunction empty, worker;
    CUdeviceptr numbers;
};
enum { WORKER_ELEMENTS = 256, WORKER_WORDS = 4 };

static lfuse_status check(CUresult result, const char *call)
{
    return result ? lfuse__cu_error(NULL, result, "%s", call) : LFUSE_OK;
}

static lfuse_status check_lt(cublasStatus_t status, const char *call)
{
    return status ? lfuse__error(LFUSE_ERR_DEVICE, "%s returned %d", call, (int)status) : LFUSE_OK;
}

/* A program that calls the driver has its context current; so does this one while it measures. */
static lfuse_status enter_context(CUstream stream)
{
    CUcontext context;
    LFUSE__TRY(check(lfuse__cu.StreamGetCtx(stream, &context), "cuStreamGetCtx"));
    return check(lfuse__cu.CtxPushCurrent(context), "cuCtxPushCurrent");
}

static void leave_context(void)
{
    CUcontext context;
    lfuse__cu.CtxPopCurrent(&context);
}

static const char kernels[] =
    "extern \"C\" __global__ void empty() {}\n"
    "struct words { unsigned long long w[4]; };\n"
    "extern \"C\" __global__ void __launch_bounds__(256) worker(const float *x, float *y,\n"
    "                                                          const __grid_constant__ words words)\n"
    "{\n"
    "    if (threadIdx.x < words.w[2]) y[words.w[1] + threadIdx.x] = x[words.w[0] + threadIdx.x] + 1;\n"
    "}\n";

static lfuse_status load_kernels(bench_device *d, bench_native *n)
{
    lfuse__strbuf log = LFUSE__STRBUF_INIT, binary = LFUSE__STRBUF_INIT;
    lfuse_status status = lfuse__cuda_compile(kernels, lfuse__device_facts(d->dev)->arch, &log, &binary);
    if (!status) status = check(lfuse__cu.ModuleLoadDataEx(&n->module, binary.data, 0, NULL, NULL), "cuModuleLoadData");
    lfuse__strbuf_free(&binary);
    lfuse__strbuf_free(&log);
    if (status) return status;
    status = check(lfuse__cu.ModuleGetFunction(&n->empty, n->module, "empty"), "cuModuleGetFunction");
    if (!status) status = check(lfuse__cu.ModuleGetFunction(&n->worker, n->module, "worker"), "cuModuleGetFunction");
    if (!status) status = check(lfuse__cu.MemAlloc(&n->numbers, WORKER_ELEMENTS * sizeof(float)), "cuMemAlloc");
    if (status) lfuse__cu.ModuleUnload(n->module);
    return status;
}

static void destroy(bench_native *n)
{
    lfuse__cu.MemFree(n->numbers);
    lfuse__cu.ModuleUnload(n->module);
    leave_context();
    free(n);
}

static lfuse_status create(bench_device *d, bench_native **native)
{
    bench_native *n = calloc(1, sizeof *n);
    if (!n) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the bare launches");
    n->stream = lfuse_stream_native(d->stream);
    lfuse_status status = enter_context(n->stream);
    if (status) goto free_native;
    status = load_kernels(d, n);
    if (status) goto leave;
    *native = n;
    return LFUSE_OK;
leave:
    leave_context();
free_native:
    free(n);
    return status;
}

static lfuse_status empty(bench_native *n)
{
    return check(lfuse__cu.LaunchKernel(n->empty, 1, 1, 1, 1, 1, 1, 0, n->stream, NULL, NULL), "cuLaunchKernel");
}

static lfuse_status worker(bench_native *n)
{
    uint64_t words[WORKER_WORDS] = {0, 0, WORKER_ELEMENTS, 0};
    void *parameters[] = {&n->numbers, &n->numbers, words};
    return check(lfuse__cu.LaunchKernel(n->worker, 1, 1, 1, WORKER_ELEMENTS, 1, 1, 0, n->stream, parameters, NULL),
                 "cuLaunchKernel");
}

/* ---- dense networks ---- */

typedef struct network {
    CUstream stream;
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t layer[MOST_LAYERS]; /* each with its bias */
    cublasLtMatrixLayout_t weights, from, to;
    bool turn_x, turn_w;
    cublasComputeType_t sums;
    cublasLtMatmulAlgo_t algorithm;
    cudaDataType_t type; /* of all matrices; sums are of f32 */
    CUdeviceptr workspace, w[MOST_LAYERS], in[MOST_LAYERS], out[MOST_LAYERS];
    int layers;
    bool entered;
} network;

static CUdeviceptr address_of(const lfuse_tensor *t)
{
    return t->range->mem->address + t->range->offset + (uint64_t)t->offset * lfuse_type_size(t->type);
}

static void dense_destroy(void *dense)
{
    network *n = dense;
    for (int l = 0; l < n->layers; l++)
        if (n->layer[l]) lfuse__lt.MatmulDescDestroy(n->layer[l]);
    if (n->weights) lfuse__lt.MatrixLayoutDestroy(n->weights);
    if (n->from) lfuse__lt.MatrixLayoutDestroy(n->from);
    if (n->to) lfuse__lt.MatrixLayoutDestroy(n->to);
    if (n->lt) lfuse__lt.Destroy(n->lt);
    if (n->workspace) lfuse__cu.MemFree(n->workspace);
    if (n->entered) leave_context();
    free(n);
}

/* Row-major y = x w is column-major y^T = w^T x^T, where a row-major matrix is its own transpose. */
static cublasStatus_t multiply(network *n, int l, const cublasLtMatmulAlgo_t *algorithm)
{
    const float one = 1, zero = 0;
    return lfuse__lt.Matmul(n->lt, n->layer[l], &one, (void *)n->w[l], n->weights, (void *)n->in[l], n->from, &zero,
                            (void *)n->out[l], n->to, (void *)n->out[l], n->to, algorithm, (void *)n->workspace,
                            workspace_bytes, n->stream);
}

static lfuse_status describe_layer(network *n, int l, const lfuse_tensor *bias)
{
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    const cublasOperation_t first = n->turn_w ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = n->turn_x ? CUBLAS_OP_T : CUBLAS_OP_N;
    LFUSE__TRY(check_lt(lfuse__lt.MatmulDescCreate(&n->layer[l], n->sums, CUDA_R_32F), "descriptor"));
    LFUSE__TRY(check_lt(lfuse__lt.MatmulDescSetAttribute(n->layer[l], CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                                         sizeof first), "transpose"));
    LFUSE__TRY(check_lt(lfuse__lt.MatmulDescSetAttribute(n->layer[l], CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                                         sizeof second), "transpose"));
    if (!bias) return LFUSE_OK;
    const CUdeviceptr address = address_of(bias);
    LFUSE__TRY(check_lt(lfuse__lt.MatmulDescSetAttribute(n->layer[l], CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                                         sizeof epilogue), "epilogue"));
    return check_lt(lfuse__lt.MatmulDescSetAttribute(n->layer[l], CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address,
                                                     sizeof address), "bias");
}

/* A row-major matrix, and `count` of them one after the other. */
static lfuse_status layout(const network *n, cublasLtMatrixLayout_t *made, int64_t rows, int64_t columns, bool turned,
                           int64_t count)
{
    const uint64_t inner = (uint64_t)(turned ? rows : columns), outer = (uint64_t)(turned ? columns : rows);
    const int32_t batch = (int32_t)count;
    const int64_t stride = rows * columns;
    LFUSE__TRY(check_lt(lfuse__lt.MatrixLayoutCreate(made, n->type, inner, outer, (int64_t)inner), "layout"));
    if (!count) return LFUSE_OK;
    LFUSE__TRY(check_lt(lfuse__lt.MatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                           sizeof batch), "batch"));
    return check_lt(lfuse__lt.MatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                                       sizeof stride), "batch");
}

static lfuse_status type_of(lfuse_type type, cudaDataType_t *data)
{
    switch (type) {
    case LFUSE_F32: *data = CUDA_R_32F; return LFUSE_OK;
    case LFUSE_F16: *data = CUDA_R_16F; return LFUSE_OK;
    case LFUSE_BF16: *data = CUDA_R_16BF; return LFUSE_OK;
    default:
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "bare products of %s are not measured", lfuse_type_name(type));
    }
}

static lfuse_status describe(network *n, const bench_dense_buffers *b)
{
    LFUSE__TRY(type_of(b->x->type, &n->type));
    n->turn_x = b->turn_x;
    n->turn_w = b->turn_w;
    n->sums = b->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    LFUSE__TRY(layout(n, &n->weights, b->inner, b->width, b->turn_w, b->count));
    LFUSE__TRY(layout(n, &n->from, b->batch, b->inner, b->turn_x, b->count));
    LFUSE__TRY(layout(n, &n->to, b->batch, b->width, false, b->count));
    for (int l = 0; l < n->layers; l++) {
        LFUSE__TRY(describe_layer(n, l, b->b ? b->b[l] : NULL));
        n->w[l] = address_of(b->w[l]);
        n->in[l] = l ? n->out[l - 1] : address_of(b->x);
        n->out[l] = address_of(l + 1 < n->layers ? b->scratch[l % 2] : b->y);
    }
    return LFUSE_OK;
}

static lfuse_status heuristic(network *n, cublasLtMatmulHeuristicResult_t *found, int *count)
{
    /* Sums of parts are never rounded to a narrow type: it is the same function that the other variants compute. */
    const uint32_t reductions = n->type == CUDA_R_32F ? CUBLASLT_REDUCTION_SCHEME_MASK
                                                      : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    cublasLtMatmulPreference_t preference;
    LFUSE__TRY(check_lt(lfuse__lt.MatmulPreferenceCreate(&preference), "preference"));
    lfuse_status status = check_lt(lfuse__lt.MatmulPreferenceSetAttribute(preference,
                                                                          CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                                          &workspace_bytes, sizeof workspace_bytes),
                                   "preference");
    if (!status)
        status = check_lt(lfuse__lt.MatmulPreferenceSetAttribute(preference,
                                                                 CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                                 &reductions, sizeof reductions), "preference");
    if (!status)
        status = check_lt(lfuse__lt.MatmulAlgoGetHeuristic(n->lt, n->layer[0], n->weights, n->from, n->to, n->to,
                                                           preference, MOST_CANDIDATES, found, count),
                          "cublasLtMatmulAlgoGetHeuristic");
    lfuse__lt.MatmulPreferenceDestroy(preference);
    return status;
}

/* An algorithm in the race for the fastest: a graph of products, timed by the device's clock. */
typedef struct entrant {
    const cublasLtMatmulAlgo_t *algorithm;
    CUgraphExec graph;
    int n;
    double us[QUICK_ROUNDS + FINAL_ROUNDS]; /* of one product */
    double best;
} entrant;

/* false: the algorithm does not take the product after all. */
static bool record(network *n, entrant *e, int runs)
{
    CUgraph graph = NULL;
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    if (lfuse__cu.StreamBeginCapture(n->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)) return false;
    for (int i = 0; i < runs && !code; i++) code = multiply(n, 0, e->algorithm);
    CUresult result = lfuse__cu.StreamEndCapture(n->stream, &graph);
    if (!code && !result) result = lfuse__cu.GraphInstantiateWithFlags(&e->graph, graph, 0);
    if (graph) lfuse__cu.GraphDestroy(graph);
    return !code && !result;
}

static lfuse_status time_graph(network *n, entrant *e, const CUevent *events, int runs)
{
    float ms;
    LFUSE__TRY(check(lfuse__cu.EventRecord(events[0], n->stream), "cuEventRecord"));
    LFUSE__TRY(check(lfuse__cu.GraphLaunch(e->graph, n->stream), "cuGraphLaunch"));
    LFUSE__TRY(check(lfuse__cu.EventRecord(events[1], n->stream), "cuEventRecord"));
    LFUSE__TRY(check(lfuse__cu.StreamSynchronize(n->stream), "cuStreamSynchronize"));
    LFUSE__TRY(check(lfuse__cu.EventElapsedTime(&ms, events[0], events[1]), "cuEventElapsedTime"));
    e->us[e->n++] = 1e3 * (double)ms / runs;
    e->best = bench_quantile(e->us, e->n, 0.2);
    return LFUSE_OK;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const entrant *)a)->best, y = ((const entrant *)b)->best;
    return (x > y) - (x < y);
}

/* In turns, so that a drifting clock meets all alike; rounds end early when products take long. */
static lfuse_status run_rounds(network *n, entrant *e, int count, int rounds, const CUevent *events, int runs)
{
    double start = bench_now_us();
    for (int r = 0; r < rounds && (r < 2 || bench_now_us() - start < ROUNDS_US); r++)
        for (int i = 0; i < count; i++) LFUSE__TRY(time_graph(n, &e[i], events, runs));
    qsort(e, (size_t)count, sizeof *e, by_time);
    return LFUSE_OK;
}

/* How many products a graph has: some 200 us of them, at most 20. What is timed here has the host's share in it. */
static lfuse_status batch_size(network *n, const cublasLtMatmulAlgo_t *algorithm, int *runs)
{
    LFUSE__TRY(check(lfuse__cu.StreamSynchronize(n->stream), "cuStreamSynchronize"));
    double start = bench_now_us();
    LFUSE__TRY(check_lt(multiply(n, 0, algorithm), "cublasLtMatmul"));
    LFUSE__TRY(check(lfuse__cu.StreamSynchronize(n->stream), "cuStreamSynchronize"));
    double most = 400 / (bench_now_us() - start);
    *runs = most > 20 ? 20 : most < 1 ? 1 : (int)most;
    return LFUSE_OK;
}

/* A few rounds with all, more with the best. */
static lfuse_status race(network *n, entrant *e, int count, int runs)
{
    CUevent events[2] = {NULL, NULL};
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < 2 && !status; i++) status = check(lfuse__cu.EventCreate(&events[i], 0), "cuEventCreate");
    if (!status) status = run_rounds(n, e, count, QUICK_ROUNDS, events, runs);
    if (!status) status = run_rounds(n, e, count < FINALISTS ? count : FINALISTS, FINAL_ROUNDS, events, runs);
    for (int i = 0; i < 2; i++)
        if (events[i]) lfuse__cu.EventDestroy(events[i]);
    return status;
}

/* The fastest of the algorithms that the heuristic lists. */
static lfuse_status choose(network *n)
{
    cublasLtMatmulHeuristicResult_t found[MOST_CANDIDATES];
    entrant entrants[MOST_CANDIDATES];
    int listed = 0, count = 0, runs = 0;
    LFUSE__TRY(heuristic(n, found, &listed));
    for (int i = 0; i < listed; i++) {
        entrant *e = &entrants[count];
        *e = (entrant){.algorithm = &found[i].algo};
        /* The first product loads the algorithm's code, which a capture may not. */
        if (found[i].state != CUBLAS_STATUS_SUCCESS || multiply(n, 0, e->algorithm)) continue;
        if (!runs) LFUSE__TRY(batch_size(n, e->algorithm, &runs));
        if (record(n, e, runs)) count++;
    }
    lfuse_status status = race(n, entrants, count, runs);
    if (!status && count) n->algorithm = *entrants[0].algorithm;
    for (int i = 0; i < count; i++) lfuse__cu.GraphExecDestroy(entrants[i].graph);
    if (status || count) return status;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "none of %d listed algorithms of cuBLASLt works", listed);
}

static lfuse_status dense_create(bench_device *d, const bench_dense_buffers *buffers, void **dense)
{
    LFUSE__TRY(lfuse__cu_load_blas());
    network *n = calloc(1, sizeof *n);
    if (!n) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the vendor's network");
    n->stream = lfuse_stream_native(d->stream);
    n->layers = buffers->layers;
    lfuse_status status = enter_context(n->stream);
    n->entered = !status;
    if (!status) status = check(lfuse__cu.MemAlloc(&n->workspace, workspace_bytes), "cuMemAlloc");
    if (!status) status = check_lt(lfuse__lt.Create(&n->lt), "cublasLtCreate");
    if (!status) status = describe(n, buffers);
    if (!status) status = choose(n);
    if (status) dense_destroy(n);
    else *dense = n;
    return status;
}

static lfuse_status dense_run(void *dense)
{
    network *n = dense;
    for (int l = 0; l < n->layers; l++) LFUSE__TRY(check_lt(multiply(n, l, &n->algorithm), "cublasLtMatmul"));
    return LFUSE_OK;
}

const bench_native_kind bench_native_cuda = {"cuda", create, destroy, empty, worker, dense_create, dense_run,
                                             dense_destroy, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
