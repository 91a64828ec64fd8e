/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of numbers, one for each member of a list. Each use (function, operand, list, stream) has device memory, so
 * that a call that comes again finds its numbers there, and writes those that have changed. Such arrays are few and go
 * by age; the memory is given back when the list is gone.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/kernels/kernel.h"
#include "common/run/cache.h"
#include "common/run/foreach.h"
#include "common/run/launch/launch.h"
#include "common/run/lists/lists.h"

enum { MOST_ARRAYS = 64 };

struct lfuse__numbers {
    lfuse__numbers *next;
    lfuse__numbers_use use; /* a reference to the stream; the list is watched */
    int users;              /* calls that use it now */
    uint64_t used;
    bool own;      /* not in the cache: it goes when it is given back */
    bool captured; /* a graph of the caller's writes here whenever it is replayed: what is here is not known any more */
    bool valid;    /* the device holds `words`, made of `given` */
    lfuse_list *list;
    lfuse__range *range;
    lfuse__kernel *writer;
    lfuse__arena memory; /* of what follows */
    double *given;
    uint64_t *words, *fresh;
    size_t nwords;
};

static void destroy(lfuse__numbers *n)
{
    if (!n) return;
    lfuse__kernel_destroy(n->writer);
    lfuse__list_release(n->list);
    lfuse__range_release(n->range);
    lfuse__list_unwatch(n->use.list);
    lfuse__stream_release(n->use.stream);
    lfuse__arena_free(&n->memory);
    free(n);
}

void lfuse__numbers_clear(lfuse__numbers *first)
{
    while (first) {
        lfuse__numbers *next = first->next;
        destroy(first);
        first = next;
    }
}

/* ---- making ---- */

static lfuse_status make_writer(lfuse_device *dev, lfuse__kernel **writer)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__program *program = NULL;
    lfuse_status status = lfuse__family_table.emit(&text, "k0", NULL, lfuse__device_facts(dev));

    if (!status) status = lfuse__program_get(dev, text.data, &program);
    if (!status) status = lfuse__kernel_create(program, "k0", writer);
    lfuse__program_release(program);
    lfuse__strbuf_free(&text);
    return status;
}

static lfuse_status make_list(lfuse_device *dev, lfuse__numbers *n)
{
    const int64_t length = (int64_t)(n->nwords * 8 / lfuse_type_size(n->use.type));
    lfuse_tensor *t;
    lfuse_status status;

    LFUSE__TRY(lfuse__tensor_create(dev, n->use.type, 1, &length, &t));
    status = lfuse__list_of_elements(t, n->use.count, &n->list);
    if (!status) lfuse__range_retain(n->range = t->range);
    lfuse__tensor_release(t);
    return status;
}

static lfuse_status fill_in(lfuse_device *dev, lfuse__numbers *n)
{
    const size_t count = (size_t)n->use.count;

    n->nwords = (count * lfuse_type_size(n->use.type) + 7) / 8;
    n->given = lfuse__arena_array(&n->memory, count, sizeof *n->given);
    n->words = lfuse__arena_array(&n->memory, n->nwords, sizeof *n->words);
    n->fresh = lfuse__arena_array(&n->memory, n->nwords, sizeof *n->fresh);
    if (!n->given || !n->words || !n->fresh) return LFUSE_ERR_MEMORY;
    LFUSE__TRY(make_list(dev, n));
    return make_writer(dev, &n->writer);
}

static lfuse_status make(const lfuse__numbers_use *use, lfuse__numbers **made)
{
    lfuse__numbers *n = calloc(1, sizeof *n);
    lfuse_status status;

    if (!n) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *n);
    n->use = *use;
    lfuse__stream_retain(use->stream);
    lfuse__list_watch(use->list);
    status = fill_in(lfuse__stream_device(use->stream), n);
    if (status) destroy(n);
    else *made = n;
    return status;
}

/* ---- those that are kept ---- */

static bool same_use(const lfuse__numbers_use *a, const lfuse__numbers_use *b)
{
    return a->stream == b->stream && a->list == b->list && a->operand == b->operand && a->type == b->type &&
           a->rounding == b->rounding && a->count == b->count;
}

static lfuse__numbers *find(lfuse__plan_cache *cache, const lfuse__numbers_use *use)
{
    lfuse__numbers *n = cache->numbers;

    while (n && !same_use(&n->use, use)) n = n->next;
    if (!n) return NULL;
    n->users++;
    n->used = ++cache->clock;
    return n;
}

static bool is_spent(const lfuse__numbers *n)
{
    if (n->users || n->captured) return false;
    return lfuse__list_gone(n->use.list) || lfuse__stream_usable(n->use.stream) != LFUSE_OK;
}

