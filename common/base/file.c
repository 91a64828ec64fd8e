/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

bool lfuse__read_all(int file, void *data, size_t length)
{
    char *at = data;
    ssize_t n;

    for (; length; at += n, length -= (size_t)n) {
        do n = read(file, at, length);
        while (n < 0 && errno == EINTR);
        if (n == 0) errno = ENODATA;
        if (n <= 0) return false;
    }
    return true;
}

bool lfuse__write_all(int file, const void *data, size_t length)
{
    const char *at = data;
    ssize_t n;

    for (; length; at += n, length -= (size_t)n) {
        do n = write(file, at, length);
        while (n < 0 && errno == EINTR);
        if (n <= 0) return false;
    }
    return true;
}

const char *lfuse__file_distrusted(const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) return "it is no regular file";
    if (st->st_uid != geteuid()) return "it belongs to another user";
    return st->st_mode & 022 ? "others may write it" : NULL;
}

/* `attempt` tells the tries of one call apart. */
static void temporary_name(char *name, size_t size, int attempt)
{
    static _Thread_local char here; /* its address tells the threads apart */
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, size, LFUSE__TEMPORARY "%ld-%" PRIxPTR "-%lx-%d", (long)getpid(), (uintptr_t)&here,
             (unsigned long)now.tv_nsec, attempt);
}

int lfuse__temporary_file(int folder, char *name, size_t size)
{
    int attempt, file = -1;

    for (attempt = 0; attempt < 8 && file < 0; attempt++) {
        temporary_name(name, size, attempt);
        file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST) break;
    }
    return file;
}
