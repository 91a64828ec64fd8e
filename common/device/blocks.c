/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The suballocator: large blocks from the driver, best fit among their free chunks, neighbours joined when freed.
 * Blocks double in size, because a list kernel can name few blocks and a small program should not take much memory.
 */
#include "common/device/internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/log.h"

#define FIRST_BLOCK ((uint64_t)32 << 20)
#define LAST_BLOCK ((uint64_t)256 << 20) /* or 1/64 of the device's memory, if that is more */
/* How long an allocation that would fail waits for memory whose last work still runs. */
#define OUT_OF_MEMORY_SECONDS 10

static int bin_of(uint64_t bytes)
{
    return 63 - __builtin_clzll(bytes);
}

static void bin_add(lfuse__pool *pool, lfuse__chunk *c)
{
    lfuse__chunk **bin = &pool->bins[bin_of(c->bytes)];

    c->free = true;
    c->bin_prev = NULL;
    c->bin_next = *bin;
    if (*bin) (*bin)->bin_prev = c;
    *bin = c;
}

static void bin_remove(lfuse__pool *pool, lfuse__chunk *c)
{
    if (c->bin_prev) c->bin_prev->bin_next = c->bin_next;
    else pool->bins[bin_of(c->bytes)] = c->bin_next;
    if (c->bin_next) c->bin_next->bin_prev = c->bin_prev;
    c->bin_next = c->bin_prev = NULL;
    c->free = false;
}

/* The smallest chunk that is large enough: in the request's own bin some are not, in the next ones all are. */
static lfuse__chunk *best_fit(const lfuse__pool *pool, uint64_t bytes)
{
    lfuse__chunk *best = NULL, *c;
    int bin;

    for (bin = bin_of(bytes); bin < LFUSE__BINS && !best; bin++)
        for (c = pool->bins[bin]; c; c = c->bin_next)
            if (c->bytes >= bytes && (!best || c->bytes < best->bytes)) best = c;
    return best;
}

/* Cuts what is over from the end of `c`. Without memory for the rest's record the request simply gets all of it. */
static void cut(lfuse__pool *pool, lfuse__chunk *c, uint64_t bytes)
{
    lfuse__chunk *rest;

    if (c->bytes - bytes < LFUSE__ALIGNMENT) return;
    rest = calloc(1, sizeof *rest);
    if (!rest) return;
    rest->block = c->block;
    rest->range.offset = c->range.offset + bytes;
    rest->bytes = c->bytes - bytes;
    c->bytes = bytes;
    rest->prev = c;
    rest->next = c->next;
    if (rest->next) rest->next->prev = rest;
    c->next = rest;
    bin_add(pool, rest);
}

static lfuse__chunk *take(lfuse__pool *pool, uint64_t bytes)
{
    lfuse__chunk *c = best_fit(pool, bytes);

    if (!c) return NULL;
    bin_remove(pool, c);
    cut(pool, c, bytes);
    return c;
}

static lfuse__chunk *take_locked(lfuse_device *dev, uint64_t bytes)
{
    lfuse__chunk *c;

    pthread_mutex_lock(&dev->pool.lock);
    c = take(&dev->pool, bytes);
    pthread_mutex_unlock(&dev->pool.lock);
    return c;
}

/* Joins `c` with its follower, whose record goes. Neither is in a bin. */
static lfuse__chunk *join(lfuse__chunk *c, lfuse__chunk *next)
{
    c->bytes += next->bytes;
    c->next = next->next;
    if (c->next) c->next->prev = c;
    free(next);
    return c;
}

void lfuse__pool_give(lfuse_device *dev, lfuse__chunk *c)
{
    lfuse__pool *pool = &dev->pool;

    pthread_mutex_lock(&pool->lock);
    if (c->next && c->next->free) {
        bin_remove(pool, c->next);
        join(c, c->next);
    }
    if (c->prev && c->prev->free) {
        bin_remove(pool, c->prev);
        c = join(c->prev, c);
    }
    bin_add(pool, c);
    pthread_mutex_unlock(&pool->lock);
}

static lfuse_status ask(lfuse_device *dev, uint64_t bytes, bool large, lfuse__block **block)
{
    lfuse__block *b = calloc(1, sizeof *b);
    lfuse__chunk *c = calloc(1, sizeof *c);
    lfuse_status status = LFUSE_ERR_MEMORY;

    if (!b || !c) {
        lfuse__error(status, "out of host memory for the record of a memory block");
        goto err_free;
    }
    status = lfuse__device_note(dev, dev->backend->alloc(dev->bdev, LFUSE__ALLOC_DEVICE, bytes, &b->mem));
    if (status) goto err_free;
    dev->backend->mem_info(b->mem, &b->info);
    b->bytes = bytes;
    b->large = large;
    b->first = c;
    c->block = b;
    c->bytes = bytes;
    atomic_fetch_add(&dev->allocations, 1);
    atomic_fetch_add(&dev->bytes, bytes);
    lfuse__log(LFUSE_LOG_DEBUG, "%s: block of %" PRIu64 " bytes", dev->facts.info.name, bytes);
    *block = b;
    return LFUSE_OK;

err_free:
    free(c);
    free(b);
    return status;
}