/* Takes out what is of no more use, and, where there are too many, the array that was not used longest. */
static lfuse__numbers *take_out(lfuse__plan_cache *cache)
{
    lfuse__numbers **at = &cache->numbers, **oldest = NULL, *out = NULL, *n;
    int count = 0;

    while ((n = *at)) {
        if (is_spent(n)) {
            *at = n->next;
            n->next = out;
            out = n;
            continue;
        }
        count++;
        if (!n->users && !n->captured && (!oldest || n->used < (*oldest)->used)) oldest = at;
        at = &n->next;
    }
    if (count >= MOST_ARRAYS && oldest) {
        n = *oldest;
        *oldest = n->next;
        n->next = out;
        out = n;
    }
    return out;
}

/* Of one stream, so of one thread: nobody else makes the memory of the same use meanwhile. */
static lfuse_status make_kept(lfuse__plan_cache *cache, const lfuse__numbers_use *use, lfuse__numbers **made)
{
    lfuse__saved_error saved;
    lfuse__numbers *n, *out;

    LFUSE__TRY(lfuse__not_capturing(use->stream, "there is no memory for an array of numbers yet"));
    LFUSE__TRY(make(use, &n));
    lfuse__error_save(&saved);
    pthread_mutex_lock(&cache->lock);
    out = take_out(cache);
    n->next = cache->numbers;
    cache->numbers = n;
    n->users = 1;
    n->used = ++cache->clock;
    pthread_mutex_unlock(&cache->lock);
    lfuse__error_restore(&saved);
    lfuse__numbers_clear(out);
    *made = n;
    return LFUSE_OK;
}

void lfuse__numbers_give_back(lfuse_device *dev, lfuse__numbers *n)
{
    lfuse__plan_cache *cache;

    if (!n) return;
    if (n->own) {
        destroy(n);
        return;
    }
    if (lfuse__plan_cache_get(dev, &cache)) return;
    pthread_mutex_lock(&cache->lock);
    n->users--;
    pthread_mutex_unlock(&cache->lock);
}

/* ---- writing ---- */

static void make_words(lfuse__numbers *n, const double *numbers)
{
    const size_t size = lfuse_type_size(n->use.type);
    char *at = (char *)n->fresh;
    int64_t i;

    for (i = 0; i < n->use.count; i++, at += size) {
        const uint64_t word = lfuse__number_word(n->use.rounding, numbers[i]);
        const uint32_t half = (uint32_t)word;
        if (size == 8) memcpy(at, &word, size);
        else memcpy(at, &half, size);
    }
}

lfuse_status lfuse__numbers_write(lfuse__numbers *n, lfuse_stream *s, const double *numbers)
{
    const size_t bytes = (size_t)n->use.count * sizeof *numbers;
    bool capturing = false, all;

    if (n->own || !bytes) return LFUSE_OK;
    LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    n->captured = n->captured || capturing;
    all = n->captured || !n->valid;
    if (!all && !memcmp(n->given, numbers, bytes)) return LFUSE_OK;
    n->valid = false; /* until all is submitted */
    make_words(n, numbers);
    LFUSE__TRY(lfuse__table_update(s, n->writer, n->range, 0, n->words, n->fresh, n->nwords, all));
    memcpy(n->given, numbers, bytes);
    n->valid = true;
    return LFUSE_OK;
}

/* ---- taking ---- */

/* The run is kept, not executed: so are its numbers, which nothing writes later. */
static lfuse_status take_recorded(const lfuse__numbers_use *use, const double *numbers, lfuse__numbers **taken)
{
    lfuse__numbers *n;
    lfuse_status status;

    LFUSE__TRY(make(use, &n));
    n->own = true;
    make_words(n, numbers);
    status = lfuse__table_upload(lfuse__stream_device(use->stream), n->range, 0, n->fresh, n->nwords * 8);
    if (status) destroy(n);
    else *taken = n;
    return status;
}

lfuse_status lfuse__numbers_take(const lfuse__numbers_use *use, const double *numbers, lfuse__numbers **taken,
                                 lfuse_list **list)
{
    lfuse__plan_cache *cache;
    lfuse__numbers *n = NULL;

    LFUSE__TRY(lfuse__plan_cache_get(lfuse__stream_device(use->stream), &cache));
    if (lfuse__stream_recording(use->stream)) {
        LFUSE__TRY(take_recorded(use, numbers, &n));
    } else {
        pthread_mutex_lock(&cache->lock);
        n = find(cache, use);
        pthread_mutex_unlock(&cache->lock);
        if (!n) LFUSE__TRY(make_kept(cache, use, &n));
    }
    *taken = n;
    *list = n->list;
    return LFUSE_OK;
}
