/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes of open files: short ones go on, interrupted ones are repeated. False leaves errno. */
#ifndef COMMON_BASE_FILE_H
#define COMMON_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* A file that ends early is a failure with errno ENODATA. */
bool lfuse__read_all(int file, void *data, size_t length);
bool lfuse__write_all(int file, const void *data, size_t length);

#endif
