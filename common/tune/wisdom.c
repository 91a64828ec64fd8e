/* SPDX-License-Identifier: Apache-2.0 */
/* What a device knows: the lines of files that apply to it, and what was measured on it. */
#include "common/tune/tuner.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/env.h"
#include "common/base/error.h"
#include "common/base/log.h"

static void destroy(void *data)
{
    lfuse__tuner *t = data;

    lfuse__gemm_choices_forget(t);
    lfuse__wisdom_clear(&t->known);
    lfuse__strbuf_free(&t->device);
    pthread_mutex_destroy(&t->measuring);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* With t->lock. */
static lfuse_status identify(lfuse__tuner *t, lfuse_device *dev)
{
    lfuse__facts full;
    lfuse_status status;

    if (t->device.length) return LFUSE_OK;
    LFUSE__TRY(lfuse__device_full_facts(dev, &full));
    lfuse__wisdom_device(&full.info, &t->device);
    status = lfuse__strbuf_check(&t->device);
    if (status) lfuse__strbuf_free(&t->device);
    return status;
}

/* All that applies, or nothing. Waits for choices that are being made: they are remembered, and forgotten here. */
static lfuse_status take(lfuse__tuner *t, lfuse_device *dev, const lfuse__wisdom *from, int64_t *count)
{
    lfuse__wisdom both = { 0 }, old = { 0 };
    lfuse_status status;

    pthread_mutex_lock(&t->measuring);
    pthread_mutex_lock(&t->lock);
    status = identify(t, dev);
    if (!status) status = lfuse__wisdom_merge(&both, &t->known, NULL, NULL);
    if (!status) status = lfuse__wisdom_merge(&both, from, t->device.data, count);
    if (!status) {
        old = t->known;
        t->known = both;
        both = (lfuse__wisdom){ 0 };
        lfuse__gemm_choices_forget(t);
    }
    pthread_mutex_unlock(&t->lock);
    pthread_mutex_unlock(&t->measuring);
    lfuse__wisdom_clear(&old);
    lfuse__wisdom_clear(&both);
    return status;
}

/*
 * What is wrong with the default file is no failure of who makes a plan: it is logged, and the file not used. Not to
 * know what is in it, for want of memory, is one: choices would be others for as long as the device is open.
 */
static lfuse_status read_default(lfuse__tuner *t, lfuse_device *dev)
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
        if (!status && w.count) status = take(t, dev, &w, &count);
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
    lfuse__tuner *t = calloc(1, sizeof *t);
    pthread_mutexattr_t again;
    lfuse_status status;

    if (!t) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&t->measuring, &again);
    pthread_mutexattr_destroy(&again);
    t->device = (lfuse__strbuf)LFUSE__STRBUF_INIT;
    status = read_default(t, dev);
    if (status) {
        destroy(t);
        return status;
    }
    *data = t;
    return LFUSE_OK;
}

lfuse_status lfuse__tuner_get(lfuse_device *dev, lfuse__tuner **tuner)
{
    void *data;

    LFUSE__TRY(lfuse__device_attachment(dev, LFUSE__ATTACH_TUNER, create, destroy, &data));
    *tuner = data;
    return LFUSE_OK;
}

lfuse_status lfuse__wisdom_any(lfuse_device *dev, bool *any)
{
    lfuse__tuner *t;

    LFUSE__TRY(lfuse__tuner_get(dev, &t));
    pthread_mutex_lock(&t->lock);
    *any = t->known.count > 0;
    pthread_mutex_unlock(&t->lock);
    return LFUSE_OK;
}

lfuse_status lfuse__wisdom_ask(lfuse_device *dev, const char *what, lfuse__wise_choice *choice, bool *found)
{
    lfuse__tuner *t;

    LFUSE__TRY(lfuse__tuner_get(dev, &t));
    pthread_mutex_lock(&t->lock);
    *found = lfuse__wisdom_look_up(&t->known, t->device.data, what, choice);
    pthread_mutex_unlock(&t->lock);
    return LFUSE_OK;
}

/* ---- what was measured ---- */

