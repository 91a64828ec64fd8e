/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const char *const not_regular = "it is no regular file";

/* What the failed open of a name means. A pipe that nobody reads answers a writer ENXIO, as does a socket. */
static const char *refusal(int code)
{
    if (code == ELOOP) return "it is a symbolic link";
    return code == ENXIO || code == EISDIR ? not_regular : strerror(code);
}

int lfuse__file_open(int folder, const char *name, int flags, struct stat *st, const char **why)
{
    const int file = openat(folder, name, flags | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0644);
    const bool known = file >= 0 && !fstat(file, st);
    const int code = known ? 0 : errno;

    if (known && S_ISREG(st->st_mode)) return file;
    *why = known ? not_regular : refusal(code);
    if (file >= 0) close(file);
    errno = code == ELOOP || code == ENXIO || code == EISDIR ? 0 : code;
    return -1;
}

bool lfuse__file_line(const char *path, char *text, size_t size)
{
    const char *why;
    struct stat st;
    const int file = lfuse__file_open(AT_FDCWD, path, O_RDONLY, &st, &why);
    ssize_t n;
    int code;

    if (file < 0) return false;
    do n = read(file, text, size - 1);
    while (n < 0 && errno == EINTR);
    code = errno;
    close(file);
    errno = code;
    if (n < 0) return false;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

int lfuse__folder_open(const char *path, bool follow)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
}

const char *lfuse__file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

int lfuse__folder_of(const char *path)
{
    const size_t length = (size_t)(lfuse__file_name(path) - path); /* up to the last slash, which is part of "/" */
    char *folder = length ? strndup(path, length > 1 ? length - 1 : 1) : strdup(".");
    int opened, code;

    if (!folder) return -1;
    opened = lfuse__folder_open(folder, true);
    code = errno;
    free(folder);
    errno = code;
    return opened;
}

int lfuse__folder_again(int folder)
{
    return openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

const char *lfuse__file_distrusted(const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) return not_regular;
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

int lfuse__temporary_file(int folder, mode_t mode, char *name, size_t size)
{
    int attempt, file = -1;

    for (attempt = 0; attempt < 8 && file < 0; attempt++) {
        temporary_name(name, size, attempt);
        file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (file < 0 && errno != EEXIST) break;
    }
    return file;
}
