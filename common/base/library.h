/* SPDX-License-Identifier: Apache-2.0 */
/* Loading vendor libraries by versioned name: one mechanism for all. */
#ifndef COMMON_BASE_LIBRARY_H
#define COMMON_BASE_LIBRARY_H

#include <stddef.h>

#include "libfuse/status.h"

typedef struct lfuse__library lfuse__library;

/*
 * Opens the first of `names` (NULL at the end) that loads, RTLD_NOW | RTLD_LOCAL; `folders` (NULL at the end, may be
 * NULL) are absolute folders tried after the system's search path, in which only regular files are opened.
 * ERR_LIBRARY: none is there, or what is there cannot be used; the message lists every attempt.
 * ERR_MEMORY: memory or descriptors ran short before that was known, and nothing after that was tried. To be tried
 * again, not remembered.
 */
lfuse_status lfuse__library_open(const char *const *names, const char *const *folders, lfuse__library **library);
/* NULL when the symbol is missing; no message. */
void *lfuse__library_symbol(lfuse__library *library, const char *name);
/* Absolute path of the file that was loaded. */
const char *lfuse__library_path(const lfuse__library *library);
void lfuse__library_close(lfuse__library *library);

#endif
