/* SPDX-License-Identifier: Apache-2.0 */
/* What every public header needs: linkage, export and diagnostic attributes. */
#ifndef LIBFUSE_BASE_H
#define LIBFUSE_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define LFUSE_API __attribute__((visibility("default")))
#define LFUSE_MUST_CHECK __attribute__((warn_unused_result))
#define LFUSE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define LFUSE_API
#define LFUSE_MUST_CHECK
#define LFUSE_PRINTF(f, a)
#endif

#ifdef __cplusplus
#define LFUSE_BEGIN_DECLS extern "C" {
#define LFUSE_END_DECLS }
#else
#define LFUSE_BEGIN_DECLS
#define LFUSE_END_DECLS
#endif

/** Largest rank of a tensor or value. */
#define LFUSE_MAX_RANK 8

#endif
