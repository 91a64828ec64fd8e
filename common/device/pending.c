/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred release. A release takes the next tick of the device; what it releases may go when the work of every stream
 * is known to have passed that tick. A stream without unfinished work has passed every tick; for the others one event
 * (the fence) is recorded behind their work, and read at later calls. Nothing is allocated when something is released,
 * and nothing waits.
 */
#include "common/device/internal.h"

#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"

lfuse_status lfuse__tail_create(lfuse_device *dev, lfuse_stream *stream, lfuse__tail **tail)
{
    lfuse__tail *t = calloc(1, sizeof *t);
    lfuse_status status;

    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *t);
    atomic_flag_clear(&t->busy);
    status = lfuse__device_note(dev, dev->backend->event_create(dev->bdev, &t->fence));
    if (status) {
        free(t);
        return status;
    }
    pthread_mutex_lock(&dev->pool.lock);
    t->stream = stream;
    t->clear = dev->pool.tick;
    t->next = dev->pool.tails;
    if (t->next) t->next->prev = t;
    dev->pool.tails = t;
    pthread_mutex_unlock(&dev->pool.lock);
    *tail = t;
    return LFUSE_OK;
}

static void unlink_tail(lfuse_device *dev, lfuse__tail *t)
{
    if (t->prev) t->prev->next = t->next;
    else dev->pool.tails = t->next;
    if (t->next) t->next->prev = t->prev;
    dev->pool.launches += atomic_load_explicit(&t->launches, memory_order_relaxed);
    dev->backend->event_destroy(t->fence);
    free(t);
}

static bool idle(const lfuse__tail *t)
{
    return atomic_load_explicit(&t->submitted, memory_order_acquire) ==
           atomic_load_explicit(&t->finished, memory_order_acquire);
}

static void learn(lfuse__tail *t, uint64_t submitted)
{
    if (submitted > atomic_load_explicit(&t->finished, memory_order_relaxed))
        atomic_store_explicit(&t->finished, submitted, memory_order_release);
}

/*
 * The fence is done, or nothing can use the memory any more: the device is lost, or closing and past telling. An error
 * at another time says nothing about the work; the next call asks again.
 */
static bool fence_done(lfuse_device *dev, lfuse__tail *t)
{
    lfuse_status status;

    if (lfuse__device_lost(dev)) return true;
    status = lfuse__device_note(dev, dev->backend->event_query(t->fence));
    t->mute = status && status != LFUSE_NOT_READY;
    return !status || lfuse__device_lost(dev) || (t->mute && !atomic_load(&dev->references));
}

static void read_fence(lfuse_device *dev, lfuse__tail *t)
{
    if (!t->fenced || !fence_done(dev, t)) return;
    t->fenced = false;
    if (t->fence_tick > t->clear) t->clear = t->fence_tick;
    learn(t, t->fence_submitted);
}

/* Both locked. False: an error. */
static bool set_fence(lfuse_device *dev, lfuse__tail *t)
{
    const uint64_t submitted = atomic_load_explicit(&t->submitted, memory_order_acquire);
    lfuse__bstream *s = t->stream->bstream;

    if (lfuse__device_note(dev, dev->backend->event_record(t->fence, s))) return false;
    lfuse__device_note(dev, dev->backend->stream_flush(s));
    t->fenced = true;
    t->fence_tick = dev->pool.tick;
    t->fence_submitted = submitted;
    return true;
}

/* `t` is locked. An event in a stream that captures would become part of the user's graph. */
static void record_fence(lfuse_device *dev, lfuse__tail *t)
{
    bool capturing = false;

    if (t->held && atomic_load(&t->finished) >= t->held_submitted) t->held = false;
    if (t->held || t->stream->making) return; /* a graph of our own is soon done */
    if (dev->backend->stream_capturing(t->stream->bstream, &capturing)) return;
    if (capturing) {
        t->held = true;
        t->held_submitted = atomic_load_explicit(&t->submitted, memory_order_acquire);
        return;
    }
    (void)set_fence(dev, t);
}

static void advance(lfuse_device *dev, lfuse__tail *t, bool query)
{
    if (query) read_fence(dev, t);
    if (idle(t) || lfuse__device_lost(dev)) t->clear = dev->pool.tick;
    if (t->clear >= dev->pool.tick || t->fenced || !t->stream) return;
    if (!lfuse__tail_try(t)) return; /* its thread is submitting or waiting: later */
    record_fence(dev, t);
    lfuse__tail_unlock(t);
}

