/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, own and foreign, and what moves bytes. Unified addressing: cuMemcpyAsync sees by itself what lies where. */
#include <stdlib.h>

#include "backends/cuda/internal.h"

static CUresult allocate(lfuse__bmem *mem, lfuse__alloc_kind kind, size_t bytes, const char **call)
{
    CUresult result;

    switch (kind) {
    case LFUSE__ALLOC_PINNED:
        *call = "cuMemHostAlloc";
        mem->storage = LFUSE__CU_PINNED;
        result = lfuse__cu.MemHostAlloc(&mem->host, bytes, CU_MEMHOSTALLOC_PORTABLE);
        mem->address = (CUdeviceptr)(uintptr_t)mem->host;
        return result;
    case LFUSE__ALLOC_UNIFIED:
        *call = "cuMemAllocManaged";
        mem->storage = LFUSE__CU_MANAGED;
        result = lfuse__cu.MemAllocManaged(&mem->address, bytes, CU_MEM_ATTACH_GLOBAL);
        mem->host = (void *)(uintptr_t)mem->address;
        return result;
    case LFUSE__ALLOC_DEVICE:
        break;
    }
    *call = "cuMemAlloc";
    mem->storage = LFUSE__CU_DEVICE;
    return lfuse__cu.MemAlloc(&mem->address, bytes);
}

lfuse_status lfuse__cu_alloc(lfuse__bdevice *dev, lfuse__alloc_kind kind, uint64_t bytes, lfuse__bmem **mem)
{
    lfuse__bmem *made = calloc(1, sizeof *made);
    CUstreamCaptureMode mode;
    const char *call;
    lfuse_status status;
    CUresult result;
    bool pushed;

    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    status = lfuse__cu_enter(dev, &pushed);
    if (status) goto err_free;
    mode = lfuse__cu_relax();
    result = allocate(made, kind, bytes, &call);
    lfuse__cu_unrelax(mode);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS) {
        status = lfuse__cu_error(dev, result, "%s of %llu bytes", call, (unsigned long long)bytes);
        goto err_free;
    }
    made->dev = dev;
    made->bytes = bytes;
    *mem = made;
    return LFUSE_OK;

err_free:
    free(made);
    return status;
}

/* The context or, for memory that has none (from a pool or mapped by the caller), the device has to be ours. */
static lfuse_status check_owner(lfuse__bdevice *dev, CUdeviceptr address)
{
    CUcontext context = NULL;
    int ordinal = -1;

    if (lfuse__cu.PointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address) == CUDA_SUCCESS && context) {
        if (context == dev->context) return LFUSE_OK;
        return lfuse__error(LFUSE_ERR_CONTEXT, "memory at 0x%llx belongs to another CUDA context than device %s",
                            (unsigned long long)address, dev->device.facts.info.name);
    }
    if (lfuse__cu.PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS
        && ordinal >= 0 && ordinal != dev->device.id)
        return lfuse__error(LFUSE_ERR_CONTEXT, "memory at 0x%llx belongs to CUDA device %d, not to %s",
                            (unsigned long long)address, ordinal, dev->device.facts.info.name);
    return LFUSE_OK;
}

static lfuse_status check_foreign(lfuse__bdevice *dev, CUdeviceptr address, bool *host)
{
    unsigned type = 0, managed = 0;
    CUresult result = lfuse__cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);

    *host = true;
    if (result != CUDA_SUCCESS && dev->device.pageable) return LFUSE_OK;
    if (result == CUDA_ERROR_INVALID_VALUE)
        return lfuse__error(LFUSE_ERR_INVALID, "0x%llx is no memory that the CUDA driver knows",
                            (unsigned long long)address);
    if (result != CUDA_SUCCESS) return lfuse__cu_error(dev, result, "cuPointerGetAttribute");
    if (type == CU_MEMORYTYPE_HOST) return LFUSE_OK;
    if (lfuse__cu.PointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS && managed)
        return LFUSE_OK;
    *host = false;
    return check_owner(dev, address);
}

/* Address 0 is the memory of an empty tensor. */
lfuse_status lfuse__cu_wrap(lfuse__bdevice *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                            lfuse__bmem **mem)
{
    lfuse__bmem *made;
    bool pushed, host = false;
    lfuse_status status = LFUSE_OK;

    if (handle != 0) {
        LFUSE__TRY(lfuse__cu_enter(dev, &pushed));
        status = check_foreign(dev, (CUdeviceptr)handle, &host);
        lfuse__cu_leave(pushed);
    }
    if (status) return status;
    if (kind == LFUSE_MEMORY_POINTER && handle != 0 && !host)
        return lfuse__error(LFUSE_ERR_INVALID, "0x%llx is device memory, no pointer that is valid on the host too",
                            (unsigned long long)handle);
    made = calloc(1, sizeof *made);
    if (made == NULL) return lfuse__cu_no_memory(sizeof *made);
    made->dev = dev;
    made->address = (CUdeviceptr)handle;
    made->bytes = bytes;
    made->host = host ? (void *)(uintptr_t)handle : NULL;
    made->storage = LFUSE__CU_FOREIGN;
    *mem = made;
    return LFUSE_OK;
}

