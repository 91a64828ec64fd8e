/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBFUSE_VERSION_H
#define LIBFUSE_VERSION_H

#include <libfuse/base.h>

/** The version these headers belong to. configure reads it from here. */
#define LFUSE_VERSION_MAJOR 0
#define LFUSE_VERSION_MINOR 1
#define LFUSE_VERSION_PATCH 0
#define LFUSE_VERSION_STRING "0.1.0"
/** One number to compare with: major * 10000 + minor * 100 + patch. */
#define LFUSE_VERSION (LFUSE_VERSION_MAJOR * 10000 + LFUSE_VERSION_MINOR * 100 + LFUSE_VERSION_PATCH)

LFUSE_BEGIN_DECLS

/** The version of the library that runs, as LFUSE_VERSION counts it. */
LFUSE_API int lfuse_version(void);
/** The same as text, for example "0.1.0". Static. */
LFUSE_API const char *lfuse_version_string(void);

LFUSE_END_DECLS
#endif
