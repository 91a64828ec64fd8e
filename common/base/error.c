/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[LFUSE__ERROR_SIZE];

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static bool watched;
static atomic_bool forked;

/* A message is one line: what a vendor's compiler says comes with newlines. */
static void flatten(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ') *text = ' ';
}

lfuse_status (lfuse__error)(lfuse_status status, const char *format, ...)
{
    char text[LFUSE__ERROR_SIZE]; /* the arguments may point into the present message */
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    flatten(text);
    memcpy(message, text, sizeof text);
    return status;
}

lfuse_status (lfuse__error_prefix)(lfuse_status status, const char *format, ...)
{
    char text[LFUSE__ERROR_SIZE];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof text)
        snprintf(text + length, sizeof text - (size_t)length, "%s", message);
    flatten(text);
    memcpy(message, text, sizeof text);
    return status;
}

const char *lfuse__error_message(void)
{
    return message;
}

void lfuse__error_save(lfuse__saved_error *saved)
{
    memcpy(saved->text, message, sizeof message);
}

void lfuse__error_restore(const lfuse__saved_error *saved)
{
    memcpy(message, saved->text, sizeof message);
}

static void after_fork(void)
{
    atomic_store(&forked, true);
}

lfuse_status lfuse__fork_watch(void)
{
    int failure = 0;

    pthread_mutex_lock(&watch_lock);
    if (!watched) failure = pthread_atfork(NULL, NULL, after_fork);
    watched = !failure;
    pthread_mutex_unlock(&watch_lock);
    return failure ? lfuse__error(LFUSE_ERR_MEMORY, "pthread_atfork: %s", strerror(failure)) : LFUSE_OK;
}

bool lfuse__errno_is_shortage(int code)
{
    return code == ENOMEM || code == EMFILE || code == ENFILE || code == EAGAIN || code == ENOBUFS || code == EINTR;
}

bool lfuse__forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

lfuse_status lfuse__check_fork(void)
{
    if (!lfuse__forked()) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_FORKED, "this process was forked after the library had loaded a driver; use exec or "
                                          "fork before the first call");
}
