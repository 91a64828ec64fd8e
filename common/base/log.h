/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_BASE_LOG_H
#define COMMON_BASE_LOG_H

#include <stdbool.h>

#include "libfuse/log.h"

/* Cheap enough to ask before building a message. */
bool lfuse__log_on(lfuse_log_level level);
void lfuse__log(lfuse_log_level level, const char *format, ...) LFUSE_PRINTF(2, 3);

#endif
