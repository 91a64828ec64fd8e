/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/fake-cuda/fakecuda.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4, BLOCKS = 256, FUNCTIONS = 256, NODES = 64 };

#define EXPORT __attribute__((visibility("default")))

fakecuda_reset_function fakecuda_reset EXPORT;
fakecuda_calls_function fakecuda_calls EXPORT;
fakecuda_live_function fakecuda_live EXPORT;
fakecuda_spend_function fakecuda_spend EXPORT;
fakecuda_last_function fakecuda_last EXPORT;
fakecuda_replayed_function fakecuda_replayed EXPORT;
CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found) EXPORT;

/* ---- state; the tests use one thread ---- */

struct CUctx_st { int device; };
struct CUstream_st { CUcontext context; CUstreamCaptureStatus capturing; CUgraph graph; };
struct CUevent_st { int recorded; double at; };
struct CUmod_st { char start[8]; };
struct CUfunc_st { unsigned nbuffers, nwords; };
/* Of a graph only its kernels, one behind the other. */
struct CUgraphNode_st { CUgraph graph; CUfunction function; fakecuda_launch launch; };
struct CUgraph_st { unsigned count; double us; struct CUgraphNode_st nodes[NODES]; };
struct CUgraphExec_st {
    CUgraph of;
    unsigned count;
    double us;
    CUfunction functions[NODES];
    fakecuda_launch launches[NODES];
};

typedef struct block {
    char *base;
    size_t bytes;
    unsigned type;
    CUcontext context;
    int managed;
} block;

static struct CUctx_st primary[DEVICES] = { { 0 }, { 1 }, { 2 }, { 3 } };
static CUcontext current[16];
static int depth;
static block blocks[BLOCKS];
static struct CUfunc_st functions[FUNCTIONS];
static int nfunctions;
static double clock_us;
static fakecuda_launch last, replayed[NODES];
static int64_t live;
static int version = 13000, devices = 2, capability = 90;
static char lacks[48];

typedef struct counter { char name[48]; uint64_t calls; } counter;
static counter counters[128];
static struct { char name[48]; uint64_t n; int code; } failure;

void fakecuda_reset(void)
{
    const char *fail = getenv("FAKECUDA_FAIL"), *v = getenv("FAKECUDA_VERSION"), *d = getenv("FAKECUDA_DEVICES");
    const char *c = getenv("FAKECUDA_CAPABILITY"), *l = getenv("FAKECUDA_LACKS");
    memset(&failure, 0, sizeof failure);
    memset(counters, 0, sizeof counters);
    if (fail && sscanf(fail, "%47[^:]:%lu:%d", failure.name, (unsigned long *)&failure.n, &failure.code) != 3)
        memset(&failure, 0, sizeof failure);
    version = v ? atoi(v) : 13000;
    devices = d ? atoi(d) : 2;
    capability = c ? atoi(c) : 90;
    snprintf(lacks, sizeof lacks, "%s", l ? l : "");
}

static counter *find_counter(const char *name)
{
    size_t i = 0;
    while (counters[i].name[0] && strcmp(counters[i].name, name)) i++;
    snprintf(counters[i].name, sizeof counters[i].name, "%s", name);
    return &counters[i];
}

uint64_t fakecuda_calls(const char *function)
{
    return find_counter(function)->calls;
}

int64_t fakecuda_live(void)
{
    return live;
}

const fakecuda_launch *fakecuda_last(void)
{
    return &last;
}

const fakecuda_launch *fakecuda_replayed(unsigned i)
{
    return &replayed[i];
}

static CUresult enter(const char *name)
{
    counter *c = find_counter(name);
    c->calls++;
    if (failure.n && !strcmp(failure.name, name) && c->calls >= failure.n) return (CUresult)failure.code;
    return CUDA_SUCCESS;
}

