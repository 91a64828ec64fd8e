/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the fake driver, which do nothing but take time, and graphs of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake-cuda/internal.h"

enum { FUNCTIONS = 1 << 14 };

fakecuda_spend_function fakecuda_spend __attribute__((visibility("default")));

static struct CUfunc_st functions[FUNCTIONS];
static int nfunctions;

CUresult fake_ModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *options,
                                      void **values)
{
    (void)n, (void)options, (void)values;
    ENTER(ModuleLoadDataEx);
    NEED_CONTEXT();
    if (!strncmp(image, "bad", 3)) return CUDA_ERROR_INVALID_IMAGE;
    *module = calloc(1, sizeof **module);
    fake_live++;
    return CUDA_SUCCESS;
}

CUresult fake_ModuleUnload(CUmodule module)
{
    ENTER(ModuleUnload);
    free(module);
    fake_live--;
    return CUDA_SUCCESS;
}

CUresult fake_ModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
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

CUresult fake_FuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    (void)function;
    ENTER(FuncGetAttribute);
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
}

CUresult fake_FuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    (void)function;
    ENTER(FuncSetAttribute);
    return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && value <= 232448 ? CUDA_SUCCESS
                                                                                            : CUDA_ERROR_INVALID_VALUE;
}

double fake_time_of(unsigned grid)
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
    if (!fake_is_default(s) && s->capturing) s->graph->us += fake_time_of(grid);
    else fake_clock_us += fake_time_of(grid);
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
    const int captures = !fake_is_default(stream) && stream->capturing;
    fakecuda_launch *l = &fake_last;
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
    if (!captures) fake_clock_us += fake_time_of(l->grid);
    return CUDA_SUCCESS;
}

static unsigned bytes_of_type(CUtensorMapDataType type)
{
    return type == CU_TENSOR_MAP_DATA_TYPE_UINT8 ? 1 : type == CU_TENSOR_MAP_DATA_TYPE_UINT16 ? 2 : 4;
}

/* Returns the bytes of a box's line that the swizzle is for. */
static unsigned bytes_of_line(CUtensorMapSwizzle swizzle)
{
    return swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 32 : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : 128;
}

/* A map of this driver's is the address; like the real one, it makes none without a current context. */
CUresult fake_TensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                   const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                   const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                   CUtensorMapFloatOOBfill fill)
{
    ENTER(TensorMapEncodeTiled);
    if (!fake_depth) return CUDA_ERROR_INVALID_CONTEXT;
    (void)steps, (void)interleave, (void)promotion, (void)fill;
    if (!rank || rank > 5 || (uintptr_t)address % 16 || !address ||
        box[0] * bytes_of_type(type) != bytes_of_line(swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    for (cuuint32_t i = 0; i < rank; i++)
        if (!sizes[i] || !box[i] || box[i] > 256 || (i && strides[i - 1] % 16)) return CUDA_ERROR_INVALID_VALUE;
    memset(map, 0, sizeof *map);
    memcpy(map, &address, sizeof address);
    return CUDA_SUCCESS;
}

CUresult fake_LaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                  unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra)
{
    ENTER(LaunchKernel);
    return remember(f, gx, gy, gz, bx, by, bz, shared, stream, 0, 0, parameters, extra);
}

CUresult fake_LaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **parameters, void **extra)
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

CUresult fake_GraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    (void)flags;
    ENTER(GraphInstantiateWithFlags);
    *exec = calloc(1, sizeof **exec);
    (*exec)->of = graph;
    keep_nodes(*exec, graph);
    fake_live++;
    return CUDA_SUCCESS;
}

CUresult fake_GraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    (void)info;
    ENTER(GraphExecUpdate);
    if (exec->count != graph->count) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    keep_nodes(exec, graph);
    return CUDA_SUCCESS;
}

/* A node is found by its place in the graph that was instantiated, which has to be there still. */
CUresult fake_GraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
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

CUresult fake_GraphLaunch(CUgraphExec exec, CUstream stream)
{
    ENTER(GraphLaunch);
    NEED_CONTEXT();
    if (!fake_is_default(stream) && stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    fake_clock_us += exec->us;
    for (unsigned i = 0; i < exec->count; i++) {
        exec->launches[i].launches = fake_last.launches + 1;
        exec->launches[i].stream = stream;
        fake_last = fake_replayed[i] = exec->launches[i];
        fake_clock_us += fake_time_of(fake_last.grid);
    }
    return CUDA_SUCCESS;
}

CUresult fake_GraphDestroy(CUgraph graph)
{
    ENTER(GraphDestroy);
    return fake_destroy_graph(graph);
}

CUresult fake_GraphExecDestroy(CUgraphExec exec)
{
    ENTER(GraphExecDestroy);
    free(exec);
    fake_live--;
    return CUDA_SUCCESS;
}
