/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/env.h"

#define UNSET (-1)

static const char *const names[] = { "none", "error", "warn", "info", "debug" };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static lfuse_log_function *sink;
static void *sink_context;
static atomic_int current = UNSET;

static int level_of_environment(void)
{
    const char *name = lfuse__env_get()->log;
    int i;

    if (!name || !*name) return LFUSE_LOG_WARN;
    for (i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(name, names[i])) return i;
    fprintf(stderr, "libfuse: warn: LFUSE_LOG is \"%s\", not one of none, error, warn, info, debug\n", name);
    return LFUSE_LOG_WARN;
}

bool lfuse__log_on(lfuse_log_level level)
{
    int now = atomic_load_explicit(&current, memory_order_relaxed);

    if (now == UNSET) {
        int unset = UNSET;
        now = level_of_environment();
        /* lfuse_log_to may have come in between: then its level counts. */
        if (!atomic_compare_exchange_strong(&current, &unset, now)) now = unset;
    }
    return level != LFUSE_LOG_NONE && (int)level <= now;
}

void lfuse__log(lfuse_log_level level, const char *format, ...)
{
    lfuse_log_function *function;
    char fixed[1024], *text = fixed;
    void *context;
    va_list args;
    int length;

    if (!lfuse__log_on(level)) return;
    va_start(args, format);
    length = vsnprintf(fixed, sizeof fixed, format, args);
    va_end(args);
    if (length >= (int)sizeof fixed) {
        text = malloc((size_t)length + 1);
        if (text) {
            va_start(args, format);
            vsnprintf(text, (size_t)length + 1, format, args);
            va_end(args);
        }
    }
    pthread_mutex_lock(&lock);
    function = sink;
    context = sink_context;
    pthread_mutex_unlock(&lock);
    if (function) function(context, level, text ? text : fixed);
    else fprintf(stderr, "libfuse: %s: %s\n", names[level], text ? text : fixed);
    if (text != fixed) free(text);
}

void lfuse_log_to(lfuse_log_function *function, void *context, lfuse_log_level level)
{
    pthread_mutex_lock(&lock);
    sink = function;
    sink_context = context;
    atomic_store(&current, (int)level);
    pthread_mutex_unlock(&lock);
}
