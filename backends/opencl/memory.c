/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: cl_mem, mapped cl_mem as pinned host memory, and shared virtual memory; our own and the caller's. */
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"

static lfuse__bmem *new_mem(lfuse__bdevice *dev, lfuse__cl_storage storage, uint64_t bytes)
{
    static atomic_uint_fast64_t last_id;
    lfuse__bmem *m = calloc(1, sizeof *m);

    if (m == NULL) {
        lfuse__error(LFUSE_ERR_MEMORY, "no memory for a memory object");
        return NULL;
    }
    m->dev = dev, m->storage = storage, m->bytes = bytes;
    m->id = atomic_fetch_add(&last_id, 1) + 1;
    return m;
}

static lfuse_status too_large(lfuse__bdevice *dev, cl_int code, uint64_t bytes)
{
    return lfuse__cl_error(code, "%s: %llu bytes (the largest block is said to be %llu, all memory %llu)",
                           dev->device.facts.info.name, (unsigned long long)bytes,
                           (unsigned long long)dev->device.facts.info.max_alloc_bytes,
                           (unsigned long long)dev->device.facts.info.memory_bytes);
}

static lfuse_status alloc_buffer(lfuse__bmem *m)
{
    lfuse_status status;
    cl_int code;

    m->buffer = lfuse__cl.CreateBuffer(m->dev->context, CL_MEM_READ_WRITE, m->bytes, NULL, &code);
    if (m->buffer == NULL) return too_large(m->dev, code, m->bytes);
    m->parent = m->buffer;
    status = lfuse__cl_find_address(m);
    if (status != LFUSE_OK) lfuse__cl.ReleaseMemObject(m->buffer);
    return status;
}

/* Mapped for its whole life through a queue of its own, so that a free needs no stream. */
static lfuse_status alloc_pinned(lfuse__bmem *m)
{
    lfuse__bdevice *dev = m->dev;
    lfuse_status status;
    cl_int code;

    m->queue = lfuse__cl.CreateCommandQueue(dev->context, dev->device.id, 0, &code);
    if (m->queue == NULL) return lfuse__cl_error(code, "%s: clCreateCommandQueue", dev->device.facts.info.name);
    m->buffer = lfuse__cl.CreateBuffer(dev->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, m->bytes, NULL, &code);
    if (m->buffer == NULL) {
        status = too_large(dev, code, m->bytes);
        goto err_release_queue;
    }
    m->pointer = lfuse__cl.EnqueueMapBuffer(m->queue, m->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, m->bytes, 0,
                                            NULL, NULL, &code);
    if (m->pointer == NULL) {
        status = lfuse__cl_queue_error(dev, m->queue, code, "%s: mapping %llu bytes", dev->device.facts.info.name,
                                       (unsigned long long)m->bytes);
        goto err_release_buffer;
    }
    return LFUSE_OK;

err_release_buffer:
    lfuse__cl.ReleaseMemObject(m->buffer);
err_release_queue:
    lfuse__cl.ReleaseCommandQueue(m->queue);
    return status;
}

static lfuse_status need_svm(lfuse__bdevice *dev)
{
    if (dev->device.facts.info.svm) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s has no shared virtual memory", dev->device.facts.info.name);
}

static lfuse_status alloc_svm(lfuse__bmem *m)
{
    cl_svm_mem_flags flags = CL_MEM_READ_WRITE;

    LFUSE__TRY(need_svm(m->dev));
    if (m->dev->device.fine_svm) flags |= CL_MEM_SVM_FINE_GRAIN_BUFFER;
    m->pointer = lfuse__cl.SVMAlloc(m->dev->context, flags, m->bytes, 0);
    if (m->pointer == NULL) return too_large(m->dev, CL_MEM_OBJECT_ALLOCATION_FAILURE, m->bytes);
    return LFUSE_OK;
}

