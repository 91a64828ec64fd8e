/* SPDX-License-Identifier: Apache-2.0 */
/* The stub's memory: heap blocks between guard zones, poisoned with NaN; large ones sparse, poisoned at the start. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/error.h"
#include "tests/stub/internal.h"

enum { GUARD = 256, GUARD_BYTE = 0xA5, POISON_BYTE = 0xFF, ALIGNMENT = 256, POISONED = 1 << 20 };

static bool map_sparse(uint64_t bytes, unsigned char **base)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    memset(p, POISON_BYTE, POISONED < bytes ? POISONED : bytes);
    *base = p;
    return true;
}

static bool take_heap(uint64_t bytes, unsigned char **base)
{
    unsigned char *block = NULL;
    if (posix_memalign((void **)&block, ALIGNMENT, bytes + 2 * GUARD)) return false;
    memset(block, GUARD_BYTE, GUARD);
    memset(block + GUARD, POISON_BYTE, bytes);
    memset(block + GUARD + bytes, GUARD_BYTE, GUARD);
    *base = block + GUARD;
    return true;
}

static bool guards_hold(const unsigned char *base, uint64_t bytes)
{
    for (int i = 0; i < GUARD; i++)
        if (base[-1 - i] != GUARD_BYTE || base[bytes + (uint64_t)i] != GUARD_BYTE) return false;
    return true;
}

lfuse_status lfuse__stub_alloc(lfuse__bdevice *dev, lfuse__alloc_kind kind, uint64_t bytes, lfuse__bmem **mem)
{
    ENTER(alloc);
    lfuse__stub_live live;
    lfuse__stub_live_get(&live);
    if (kind == LFUSE__ALLOC_UNIFIED && !lfuse__stub.svm)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "stub: no unified memory");
    if (bytes == 0) return lfuse__error(LFUSE_ERR_INVALID, "stub: an allocation of 0 bytes");
    if (bytes > lfuse__stub.memory_bytes || live.bytes > lfuse__stub.memory_bytes - bytes)
        return lfuse__error(LFUSE_ERR_DEVICE_MEMORY, "stub: no memory for %llu bytes beside %llu in use",
                            (unsigned long long)bytes, (unsigned long long)live.bytes);
    lfuse__bmem *m = calloc(1, sizeof *m);
    if (!m) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a memory object");
    m->dev = dev;
    m->bytes = bytes;
    m->own = true;
    m->host = kind == LFUSE__ALLOC_PINNED || (kind == LFUSE__ALLOC_UNIFIED && lfuse__stub.svm_concurrent);
    m->sparse = bytes >= lfuse__stub.sparse_bytes;
    if (!(m->sparse ? map_sparse(bytes, &m->base) : take_heap(bytes, &m->base))) {
        free(m);
        return lfuse__error(LFUSE_ERR_DEVICE_MEMORY, "stub: the host has no %llu bytes", (unsigned long long)bytes);
    }
    /* Without addresses in tables each block is a space of its own, as cl_mem objects are. */
    m->space = lfuse__stub.addresses ? 0 : (uint64_t)(uintptr_t)m->base;
    m->address = lfuse__stub.addresses ? (uint64_t)(uintptr_t)m->base : 0;
    lfuse__stub_live_add(&lfuse__stub_alive.memories, 1);
    lfuse__stub_bytes_add((int64_t)bytes);
    *mem = m;
    return LFUSE_OK;
}

lfuse_status lfuse__stub_wrap(lfuse__bdevice *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                              lfuse__bmem **mem)
{
    ENTER(wrap);
    if (handle >= lfuse__stub.foreign_low && handle < lfuse__stub.foreign_high)
        return lfuse__error(LFUSE_ERR_CONTEXT, "stub: the memory at %#llx belongs to another context",
                            (unsigned long long)handle);
    lfuse__bmem *m = calloc(1, sizeof *m);
    if (!m) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a memory object");
    m->dev = dev;
    m->base = (unsigned char *)(uintptr_t)handle;
    m->bytes = bytes;
    m->address = handle;
    m->host = kind == LFUSE_MEMORY_POINTER;
    lfuse__stub_live_add(&lfuse__stub_alive.memories, 1);
    *mem = m;
    return LFUSE_OK;
}

void lfuse__stub_free(lfuse__bmem *mem)
{
    if (mem->own) {
        if (mem->sparse) {
            munmap(mem->base, mem->bytes);
        } else {
            if (!guards_hold(mem->base, mem->bytes)) lfuse__stub_add(&lfuse__stub_count.guard_faults, 1);
            free(mem->base - GUARD);
        }
        lfuse__stub_bytes_add(-(int64_t)mem->bytes);
    }
    lfuse__stub_live_add(&lfuse__stub_alive.memories, -1);
    free(mem);
}

void lfuse__stub_mem_info(lfuse__bmem *mem, lfuse__mem_info *info)
{
    info->space = mem->space;
    info->address = mem->address;
    info->bytes = mem->bytes;
    info->host = mem->host ? mem->base : NULL;
}

lfuse_status lfuse__stub_address(lfuse__bmem *mem, uint64_t offset, uint64_t bytes, void **address)
{
    if (mem->bytes && (offset > mem->bytes || bytes > mem->bytes - offset)) {
        lfuse__stub_add(&lfuse__stub_count.misuse, 1);
        return lfuse__error(LFUSE_ERR_INVALID, "stub: bytes [%llu, +%llu) of a memory of %llu bytes",
                            (unsigned long long)offset, (unsigned long long)bytes, (unsigned long long)mem->bytes);
    }
    *address = mem->base + offset;
    return LFUSE_OK;
}
