/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_BASE_LOG_H
#define COMMON_BASE_LOG_H

#include <stdbool.h>

#include "libfuse/log.h"

/* Returns whether messages of the level are heard: asked before one is built that costs something. */
bool lfuse__log_on(lfuse_log_level level);
/* Logs a message, without a newline at its end. */
void lfuse__log(lfuse_log_level level, const char *format, ...) LFUSE_PRINTF(2, 3);

#endif