void lfuse__cu_free(lfuse__bmem *mem)
{
    CUstreamCaptureMode mode;
    bool pushed;

    if (mem == NULL) return;
    if (mem->storage != LFUSE__CU_FOREIGN && lfuse__cu_enter_quietly(mem->dev, &pushed)) {
        mode = lfuse__cu_relax();
        if (mem->storage == LFUSE__CU_PINNED)
            lfuse__cu_ignore(mem->dev, lfuse__cu.MemFreeHost(mem->host), "cuMemFreeHost");
        else
            lfuse__cu_ignore(mem->dev, lfuse__cu.MemFree(mem->address), "cuMemFree");
        lfuse__cu_unrelax(mode);
        lfuse__cu_leave(pushed);
    }
    free(mem);
}

void lfuse__cu_mem_info(lfuse__bmem *mem, lfuse__mem_info *info)
{
    *info = (lfuse__mem_info){ .space = 0, .address = mem->address, .bytes = mem->bytes, .host = mem->host };
}

static lfuse_status move(lfuse__bstream *s, CUdeviceptr to, CUdeviceptr from, uint64_t bytes, const char *what)
{
    CUresult result;
    bool pushed;

    if (bytes == 0) return LFUSE_OK;
    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = lfuse__cu.MemcpyAsync(to, from, bytes, s->stream);
    lfuse__cu_leave(pushed);
    if (__builtin_expect(result != CUDA_SUCCESS, 0))
        return lfuse__cu_error(s->dev, result, "cuMemcpyAsync of %llu bytes %s", (unsigned long long)bytes, what);
    return LFUSE_OK;
}

lfuse_status lfuse__cu_write(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, const void *host, uint64_t bytes)
{
    return move(s, to->address + offset, (CUdeviceptr)(uintptr_t)host, bytes, "from the host");
}

lfuse_status lfuse__cu_read(lfuse__bstream *s, lfuse__bmem *from, uint64_t offset, void *host, uint64_t bytes)
{
    return move(s, (CUdeviceptr)(uintptr_t)host, from->address + offset, bytes, "to the host");
}

lfuse_status lfuse__cu_copy(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bmem *from,
                            uint64_t from_offset, uint64_t bytes)
{
    return move(s, to->address + to_offset, from->address + from_offset, bytes, "on the device");
}

/* The driver goes through the host by itself where the devices do not reach each other. */
lfuse_status lfuse__cu_copy_peer(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bdevice *from_dev,
                                 lfuse__bmem *from, uint64_t from_offset, uint64_t bytes)
{
    CUresult result;
    bool pushed;

    if (bytes == 0) return LFUSE_OK;
    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = lfuse__cu.MemcpyPeerAsync(to->address + to_offset, s->dev->context, from->address + from_offset,
                                       from_dev->context, bytes, s->stream);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS)
        return lfuse__cu_error(s->dev, result, "cuMemcpyPeerAsync of %llu bytes from %s to %s",
                               (unsigned long long)bytes, from_dev->device.facts.info.name,
                               s->dev->device.facts.info.name);
    return LFUSE_OK;
}

/*
 * Eight bytes whose halves differ: two strided fills lay down the first rows, which are then doubled by copies; the
 * driver knows no longer pattern than four bytes.
 */
static CUresult fill_wide(CUdeviceptr at, uint64_t pattern, uint64_t bytes, CUstream stream)
{
    enum { ROW = 8, ROWS = 8192 };
    uint64_t rows = bytes / ROW, done = (rows < ROWS ? rows : ROWS) * ROW;
    CUresult result = lfuse__cu.MemsetD2D32Async(at, ROW, (unsigned)pattern, 1, done / ROW, stream);

    if (result == CUDA_SUCCESS)
        result = lfuse__cu.MemsetD2D32Async(at + 4, ROW, (unsigned)(pattern >> 32), 1, done / ROW, stream);
    while (result == CUDA_SUCCESS && done < bytes) {
        uint64_t more = bytes - done < done ? bytes - done : done;
        result = lfuse__cu.MemcpyAsync(at + done, at, more, stream);
        done += more;
    }
    return result;
}

static CUresult fill_any(CUdeviceptr at, uint64_t pattern, unsigned pattern_bytes, uint64_t bytes, CUstream stream)
{
    switch (pattern_bytes) {
    case 1: return lfuse__cu.MemsetD8Async(at, (unsigned char)pattern, bytes, stream);
    case 2: return lfuse__cu.MemsetD16Async(at, (unsigned short)pattern, bytes / 2, stream);
    case 4: return lfuse__cu.MemsetD32Async(at, (unsigned)pattern, bytes / 4, stream);
    default: break;
    }
    if ((unsigned)pattern == (unsigned)(pattern >> 32))
        return lfuse__cu.MemsetD32Async(at, (unsigned)pattern, bytes / 4, stream);
    return fill_wide(at, pattern, bytes, stream);
}

lfuse_status lfuse__cu_fill(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, uint64_t pattern,
                            unsigned pattern_bytes, uint64_t bytes)
{
    CUresult result;
    bool pushed;

    if (bytes == 0) return LFUSE_OK;
    LFUSE__TRY(lfuse__cu_enter(s->dev, &pushed));
    result = fill_any(to->address + offset, pattern, pattern_bytes, bytes, s->stream);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS)
        return lfuse__cu_error(s->dev, result, "filling %llu bytes with a pattern of %u", (unsigned long long)bytes,
                               pattern_bytes);
    return LFUSE_OK;
}