#define ENTER(name)                                                                                                    \
    do {                                                                                                               \
        CUresult entered_ = enter("cu" #name);                                                                         \
        if (entered_) return entered_;                                                                                 \
    } while (0)
#define NEED_CONTEXT()                                                                                                 \
    if (depth == 0) return CUDA_ERROR_INVALID_CONTEXT

/* ---- the driver ---- */

static CUresult fake_Init(unsigned flags)
{
    ENTER(Init);
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult fake_DriverGetVersion(int *v)
{
    ENTER(DriverGetVersion);
    *v = version;
    return CUDA_SUCCESS;
}

static CUresult fake_GetErrorName(CUresult error, const char **text)
{
    (void)error;
    *text = "FAKE_ERROR";
    return CUDA_SUCCESS;
}

static CUresult fake_GetErrorString(CUresult error, const char **text)
{
    (void)error;
    *text = "as it was told to";
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceGetCount(int *count)
{
    ENTER(DeviceGetCount);
    *count = devices;
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceGet(CUdevice *device, int i)
{
    ENTER(DeviceGet);
    if (i < 0 || i >= devices) return CUDA_ERROR_INVALID_DEVICE;
    *device = i;
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceGetName(char *name, int size, CUdevice device)
{
    ENTER(DeviceGetName);
    snprintf(name, (size_t)size, "Fake %d", device);
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    (void)device;
    ENTER(DeviceGetAttribute);
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 1 << 20; break;
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = 1980000; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = 3201000; break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = 6144; break;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: *value = 1; break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceTotalMem(size_t *bytes, CUdevice device)
{
    (void)device;
    ENTER(DeviceTotalMem);
    *bytes = (size_t)1 << 34;
    return CUDA_SUCCESS;
}

static CUresult fake_DevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER(DevicePrimaryCtxRetain);
    *context = &primary[device];
    live++;
    return CUDA_SUCCESS;
}

static CUresult fake_DevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    ENTER(DevicePrimaryCtxRelease);
    live--;
    return CUDA_SUCCESS;
}

static CUresult fake_CtxGetCurrent(CUcontext *context)
{
    *context = depth ? current[depth - 1] : NULL;
    return CUDA_SUCCESS;
}

static CUresult fake_CtxPushCurrent(CUcontext context)
{
    ENTER(CtxPushCurrent);
    if (depth == 16) abort();
    current[depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult fake_CtxPopCurrent(CUcontext *context)
{
    ENTER(CtxPopCurrent);
    NEED_CONTEXT();
    *context = current[--depth];
    return CUDA_SUCCESS;
}

static CUresult fake_CtxGetDevice(CUdevice *device)
{
    ENTER(CtxGetDevice);
    NEED_CONTEXT();
    *device = current[depth - 1]->device;
    return CUDA_SUCCESS;
}

static CUresult fake_CtxGetApiVersion(CUcontext context, unsigned *v)
{
    (void)context;
    ENTER(CtxGetApiVersion);
    *v = 3020;
    return CUDA_SUCCESS;
}

/* ---- memory ---- */

static CUresult fake_MemGetInfo(size_t *available, size_t *total)
{
    ENTER(MemGetInfo);
    NEED_CONTEXT();
    *total = (size_t)1 << 34;
    *available = *total / 2;
    return CUDA_SUCCESS;
}

static CUresult take(size_t bytes, unsigned type, int managed, void **base)
{
    int i = 0;
    NEED_CONTEXT();
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    while (i < BLOCKS && blocks[i].base) i++;
    if (i == BLOCKS || !(*base = aligned_alloc(256, (bytes + 255) & ~(size_t)255))) return CUDA_ERROR_OUT_OF_MEMORY;
    blocks[i] = (block){ *base, bytes, type, current[depth - 1], managed };
    live++;
    return CUDA_SUCCESS;
}

static block *find_block(uint64_t address)
{
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t base = (uint64_t)(uintptr_t)blocks[i].base;
        if (base && address >= base && address < base + blocks[i].bytes) return &blocks[i];
    }
    return NULL;
}

static CUresult give(uint64_t address)
{
    block *b = find_block(address);
    NEED_CONTEXT();
    if (!b || (uint64_t)(uintptr_t)b->base != address) return CUDA_ERROR_INVALID_VALUE;
    free(b->base);
    memset(b, 0, sizeof *b);
    live--;
    return CUDA_SUCCESS;
}

static CUresult fake_MemAlloc(CUdeviceptr *address, size_t bytes)
{
    void *base = NULL;
    CUresult result;
    ENTER(MemAlloc);
    result = take(bytes, CU_MEMORYTYPE_DEVICE, 0, &base);
    if (!result) *address = (CUdeviceptr)(uintptr_t)base;
    return result;
}

static CUresult fake_MemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    void *base = NULL;
    CUresult result;
    ENTER(MemAllocManaged);
    if (flags != CU_MEM_ATTACH_GLOBAL) return CUDA_ERROR_INVALID_VALUE;
    result = take(bytes, CU_MEMORYTYPE_DEVICE, 1, &base);
    if (!result) *address = (CUdeviceptr)(uintptr_t)base;
    return result;
}

static CUresult fake_MemHostAlloc(void **base, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER(MemHostAlloc);
    return take(bytes, CU_MEMORYTYPE_HOST, 0, base);
}

static CUresult fake_MemFree(CUdeviceptr address)
{
    ENTER(MemFree);
    return give(address);
}

static CUresult fake_MemFreeHost(void *base)
{
    ENTER(MemFreeHost);
    return give((uint64_t)(uintptr_t)base);
}

static CUresult fake_PointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    const block *b = find_block(address);
    ENTER(PointerGetAttribute);
    if (!b) return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)data = b->context; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)data = b->type; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)data = (unsigned)b->managed; return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)data = b->context->device; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult fake_MemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    ENTER(MemcpyAsync);
    NEED_CONTEXT();
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_MemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                     size_t bytes, CUstream stream)
{
    const block *t = find_block(to), *f = find_block(from);
    (void)stream;
    ENTER(MemcpyPeerAsync);
    if (!t || !f || t->context != to_context || f->context != from_context) return CUDA_ERROR_INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult set(CUdeviceptr to, size_t pitch, const void *pattern, size_t bytes, size_t width, size_t height)
{
    NEED_CONTEXT();
    if (to % bytes) return CUDA_ERROR_INVALID_VALUE;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) memcpy((char *)(uintptr_t)to + y * pitch + x * bytes, pattern, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_MemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
    (void)stream;
    ENTER(MemsetD8Async);
    return set(to, 0, &value, 1, n, 1);
}

static CUresult fake_MemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream stream)
{
    (void)stream;
    ENTER(MemsetD16Async);
    return set(to, 0, &value, 2, n, 1);
}

