/* SPDX-License-Identifier: Apache-2.0 */
/* A device from its opening to its closing. */
#include "common/device/internal.h"

#include <stdlib.h>

#include "common/base/env.h"
#include "common/base/log.h"
#include "common/device/registry.h"

/* How long the last release waits for work that still uses the memory; longer, and the memory is left alone. */
#define CLOSE_SECONDS 10

static void unmake(lfuse_device *dev)
{
    pthread_mutex_destroy(&dev->pool.lock);
    pthread_cond_destroy(&dev->programs.built);
    pthread_mutex_destroy(&dev->programs.lock);
    pthread_mutex_destroy(&dev->sync_lock);
    pthread_cond_destroy(&dev->setup_done);
    pthread_mutex_destroy(&dev->setup);
    free(dev);
}

/* All objects are gone; work that they submitted may still run. */
static void finalise(lfuse_device *dev)
{
    lfuse__programs_drop(dev);
    if (!lfuse__drain(dev, CLOSE_SECONDS, true)) {
        lfuse__log(LFUSE_LOG_ERROR, "%s: work did not finish within %d s of closing; its memory is left in place",
                   dev->facts.info.name, CLOSE_SECONDS);
        return;
    }
    lfuse__pool_trim(dev, true);
    dev->backend->close(dev->bdev);
    unmake(dev);
}

static lfuse_status make(const lfuse__backend *backend, lfuse_device **device)
{
    lfuse_device *dev = calloc(1, sizeof *dev);

    if (!dev) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *dev);
    dev->backend = backend;
    dev->finalise = finalise;
    dev->sync = lfuse__env_get()->sync;
    atomic_init(&dev->references, 1);
    atomic_flag_clear(&dev->losing);
    pthread_mutex_init(&dev->setup, NULL);
    pthread_cond_init(&dev->setup_done, NULL);
    pthread_mutex_init(&dev->sync_lock, NULL);
    pthread_mutex_init(&dev->programs.lock, NULL);
    pthread_cond_init(&dev->programs.built, NULL);
    pthread_mutex_init(&dev->pool.lock, NULL);
    dev->pool.last = &dev->pool.first;
    *device = dev;
    return LFUSE_OK;
}

static lfuse_status finish_open(lfuse_device *dev, lfuse_device **device)
{
    lfuse__saved_error before;
    lfuse_status status;

    lfuse__error_save(&before);
    status = dev->backend->facts(dev->bdev, &dev->facts);
    if (status) {
        dev->backend->close(dev->bdev);
        unmake(dev);
        return status;
    }
    lfuse__error_restore(&before); /* what it looked for in vain is no failure of this call */
    lfuse__log(LFUSE_LOG_INFO, "opened %s: %s, %s", dev->facts.info.name, dev->facts.info.product,
               dev->facts.info.driver);
    *device = dev;
    return LFUSE_OK;
}

lfuse_status lfuse__device_open(const char *name, lfuse_device **device)
{
    lfuse_device *dev;
    lfuse__found found;
    lfuse_status status;

    LFUSE__TRY(lfuse__check_fork());
    LFUSE__TRY(lfuse__registry_choose(name, &found));
    LFUSE__TRY(make(found.backend, &dev));
    status = found.backend->open(found.index, &dev->bdev);
    if (status) {
        unmake(dev);
        return lfuse__error_prefix(status, "%s: ", found.facts.info.name);
    }
    return finish_open(dev, device);
}

lfuse_status lfuse__device_adopt(const char *backend_name, void *context, void *native_device, lfuse_device **device)
{
    const lfuse__backend *backend = lfuse__registry_find(backend_name);
    lfuse__strbuf reason = LFUSE__STRBUF_INIT;
    lfuse_device *dev;
    lfuse_status status;
    int count = 0;

    LFUSE__TRY(lfuse__check_fork());
    if (!backend) return lfuse__error(LFUSE_ERR_NO_DEVICE, "this build has no backend \"%.64s\"", backend_name);
    status = lfuse__registry_enumerate(backend, &count, &reason);
    if (!status && count <= 0) status = lfuse__error(LFUSE_ERR_NO_DEVICE, "%s: %s", backend->name, reason.data);
    lfuse__strbuf_free(&reason);
    if (status) return status;
    LFUSE__TRY(make(backend, &dev));
    status = backend->adopt(context, native_device, &dev->bdev);
    if (status) {
        unmake(dev);
        return status;
    }
    return finish_open(dev, device);
}

