/* SPDX-License-Identifier: Apache-2.0 */
/* What the library logs: all lines of it, each of a warning behind "warning: ". */
#ifndef TESTS_SUPPORT_HEARD_H
#define TESTS_SUPPORT_HEARD_H

#include <libfuse/log.h>

enum { HEARD = 1 << 18 };
extern char heard[HEARD];

/* From here on, with nothing heard so far; LFUSE_LOG_NONE: no more. */
void hear(lfuse_log_level level);

#define ck_heard(words) ck_assert_msg(strstr(heard, words), "%s", heard)

#endif