static CUresult fake_MemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream)
{
    (void)stream;
    ENTER(MemsetD32Async);
    return set(to, 0, &value, 4, n, 1);
}

static CUresult fake_MemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                      CUstream stream)
{
    (void)stream;
    ENTER(MemsetD2D32Async);
    return set(to, pitch, &value, 4, width, height);
}

/* ---- streams and events ---- */

static int is_default(CUstream s)
{
    return s == NULL || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD;
}

static CUresult fake_StreamCreate(CUstream *stream, unsigned flags)
{
    ENTER(StreamCreate);
    NEED_CONTEXT();
    if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = current[depth - 1];
    live++;
    return CUDA_SUCCESS;
}

static CUresult fake_StreamDestroy(CUstream stream)
{
    ENTER(StreamDestroy);
    free(stream);
    live--;
    return CUDA_SUCCESS;
}

static CUresult fake_StreamGetCtx(CUstream stream, CUcontext *context)
{
    ENTER(StreamGetCtx);
    *context = stream->context;
    return CUDA_SUCCESS;
}

static CUresult fake_StreamQuery(CUstream stream)
{
    (void)stream;
    ENTER(StreamQuery);
    return CUDA_SUCCESS;
}

static CUresult fake_StreamSynchronize(CUstream stream)
{
    ENTER(StreamSynchronize);
    NEED_CONTEXT();
    return !is_default(stream) && stream->capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

static CUresult fake_StreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    (void)stream, (void)event, (void)flags;
    ENTER(StreamWaitEvent);
    return CUDA_SUCCESS;
}

static CUresult fake_StreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    ENTER(StreamIsCapturing);
    *status = is_default(stream) ? CU_STREAM_CAPTURE_STATUS_NONE : stream->capturing;
    return CUDA_SUCCESS;
}

static CUresult fake_StreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
    (void)mode;
    ENTER(StreamBeginCapture);
    if (is_default(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    stream->capturing = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    stream->graph = calloc(1, sizeof *stream->graph);
    live++;
    return CUDA_SUCCESS;
}

static CUresult fake_StreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                          CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
    static CUgraphNode node;
    ENTER(StreamGetCaptureInfo);
    *status = is_default(stream) ? CU_STREAM_CAPTURE_STATUS_NONE : stream->capturing;
    if (!*status) return CUDA_SUCCESS;
    *id = 1, *graph = stream->graph, *nodes = &node, *count = stream->graph->count > 0;
    if (*count) node = &stream->graph->nodes[stream->graph->count - 1];
    return CUDA_SUCCESS;
}

static CUresult destroy_graph(CUgraph graph)
{
    free(graph);
    live--;
    return CUDA_SUCCESS;
}

static CUresult fake_StreamEndCapture(CUstream stream, CUgraph *graph)
{
    if (is_default(stream) || !stream->capturing) return CUDA_ERROR_ILLEGAL_STATE;
    CUgraph captured = stream->graph;
    CUresult result = enter("cuStreamEndCapture");
    stream->capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    stream->graph = NULL;
    *graph = result ? NULL : captured;
    if (result) destroy_graph(captured);
    return result;
}

