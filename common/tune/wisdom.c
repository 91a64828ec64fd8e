/* SPDX-License-Identifier: Apache-2.0 */
/* What a device knows: the lines of files that apply to it, and what was measured on it. */
#include "common/tune/wisdom.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/env.h"
#include "common/base/error.h"
#include "common/base/log.h"

typedef struct wise_device {
    pthread_mutex_t lock, inside; /* `inside` is taken first */
    lfuse__strbuf device; /* how its lines begin; "" as long as nobody needed it: a library may have to be loaded */
    lfuse__wisdom known;
} wise_device;

static void destroy(void *data)
{
    wise_device *d = data;

    lfuse__wisdom_clear(&d->known);
    lfuse__strbuf_free(&d->device);
    pthread_mutex_destroy(&d->inside);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* With d->lock. */
static lfuse_status identify(wise_device *d, lfuse_device *dev)
{
    lfuse__facts full;
    lfuse_status status;

    if (d->device.length) return LFUSE_OK;
    LFUSE__TRY(lfuse__device_full_facts(dev, &full));
    lfuse__wisdom_device(&full.info, &d->device);
    status = lfuse__strbuf_check(&d->device);
    if (status) lfuse__strbuf_free(&d->device);
    return status;
}

/* All that applies, or nothing. */
static lfuse_status take(wise_device *d, lfuse_device *dev, const lfuse__wisdom *from, int64_t *count)
{
    lfuse__wisdom both = { 0 }, old = { 0 };
    lfuse_status status;

    pthread_mutex_lock(&d->lock);
    status = identify(d, dev);
    if (!status) status = lfuse__wisdom_merge(&both, &d->known, NULL, NULL);
    if (!status) status = lfuse__wisdom_merge(&both, from, d->device.data, count);
    if (!status) {
        old = d->known;
        d->known = both;
        both = (lfuse__wisdom){ 0 };
    }
    pthread_mutex_unlock(&d->lock);
    lfuse__wisdom_clear(&old);
    lfuse__wisdom_clear(&both);
    return status;
}

/*
 * What is wrong with the default file is no failure of who makes a plan: it is logged, and the file not used. Not to
 * know what is in it, for want of memory, is one: choices would be others for as long as the device is open.
 */
static lfuse_status read_default(wise_device *d, lfuse_device *dev)
{
    lfuse__strbuf reason = LFUSE__STRBUF_INIT;
    lfuse__wisdom_place place;
    lfuse__wisdom w = { 0 };
    lfuse__saved_error before;
    lfuse_status status;
    int64_t count = 0;

    lfuse__error_save(&before);
    status = lfuse__wisdom_place_default(&place, &reason);
    if (!status) {
        status = lfuse__wisdom_load(&place, &w);
        if (!status && w.count) status = take(d, dev, &w, &count);
        if (!status) lfuse__log(LFUSE_LOG_INFO, "wisdom %s: %zu choices, %lld for this device", place.path.data,
                                w.count, (long long)count);
        lfuse__wisdom_place_close(&place);
    } else if (status == LFUSE_NOT_READY) {
        lfuse__log(LFUSE_LOG_DEBUG, "no wisdom: %s", reason.data);
    }
    lfuse__wisdom_clear(&w);
    lfuse__strbuf_free(&reason);
    if (lfuse__is_shortage(status)) return status;
    if (status && status != LFUSE_NOT_READY) lfuse__log(LFUSE_LOG_WARN, "%s", lfuse__error_message());
    lfuse__error_restore(&before);
    return LFUSE_OK;
}

static lfuse_status create(lfuse_device *dev, void **data)
{
    wise_device *d = calloc(1, sizeof *d);
    pthread_mutexattr_t again;
    lfuse_status status;

    if (!d) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *d);
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE); /* stages are tried within the trial of a network */
    pthread_mutex_init(&d->inside, &again);
    pthread_mutexattr_destroy(&again);
    d->device = (lfuse__strbuf)LFUSE__STRBUF_INIT;
    status = read_default(d, dev);
    if (status) {
        destroy(d);
        return status;
    }
    *data = d;
    return LFUSE_OK;
}

static lfuse_status get(lfuse_device *dev, wise_device **d)
{
    void *data;

    LFUSE__TRY(lfuse__device_attachment(dev, LFUSE__ATTACH_WISDOM, create, destroy, &data));
    *d = data;
    return LFUSE_OK;
}

lfuse_status lfuse__wisdom_any(lfuse_device *dev, bool *any)
{
    wise_device *d;

    LFUSE__TRY(get(dev, &d));
    pthread_mutex_lock(&d->lock);
    *any = d->known.count > 0;
    pthread_mutex_unlock(&d->lock);
    return LFUSE_OK;
}

lfuse_status lfuse__wisdom_enter(lfuse_device *dev, void **inside)
{
    wise_device *d;

    LFUSE__TRY(get(dev, &d));
    pthread_mutex_lock(&d->inside);
    *inside = d;
    return LFUSE_OK;
}

void lfuse__wisdom_leave(void *inside)
{
    wise_device *d = inside;

    pthread_mutex_unlock(&d->inside);
}

lfuse_status lfuse__wisdom_ask(lfuse_device *dev, const char *what, lfuse__wise_choice *choice, bool *found)
{
    wise_device *d;

    LFUSE__TRY(get(dev, &d));
    pthread_mutex_lock(&d->lock);
    *found = lfuse__wisdom_look_up(&d->known, d->device.data, what, choice);
    pthread_mutex_unlock(&d->lock);
    return LFUSE_OK;
}