/* What the device holds of itself would keep it alive for ever, so it goes here and not with the last reference. */
void lfuse__device_close(lfuse_device *dev)
{
    lfuse_stream *own;
    int i;

    if (!dev || lfuse__forked()) return;
    if (atomic_fetch_or(&dev->state, LFUSE__CLOSED) & LFUSE__CLOSED) return;
    for (i = LFUSE__ATTACH_COUNT - 1; i >= 0; i--) {
        lfuse__attachment *a = &dev->attached[i].attachment;
        if (a->data && a->destroy) a->destroy(a->data);
        a->data = NULL;
    }
    pthread_mutex_lock(&dev->setup);
    own = dev->own_stream;
    dev->own_stream = NULL;
    pthread_mutex_unlock(&dev->setup);
    lfuse__stream_destroy(own);
    lfuse__programs_drop(dev);
    lfuse__device_release(dev);
}

lfuse_status lfuse__device_full_facts(lfuse_device *dev, lfuse__facts *facts)
{
    enum { MOST_PARTS = 8 };
    lfuse__part parts[MOST_PARTS];
    lfuse__facts full;
    int i, n;

    LFUSE__TRY(lfuse__device_usable(dev));
    n = dev->backend->parts(parts, MOST_PARTS); /* for what it loads */
    for (i = 0; i < n && i < MOST_PARTS; i++)
        if (lfuse__is_shortage(parts[i].status))
            return lfuse__error(parts[i].status, "%s: %s", parts[i].name, parts[i].reason);
    LFUSE__TRY(lfuse__device_note(dev, dev->backend->facts(dev->bdev, &full)));
    *facts = full;
    return LFUSE_OK;
}

lfuse_status lfuse__device_memory(lfuse_device *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    uint64_t available = 0, total = 0;

    LFUSE__TRY(lfuse__device_usable(dev));
    LFUSE__TRY(lfuse__device_note(dev, dev->backend->memory(dev->bdev, &available, &total)));
    *free_bytes = available;
    *total_bytes = total;
    return LFUSE_OK;
}

void lfuse__device_counters(const lfuse_device *dev, lfuse_device_counters *counters)
{
    lfuse_device *d = (lfuse_device *)dev; /* the lock is no part of the value */
    const lfuse__tail *t;

    pthread_mutex_lock(&d->pool.lock);
    counters->launches = d->pool.launches;
    for (t = d->pool.tails; t; t = t->next)
        counters->launches += atomic_load_explicit(&t->launches, memory_order_relaxed);
    pthread_mutex_unlock(&d->pool.lock);
    counters->compiles = atomic_load(&d->compiles);
    counters->build_us = atomic_load(&d->build_ns) / 1000;
    counters->allocations = atomic_load(&d->allocations);
    counters->bytes = atomic_load(&d->bytes);
}

lfuse_status lfuse__device_attachment(lfuse_device *dev, int kind, lfuse_status (*create)(lfuse_device *, void **),
                                      void (*destroy)(void *), void **data)
{
    lfuse__attached *a = &dev->attached[kind];
    lfuse_status status = LFUSE_OK;
    void *made = NULL;

    LFUSE__TRY(lfuse__device_usable(dev));
    pthread_mutex_lock(&dev->setup);
    while (a->making) pthread_cond_wait(&dev->setup_done, &dev->setup);
    if (!a->attachment.data) {
        a->making = true;
        pthread_mutex_unlock(&dev->setup);
        status = create(dev, &made);
        pthread_mutex_lock(&dev->setup);
        a->making = false;
        if (!status) a->attachment = (lfuse__attachment){ made, destroy };
        pthread_cond_broadcast(&dev->setup_done);
    }
    if (!status) *data = a->attachment.data;
    pthread_mutex_unlock(&dev->setup);
    return status;
}

lfuse_status lfuse__device_stream(lfuse_device *dev, lfuse_stream **s)
{
    lfuse_status status = lfuse__device_usable(dev);

    if (status) return status;
    pthread_mutex_lock(&dev->setup);
    if (!dev->own_stream) status = lfuse__stream_create(dev, &dev->own_stream);
    if (!status) *s = dev->own_stream;
    pthread_mutex_unlock(&dev->setup);
    return status;
}

void lfuse__device_lock_sync(lfuse_device *dev)
{
    pthread_mutex_lock(&dev->sync_lock);
}

void lfuse__device_unlock_sync(lfuse_device *dev)
{
    pthread_mutex_unlock(&dev->sync_lock);
}