static CUresult fake_ThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static CUstreamCaptureMode mine;
    CUstreamCaptureMode before = mine;
    mine = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

static CUresult fake_EventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    ENTER(EventCreate);
    NEED_CONTEXT();
    *event = calloc(1, sizeof **event);
    live++;
    return CUDA_SUCCESS;
}

static CUresult fake_EventDestroy(CUevent event)
{
    ENTER(EventDestroy);
    free(event);
    live--;
    return CUDA_SUCCESS;
}

static CUresult fake_EventRecord(CUevent event, CUstream stream)
{
    (void)stream;
    ENTER(EventRecord);
    event->recorded = 1;
    event->at = clock_us;
    return CUDA_SUCCESS;
}

static CUresult fake_EventQuery(CUevent event)
{
    (void)event;
    ENTER(EventQuery);
    return CUDA_SUCCESS;
}

static CUresult fake_EventElapsedTime(float *ms, CUevent first, CUevent second)
{
    ENTER(EventElapsedTime);
    if (!first->recorded || !second->recorded) return CUDA_ERROR_INVALID_HANDLE;
    *ms = getenv("FAKECUDA_QUICK") ? (float)((second->at - first->at) * 1e-3) : 1.5f;
    return CUDA_SUCCESS;
}

/* ---- programs ---- */

static CUresult fake_ModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *options,
                                      void **values)
{
    (void)n, (void)options, (void)values;
    ENTER(ModuleLoadDataEx);
    NEED_CONTEXT();
    if (!strncmp(image, "bad", 3)) return CUDA_ERROR_INVALID_IMAGE;
    *module = calloc(1, sizeof **module);
    live++;
    return CUDA_SUCCESS;
}

static CUresult fake_ModuleUnload(CUmodule module)
{
    ENTER(ModuleUnload);
    free(module);
    live--;
    return CUDA_SUCCESS;
}

static CUresult fake_ModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    const char *words = strrchr(name, '_'), *buffers = words;
    (void)module;
    ENTER(ModuleGetFunction);
    while (buffers && buffers > name && buffers[-1] >= '0' && buffers[-1] <= '9') buffers--;
    if (nfunctions == FUNCTIONS || ((!buffers || buffers == words) && !getenv("FAKECUDA_QUICK")))
        return CUDA_ERROR_NOT_FOUND;
    functions[nfunctions] = (struct CUfunc_st){ 0, 0 };
    if (buffers && buffers != words)
        functions[nfunctions] = (struct CUfunc_st){ (unsigned)atoi(buffers), (unsigned)atoi(words + 1) };
    *function = &functions[nfunctions++];
    return CUDA_SUCCESS;
}

static CUresult fake_FuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function;
    ENTER(FuncGetAttribute);
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
}

/* Of a launch of the grid; without a clock none takes any. */
static double time_of(unsigned grid)
{
    const char *text = getenv("FAKECUDA_QUICK");
    double us = 1, others = 10;
    unsigned quick;
    if (!text || sscanf(text, "%u:%lf:%lf", &quick, &us, &others) < 1) return 0;
    return grid == quick ? us : others;
}

void fakecuda_spend(void *stream, unsigned grid)
{
    CUstream s = stream;
    if (!is_default(s) && s->capturing) s->graph->us += time_of(grid);
    else clock_us += time_of(grid);
}

static void keep_parameters(fakecuda_launch *l, CUfunction f, void **parameters)
{
    l->nbuffers = f->nbuffers, l->nwords = f->nwords;
    for (unsigned i = 0; i < f->nbuffers; i++) memcpy(&l->buffers[i], parameters[i], sizeof l->buffers[i]);
    if (f->nwords) memcpy(l->words, parameters[f->nbuffers], f->nwords * sizeof l->words[0]);
}

static CUresult remember(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                         unsigned shared, CUstream stream, int overlap, int resident, void **parameters, void **extra)
{
    const int captures = !is_default(stream) && stream->capturing;
    fakecuda_launch *l = &last;
    NEED_CONTEXT();
    if (gx == 0 || gy != 1 || gz != 1 || by != 1 || bz != 1 || bx > 1024 || extra) return CUDA_ERROR_INVALID_VALUE;
    if (captures) {
        CUgraph g = stream->graph;
        if (g->count == NODES) return CUDA_ERROR_OUT_OF_MEMORY;
        g->nodes[g->count].graph = g;
        g->nodes[g->count].function = f;
        l = &g->nodes[g->count++].launch;
    }
    l->launches++;
    l->grid = gx, l->block = bx, l->shared = shared, l->stream = stream, l->overlap = overlap, l->resident = resident;
    keep_parameters(l, f, parameters);
    if (!captures) clock_us += time_of(l->grid);
    return CUDA_SUCCESS;
}