/* Of the file of that name; NULL: of the default one. */
static lfuse_status open_place(const char *path, lfuse__wisdom_place *place)
{
    lfuse__strbuf reason = LFUSE__STRBUF_INIT;
    lfuse_status status = path ? lfuse__wisdom_place_at(path, place) : lfuse__wisdom_place_default(place, &reason);

    if (status == LFUSE_NOT_READY) status = lfuse__error(LFUSE_ERR_IO, "no wisdom file: %s", reason.data);
    lfuse__strbuf_free(&reason);
    return status;
}

static lfuse_status save(const char *path, const lfuse__wisdom *lines)
{
    lfuse__wisdom_place place;
    lfuse_status status;

    LFUSE__TRY(open_place(path, &place));
    status = lfuse__wisdom_save(&place, lines);
    lfuse__wisdom_place_close(&place);
    return status;
}

static lfuse_status note(lfuse_device *dev, const char *what, const char *provider, const char *identity, double us)
{
    lfuse__strbuf line = LFUSE__STRBUF_INIT;
    lfuse__wisdom alone = { 0 };
    lfuse_status status;
    lfuse__tuner *t;

    LFUSE__TRY(lfuse__tuner_get(dev, &t));
    pthread_mutex_lock(&t->lock);
    status = identify(t, dev);
    pthread_mutex_unlock(&t->lock);
    if (status) return status;
    lfuse__wisdom_compose(t->device.data, what, provider, identity, us, &line);
    status = lfuse__strbuf_check(&line);
    if (!status) status = lfuse__wisdom_put(&alone, line.data, line.length);
    if (!status) {
        pthread_mutex_lock(&t->lock);
        status = lfuse__wisdom_put(&t->known, line.data, line.length);
        pthread_mutex_unlock(&t->lock);
    }
    if (!status) status = save(NULL, &alone);
    lfuse__wisdom_clear(&alone);
    lfuse__strbuf_free(&line);
    return status;
}

void lfuse__wisdom_note(lfuse_device *dev, const char *what, const char *provider, const char *identity, double us)
{
    const char *asked = lfuse__env_get()->wisdom; /* whoever names a file wants to know that it cannot be written */
    const lfuse_log_level level = asked && asked[0] == '/' ? LFUSE_LOG_WARN : LFUSE_LOG_DEBUG;
    lfuse__saved_error before;

    lfuse__error_save(&before);
    if (note(dev, what, provider, identity, us))
        lfuse__log(level, "a measured choice is not kept: %s", lfuse__error_message());
    lfuse__error_restore(&before);
}

/* ---- by the user's word ---- */

lfuse_status lfuse__wisdom_import(lfuse_device *dev, const char *path, int64_t *count)
{
    lfuse__wisdom_place place;
    lfuse__wisdom w = { 0 };
    lfuse_status status;
    int64_t taken = 0;
    lfuse__tuner *t;

    LFUSE__TRY(lfuse__tuner_get(dev, &t));
    LFUSE__TRY(open_place(path, &place));
    status = lfuse__wisdom_load(&place, &w);
    if (status == LFUSE_NOT_READY)
        status = lfuse__error(LFUSE_ERR_IO, "wisdom %s: there is no such file", place.path.data);
    if (!status) status = take(t, dev, &w, &taken);
    if (!status && count) *count = taken;
    lfuse__wisdom_clear(&w);
    lfuse__wisdom_place_close(&place);
    return status;
}

lfuse_status lfuse__wisdom_export(lfuse_device *dev, const char *path)
{
    lfuse__wisdom known = { 0 };
    lfuse_status status;
    lfuse__tuner *t;

    LFUSE__TRY(lfuse__tuner_get(dev, &t));
    pthread_mutex_lock(&t->lock); /* a copy, so that nobody who chooses waits for the file */
    status = lfuse__wisdom_merge(&known, &t->known, NULL, NULL);
    pthread_mutex_unlock(&t->lock);
    if (!status) status = save(path, &known);
    lfuse__wisdom_clear(&known);
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
        if (!status) lfuse__strbuf_add(text, place.path.data);
        lfuse__wisdom_place_close(&place);
    }
    if (status && status != LFUSE_NOT_READY) lfuse__strbuf_format(text, "not used: %s", lfuse__error_message());
    lfuse__error_restore(&before);
}