lfuse_status lfuse__cl_alloc(lfuse__bdevice *dev, lfuse__alloc_kind kind, uint64_t bytes, lfuse__bmem **mem)
{
    static const struct {
        lfuse__cl_storage storage;
        lfuse_status (*alloc)(lfuse__bmem *m);
    } ways[] = {
        [LFUSE__ALLOC_DEVICE] = { LFUSE__CL_BUFFER, alloc_buffer },
        [LFUSE__ALLOC_PINNED] = { LFUSE__CL_PINNED, alloc_pinned },
        [LFUSE__ALLOC_UNIFIED] = { LFUSE__CL_SVM, alloc_svm },
    };
    lfuse__bmem *m = new_mem(dev, ways[kind].storage, bytes);
    lfuse_status status;

    if (m == NULL) return LFUSE_ERR_MEMORY;
    m->own = true;
    status = ways[kind].alloc(m);
    if (status != LFUSE_OK) {
        free(m);
        return status;
    }
    atomic_fetch_add(&dev->held, bytes);
    *mem = m;
    return LFUSE_OK;
}

/* What a foreign cl_mem tells about itself. */
typedef struct buffer_facts {
    cl_mem_object_type type;
    cl_context context;
    size_t bytes, origin;
    cl_mem parent;
} buffer_facts;

static lfuse_status read_buffer_facts(cl_mem buffer, buffer_facts *f)
{
    const struct {
        cl_mem_info what;
        size_t size;
        void *value;
    } rows[] = {
        { CL_MEM_TYPE, sizeof f->type, &f->type },
        { CL_MEM_CONTEXT, sizeof f->context, &f->context },
        { CL_MEM_SIZE, sizeof f->bytes, &f->bytes },
        { CL_MEM_ASSOCIATED_MEMOBJECT, sizeof f->parent, &f->parent },
        { CL_MEM_OFFSET, sizeof f->origin, &f->origin },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cl_int code = lfuse__cl.GetMemObjectInfo(buffer, rows[i].what, rows[i].size, rows[i].value, NULL);
        if (code != CL_SUCCESS) return lfuse__cl_error(code, "clGetMemObjectInfo of the wrapped cl_mem");
    }
    return LFUSE_OK;
}

static lfuse_status wrap_buffer(lfuse__bdevice *dev, cl_mem buffer, uint64_t bytes, lfuse__bmem **mem)
{
    buffer_facts f = { 0 };
    lfuse_status status;
    lfuse__bmem *m;
    cl_int code;

    LFUSE__TRY(read_buffer_facts(buffer, &f));
    if (f.type != CL_MEM_OBJECT_BUFFER)
        return lfuse__error(LFUSE_ERR_INVALID, "the wrapped cl_mem is of type 0x%x, no buffer", (unsigned)f.type);
    if (f.context != dev->context)
        return lfuse__error(LFUSE_ERR_CONTEXT, "the wrapped cl_mem belongs to another cl_context than %s",
                            dev->device.facts.info.name);
    if (bytes > f.bytes)
        return lfuse__error(LFUSE_ERR_SHAPE, "the wrapped cl_mem has %zu bytes, %llu were named", f.bytes,
                            (unsigned long long)bytes);
    m = new_mem(dev, LFUSE__CL_BUFFER, bytes != 0 ? bytes : f.bytes);
    if (m == NULL) return LFUSE_ERR_MEMORY;
    code = lfuse__cl.RetainMemObject(buffer);
    if (code != CL_SUCCESS) {
        free(m);
        return lfuse__cl_error(code, "clRetainMemObject of the wrapped cl_mem");
    }
    m->buffer = buffer;
    m->parent = f.parent != NULL ? f.parent : buffer;
    m->origin = f.parent != NULL ? f.origin : 0;
    status = lfuse__cl_find_address(m);
    if (status != LFUSE_OK) {
        lfuse__cl.ReleaseMemObject(buffer);
        free(m);
        return status;
    }
    *mem = m;
    return LFUSE_OK;
}

lfuse_status lfuse__cl_wrap(lfuse__bdevice *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                            lfuse__bmem **mem)
{
    lfuse__bmem *m;

    if (handle == 0) return lfuse__error(LFUSE_ERR_INVALID, "the wrapped memory is NULL");
    if (kind == LFUSE_MEMORY_NATIVE) return wrap_buffer(dev, (cl_mem)(uintptr_t)handle, bytes, mem);
    LFUSE__TRY(need_svm(dev));
    m = new_mem(dev, LFUSE__CL_SVM, bytes);
    if (m == NULL) return LFUSE_ERR_MEMORY;
    m->pointer = (void *)(uintptr_t)handle;
    *mem = m;
    return LFUSE_OK;
}

