/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole reads and writes, files of the user alone, new files beside the one that they will replace. */
#ifndef COMMON_BASE_FILE_H
#define COMMON_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * Short reads and writes go on, interrupted ones are repeated. False leaves errno; a file that ends early is a failure
 * with ENODATA.
 */
bool lfuse__read_all(int file, void *data, size_t length);
bool lfuse__write_all(int file, const void *data, size_t length);

/* NULL for a regular file of this user that nobody else may write; else what it is instead, in words. */
const char *lfuse__file_distrusted(const struct stat *st);

/* What the names of temporary files begin with: the disk cache sweeps its folder of old ones. */
#define LFUSE__TEMPORARY "tmp-"
/*
 * A new file of mode 0600 in an open folder, open for writing, under a name that no other process or thread uses. -1
 * leaves errno.
 */
int lfuse__temporary_file(int folder, char *name, size_t size);

#endif
