/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of a device by their whole source. A program that is being built is in the table already, so that others
 * wait for it instead of building it again; building itself holds no lock, so that different programs build at once.
 */
#include "common/device/internal.h"

#include <stdlib.h>
#include <string.h>

static lfuse__program **bucket_of(lfuse__programs *table, lfuse__hash hash)
{
    return &table->buckets[hash.low % LFUSE__PROGRAM_BUCKETS];
}

static lfuse__program *find(lfuse__programs *table, lfuse__hash hash, const char *body)
{
    lfuse__program *p;

    for (p = *bucket_of(table, hash); p; p = p->bucket_next)
        if (p->hash.low == hash.low && p->hash.high == hash.high && !strcmp(p->body, body)) return p;
    return NULL;
}

static void bucket_remove(lfuse__programs *table, lfuse__program *p)
{
    lfuse__program **at = bucket_of(table, p->hash);

    while (*at != p) at = &(*at)->bucket_next;
    *at = p->bucket_next;
    table->count--;
}

static void unused_add(lfuse__programs *table, lfuse__program *p)
{
    p->older = table->newest;
    p->newer = NULL;
    if (table->newest) table->newest->newer = p;
    else table->oldest = p;
    table->newest = p;
}

static void unused_remove(lfuse__programs *table, lfuse__program *p)
{
    if (p->older) p->older->newer = p->newer;
    else table->oldest = p->newer;
    if (p->newer) p->newer->older = p->older;
    else table->newest = p->older;
    p->older = p->newer = NULL;
}

static void free_record(lfuse__program *p)
{
    free(p->message);
    free(p->body);
    free(p);
}

static void finish_program(lfuse__pending *pending)
{
    lfuse__program *p = (lfuse__program *)((char *)pending - offsetof(lfuse__program, pending));

    p->dev->backend->program_destroy(p->bprogram);
    free_record(p);
}

/* Takes unused programs out of the table until `keep` are left of all; the oldest go first. */
static void evict(lfuse_device *dev, unsigned keep)
{
    lfuse__programs *table = &dev->programs;
    lfuse__program *gone = NULL, *p;

    pthread_mutex_lock(&table->lock);
    while (table->count > keep && (p = table->oldest)) {
        unused_remove(table, p);
        bucket_remove(table, p);
        p->bucket_next = gone;
        gone = p;
    }
    pthread_mutex_unlock(&table->lock);
    while ((p = gone)) {
        gone = p->bucket_next;
        lfuse__defer(dev, &p->pending); /* kernels of it may still run */
    }
}

void lfuse__programs_drop(lfuse_device *dev)
{
    evict(dev, 0);
}

static lfuse__program *add(lfuse_device *dev, lfuse__hash hash, const char *body)
{
    lfuse__program *p = calloc(1, sizeof *p), **bucket = bucket_of(&dev->programs, hash);

    if (!p || !(p->body = strdup(body))) {
        free(p);
        return NULL;
    }
    p->dev = dev;
    p->hash = hash;
    p->references = 1;
    p->pending.finish = finish_program;
    p->bucket_next = *bucket;
    *bucket = p;
    dev->programs.count++;
    return p;
}

/* Under the lock, which is open while waiting. */
static lfuse_status join(lfuse__programs *table, lfuse__program *p, lfuse__program **program)
{
    lfuse_status status;

    if (!p->references++ && p->state == LFUSE__READY) unused_remove(table, p);
    while (p->state == LFUSE__BUILDING) pthread_cond_wait(&table->built, &table->lock);
    if (p->state == LFUSE__READY) {
        *program = p;
        return LFUSE_OK;
    }
    status = lfuse__error(p->status, "%s", p->message ? p->message : "the same program failed in another thread");
    if (!--p->references) free_record(p);
    return status;
}

/* Under the lock. A failure is forgotten at once: the next caller tries again. */
static void settle(lfuse__programs *table, lfuse__program *p, lfuse_status status)
{
    p->status = status;
    p->state = status ? LFUSE__FAILED : LFUSE__READY;
    if (status) {
        p->message = strdup(lfuse__error_message());
        bucket_remove(table, p);
        if (!--p->references) free_record(p);
    }
    pthread_cond_broadcast(&table->built);
}

lfuse_status lfuse__program_get(lfuse_device *dev, const char *body, lfuse__program **program)
{
    lfuse__hash hash = lfuse__hash_bytes(body, strlen(body));
    lfuse__programs *table = &dev->programs;
    lfuse__bprogram *built = NULL;
    lfuse_status status;
    lfuse__program *p;

    LFUSE__TRY(lfuse__device_usable(dev));
    pthread_mutex_lock(&table->lock);
    p = find(table, hash, body);
    if (p) {
        status = join(table, p, program);
        pthread_mutex_unlock(&table->lock);
        if (!status) lfuse__device_retain(dev);
        return status;
    }
    p = add(dev, hash, body);
    pthread_mutex_unlock(&table->lock);
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory for a program of %zu bytes", strlen(body));
    status = lfuse__build(dev, body, &built);
    pthread_mutex_lock(&table->lock);
    p->bprogram = built;
    settle(table, p, status);
    pthread_mutex_unlock(&table->lock);
    if (status) return status;
    lfuse__device_retain(dev);
    evict(dev, LFUSE__PROGRAM_LIMIT);
    *program = p;
    return LFUSE_OK;
}

void lfuse__program_release(lfuse__program *program)
{
    lfuse__programs *table;
    lfuse_device *dev;

    if (!program || lfuse__forked()) return;
    dev = program->dev;
    table = &dev->programs;
    pthread_mutex_lock(&table->lock);
    if (!--program->references) unused_add(table, program);
    pthread_mutex_unlock(&table->lock);
    evict(dev, atomic_load(&dev->state) & LFUSE__CLOSED ? 0 : LFUSE__PROGRAM_LIMIT);
    lfuse__device_release(dev);
}

void lfuse__program_retain(lfuse__program *program)
{
    lfuse__programs *table = &program->dev->programs;

    pthread_mutex_lock(&table->lock);
    program->references++;
    pthread_mutex_unlock(&table->lock);
    lfuse__device_retain(program->dev);
}
