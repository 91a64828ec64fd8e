/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Wisdom: choices among the ways to compute a product that were measured once, kept for later runs of any program.
 *
 * A plan with LFUSE_EFFORT_MEASURE times what applies when an instance meets a product of a new type, shape, leading
 * dimensions and epilogue: the algorithms of the vendor's library, and then the alternatives that the plan has for the
 * product and what follows it, over memory of their own: the vendor's and, on GPUs, the library's own in up to eight
 * tilings, of which each is compiled for that. The estimate's first stays unless another one is at least 2 % faster.
 * The winner is known to the device from then on and is written to the default file: the one
 * that LFUSE_WISDOM names, else the file "wisdom" in the folder of the kernel cache (lfuse(7)); with LFUSE_WISDOM=0, or
 * without a cache, there is none. Every device reads that file with its first product. Where it has a choice, plans of
 * either effort take that, and nothing is timed. A choice that is not there any more, after an update of a library that
 * kept its version, is no choice: it is logged (debug), and the plan's own effort decides.
 *
 * A file is text, one line a choice, and serves all devices of both backends: a line says to which device, driver,
 * compiler, product library and version of this library it applies. The others are kept, and are no matter. Files are
 * taken whole or not at all: one that is cut short, damaged, longer than 8 MiB or of another version gives an error, or
 * a warning in the log when it is the default file, and nothing of it is used. So does what is no regular file, a
 * symbolic link, and a file that belongs to another user or that others may write.
 *
 * Writing puts the device's choices into what the file holds at that moment, whoever wrote it: programs lose nothing of
 * each other. Of two choices for the same, the later one stays. Up to 16384 are kept, then the oldest go.
 */
#ifndef LIBFUSE_WISDOM_H
#define LIBFUSE_WISDOM_H

#include <stdint.h>

#include <libfuse/base.h>
#include <libfuse/device.h>
#include <libfuse/status.h>

LFUSE_BEGIN_DECLS

/**
 * Reads a file of choices; path NULL: the default file. *count (may be NULL) is how many of them apply to the device.
 * They replace what the device knew of the same products, for instances made from then on.
 *
 * ERR_IO: the file is not there or cannot be read, must not be trusted, or is cut short or damaged. ERR_UNSUPPORTED: it
 * is of another version. The device then knows what it knew before.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_wisdom_import(lfuse_device *device, const char *path, int64_t *count);
/**
 * Writes what the device knows, read or measured, into a file, which is made where there is none (mode 0600); path
 * NULL: the default file.
 *
 * Errors as of lfuse_wisdom_import: a file that holds something else, or is damaged, stays as it is.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_wisdom_export(lfuse_device *device, const char *path);

LFUSE_END_DECLS
#endif