/* ---- what was measured ---- */

static lfuse_status save_default(const lfuse__wisdom *lines)
{
    lfuse__strbuf reason = LFUSE__STRBUF_INIT;
    lfuse__wisdom_place place;
    lfuse_status status = lfuse__wisdom_place_default(&place, &reason);

    if (!status) {
        status = lfuse__wisdom_save(&place, lines);
        lfuse__wisdom_place_close(&place);
    } else if (status == LFUSE_NOT_READY) {
        status = lfuse__error(LFUSE_ERR_IO, "no wisdom file: %s", reason.data);
    }
    lfuse__strbuf_free(&reason);
    return status;
}

static lfuse_status note(lfuse_device *dev, const char *what, const lfuse__wise_choice *choice)
{
    lfuse__strbuf line = LFUSE__STRBUF_INIT;
    lfuse__wisdom alone = { 0 };
    lfuse_status status;
    wise_device *d;

    LFUSE__TRY(get(dev, &d));
    pthread_mutex_lock(&d->lock);
    status = identify(d, dev);
    pthread_mutex_unlock(&d->lock);
    if (status) return status;
    lfuse__wisdom_compose(d->device.data, what, choice, &line);
    status = lfuse__strbuf_check(&line);
    if (!status) status = lfuse__wisdom_put(&alone, line.data, line.length);
    if (!status) {
        pthread_mutex_lock(&d->lock);
        status = lfuse__wisdom_put(&d->known, line.data, line.length);
        pthread_mutex_unlock(&d->lock);
    }
    if (!status) status = save_default(&alone);
    lfuse__wisdom_clear(&alone);
    lfuse__strbuf_free(&line);
    return status;
}

void lfuse__wisdom_note(lfuse_device *dev, const char *what, const lfuse__wise_choice *choice)
{
    const char *asked = lfuse__env_get()->wisdom; /* whoever names a file wants to know that it cannot be written */
    const lfuse_log_level level = asked && asked[0] == '/' ? LFUSE_LOG_WARN : LFUSE_LOG_DEBUG;
    lfuse__saved_error before;

    lfuse__error_save(&before);
    if (note(dev, what, choice)) lfuse__log(level, "a measured choice is not kept: %s", lfuse__error_message());
    lfuse__error_restore(&before);
}

/* ---- by the user's word ---- */

static lfuse_status open_place(const char *path, lfuse__wisdom_place *place)
{
    lfuse__strbuf reason = LFUSE__STRBUF_INIT;
    lfuse_status status = path ? lfuse__wisdom_place_at(path, place) : lfuse__wisdom_place_default(place, &reason);

    if (status == LFUSE_NOT_READY) status = lfuse__error(LFUSE_ERR_IO, "no wisdom file: %s", reason.data);
    lfuse__strbuf_free(&reason);
    return status;
}

lfuse_status lfuse__wisdom_import(lfuse_device *dev, const char *path, int64_t *count)
{
    lfuse__wisdom_place place;
    lfuse__wisdom w = { 0 };
    lfuse_status status;
    int64_t taken = 0;
    wise_device *d;

    LFUSE__TRY(get(dev, &d));
    LFUSE__TRY(open_place(path, &place));
    status = lfuse__wisdom_load(&place, &w);
    if (status == LFUSE_NOT_READY)
        status = lfuse__error(LFUSE_ERR_IO, "wisdom %s: there is no such file", place.path.data);
    if (!status) status = take(d, dev, &w, &taken);
    if (!status && count) *count = taken;
    lfuse__wisdom_clear(&w);
    lfuse__wisdom_place_close(&place);
    return status;
}

lfuse_status lfuse__wisdom_export(lfuse_device *dev, const char *path)
{
    lfuse__wisdom_place place;
    lfuse__wisdom known = { 0 };
    lfuse_status status;
    wise_device *d;

    LFUSE__TRY(get(dev, &d));
    LFUSE__TRY(open_place(path, &place));
    pthread_mutex_lock(&d->lock); /* a copy, so that nobody who chooses waits for the file */
    status = lfuse__wisdom_merge(&known, &d->known, NULL, NULL);
    pthread_mutex_unlock(&d->lock);
    if (!status) status = lfuse__wisdom_save(&place, &known);
    lfuse__wisdom_clear(&known);
    lfuse__wisdom_place_close(&place);
    return status;
}

void lfuse__wisdom_survey(lfuse__wisdom *w, lfuse__strbuf *text)
{
    lfuse__wisdom_place place;
    lfuse__saved_error before;
    lfuse_status status;

    lfuse__error_save(&before);
    status = lfuse__wisdom_place_default(&place, text);
    if (!status) {
        status = lfuse__wisdom_load(&place, w);
        if (status == LFUSE_NOT_READY) lfuse__strbuf_format(text, "%s (not there yet)", place.path.data);
        else if (status) lfuse__strbuf_format(text, "not used: %s", lfuse__error_message());
        else lfuse__strbuf_add(text, place.path.data);
        lfuse__wisdom_place_close(&place);
    } else if (status != LFUSE_NOT_READY) {
        lfuse__strbuf_format(text, "not used: %s", lfuse__error_message());
    }
    lfuse__error_restore(&before);
}