/* Enters the block and takes the request from it before another thread can. */
static lfuse__chunk *enter(lfuse_device *dev, lfuse__block *b, uint64_t bytes)
{
    lfuse__pool *pool = &dev->pool;
    lfuse__chunk *c = b->first;

    pthread_mutex_lock(&pool->lock);
    b->next = pool->blocks;
    if (b->next) b->next->prev = b;
    pool->blocks = b;
    cut(pool, c, bytes);
    pthread_mutex_unlock(&pool->lock);
    return c;
}

static uint64_t standard_bytes(lfuse_device *dev)
{
    const lfuse_device_info *info = &dev->facts.info;
    uint64_t last = info->memory_bytes / 64 > LAST_BLOCK ? info->memory_bytes / 64 : LAST_BLOCK;
    uint64_t bytes;

    pthread_mutex_lock(&dev->pool.lock);
    bytes = dev->pool.next_block ? dev->pool.next_block : FIRST_BLOCK;
    dev->pool.next_block = 2 * bytes < last ? 2 * bytes : last;
    pthread_mutex_unlock(&dev->pool.lock);
    if (info->max_alloc_bytes && bytes > info->max_alloc_bytes) bytes = info->max_alloc_bytes;
    return bytes - bytes % LFUSE__ALIGNMENT;
}

static lfuse_status grow(lfuse_device *dev, uint64_t bytes, lfuse__chunk **chunk)
{
    uint64_t standard = standard_bytes(dev), size = bytes > standard ? bytes : standard;
    lfuse__saved_error before;
    lfuse__block *block;
    lfuse_status status;

    lfuse__pool_trim(dev, false);
    lfuse__error_save(&before);
    status = ask(dev, size, bytes > standard, &block);
    if (status == LFUSE_ERR_DEVICE_MEMORY) {
        /* Memory that only waits for its last work is worth waiting for, and so is every empty block. */
        lfuse__drain(dev, OUT_OF_MEMORY_SECONDS, false);
        *chunk = take_locked(dev, bytes);
        if (*chunk) {
            lfuse__error_restore(&before);
            return LFUSE_OK;
        }
        lfuse__pool_trim(dev, true);
        lfuse__error_restore(&before);
        status = ask(dev, bytes, bytes > standard, &block);
    }
    if (status == LFUSE_ERR_DEVICE_MEMORY)
        return lfuse__error_prefix(status, "%s: %" PRIu64 " bytes asked for, %" PRIu64 " held by the library: ",
                                   dev->facts.info.name, bytes, atomic_load(&dev->bytes));
    if (status) return status;
    *chunk = enter(dev, block, bytes);
    return LFUSE_OK;
}

static lfuse_status checked_size(const lfuse_device *dev, uint64_t bytes, uint64_t *rounded)
{
    uint64_t most = dev->facts.info.max_alloc_bytes;

    if (__builtin_add_overflow(bytes, LFUSE__ALIGNMENT - 1, rounded))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "%" PRIu64 " bytes are too many", bytes);
    *rounded -= *rounded % LFUSE__ALIGNMENT;
    if (most && *rounded > most)
        return lfuse__error(LFUSE_ERR_DEVICE_MEMORY, "%s: %" PRIu64 " bytes asked for, one allocation holds %" PRIu64
                            " at most", dev->facts.info.name, bytes, most);
    return LFUSE_OK;
}

lfuse_status lfuse__pool_take(lfuse_device *dev, uint64_t bytes, lfuse__chunk **chunk)
{
    uint64_t rounded;
    lfuse__chunk *c;

    LFUSE__TRY(checked_size(dev, bytes, &rounded));
    lfuse__reap(dev);
    c = take_locked(dev, rounded);
    if (!c) LFUSE__TRY(grow(dev, rounded, &c));
    *chunk = c;
    return LFUSE_OK;
}

static bool empty(const lfuse__block *b)
{
    return b->first->free && !b->first->next;
}

static void unlink_block(lfuse__pool *pool, lfuse__block *b)
{
    bin_remove(pool, b->first);
    if (b->prev) b->prev->next = b->next;
    else pool->blocks = b->next;
    if (b->next) b->next->prev = b->prev;
}

void lfuse__pool_trim(lfuse_device *dev, bool all)
{
    lfuse__block *gone = NULL, *b, *next;

    pthread_mutex_lock(&dev->pool.lock);
    for (b = dev->pool.blocks; b; b = next) {
        next = b->next;
        if (!empty(b) || !(all || b->large)) continue;
        unlink_block(&dev->pool, b);
        b->next = gone;
        gone = b;
    }
    pthread_mutex_unlock(&dev->pool.lock);
    for (b = gone; b; b = next) {
        next = b->next;
        dev->backend->free(b->mem);
        atomic_fetch_sub(&dev->bytes, b->bytes);
        free(b->first);
        free(b);
    }
}
