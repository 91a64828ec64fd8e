/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/base/file.h"

#include <errno.h>
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