static CUresult fake_LaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                  unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra)
{
    ENTER(LaunchKernel);
    return remember(f, gx, gy, gz, bx, by, bz, shared, stream, 0, 0, parameters, extra);
}

static CUresult fake_LaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **parameters, void **extra)
{
    int overlap = 0, resident = 0;
    ENTER(LaunchKernelEx);
    for (unsigned i = 0; i < c->numAttrs; i++) {
        switch ((int)c->attrs[i].id) {
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
            overlap = c->attrs[i].value.programmaticStreamSerializationAllowed;
            break;
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: resident = c->attrs[i].value.cooperative; break;
        default: return CUDA_ERROR_INVALID_VALUE;
        }
    }
    return remember(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                    c->sharedMemBytes, c->hStream, overlap, resident, parameters, extra);
}

/* ---- graphs ---- */

static void keep_nodes(CUgraphExec exec, CUgraph graph)
{
    exec->count = graph->count;
    exec->us = graph->us;
    for (unsigned i = 0; i < graph->count; i++) {
        exec->functions[i] = graph->nodes[i].function;
        exec->launches[i] = graph->nodes[i].launch;
    }
}

static CUresult fake_GraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    (void)flags;
    ENTER(GraphInstantiateWithFlags);
    *exec = calloc(1, sizeof **exec);
    (*exec)->of = graph;
    keep_nodes(*exec, graph);
    live++;
    return CUDA_SUCCESS;
}

static CUresult fake_GraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    (void)info;
    ENTER(GraphExecUpdate);
    if (exec->count != graph->count) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    keep_nodes(exec, graph);
    return CUDA_SUCCESS;
}

/* A node is found by its place in the graph that was instantiated, which has to be there still. */
static CUresult fake_GraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
    const size_t i = (size_t)(node - exec->of->nodes);
    fakecuda_launch *l = &exec->launches[i];
    ENTER(GraphExecKernelNodeSetParams);
    NEED_CONTEXT();
    if (node->graph != exec->of || i >= exec->count || p->func != exec->functions[i]) return CUDA_ERROR_INVALID_VALUE;
    if (p->gridDimX == 0 || p->gridDimY != 1 || p->gridDimZ != 1 || p->blockDimY != 1 || p->blockDimZ != 1 || p->extra)
        return CUDA_ERROR_INVALID_VALUE;
    l->grid = p->gridDimX, l->block = p->blockDimX, l->shared = p->sharedMemBytes;
    keep_parameters(l, p->func, p->kernelParams);
    return CUDA_SUCCESS;
}

static CUresult fake_GraphLaunch(CUgraphExec exec, CUstream stream)
{
    ENTER(GraphLaunch);
    NEED_CONTEXT();
    if (!is_default(stream) && stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    clock_us += exec->us;
    for (unsigned i = 0; i < exec->count; i++) {
        exec->launches[i].launches = last.launches + 1;
        exec->launches[i].stream = stream;
        last = replayed[i] = exec->launches[i];
        clock_us += time_of(last.grid);
    }
    return CUDA_SUCCESS;
}

static CUresult fake_GraphDestroy(CUgraph graph)
{
    ENTER(GraphDestroy);
    return destroy_graph(graph);
}

static CUresult fake_GraphExecDestroy(CUgraphExec exec)
{
    ENTER(GraphExecDestroy);
    free(exec);
    live--;
    return CUDA_SUCCESS;
}

/* ---- the one exported door; the prototypes are checked against the backend's list ---- */

typedef void any_function(void);
#define LFUSE__CU(name, version) static const PFN_cu##name##_v##version checked_##name = fake_##name;
#include "backends/cuda/functions.def"

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int asked, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    const struct {
        const char *name;
        int version;
        any_function *function;
    } rows[] = {
#define LFUSE__CU(name, version) { "cu" #name, version, (any_function *)checked_##name },
#include "backends/cuda/functions.def"
    };

    if (counters[0].name[0] == '\0') fakecuda_reset();
    ENTER(GetProcAddress);
    if (flags != CU_GET_PROC_ADDRESS_LEGACY_STREAM) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, symbol) || rows[i].version != asked || !strcmp(lacks, symbol)) continue;
        memcpy(function, &rows[i].function, sizeof *function);
        *found = CU_GET_PROC_ADDRESS_SUCCESS;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}
