/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and files of tests. What fails ends the test. */
#ifndef TESTS_SUPPORT_FILES_H
#define TESTS_SUPPORT_FILES_H

#include <stddef.h>

/* A new folder below TMPDIR, or /tmp, whose name begins with "lfuse-NAME-"; its path, of at most `size` bytes. */
void make_folder(const char *name, char *path, size_t size);
/* With all that is in it, whatever that is. */
void remove_folder(const char *path);
/* How many files it holds, 0 where there is none; the path of the last one, where `path` is not NULL. */
int files_in(const char *folder, char *path, size_t size);

/* The first bytes of a file, and a 0 behind them; returns how many they are, at most size - 1. */
size_t read_file(const char *path, void *bytes, size_t size);
/* All of it is these bytes, and nobody else may read it. */
void write_file(const char *path, const void *bytes, size_t size);
void write_text(const char *path, const char *text);

#endif
