/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: whole reads and writes, files of the user alone, new files in the folder of those that they will replace.
 * Every file and folder that the library opens is opened here (tests/tree/sources.sh), but for what the dynamic linker
 * opens.
 */
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

/*
 * Opens a file by a name that may come from outside, and never waits for anybody:
 *  - only a regular file is opened; a pipe, a device, a socket, a folder or a symbolic link of that name is refused and
 *    left as it is;
 *  - `folder` and `name` as openat takes them, AT_FDCWD for a path;
 *  - `flags`: O_RDONLY, O_WRONLY or O_RDWR, and O_CREAT, whose new files are for the user's mask (0644). Not O_TRUNC,
 *    which would come before the look at what was opened: call ftruncate;
 *  - *st is what fstat says of the open file.
 * -1: *why says in words why not; errno is 0 where something else than a regular file has the name.
 */
int lfuse__file_open(int folder, const char *name, int flags, struct stat *st, const char **why);
/* The start of a file of at most size - 1 bytes as text, without the newline at its end. False leaves errno. */
bool lfuse__file_line(const char *path, char *text, size_t size);
/* A folder to use in openat and the like; `follow`: it may be a symbolic link. -1 leaves errno. */
int lfuse__folder_open(const char *path, bool follow);
/* The part of a path that is the file's name; empty where the path names no file. */
const char *lfuse__file_name(const char *path);
/* The folder that the file of a path lies in; it may be a symbolic link. -1 leaves errno. */
int lfuse__folder_of(const char *path);
/* The same folder once more, for a reader of its names of its own. -1 leaves errno. */
int lfuse__folder_again(int folder);

/* NULL for a regular file of this user that nobody else may write; else what it is instead, in words. */
const char *lfuse__file_distrusted(const struct stat *st);

/* What the names of temporary files begin with: the disk cache sweeps its folder of old ones. */
#define LFUSE__TEMPORARY "tmp-"
/*
 * A new file in an open folder, open for writing, under a name that no other process or thread uses. `mode` is narrowed
 * by the user's mask. -1 leaves errno.
 */
int lfuse__temporary_file(int folder, mode_t mode, char *name, size_t size);

#endif