void lfuse__cl_free(lfuse__bmem *mem)
{
    if (mem->own) atomic_fetch_sub(&mem->dev->held, mem->bytes);
    if (mem->storage == LFUSE__CL_PINNED) {
        lfuse__cl.EnqueueUnmapMemObject(mem->queue, mem->buffer, mem->pointer, 0, NULL, NULL);
        lfuse__cl.ReleaseCommandQueue(mem->queue);
    }
    if (mem->storage != LFUSE__CL_SVM) lfuse__cl.ReleaseMemObject(mem->buffer);
    else if (mem->own) lfuse__cl.SVMFree(mem->dev->context, mem->pointer);
    free(mem);
}

/* Coarse-grained memory, and the caller's, of which we do not know, must be mapped before the host uses it. */
static bool usable_by_host(const lfuse__bmem *mem)
{
    if (mem->storage == LFUSE__CL_PINNED) return true;
    return mem->storage == LFUSE__CL_SVM && mem->own && mem->dev->device.fine_svm;
}

void lfuse__cl_mem_info(lfuse__bmem *mem, lfuse__mem_info *info)
{
    bool buffer = mem->storage == LFUSE__CL_BUFFER, slot = buffer && mem->dev->addresser == NULL;

    info->space = slot ? (uint64_t)(uintptr_t)mem->parent : 0;
    info->address = slot ? mem->origin : buffer ? mem->address : (uint64_t)(uintptr_t)mem->pointer;
    info->bytes = mem->bytes;
    info->host = usable_by_host(mem) ? mem->pointer : NULL;
}

static char *at(const lfuse__bmem *mem, uint64_t offset)
{
    return (char *)mem->pointer + offset;
}

/* A command between the barriers that an out-of-order queue needs; `call` yields the code. */
#define ENQUEUE(s, what, bytes, call)                                                                                  \
    do {                                                                                                               \
        cl_int code_;                                                                                                  \
        LFUSE__TRY(lfuse__cl_before(s));                                                                               \
        code_ = (call);                                                                                                \
        if (code_ != CL_SUCCESS)                                                                                       \
            return lfuse__cl_queue_error((s)->dev, (s)->queue, code_, "%s: %s of %llu bytes",                          \
                                         (s)->dev->device.facts.info.name, what, (unsigned long long)(bytes));         \
        LFUSE__TRY(lfuse__cl_after(s));                                                                                \
    } while (0)

static lfuse_status no_pinned(const char *what)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: pinned memory is mapped, use its host pointer", what);
}

lfuse_status lfuse__cl_write(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, const void *host, uint64_t bytes)
{
    if (bytes == 0) return LFUSE_OK;
    if (to->storage == LFUSE__CL_PINNED) return no_pinned("write");
    if (to->storage == LFUSE__CL_SVM)
        ENQUEUE(s, "write", bytes,
                lfuse__cl.EnqueueSVMMemcpy(s->queue, CL_FALSE, at(to, offset), host, bytes, 0, NULL, NULL));
    else
        ENQUEUE(s, "write", bytes,
                lfuse__cl.EnqueueWriteBuffer(s->queue, to->buffer, CL_FALSE, offset, bytes, host, 0, NULL, NULL));
    return LFUSE_OK;
}

lfuse_status lfuse__cl_read(lfuse__bstream *s, lfuse__bmem *from, uint64_t offset, void *host, uint64_t bytes)
{
    if (bytes == 0) return LFUSE_OK;
    if (from->storage == LFUSE__CL_PINNED) return no_pinned("read");
    if (from->storage == LFUSE__CL_SVM)
        ENQUEUE(s, "read", bytes,
                lfuse__cl.EnqueueSVMMemcpy(s->queue, CL_FALSE, host, at(from, offset), bytes, 0, NULL, NULL));
    else
        ENQUEUE(s, "read", bytes,
                lfuse__cl.EnqueueReadBuffer(s->queue, from->buffer, CL_FALSE, offset, bytes, host, 0, NULL, NULL));
    return LFUSE_OK;
}

