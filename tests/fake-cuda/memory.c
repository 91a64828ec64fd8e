/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the fake driver: blocks of the host's, and copies that are done at once. */
#include <stdlib.h>
#include <string.h>

#include "tests/fake-cuda/internal.h"

enum { BLOCKS = 256 };

typedef struct block {
    char *base;
    size_t bytes;
    unsigned type;
    CUcontext context;
    int managed;
} block;

static block blocks[BLOCKS];

fakecuda_is_allocated_function fakecuda_is_allocated __attribute__((visibility("default")));

CUresult fake_MemGetInfo(size_t *available, size_t *total)
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
    blocks[i] = (block){ *base, bytes, type, fake_current[fake_depth - 1], managed };
    fake_live++;
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

int fakecuda_is_allocated(const void *address)
{
    return find_block((uint64_t)(uintptr_t)address) != NULL;
}

/* Pinned memory and memory of the device are freed by functions of their own. */
static CUresult give(uint64_t address, unsigned type)
{
    block *b = find_block(address);
    NEED_CONTEXT();
    if (!b || (uint64_t)(uintptr_t)b->base != address || b->type != type) return CUDA_ERROR_INVALID_VALUE;
    free(b->base);
    memset(b, 0, sizeof *b);
    fake_live--;
    return CUDA_SUCCESS;
}

CUresult fake_MemAlloc(CUdeviceptr *address, size_t bytes)
{
    void *base = NULL;
    ENTER(MemAlloc);
    CUresult result = take(bytes, CU_MEMORYTYPE_DEVICE, 0, &base);
    if (!result) *address = (CUdeviceptr)(uintptr_t)base;
    return result;
}

CUresult fake_MemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    void *base = NULL;
    ENTER(MemAllocManaged);
    if (flags != CU_MEM_ATTACH_GLOBAL) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = take(bytes, CU_MEMORYTYPE_DEVICE, 1, &base);
    if (!result) *address = (CUdeviceptr)(uintptr_t)base;
    return result;
}

CUresult fake_MemHostAlloc(void **base, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER(MemHostAlloc);
    return take(bytes, CU_MEMORYTYPE_HOST, 0, base);
}

CUresult fake_MemFree(CUdeviceptr address)
{
    ENTER(MemFree);
    return give(address, CU_MEMORYTYPE_DEVICE);
}

CUresult fake_MemFreeHost(void *base)
{
    ENTER(MemFreeHost);
    return give((uint64_t)(uintptr_t)base, CU_MEMORYTYPE_HOST);
}

CUresult fake_PointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
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

CUresult fake_MemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    (void)stream;
    ENTER(MemcpyAsync);
    NEED_CONTEXT();
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

CUresult fake_MemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
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

CUresult fake_MemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
    (void)stream;
    ENTER(MemsetD8Async);
    return set(to, 0, &value, 1, n, 1);
}

CUresult fake_MemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream stream)
{
    (void)stream;
    ENTER(MemsetD16Async);
    return set(to, 0, &value, 2, n, 1);
}

CUresult fake_MemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream)
{
    (void)stream;
    ENTER(MemsetD32Async);
    return set(to, 0, &value, 4, n, 1);
}

CUresult fake_MemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                      CUstream stream)
{
    (void)stream;
    ENTER(MemsetD2D32Async);
    return set(to, pitch, &value, 4, width, height);
}
