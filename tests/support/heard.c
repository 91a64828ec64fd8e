/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/heard.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

char heard[HEARD];

static void listen(void *data, lfuse_log_level level, const char *message)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    (void)data;
    pthread_mutex_lock(&lock);
    size_t length = strlen(heard);
    snprintf(heard + length, sizeof heard - length, "%s%s\n", level == LFUSE_LOG_WARN ? "warning: " : "", message);
    pthread_mutex_unlock(&lock);
}

void hear(lfuse_log_level level)
{
    if (level == LFUSE_LOG_NONE) {
        lfuse_log_to(NULL, NULL, LFUSE_LOG_WARN);
        return;
    }
    heard[0] = '\0';
    lfuse_log_to(listen, NULL, level);
}
