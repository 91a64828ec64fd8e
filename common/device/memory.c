/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges: what tensors and scratch hold. */
#include "common/device/internal.h"

#include <inttypes.h>
#include <stdlib.h>

static lfuse__chunk *chunk_of_pending(lfuse__pending *p)
{
    return (lfuse__chunk *)((char *)p - offsetof(lfuse__chunk, pending));
}

static void finish_own(lfuse__pending *p)
{
    lfuse__chunk *c = chunk_of_pending(p);

    lfuse__pool_give(c->range.dev, c);
}

static void finish_foreign(lfuse__pending *p)
{
    lfuse__chunk *c = chunk_of_pending(p);

    c->range.dev->backend->free(c->range.mem);
    free(c);
}

static void finish_unified(lfuse__pending *p)
{
    lfuse__chunk *c = chunk_of_pending(p);

    c->range.dev->backend->free(c->range.mem);
    atomic_fetch_sub(&c->range.dev->bytes, c->bytes);
    free(c);
}

/* A chunk is reused, so every field of its range but the place is set anew. */
static lfuse__range *hand_out(lfuse_device *dev, lfuse__chunk *c, const lfuse__mem_info *info)
{
    c->range.dev = dev;
    c->range.host = NULL;
    c->range.space = info->space;
    c->range.address = info->address + c->range.offset;
    atomic_init(&c->range.references, 1);
    lfuse__device_retain(dev);
    return &c->range;
}

static lfuse_status create_empty(lfuse_device *dev, lfuse__range **range)
{
    const lfuse__mem_info nowhere = { 0, 0, 0, NULL };
    lfuse__chunk *c = calloc(1, sizeof *c);

    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    *range = hand_out(dev, c, &nowhere);
    return LFUSE_OK;
}

lfuse_status lfuse__range_create(lfuse_device *dev, uint64_t bytes, lfuse__range **range)
{
    lfuse__chunk *c;

    LFUSE__TRY(lfuse__device_usable(dev));
    if (!bytes) return create_empty(dev, range);
    LFUSE__TRY(lfuse__pool_take(dev, bytes, &c));
    c->range.mem = c->block->mem;
    c->range.bytes = bytes;
    c->pending.finish = finish_own;
    *range = hand_out(dev, c, &c->block->info);
    return LFUSE_OK;
}

lfuse_status lfuse__range_create_unified(lfuse_device *dev, uint64_t bytes, lfuse__range **range)
{
    lfuse__mem_info info = { 0, 0, 0, NULL };
    lfuse_status status;
    lfuse__chunk *c;

    LFUSE__TRY(lfuse__device_usable(dev));
    if (!dev->facts.info.svm)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s shares no memory with the host", dev->facts.info.name);
    if (!bytes) return create_empty(dev, range);
    c = calloc(1, sizeof *c);
    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    lfuse__reap(dev);
    status = lfuse__device_note(dev, dev->backend->alloc(dev->bdev, LFUSE__ALLOC_UNIFIED, bytes, &c->range.mem));
    if (status) {
        free(c);
        return lfuse__error_prefix(status, "%" PRIu64 " bytes of shared memory: ", bytes);
    }
    dev->backend->mem_info(c->range.mem, &info);
    c->bytes = c->range.bytes = bytes;
    c->pending.finish = finish_unified;
    atomic_fetch_add(&dev->allocations, 1);
    atomic_fetch_add(&dev->bytes, bytes);
    *range = hand_out(dev, c, &info);
    if (dev->facts.info.svm_concurrent) c->range.host = info.host;
    return LFUSE_OK;
}

lfuse_status lfuse__range_wrap(lfuse_device *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                               lfuse__range **range)
{
    lfuse__mem_info info = { 0, 0, 0, NULL };
    lfuse__bmem *mem;
    lfuse__chunk *c;
    lfuse_status status;

    LFUSE__TRY(lfuse__device_usable(dev));
    if (kind != LFUSE_MEMORY_NATIVE && kind != LFUSE_MEMORY_POINTER)
        return lfuse__error(LFUSE_ERR_INVALID, "memory kind %d is none", (int)kind);
    if (!handle) return lfuse__error(LFUSE_ERR_INVALID, "the memory to wrap is NULL");
    c = calloc(1, sizeof *c);
    if (!c) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *c);
    status = lfuse__device_note(dev, dev->backend->wrap(dev->bdev, kind, handle, bytes, &mem));
    if (status) goto err_free;
    dev->backend->mem_info(mem, &info);
    if (info.bytes && bytes > info.bytes) {
        status = lfuse__error(LFUSE_ERR_SHAPE, "the wrapped memory has %" PRIu64 " bytes, not %" PRIu64, info.bytes,
                              bytes);
        goto err_unwrap;
    }
    c->range.mem = mem;
    c->range.bytes = bytes ? bytes : info.bytes;
    c->range.unknown = !c->range.bytes;
    c->pending.finish = finish_foreign;
    *range = hand_out(dev, c, &info);
    return LFUSE_OK;

err_unwrap:
    dev->backend->free(mem);
err_free:
    free(c);
    return status;
}

void lfuse__range_retain(lfuse__range *range)
{
    atomic_fetch_add_explicit(&range->references, 1, memory_order_relaxed);
}

void lfuse__range_release(lfuse__range *range)
{
    lfuse__chunk *c = (lfuse__chunk *)range;
    lfuse_device *dev;

    if (!range || lfuse__forked()) return;
    if (atomic_fetch_sub_explicit(&range->references, 1, memory_order_acq_rel) != 1) return;
    dev = range->dev;
    if (range->mem) lfuse__defer(dev, &c->pending);
    else free(c);
    lfuse__device_release(dev);
}