/*
 * Shared virtual memory against a buffer. OpenCL has no command for it; mapped, the memory is host memory, which the
 * buffer's own commands take.
 */
static lfuse_status copy_mapped(lfuse__bstream *s, lfuse__bmem *buffer, uint64_t buffer_offset, lfuse__bmem *svm,
                                uint64_t svm_offset, uint64_t bytes, bool to_buffer)
{
    void *pointer = at(svm, svm_offset);
    lfuse_status status;

    ENQUEUE(s, "map", bytes,
            lfuse__cl.EnqueueSVMMap(s->queue, CL_FALSE, to_buffer ? CL_MAP_READ : CL_MAP_WRITE, pointer, bytes, 0, NULL,
                                    NULL));
    status = to_buffer ? lfuse__cl_write(s, buffer, buffer_offset, pointer, bytes)
                       : lfuse__cl_read(s, buffer, buffer_offset, pointer, bytes);
    if (status != LFUSE_OK) {
        /* Best effort: the first error is the one that is told. */
        lfuse__cl.EnqueueSVMUnmap(s->queue, pointer, 0, NULL, NULL);
        return status;
    }
    ENQUEUE(s, "unmap", bytes, lfuse__cl.EnqueueSVMUnmap(s->queue, pointer, 0, NULL, NULL));
    return LFUSE_OK;
}

lfuse_status lfuse__cl_copy(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bmem *from,
                            uint64_t from_offset, uint64_t bytes)
{
    if (bytes == 0) return LFUSE_OK;
    if (to->storage == LFUSE__CL_PINNED && from->storage == LFUSE__CL_PINNED) return no_pinned("copy");
    if (from->storage == LFUSE__CL_PINNED) return lfuse__cl_write(s, to, to_offset, at(from, from_offset), bytes);
    if (to->storage == LFUSE__CL_PINNED) return lfuse__cl_read(s, from, from_offset, at(to, to_offset), bytes);
    if (to->storage == LFUSE__CL_SVM && from->storage == LFUSE__CL_SVM) {
        ENQUEUE(s, "copy", bytes,
                lfuse__cl.EnqueueSVMMemcpy(s->queue, CL_FALSE, at(to, to_offset), at(from, from_offset), bytes, 0, NULL,
                                           NULL));
        return LFUSE_OK;
    }
    if (from->storage == LFUSE__CL_SVM) return copy_mapped(s, to, to_offset, from, from_offset, bytes, true);
    if (to->storage == LFUSE__CL_SVM) return copy_mapped(s, from, from_offset, to, to_offset, bytes, false);
    ENQUEUE(s, "copy", bytes,
            lfuse__cl.EnqueueCopyBuffer(s->queue, from->buffer, to->buffer, from_offset, to_offset, bytes, 0, NULL,
                                        NULL));
    return LFUSE_OK;
}

lfuse_status lfuse__cl_copy_peer(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bdevice *from_dev,
                                 lfuse__bmem *from, uint64_t from_offset, uint64_t bytes)
{
    /* A buffer belongs to its context, whatever the device. */
    if (from_dev->context == s->dev->context) return lfuse__cl_copy(s, to, to_offset, from, from_offset, bytes);
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "no direct copy from %s to %s: they are two OpenCL contexts",
                        from_dev->device.facts.info.name, s->dev->device.facts.info.name);
}

lfuse_status lfuse__cl_fill(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, uint64_t pattern,
                            unsigned pattern_bytes, uint64_t bytes)
{
    unsigned char raw[sizeof pattern];

    if (bytes == 0) return LFUSE_OK;
    if (to->storage == LFUSE__CL_PINNED) return no_pinned("fill");
    for (unsigned i = 0; i < pattern_bytes; i++) raw[i] = (unsigned char)(pattern >> 8 * i);
    if (to->storage == LFUSE__CL_SVM)
        ENQUEUE(s, "fill", bytes,
                lfuse__cl.EnqueueSVMMemFill(s->queue, at(to, offset), raw, pattern_bytes, bytes, 0, NULL, NULL));
    else
        ENQUEUE(s, "fill", bytes,
                lfuse__cl.EnqueueFillBuffer(s->queue, to->buffer, raw, pattern_bytes, offset, bytes, 0, NULL, NULL));
    return LFUSE_OK;
}