/* Under the lock: moves every tail on and takes off the list what has become ready. */
static lfuse__pending *collect(lfuse_device *dev, bool query)
{
    lfuse__pending *ready = NULL, **end = &ready, *p;
    uint64_t clear = dev->pool.tick, n = 0;
    lfuse__saved_error before;
    lfuse__tail *t, *next;

    if (!dev->pool.first && !query) return NULL;
    lfuse__error_save(&before); /* what a query says here belongs to no call */
    for (t = dev->pool.tails; t; t = next) {
        next = t->next;
        advance(dev, t, query);
        if (!t->stream && !t->fenced) unlink_tail(dev, t);
        else if (t->clear < clear) clear = t->clear;
    }
    lfuse__error_restore(&before);
    while ((p = dev->pool.first) && p->tick <= clear) {
        dev->pool.first = p->next;
        if (!dev->pool.first) dev->pool.last = &dev->pool.first;
        p->next = NULL;
        *end = p;
        end = &p->next;
        n++;
    }
    if (n) atomic_fetch_sub(&dev->pool.waiting, n);
    return ready;
}

static void finish(lfuse__pending *p)
{
    lfuse__pending *next;

    for (; p; p = next) {
        next = p->next;
        p->finish(p);
    }
}

void lfuse__defer(lfuse_device *dev, lfuse__pending *p)
{
    lfuse__pending *ready;

    pthread_mutex_lock(&dev->pool.lock);
    p->tick = ++dev->pool.tick;
    p->next = NULL;
    *dev->pool.last = p;
    dev->pool.last = &p->next;
    atomic_fetch_add(&dev->pool.waiting, 1);
    ready = collect(dev, false);
    pthread_mutex_unlock(&dev->pool.lock);
    finish(ready);
}

void lfuse__reap(lfuse_device *dev)
{
    lfuse__pending *ready;

    if (!atomic_load_explicit(&dev->pool.waiting, memory_order_relaxed)) return;
    pthread_mutex_lock(&dev->pool.lock);
    ready = collect(dev, true);
    pthread_mutex_unlock(&dev->pool.lock);
    finish(ready);
}

/* Whether time alone can finish something. */
static bool fence_outstanding(const lfuse_device *dev)
{
    const lfuse__tail *t;

    for (t = dev->pool.tails; t; t = t->next)
        if (t->fenced && !t->mute) return true;
    return false;
}

bool lfuse__drain(lfuse_device *dev, int seconds, bool tails)
{
    const struct timespec pause = { 0, 100000 };
    const uint64_t end = lfuse__nanoseconds() + (uint64_t)seconds * 1000000000;
    lfuse__pending *ready;
    bool left, hope;

    for (;;) {
        pthread_mutex_lock(&dev->pool.lock);
        ready = collect(dev, true);
        hope = fence_outstanding(dev);
        pthread_mutex_unlock(&dev->pool.lock);
        finish(ready);
        left = atomic_load(&dev->pool.waiting) || (tails && dev->pool.tails);
        if (!left || (!hope && !ready) || lfuse__nanoseconds() > end) return !left;
        if (!ready) nanosleep(&pause, NULL);
    }
}

/*
 * Under the lock, `t` too: the last fence of a stream that goes. False: none can be recorded though there is work,
 * which has then to be waited for, because the memory that it uses would else be reused under it.
 */
static bool last_fence(lfuse_device *dev, lfuse__tail *t)
{
    lfuse__bstream *s = t->stream->bstream;
    bool capturing = false;

    t->fenced = false;
    if (idle(t) || lfuse__device_lost(dev)) return true;
    if (!dev->backend->stream_capturing(s, &capturing) && capturing) return true;
    return set_fence(dev, t);
}

void lfuse__tail_retire(lfuse_device *dev, lfuse__tail *t)
{
    lfuse__saved_error before;
    lfuse__pending *ready;

    lfuse__error_save(&before);
    lfuse__tail_lock(t);
    pthread_mutex_lock(&dev->pool.lock);
    if (!last_fence(dev, t)) {
        pthread_mutex_unlock(&dev->pool.lock);
        lfuse__device_note(dev, dev->backend->stream_sync(t->stream->bstream));
        pthread_mutex_lock(&dev->pool.lock);
    }
    t->stream = NULL;
    lfuse__tail_unlock(t);
    ready = collect(dev, true); /* frees this tail too unless it has work to wait for */
    pthread_mutex_unlock(&dev->pool.lock);
    lfuse__error_restore(&before);
    finish(ready);
}
