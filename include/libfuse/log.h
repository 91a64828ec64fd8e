/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBFUSE_LOG_H
#define LIBFUSE_LOG_H

#include <libfuse/base.h>

typedef enum lfuse_log_level {
    LFUSE_LOG_NONE,
    LFUSE_LOG_ERROR,
    LFUSE_LOG_WARN,
    LFUSE_LOG_INFO,
    LFUSE_LOG_DEBUG, /**< also why an alternative declined */
} lfuse_log_level;

/**
 * Receives one message, without newline, from any thread and inside the call that has it to say: it must not use the
 * library's devices, streams or other objects, one of which may be in the middle of something.
 */
typedef void lfuse_log_function(void *context, lfuse_log_level level, const char *message);

LFUSE_BEGIN_DECLS

/**
 * Sends messages up to `level` to `function` instead of stderr; a NULL function restores stderr. Without this call
 * the level is that of the environment variable LFUSE_LOG (none, error, warn, info, debug), else warn.
 */
LFUSE_API void lfuse_log_to(lfuse_log_function *function, void *context, lfuse_log_level level);

LFUSE_END_DECLS
#endif
